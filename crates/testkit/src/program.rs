//! Programs that tests write and then start.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

/// Writes a program and waits until it can be started.
///
/// While another thread of the test program starts something, the new process has a copy of our
/// descriptor until its `execve`; a file that is open for writing cannot be started (`ETXTBSY`,
/// execve(2)).  The kernel gives a read lease only if nothing has the file open for writing
/// (`F_SETLEASE`, fcntl(2)).
///
/// # Errors
/// The file cannot be written.
pub fn write_program(path: &Path, text: impl AsRef<[u8]>) -> io::Result<()> {
    fs::write(path, text)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))?;
    let file = File::open(path)?;
    // SAFETY: the descriptor is open, and neither call takes a pointer.
    let lease = |kind: i32| unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    while lease(libc::F_RDLCK) != 0 {
        // Some file systems have no leases, and only they answer something else.
        if io::Error::last_os_error().raw_os_error() != Some(libc::EAGAIN) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    lease(libc::F_UNLCK);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn programs_start_while_other_threads_start_programs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        write_program(&path, "#!/bin/sh\nexit 7\n").expect("written");
        let writer = fs::OpenOptions::new().append(true).open(&path).expect("opened");
        let busy = Command::new(&path).status();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(writer);
        });
        write_program(&path, "#!/bin/sh\nexit 8\n").expect("written");
        assert_eq!(Command::new(&path).status().expect("started").code(), Some(8));
        other.join().expect("the thread ends");
        // Kernels 6.11 and 6.12 start a file that is open for writing too.
        assert!(
            busy.is_ok() || busy.is_err_and(|error| error.raw_os_error() == Some(libc::ETXTBSY))
        );
    }
}
