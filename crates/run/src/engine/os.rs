//! What the engine asks of the operating system: start programs, send signals, wait.
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

/// What the engine has waited for.
#[derive(Debug)]
pub enum EngineEvent {
    /// A program has been started, or could not be.
    Started {
        /// The slot of the job.
        slot: u32,
        /// The process, or the error and the launch that failed.
        result: Result<Child, (Box<Launch>, SpawnError)>,
        /// When it was ordered.
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
    /// The time.
    fn now(&self) -> Instant;

    /// The same moment as nanoseconds since 1970, UTC.
    fn epoch_ns(&self, at: Instant) -> u64;

    /// Starts a program for the job in a slot; [`EngineEvent::Started`] has the result.
    fn spawn(&mut self, slot: u32, launch: Box<Launch>);

    /// Sends a signal to the process group of a process that was not waited for.
    fn signal(&mut self, pid: i32, signal: i32);

    /// Stops this process, as the terminal's stop key does any other, until it is continued.
    fn stop(&mut self);

    /// Whether a process group has no process any more.
    fn is_gone(&self, pid: i32) -> bool;

    /// Kills the processes that are left of the group of a process that has ended.
    fn kill_rest(&mut self, pid: i32);

    /// Watches a descriptor until it is closed or [`forget`](Self::forget)ten.
    ///
    /// # Errors
    ///
    /// What epoll_ctl(2) says.
    fn watch(&mut self, fd: RawFd, interest: Interest) -> io::Result<()>;

    /// Stops watching it.
    fn forget(&mut self, fd: RawFd);

    /// Waits until something happens, but not beyond `until`, and adds what happened to `events`.
    ///
    /// # Errors
    ///
    /// What epoll_wait(2) says; an interruption is none.
    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<EngineEvent>) -> io::Result<()>;
}

/// What wakes the engine when a thread has read more input or started a program: a signal of our
/// own, since those are waited for anyhow.
#[derive(Clone, Copy, Debug)]
pub struct Waker(i32);

impl Waker {
    /// Wakes it.
    pub fn wake(&self) {
        // SAFETY: plain system call; the signal is blocked in all threads (see `SignalFd`).
        unsafe { libc::kill(libc::getpid(), self.0) };
    }
}

/// The token of signals among the descriptors that are watched.
const SIGNALS: u64 = u64::MAX;

/// This machine.
pub struct Linux {
    epoll: OwnedFd,
    signal_fd: SignalFd,
    waker: Waker,
    /// Descriptors that are watched.  As long as there are none, one call returns a signal where
    /// `epoll_wait` and a `read` would.
    watched: usize,
    starter: Starter,
    /// The thread that fills files, started when the first one is to be filled.
    copier: Option<Copier>,
    /// Starts by this thread that [`wait`](OperatingSystem::wait) has not returned yet.
    started: VecDeque<EngineEvent>,
    /// The same moment by both clocks.
    origin: (Instant, u64),
    ready: Vec<epoll::Event>,
    details: Option<ExitDetails>,
}

/// A thread that fills files, so that no other job waits for a large one.
#[derive(Debug)]
struct Copier {
    orders: Sender<(u32, Box<Launch>, Instant)>,
    done: Receiver<Filled>,
}

/// A job whose file is filled, or cannot be.
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
    /// This thread: no hand-over.
    Here(Spawner),
    /// Threads: several processes are made at once.
    Threads { orders: Sender<(u32, Box<Launch>, Instant)>, done: Receiver<EngineEvent> },
}

impl Linux {
    /// Listens for ends and `signals`, with so many spawning threads (0 and 1: none but this one).
    ///
    /// Must come before the process has other threads that could take the signals.
    ///
    /// # Errors
    ///
    /// What the kernel says to epoll_create(2) or signalfd(2), or that it has no thread.
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

    /// Does what may take long before the first job starts: meanwhile signals do what they do to
    /// any program, so that a user can interrupt it.  It must start no thread, which would keep the
    /// signals from us.
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

    /// What a thread that reads input wakes us with.
    pub fn waker(&self) -> Waker {
        self.waker
    }

    /// Inspects processes that have ended, for what `wait4` does not return.
    pub fn look_at_ends(&mut self, details: ExitDetails) {
        self.details = Some(details);
    }

    /// Reads the signals that have arrived.
    fn take(&mut self, signals: &[i32], events: &mut Vec<EngineEvent>) {
        for &signal in signals {
            match signal {
                // Several ends may share one signal.
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
        // A thread may wake us after we have stopped listening, or may have done so just before:
        // ignored, it has no effect.
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
                // The thread lives as long as its end of the channel, which is ours.
                drop(copier.orders.send((slot, launch, asked)));
                return;
            }
        }
        match &self.starter {
            Starter::Here(spawner) => self.started.push_back(start(spawner, slot, launch, asked)),
            // The threads live as long as their end of the channel, which is ours.
            Starter::Threads { orders, .. } => drop(orders.send((slot, launch, asked))),
        }
    }

    fn signal(&mut self, pid: i32, signal: i32) {
        // There is no group yet while a child is about to make it, and none any more when all of
        // it are gone: then there is no process to signal.
        // SAFETY: plain system calls.
        unsafe {
            if libc::kill(-pid, signal) != 0 {
                libc::kill(pid, signal);
            }
        }
    }

    fn stop(&mut self) {
        // What the signal does by itself: where no process could continue us, nothing.
        // SAFETY: plain system call.
        self.interruptibly(|| unsafe { libc::kill(libc::getpid(), libc::SIGTSTP) });
    }

    fn is_gone(&self, pid: i32) -> bool {
        // SAFETY: plain system call; signal 0 asks and does nothing.
        unsafe { libc::kill(-pid, 0) != 0 }
    }

    fn kill_rest(&mut self, pid: i32) {
        // SAFETY: plain system call; its number may be another process's by now.
        unsafe { libc::kill(-pid, libc::SIGKILL) };
    }

    fn watch(&mut self, fd: RawFd, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Read => epoll::EventFlags::IN,
            Interest::Write => epoll::EventFlags::OUT,
        };
        // SAFETY: the caller keeps it open until it is forgotten or closed, which forgets it.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let token = epoll::EventData::new_u64(fd.as_raw_fd().cast_unsigned().into());
        epoll::add(&self.epoll, fd, token, flags)?;
        self.watched += 1;
        Ok(())
    }

    fn forget(&mut self, fd: RawFd) {
        // SAFETY: as for `watch`; one that is closed already is an error that changes nothing.
        if epoll::delete(&self.epoll, unsafe { BorrowedFd::borrow_raw(fd) }).is_ok() {
            self.watched -= 1;
        }
    }

    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<EngineEvent>) -> io::Result<()> {
        if !self.started.is_empty() {
            // There are events already.  Signals do not starve: there are no more starts than slots.
            events.extend(self.started.drain(..));
            return Ok(());
        }
        let left = until.map(|until| until - self.now());
        if self.watched == 0 {
            let signal = self.signal_fd.wait(left)?;
            self.take(signal.as_slice(), events);
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
                    self.signal_fd.take(|signal| signals.push(signal));
                    self.take(&signals, events);
                }
                fd => events.push(EngineEvent::Ready(fd as RawFd)),
            }
        }
        self.ready = ready;
        Ok(())
    }
}
