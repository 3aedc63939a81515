//! `whit top` on a terminal of its own (a pseudo-terminal): what it takes it gives back.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{Deadline, Running};

use crate::whit;

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const CLEARED: &str = "\x1b[2J";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// The program on a terminal of 80 by 24.
pub(crate) struct Session {
    child: Running,
    master: File,
    terminal: OwnedFd,
    pub(crate) seen: String,
}

/// A pseudo terminal of this size: the end that a test reads, and the end that a program gets (openpty(3)).
pub(crate) fn pseudo_terminal(rows: u16, columns: u16) -> std::io::Result<(OwnedFd, OwnedFd)> {
    let (mut ours, mut theirs) = (-1, -1);
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: both numbers and the size live through the call; no name and no settings are asked for.
    let opened = unsafe {
        libc::openpty(
            &raw mut ours,
            &raw mut theirs,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const size,
        )
    };
    if opened != 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: openpty has just handed both descriptors to us alone.
    Ok(unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) })
}

impl Session {
    fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Session {
        let mut command = whit();
        command.arg("top").args(arguments).envs(environment.iter().copied());
        Session::of(command)
    }

    /// A command on the terminal.
    pub(crate) fn of(mut command: Command) -> Session {
        let (master, terminal) = pseudo_terminal(24, 80).unwrap();
        let master = File::from(master);
        // SAFETY: the descriptor is open; the read end must not block for ever.
        unsafe {
            libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&master), libc::F_SETFL, libc::O_NONBLOCK)
        };
        let stream = || Stdio::from(terminal.try_clone().unwrap());
        for (name, value) in [("TERM", "xterm"), ("LANG", "C.UTF-8"), ("LC_ALL", "")] {
            if !command.get_envs().any(|(given, _)| given == name) {
                command.env(name, value);
            }
        }
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = Running::start(&mut command);
        Session { child, master, terminal, seen: String::new() }
    }

    /// Reads until the output has `text`, or the program ends.
    pub(crate) fn until(&mut self, text: &str) {
        let deadline = Deadline::default();
        let mut bytes = [0; 4096];
        while !self.seen.contains(text) {
            assert!(deadline.is_ahead(), "no {text:?} in {:?}", self.seen);
            match self.master.read(&mut bytes) {
                Ok(count) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Has the screen drawn anew until it has `text`: else only the characters that differ are sent, and
    /// never blanks without a style.
    pub(crate) fn shows(&mut self, text: &str) {
        let deadline = Deadline::default();
        let before = std::mem::take(&mut self.seen);
        loop {
            self.type_in("\x0c");
            // This terminal answers no questions, such as where its cursor is.
            self.until(CLEARED);
            let drawn = self.seen.rfind(CLEARED).map_or(0, |at| at + CLEARED.len());
            self.seen.drain(..drawn);
            self.until("\x1b[0m\x1b[?25l");
            if self.seen.contains(text) {
                self.seen.insert_str(0, &before);
                return;
            }
            assert!(deadline.is_ahead(), "no {text:?} in {:?}", self.seen);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Whether lines are edited and echoed, as a shell wants it.
    fn is_cooked(&self) -> bool {
        // SAFETY: zero is a valid value of plain data, which the call fills.
        let settings = unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            let terminal = std::os::fd::AsRawFd::as_raw_fd(&self.terminal);
            assert_eq!(libc::tcgetattr(terminal, &raw mut settings), 0);
            settings
        };
        settings.c_lflag & libc::ECHO != 0 && settings.c_lflag & libc::ICANON != 0
    }

    /// Waits for the end of a program that takes no screen, and for all that it wrote.
    pub(crate) fn ends_plainly(&mut self, codes: &[i32]) {
        let code = self.read_to_the_end().code();
        assert!(code.is_some_and(|code| codes.contains(&code)), "{code:?}: {:?}", self.seen);
        assert!(self.is_cooked());
    }

    /// Reads until the program has ended and nothing of it is left.
    fn read_to_the_end(&mut self) -> std::process::ExitStatus {
        let deadline = Deadline::default();
        let mut bytes = [0; 4096];
        let mut ended = None;
        loop {
            match self.master.read(&mut bytes) {
                Ok(count) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
                // What was written before the end can be read after it.
                Err(_) if ended.is_some() => return ended.unwrap_or_default(),
                Err(_) => {
                    assert!(deadline.is_ahead(), "no end after {:?}", self.seen);
                    ended = self.child.try_wait().unwrap();
                    if ended.is_none() {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
            }
        }
    }

    /// Waits for the end, and holds that the terminal is as it was.
    pub(crate) fn ends(&mut self, code: i32) {
        self.until(LEAVE);
        assert!(self.seen.contains(ENTER) && self.seen.contains(SHOW_CURSOR), "{:?}", self.seen);
        assert_eq!(self.child.ended().code(), Some(code), "{:?}", self.seen);
        assert!(self.is_cooked());
    }
}

#[test]
fn a_count_of_samples_and_the_key_q_end_it() {
    let mut session = Session::start(&["-n", "2", "-d", "0.1"], &[]);
    session.ends(0);
    assert!(session.seen.contains("COMMAND"), "{:?}", session.seen);
    assert!(session.seen.contains("\x1b[38;"), "{:?}", session.seen);

    let mut session = Session::start(&["-d", "60"], &[]);
    session.until("COMMAND");
    assert!(!session.is_cooked());
    session.type_in("q");
    session.ends(0);
}

/// What a session of two samples has shown.
fn shown(options: &[&str]) -> String {
    let mut session = Session::start(options, &[("NO_COLOR", "1")]);
    session.ends(0);
    session.seen.clone()
}

#[test]
fn options_choose_what_is_shown() {
    let two = ["--iterations", "2", "-d", "0.1", "--sort", "pid"];
    let pid = std::process::id().to_string();
    let only = shown(&[&two[..], &["--pid", &pid]].concat());
    assert!(only.contains(&pid) && !only.contains("kthreadd"), "{only:?}");
    let nobody = shown(&[&two[..], &["--user", "no-such-user"]].concat());
    assert!(nobody.contains("no process to show"), "{nobody:?}");

    let filtered = shown(&[&two[..], &["--filter", "no such text"]].concat());
    // The program's own line has the text among its arguments.
    assert!(filtered.contains("with 'no such text'"), "{filtered:?}");
    assert!(!filtered.contains("kthreadd"), "{filtered:?}");
    let users = shown(&["--iterations", "2", "--delay", "0.1", "--by", "user"]);
    assert!(users.contains("PROCS"), "{users:?}");
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::start(&["--root", folder.path().to_str().unwrap()], &[]);
    session.until("has no directory proc");

    // In the tree, a child is below its parent.
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let both = format!("{pid},{}", child.id());
    let tree = shown(&[&two[..], &["--pid", &both, "--tree"]].concat());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(tree.contains('└'), "{tree:?}");
    // The test harness runs each test in a thread of its own.
    let tid = rustix::thread::gettid().as_raw_nonzero().to_string();
    assert!(shown(&[&two[..], &["--pid", &tid]].concat()).contains("no process to show"));
    let threads = shown(&[&two[..], &["--threads", "--pid", &tid]].concat());
    assert!(!threads.contains("no process to show"), "{threads:?}");
    let mut session = Session::start(&["--at", "25:00", "/nonexistent.whit"], &[]);
    session.until("whit: ");
    assert_eq!(session.child.ended().code(), Some(2));
}

#[test]
fn signals_end_it_with_the_terminal_as_it_was() {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let mut session = Session::start(&["-d", "60"], &[]);
        session.until("COMMAND");
        // SAFETY: the child is ours and not waited for, so the number is still its own.
        unsafe { libc::kill(i32::try_from(session.child.id()).unwrap(), signal) };
        session.ends(0);
    }
}

#[test]
fn no_colour_means_no_colour() {
    let mut session = Session::start(&["-n", "2", "-d", "0.1"], &[("NO_COLOR", "1")]);
    session.ends(0);
    assert!(!session.seen.contains("\x1b[38;") && !session.seen.contains("\x1b[48;"));
}

#[test]
fn what_is_no_terminal_is_refused_with_advice() {
    let mut session = Session::start(&[], &[("TERM", "dumb")]);
    session.until("whit record --top");
    assert_eq!(session.child.ended().code(), Some(2));
    assert!(!session.seen.contains(ENTER));

    let output = whit().arg("top").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.starts_with("whit: whit top needs a terminal"), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn a_signal_ends_it_while_the_terminal_takes_no_output() {
    let mut session = Session::start(&["-d", "60"], &[]);
    session.until("COMMAND");
    let terminal = std::os::fd::AsRawFd::as_raw_fd(&session.terminal);
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::tcflow(terminal, libc::TCOOFF) }, 0);
    session.type_in("?");
    testkit::wait_until("the key is read", || {
        let mut waiting: libc::c_int = 0;
        // SAFETY: the descriptor is open, and the number lives through the call.
        let done = unsafe { libc::ioctl(terminal, libc::FIONREAD, &raw mut waiting) };
        done == 0 && waiting == 0
    });
    // SAFETY: the child is ours and not waited for, so the number is still its own.
    unsafe { libc::kill(i32::try_from(session.child.id()).unwrap(), libc::SIGTERM) };
    assert_eq!(session.child.ended().code(), Some(0), "{:?}", session.seen);
    assert!(session.is_cooked());
}

/// Sends datagrams to nobody until it is dropped.
struct Sender(std::sync::Arc<std::sync::atomic::AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl Sender {
    fn start() -> Sender {
        let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let seen = ended.clone();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = socket.local_addr().unwrap();
        let send = move || {
            while !seen.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = socket.send_to(&[1; 1000], own);
                let _ = socket.recv(&mut [0; 1000]);
                std::thread::sleep(Duration::from_millis(5));
            }
        };
        Sender(ended, Some(std::thread::spawn(send)))
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        self.1.take().unwrap().join().unwrap();
    }
}

#[test]
fn traffic_by_process_is_shown_live_and_from_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let sender = Sender::start();
    let mut record = whit();
    record.args(["record", "-s", "cpu,process_net,Z", "-i1:1", "-c3", "-f", path]);
    let output = record.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    if said.contains("process_net: ") {
        if said.contains("cgroup2") {
            return testkit::skip("the unified hierarchy", &said);
        }
        return testkit::skip_refused("counting in the kernel", &said);
    }
    let pid = std::process::id().to_string();
    let numbers = |options: &[&str]| {
        let mut session = Session::start(options, &[("NO_COLOR", "1")]);
        session.until("calls/s");
        session.shows("RECV/s");
        // What was shown last is the whole screen.
        let text = session.seen.rsplit(CLEARED).next().unwrap().to_owned();
        session.type_in("q");
        session.ends(0);
        text
    };
    let text = numbers(&[path, "--pid", &pid]);
    // Both ends of the connection are this process.
    assert!(!text.contains("      -      - "), "{text:?}");
    let text = numbers(&[path, "--by", "cgroup", "--sort", "net"]);
    assert!(text.contains("NET/s") && text.contains("CGROUP"), "{text:?}");
    let text = numbers(&["--net", "-d", "0.5", "--pid", &pid]);
    assert!(text.contains("SENT/s"), "{text:?}");
    drop(sender);
}
