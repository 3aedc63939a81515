//! `--controlmaster`: one connection for each host, which its jobs share.
//!
//! The master connection is an ssh process that runs `cat` on the host.  It exists before the first
//! job starts.  It ends when this process does, however that ends, because its standard input is
//! closed then; so no process is left behind.  If it cannot be made, jobs log in by themselves.
//! The sockets are in a directory that only this user can read.

use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::answers::{Answer, read_all};
use super::{HostsError, Warnings, words};
use crate::remote::{Connection, HostAddress, Login};

/// Longest time that jobs wait for all connections.
const READY_TIME_MAX: Duration = Duration::from_secs(10);

/// Longest time that connections have to end by themselves.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// Longest name of the directory: the kernel limits the path of a socket to 108 bytes (unix(7)),
/// and ssh adds 40 of a checksum, 17 while it creates it, and separators.
const FOLDER_BYTES_MAX: usize = 48;

/// Creates the directory for the sockets.
fn folder() -> Result<TempDir, HostsError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("whit-");
    let what = "--controlmaster: cannot make a folder for sockets";
    let folder = builder.tempdir().map_err(HostsError::system(what))?;
    if folder.path().as_os_str().len() <= FOLDER_BYTES_MAX {
        return Ok(folder);
    }
    let what = "--controlmaster: cannot make a folder in /tmp";
    builder.tempdir_in("/tmp").map_err(HostsError::system(what))
}

/// Whether the login program has the options of OpenSSH.
pub(super) fn is_openssh(connection: &Connection) -> bool {
    let program = connection.program.first().map_or(&b""[..], Vec::as_slice);
    program.rsplit(|byte| *byte == b'/').next() == Some(b"ssh")
}

/// The connections of all hosts; dropping this ends them.
pub(super) struct ControlMasters {
    /// Removed after the connections.
    _folder: TempDir,
    /// The commands that end the connections.
    ends: Vec<Vec<Vec<u8>>>,
    children: Vec<Child>,
}

impl ControlMasters {
    /// Makes all connections at the same time, and waits for them.
    pub(super) fn make(
        logins: &[Login],
        connection: &mut Connection,
        keepalive: &OwnedFd,
        warnings: &Warnings,
    ) -> Result<Self, HostsError> {
        let folder = folder()?;
        connection.control = Some(folder.path().to_owned());
        let mut masters =
            ControlMasters { _folder: folder, ends: Vec::new(), children: Vec::new() };
        let (mut names, mut answers) = (Vec::new(), Vec::new());
        for login in logins {
            let HostAddress::Remote(ssh) = &login.address else { continue };
            let Some([make, end]) = connection.master(ssh) else { continue };
            let mut command = words(&make);
            let cannot_start = || HostsError::system("--controlmaster: cannot start ssh");
            let keepalive = keepalive.try_clone().map_err(cannot_start())?;
            let command = command.stdin(keepalive).stdout(Stdio::piped());
            let mut child = command.spawn().map_err(cannot_start())?;
            answers.push(Answer::of(child.stdout.take(), true));
            names.push(&login.name);
            masters.ends.push(end);
            masters.children.push(child);
        }
        read_all(&mut answers, Instant::now() + READY_TIME_MAX);
        for (name, answer) in names.into_iter().zip(answers) {
            if answer.text.is_empty() {
                warnings.warn(&format!("{name}: no connection to share; each job logs in"));
            }
        }
        Ok(masters)
    }
}

impl Drop for ControlMasters {
    fn drop(&mut self) {
        let quiet = |end: &Vec<Vec<u8>>| {
            let mut command = words(end);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        };
        let ends: Vec<_> = self.ends.iter().map(quiet).collect();
        for mut child in ends.into_iter().flatten() {
            let _ = child.wait();
        }
        let until = Instant::now() + END_TIME_MAX;
        for child in &mut self.children {
            // The engine may have waited for it, in which case this returns an error.
            while let Ok(None) = child.try_wait() {
                if Instant::now() > until {
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
