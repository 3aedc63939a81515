//! The engine in the kernel: programs at the begin and the end of calls write what happens into a
//! ring, from which it is fetched every some milliseconds.
//!
//! Tasks never stop, so their times are their own, but for the fraction of a microsecond that each
//! record takes.  What does not fit into the ring is lost, and counted.
//!
//! Pointers cannot be followed later, so the programs copy what the table of calls says will be asked
//! for.  A page that is not in memory at the begin of a call cannot be copied then.  The kernel fetches
//! it during the call, and its end tells what stood there; so such a begin, and all that came after
//! it, is held back until the end of the call is there.  A call that goes on for longer is told with
//! what is found in the task's memory meanwhile.
//!
//! Beside ptrace one thing differs: no more is copied than a path's length of texts,
//! 32 KiB of anything else, 16 vectors, 8 messages, 64 arguments, 511 pointers: of what is longer the
//! line shows less.

mod backlog;
mod captures;
mod copied_memory;
mod reader;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use bpf::{CountSettings, EventSettings, KernelTypes, PIECE_BYTES, SyscallEvents};
use rustix::event::{Timespec, epoll};

use super::command::{HeldCommand, TracedCommand};
use super::{
    CallFilter, EngineCost, Error, EventHandler, FollowScope, RunResult, TraceEngine, TraceWay,
};
use crate::clock::now_ns;
use crate::{CallId, SLOTS, WaitStatus};

use backlog::Backlog;
use reader::{Flow, RecordReader};

/// How often the ring is looked at when nobody wakes us.  It is a delay of what is shown, and a cost
/// of ours when nothing happens; a busy ring wakes us earlier.
const LOOK_NS: u64 = 50_000_000;

/// How long a begin is held back for memory that comes with the end.
const HOLD_NS: u64 = 20_000_000;

/// StructBytes of records that are told before the ring is looked at again: less than a millisecond's work.
const CHUNK: usize = 128 << 10;

/// StructBytes of records that wait for one that is held back, at most.
const HELD_BYTES_MAX: usize = 8 << 20;

/// What is told.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Who is followed.
    pub scope: FollowScope,
    /// Which calls are told.
    pub wanted: CallFilter,
    /// Only those of tasks of this name, ended by a zero.
    pub command: Option<[u8; 16]>,
    /// Only those of tasks in or below this control group: its id and how far below the root it is.
    pub cgroup: Option<(u64, u32)>,
    /// Only those that failed.  They are told at their end, begin and end together.
    pub errors_only: bool,
    /// Only those that did not fail.  Likewise.
    pub successes_only: bool,
    /// Only those that took at least so long.  Likewise.
    pub slower_than_ns: u64,
    /// How many bytes of data are copied; `None` if no memory is to be copied at all.
    pub text_limit: Option<usize>,
    /// StructBytes of the ring: a power of two.
    pub ring_bytes: u32,
    /// StructBytes of memory that records may wait in when the ring fills faster than they are told.
    pub backlog_bytes: usize,
}

impl KernelSettings {
    /// The most bytes of data and of a program's arguments that are copied.
    pub const TEXT_MAX: usize = PIECE_BYTES as usize - 2;

    /// Every call of these tasks, with the memory that lines show.
    #[must_use]
    pub fn new(scope: FollowScope) -> Self {
        KernelSettings {
            scope,
            wanted: CallFilter::all(),
            command: None,
            cgroup: None,
            errors_only: false,
            successes_only: false,
            slower_than_ns: 0,
            text_limit: Some(32),
            // 70,000 calls and more without memory, 25,000 with.
            ring_bytes: 16 << 20,
            backlog_bytes: backlog_bytes(),
        }
    }

    fn raw(&self) -> EventSettings {
        let mut calls = [0; SLOTS / 64];
        for slot in (0..SLOTS).filter(|slot| self.wanted.has(CallId::of_slot(*slot))) {
            calls[slot / 64] |= 1 << (slot % 64);
        }
        let data_bytes = self.text_limit.map_or(0, |limit| limit.min(Self::TEXT_MAX) as u32);
        EventSettings {
            calls: CountSettings {
                follow: self.scope != FollowScope::Thread,
                whole_processes: self.scope != FollowScope::Thread,
                command: self.command,
                cgroup: self.cgroup,
                calls: (!self.wanted.is_all()).then_some(calls),
                errors_only: self.errors_only,
                successes_only: self.successes_only,
                slower_than_ns: self.slower_than_ns,
                ..CountSettings::default()
            },
            threads_only: self.scope == FollowScope::Process,
            ring_bytes: self.ring_bytes,
            data_bytes,
            captures: match self.text_limit {
                Some(_) => captures::plans(&self.wanted, data_bytes),
                None => Vec::new(),
            },
        }
    }
}

/// A sixty-fourth of the machine's memory, but no more than 256 MiB: a million calls and more.
fn backlog_bytes() -> usize {
    let info = rustix::system::sysinfo();
    let total = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    usize::try_from(total / 64).unwrap_or(usize::MAX).min(256 << 20)
}

/// What is left of the backlog.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    /// A begin is held back, and what came after it.
    Held,
    More,
}

/// Tells events from the kernel.
pub struct KernelEngine {
    /// `None` once it has let go.
    events: Option<SyscallEvents>,
    epoll: OwnedFd,
    /// Nothing ends by itself.
    everybody: bool,
    launch: Option<HeldCommand>,
    /// Whether the command runs its program, or never will.
    began: bool,
    failure: Option<Error>,
    end: Option<WaitStatus>,
    backlog: Backlog,
    backlog_max: usize,
    /// Use of the ring from which on it is emptied before anything else.
    pressing_bytes: u64,
    reader: RecordReader,
    /// As it was when we let go.
    lost: u64,
    cost: EngineCost,
    measuring: Option<OwnedFd>,
}

impl KernelEngine {
    /// Starts a command and tells what it does from its `execve` on.
    ///
    /// # Errors
    ///
    /// See [`HeldCommand::start`]; [`Error::Kernel`] if the kernel takes no programs.
    pub fn start(command: &TracedCommand, settings: &KernelSettings) -> Result<Self, Error> {
        let mut launch = HeldCommand::start(command)?;
        let mut raw = settings.raw();
        raw.calls.from_exec = true;
        let mut engine = Self::open(&raw, settings.backlog_bytes)?;
        engine.name(&[launch.pid()])?;
        watch(&engine.epoll, launch.pidfd(), epoll::EventFlags::IN)?;
        launch.release()?;
        engine.launch = Some(launch);
        Ok(engine)
    }

    /// Tells what these tasks do that run already; threads or processes, as the scope says.
    ///
    /// # Errors
    ///
    /// [`Error::NoProcess`] for the first that is not there; [`Error::Kernel`].
    pub fn attach(pids: &[i32], settings: &KernelSettings) -> Result<Self, Error> {
        let mut engine = Self::open(&settings.raw(), settings.backlog_bytes)?;
        let threads = engine.name(pids)?;
        for pid in pids.iter().filter(|pid| !threads.contains(pid)) {
            let is_process = |thread: &i32| {
                std::fs::exists(format!("/proc/{pid}/task/{thread}")).unwrap_or(false)
            };
            if !threads.iter().any(is_process) {
                return Err(Error::NoProcess(*pid));
            }
        }
        Ok(engine)
    }

    /// Tells what all tasks do but those of this process, which would hear itself.
    ///
    /// # Errors
    ///
    /// [`Error::Kernel`].
    pub fn everybody(settings: &KernelSettings) -> Result<Self, Error> {
        let mut raw = settings.raw();
        raw.calls.everybody = true;
        raw.calls.own_process = std::process::id().cast_signed();
        Self::open(&raw, settings.backlog_bytes)
    }

    fn open(raw: &EventSettings, backlog_max: usize) -> Result<Self, Error> {
        let events = SyscallEvents::open(&KernelTypes::open()?, raw)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        // The ring is readable whenever anything is in it; only that somebody wakes us is of interest.
        watch(&epoll, events.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(KernelEngine {
            events: Some(events),
            epoll,
            everybody: raw.calls.everybody,
            launch: None,
            began: false,
            failure: None,
            end: None,
            backlog: Backlog::default(),
            backlog_max,
            pressing_bytes: u64::from(raw.ring_bytes / 2),
            reader: RecordReader::new(
                raw.calls.errors_only || raw.calls.successes_only || raw.calls.slower_than_ns > 0,
            ),
            lost: 0,
            cost: EngineCost::default(),
            measuring: None,
        })
    }

    fn name(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        match &mut self.events {
            Some(events) => Ok(events.watch(ids)?),
            None => Ok(Vec::new()),
        }
    }

    /// The process that the command runs as.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.launch.as_ref().map(HeldCommand::pid)
    }

    /// Has the kernel measure its programs from now on, or no longer: [`TraceEngine::cost`] tells of
    /// the calls meanwhile.  While it does, a call costs some 80 ns more.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn measure(&mut self, on: bool) -> Result<(), Error> {
        self.measuring = if on { Some(SyscallEvents::measure()?) } else { None };
        Ok(())
    }

    /// Waits until the command runs its program, or has failed to.
    fn begin(&mut self) {
        if let Some(launch) = &mut self.launch
            && !self.began
        {
            self.failure = launch.running().err();
        }
        self.began = true;
    }

    /// Empties the ring into the backlog as far as that is worth it; whether it is empty.
    fn fetch(&mut self, left: Left) -> bool {
        let Some(events) = &mut self.events else { return true };
        let (written, read) = events.positions();
        let is_all_wanted = left == Left::Held || written - read >= self.pressing_bytes;
        let mut is_one_wanted = left == Left::Nothing;
        while is_all_wanted || is_one_wanted {
            // With no room left, what finds the ring full is lost.
            if self.backlog.bytes() >= self.backlog_max.max(1) {
                break;
            }
            if self.backlog.fill(events) {
                return true;
            }
            is_one_wanted = false;
        }
        let (written, read) = events.positions();
        written == read
    }

    /// Hands over what was fetched, up to a begin that is held back or for about so many bytes.  In
    /// the end nothing is held back.
    fn hand_over(
        &mut self,
        room: usize,
        is_end: bool,
        each: &mut EventHandler<'_>,
    ) -> (Left, Flow) {
        let backlog = &mut self.backlog;
        let mut done = 0;
        while let Some((first, bytes)) = backlog.first() {
            if done >= room {
                return (Left::More, Flow::Continue(()));
            }
            let mut flow = Flow::Continue(());
            if let Some(first) = first {
                let mut later = None;
                let mut task = None;
                let head = first.head();
                if head.is_incomplete() {
                    later = backlog.later_pieces(head.thread);
                    let is_old = || now_ns().saturating_sub(head.time_ns) > HOLD_NS;
                    if later.is_none() {
                        if !(is_end || backlog.bytes() >= HELD_BYTES_MAX || is_old()) {
                            return (Left::Held, flow);
                        }
                        task = Some(head.thread);
                    }
                }
                flow = self.reader.tell(&first, later.unwrap_or_default(), task, each);
            }
            backlog.advance(bytes);
            done += bytes;
            if flow.is_break() {
                return (Left::More, flow);
            }
        }
        (Left::Nothing, Flow::Continue(()))
    }

    /// Hands over all that has happened up to now.
    fn catch_up(&mut self, each: &mut EventHandler<'_>) -> RunResult {
        let end = self.events.as_ref().map_or(0, |events| events.positions().0);
        loop {
            let (left, flow) = self.hand_over(CHUNK, true, each);
            if flow.is_break() {
                return RunResult::Paused;
            }
            let read = self.events.as_ref().map_or(end, |events| events.positions().1);
            if left != Left::More && (read >= end || self.fetch(left)) && self.backlog.is_empty() {
                return RunResult::Elapsed;
            }
        }
    }
    /// Looks whether the command has ended.
    fn look_for_end(&mut self) -> Result<(), Error> {
        if let Some(launch) = &mut self.launch
            && self.end.is_none()
        {
            self.end = launch.ended()?;
            if self.end.is_some() {
                // It would stay readable.
                let _ = epoll::delete(&self.epoll, launch.pidfd());
            }
        }
        Ok(())
    }

    /// Whether nobody is left to watch.
    fn is_over(&self) -> bool {
        let command_is_over = self.launch.is_none() || self.end.is_some();
        let alive = self.events.as_ref().map_or(0, SyscallEvents::alive);
        !self.everybody && command_is_over && alive == 0
    }

    /// Waits until the ring is to be looked at again; whether a signal came.
    fn wait(&self, left: Left, deadline_ns: Option<u64>) -> Result<bool, Error> {
        let look_ns = if left == Left::Held { LOOK_NS / 10 } else { LOOK_NS };
        let left_ns = deadline_ns.map_or(look_ns, |deadline| deadline.saturating_sub(now_ns()));
        let limit = Timespec { tv_sec: 0, tv_nsec: left_ns.min(look_ns) as i64 };
        let mut found = [epoll::Event { flags: epoll::EventFlags::empty(), data: FLAG }; 2];
        match epoll::wait(&self.epoll, &mut found[..], Some(&limit)) {
            Ok(_) => Ok(false),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(failed(error)),
        }
    }
}

const FLAG: epoll::EventData = epoll::EventData::new_u64(0);

fn failed(error: rustix::io::Errno) -> Error {
    Error::System { what: "waiting for events", why: io::Error::from(error) }
}

fn watch(
    epoll: &OwnedFd,
    descriptor: std::os::fd::BorrowedFd<'_>,
    flags: epoll::EventFlags,
) -> Result<(), Error> {
    epoll::add(epoll, descriptor, FLAG, flags).map_err(failed)
}

impl TraceEngine for KernelEngine {
    fn way(&self) -> TraceWay {
        TraceWay::Kernel
    }

    fn run(
        &mut self,
        limit: Option<Duration>,
        each: &mut EventHandler<'_>,
    ) -> Result<RunResult, Error> {
        let deadline_ns = limit.map(|limit| {
            now_ns().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
        });
        self.begin();
        if limit == Some(Duration::ZERO) {
            return Ok(self.catch_up(each));
        }
        let mut left = Left::More;
        if self.backlog.is_empty() {
            left = Left::Nothing;
        }
        loop {
            self.look_for_end()?;
            // What the last of them did is in the ring before it is gone.
            let over = self.is_over();
            let all = self.fetch(left);
            let flow;
            (left, flow) = self.hand_over(CHUNK, false, each);
            if flow.is_break() {
                return Ok(RunResult::Paused);
            }
            if over && all && left == Left::Nothing {
                return self.failure.take().map_or(Ok(RunResult::Ended), Err);
            }
            if deadline_ns.is_some_and(|deadline| now_ns() >= deadline) {
                return Ok(RunResult::Elapsed);
            }
            if all && left != Left::More && self.wait(left, deadline_ns)? {
                return Ok(RunResult::Interrupted);
            }
        }
    }

    fn lost(&self) -> u64 {
        // The number of an engine that has let go, or of one that cannot tell any more.
        self.events.as_ref().and_then(|events| events.lost().ok()).unwrap_or(self.lost)
    }

    fn cost(&self) -> EngineCost {
        let Some(Ok(run_time)) = self.events.as_ref().map(SyscallEvents::run_time) else {
            return self.cost;
        };
        EngineCost {
            times: run_time.enter_runs + run_time.leave_runs,
            held_ns: run_time.enter_ns + run_time.leave_ns,
        }
    }

    fn end(&self) -> Option<WaitStatus> {
        self.end
    }

    fn detach(&mut self) -> Result<(), Error> {
        self.cost = self.cost();
        self.lost = self.lost();
        self.events = None;
        self.backlog = Backlog::default();
        self.reader.forget();
        Ok(())
    }
}
