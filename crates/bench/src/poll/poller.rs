//! A poller that is measured: one round as a process, or rounds of a program that stays.
//!
//! Of one that stays a round is over when it has used CPU time and then none for a while, so that
//! nothing but the kernel's own account is needed of a rival.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::error::{Context, Error, Result};
use crate::measure::{Measurement, ends_with_us, process_cpu};
use crate::programs::text_of;
use crate::rrd::pipe::dirtied_bytes;

/// Longest round, and longest time until a program has ended: MRTG's native mode takes four minutes
/// for 3,164 targets on a machine that has nothing else to do.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// A program that rests so long has made its round.
const REST: Duration = Duration::from_millis(600);

/// How often its CPU time is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What a process and all its threads and ended children have cost since its start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) cpu: Measurement,
    pub(super) dirtied_bytes: u64,
}

impl Spent {
    /// Reads it; `None` if there is no such process.
    pub(super) fn of(pid: u32) -> Option<Self> {
        let all_us = process_cpu(pid)?.as_micros() as u64;
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain anything: numbers follow the last `)`.
        let after = stat.iter().rposition(|byte| *byte == b')')?;
        let mut words = std::str::from_utf8(&stat[after + 1..]).ok()?.split_ascii_whitespace();
        let mut number = |skip| words.nth(skip).and_then(|word| word.parse::<u64>().ok());
        let (user, system) = (number(11)?, number(0)?);
        // The clock is exact and has no parts; the ticks only serve to split it.
        let user_us = (all_us * user).checked_div(user + system).unwrap_or(all_us);
        Some(Spent {
            cpu: Measurement {
                user_us,
                system_us: all_us - user_us,
                resident_kib_max: resident_kib_max(pid),
                ..Measurement::default()
            },
            dirtied_bytes: dirtied_bytes(&pid.to_string()).unwrap_or(0),
        })
    }

    /// What was spent between an earlier look and this one, for each of some rounds.
    pub(super) fn since(&self, earlier: &Spent, rounds: u64) -> Self {
        let rounds = rounds.max(1);
        let each = |now: u64, before: u64| now.saturating_sub(before) / rounds;
        Spent {
            cpu: Measurement {
                wall_us: 0,
                user_us: each(self.cpu.user_us, earlier.cpu.user_us),
                system_us: each(self.cpu.system_us, earlier.cpu.system_us),
                resident_kib_max: self.cpu.resident_kib_max,
            },
            dirtied_bytes: each(self.dirtied_bytes, earlier.dirtied_bytes),
        }
    }
}

fn resident_kib_max(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// A poller that runs; dropping it ends it.
pub(super) struct Poller {
    child: Child,
    text: String,
    said: File,
    started: Instant,
}

impl Poller {
    /// Starts it.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let said = tempfile::tempfile()?;
        command.env("LANG", "C").env("LC_ALL", "C").env("TZ", "UTC").stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(said.try_clone()?);
        let started = Instant::now();
        Ok(Poller { child: ends_with_us(command).spawn()?, text: text_of(command), said, started })
    }

    /// Waits for its end; `is_good` says which exit codes are as expected.
    pub(super) fn end(
        mut self,
        is_good: impl Fn(ExitStatus) -> bool,
    ) -> Result<(Measurement, u64)> {
        let pid = Pid::from_child(&self.child);
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        let limit = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let mut entries = [PollFd::new(&descriptor, PollFlags::IN)];
        if poll(&mut entries, Some(&limit))? == 0 {
            return Err(self.failed("does not end"));
        }
        let wall_us = self.started.elapsed().as_micros() as u64;
        // It has ended and was not waited for: its account of what it wrote still stands.
        let dirtied = dirtied_bytes(&self.child.id().to_string()).unwrap_or(0);
        let (status, mut cost) = crate::measure::waited_for(&self.child)?;
        cost.wall_us = wall_us;
        if !is_good(status) {
            return Err(self.failed(&format!("ended with {status}")));
        }
        Ok((cost, dirtied))
    }

    /// Waits until a round is over: it has spent more than `before`, and rests.  Gives what it has
    /// spent since its start, with the wall time of the round.
    pub(super) fn round(&mut self, before: &Spent) -> Result<Spent> {
        let waiting = Instant::now();
        let floor = Duration::from_micros(before.cpu.cpu_us()) + Duration::from_millis(2);
        let mut last = Duration::ZERO;
        let mut moved: Option<(Instant, Instant)> = None;
        loop {
            std::thread::sleep(LOOK);
            if let Some(status) = self.child.try_wait()? {
                return Err(self.failed(&format!("ended with {status}")));
            }
            let now = Instant::now();
            let cpu = process_cpu(self.child.id()).context("its CPU time")?;
            if cpu > floor && cpu > last + Duration::from_micros(300) {
                moved = Some((moved.map_or(now, |(first, _)| first), now));
                last = cpu;
            }
            if let Some((first, latest)) = moved
                && now - latest > REST
            {
                let mut spent = Spent::of(self.child.id()).context("its CPU time")?;
                spent.cpu.wall_us = (latest - first + LOOK).as_micros() as u64;
                return Ok(spent);
            }
            if waiting.elapsed() > PATIENCE {
                return Err(self.failed("makes no round"));
            }
        }
    }

    /// Waits until a file that it writes has so many lines with a word.
    pub(super) fn lines(&mut self, file: &Path, word: &str, count: usize) -> Result<Vec<String>> {
        let waiting = Instant::now();
        loop {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let lines: Vec<&str> = text.lines().filter(|line| line.contains(word)).collect();
            if lines.len() >= count {
                return Ok(lines.into_iter().map(str::to_owned).collect());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(self.failed(&format!("ended with {status}")));
            }
            if waiting.elapsed() > PATIENCE {
                return Err(self.failed("makes no round"));
            }
            std::thread::sleep(LOOK);
        }
    }

    pub(super) fn spent(&self) -> Result<Spent> {
        Spent::of(self.child.id()).context("its CPU time")
    }

    /// Ends one that stays.
    pub(super) fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// The error with the first lines that it said.
    fn failed(&mut self, what: &str) -> Error {
        let mut text = String::new();
        let _ = self.said.rewind().and_then(|()| self.said.read_to_string(&mut text));
        let first: Vec<&str> = text.lines().take(3).collect();
        Error::Failed(format!("{} {what}: {}", self.text, first.join(" / ")))
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        // One that has ended, and was perhaps waited for, is no fault.
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
