//! Sockets and threads: one thread accepts, each connection has one, some write files, one looks
//! after time.
//!
//! A thread for each connection keeps a line's way short: read, run, append, answer, in one place
//! and with two or three system calls, however many lines a read brings.  A client that sends
//! nothing costs a stack and a small buffer; one that does not take its answers is left.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use connection::{Keepalive, ListeningSocket, Peer, ServerListener, ServerTls, SocketStream};
use http_server::HttpServer;
use rrd::update::Updater;
use rustix::event::{PollFd, PollFlags, poll};

use crate::daemon::{CachingDaemon, Limits};
use crate::journal::Acknowledge;
use crate::locks::lock;
use crate::protocol::{LINE_BYTES_MAX, Permissions};
use crate::session::{ClientSession, NextStep};
use crate::{metrics, replay, writers};

/// A socket that listens, and what its clients may do.
#[derive(Debug)]
pub struct Listener {
    /// The socket.
    pub socket: ListeningSocket,
    /// Commands that are taken.
    pub permissions: Permissions,
    /// When updates are acknowledged.
    pub acknowledge: Acknowledge,
    /// What clients of a network must speak, if anything.
    pub tls: Option<ServerTls>,
}

/// How long a client may take to accept answers.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// When a client that is silent is taken for one that has vanished.
const KEEPALIVE: Keepalive =
    Keepalive { idle: Duration::from_secs(120), interval: Duration::from_secs(10), probes: 6 };
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
    /// The page of counters.
    metrics: Option<HttpServer>,
}

#[derive(Debug, Default)]
struct Connections {
    open: Mutex<Vec<OpenConnection>>,
    count: AtomicUsize,
    next: AtomicU64,
}

#[derive(Debug)]
struct OpenConnection {
    number: u64,
    peer: Peer,
    /// Not the encrypted one, which its thread holds.
    stream: SocketStream,
}

impl Server {
    /// Starts all threads.  `metrics` are sockets for a page of counters over HTTP.
    ///
    /// # Errors
    /// If the system starts none, or the folder of the journal cannot be written.
    pub fn start(
        mut daemon: CachingDaemon,
        listeners: Vec<Listener>,
        metrics: Vec<ServerListener>,
    ) -> io::Result<Self> {
        let is_for_disk = |listener: &Listener| listener.acknowledge == Acknowledge::Disk;
        daemon.keep_heads(listeners.iter().any(is_for_disk))?;
        let daemon = Arc::new(daemon);
        let connections = Arc::new(Connections::default());
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let sockets = listeners.iter().map(|listener| &listener.socket);
        let sockets = sockets.chain(metrics.iter().map(|listener| &listener.socket));
        let files = sockets.filter_map(|socket| match socket {
            ListeningSocket::Unix(_, path) => path.clone(),
            ListeningSocket::Tcp(_) => None,
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
        let metrics = match metrics.is_empty() {
            true => None,
            false => Some(metrics::serve(metrics, &daemon)?),
        };
        Ok(Self { daemon, connections, stop: Some(stop), threads, files, metrics })
    }

    /// Whether all readings of the old journal are in memory.
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.daemon.is_replayed()
    }

    /// Ends everything.  Files are written if `writes_files`, or if there is no journal; otherwise
    /// the journal keeps what waits.
    pub fn stop(mut self, writes_files: bool) {
        drop((self.stop.take(), self.metrics.take()));
        self.daemon.wait_for_replay();
        for connection in lock(&self.connections.open).iter() {
            connection.stream.end_reading();
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

/// The next connection of a socket, which blocks.
fn accept(socket: &ListeningSocket) -> io::Result<(SocketStream, Peer)> {
    let (connection, peer) = socket.accept()?;
    connection.set_write_timeout(Some(SEND_TIMEOUT))?;
    connection.keep_alive(&KEEPALIVE)?;
    Ok((connection, peer))
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
            match accept(&listener.socket) {
                Ok((stream, peer)) => connect(daemon, listener, stream, peer, connections),
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
    mut stream: SocketStream,
    peer: Peer,
    connections: &Arc<Connections>,
) {
    let counters = &daemon.counters;
    if let Some(refusal) = connections.refusal(&peer, &daemon.settings.limits) {
        counters.connections_refused.add(1);
        if listener.tls.is_none() {
            // A client that has left is no fault.
            let _ = stream.write_all(refusal);
        }
        return;
    }
    counters.connections.add(1);
    let start = || {
        let number = connections.next.fetch_add(1, Ordering::Relaxed);
        let open = OpenConnection { number, peer: peer.clone(), stream: stream.clone() };
        lock(&connections.open).push(open);
        connections.count.fetch_add(1, Ordering::AcqRel);
        let Listener { permissions, acknowledge, .. } = *listener;
        let tls = listener.tls.clone();
        let (own, all) = (Arc::clone(daemon), Arc::clone(connections));
        let builder = std::thread::Builder::new().name("client".to_owned());
        let spawned = builder.stack_size(STACK_BYTES).spawn(move || {
            let seconds = own.settings.limits.handshake_seconds;
            let patience = Duration::from_secs(seconds.into());
            let done = stream.secured(tls.as_ref(), patience).and_then(|stream| {
                let (writer, daemon) = (Box::new(stream.clone()), Arc::clone(&own));
                serve(stream, ClientSession::new(daemon, permissions, acknowledge, writer))
            });
            if let Err(error) = done {
                own.counters.connections_refused.add(1);
                if tls.is_some() {
                    own.error(&format!("connection of {peer}: {}", reason(&error)));
                }
            }
            all.remove(number);
        });
        spawned.map(drop).inspect_err(|_| connections.remove(number))
    };
    let started = start();
    if let Err(error) = started {
        daemon.error(&format!("cannot serve a connection: {error}"));
    }
}

impl Connections {
    /// Why a client is not taken, if it is not.
    fn refusal(&self, peer: &Peer, limits: &Limits) -> Option<&'static [u8]> {
        if self.count.load(Ordering::Acquire) >= limits.connections {
            return Some(b"-1 too many connections\n");
        }
        let open = lock(&self.open);
        let own = open.iter().filter(|connection| connection.peer.is_same(peer)).count();
        (own >= limits.connections_of_a_client)
            .then_some(b"-1 too many connections of this client\n")
    }

    fn remove(&self, number: u64) {
        let mut open = lock(&self.open);
        if let Some(place) = open.iter().position(|one| one.number == number) {
            open.swap_remove(place);
        }
        drop(open);
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Why an encrypted connection was ended.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "it left before the end of the handshake".to_owned(),
        io::ErrorKind::TimedOut => "it did not end the handshake in time".to_owned(),
        _ => connection::reason(error).unwrap_or_else(|| rrd::reason(error)),
    }
}

fn read(stream: &mut SocketStream, bytes: &mut [u8]) -> io::Result<usize> {
    match stream.read(bytes) {
        // Lines have ends: what is missing of the last one is seen without TLS.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        read => read,
    }
}

/// Tells the client that nothing follows.
fn end(stream: &SocketStream) -> io::Result<()> {
    // A client that has left does not need it.
    let _ = stream.end_writing();
    Ok(())
}

/// Reads lines and answers them until the client leaves.
fn serve(mut stream: SocketStream, mut session: ClientSession) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    loop {
        let read = read(&mut stream, &mut buffer[filled..])?;
        if read == 0 {
            return Ok(());
        }
        filled += read;
        session.begin();
        let (used, next) = run_lines(&mut session, &buffer[..filled]);
        session.end()?;
        if next == NextStep::Close {
            return end(&stream);
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
