//! A poller that is measured: one round as a process, or rounds of a program that stays.
//!
//! A round of a poller that stays is over when it has used CPU time and then none for a while, so that
//! nothing but the kernel's own account is needed of a rival.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::contest::Measurement;
use crate::error::{Context, Error, Result};
use crate::measure::ended;
use crate::process::{self, BackgroundProgram, silent};
use crate::programs::text_in;

/// Longest round, and longest time until a program has ended: MRTG's native mode takes four minutes
/// for 3,164 targets on a machine that has nothing else to do.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// A program that rests so long has made its round.
const REST: Duration = Duration::from_millis(600);

/// How often its CPU time is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// A poller that runs; dropping it ends it.
pub(super) struct Poller {
    program: BackgroundProgram,
    errors: File,
}

impl Poller {
    /// Starts a poller.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let errors = tempfile::tempfile()?;
        command.env("LANG", "C").env("LC_ALL", "C").env("TZ", "UTC");
        let program = BackgroundProgram::start(silent(command).stderr(errors.try_clone()?))?;
        Ok(Poller { program, errors })
    }

    /// Waits for its end; `is_good` says which exit codes are as expected.
    pub(super) fn end(self, is_good: impl Fn(ExitStatus) -> bool) -> Result<Measurement> {
        let pid = Pid::from_child(&self.program.child);
        let descriptor = pidfd_open(pid, PidfdFlags::empty())?;
        let limit = Timespec { tv_sec: PATIENCE.as_secs() as i64, tv_nsec: 0 };
        let mut entries = [PollFd::new(&descriptor, PollFlags::IN)];
        if poll(&mut entries, Some(&limit))? == 0 {
            return Err(self.failed("does not end"));
        }
        // It has ended and was not waited for: its account of what it wrote still stands.
        let dirtied = process::dirtied_bytes(&self.program.id().to_string()).unwrap_or(0);
        let (status, cost) = ended(&self.program.child, self.program.started)?;
        if !is_good(status) {
            return Err(self.failed(&format!("ended with {status}")));
        }
        Ok(Measurement { dirtied_bytes: Some(dirtied), ..cost })
    }

    /// Waits until a round is over: it has spent more than `before`, and rests.  Gives what it has
    /// spent since its start, with the wall time of the round.
    pub(super) fn round(&mut self, before: &Measurement) -> Result<Measurement> {
        let waiting = Instant::now();
        let floor = Duration::from_micros(before.cpu_us()) + Duration::from_millis(2);
        let mut last = Duration::ZERO;
        let mut moved: Option<(Instant, Instant)> = None;
        loop {
            std::thread::sleep(LOOK);
            self.check()?;
            let now = Instant::now();
            let cpu = process::cpu(self.program.id()).context("its CPU time")?;
            if cpu > floor && cpu > last + Duration::from_micros(300) {
                moved = Some((moved.map_or(now, |(first, _)| first), now));
                last = cpu;
            }
            if let Some((first, latest)) = moved
                && now - latest > REST
            {
                let mut spent = self.spent()?;
                spent.wall_us = (latest - first + LOOK).as_micros() as u64;
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
            self.check()?;
            if waiting.elapsed() > PATIENCE {
                return Err(self.failed("makes no round"));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The cost since the start.
    pub(super) fn spent(&self) -> Result<Measurement> {
        process::spent(self.program.id()).context("its CPU time")
    }

    /// Ends one that stays.
    pub(super) fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.program.child), Signal::TERM)?;
        let begun = Instant::now();
        while self.program.check().is_ok() && begun.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Fails if the program has ended.
    fn check(&mut self) -> Result<()> {
        match self.program.child.try_wait()? {
            Some(status) => Err(self.failed(&format!("ended with {status}"))),
            None => Ok(()),
        }
    }

    /// The error with the first lines of stderr.
    fn failed(&self, what: &str) -> Error {
        let text = self.errors.try_clone().and_then(text_in).unwrap_or_default();
        let first: Vec<&str> = text.lines().take(3).collect();
        Error::Failed(format!("{} {what}: {}", self.program.text, first.join(" / ")))
    }
}
