//! How a connection begins: the server's challenge, the client's hello, the server's welcome.

use std::io::{self, BufReader, Read as _, Write};
use std::time::Duration;

use connection::ClientTls;

use crate::auth::{self, PROOF_BYTES, Side};
use crate::bytes::{ByteCursor, put_short};
use crate::clock;
use crate::frame::{self, FrameKind, HEAD_BYTES, Head};
use connection::Address;
use connection::{SocketStream, Wait};

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// Longest body of a client that has proved nothing yet.
const HELLO_BYTES_MAX: u32 = 80 << 10;

/// What a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum PeerRole {
    /// Sends records.
    Proxy = 1,
    /// Asks and sets levels.
    Admin = 2,
    /// Sends recordings.
    Recorder = 3,
}

/// The host and program that a client says it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// What it is.
    pub role: PeerRole,
    /// The random number of a proxy's spool, or of a folder of recordings.
    pub proxy: [u8; 16],
    /// The name of its host.
    pub host: String,
}

/// Why a connection did not come about.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The connection broke.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The peer speaks another protocol.
    #[error("the other side is no whit log server")]
    Protocol,
    /// The peer speaks another version of it.
    #[error("the other side speaks version {0} of the protocol, this program version {VERSION}")]
    Version(u32),
    /// The peer takes the connection and says nothing.
    #[error("the other side does not answer: if it expects TLS, put tls: in front of the address")]
    Silent,
    /// The peer does not know the secret.
    #[error("the other side does not know our secret: is it the same file on both sides?")]
    Secret,
    /// The server wants a secret.
    #[error("the server wants a secret, and we have none")]
    NoSecret,
    /// The server refused, and said why.
    #[error("refused: {0}")]
    Refused(String),
}

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader {
    from: BufReader<SocketStream>,
    frame_wait: Option<Duration>,
    body_bytes_max: u32,
    store: [u8; 16],
}

impl FrameReader {
    /// Frames of a connection.
    #[must_use]
    pub fn new(connection: SocketStream) -> Self {
        let from = BufReader::with_capacity(64 << 10, connection);
        FrameReader {
            from,
            frame_wait: None,
            body_bytes_max: frame::BODY_BYTES_MAX as u32,
            store: [0; 16],
        }
    }

    /// Waits for a frame for ever, but not for its end: a peer that begins one ends it in time.
    pub fn set_frame_wait(&mut self, time: Duration) {
        self.frame_wait = Some(time);
        self.from.get_mut().set_wait(Wait::Forever);
    }

    /// The next frame, its body in `body`; `None` at an orderly end.
    ///
    /// # Errors
    /// If the connection breaks, or what comes is no frame.
    pub fn read(&mut self, body: &mut Vec<u8>) -> io::Result<Option<Head>> {
        let mut bytes = [0; HEAD_BYTES];
        if self.from.read(&mut bytes[..1])? == 0 {
            return Ok(None);
        }
        if let Some(time) = self.frame_wait
            && self.from.buffer().len() < HEAD_BYTES
        {
            self.from.get_mut().set_wait(Wait::Until(clock::now() + time));
        }
        let head = self.rest(&mut bytes, body);
        if self.frame_wait.is_some() {
            self.from.get_mut().set_wait(Wait::Forever);
        }
        head.map(Some)
    }

    /// A frame from its second byte on.
    fn rest(&mut self, bytes: &mut [u8; HEAD_BYTES], body: &mut Vec<u8>) -> io::Result<Head> {
        self.from.read_exact(&mut bytes[1..])?;
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let head = Head::decode(bytes).map_err(|error| invalid(error.to_string()))?;
        if head.body_bytes > self.body_bytes_max {
            return Err(invalid(format!("a frame of {} bytes at the wrong time", head.body_bytes)));
        }
        body.resize(head.body_bytes as usize, 0);
        self.from.read_exact(body)?;
        if !head.is_body(body) {
            return Err(invalid("the checksum of a frame is wrong".to_owned()));
        }
        Ok(head)
    }

    /// The random number of the store of a server that was greeted.
    #[must_use]
    pub fn store(&self) -> [u8; 16] {
        self.store
    }

    /// The connection.
    #[must_use]
    pub fn connection(&self) -> &SocketStream {
        self.from.get_ref()
    }

    /// The connection, and what was read of the next frames.
    #[must_use]
    pub fn into_parts(self) -> (SocketStream, Vec<u8>) {
        let rest = self.from.buffer().to_vec();
        (self.from.into_inner(), rest)
    }
}

/// Writes a frame.
///
/// # Errors
/// If the connection breaks.
pub fn send(to: &mut impl Write, head: Head, body: &[u8]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
    frame::put(&mut bytes, head, body);
    to.write_all(&bytes)?;
    to.flush()
}

/// The server's side.
///
/// # Errors
/// If the client is none, or does not know the secret.
pub fn serve(
    reader: &mut FrameReader,
    writer: &mut SocketStream,
    secret: Option<&[u8]>,
    store: [u8; 16],
) -> Result<Hello, HandshakeError> {
    let nonce: [u8; PROOF_BYTES] = auth::random()?;
    let mut body = VERSION.to_le_bytes().to_vec();
    body.extend_from_slice(&u32::from(secret.is_some()).to_le_bytes());
    body.extend_from_slice(&nonce);
    send(writer, Head::plain(FrameKind::Challenge), &body)?;
    reader.body_bytes_max = HELLO_BYTES_MAX;
    let head = reader.read(&mut body)?;
    reader.body_bytes_max = frame::BODY_BYTES_MAX as u32;
    if head.is_none_or(|head| head.kind != FrameKind::Hello) {
        return Err(HandshakeError::Protocol);
    }
    // What a later version says may be longer; its number comes first all the same.
    if let Some(version) = ByteCursor::new(&body).u32()
        && version != VERSION
    {
        let why = HandshakeError::Version(version);
        refuse(
            writer,
            &format!("the server speaks version {VERSION} of the protocol, not {version}"),
        )?;
        return Err(why);
    }
    let Some((hello, client_nonce, proof)) = read_hello(&body) else {
        return Err(HandshakeError::Protocol);
    };
    if !auth::is_proof(secret, Side::Client, &nonce, &client_nonce, &proof) {
        refuse(writer, "the secret is wrong: is it the same file on both sides?")?;
        return Err(HandshakeError::Secret);
    }
    let mut welcome = auth::proof(secret, Side::Server, &nonce, &client_nonce).to_vec();
    welcome.extend_from_slice(&store);
    send(writer, Head::plain(FrameKind::Welcome), &welcome)?;
    Ok(hello)
}

/// Says why the connection ends.
///
/// # Errors
/// If the connection breaks.
pub fn refuse(writer: &mut SocketStream, why: &str) -> io::Result<()> {
    send(writer, Head::plain(FrameKind::Refused), why.as_bytes())?;
    writer.linger();
    Ok(())
}

type HelloParts = (Hello, [u8; PROOF_BYTES], [u8; PROOF_BYTES]);

fn read_hello(body: &[u8]) -> Option<HelloParts> {
    let mut from = ByteCursor::new(body);
    from.u32()?;
    let role = match from.u32()? {
        1 => PeerRole::Proxy,
        2 => PeerRole::Admin,
        3 => PeerRole::Recorder,
        _ => return None,
    };
    let proxy = from.array()?;
    let nonce = from.array()?;
    let proof = from.array()?;
    Some((Hello { role, proxy, host: from.short_text()? }, nonce, proof))
}

/// Connects to a server and greets it, within the time; gives both ways of the connection, which
/// wait as long for each frame.
///
/// # Errors
/// If the server is none, refuses, does not know the secret, or does not answer: it may expect another
/// kind of connection.
pub fn greet_server(
    address: &Address,
    timeout: Duration,
    tls: Option<&ClientTls>,
    secret: Option<&[u8]>,
    hello: &Hello,
) -> Result<(FrameReader, SocketStream), HandshakeError> {
    let until = clock::now() + timeout;
    let mut connection = address.connect(timeout, tls)?;
    connection.set_wait(Wait::Until(until));
    let mut writer = connection.clone();
    let mut reader = FrameReader::new(connection);
    match greet(&mut reader, &mut writer, secret, hello) {
        Err(HandshakeError::Io(error))
            if error.kind() == io::ErrorKind::TimedOut
                && matches!(address, Address::Network { is_encrypted: false, .. }) =>
        {
            return Err(HandshakeError::Silent);
        }
        greeted => reader.store = greeted?,
    }
    reader.from.get_mut().set_wait(Wait::For(timeout));
    writer.set_wait(Wait::For(timeout));
    Ok((reader, writer))
}

fn refused(body: &[u8]) -> HandshakeError {
    HandshakeError::Refused(String::from_utf8_lossy(body).into_owned())
}

/// The client's side; gives the random number of the store.
///
/// # Errors
/// If the server is none, refuses, or does not know the secret.
pub fn greet(
    reader: &mut FrameReader,
    writer: &mut SocketStream,
    secret: Option<&[u8]>,
    hello: &Hello,
) -> Result<[u8; 16], HandshakeError> {
    let mut body = Vec::new();
    match reader.read(&mut body)?.map(|head| head.kind) {
        Some(FrameKind::Challenge) => {}
        Some(FrameKind::Refused) => return Err(refused(&body)),
        _ => return Err(HandshakeError::Protocol),
    }
    let mut from = ByteCursor::new(&body);
    let (version, wants_secret) = (from.u32(), from.u32());
    let nonce: Option<[u8; PROOF_BYTES]> = from.array();
    match version {
        Some(VERSION) => {}
        Some(other) => return Err(HandshakeError::Version(other)),
        None => return Err(HandshakeError::Protocol),
    }
    let Some(nonce) = nonce else { return Err(HandshakeError::Protocol) };
    if wants_secret == Some(1) && secret.is_none() {
        return Err(HandshakeError::NoSecret);
    }
    let own: [u8; PROOF_BYTES] = auth::random()?;
    let mut answer = VERSION.to_le_bytes().to_vec();
    answer.extend_from_slice(&(hello.role as u32).to_le_bytes());
    answer.extend_from_slice(&hello.proxy);
    answer.extend_from_slice(&own);
    answer.extend_from_slice(&auth::proof(secret, Side::Client, &nonce, &own));
    put_short(&mut answer, hello.host.as_bytes());
    send(writer, Head::plain(FrameKind::Hello), &answer)?;
    match reader.read(&mut body)?.map(|head| head.kind) {
        Some(FrameKind::Welcome) => {}
        Some(FrameKind::Refused) => return Err(refused(&body)),
        _ => return Err(HandshakeError::Protocol),
    }
    let mut from = ByteCursor::new(&body);
    let (proof, store) = (from.take(PROOF_BYTES), from.array());
    let (Some(proof), Some(store)) = (proof, store) else { return Err(HandshakeError::Protocol) };
    if !auth::is_proof(secret, Side::Server, &nonce, &own, proof) {
        return Err(HandshakeError::Secret);
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_said_once() {
        let error = HandshakeError::from(io::Error::from_raw_os_error(2));
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
        // Whoever shows causes too would say it again.
        assert!(std::error::Error::source(&error).is_none());
    }
}
