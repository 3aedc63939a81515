//! The operating system as the engine uses it: start programs, send signals, wait.
//!
//! The engine uses only the trait [`OperatingSystem`].  [`Linux`] implements it for this machine;
//! the tests implement it with simulated processes and a simulated clock.

#![allow(unsafe_code, reason = "signals, and descriptors that others own")]

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Instant, SystemTime};

use rustix::event::epoll;
use rustix::fd::{BorrowedFd, OwnedFd};

use spawn::{Child, ExitDetails, Launch, Reaped, SignalFd, SpawnError, Spawner};

/// An event that the engine waits for.
#[derive(Debug)]
pub enum EngineEvent {
    /// A program has been started, or could not be.
    Started {
        /// The slot of the job.
        slot: u32,
        /// The process, or the error and the launch that failed.
        result: Result<Child, (Box<Launch>, SpawnError)>,
        /// When the start was requested.
        at: Instant,
    },
    /// A process has ended.
    Ended(Reaped),
    /// This process has received a signal.
    Signal(i32),
    /// A watched descriptor is readable or writable.
    Ready(RawFd),
    /// A thread has read more input.
    Input,
}

/// Whether a descriptor is watched for reading or for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read.
    Read,
    /// Room to write.
    Write,
}

/// The system calls and clocks that the engine uses.
pub trait OperatingSystem {
    /// The time of the monotonic clock.
    fn now(&self) -> Instant;

    /// A time as nanoseconds since 1970, UTC.
    fn epoch_ns(&self, at: Instant) -> u64;

    /// Starts the program of the job in a slot; [`EngineEvent::Started`] has the result.
    fn spawn(&mut self, slot: u32, launch: Box<Launch>);

    /// Sends a signal to the process group of a process that was not waited for.
    fn signal(&mut self, pid: i32, signal: i32);

    /// Stops this process, as the stop key of the terminal does, until it is continued.
    fn stop(&mut self);

    /// Whether a process group is empty.
    fn is_gone(&self, pid: i32) -> bool;

    /// Sends a signal to the remaining processes of the group of a process that has ended.
    fn signal_rest(&mut self, pid: i32, signal: i32);

    /// Watches a descriptor until it is closed or [`forget`](Self::forget) is called.
    ///
    /// # Errors
    ///
    /// As epoll_ctl(2).
    fn watch(&mut self, fd: RawFd, interest: Interest) -> io::Result<()>;

    /// Stops watching it.
    fn forget(&mut self, fd: RawFd);

    /// Waits for events until `until` at most, and appends them to `events`.
    ///
    /// # Errors
    ///
    /// As epoll_wait(2), except for EINTR.
    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<EngineEvent>) -> io::Result<()>;
}

/// Wakes the engine when a thread has read more input or started a program: a signal to this
/// process, since the engine waits for signals anyway.
#[derive(Clone, Copy, Debug)]
pub struct Waker(i32);

impl Waker {
    /// Wakes the engine.
    pub fn wake(&self) {
        // SAFETY: plain system call; the signal is blocked in all threads (see `SignalFd`).
        unsafe { libc::kill(libc::getpid(), self.0) };
    }
}

/// The epoll token of the signal descriptor.
const SIGNALS: u64 = u64::MAX;

/// This machine.
pub struct Linux {
    epoll: OwnedFd,
    signal_fd: SignalFd,
    waker: Waker,
    /// Number of watched descriptors.  While it is 0, one call returns a signal where `epoll_wait`
    /// and a `read` would.
    watched: usize,
    starter: Starter,
    /// The thread that fills files, started when it is first needed.
    copier: Option<Copier>,
    /// Starts by this thread that [`wait`](OperatingSystem::wait) has not returned yet.
    started: VecDeque<EngineEvent>,
    /// One moment on both clocks.
    origin: (Instant, u64),
    ready: Vec<epoll::Event>,
    details: Option<ExitDetails>,
}

/// A thread that fills files, so that no job waits for the large file of another.
#[derive(Debug)]
struct Copier {
    orders: Sender<(u32, Box<Launch>, Instant)>,
    done: Receiver<Filled>,
}

/// A job whose file is filled, or could not be.
type Filled = (u32, Box<Launch>, Instant, io::Result<()>);

impl Copier {
    fn new(waker: Waker) -> io::Result<Self> {
        let (orders, queue) = channel::<(u32, Box<Launch>, Instant)>();
        let (sender, done) = channel();
        thread::Builder::new().name("copier".into()).stack_size(256 * 1024).spawn(move || {
            for (slot, mut launch, at) in queue {
                let result = launch.input_copy.take().map_or(Ok(()), |copy| copy.run());
                if sender.send((slot, launch, at, result)).is_err() {
                    return;
                }
                waker.wake();
            }
        })?;
        Ok(Copier { orders, done })
    }
}

/// Which thread starts programs.
#[derive(Debug)]
enum Starter {
    /// This thread, without a hand-over.
    Here(Spawner),
    /// Other threads, so that several processes are created at once.
    Threads { orders: Sender<(u32, Box<Launch>, Instant)>, done: Receiver<EngineEvent> },
}

impl Linux {
    /// Waits for exits and `signals`, with this many threads that start programs (0 and 1: only
    /// this one).
    ///
    /// Call it before the process has other threads, which could take the signals.
    ///
    /// # Errors
    ///
    /// As epoll_create(2) and signalfd(2), or if no thread could be created.
    pub fn new(signals: &[i32], threads: usize) -> io::Result<Self> {
        let waker = Waker(libc::SIGRTMIN());
        let heard: Vec<i32> = signals.iter().copied().chain([waker.0]).collect();
        let signal_fd = SignalFd::listen(&heard)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // SAFETY: the descriptor is `signal_fd`'s, which lives as long.
        let fd = unsafe { BorrowedFd::borrow_raw(signal_fd.as_raw_fd()) };
        epoll::add(&epoll, fd, epoll::EventData::new_u64(SIGNALS), epoll::EventFlags::IN)?;
        let starter = match threads {
            0 | 1 => Starter::Here(Spawner::new(signal_fd.mask())),
            _ => spawning_threads(threads, &signal_fd, waker)?,
        };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let origin = (Instant::now(), u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        let (started, ready) = (VecDeque::new(), Vec::with_capacity(64));
        let details = None;
        Ok(Linux {
            epoll,
            signal_fd,
            waker,
            watched: 0,
            starter,
            copier: None,
            started,
            origin,
            ready,
            details,
        })
    }

    /// Does what may take long before the first job starts: meanwhile signals have their usual
    /// effect, so that a user can interrupt it.  `work` must start no thread, which could take
    /// signals later.
    pub fn interruptibly<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut ours = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the first set is valid, and the kernel writes the second.
        let ours = unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.signal_fd.mask(), ours.as_mut_ptr());
            ours.assume_init()
        };
        let done = work();
        // SAFETY: a valid set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &ours, std::ptr::null_mut()) };
        done
    }

    /// Wakes this engine from a thread that reads input.
    pub fn waker(&self) -> Waker {
        self.waker
    }

    /// Inspects exited processes for what `wait4` does not return.
    pub fn look_at_ends(&mut self, details: ExitDetails) {
        self.details = Some(details);
    }

    /// Handles the signals that have come.
    fn handle_signals(&mut self, signals: &[i32], events: &mut Vec<EngineEvent>) {
        for &signal in signals {
            match signal {
                // Several exits may share one signal.
                libc::SIGCHLD => {
                    let next = || spawn::reap(self.details.as_mut());
                    events.extend(std::iter::from_fn(next).map(EngineEvent::Ended));
                }
                signal if signal == self.waker.0 => {
                    if let Starter::Threads { done, .. } = &self.starter {
                        events.extend(done.try_iter());
                    }
                    events.extend(self.filled());
                    events.push(EngineEvent::Input);
                }
                signal => events.push(EngineEvent::Signal(signal)),
            }
        }
    }
}

impl Linux {
    /// Starts the jobs whose files have been filled.
    fn filled(&self) -> Vec<EngineEvent> {
        let (Some(copier), Starter::Here(spawner)) = (&self.copier, &self.starter) else {
            return Vec::new();
        };
        let start = |(slot, launch, at, result): Filled| match result {
            Ok(()) => start(spawner, slot, launch, at),
            Err(error) => EngineEvent::Started {
                slot,
                result: Err((launch, SpawnError::InputCopy(error))),
                at,
            },
        };
        copier.done.try_iter().map(start).collect()
    }
}

impl Drop for Linux {
    fn drop(&mut self) {
        // A thread may wake us after we have stopped listening, or just before: an ignored signal
        // has no effect.
        // SAFETY: plain call.
        unsafe { libc::signal(self.waker.0, libc::SIG_IGN) };
    }
}

fn spawning_threads(threads: usize, signal_fd: &SignalFd, waker: Waker) -> io::Result<Starter> {
    let (orders, queue) = channel::<(u32, Box<Launch>, Instant)>();
    let (sender, done) = channel();
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..threads {
        let (queue, sender, waker) = (Arc::clone(&queue), sender.clone(), waker);
        let spawner = Spawner::new(signal_fd.mask());
        thread::Builder::new().name("spawner".into()).stack_size(256 * 1024).spawn(move || {
            loop {
                let order = match queue.lock() {
                    Ok(queue) => queue.recv(),
                    Err(_) => return,
                };
                let Ok((slot, launch, asked)) = order else { return };
                let event = start(&spawner, slot, launch, asked);
                if sender.send(event).is_err() {
                    return;
                }
                waker.wake();
            }
        })?;
    }
    Ok(Starter::Threads { orders, done })
}

fn start(spawner: &Spawner, slot: u32, mut launch: Box<Launch>, at: Instant) -> EngineEvent {
    let filled = launch.input_copy.take().map_or(Ok(()), |copy| copy.run());
    let result = match filled {
        Ok(()) => spawner.spawn(launch, at),
        Err(error) => Err((launch, SpawnError::InputCopy(error))),
    };
    EngineEvent::Started { slot, result, at }
}

impl OperatingSystem for Linux {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn epoch_ns(&self, at: Instant) -> u64 {
        let (instant, epoch_ns) = self.origin;
        epoch_ns + u64::try_from((at - instant).as_nanos()).unwrap_or(0)
    }

    fn spawn(&mut self, slot: u32, launch: Box<Launch>) {
        let asked = Instant::now();
        if launch.input_copy.is_some() && matches!(self.starter, Starter::Here(_)) {
            // Without a thread it is done here.
            self.copier = self.copier.take().or_else(|| Copier::new(self.waker).ok());
            if let Some(copier) = &self.copier {
                // The thread runs as long as its channel is open.
                drop(copier.orders.send((slot, launch, asked)));
                return;
            }
        }
        match &self.starter {
            Starter::Here(spawner) => self.started.push_back(start(spawner, slot, launch, asked)),
            // The threads run as long as their channel is open.
            Starter::Threads { orders, .. } => drop(orders.send((slot, launch, asked))),
        }
    }

    fn signal(&mut self, pid: i32, signal: i32) {
        // A child that was just created may not have its group yet, and a group whose processes
        // have all ended no longer exists: then the process itself is signalled, if there is one.
        // SAFETY: plain system calls.
        unsafe {
            if libc::kill(-pid, signal) != 0 {
                libc::kill(pid, signal);
            }
        }
    }

    fn stop(&mut self) {
        // As the default action does: nothing if no process could continue us (an orphaned process
        // group).
        // SAFETY: plain system call.
        self.interruptibly(|| unsafe { libc::kill(libc::getpid(), libc::SIGTSTP) });
    }

    fn is_gone(&self, pid: i32) -> bool {
        // SAFETY: plain system call; signal 0 only checks.
        unsafe { libc::kill(-pid, 0) != 0 }
    }

    fn signal_rest(&mut self, pid: i32, signal: i32) {
        // SAFETY: plain system call; the group number may have been reused by now.
        unsafe { libc::kill(-pid, signal) };
    }

    fn watch(&mut self, fd: RawFd, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Read => epoll::EventFlags::IN,
            Interest::Write => epoll::EventFlags::OUT,
        };
        // SAFETY: the caller keeps it open until `forget`, or closes it, which removes it from the
        // epoll set.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let token = epoll::EventData::new_u64(fd.as_raw_fd().cast_unsigned().into());
        epoll::add(&self.epoll, fd, token, flags)?;
        self.watched += 1;
        Ok(())
    }

    fn forget(&mut self, fd: RawFd) {
        // SAFETY: as in `watch`; for a closed descriptor the call fails without effect.
        if epoll::delete(&self.epoll, unsafe { BorrowedFd::borrow_raw(fd) }).is_ok() {
            self.watched -= 1;
        }
    }

    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<EngineEvent>) -> io::Result<()> {
        if !self.started.is_empty() {
            // There are events already.  Signals are not starved: there are no more starts than
            // slots.
            events.extend(self.started.drain(..));
            return Ok(());
        }
        let left = until.map(|until| until - self.now());
        if self.watched == 0 {
            let signal = self.signal_fd.wait(left)?;
            self.handle_signals(signal.as_slice(), events);
            return Ok(());
        }
        let left = left.map(|left| rustix::event::Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        let waited =
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ready), left.as_ref());
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        for event in &ready {
            match event.data.u64() {
                SIGNALS => {
                    let mut signals = Vec::new();
                    self.signal_fd.read_pending(|signal| signals.push(signal));
                    self.handle_signals(&signals, events);
                }
                fd => events.push(EngineEvent::Ready(fd as RawFd)),
            }
        }
        self.ready = ready;
        Ok(())
    }
}
