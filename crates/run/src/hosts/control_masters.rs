//! `--controlmaster`: one connection for each host, which its jobs share.
//!
//! A connection is an ssh process that runs `cat` on the host.  It exists before the first job starts.
//! It ends when this process does, however that ends, since its standard input is closed then; so no
//! process is left behind.  Where it cannot be made, jobs log in by themselves.  The sockets are in a
//! folder that only this user may read.

use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::answers::{Answer, read_all};
use super::{HostsError, Warnings, words};
use crate::remote::{Connection, HostAddress, Login};

/// How long all connections may take before jobs start without the rest of them.
const READY_TIME_MAX: Duration = Duration::from_secs(10);

/// How long they may take to end by themselves.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// A folder's name beyond this leaves no room for ssh's own in the path of a socket, which the
/// kernel limits to 108 bytes (unix(7)): 40 of a checksum, 17 while it is made, and separators.
const FOLDER_BYTES_MAX: usize = 48;

/// The folder for the sockets.
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

/// Whether a program knows the options of OpenSSH's.
pub(super) fn is_openssh(connection: &Connection) -> bool {
    let program = connection.program.first().map_or(&b""[..], Vec::as_slice);
    program.rsplit(|byte| *byte == b'/').next() == Some(b"ssh")
}

/// The connections of all hosts; they are ended when this is dropped.
pub(super) struct ControlMasters {
    /// Removed behind the connections.
    _folder: TempDir,
    /// What ends each.
    ends: Vec<Vec<Vec<u8>>>,
    children: Vec<Child>,
}

impl ControlMasters {
    /// Makes them all at the same time, and waits until they stand.
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
            // One that the engine has waited for is no child any more: that is an error here.
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
