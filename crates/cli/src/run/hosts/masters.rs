//! `--controlmaster`: one connection for each host, which its jobs share.
//!
//! A connection is an ssh of its own that runs `cat` over there: it stands before the first job
//! starts, ends when we do however that comes, as its standard input ends then, and leaves no
//! process behind that nobody owns.  Where it cannot be made, jobs log in by themselves.  The
//! sockets are in a folder that only we may read.

use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use run::engine::Observer as _;
use run::remote::{Connection, Login, Place};
use tempfile::TempDir;

use super::answers::{Answer, hear};
use super::words;
use crate::run::notice::Notices;

/// How long all connections may take before jobs start without the rest of them.
const READY_TIME_MAX: Duration = Duration::from_secs(10);

/// How long they may take to end by themselves.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// A folder's name beyond this leaves no room for ssh's own in the path of a socket, which the
/// kernel limits to 108 bytes (unix(7)): 40 of a checksum, 17 while it is made, and separators.
const FOLDER_BYTES_MAX: usize = 48;

/// The folder for the sockets.
fn folder() -> anyhow::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("whit-");
    let folder = builder.tempdir().context("--controlmaster: cannot make a folder for sockets")?;
    if folder.path().as_os_str().len() <= FOLDER_BYTES_MAX {
        return Ok(folder);
    }
    builder.tempdir_in("/tmp").context("--controlmaster: cannot make a folder in /tmp")
}

/// Whether a program knows the options of OpenSSH's.
pub(super) fn is_openssh(connection: &Connection) -> bool {
    let program = connection.program.first().map_or(&b""[..], Vec::as_slice);
    program.rsplit(|byte| *byte == b'/').next() == Some(b"ssh")
}

/// The connections of all hosts; they are ended when this is dropped.
pub(crate) struct Masters {
    /// Removed behind the connections.
    _folder: TempDir,
    /// What ends each.
    ends: Vec<Vec<Vec<u8>>>,
    children: Vec<Child>,
}

impl Masters {
    /// Makes them all at the same time, and waits until they stand.
    pub(super) fn make(
        logins: &[Login],
        connection: &mut Connection,
        alive: &OwnedFd,
    ) -> anyhow::Result<Self> {
        let folder = folder()?;
        connection.control = Some(folder.path().to_owned());
        let mut masters = Masters { _folder: folder, ends: Vec::new(), children: Vec::new() };
        let (mut names, mut answers) = (Vec::new(), Vec::new());
        for login in logins {
            let Place::There(ssh) = &login.place else { continue };
            let Some([make, end]) = connection.master(ssh) else { continue };
            let mut command = words(&make);
            let command = command.stdin(alive.try_clone()?).stdout(Stdio::piped());
            let mut child = command.spawn().context("--controlmaster: cannot start ssh")?;
            answers.push(Answer::of(child.stdout.take(), true));
            names.push(&login.name);
            masters.ends.push(end);
            masters.children.push(child);
        }
        hear(&mut answers, Instant::now() + READY_TIME_MAX);
        for (name, answer) in names.into_iter().zip(answers) {
            if answer.text.is_empty() {
                let text = format!("{name}: no connection to share; each job logs in");
                Notices.tell(text.as_bytes());
            }
        }
        Ok(masters)
    }
}

impl Drop for Masters {
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
