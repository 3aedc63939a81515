//! The connection of a proxy to the central server.  Nothing here waits: connecting is done by a
//! thread of its own, and sockets take and give what they can at once.

use std::io::{self, Read as _};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use connection::ClientTls;

use super::ProxyWaker;
use crate::proxy::ProxySettings;
use connection::Address;
use connection::{SocketStream, Wait};
use log_protocol::clock;
use log_protocol::frame::{FrameKind, HEAD_BYTES, Head};
use log_protocol::handshake::{HandshakeError, Hello, greet_server};

/// How long connecting may take, and the handshake.
const CONNECT: Duration = Duration::from_secs(5);
/// Pauses after failures: doubled up to the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// See [`PAUSE_FIRST`].
const PAUSE_LONGEST: Duration = Duration::from_secs(2);
/// Bytes that are sent at once.
const PIECE: usize = 256 << 10;
/// Bytes that are received at once: more comes with the next round.
const RECEIVE_BYTES_MAX: usize = 4 << 20;
/// Answers that may wait for a server that does not read them.
const ANSWERS_BYTES_MAX: usize = 8 << 20;

type Connected = Result<(SocketStream, Vec<u8>, [u8; 16]), HandshakeError>;

/// What a link is doing.
enum LinkState {
    /// Not before this time.
    Waiting(Instant),
    Connecting(Receiver<Connected>),
    Open(Box<OpenLink>),
}

/// A connection that works.
pub(super) struct OpenLink {
    connection: SocketStream,
    pub(super) out: Vec<u8>,
    sent: usize,
    input: Vec<u8>,
}

/// A link.
pub(super) struct Link {
    /// `None`: there is none, and this never connects.
    address: Option<Address>,
    secret: Option<Vec<u8>>,
    tls: Option<ClientTls>,
    hello: Hello,
    state: LinkState,
    pause: Duration,
    /// Told when connecting is over.
    pub(super) waker: Option<ProxyWaker>,
    /// Why it is not connected.
    pub(super) failure: Option<String>,
    /// How often connecting or a connection has failed since the server last said something.
    pub(super) failures: u32,
    /// Connections that came about.
    pub(super) connections: u64,
    /// The random number of the store of the server that it was connected to last.
    pub(super) store: [u8; 16],
}

impl Link {
    pub(super) fn new(settings: &ProxySettings, hello: Hello) -> Self {
        let state = LinkState::Waiting(clock::now());
        let (pause, failure, connections) = (PAUSE_FIRST, None, 0);
        let (address, secret) = (settings.central.clone(), settings.secret.clone());
        let tls = settings.tls.clone();
        Link {
            address,
            secret,
            tls,
            hello,
            state,
            pause,
            waker: None,
            failure,
            failures: 0,
            connections,
            store: [0; 16],
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, LinkState::Open(_))
    }

    pub(super) fn open(&mut self) -> Option<&mut OpenLink> {
        if let LinkState::Open(open) = &mut self.state { Some(open) } else { None }
    }

    /// How long until it is time to connect again; `None`: that is not what it waits for.
    pub(super) fn until_next(&self) -> Option<Duration> {
        let LinkState::Waiting(until) = &self.state else { return None };
        self.address.as_ref()?;
        Some(until.saturating_duration_since(clock::now()))
    }

    /// The connection, to wait for.
    pub(super) fn connection(&self) -> Option<&SocketStream> {
        if let LinkState::Open(open) = &self.state { Some(&open.connection) } else { None }
    }

    /// Connects if it is time to; whether it has just been connected.
    pub(super) fn step(&mut self) -> bool {
        match &self.state {
            LinkState::Open(_) => false,
            LinkState::Waiting(until) => {
                if let Some(address) = &self.address
                    && clock::now() >= *until
                {
                    self.state = self.begin(address.clone());
                }
                false
            }
            LinkState::Connecting(receiver) => match receiver.try_recv() {
                Err(TryRecvError::Empty) => false,
                Err(TryRecvError::Disconnected) => {
                    self.fail("connecting failed".to_owned());
                    false
                }
                Ok(Err(error)) => {
                    self.fail(error.to_string());
                    false
                }
                Ok(Ok((connection, input, store))) => {
                    self.store = store;
                    let (out, sent) = (Vec::with_capacity(2 * PIECE), 0);
                    self.state =
                        LinkState::Open(Box::new(OpenLink { connection, out, sent, input }));
                    self.pause = PAUSE_FIRST;
                    self.failure = None;
                    self.connections += 1;
                    true
                }
            },
        }
    }

    fn begin(&self, address: Address) -> LinkState {
        let (sender, receiver) = channel();
        let secret = self.secret.clone();
        let (hello, tls, waker) = (self.hello.clone(), self.tls.clone(), self.waker.clone());
        let connecting = move || {
            // A proxy that ends meanwhile does not wait for it.
            let _ = sender.send(connect(&address, secret.as_deref(), tls.as_ref(), &hello));
            waker.iter().for_each(ProxyWaker::wake);
        };
        let started = std::thread::Builder::new().name("log-connect".to_owned()).spawn(connecting);
        match started {
            Ok(_) => LinkState::Connecting(receiver),
            Err(_) => LinkState::Waiting(clock::now() + PAUSE_LONGEST),
        }
    }

    /// Gives the connection up, for a while.
    pub(super) fn fail(&mut self, why: String) {
        if let LinkState::Open(open) = &self.state {
            open.connection.shut_down();
        }
        self.failure = Some(why);
        self.failures = self.failures.saturating_add(1);
        self.state = LinkState::Waiting(clock::now() + self.pause);
        self.pause = (self.pause * 2).min(PAUSE_LONGEST);
    }
}

fn connect(
    address: &Address,
    secret: Option<&[u8]>,
    tls: Option<&ClientTls>,
    hello: &Hello,
) -> Connected {
    let (reader, _) = greet_server(address, CONNECT, tls, secret, hello)?;
    let store = reader.store();
    let (mut connection, input) = reader.into_parts();
    connection.set_wait(Wait::Never);
    Ok((connection, input, store))
}

impl OpenLink {
    /// Whether all was sent.
    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.out.len() && self.connection.is_flushed()
    }

    /// Sends what it can; whether anything went.
    pub(super) fn send(&mut self) -> io::Result<bool> {
        let mut any = false;
        self.connection.flush_now()?;
        while self.sent < self.out.len() {
            match self.connection.write_now(&self.out[self.sent..]) {
                Ok(Some(count)) => self.sent += count,
                Ok(None) => return Ok(any),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            any = true;
        }
        self.out.clear();
        self.sent = 0;
        Ok(any)
    }

    /// Takes what has come, and calls `each` with every frame.
    pub(super) fn receive(&mut self, mut each: impl FnMut(&Head, &[u8])) -> io::Result<bool> {
        let mut piece = [0; 16 << 10];
        let mut any = false;
        if self.out.len() - self.sent > ANSWERS_BYTES_MAX {
            let what = "the central server asks and does not read the answers";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        // A frame has at most 1 MiB.
        while self.input.len() < RECEIVE_BYTES_MAX {
            match self.connection.read(&mut piece) {
                Ok(0) => {
                    let what = "the central server closed the connection";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
                }
                Ok(count) => self.input.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut at = 0;
        while self.input.len() - at >= HEAD_BYTES {
            let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
            let head = Head::decode(&self.input[at..]).map_err(|e| invalid(e.to_string()))?;
            let end = at + HEAD_BYTES + head.body_bytes as usize;
            let Some(body) = self.input.get(at + HEAD_BYTES..end) else { break };
            if !head.is_body(body) {
                return Err(invalid("the checksum of a frame is wrong".to_owned()));
            }
            if head.kind == FrameKind::Refused {
                return Err(io::Error::other(String::from_utf8_lossy(body).into_owned()));
            }
            each(&head, body);
            any = true;
            at = end;
        }
        self.input.drain(..at);
        Ok(any)
    }
}
