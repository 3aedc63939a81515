//! The receiver of journals of other machines, `systemd-journal-remote`, started for a test and ended with it.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::{Running, is_installed, skip};

/// A running receiver, which writes one journal; dropping it ends it.
#[derive(Debug)]
pub struct JournalRemote {
    _child: Running,
    address: SocketAddr,
    folder: TempDir,
}

impl JournalRemote {
    /// Starts one, with a socket that listens.  `None`, and a skip, if it is neither installed nor unpacked by
    /// `.ci/run`, or lacks libraries.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start() -> Option<Self> {
        let (program, libraries) = program()?;
        let folder = tempfile::tempdir().expect("a folder");
        // It gets a socket that listens, as from a service manager: no other program takes the port.
        let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let address = socket.local_addr().expect("an address");
        let given = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
        let mut command = Command::new("sh");
        command
            .args(["-c", given, "sh"])
            .arg(&program)
            .args(["--listen-http=-3", "--split-mode=none"]);
        command.arg("--output").arg(folder.path().join("all.journal"));
        command.env("LD_LIBRARY_PATH", libraries).stdin(Stdio::from(OwnedFd::from(socket)));
        let child = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        Some(Self { _child: child, address, folder })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The journal.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("all.journal")
    }
}

/// Makes a journal of what is written in the export format, with variables such as
/// `SYSTEMD_JOURNAL_COMPACT`.  `None`, and a skip, as [`JournalRemote::start`] says.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn make_journal(file: &Path, export: &[u8], variables: &[(&str, &str)]) -> Option<()> {
    let (program, libraries) = program()?;
    let mut output = OsString::from("--output=");
    output.push(file);
    let mut child = Command::new(program)
        .arg(output)
        .args(["--split-mode=none", "-"])
        .env("LD_LIBRARY_PATH", libraries)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("systemd-journal-remote");
    child.stdin.take().expect("a pipe").write_all(export).expect("it reads all");
    assert!(child.wait().expect("its end").success());
    Some(())
}

/// The program, and where a package of it has a library that another one needs.
fn program() -> Option<(PathBuf, PathBuf)> {
    let name = "systemd-journal-remote";
    if !is_installed(name, "journalctl") {
        return None;
    }
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(name);
    let places = [PathBuf::from("/"), unpacked.clone()];
    let programs = places.map(|place| place.join("lib/systemd").join(name));
    let Some(program) = programs.into_iter().find(|program| program.exists()) else {
        skip(name, "not installed");
        return None;
    };
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    let libraries = unpacked.join("usr/lib").join(machine);
    let version = Command::new(&program)
        .arg("--version")
        .env("LD_LIBRARY_PATH", &libraries)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !version.is_ok_and(|status| status.success()) {
        skip(name, "it lacks libraries");
        return None;
    }
    Some((program, libraries))
}
