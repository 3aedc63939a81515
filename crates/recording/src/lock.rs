//! One writer per file: an advisory lock, and the writer's process id in the file.
//!
//! The lock belongs to the open file description (`F_OFD_SETLK`, fcntl(2)): the kernel releases it
//! with the last descriptor, so a killed recorder leaves none, and readers can test it without
//! taking it.  On filesystems without locks files are written without one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::format::PID_AT;

/// Attempts to take the lock.  Between `fork` and `execve` a child shares the descriptors of its
/// parent, and so its locks: a lock that was just released may be held a little longer.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(3);

/// The result of an attempt to lock a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locking {
    /// We hold the lock.
    Done,
    /// Another writer holds it.
    Held,
}

/// A write lock of the whole file, for fcntl(2).
fn whole_file() -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Takes the lock, without waiting, until `file` is closed.
fn lock(file: &File) -> io::Result<Locking> {
    let asked = whole_file();
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the kernel only reads
    // the structure, which lives until the call returns.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const asked) };
    if done == 0 {
        return Ok(Locking::Done);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(Locking::Held),
        Some(libc::ENOLCK | libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => Ok(Locking::Done),
        _ => Err(error),
    }
}

/// Takes the lock, without waiting, until `file` is closed; false if another writer holds it.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    Ok(lock(file)? == Locking::Done)
}

/// Whether a writer holds the lock.
pub(crate) fn is_held(file: &File) -> bool {
    let mut asked = whole_file();
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the kernel writes no
    // more than the structure, which lives until the call returns.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut asked) };
    done == 0 && asked.l_type != libc::F_UNLCK as libc::c_short
}

/// Whether a recorder writes to a recording now.  False for a recorder on another machine, if the
/// filesystem does not tell.
///
/// # Errors
/// The file cannot be opened.
pub fn is_being_written(recording: &Path) -> Result<bool, Error> {
    let file = File::open(recording).map_err(|error| Error::io(recording, "open", error))?;
    Ok(is_held(&file))
}

/// Locks a recording; the error names the process that holds the lock.
pub(crate) fn lock_or_refuse(file: &File, path: &Path) -> Result<(), Error> {
    for _ in 0..TRIES {
        if lock(file).map_err(|error| Error::io(path, "lock", error))? == Locking::Done {
            return Ok(());
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    let mut pid = [0; 4];
    let read = file.read_exact_at(&mut pid, PID_AT as u64);
    let pid = Some(u32::from_le_bytes(pid)).filter(|&pid| read.is_ok() && pid != 0);
    Err(Error::Locked { path: path.to_owned(), pid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_until_the_first_is_gone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let second = file.reopen().unwrap();
        assert!(!is_held(&second));
        let first = file.reopen().unwrap();
        assert_eq!(lock(&first).unwrap(), Locking::Done);
        assert!(is_held(&second));
        assert_eq!(lock(&second).unwrap(), Locking::Held);
        drop(first);
        assert!(!is_held(&second));
        assert_eq!(lock(&second).unwrap(), Locking::Done);
    }
}
