//! Files that are replaced as a whole: a reader finds the old content or the new one, never a part.
//!
//! The new content is written beside the file, under its name with `.new` at the end, and renamed.
//! That is four system calls (open, write, close, rename), and two more where the disk must have it.
//! The file beside is always one that this call has made: it has the mode that is asked for, and what
//! stands at its name, a rest of a program that was killed or a link of another user, is removed and
//! never followed.  A call that fails leaves the old file, and nothing beside it.
//!
//! Uses no crate of whit.  Begin with [`Replacement`].
#![forbid(unsafe_code)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// The end of the name of the file beside, where the caller names no other.
const ENDING: &str = ".new";

/// How a file is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    mode: u32,
    is_durable: bool,
    ending: &'a str,
}

impl Default for Replacement<'_> {
    fn default() -> Self {
        Replacement { mode: 0o666, is_durable: false, ending: ENDING }
    }
}

impl<'a> Replacement<'a> {
    /// The permissions of the new file, less those of the umask; else 0666 less the umask.
    #[must_use]
    pub fn mode(self, mode: u32) -> Self {
        Replacement { mode, ..self }
    }

    /// Whether the disk must have the new content, and its name, before [`Replacement::write`]
    /// returns: a power cut does not lose it then.
    #[must_use]
    pub fn durable(self, is_durable: bool) -> Self {
        Replacement { is_durable, ..self }
    }

    /// Another end for the name of the file beside: where several processes write one file, each has
    /// its own.
    #[must_use]
    pub fn ending(self, ending: &'a str) -> Self {
        Replacement { ending, ..self }
    }

    /// Replaces the file at `path`, or makes it.
    ///
    /// # Errors
    /// The file beside cannot be made or written, or not be renamed: `path` is as it was then.
    pub fn write(self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(self.ending);
        let beside = PathBuf::from(beside);
        let mut file = self.create(&beside)?;
        let written = file
            .write_all(content)
            .and_then(|()| if self.is_durable { file.sync_data() } else { Ok(()) })
            .and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            // The first error is what is told.
            let _ = fs::remove_file(&beside);
        }
        written?;
        if self.is_durable {
            // The rename is in the folder.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(())
    }

    /// A file that nobody else has made.
    fn create(self, beside: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(self.mode);
        match options.open(beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(beside)?;
                options.open(beside)
            }
            other => other,
        }
    }
}

/// Replaces the file at `path`, or makes it with the permissions that a new file has.
///
/// # Errors
/// As [`Replacement::write`].
pub fn replace(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    Replacement::default().write(path, content.as_ref())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_file_is_replaced_with_its_mode_and_nothing_stays_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        replace(&path, "longer").unwrap();
        for (mode_asked, is_durable) in [(0o600, false), (0o640, true)] {
            let replacement = Replacement::default().mode(mode_asked).durable(is_durable);
            replacement.ending(".tmp_7").write(&path, b"two").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"two");
            assert_eq!(mode(&path), mode_asked);
        }
        assert_eq!(names(folder.path()), ["state"]);
    }

    #[test]
    fn a_rest_or_a_link_beside_is_removed_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("state"), folder.path().join("other"));
        fs::write(&other, "untouched").unwrap();
        symlink(&other, folder.path().join("state.new")).unwrap();
        replace(&path, "one").unwrap();
        fs::write(folder.path().join("state.new"), "a rest of a program that was killed").unwrap();
        Replacement::default().mode(0o600).write(&path, b"two").unwrap();
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"two".to_vec(), 0o600));
        assert_eq!(fs::read(&other).unwrap(), b"untouched");
        assert_eq!(names(folder.path()), ["other", "state"]);
    }

    #[test]
    fn what_fails_leaves_the_old_file_and_nothing_beside() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&folder.path().join("no/such"), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        // A folder that is not empty cannot be replaced.
        let path = folder.path().join("folder");
        fs::create_dir_all(path.join("full")).unwrap();
        assert!(replace(&path, "x").is_err());
        assert_eq!(names(folder.path()), ["folder"]);
        // A folder where the file beside would stand is not removed.
        fs::create_dir(folder.path().join("state.new")).unwrap();
        assert!(replace(&folder.path().join("state"), "x").is_err());
        assert_eq!(names(folder.path()), ["folder", "state.new"]);
    }

    #[test]
    fn a_full_disk_leaves_the_old_file() {
        let Some(disk) = testkit::SmallDisk::mount(64) else { return };
        let path = disk.path().join("state");
        replace(&path, "old").unwrap();
        let error = replace(&path, vec![b'x'; 1 << 20]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(disk.path()), ["state"]);
    }
}
