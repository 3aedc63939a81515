//! A part: its process, what it says, and when it is started again.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rustix::fs::{MemfdFlags, memfd_create};
use sample::Moment;
use service_account::{AccountFault, PartAccount, PartPhase, ServiceRun, WritingNews};

use crate::parts::PartPlan;
use crate::process::{EXECUTES, Forked, PartProcess, ProcessStart, identity};

/// The first pause after a failure, and the longest.
const PAUSE_NS_MIN: u64 = 1_000_000_000;
const PAUSE_NS_MAX: u64 = 60_000_000_000;
/// A part that has run for so long is well: its next failure is the first again.
const WELL_NS: u64 = 60_000_000_000;
/// So many of its latest processes are told.
const RUNS: usize = 16;
/// Most bytes of a line that a part says; the rest of it is left out.
const LINE_BYTES_MAX: usize = 4096;

/// What a part does.
#[derive(Debug)]
pub(crate) enum PartState {
    /// It does not run, and starts as soon as nothing is in the way; the reason is for people.
    Waits(String),
    /// The part's process, and the pipe of what that says.
    Runs(PartProcess, PipeReader),
    /// It has failed and starts again at this time of the monotonic clock.
    Pauses(u64),
}

/// A part and its account.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) plan: PartPlan,
    pub(crate) state: PartState,
    /// When the state began.
    since: Moment,
    /// Failures since the service began, and those in a row.
    failed: u64,
    in_row: u32,
    last_error: Option<(Moment, String)>,
    /// Since when it is not well.
    failing_since: Option<Moment>,
    /// The processes of the part, and when each started in ticks since boot: recordings name them by both.
    runs: VecDeque<ServiceRun>,
    /// The device and number of each of its folders when it was started.
    folders: Vec<Option<(u64, u64)>>,
    /// Since when, and why, its process cannot write what it should.
    unwritten: Option<(Moment, String)>,
    /// Whether one was killed for a system call that is not allowed, which may have been one that only a fork
    /// needs: the next executes the program.
    is_filtered: bool,
    /// Why its process executes the program, if it does.
    executed: Option<String>,
    /// The latest line that it said.
    latest: String,
    /// The begin of a line that is not complete.
    partial: Vec<u8>,
}

/// The pause after so many failures in a row: 1 s, 2 s, 4 s … 60 s.
pub(crate) fn pause_ns(in_row: u32) -> u64 {
    let doubled =
        PAUSE_NS_MIN.checked_shl(in_row.saturating_sub(1).min(16)).unwrap_or(PAUSE_NS_MAX);
    doubled.min(PAUSE_NS_MAX)
}

impl Part {
    pub(crate) fn new(plan: PartPlan, now: Moment) -> Self {
        Part {
            plan,
            state: PartState::Waits("it starts".to_owned()),
            since: now,
            failed: 0,
            in_row: 0,
            last_error: None,
            failing_since: None,
            runs: VecDeque::new(),
            folders: Vec::new(),
            unwritten: None,
            is_filtered: false,
            executed: None,
            latest: String::new(),
            partial: Vec::new(),
        }
    }

    /// Takes another state.
    pub(crate) fn become_state(&mut self, state: PartState, now: Moment) {
        if !matches!(state, PartState::Runs(..)) {
            // Its state tells that it writes nothing.
            self.unwritten = None;
        }
        self.state = state;
        self.since = now;
    }

    /// Starts its process, with the sockets that are open for it.  In that process, gives the words that
    /// it has to run.
    pub(crate) fn start(
        &mut self,
        program: &Path,
        sockets: &[RawFd],
        now: Moment,
    ) -> Option<Vec<OsString>> {
        match self.launch(program, sockets) {
            Ok(Forked::Part(words)) => return Some(words),
            Ok(Forked::Service(process, said)) => {
                self.become_state(PartState::Runs(process, said), now);
            }
            Err(error) => self.fail(format!("cannot start it: {error}"), now),
        }
        None
    }

    fn launch(&mut self, program: &Path, sockets: &[RawFd]) -> io::Result<Forked> {
        for folder in &self.plan.folders {
            fs::create_dir_all(folder).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot make {}: {error}", folder.display()))
            })?;
        }
        self.folders = self.plan.folders.iter().map(|folder| identity(folder)).collect();
        let forked = crate::process::fork(ProcessStart {
            program,
            words: &self.plan.words,
            input: input(&self.plan.input)?,
            sockets: if self.plan.name == "page" { sockets } else { &[] },
            given_up: crate::signals::given_up_by(&self.plan.name),
            is_filtered: self.is_filtered,
        })?;
        let Forked::Service(process, _) = &forked else { return Ok(forked) };
        if self.runs.len() == RUNS {
            self.runs.pop_front();
        }
        self.runs.extend(run_of(process.id()));
        self.unwritten = None;
        self.executed = None;
        self.latest.clear();
        self.partial.clear();
        Ok(forked)
    }

    /// Notes a failure: the part starts again after a pause.
    fn fail(&mut self, error: String, now: Moment) {
        self.failed += 1;
        self.in_row += 1;
        self.last_error = Some((now, error));
        self.failing_since = self.failing_since.or(Some(now));
        let until_ns = now.monotonic_ns.saturating_add(pause_ns(self.in_row));
        self.become_state(PartState::Pauses(until_ns), now);
    }

    /// Passes on what it has said, and notes whether it can write.
    pub(crate) fn listen(&mut self, say: &dyn Fn(&str), now: Moment) {
        let PartState::Runs(_, said) = &mut self.state else { return };
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = said.read(&mut bytes) {
            for byte in &bytes[..count] {
                if *byte != b'\n' {
                    if self.partial.len() < LINE_BYTES_MAX {
                        self.partial.push(*byte);
                    }
                    continue;
                }
                let line = String::from_utf8_lossy(&self.partial).into_owned();
                self.partial.clear();
                let line = line.strip_prefix("whit: ").unwrap_or(&line);
                say(&format!("{}: {line}", self.plan.name));
                // It is the first that a process says: what comes later may be the text of others.
                if let Some(why) = line.strip_prefix(EXECUTES).filter(|_| self.latest.is_empty()) {
                    self.executed = Some(why.to_owned());
                    continue;
                }
                match WritingNews::of(line) {
                    Some(WritingNews::Fails(why)) => {
                        let since = self.unwritten.take().map_or(now, |(since, _)| since);
                        self.unwritten = Some((since, why.to_owned()));
                    }
                    Some(WritingNews::Again) => self.unwritten = None,
                    None => {}
                }
                line.clone_into(&mut self.latest);
            }
        }
    }

    /// Looks whether its process has ended by itself; says so.
    pub(crate) fn look(&mut self, say: &dyn Fn(&str), now: Moment) {
        self.listen(say, now);
        let PartState::Runs(process, _) = &self.state else { return };
        let Ok(Some(status)) = process.try_wait() else {
            // It is well again when it has run as long as it paused.
            let run_ns = now.monotonic_ns.saturating_sub(self.since.monotonic_ns);
            if run_ns >= pause_ns(self.in_row) {
                self.failing_since = None;
            }
            return;
        };
        self.is_filtered |= status.signal() == Some(libc::SIGSYS);
        // What it said last, before it ended.
        self.listen(say, now);
        if now.monotonic_ns.saturating_sub(self.since.monotonic_ns) >= WELL_NS {
            self.in_row = 0;
        }
        let how = how_ended(status);
        let error = if self.latest.is_empty() { how } else { format!("{}; {how}", self.latest) };
        self.fail(error, now);
        let seconds = pause_ns(self.in_row) / 1_000_000_000;
        say(&format!("{}: {}; it starts again in {seconds} s", self.plan.name, how_ended(status)));
    }

    /// A folder that was removed or moved away under its process, which would write to what nobody
    /// finds any more.
    pub(crate) fn lost_folder(&self) -> Option<&Path> {
        if !matches!(self.state, PartState::Runs(..)) {
            return None;
        }
        let mut folders = self.plan.folders.iter().zip(&self.folders);
        let is_lost =
            |(folder, known): &(&PathBuf, &Option<(u64, u64)>)| identity(folder) != **known;
        folders.find(is_lost).map(|(folder, _)| folder.as_path())
    }

    /// Asks its process to end.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        if let PartState::Runs(process, _) = &self.state {
            process.signal(signal);
        }
    }

    /// What it says, as long as it runs.
    pub(crate) fn said(&self) -> Option<BorrowedFd<'_>> {
        match &self.state {
            PartState::Runs(_, said) => Some(said.as_fd()),
            _ => None,
        }
    }

    /// What the account says of this part.
    pub(crate) fn account(&self) -> PartAccount {
        let (phase, pid, why) = match &self.state {
            PartState::Waits(why) => (PartPhase::Waits, None, Some(why.clone())),
            PartState::Runs(process, _) => (PartPhase::Runs, Some(process.id()), None),
            PartState::Pauses(_) => (PartPhase::Pauses, None, None),
        };
        let next_s = match self.state {
            PartState::Pauses(until_ns) => {
                let pause_ns = until_ns.saturating_sub(self.since.monotonic_ns);
                Some(seconds(self.since) + (pause_ns / 1_000_000_000).cast_signed())
            }
            _ => None,
        };
        let tells = self.plan.tells && pid.is_some() && !self.latest.is_empty();
        PartAccount {
            name: self.plan.name.clone(),
            phase,
            since_s: Some(seconds(self.since)),
            pid,
            why,
            says: tells.then(|| self.latest.clone()),
            failed: self.failed,
            failing_since_s: self.failing_since.map(seconds),
            next_s,
            runs: self.runs.iter().copied().collect(),
            last_error: self.last_error.as_ref().map(fault),
            unwritten: self.unwritten.as_ref().map(fault),
            executed: self.executed.clone().filter(|_| pid.is_some()),
        }
    }
}

fn fault((at, text): &(Moment, String)) -> AccountFault {
    (seconds(*at), text.clone())
}

/// A standard input with a text, as a file in memory.
fn input(text: &str) -> io::Result<OwnedFd> {
    if text.is_empty() {
        return Ok(File::open("/dev/null")?.into());
    }
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

/// A process of ours, and when it started in ticks since boot.
pub(crate) fn run_of(pid: u32) -> Option<ServiceRun> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    Some((pid, procfs::pid::parse_stat(&text)?.field(22)?))
}

/// Seconds since 1970.
pub(crate) fn seconds(at: Moment) -> i64 {
    at.realtime_ns.div_euclid(1_000_000_000)
}

fn how_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit code {code}"),
        (None, Some(signal)) => format!("signal {signal} ended it"),
        (None, None) => "it ended".to_owned(),
    }
}

/// The numbers of sockets, for the command line of their part.
pub(crate) fn numbers(sockets: &[impl std::os::fd::AsFd]) -> Vec<RawFd> {
    sockets.iter().map(|socket| socket.as_fd().as_raw_fd()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_from_a_second_to_a_minute() {
        let seconds: Vec<u64> = (1..9).map(|row| pause_ns(row) / 1_000_000_000).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause_ns(u32::MAX), PAUSE_NS_MAX);
    }
}
