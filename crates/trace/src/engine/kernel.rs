//! The engine in the kernel: BPF programs at the entry and exit of system calls write events into a
//! ring buffer, which is read every few milliseconds.
//!
//! Tasks never stop, so each record delays them by a fraction of a microsecond only.  Events that
//! find the ring buffer full are lost, and counted.
//!
//! Pointers cannot be followed later, so the programs copy the memory that the table of system
//! calls names.  A page that is not resident at the entry of a call cannot be copied then.  The
//! kernel faults it in during the call, and it is copied at the exit; so such an entry, and every
//! event after it, is held back until the exit event is there.  If that takes too long, the memory
//! is read from the task.  What an `execve` was given is then on the stack of the new program.
//!
//! Less is copied than ptrace can read: of a string the length of a path, of anything else 32 KiB,
//! 16 vectors, 8 messages, 64 arguments, 511 pointers.  Beyond that a line shows less.

mod backlog;
mod captures;
mod copied_memory;
mod new_image;
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

use backlog::{Backlog, Later};
use reader::{Flow, RecordReader};

/// How often the ring buffer is polled without a wakeup.  It is a delay of what is shown, and a
/// cost when nothing happens; a ring buffer that fills wakes us earlier.
const POLL_NS: u64 = 50_000_000;

/// How long an entry is held back for memory that comes with the exit.
const HOLD_NS: u64 = 20_000_000;

/// Bytes of records that are handled before the ring buffer is polled again: less than 1 ms of
/// work.
const CHUNK: usize = 128 << 10;

/// Most bytes of records that wait behind an entry that is held back.
const HELD_BYTES_MAX: usize = 8 << 20;

/// Which events are traced, and what is copied.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Which tasks are followed.
    pub scope: FollowScope,
    /// Which calls are reported.
    pub wanted: CallFilter,
    /// Only calls of tasks of this name (`comm`), ended by a zero byte.
    pub command: Option<[u8; 16]>,
    /// Only those of tasks in or below this control group: its id, and its depth below the root.
    pub cgroup: Option<(u64, u32)>,
    /// Only calls that failed.  Entry and exit are then reported together, at the exit.
    pub errors_only: bool,
    /// Only calls that succeeded, reported at the exit.
    pub successes_only: bool,
    /// Only calls that took at least this long, reported at the exit.
    pub slower_than_ns: u64,
    /// How many bytes of data are copied; `None` if no memory is to be copied at all.
    pub text_limit: Option<usize>,
    /// Bytes of the ring buffer: a power of two.
    pub ring_bytes: u32,
    /// Bytes of memory for records that are not handled yet, for when the ring buffer fills fast.
    pub backlog_bytes: usize,
}

impl KernelSettings {
    /// Most bytes of data and of a program's arguments that can be copied.
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
            // Holds at least 70,000 calls without memory, 25,000 with it.
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

/// A 64th of the machine's memory, at most 256 MiB, which holds more than a million calls.
fn backlog_bytes() -> usize {
    let info = rustix::system::sysinfo();
    let total = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    usize::try_from(total / 64).unwrap_or(usize::MAX).min(256 << 20)
}

/// What is left in the backlog.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BacklogRest {
    Nothing,
    /// An entry that is held back, and what came after it.
    Held,
    More,
}

/// Hands over events from the kernel.
pub struct KernelEngine {
    /// `None` once it has detached.
    events: Option<SyscallEvents>,
    epoll: OwnedFd,
    /// Every task is traced, so tracing does not end by itself.
    everybody: bool,
    launch: Option<HeldCommand>,
    /// Whether the command runs its program, or never will.
    began: bool,
    failure: Option<Error>,
    end: Option<WaitStatus>,
    backlog: Backlog,
    backlog_max: usize,
    /// Use of the ring buffer at which it is emptied before anything else is done.
    pressing_bytes: u64,
    /// When the first entry of the backlog was first held back.
    held_since_ns: Option<u64>,
    /// When the ring buffer was last searched for the exit of that entry.
    looked_ns: u64,
    reader: RecordReader,
    /// The number of lost events when it detached.
    lost: u64,
    cost: EngineCost,
    measuring: Option<OwnedFd>,
}

impl KernelEngine {
    /// Starts a command and reports what it does from its `execve` on.
    ///
    /// # Errors
    ///
    /// See [`HeldCommand::start`]; [`Error::Kernel`] if the kernel rejects the programs.
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

    /// Reports what these running tasks do: threads or processes, as the scope says.
    ///
    /// # Errors
    ///
    /// [`Error::NoProcess`] for the first that does not exist; [`Error::Kernel`].
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

    /// Reports what all tasks do but those of this process, whose calls would cause further events.
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
        // The ring buffer is readable whenever it is not empty; with EPOLLET only wakeups count.
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
            held_since_ns: None,
            looked_ns: 0,
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

    /// The process of the command.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.launch.as_ref().map(HeldCommand::pid)
    }

    /// Makes the kernel measure its programs from now on, or stops that; [`TraceEngine::cost`]
    /// covers the calls meanwhile.  Measuring adds some 80 ns to each call.
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

    /// Moves records from the ring buffer to the backlog, as far as that is worth it; returns
    /// whether the ring buffer is empty.
    fn fetch(&mut self, left: BacklogRest) -> bool {
        let Some(events) = &mut self.events else { return true };
        if left == BacklogRest::Held {
            self.looked_ns = now_ns();
        }
        let (written, read) = events.positions();
        let is_all_wanted = left == BacklogRest::Held || written - read >= self.pressing_bytes;
        let mut is_one_wanted = left == BacklogRest::Nothing;
        while is_all_wanted || is_one_wanted {
            // Events are lost when the ring buffer then fills up.
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

    /// Hands over events from the backlog, up to an entry that is held back or for about `room`
    /// bytes. At the end nothing is held back.
    fn hand_over(
        &mut self,
        room: usize,
        is_end: bool,
        each: &mut EventHandler<'_>,
    ) -> (BacklogRest, Flow) {
        let backlog = &mut self.backlog;
        let mut done = 0;
        while let Some((first, bytes)) = backlog.first() {
            if done >= room {
                return (BacklogRest::More, Flow::Continue(()));
            }
            let mut flow = Flow::Continue(());
            if let Some(first) = first {
                let mut later = None;
                let mut task = None;
                let head = first.head();
                if self.reader.is_held(&first) {
                    later = backlog.later(head.thread);
                    if later.is_none() {
                        // This process may not have run for long: what counts is that the exit was
                        // not there when the ring buffer was last searched.
                        let since_ns = *self.held_since_ns.get_or_insert_with(now_ns);
                        let is_old = self.looked_ns.saturating_sub(since_ns) > HOLD_NS;
                        if !(is_end || backlog.bytes() >= HELD_BYTES_MAX || is_old) {
                            return (BacklogRest::Held, flow);
                        }
                        task = Some(head.thread);
                    }
                }
                flow = self.reader.hand_over(&first, later.unwrap_or_default(), task, each);
            }
            backlog.advance(bytes);
            self.held_since_ns = None;
            done += bytes;
            if flow.is_break() {
                return (BacklogRest::More, flow);
            }
        }
        (BacklogRest::Nothing, Flow::Continue(()))
    }

    /// Hands over all events up to now.
    fn catch_up(&mut self, each: &mut EventHandler<'_>) -> RunResult {
        let position = |engine: &Self| engine.events.as_ref().map(SyscallEvents::positions);
        let end = position(self).map_or(0, |(written, _)| written);
        loop {
            // Until all are in the backlog, the exit of an entry may still be in the ring buffer.
            let is_end = position(self).is_none_or(|(_, read)| read >= end);
            let (left, flow) = self.hand_over(CHUNK, is_end, each);
            if flow.is_break() {
                return RunResult::Paused;
            }
            if left != BacklogRest::More && (is_end || self.fetch(left)) && self.backlog.is_empty()
            {
                return RunResult::Elapsed;
            }
        }
    }

    /// Checks whether the command has exited.
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

    /// Whether no task is left to trace.
    fn is_over(&self) -> bool {
        let command_is_over = self.launch.is_none() || self.end.is_some();
        let alive = self.events.as_ref().map_or(0, SyscallEvents::alive);
        !self.everybody && command_is_over && alive == 0
    }

    /// Waits until the ring buffer is to be polled again; returns whether a signal came.
    fn wait(&self, left: BacklogRest, deadline_ns: Option<u64>) -> Result<bool, Error> {
        let poll_ns = if left == BacklogRest::Held { POLL_NS / 10 } else { POLL_NS };
        let left_ns = deadline_ns.map_or(poll_ns, |deadline| deadline.saturating_sub(now_ns()));
        let limit = Timespec { tv_sec: 0, tv_nsec: left_ns.min(poll_ns) as i64 };
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
        let mut left = BacklogRest::More;
        if self.backlog.is_empty() {
            left = BacklogRest::Nothing;
        }
        loop {
            self.look_for_end()?;
            // The events of the last task are in the ring buffer before its exit is counted.
            let over = self.is_over();
            let all = self.fetch(left);
            let flow;
            (left, flow) = self.hand_over(CHUNK, false, each);
            if flow.is_break() {
                return Ok(RunResult::Paused);
            }
            if over && all && left == BacklogRest::Nothing {
                return self.failure.take().map_or(Ok(RunResult::Ended), Err);
            }
            if deadline_ns.is_some_and(|deadline| now_ns() >= deadline) {
                return Ok(RunResult::Elapsed);
            }
            if all && left != BacklogRest::More && self.wait(left, deadline_ns)? {
                return Ok(RunResult::Interrupted);
            }
        }
    }

    fn lost(&self) -> u64 {
        // If it has detached, or the kernel cannot be asked, the last number known.
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
