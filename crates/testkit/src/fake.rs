//! A fake machine: a tree of `/proc` and `/sys` in a temporary folder, for `Host::new(root)`,
//! `whit record --root DIR` and everything else that reads files.
//!
//! ```
//! let host = testkit::FakeHost::new().unwrap();
//! host.put("/proc/loadavg", "0.20 0.18 0.12 1/80 11206\n").unwrap();
//! assert!(host.root().join("proc/loadavg").is_file());
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A tree of kernel files that is deleted when dropped.
pub struct FakeHost {
    folder: TempDir,
}

impl FakeHost {
    /// An empty tree, readable by every user, so that tests can read it as another user.
    ///
    /// # Errors
    /// If the folder cannot be made.
    pub fn new() -> io::Result<Self> {
        let folder = TempDir::with_prefix("fake-host-")?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        Ok(FakeHost { folder })
    }

    /// A copy of another tree (`testdata/proc/<host>`).  Symbolic links stay links.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn copy_of(tree: &Path) -> io::Result<Self> {
        let host = FakeHost::new()?;
        copy_tree(tree, host.root())?;
        Ok(host)
    }

    /// The directory that is the machine's `/`.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The real path of a path of the machine.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path.trim_start_matches('/'))
    }

    /// Writes a file, and creates its folders.  An existing file is overwritten **in place**, so
    /// that open descriptors see the new text, as with a kernel file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&self, path: &str, text: impl AsRef<[u8]>) -> io::Result<()> {
        put(self.root(), path, text)
    }

    /// Removes a file, or a folder with everything below it.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn remove(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
    }

    /// Removes all permissions of a file.  Root can still read it: see [`as_nobody`].
    ///
    /// # Errors
    /// If the mode cannot be changed.
    pub fn deny(&self, path: &str) -> io::Result<()> {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o000))
    }

    /// Makes a symbolic link to `target`.
    ///
    /// # Errors
    /// If the link cannot be made.
    pub fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let path = self.path(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        symlink(target, path)
    }

    /// Every file of the tree, as paths of the machine, sorted; links are not followed.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn files(&self) -> io::Result<Vec<String>> {
        let mut files = Vec::new();
        collect_files(self.root(), "", &mut files)?;
        files.sort();
        Ok(files)
    }
}

/// Writes a file below `root`, and creates its folders; see [`FakeHost::put`].
///
/// # Errors
/// If the file cannot be written.
pub fn put(root: &Path, path: &str, text: impl AsRef<[u8]>) -> io::Result<()> {
    let path = root.join(path.trim_start_matches('/'));
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}

fn collect_files(folder: &Path, path: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let below = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect_files(&entry.path(), &below, files)?;
        } else if entry.file_type()?.is_file() {
            files.push(below);
        }
    }
    Ok(())
}

/// Copies a tree over another: overwrites files in place, makes missing links.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            if fs::symlink_metadata(&target).is_err() {
                symlink(fs::read_link(entry.path())?, target)?;
            }
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Runs `work` in a thread with the user id of nobody, so that a file can be unreadable in a test
/// that root runs.  For any other user the thread keeps its user id.
///
/// # Panics
/// If `work` panics, or if root cannot change the user id.
pub fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let thread = move || {
        if rustix::process::geteuid().is_root() {
            let (uid, gid) = (rustix::fs::Uid::from_raw(65_534), rustix::fs::Gid::from_raw(65_534));
            // Unlike the functions of the C library, these change only this thread.
            rustix::thread::set_thread_groups(&[gid]).expect("giving up groups");
            rustix::thread::set_thread_res_gid(gid, gid, gid).expect("giving up the group");
            rustix::thread::set_thread_res_uid(uid, uid, uid).expect("giving up the user");
        }
        work()
    };
    std::thread::scope(|scope| match scope.spawn(thread).join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_change_in_place_and_can_be_denied() {
        let host = FakeHost::new().unwrap();
        host.put("/proc/a/b", "one").unwrap();
        host.link("/sys/l", "../proc/a").unwrap();
        let open = fs::File::open(host.path("/proc/a/b")).unwrap();
        host.put("/proc/a/b", "two").unwrap();
        assert_eq!(io::read_to_string(open).unwrap(), "two");
        assert_eq!(host.files().unwrap(), ["/proc/a/b"]);
        let copy = FakeHost::copy_of(host.root()).unwrap();
        assert_eq!(fs::read_to_string(copy.path("/sys/l/b")).unwrap(), "two");
        host.deny("/proc/a/b").unwrap();
        let kind = as_nobody(|| fs::read(host.path("/proc/a/b")).unwrap_err().kind());
        assert_eq!(kind, io::ErrorKind::PermissionDenied);
        host.remove("/proc/a").unwrap();
        assert!(!host.path("/proc/a/b").exists());
    }
}
