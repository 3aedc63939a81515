//! The client protocol of NATS (<https://docs.nats.io/reference/reference-protocols/nats-protocol>): lines of
//! text over TCP or TLS, and questions to subjects that begin with `$JS.API`, which JetStream answers.
//!
//! A server greets in the clear (`INFO`); TLS begins behind that, and everything else is said by TLS.
//! A connection has one subject for answers, whose last word is the number of the question.  A message
//! has a bound, and so has each wait for one, whatever else the server says meanwhile.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use connection::{Address, ClientTls, SocketStream, Wait};
use serde_json::{Value, json};
use text::encoding::hex;

use crate::clock;

/// The usual port.
pub const PORT: u16 = 4222;

/// The longest line that a server may say: INFO has the addresses of a cluster.
const LINE_BYTES_MAX: usize = 1 << 16;

/// The longest message that is sent, whatever the server takes.
const PAYLOAD_BYTES_MAX: usize = 8 << 20;

/// The longest message that is read: an acknowledgement, or the last sample, which is in base64.
const MESSAGE_BYTES_MAX: usize = 12 << 20;

/// What it takes to get into a server.
#[derive(Clone)]
pub struct NatsAccess {
    /// What a connection, a question or an answer may take.
    pub timeout: Duration,
    /// The authorities that the server is checked by, for addresses with TLS.
    pub tls: Option<ClientTls>,
    /// The token that is said to the server.
    pub token: Option<String>,
}

/// A server, and what it takes to get in.
#[derive(Clone)]
pub struct NatsEndpoint {
    /// Where it is.
    pub address: Address,
    access: NatsAccess,
}

impl std::fmt::Debug for NatsEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The token is a secret.
        f.debug_struct("NatsEndpoint").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct NatsConnection {
    stream: SocketStream,
    /// What was read and not yet taken.
    read: Vec<u8>,
    /// Most bytes of a message.
    pub payload_max: usize,
    /// The beginning of the subjects of answers.
    inbox: String,
    /// The number of the next question.
    next: u64,
    /// What a wait for a message may take.
    timeout: Duration,
}

/// What a server says.
#[derive(Debug)]
pub struct NatsMessage {
    /// The number of the question that it answers; none of a message of a stream.
    pub question: Option<u64>,
    /// Where it is answered, if it wants that.
    pub reply: Option<String>,
    /// The status in the head of what is no message of a program: 503 if nobody listens to the subject.
    pub status: Option<u32>,
    /// The number of a message of a stream that was asked for.
    pub sequence: Option<u64>,
    /// What it says.
    pub payload: Vec<u8>,
}

/// Why a server does not do what is asked.
#[derive(Debug)]
pub enum NatsRefusal {
    /// The connection, or the server for now.
    Later(io::Error),
    /// For good.
    Never(String),
}

impl From<io::Error> for NatsRefusal {
    fn from(error: io::Error) -> Self {
        NatsRefusal::Later(error)
    }
}

impl NatsEndpoint {
    /// A server at an address; nothing is connected yet.
    #[must_use]
    pub fn new(address: &Address, access: NatsAccess) -> Self {
        NatsEndpoint { address: address.clone(), access }
    }

    /// Connects and says who is there.
    ///
    /// # Errors
    /// If the server cannot be reached, speaks no NATS or none with headers, or wants another token or
    /// TLS.
    pub fn open(&self) -> io::Result<NatsConnection> {
        // The greeting is in the clear.
        let clear = match self.address.clone() {
            Address::Network { host, port, .. } => {
                Address::Network { host, port, is_encrypted: false }
            }
            path => path,
        };
        let mut stream = clear.connect(self.access.timeout, None)?;
        stream.set_wait(Wait::For(self.access.timeout));
        let inbox = format!("_INBOX.{}", hex(&connection::random::<12>()?));
        let (read, payload_max) = (Vec::new(), 0);
        let timeout = self.access.timeout;
        let mut connection = NatsConnection { stream, read, payload_max, inbox, next: 0, timeout };
        let info = connection.line(connection.deadline())?;
        let info: Value = info
            .strip_prefix("INFO ")
            .and_then(|info| serde_json::from_str(info).ok())
            .ok_or_else(|| io::Error::other("it does not speak the protocol of NATS"))?;
        if info["headers"] != true {
            return Err(io::Error::other("it is older than NATS 2.2: it has no headers"));
        }
        connection = self.encrypted(connection, &info)?;
        let payload_max = info["max_payload"].as_u64().unwrap_or(1 << 20);
        let payload_max = usize::try_from(payload_max).unwrap_or(usize::MAX);
        connection.payload_max = payload_max.min(PAYLOAD_BYTES_MAX);
        let mut hello = json!({
            "verbose": false, "pedantic": false, "headers": true, "no_responders": true,
            "protocol": 1, "lang": "rust", "name": "whit", "version": env!("CARGO_PKG_VERSION"),
            "tls_required": self.address.is_encrypted(),
        });
        if let Some(token) = &self.access.token {
            hello["auth_token"] = token.as_str().into();
        }
        let inbox = &connection.inbox;
        let greeting = format!("CONNECT {hello}\r\nSUB {inbox}.* 1\r\nPING\r\n");
        connection.stream.write_all(greeting.as_bytes())?;
        // A wrong token is told before.
        let deadline = connection.deadline();
        while connection.line(deadline)? != "PONG" {}
        Ok(connection)
    }

    /// The same connection behind TLS, if the address says so.
    fn encrypted(&self, connection: NatsConnection, info: &Value) -> io::Result<NatsConnection> {
        let host = match &self.address {
            Address::Network { host, is_encrypted: true, .. } => host,
            _ if info["tls_required"] == true => {
                return Err(io::Error::other("it wants TLS: write tls://HOST:PORT"));
            }
            _ => return Ok(connection),
        };
        if info["tls_required"] != true && info["tls_available"] != true {
            return Err(io::Error::other("it speaks no TLS: write nats://HOST:PORT"));
        }
        // Whoever is between could put words before those that are encrypted.
        if !connection.read.is_empty() {
            return Err(io::Error::other("it says more than its greeting before TLS"));
        }
        let tls = self.access.tls.as_ref().ok_or_else(|| {
            io::Error::other("TLS needs the authorities (CA) of servers: give --ca")
        })?;
        let mut stream = connection.stream.greet_tls(tls, host, self.access.timeout)?.polling()?;
        stream.set_wait(Wait::For(self.access.timeout));
        Ok(NatsConnection { stream, ..connection })
    }
}

impl NatsConnection {
    /// Asks something; the number of the question.  `head` is empty, or ends with an empty line.
    ///
    /// # Errors
    /// If the connection ends.
    pub fn ask(&mut self, subject: &str, head: &str, text: &[u8]) -> io::Result<u64> {
        let question = self.next;
        self.next += 1;
        let reply = format!("{}.{question}", self.inbox);
        let line = match head {
            "" => format!("PUB {subject} {reply} {}\r\n", text.len()),
            head => {
                let (of_head, all) = (head.len(), head.len() + text.len());
                format!("HPUB {subject} {reply} {of_head} {all}\r\n{head}")
            }
        };
        self.stream.write_all(&[line.as_bytes(), text, b"\r\n"].concat())?;
        Ok(question)
    }

    /// The answer of JetStream to one question.
    ///
    /// # Errors
    /// If the connection ends, no answer comes in time, or there is no JetStream.
    pub fn asked(&mut self, subject: &str, parameters: &Value) -> Result<Value, NatsRefusal> {
        let answer = self.answer(subject, "", parameters.to_string().as_bytes())?;
        if answer.is_lost() {
            let why = "the server has no JetStream: start it with -js";
            return Err(NatsRefusal::Later(io::Error::other(why)));
        }
        Ok(serde_json::from_slice(&answer.payload).map_err(io::Error::from)?)
    }

    /// The answer to one question, among those to earlier ones.
    ///
    /// # Errors
    /// If the connection ends, or no answer comes in time.
    pub fn answer(&mut self, subject: &str, head: &str, text: &[u8]) -> io::Result<NatsMessage> {
        let question = self.ask(subject, head, text)?;
        self.message(|message| message.question == Some(question))
    }

    /// The next message that is waited for: others are passed over, and give the server no more time.
    ///
    /// # Errors
    /// If none comes in time, or the connection ends.
    pub fn message(
        &mut self,
        mut is_awaited: impl FnMut(&NatsMessage) -> bool,
    ) -> io::Result<NatsMessage> {
        let deadline = self.deadline();
        loop {
            let message = self.any_message(deadline)?;
            if is_awaited(&message) {
                return Ok(message);
            }
        }
    }

    /// When a wait that begins now has taken too long.
    fn deadline(&self) -> Instant {
        clock::now() + self.timeout
    }

    /// The next message, whatever it is.
    fn any_message(&mut self, deadline: Instant) -> io::Result<NatsMessage> {
        let malformed = || io::Error::other("a message that is none of the protocol of NATS");
        loop {
            let line = self.line(deadline)?;
            let mut words = line.split_ascii_whitespace();
            let has_head = match words.next() {
                Some("MSG") => false,
                Some("HMSG") => true,
                _ => continue,
            };
            // Subject, number of the subscription, where it is answered, size of the head, size of all.
            let words: Vec<&str> = words.collect();
            let subject = words.first().ok_or_else(malformed)?;
            let number =
                subject.strip_prefix(self.inbox.as_str()).and_then(|own| own.strip_prefix('.'));
            let question = number.map(|number| number.parse().map_err(|_| malformed()));
            let sizes = 1 + usize::from(has_head);
            let reply = (words.len() > 2 + sizes).then(|| words[2].to_owned());
            let size = |word: Option<&&str>| -> io::Result<usize> {
                let size = word.and_then(|word| word.parse().ok());
                size.filter(|size| *size <= MESSAGE_BYTES_MAX).ok_or_else(malformed)
            };
            let all = size(words.last())?;
            let of_head = if has_head { size(words.iter().rev().nth(1))? } else { 0 };
            let mut payload = self.bytes(all + 2)?;
            payload.truncate(all);
            if of_head > all {
                return Err(malformed());
            }
            let status = payload[..of_head].strip_prefix(b"NATS/1.0 ");
            let status = status.and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok());
            let status = status.and_then(|text| text.parse().ok());
            let sequence = std::str::from_utf8(&payload[..of_head]).ok().and_then(|head| {
                head.lines()
                    .find_map(|line| line.strip_prefix("Nats-Sequence: "))?
                    .trim()
                    .parse()
                    .ok()
            });
            payload.drain(..of_head);
            return Ok(NatsMessage {
                question: question.transpose()?,
                reply,
                status,
                sequence,
                payload,
            });
        }
    }

    /// The next line of the server that is no PING and no complaint.
    fn line(&mut self, deadline: Instant) -> io::Result<String> {
        loop {
            if clock::now() > deadline {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "it says other things than what it was asked",
                ));
            }
            if let Some(end) = self.read.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if line == "PING" {
                    self.stream.write_all(b"PONG\r\n")?;
                    continue;
                }
                if let Some(why) = line.strip_prefix("-ERR") {
                    return Err(io::Error::other(text::escape::escape(why.trim().as_bytes())));
                }
                return Ok(line);
            }
            if self.read.len() > LINE_BYTES_MAX {
                return Err(io::Error::other("a line without an end"));
            }
            self.more()?;
        }
    }

    /// The next bytes.
    fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        while self.read.len() < count {
            self.more()?;
        }
        Ok(self.read.drain(..count).collect())
    }

    fn more(&mut self) -> io::Result<()> {
        let mut part = [0; 16 << 10];
        match self.stream.read(&mut part)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.read.extend_from_slice(&part[..count]);
                Ok(())
            }
        }
    }
}

/// For fuzz targets: a connection to a server that says these bytes, and its other end, which has to be kept.
/// The first question has the number 0; answers to it go to the subject `_INBOX.f.0`.
///
/// # Errors
/// If there is no socket.
#[doc(hidden)]
pub fn fuzz_connection(bytes: &[u8]) -> io::Result<(NatsConnection, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    // What has no room is not said.
    theirs.set_nonblocking(true)?;
    let _ = (&theirs).write(bytes);
    theirs.shutdown(Shutdown::Write)?;
    let mut stream = SocketStream::unix(ours).polling()?;
    stream.set_wait(Wait::For(Duration::from_secs(1)));
    let (read, inbox) = (Vec::new(), "_INBOX.f".to_owned());
    let (payload_max, timeout) = (PAYLOAD_BYTES_MAX, Duration::from_secs(1));
    Ok((NatsConnection { stream, read, payload_max, inbox, next: 0, timeout }, theirs))
}

impl NatsMessage {
    /// Whether nobody listens to the subject of the question.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.status == Some(503)
    }
}
