//! One writer a file: an advisory lock, and the writer's process id in the file.
//!
//! The lock is one of the open file description (`F_OFD_SETLK`, fcntl(2)): the kernel drops it
//! with the last descriptor, so a recorder that was killed leaves none, and whether it is held can
//! be asked without taking it.  File systems without locks are written without one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use crate::error::Error;
use crate::format::PID_AT;

/// A process that starts another one shares its descriptors, and so its locks, with it for the
/// moment until the other program is loaded: a lock that has just been given up may be held that
/// much longer.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(3);

/// What became of the attempt to be a file's only writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locking {
    /// We are.
    Done,
    /// Another one is.
    Held,
}

/// A write lock over the whole file, as fcntl(2) takes and gives it.
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

/// Whether a writer holds the lock.
pub(crate) fn is_held(file: &File) -> bool {
    let mut asked = whole_file();
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the kernel writes no
    // more than the structure, which lives until the call returns.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut asked) };
    done == 0 && asked.l_type != libc::F_UNLCK as libc::c_short
}

/// Takes the lock of a recording, or says who has it.
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
