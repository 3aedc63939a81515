//! `--controlmaster`: one connection for each host, which its jobs share.
//!
//! A connection is an ssh of its own that runs `cat` over there: it stands before the first job
//! starts, ends when we do however that comes, as its standard input ends then, and leaves no
//! process behind that nobody owns.  Where it cannot be made, jobs log in by themselves.  The
//! sockets are in a folder that only we may read.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use run::engine::Observer as _;
use run::remote::{Connection, Login, Place};
use tempfile::TempDir;

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
        let (sender, ready) = mpsc::channel();
        for login in logins {
            let Place::There(ssh) = &login.place else { continue };
            let Some([make, end]) = connection.master(ssh) else { continue };
            let mut command = words(&make);
            let command = command.stdin(alive.try_clone()?).stdout(Stdio::piped());
            let mut child = command.spawn().context("--controlmaster: cannot start ssh")?;
            let stdout = child.stdout.take().map(OwnedFd::from).map(File::from);
            masters.ends.push(end);
            masters.children.push(child);
            let (sender, name) = (sender.clone(), login.name.clone());
            thread::Builder::new().name("master".into()).spawn(move || {
                let stands = stdout.is_some_and(|mut out| matches!(out.read(&mut [0]), Ok(1)));
                // Nobody may be left to hear of it.
                let _ = sender.send((name, stands));
            })?;
        }
        drop(sender);
        let until = Instant::now() + READY_TIME_MAX;
        for _ in 0..masters.children.len() {
            let wait = until.saturating_duration_since(Instant::now());
            let Ok((name, stands)) = ready.recv_timeout(wait) else { break };
            if !stands {
                Notices
                    .tell(format!("{name}: no connection to share; each job logs in").as_bytes());
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
