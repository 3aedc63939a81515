//! Syslog by TCP (RFC 6587) and TLS (RFC 5425): frames of counted octets, or lines.
//!
//! One thread reads all connections.  A handshake of TLS takes as long as its client does, so each has a
//! thread of its own until it is ended.  What a connection held is lost with it.  If all places are taken,
//! a further client gets that of the connection that has sent nothing for the longest time, so that
//! clients who only hold places keep nobody out; who is closed so connects again when it has something.

use std::io::{self, Read as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use connection::{Address, AddressRules, Quota, ServerTls, SocketStream, Wait};
use logring::LogLevel;

use super::InputPlace;
use super::fields::{ROUND, wait_at_most};
use super::frames::InputFrames;
use super::output::InputRecords;
use super::syslog::write;
use super::{InputFrame, PATIENCE};

/// Connections at once; further ones take places of idle ones, or wait in the listener's queue.
const CONNECTIONS_MAX: usize = 512;
/// How long a connection has sent nothing at least before another may have its place.
const IDLE_MIN: Duration = Duration::from_secs(1);
/// Handshakes at once; further clients wait in the listener's queue.
const HANDSHAKES_MAX: usize = 32;
/// How long a client may take for its handshake.
const HANDSHAKE_TIME_MAX: Duration = Duration::from_secs(10);
/// The stack of a handshake's thread.
const HANDSHAKE_STACK: usize = 256 << 10;

/// `tls:HOST` is port 6514, as RFC 5425 says.
const RULES: AddressRules =
    AddressRules { default_port: Some(6514), is_path: |_| false, is_host: |_| true };

/// A listener for streams.
pub(super) struct Streams {
    listener: TcpListener,
    tls: Option<ServerTls>,
}

/// Opens the target, if it is one of streams.
pub(super) fn open(place: &InputPlace) -> io::Result<Option<Streams>> {
    let (listener, tls) = if let Some(address) = place.target.strip_prefix("tcp:") {
        (TcpListener::bind(address)?, None)
    } else if place.target.starts_with("tls:") {
        let address = Address::parse(&place.target, &RULES).map_err(io::Error::other)?;
        let Address::Network { host, port, .. } = address else { return Ok(None) };
        let Some(tls) = &place.security.tls else {
            return Err(io::Error::other("an input with tls: needs a certificate and its key"));
        };
        (TcpListener::bind((host.as_str(), port))?, Some(tls.clone()))
    } else {
        return Ok(None);
    };
    listener.set_nonblocking(true)?;
    Ok(Some(Streams { listener, tls }))
}

/// A connection.
struct Peer {
    stream: SocketStream,
    frames: InputFrames,
    /// Something may be there that the socket does not show.
    has_more: bool,
    /// When it last sent something, or was taken.
    heard: Instant,
}

impl Peer {
    /// A connection that is read without waiting.
    fn new(stream: SocketStream) -> io::Result<Self> {
        let mut stream = stream.polling()?;
        stream.set_wait(Wait::Never);
        let (frames, heard) = (InputFrames::counted_or_lines(), log_protocol::clock::now());
        Ok(Peer { stream, frames, has_more: true, heard })
    }

    /// Takes what there is; gives whether the connection goes on.
    fn receive(&mut self, records: InputRecords, bytes: &mut [u8]) -> bool {
        let each = |frame: InputFrame<'_>| write(records, &frame);
        for _ in 0..ROUND {
            match self.stream.read(bytes) {
                Ok(length @ 1..) => {
                    self.heard = log_protocol::clock::now();
                    self.frames.add_bytes(&bytes[..length], each);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.has_more = false;
                    return true;
                }
                // The end, as it should be or not: what is there is taken.
                end @ (Ok(0) | Err(_)) => {
                    self.frames.finish(each);
                    if end.is_ok() {
                        // Clients of TLS may wait for this (RFC 5425, 4.4); who has left does not.
                        let _ = self.stream.end_writing();
                    }
                    return false;
                }
            }
        }
        self.has_more = true;
        true
    }
}

/// Clients that greet by TLS, each in a thread of its own.
struct Greeting {
    tls: ServerTls,
    places: Quota,
    sender: Sender<io::Result<SocketStream>>,
    receiver: Receiver<io::Result<SocketStream>>,
    failures: EndedConnections,
}

impl Greeting {
    fn new(tls: ServerTls) -> Self {
        let (sender, receiver) = channel();
        let places = Quota::new(HANDSHAKES_MAX);
        Greeting { tls, places, sender, receiver, failures: EndedConnections::new("refused") }
    }

    fn has_room(&self) -> bool {
        self.places.taken() < HANDSHAKES_MAX
    }

    fn begin(&self, stream: TcpStream) -> io::Result<()> {
        let Some(place) = self.places.acquire() else { return Ok(()) };
        let (tls, sender) = (self.tls.clone(), self.sender.clone());
        let greet = move || {
            let greeted = SocketStream::tcp(stream).secured(Some(&tls), HANDSHAKE_TIME_MAX);
            // Nobody takes it if the input has ended.
            let _ = sender.send(greeted);
            drop(place);
        };
        let thread = std::thread::Builder::new().name("syslog-tls".to_owned());
        thread.stack_size(HANDSHAKE_STACK).spawn(greet).map(drop)
    }
}

/// Connections that this input has ended itself, told once a second at the most: anybody can make it do so.
struct EndedConnections {
    how: &'static str,
    count: u64,
    last: String,
    told: Option<Instant>,
}

impl EndedConnections {
    fn new(how: &'static str) -> Self {
        EndedConnections { how, count: 0, last: String::new(), told: None }
    }

    fn note(&mut self, why: String) {
        self.count += 1;
        self.last = why;
    }

    fn tell(&mut self, records: InputRecords) {
        let now = log_protocol::clock::now();
        if self.count == 0 || self.told.is_some_and(|told| now - told < Duration::from_secs(1)) {
            return;
        }
        let text = format!("{} connections were {}, the last: {}", self.count, self.how, self.last);
        records.write_own(LogLevel::Warning, &text);
        (self.count, self.told) = (0, Some(now));
    }
}

/// The connection that has sent nothing for the longest time, and that time, if it is long enough.
fn longest_idle(peers: &[Peer]) -> Option<(usize, Duration)> {
    let idle = peers.iter().enumerate().filter(|(_, peer)| !peer.has_more);
    let (at, peer) = idle.min_by_key(|(_, peer)| peer.heard)?;
    let time = log_protocol::clock::now() - peer.heard;
    (time >= IDLE_MIN).then_some((at, time))
}

impl Streams {
    /// Takes connections and what they send, until the input is to end.
    pub(super) fn run(self, place: &InputPlace) -> io::Result<()> {
        let mut greeting = self.tls.map(Greeting::new);
        let mut peers: Vec<Peer> = Vec::new();
        let mut closed = EndedConnections::new("closed, since all places were taken");
        let mut bytes = vec![0; 64 << 10];
        while !place.is_ending() {
            let has_place = peers.len() < CONNECTIONS_MAX || longest_idle(&peers).is_some();
            let has_room = has_place && greeting.as_ref().is_none_or(Greeting::has_room);
            let mut files: Vec<_> = peers.iter().map(|peer| peer.stream.as_fd()).collect();
            if has_room {
                files.push(self.listener.as_fd());
            }
            // A handshake that ends is not seen by a poll.
            let is_greeting = greeting.as_ref().is_some_and(|one| one.places.taken() > 0);
            let patience = match peers.iter().any(|peer| peer.has_more) {
                true => Duration::ZERO,
                false if is_greeting => PATIENCE / 20,
                false => PATIENCE,
            };
            let ready = wait_at_most(&files, patience)?;
            let mut at = 0;
            peers.retain_mut(|peer| {
                at += 1;
                !(ready[at - 1] || peer.has_more) || peer.receive(place.records, &mut bytes)
            });
            if has_room && ready[at] {
                if peers.len() >= CONNECTIONS_MAX {
                    close_longest_idle(&mut peers, &mut closed, place.records);
                }
                accept(&self.listener, greeting.as_ref(), &mut peers);
            }
            closed.tell(place.records);
            if let Some(greeting) = &mut greeting {
                for greeted in greeting.receiver.try_iter() {
                    match greeted.and_then(Peer::new) {
                        Ok(peer) => peers.push(peer),
                        Err(error) => greeting.failures.note(error.to_string()),
                    }
                }
                greeting.failures.tell(place.records);
            }
        }
        for mut peer in peers {
            while peer.receive(place.records, &mut bytes) {
                if !peer.has_more && !wait_at_most(&[peer.stream.as_fd()], PATIENCE)?[0] {
                    peer.frames.finish(|frame| write(place.records, &frame));
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Ends the connection that has sent nothing for the longest time; what it began to send is taken.
fn close_longest_idle(peers: &mut Vec<Peer>, closed: &mut EndedConnections, records: InputRecords) {
    let Some((at, time)) = longest_idle(peers) else { return };
    let mut peer = peers.swap_remove(at);
    peer.frames.finish(|frame| write(records, &frame));
    closed.note(format!("it had sent nothing for {:.1} s", time.as_secs_f64()));
}

/// Takes a connection.
fn accept(listener: &TcpListener, greeting: Option<&Greeting>, peers: &mut Vec<Peer>) {
    let taken = listener.accept().and_then(|(stream, _)| match greeting {
        Some(greeting) => greeting.begin(stream),
        None => Peer::new(SocketStream::tcp(stream)).map(|peer| peers.push(peer)),
    });
    // Too many descriptors or threads: the next round tries again.
    if taken.is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock) {
        std::thread::sleep(PATIENCE);
    }
}
