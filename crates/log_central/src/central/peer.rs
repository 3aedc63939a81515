//! One connection: the handshake, then frames until it ends.

use std::io::{self, Write as _};
use std::time::Duration;

use crate::central::answer;
use crate::central::newcomers::Newcomer;
use crate::central::recordings::RecordingsTaken;
use crate::central::shared::Shared;
use connection::{Keepalive, Peer, ServerTls, SocketStream, Wait};
use log_protocol::bytes::ByteCursor;
use log_protocol::clock;
use log_protocol::frame::{self, FrameKind, Head, StreamMark};
use log_protocol::handshake::{self, FrameReader, HandshakeError, Hello, PeerRole};
use log_protocol::levels::LevelOrder;
use log_protocol::{GapReason, ProcessId, ProcessInfo, StreamInfo};
use log_store::remote::RemoteQuery;

/// How long a handshake may take, TLS's and ours together.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a frame may take from its first byte to its last.
const FRAME: Duration = Duration::from_secs(60);
/// How long a peer may leave what is written to it unread.
const WRITE: Duration = Duration::from_secs(20);

/// A client that has come, and has shown nothing yet.
pub(super) struct Arrival {
    pub(super) connection: SocketStream,
    /// What it must speak, if anything.
    pub(super) tls: Option<ServerTls>,
    pub(super) from: Peer,
    /// Held until it has shown who it is, or has failed to.
    pub(super) newcomer: Newcomer,
}

/// Serves a connection to its end.
pub(super) fn run(shared: &Shared, arrival: Arrival) {
    let (from, newcomer) = (arrival.from, arrival.newcomer);
    let is_known = is_known(shared, &from, arrival.tls.as_ref());
    let greeted = greet(shared, arrival.connection, arrival.tls.as_ref());
    let made_way = newcomer.made_way();
    drop(newcomer);
    match greeted {
        Err(_) if made_way => {}
        Err(error) => shared.complain(&format!("connection of {from}: {error}")),
        Ok((mut reader, writer, Hello { role, proxy, .. })) => {
            let number = shared.lock().writers.add(writer, role == PeerRole::Proxy);
            if role == PeerRole::Proxy {
                shared.kept.tell(|levels| shared.tell_levels(number, levels));
            }
            let who = PeerPowers { number, role, id: proxy, sets_levels: is_known };
            let why = match serve(shared, &mut reader, who) {
                Ok(Served::Refused(why)) => Some(why),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(error.to_string()),
                // Whatever else ends it, the peer connects again and begins at its marks.
                _ => None,
            };
            if let Some(why) = why {
                shared.complain(&format!("connection of {from}: {why}"));
                refuse(shared, number, &why);
            }
            reader.connection().shut_down();
            shared.lock().writers.remove(number);
        }
    }
}

/// What a peer that was greeted is and may do.
#[derive(Clone, Copy)]
struct PeerPowers {
    number: u64,
    role: PeerRole,
    id: [u8; 16],
    sets_levels: bool,
}

/// Whether whoever passes the handshake is more than somebody on a network: it knows a secret, has a
/// certificate, or the rights of a socket file.
fn is_known(shared: &Shared, from: &Peer, tls: Option<&ServerTls>) -> bool {
    shared.settings.secret.is_some()
        || matches!(from, Peer::User(_))
        || tls.is_some_and(ServerTls::wants_client_certificate)
}

type Greeted = (FrameReader, SocketStream, Hello);

fn greet(
    shared: &Shared,
    connection: SocketStream,
    tls: Option<&ServerTls>,
) -> Result<Greeted, HandshakeError> {
    let until = clock::now() + HANDSHAKE;
    connection.keep_alive(&Keepalive::default())?;
    let mut connection = connection.secured(tls, HANDSHAKE)?.polling()?;
    connection.set_wait(Wait::Until(until));
    let mut writer = connection.clone();
    let mut reader = FrameReader::new(connection);
    let secret = shared.settings.secret.as_deref();
    let hello = handshake::serve(&mut reader, &mut writer, secret, shared.store)?;
    reader.set_frame_wait(FRAME);
    writer.set_wait(Wait::For(WRITE));
    Ok((reader, writer, hello))
}

/// What serving a frame led to.
pub(super) enum Served {
    /// The next may come.
    Next,
    /// The peer is sent away.
    Refused(String),
}

fn serve(shared: &Shared, reader: &mut FrameReader, who: PeerPowers) -> io::Result<Served> {
    if who.role == PeerRole::Recorder {
        return take_recordings(shared, reader, who);
    }
    let mut body = shared.spare();
    while let Some(head) = reader.read(&mut body)? {
        if shared.is_stopping() {
            break;
        }
        let served = match who.role {
            PeerRole::Proxy => handle_frame(shared, who.number, &head, &mut body)?,
            PeerRole::Admin | PeerRole::Recorder => reply(shared, reader, who, &head, &body)?,
        };
        if let Served::Refused(_) = served {
            return Ok(served);
        }
    }
    Ok(Served::Next)
}

/// Takes recordings of other hosts.
fn take_recordings(
    shared: &Shared,
    reader: &mut FrameReader,
    who: PeerPowers,
) -> io::Result<Served> {
    let Some(folder) = &shared.recordings else {
        return Ok(Served::Refused("this server takes no recordings (--recordings)".to_owned()));
    };
    let end_other = |number: u64| {
        let other = shared.lock().writers.get(number);
        other.into_iter().for_each(|other| other.shut_down());
    };
    let mut taken = RecordingsTaken::new(folder, (who.number, who.id), &end_other);
    let mut body = Vec::new();
    while let Some(head) = reader.read(&mut body)? {
        if shared.is_stopping() {
            break;
        }
        match taken.handle_frame(&head, &body) {
            Ok(Some((head, answer))) => shared.write_to(who.number, head, &answer)?,
            Ok(None) => {}
            Err(why) => return Ok(Served::Refused(why)),
        }
    }
    Ok(Served::Next)
}

/// What is no part of what a peer of this role says.
fn unexpected(head: &Head) -> Served {
    Served::Refused(format!("a frame of kind {} is not expected here", head.kind as u8))
}

/// Takes a frame of a proxy.
pub(super) fn handle_frame(
    shared: &Shared,
    peer: u64,
    head: &Head,
    body: &mut Vec<u8>,
) -> io::Result<Served> {
    let done = match head.kind {
        FrameKind::Records => shared.add_records(peer, head, std::mem::take(body)).map(|unused| {
            *body = unused.unwrap_or_else(|| shared.spare());
        }),
        FrameKind::Dictionary => shared.add_dictionary(peer, head, body),
        FrameKind::Process => ProcessInfo::decode(&mut ByteCursor::new(body))
            .map_or(Ok(()), |info| shared.add_process(info)),
        FrameKind::Stream => StreamInfo::decode(&mut ByteCursor::new(body))
            .map_or(Ok(()), |info| shared.add_stream(info)),
        FrameKind::Lost => shared.add_lost(peer, head, GapReason::of_body(body)),
        FrameKind::Ask => answer_marks(shared, peer, body).map(Ok)?,
        FrameKind::Held => {
            let ids = body.chunks_exact(16).filter_map(|id| id.try_into().ok());
            let ended: Vec<ProcessId> = ids.map(ProcessId).collect();
            shared.end(&ended);
            Ok(())
        }
        // The answer of a proxy goes to who asked: its number came with the question.
        FrameKind::LevelSet => {
            // Who asked may be gone.
            let _ = shared.write_to(head.first, *head, &[]);
            Ok(())
        }
        _ => return Ok(unexpected(head)),
    };
    let is_data = matches!(head.kind, FrameKind::Records | FrameKind::Dictionary | FrameKind::Lost);
    if is_data && done.is_ok() && shared.settings.acks_on_receipt {
        let mut mark = Vec::with_capacity(frame::MARK_BYTES);
        let next = shared.admitted(head.stream);
        frame::put_mark(&mut mark, StreamMark { stream: head.stream, next });
        shared.write_to(peer, Head::plain(FrameKind::Ack), &mark)?;
    }
    Ok(match done {
        Ok(()) => Served::Next,
        Err(refusal) => Served::Refused(refusal.text().to_owned()),
    })
}

/// Replies to a client that asks or sets.
fn reply(
    shared: &Shared,
    reader: &FrameReader,
    who: PeerPowers,
    head: &Head,
    body: &[u8],
) -> io::Result<Served> {
    let peer = who.number;
    match head.kind {
        FrameKind::Status => {
            let text = shared.counters().to_json();
            shared.write_to(peer, Head::plain(FrameKind::StatusText), text.as_bytes())?;
        }
        FrameKind::SetLevel if !who.sets_levels => {
            let why =
                "levels are set over a network only with a secret or a certificate of the client";
            return Ok(Served::Refused(why.to_owned()));
        }
        FrameKind::SetLevel => {
            if let Some(order) = LevelOrder::decode(body).filter(LevelOrder::is_to_last)
                && let Err(why) = shared.kept.note(&order, |levels| shared.spread_levels(levels))
            {
                return Ok(Served::Refused(why));
            }
            shared.spread_level(peer, body);
        }
        FrameKind::Query => {
            let query = match RemoteQuery::decode(body) {
                Ok(query) => query,
                Err(why) => return Ok(Served::Refused(why)),
            };
            match shared.within_queries(|| answer::answer(shared, reader, peer, &query)) {
                Some(done) => done?,
                None => {
                    let why = "this server answers as many questions as it may: try again later";
                    return Ok(Served::Refused(why.to_owned()));
                }
            }
        }
        _ => return Ok(unexpected(head)),
    }
    Ok(Served::Next)
}

fn refuse(shared: &Shared, peer: u64, why: &str) {
    let writer = shared.lock().writers.get(peer);
    if let Some(writer) = writer {
        // A peer that is gone need not learn it.
        let _ = handshake::refuse(&mut writer.lock(), why);
    }
}

/// Answers which marks streams have.
fn answer_marks(shared: &Shared, peer: u64, body: &[u8]) -> io::Result<()> {
    let mut answer = Vec::with_capacity(body.len());
    for asked in frame::marks(body) {
        let next = shared.committed(asked.stream);
        frame::put_mark(&mut answer, StreamMark { stream: asked.stream, next });
    }
    shared.write_to(peer, Head::plain(FrameKind::Marks), &answer)
}

impl Shared {
    /// Writes frames to a connection, waiting if it must.
    pub(super) fn write_bytes(&self, peer: u64, frames: &[u8]) -> io::Result<()> {
        let writer = self.lock().writers.get(peer);
        let Some(writer) = writer else { return Ok(()) };
        let mut connection = writer.lock();
        let sent = connection.write_all(frames).and_then(|()| connection.flush());
        sent.inspect_err(|_| writer.shut_down())
    }

    /// Writes a frame to a connection, waiting if it must.
    pub(super) fn write_to(&self, peer: u64, head: Head, body: &[u8]) -> io::Result<()> {
        let writer = self.lock().writers.get(peer);
        let Some(writer) = writer else { return Ok(()) };
        let sent = handshake::send(&mut *writer.lock(), head, body);
        sent.inspect_err(|_| writer.shut_down())
    }

    /// Tells a proxy all levels that last.
    fn tell_levels(&self, proxy: u64, levels: &str) {
        // A proxy that is gone is told when it comes back.
        let _ = self.write_to(proxy, Head::plain(FrameKind::KeptLevels), levels.as_bytes());
    }

    /// Tells all proxies all levels that last.
    fn spread_levels(&self, levels: &str) {
        let proxies: Vec<u64> = self.lock().writers.proxies();
        proxies.into_iter().for_each(|proxy| self.tell_levels(proxy, levels));
    }

    /// Passes a level on to all proxies; how many they are is the answer.
    fn spread_level(&self, peer: u64, body: &[u8]) {
        let proxies: Vec<u64> = self.lock().writers.proxies();
        for proxy in &proxies {
            let head = Head { first: peer, ..Head::plain(FrameKind::SetLevel) };
            // A proxy that is gone sets no levels.
            let _ = self.write_to(*proxy, head, body);
        }
        let head =
            Head { next: 1, count: proxies.len() as u32, ..Head::plain(FrameKind::LevelSet) };
        let _ = self.write_to(peer, head, &[]);
    }
}
