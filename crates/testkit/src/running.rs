//! Child processes that do not outlive their test.

use std::fs;
use std::io::Write as _;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use crate::wait_for;

/// A child process that is killed and waited for when it is dropped.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Starts a program.
    ///
    /// # Panics
    /// If it does not start.
    #[track_caller]
    pub fn start(command: &mut Command) -> Self {
        match command.spawn() {
            Ok(child) => Self(child),
            Err(error) => panic!("{command:?} does not start: {error}"),
        }
    }

    /// The process id, as system calls take it.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }

    /// The port of the loopback at which it listens, once it does: of a program that does not tell which
    /// it was given for port 0.
    ///
    /// # Panics
    /// If the tables of `/proc` cannot be read.
    #[must_use]
    pub fn listening_port(&self) -> Option<u16> {
        self.listening_ports().first().copied()
    }

    /// All ports on which it listens, as [`Self::listening_port`].
    ///
    /// # Panics
    /// If the tables of `/proc` cannot be read.
    #[must_use]
    pub fn listening_ports(&self) -> Vec<u16> {
        let folder = PathBuf::from(format!("/proc/{}", self.pid()));
        let descriptors = fs::read_dir(folder.join("fd")).expect("its descriptors");
        let sockets: Vec<PathBuf> =
            descriptors.flatten().filter_map(|entry| fs::read_link(entry.path()).ok()).collect();
        let table = fs::read_to_string(folder.join("net/tcp")).expect("its sockets");
        // Number, local address, remote address, state, four more, the number of the inode.
        let ports = table.lines().skip(1).filter_map(|line| {
            let columns: Vec<&str> = line.split_whitespace().collect();
            let is_own = sockets.contains(&PathBuf::from(format!("socket:[{}]", columns[9])));
            let port = columns[1].rsplit_once(':')?.1;
            (is_own && columns[3] == "0A").then(|| u16::from_str_radix(port, 16).expect("a port"))
        });
        ports.collect()
    }

    /// Sends a signal, a number of signal(7).
    ///
    /// # Panics
    /// If the process was waited for before.
    pub fn signal(&mut self, signal: i32) {
        assert!(self.0.try_wait().is_ok_and(|ended| ended.is_none()), "it has ended");
        // SAFETY: no pointers; the process is a child that was not waited for.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0, "{signal}");
    }

    /// Whether the process handles a signal, or blocks it to read it from a descriptor: what is sent
    /// earlier ends it.
    #[must_use]
    pub fn takes_signal(&self, signal: i32) -> bool {
        let path = format!("/proc/{}/status", self.pid());
        let status = std::fs::read_to_string(path).unwrap_or_default();
        let masks = ["SigBlk:\t", "SigCgt:\t"].map(|name| {
            let mask = status.lines().find_map(|line| line.strip_prefix(name));
            mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
        });
        let has = |mask: u64, signal: i32| mask & 1 << (signal - 1) != 0;
        // Who starts another process blocks all signals for a moment, also those that nobody handles.
        let starts_another = has(masks[0], libc::SIGURG);
        !starts_another && has(masks[0] | masks[1], signal)
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// If it does not end within [`crate::PATIENCE`].
    #[track_caller]
    pub fn ended(&mut self) -> ExitStatus {
        wait_for("the end of the process", || self.0.try_wait().expect("its state"))
    }

    /// Ends the process by `SIGKILL`, as when the machine runs out of memory.
    pub fn kill(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl From<Child> for Running {
    fn from(child: Child) -> Self {
        Self(child)
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// Gives a program all of its input while its output is read, and waits for its end.  A program
/// need not read all of it.
///
/// # Panics
/// If the program does not start.
#[track_caller]
pub fn run_on(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().expect("its output")
    })
}

/// This test program again, which runs only the test of that name: a process for what a thread cannot
/// do or survive.  Variables tell that test its part.
///
/// # Panics
/// If the system does not tell the program's own file.
#[must_use]
pub fn own_test(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_with_what_holds_it() {
        let running = Running::start(Command::new("sleep").arg("1000"));
        let folder = format!("/proc/{}", running.pid());
        assert!(std::path::Path::new(&folder).exists());
        drop(running);
        assert!(!std::path::Path::new(&folder).exists());
    }

    #[test]
    fn a_signal_ends_a_process() {
        use std::os::unix::process::ExitStatusExt as _;
        let mut running = Running::start(Command::new("sleep").arg("1000"));
        running.signal(libc::SIGTERM);
        assert_eq!(running.ended().signal(), Some(libc::SIGTERM));
    }
}
