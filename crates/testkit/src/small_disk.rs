//! A small file system that a test fills, so that it is really full.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip::skip_refused;

/// The file that takes the room that is left.
const FILLER: &str = "filler";

/// A tmpfs that goes away with the test.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a file system of so many KiB; `None`, with a skip, where this user may not mount.
    ///
    /// # Panics
    /// There is no folder for it, or no program `mount`.
    #[must_use]
    pub fn mount(kib: u32) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let folder = folder.canonicalize().expect("its name");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "tmpfs"]).arg(&folder);
        let mounted = mount.output().expect("mount starts");
        if mounted.status.success() {
            return Some(Self(folder));
        }
        let _ = std::fs::remove_dir(&folder);
        skip_refused("a full tmpfs", &String::from_utf8_lossy(&mounted.stderr));
        None
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all room that is left, however little.
    ///
    /// # Panics
    /// It cannot be filled.
    pub fn fill(&self) {
        let mut filler = std::fs::File::create(self.0.join(FILLER)).expect("a file");
        let copied = io::copy(&mut io::repeat(1), &mut filler);
        assert_eq!(copied.expect_err("it is full").kind(), io::ErrorKind::StorageFull);
    }

    /// Gives back what [`SmallDisk::fill`] has taken.
    ///
    /// # Panics
    /// It was not filled.
    pub fn free(&self) {
        std::fs::remove_file(self.0.join(FILLER)).expect("the filler");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
        let _ = std::fs::remove_dir(&self.0);
    }
}
