//! One process per folder: an advisory lock (`flock`, flock(2)) of a file in it.
//!
//! The kernel releases the lock with the last descriptor, so a killed process leaves none.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;

/// Attempts to take the lock.  Between `fork` and `execve` a child shares the descriptors of its
/// parent, and so its locks: a lock that was just released may be held a little longer.
const TRIES: u32 = 40;
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// Why a folder could not be locked.
#[derive(Debug)]
pub enum FolderLockError {
    /// Another process has it.
    InUse,
    /// The file at this path cannot be opened or locked.
    Io(PathBuf, io::Error),
}

/// Locks a folder by the file of this name, until that is closed; waits 200 ms for another process at
/// most.
///
/// # Errors
/// Another process has the folder, or its lock file cannot be opened or locked.
pub fn lock_folder(folder: &Path, name: &str, mode: u32) -> Result<File, FolderLockError> {
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(mode);
    let file = match options.open(&path) {
        Ok(file) => file,
        Err(error) => return Err(FolderLockError::Io(path, error)),
    };
    for _ in 0..TRIES {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(BETWEEN_TRIES),
            Err(error) => return Err(FolderLockError::Io(path, error.into())),
        }
    }
    Err(FolderLockError::InUse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_process() {
        let folder = tempfile::tempdir().expect("a folder");
        let Ok(first) = lock_folder(folder.path(), "lock", 0o600) else { panic!("it is not free") };
        assert!(matches!(lock_folder(folder.path(), "lock", 0o600), Err(FolderLockError::InUse)));
        // A copy of the descriptor, as a child has until its `execve`, keeps the lock a moment.
        let copy = first.try_clone().expect("a copy");
        drop(first);
        let child = std::thread::spawn(move || {
            std::thread::sleep(4 * BETWEEN_TRIES);
            drop(copy);
        });
        assert!(lock_folder(folder.path(), "lock", 0o600).is_ok());
        child.join().expect("the thread ends");
        let nowhere = lock_folder(&folder.path().join("no"), "lock", 0o600);
        assert!(matches!(nowhere, Err(FolderLockError::Io(path, _)) if path.ends_with("no/lock")));
    }
}
