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

mod pieces;
mod plans;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use bpf::{CallRecord, CountSettings, EventSettings, Events, Happening, Head, Kernel, PIECE_BYTES};
use rustix::event::{Timespec, epoll};
use rustix::time::{ClockId, clock_gettime};

use super::launch::{Command, Launch};
use super::{Each, Engine, Error, Progress, Scope, Wanted, Way, Weight};
use crate::{Abi, Call, CallId, End, Event, SLOTS, Signal, What};

use pieces::{Copies, Those};

/// How often the ring is looked at when nobody wakes us.  It is a delay of what is shown, and a cost
/// of ours when nothing happens; a busy ring wakes us earlier.
const LOOK_NS: u64 = 50_000_000;

/// How long a begin is held back for memory that comes with the end.
const HOLD_NS: u64 = 20_000_000;

/// Records fetched at a time.
const FETCH: usize = 1024;

/// Records, and bytes of memory with them, that wait at most for one that is held back.
const QUEUE_MAX: usize = 1 << 16;
const QUEUE_BYTES_MAX: usize = 32 << 20;

/// Calls under way whose memory is remembered: as many tasks as a machine has, and a bound for calls
/// whose end was lost.
const KEPT_MAX: usize = 1 << 16;

/// What is told.
#[derive(Clone, Debug)]
pub struct KernelSettings {
    /// Who is followed.
    pub scope: Scope,
    /// Which calls are told.
    pub wanted: Wanted,
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
    /// Bytes of the ring: a power of two.
    pub ring_bytes: u32,
}

impl KernelSettings {
    /// The most bytes of data and of a program's arguments that are copied.
    pub const TEXT_MAX: usize = PIECE_BYTES as usize - 2;

    /// Every call of these tasks, with the memory that lines show.
    #[must_use]
    pub fn new(scope: Scope) -> Self {
        KernelSettings {
            scope,
            wanted: Wanted::all(),
            command: None,
            cgroup: None,
            errors_only: false,
            successes_only: false,
            slower_than_ns: 0,
            text_limit: Some(32),
            // 70,000 calls and more without memory, 25,000 with.
            ring_bytes: 16 << 20,
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
                follow: self.scope != Scope::Thread,
                seed_threads: self.scope != Scope::Thread,
                command: self.command,
                cgroup: self.cgroup,
                calls: (!self.wanted.is_all()).then_some(calls),
                errors_only: self.errors_only,
                successes_only: self.successes_only,
                slower_than_ns: self.slower_than_ns,
                ..CountSettings::default()
            },
            threads_only: self.scope == Scope::Process,
            ring_bytes: self.ring_bytes,
            data_bytes,
            captures: match self.text_limit {
                Some(_) => plans::plans(&self.wanted, data_bytes),
                None => Vec::new(),
            },
        }
    }
}

/// A record out of the ring.
struct Kept {
    head: Head,
    what: Kind,
    /// Copied memory, as it stood in the ring.
    pieces: Box<[u8]>,
}

#[derive(Clone, Copy)]
enum Kind {
    Enter(CallRecord),
    Exit(CallRecord),
    Signal([u8; 48]),
    Began(i32),
    Superseded(i32),
    Ended(u32),
}

impl Kept {
    fn of(happening: &Happening<'_>) -> Self {
        let none = Box::default();
        let (head, what, pieces) = match happening {
            Happening::Enter(call, pieces) => {
                (call.head, Kind::Enter(*call), pieces.bytes().into())
            }
            Happening::Exit(call, pieces) => (call.head, Kind::Exit(*call), pieces.bytes().into()),
            Happening::Signal(head, info) => (*head, Kind::Signal(*info), none),
            Happening::Began(head, parent) => (*head, Kind::Began(*parent), none),
            Happening::Superseded(head, former) => (*head, Kind::Superseded(*former), none),
            Happening::Ended(head, code) => (*head, Kind::Ended(*code), none),
        };
        Kept { head, what, pieces }
    }

    fn is_incomplete(&self) -> bool {
        matches!(self.what, Kind::Enter(_)) && self.head.is_incomplete()
    }
}

/// Whether whoever looks at the events wants more.
type Flow = ControlFlow<()>;

/// Tells events from the kernel.
pub struct KernelEvents {
    /// `None` once it has let go.
    events: Option<Events>,
    epoll: OwnedFd,
    /// Nothing ends by itself.
    everybody: bool,
    late: bool,
    launch: Option<Launch>,
    /// Whether the command runs its program, or never will.
    began: bool,
    failure: Option<Error>,
    end: Option<End>,
    queue: VecDeque<Kept>,
    queue_bytes: usize,
    /// Memory at the begin of the call that a task is in.
    begun: HashMap<i32, Box<[u8]>>,
    /// As it was when we let go.
    lost: u64,
    weight: Weight,
    measuring: Option<OwnedFd>,
}

impl KernelEvents {
    /// Starts a command and tells what it does from its `execve` on.
    ///
    /// # Errors
    ///
    /// See [`Launch::start`]; [`Error::Kernel`] if the kernel takes no programs.
    pub fn start(command: &Command, settings: &KernelSettings) -> Result<Self, Error> {
        let mut launch = Launch::start(command)?;
        let mut raw = settings.raw();
        raw.calls.from_exec = true;
        let mut engine = Self::open(&raw)?;
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
        let mut engine = Self::open(&settings.raw())?;
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
        Self::open(&raw)
    }

    fn open(raw: &EventSettings) -> Result<Self, Error> {
        let events = Events::open(&Kernel::open()?, raw)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        // The ring is readable whenever anything is in it; only that somebody wakes us is of interest.
        watch(&epoll, events.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(KernelEvents {
            events: Some(events),
            epoll,
            everybody: raw.calls.everybody,
            late: raw.calls.errors_only || raw.calls.successes_only || raw.calls.slower_than_ns > 0,
            launch: None,
            began: false,
            failure: None,
            end: None,
            queue: VecDeque::new(),
            queue_bytes: 0,
            begun: HashMap::new(),
            lost: 0,
            weight: Weight::default(),
            measuring: None,
        })
    }

    fn name(&mut self, ids: &[i32]) -> Result<Vec<i32>, Error> {
        match &mut self.events {
            Some(events) => Ok(events.seed(ids)?),
            None => Ok(Vec::new()),
        }
    }

    /// The process that the command runs as.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.launch.as_ref().map(Launch::pid)
    }

    /// Has the kernel measure its programs from now on, or no longer: [`Engine::weight`] tells of
    /// the calls meanwhile.  While it does, a call costs some 80 ns more.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn measure(&mut self, on: bool) -> Result<(), Error> {
        self.measuring = if on { Some(Events::measure()?) } else { None };
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

    /// Fetches what is in the ring; whether all of it.
    fn fetch(&mut self) -> bool {
        let (Some(events), queue) = (&mut self.events, &mut self.queue) else { return true };
        let mut left = FETCH;
        events.drain(|happening| {
            let kept = Kept::of(&happening);
            self.queue_bytes += kept.pieces.len();
            queue.push_back(kept);
            left -= 1;
            left > 0
        });
        left > 0
    }

    /// Hands over what was fetched, up to a begin that is held back.
    fn hand_over(&mut self, each: &mut Each<'_>) -> Flow {
        while let Some(first) = self.queue.front() {
            let mut later = None;
            let mut task = None;
            if first.is_incomplete() {
                let thread = first.head.thread;
                let next = self.queue.iter().skip(1).find(|kept| kept.head.thread == thread);
                let old = now_ns().saturating_sub(first.head.time_ns) > HOLD_NS
                    || self.queue.len() >= QUEUE_MAX
                    || self.queue_bytes >= QUEUE_BYTES_MAX;
                match next {
                    Some(next) => later = Some(next.pieces.clone()),
                    None if old => task = Some(thread),
                    None => return Flow::Continue(()),
                }
            }
            if let Some(kept) = self.queue.pop_front() {
                self.queue_bytes -= kept.pieces.len();
                self.tell(kept, &later.unwrap_or_default(), task, each)?;
            }
        }
        Flow::Continue(())
    }

    /// Hands over one record.
    fn tell(&mut self, kept: Kept, later: &[u8], task: Option<i32>, each: &mut Each<'_>) -> Flow {
        let Kept { head, what, pieces } = kept;
        let event = |what| Event {
            time_ns: head.time_ns,
            thread: head.thread,
            process: head.process,
            what,
        };
        match what {
            Kind::Enter(record) => {
                let what = What::Enter(call_of(&record));
                let sources = [(&*pieces, Those::All), (later, Those::OfEnter), (&[], Those::All)];
                let flow = each(&event(what), &Copies { sources, task });
                if !pieces.is_empty() && self.begun.len() < KEPT_MAX {
                    self.begun.insert(head.thread, pieces);
                } else {
                    self.begun.remove(&head.thread);
                }
                flow
            }
            Kind::Exit(record) => self.tell_exit(&record, &pieces, each),
            Kind::Signal(info) => {
                let mut bytes = [0; 128];
                bytes[..info.len()].copy_from_slice(&info);
                let signal = Signal::from_siginfo(&bytes);
                let flow = each(&event(What::Signal(signal)), &());
                let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
                if flow.is_continue() && head.is_default() && stops.contains(&signal.number) {
                    return each(&event(What::Stopped(signal.number)), &());
                }
                flow
            }
            Kind::Began(parent) => each(&event(What::Began { parent }), &()),
            Kind::Superseded(former) => {
                if let Some(pieces) = self.begun.remove(&former) {
                    self.begun.insert(head.thread, pieces);
                }
                each(&event(What::Superseded { former }), &())
            }
            Kind::Ended(code) => {
                self.begun.remove(&head.thread);
                each(&event(What::Ended(end_of(code))), &())
            }
        }
    }

    fn tell_exit(&mut self, record: &CallRecord, pieces: &[u8], each: &mut Each<'_>) -> Flow {
        let head = record.head;
        let begun = self.begun.remove(&head.thread).unwrap_or_default();
        let sources = [(pieces, Those::OfExit), (pieces, Those::OfEnter), (&*begun, Those::All)];
        let memory = Copies { sources, task: None };
        let call = call_of(record);
        let mut event = Event {
            time_ns: head.time_ns.saturating_sub(record.wall_ns),
            thread: head.thread,
            process: head.process,
            what: What::Enter(call),
        };
        if self.late {
            each(&event, &memory)?;
        }
        event.time_ns = head.time_ns;
        event.what = What::Exit {
            call,
            result: record.result,
            wall_ns: record.wall_ns,
            cpu_ns: Some(record.cpu_ns),
        };
        each(&event, &memory)
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
        let alive = self.events.as_ref().map_or(0, Events::alive);
        !self.everybody && command_is_over && alive == 0
    }

    /// Waits until the ring is to be looked at again; whether a signal came.
    fn wait(&self, deadline_ns: Option<u64>) -> Result<bool, Error> {
        let look_ns = if self.queue.is_empty() { LOOK_NS } else { LOOK_NS / 10 };
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
    Error::System { what: "waiting for events", source: io::Error::from(error) }
}

fn watch(
    epoll: &OwnedFd,
    descriptor: std::os::fd::BorrowedFd<'_>,
    flags: epoll::EventFlags,
) -> Result<(), Error> {
    epoll::add(epoll, descriptor, FLAG, flags).map_err(failed)
}

impl Engine for KernelEvents {
    fn way(&self) -> Way {
        Way::Kernel
    }

    fn run(&mut self, limit: Option<Duration>, each: &mut Each<'_>) -> Result<Progress, Error> {
        let deadline_ns = limit.map(|limit| {
            now_ns().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
        });
        self.begin();
        loop {
            self.look_for_end()?;
            // What the last of them did is in the ring before it is gone.
            let over = self.is_over();
            let all = self.fetch();
            if self.hand_over(each).is_break() {
                return Ok(Progress::Paused);
            }
            if over && all && self.queue.is_empty() {
                return self.failure.take().map_or(Ok(Progress::Ended), Err);
            }
            if deadline_ns.is_some_and(|deadline| now_ns() >= deadline) {
                return Ok(Progress::Elapsed);
            }
            if all && self.wait(deadline_ns)? {
                return Ok(Progress::Interrupted);
            }
        }
    }

    fn lost(&self) -> u64 {
        // The number of an engine that has let go, or of one that cannot tell any more.
        self.events.as_ref().and_then(|events| events.lost().ok()).unwrap_or(self.lost)
    }

    fn weight(&self) -> Weight {
        let Some(Ok(run_time)) = self.events.as_ref().map(Events::run_time) else {
            return self.weight;
        };
        Weight {
            times: run_time.enter_runs + run_time.leave_runs,
            held_ns: run_time.enter_ns + run_time.leave_ns,
        }
    }

    fn end(&self) -> Option<End> {
        self.end
    }

    fn detach(&mut self) -> Result<(), Error> {
        self.weight = self.weight();
        self.lost = self.lost();
        self.events = None;
        self.queue.clear();
        self.queue_bytes = 0;
        self.begun.clear();
        Ok(())
    }
}

/// The time on the monotonic clock.
fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

fn call_of(record: &CallRecord) -> Call {
    let id = if record.head.is_compat() {
        CallId { abi: Abi::I386, number: record.number & 0xffff_ffff }
    } else {
        CallId::native(record.number)
    };
    Call { id, arguments: record.arguments }
}

/// How a task ended, by its code as `wait(2)` gives it.
fn end_of(code: u32) -> End {
    match code & 0x7f {
        0 => End::Status((code >> 8 & 0xff) as i32),
        number => End::Signal { number: number as i32, dumped: code & 0x80 != 0 },
    }
}
