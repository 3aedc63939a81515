//! Sockets and threads: one thread accepts, each connection has one, some write files, one looks
//! after time.
//!
//! A thread for each connection keeps a line's way short: read, run, append, answer, in one place
//! and with two or three system calls, however many lines a read brings.  A client that sends
//! nothing costs a stack and a small buffer; one that does not take its answers is left.

use std::io::{self, Read as _, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rrd::update::Updater;
use rustix::event::{PollFd, PollFlags, poll};

use crate::daemon::CachingDaemon;
use crate::journal::Acknowledge;
use crate::locks::lock;
use crate::protocol::{LINE_BYTES_MAX, Permissions};
use crate::session::{ClientSession, NextStep};
use crate::{metrics, replay, writers};

/// A socket that listens.
#[derive(Debug)]
pub enum Socket {
    /// Of this machine; the file is removed at the end, if it was made here.
    Unix(UnixListener, Option<PathBuf>),
    /// Of a network.
    Tcp(TcpListener),
}

/// What clients of a socket speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// rrdcached's protocol.
    #[default]
    Commands,
    /// HTTP: each request is answered with a page of counters.
    Metrics,
}

/// A socket that listens, and what its clients may do.
#[derive(Debug)]
pub struct Listener {
    /// The socket.
    pub socket: Socket,
    /// What its clients speak.
    pub purpose: Purpose,
    /// Commands that are taken.
    pub permissions: Permissions,
    /// When updates are acknowledged.
    pub acknowledge: Acknowledge,
}

/// A connection.
#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// How long a client may take to accept answers.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a request for metrics may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);
/// A thread's stack: sessions keep their buffers elsewhere.
const STACK_BYTES: usize = 256 << 10;
/// The first size of a connection's buffer …
const BUFFER_BYTES: usize = LINE_BYTES_MAX;
/// … which grows to this while reads fill it.
const BUFFER_BYTES_MAX: usize = 256 << 10;
/// Connections have this many times this long to end: 5 seconds.
const END_LOOKS: u32 = 2500;
const END_PAUSE: Duration = Duration::from_millis(2);

/// A daemon with its threads.
#[derive(Debug)]
pub struct Server {
    daemon: Arc<CachingDaemon>,
    connections: Arc<Connections>,
    /// Closed to wake the thread that accepts.
    stop: Option<OwnedFd>,
    threads: Vec<JoinHandle<()>>,
    files: Vec<PathBuf>,
}

#[derive(Debug, Default)]
struct Connections {
    open: Mutex<Vec<(u64, Stream)>>,
    count: AtomicUsize,
    next: AtomicU64,
}

impl Server {
    /// Starts all threads.
    ///
    /// # Errors
    /// If the system starts none.
    pub fn start(daemon: CachingDaemon, listeners: Vec<Listener>) -> io::Result<Self> {
        let daemon = Arc::new(daemon);
        let connections = Arc::new(Connections::default());
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let files = listeners.iter().filter_map(|listener| match &listener.socket {
            Socket::Unix(_, path) => path.clone(),
            Socket::Tcp(_) => None,
        });
        let files = files.collect();
        let mut threads = Vec::new();
        let mut spawn = |name: &str, work: Box<dyn FnOnce(&CachingDaemon) + Send>| {
            let daemon = Arc::clone(&daemon);
            let builder = std::thread::Builder::new().name(name.to_owned());
            builder.spawn(move || work(&daemon)).map(|thread| threads.push(thread))
        };
        spawn("replay", Box::new(replay::run))?;
        for _ in 0..daemon.settings.writers.max(1) {
            spawn("writer", Box::new(writers::run))?;
        }
        spawn("timer", Box::new(CachingDaemon::run_timer))?;
        let (own, all) = (Arc::clone(&daemon), Arc::clone(&connections));
        let accept = move |_: &CachingDaemon| accept_all(&own, &listeners, &all, &stopped);
        spawn("accept", Box::new(accept))?;
        Ok(Self { daemon, connections, stop: Some(stop), threads, files })
    }

    /// Whether all readings of the old journal are in memory.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.daemon.is_replayed()
    }

    /// Ends everything.  Files are written if `writes_files`, or if there is no journal; otherwise
    /// the journal keeps what waits.
    pub fn stop(mut self, writes_files: bool) {
        drop(self.stop.take());
        self.daemon.wait_for_replay();
        for (_, stream) in lock(&self.connections.open).iter() {
            stream.shut_down();
        }
        for _ in 0..END_LOOKS {
            if self.connections.count.load(Ordering::Acquire) == 0 {
                break;
            }
            std::thread::sleep(END_PAUSE);
        }
        self.daemon.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if writes_files || self.daemon.journal.is_none() {
            self.write_all();
        }
        if let Some(journal) = &self.daemon.journal
            && let Err(error) = journal.sync()
        {
            self.daemon.error(&format!("cannot write the journal: {error}"));
        }
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
    }

    fn write_all(&self) {
        let mut updater = Updater::default();
        let mut chunk = self.daemon.journal.as_ref().map(|journal| journal.chunk(false));
        if let (Some(journal), Some(chunk)) = (&self.daemon.journal, &mut chunk) {
            journal.open_chunk(chunk);
        }
        for entry in self.daemon.cache.files() {
            entry.lock().is_suspended = false;
            // The error is logged.
            let _ = writers::write(&self.daemon, &entry, &mut updater, chunk.as_mut());
        }
        writers::append(&self.daemon, chunk.as_mut());
        if let Err(error) = self.daemon.rotate() {
            self.daemon.error(&format!("cannot end the journal: {error}"));
        }
    }
}

impl Stream {
    fn shut_down(&self) {
        // A client that has left is no fault.
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Read),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Read),
        };
    }

    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
        }
    }

    fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
        })
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Unix(stream) => stream.read(bytes),
                Self::Tcp(stream) => stream.read(bytes),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => stream.write(bytes),
            Self::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket, _) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Socket {
    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Unix(socket, _) => {
                let (stream, _) = socket.accept()?;
                stream.set_write_timeout(Some(SEND_TIMEOUT))?;
                Ok(Stream::Unix(stream))
            }
            Self::Tcp(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_write_timeout(Some(SEND_TIMEOUT))?;
                stream.set_nodelay(true)?;
                // A client that has vanished is noticed.
                rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
                Ok(Stream::Tcp(stream))
            }
        }
    }
}

/// Accepts connections until the other end of `stopped` is closed.
fn accept_all(
    daemon: &Arc<CachingDaemon>,
    listeners: &[Listener],
    connections: &Arc<Connections>,
    stopped: &OwnedFd,
) {
    loop {
        let mut ready: Vec<PollFd<'_>> = listeners
            .iter()
            .map(|listener| PollFd::new(&listener.socket, PollFlags::IN))
            .chain([PollFd::new(stopped, PollFlags::IN)])
            .collect();
        match poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => {
                daemon.error(&format!("cannot wait for connections: {error}"));
                return;
            }
            Ok(_) => {}
        }
        let events: Vec<bool> = ready.iter().map(|one| !one.revents().is_empty()).collect();
        if events.last() == Some(&true) {
            return;
        }
        for (listener, _) in listeners.iter().zip(&events).filter(|(_, ready)| **ready) {
            match listener.socket.accept() {
                Ok(stream) => connect(daemon, listener, stream, connections),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    daemon.error(&format!("cannot accept a connection: {error}"));
                    // No descriptor may be left; the next look would come at once.
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
    }
}

/// Starts the thread of a connection.
fn connect(
    daemon: &Arc<CachingDaemon>,
    listener: &Listener,
    mut stream: Stream,
    connections: &Arc<Connections>,
) {
    let counters = &daemon.counters;
    if connections.count.load(Ordering::Acquire) >= daemon.settings.limits.connections {
        counters.connections_refused.add(1);
        let _ = stream.write_all(b"-1 too many connections\n");
        return;
    }
    counters.connections.add(1);
    let started = (|| {
        let number = connections.next.fetch_add(1, Ordering::Relaxed);
        let peer = Box::new(stream.try_clone()?);
        lock(&connections.open).push((number, stream.try_clone()?));
        connections.count.fetch_add(1, Ordering::AcqRel);
        let Listener { purpose, permissions, acknowledge, .. } = *listener;
        let session = ClientSession::new(Arc::clone(daemon), permissions, acknowledge, peer);
        let (own, all) = (Arc::clone(daemon), Arc::clone(connections));
        let builder = std::thread::Builder::new().name("client".to_owned());
        let spawned = builder.stack_size(STACK_BYTES).spawn(move || {
            let done = match purpose {
                Purpose::Commands => serve(stream, session),
                Purpose::Metrics => serve_metrics(stream, &own),
            };
            if done.is_err() {
                own.counters.connections_refused.add(1);
            }
            all.remove(number);
        });
        spawned.map(drop).inspect_err(|_| connections.remove(number))
    })();
    if let Err(error) = started {
        daemon.error(&format!("cannot serve a connection: {error}"));
    }
}

impl Connections {
    fn remove(&self, number: u64) {
        let mut open = lock(&self.open);
        if let Some(place) = open.iter().position(|(own, _)| *own == number) {
            open.swap_remove(place);
        }
        drop(open);
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Reads lines and answers them until the client leaves.
fn serve(mut stream: Stream, mut session: ClientSession) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    loop {
        let read = stream.read(&mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        session.begin();
        let (used, next) = run_lines(&mut session, &buffer[..filled]);
        session.end()?;
        if next == NextStep::Close {
            return Ok(());
        }
        let is_full = filled == buffer.len();
        buffer.copy_within(used..filled, 0);
        filled -= used;
        if filled >= LINE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
        }
        if is_full && buffer.len() < BUFFER_BYTES_MAX {
            buffer.resize(buffer.len() * 4, 0);
        }
    }
}

/// Answers a request for metrics.
fn serve_metrics(mut stream: Stream, daemon: &CachingDaemon) -> io::Result<()> {
    stream.set_read_timeout(REQUEST_TIMEOUT)?;
    let mut buffer = [0; LINE_BYTES_MAX];
    let mut filled = 0;
    while memchr::memmem::find(&buffer[..filled], b"\r\n\r\n").is_none() {
        match stream.read(&mut buffer[filled..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => filled += count,
        }
    }
    stream.write_all(metrics::response(daemon).as_bytes())
}

/// Runs all complete lines; gives their length.
fn run_lines(session: &mut ClientSession, bytes: &[u8]) -> (usize, NextStep) {
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        if end - start >= LINE_BYTES_MAX {
            break;
        }
        let next = session.line(&bytes[start..end]);
        start = end + 1;
        if next == NextStep::Close {
            return (start, NextStep::Close);
        }
    }
    (start, NextStep::Line)
}
