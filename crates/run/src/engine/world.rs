//! What the engine does to the machine and hears of it: start, signal, wait.
//!
//! The engine knows [`World`] alone.  [`Live`] is this machine; the tests' own has simulated
//! processes and a simulated clock.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::fd::{BorrowedFd, OwnedFd};

use crate::spawn::{Ends, Kernel, Launch, Reaped, SpawnError};

/// Something the engine hears.
#[derive(Debug)]
pub enum Event {
    /// A program that was to be started runs, or cannot.
    Started {
        /// The job's number.
        seq: u64,
        /// What it was started with, to be used again.
        launch: Box<Launch>,
        /// Its process, or why there is none.
        result: Result<i32, SpawnError>,
        /// When its program ran.
        at: Instant,
        /// From the order to the program running.
        took: Duration,
    },
    /// A process has ended.
    Ended(Reaped),
    /// We were sent this signal.
    Signal(i32),
    /// There is something to read from, or room to write to, a watched descriptor.
    Ready(RawFd),
    /// There is more input than there was.
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

/// The machine.
pub trait World {
    /// The time.
    fn now(&self) -> Instant;

    /// The same moment as nanoseconds since 1970, UTC.
    fn epoch_ns(&self, at: Instant) -> u64;

    /// Starts a program; [`Event::Started`] tells how it went.
    fn spawn(&mut self, seq: u64, launch: Box<Launch>);

    /// Sends a signal to a process group.
    fn signal(&mut self, pid: i32, signal: i32);

    /// Whether nobody of a process group is left.
    fn is_gone(&self, pid: i32) -> bool;

    /// Watches a descriptor until it is closed or [`forget`](Self::forget)ten.
    ///
    /// # Errors
    ///
    /// What epoll_ctl(2) says.
    fn watch(&mut self, fd: RawFd, interest: Interest) -> io::Result<()>;

    /// Watches it no longer.
    fn forget(&mut self, fd: RawFd);

    /// Waits until something happens, but not beyond `until`, and adds what happened to `events`.
    ///
    /// # Errors
    ///
    /// What epoll_wait(2) says; an interruption is none.
    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<Event>) -> io::Result<()>;
}

/// What wakes the engine when a thread has read more input.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Wakes it.  A full counter wakes as well, so no error counts.
    pub fn wake(&self) {
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Takes what was counted, so that the descriptor is not ready any more.
    fn rest(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0_u8; 8]);
    }
}

/// Tokens of our own descriptors among those that are watched.
const ENDS: u64 = u64::MAX;
const INPUT: u64 = u64::MAX - 1;
const SPAWNED: u64 = u64::MAX - 2;

/// This machine.
pub struct Live {
    epoll: OwnedFd,
    ends: Ends,
    input: Waker,
    spawner: Spawner,
    /// What was started by this thread and is not told yet.
    started: VecDeque<Event>,
    /// A moment by both clocks.
    origin: (Instant, u64),
    ready: Vec<epoll::Event>,
}

/// Who starts programs.
#[derive(Debug)]
enum Spawner {
    /// This thread: no hand-over, and while a program is being started nothing else is done.
    Here(Kernel),
    /// Threads, each of which waits for its own programs.
    Threads { orders: Sender<(u64, Box<Launch>, Instant)>, done: Receiver<Event>, waker: Waker },
}

impl Live {
    /// Listens for ends and `signals`, with so many spawning threads (0 and 1: none but this one).
    ///
    /// Must come before the process has other threads that could take the signals.
    ///
    /// # Errors
    ///
    /// What the kernel says to epoll_create(2), signalfd(2) or eventfd(2).
    pub fn new(signals: &[i32], threads: usize) -> io::Result<Self> {
        let ends = Ends::listen(signals)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let input = waker()?;
        let add = |fd: BorrowedFd<'_>, token| {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(token), epoll::EventFlags::IN)
        };
        // SAFETY: the descriptor is that of `ends`, which lives as long.
        add(unsafe { BorrowedFd::borrow_raw(ends.as_raw_fd()) }, ENDS)?;
        add(rustix::fd::AsFd::as_fd(&*input.0), INPUT)?;
        let spawner = if threads < 2 {
            Spawner::Here(Kernel::new(ends.mask()))
        } else {
            let waker = waker()?;
            add(rustix::fd::AsFd::as_fd(&*waker.0), SPAWNED)?;
            spawning_threads(threads, &ends, waker)?
        };
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let origin = (Instant::now(), u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
        let ready = Vec::with_capacity(64);
        Ok(Live { epoll, ends, input, spawner, started: VecDeque::new(), origin, ready })
    }

    /// What a thread that reads input wakes us with.
    pub fn waker(&self) -> Waker {
        self.input.clone()
    }

    fn take(&mut self, token: u64, events: &mut Vec<Event>) {
        match token {
            ENDS => {
                let mut ended = false;
                self.ends.take(|signal| match signal {
                    libc::SIGCHLD => ended = true,
                    other => events.push(Event::Signal(other)),
                });
                if ended {
                    events.extend(std::iter::from_fn(Ends::reap).map(Event::Ended));
                }
            }
            INPUT => {
                self.input.rest();
                events.push(Event::Input);
            }
            SPAWNED => {
                if let Spawner::Threads { done, waker, .. } = &self.spawner {
                    waker.rest();
                    events.extend(done.try_iter());
                }
            }
            fd => events.push(Event::Ready(fd as RawFd)),
        }
    }
}

fn waker() -> io::Result<Waker> {
    Ok(Waker(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
}

fn spawning_threads(threads: usize, ends: &Ends, waker: Waker) -> io::Result<Spawner> {
    let (orders, queue) = channel::<(u64, Box<Launch>, Instant)>();
    let (sender, done) = channel();
    let queue = Arc::new(Mutex::new(queue));
    for _ in 0..threads {
        let (queue, sender, waker) = (Arc::clone(&queue), sender.clone(), waker.clone());
        let kernel = Kernel::new(ends.mask());
        thread::Builder::new().name("spawner".into()).stack_size(64 * 1024).spawn(move || {
            loop {
                let order = match queue.lock() {
                    Ok(queue) => queue.recv(),
                    Err(_) => return,
                };
                let Ok((seq, launch, asked)) = order else { return };
                let event = start(&kernel, seq, launch, asked);
                if sender.send(event).is_err() {
                    return;
                }
                waker.wake();
            }
        })?;
    }
    Ok(Spawner::Threads { orders, done, waker })
}

fn start(kernel: &Kernel, seq: u64, launch: Box<Launch>, asked: Instant) -> Event {
    let result = kernel.spawn(&launch);
    let at = Instant::now();
    Event::Started { seq, launch, result, at, took: at - asked }
}

impl World for Live {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn epoch_ns(&self, at: Instant) -> u64 {
        let (instant, epoch_ns) = self.origin;
        epoch_ns + u64::try_from((at - instant).as_nanos()).unwrap_or(0)
    }

    fn spawn(&mut self, seq: u64, launch: Box<Launch>) {
        let asked = Instant::now();
        match &self.spawner {
            Spawner::Here(kernel) => self.started.push_back(start(kernel, seq, launch, asked)),
            // The threads live as long as their end of the channel, which is ours.
            Spawner::Threads { orders, .. } => drop(orders.send((seq, launch, asked))),
        }
    }

    fn signal(&mut self, pid: i32, signal: i32) {
        // The group may be gone: then there is nobody to be told.
        // SAFETY: plain system call.
        unsafe { libc::kill(-pid, signal) };
    }

    fn is_gone(&self, pid: i32) -> bool {
        // SAFETY: plain system call; signal 0 asks and does nothing.
        unsafe { libc::kill(-pid, 0) != 0 }
    }

    fn watch(&mut self, fd: RawFd, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Read => epoll::EventFlags::IN,
            Interest::Write => epoll::EventFlags::OUT,
        };
        // SAFETY: whoever asks keeps it open until it is forgotten or closed, which forgets it.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let token = epoll::EventData::new_u64(fd.as_raw_fd().cast_unsigned().into());
        Ok(epoll::add(&self.epoll, fd, token, flags)?)
    }

    fn forget(&mut self, fd: RawFd) {
        // SAFETY: as for `watch`; one that is closed already is an error that changes nothing.
        let _ = epoll::delete(&self.epoll, unsafe { BorrowedFd::borrow_raw(fd) });
    }

    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<Event>) -> io::Result<()> {
        if !self.started.is_empty() {
            // There is news already.  Nobody starves: no more are started than there are slots.
            events.extend(self.started.drain(..));
            return Ok(());
        }
        let left = until.map(|until| until - self.now());
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
            self.take(event.data.u64(), events);
        }
        self.ready = ready;
        Ok(())
    }
}
