//! A client that is a process of its own, in Rust or in C: it does what its input says, and says
//! what it is told.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use logger::{FullPolicy, LogConfig, LogLevel, Logger, Tier, log_debug, log_info, log_sync};

use super::{Deadline, Folders, PATIENCE, Running, start};

/// Plays a client that does what its standard input says; gives whether the role is one.
pub(crate) fn play_client(role: &[&str]) -> bool {
    match role {
        ["client", folder] => talk(Path::new(folder), None),
        ["drop", folder] => talk(Path::new(folder), Some(FullPolicy::DropNewest)),
        ["overwrite", folder] => talk(Path::new(folder), Some(FullPolicy::OverwriteOldest)),
        _ => return false,
    }
    true
}

pub(crate) fn tier(number: &str) -> Tier {
    match number {
        "1" => Tier::Read,
        "2" => Tier::Synced,
        _ => Tier::Central,
    }
}

/// The client: does what its input says, and says what it is told.
pub(crate) fn talk(folder: &Path, policy: Option<FullPolicy>) {
    let mut config = LogConfig::new(folder, "host", "client");
    if let Some(policy) = policy {
        config.set_policy(policy);
        (config.rings.ring_bytes, config.rings.ring_bytes_max) = (64 << 10, 64 << 10);
    }
    let _logging = logger::start(config).unwrap();
    let log = Logger::new("status").unwrap();
    let mut said = 0;
    let watch = logger::on_status(move |status| {
        for range in status.ranges.iter().filter(|range| range.number >= said) {
            let (first, last) = (range.first_sequence, range.last_sequence);
            println!("> range {} {} {first} {last}", range.ring, range.reason);
        }
        said = status.range_count;
        println!("> state {} {} {}", status.state as u32, status.failure, status.message);
    });
    let watch = watch.unwrap();
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        let span = |text: &str| Duration::from_millis(text.parse().unwrap());
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["log", count] => {
                for number in 0..count.parse::<u64>().unwrap() {
                    log_info!(log, "{}", number);
                }
                println!("> logged");
            }
            ["debug", count] => {
                for number in 0..count.parse::<u64>().unwrap() {
                    log_debug!(log, "{}", number);
                }
                println!("> logged");
            }
            ["levels", central, local] => {
                log.set_levels(central.parse().unwrap(), local.parse().unwrap());
                println!("> set");
            }
            ["flush", number, ms] => {
                let done = logger::flush(tier(number), span(ms));
                println!("> flush {}", u8::from(done.is_safe));
            }
            ["sync", number, ms] => {
                let done = log_sync!(log, LogLevel::Alert, tier(number), span(ms), "{}", 7);
                println!("> flush {}", u8::from(done.is_safe));
            }
            ["cost"] => {
                let cost = logring::writer::consumer_status().unwrap().cost;
                let is_said = cost.cpu_ns > 0 && cost.memory_bytes > 100_000;
                println!("> cost {} {}", u8::from(is_said), u8::from(cost.records > 0));
            }
            ["counts"] => {
                let all = logger::statistics().unwrap();
                let one = all.iter().find(|one| one.name == "status").unwrap();
                println!("> counts {} {}", one.counts[4], one.counts[10]);
            }
            other => panic!("{other:?}"),
        }
    }
    drop(watch);
}

/// A client that is a process, and its lines.
pub(crate) struct Client {
    pub(crate) process: Running,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// The last line about a state.
    state: RefCell<String>,
}

impl Client {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Running::start(&mut command);
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                // The test program says things of its own, also in the same line.
                if let Some((_, line)) = line.split_once("> ")
                    && sender.send(line.to_owned()).is_err()
                {
                    return;
                }
            }
        });
        Client { process: child, input, lines, state: RefCell::default() }
    }

    /// Waits for a line that begins so; gives all up to it.
    #[track_caller]
    pub(crate) fn wait(&self, begin: &str) -> Vec<String> {
        let deadline = Deadline::default();
        let mut all: Vec<String> = Vec::new();
        loop {
            match self.lines.recv_timeout(deadline.left()) {
                Ok(line) => {
                    if line.starts_with("state ") {
                        self.state.borrow_mut().clone_from(&line);
                    }
                    all.push(line);
                }
                Err(RecvTimeoutError::Timeout) => panic!("no {begin:?}: {all:?}"),
                Err(RecvTimeoutError::Disconnected) => panic!("{begin:?}: it ended: {all:?}"),
            }
            if all.last().is_some_and(|line| line.starts_with(begin)) {
                return all;
            }
        }
    }

    /// Waits until the last state that it was told begins so, which may have come before the answer to
    /// an earlier question; gives the line.
    #[track_caller]
    pub(crate) fn wait_for_state(&self, begin: &str) -> String {
        if !self.state.borrow().starts_with(begin) {
            self.wait(begin);
        }
        self.state.borrow().clone()
    }

    /// The next line.
    #[track_caller]
    pub(crate) fn next_line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    /// The first range that it says from here on.
    #[track_caller]
    pub(crate) fn wait_for_range(&self) -> String {
        self.wait("range").pop().unwrap()
    }

    /// Gives it a line.
    #[track_caller]
    pub(crate) fn tell(&mut self, what: &str) {
        writeln!(self.input.as_mut().unwrap(), "{what}").unwrap();
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, what: &str, answer: &str) -> Vec<String> {
        writeln!(self.input.as_mut().unwrap(), "{what}").unwrap();
        self.wait(answer)
    }

    /// Asks again until the answer is this.
    #[track_caller]
    pub(crate) fn ask_until(&mut self, what: &str, kind: &str, answer: &str) {
        let deadline = Deadline::default();
        loop {
            let said = self.ask(what, kind).pop().unwrap();
            if said == answer {
                return;
            }
            assert!(deadline.is_ahead(), "{said:?}, not {answer:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn end(mut self) {
        drop(self.input);
        assert!(self.process.ended().success());
    }

    /// Ends it; gives the line that begins so and that it says at its end.
    pub(crate) fn end_and_hear(mut self, begin: &str) -> String {
        drop(self.input.take());
        let said = self.wait(begin).pop().unwrap();
        assert!(self.process.ended().success());
        said
    }
}

pub(crate) fn rust_client(folder: &Path) -> Client {
    rust_client_as("client", folder)
}

/// A client in a role: `drop` and `overwrite` have rings of 64 KiB that do not grow.
pub(crate) fn rust_client_as(role: &str, folder: &Path) -> Client {
    Client::start(super::in_role(&format!("{role}|{}", folder.display())))
}

pub(crate) fn c_client(folders: &Folders) -> Option<Client> {
    let mut command = Command::new(super::c_program()?);
    command.arg("talk").arg(&folders.rings);
    Some(Client::start(command))
}

pub(crate) fn start_proxy(folders: &Folders) -> Running {
    let Folders { rings, spool, socket, .. } = folders;
    let role = format!("proxy|{}|{}|{}", rings.display(), spool.display(), socket.display());
    start(&role)
}

pub(crate) fn start_central(folders: &Folders) -> Running {
    let Folders { store, socket, .. } = folders;
    start(&format!("central|{}|{}", store.display(), socket.display()))
}
