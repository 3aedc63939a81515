//! Recordings to another whit: every sample as it is, by the frames that log records go in
//! (`log_protocol`), to a server with `--recordings`.
//!
//! The server says which sample of a recording it wants next, so what was lost with an acknowledgement is
//! sent again and what it lacks, too, although the cursor is behind it.  A sample goes as its differences
//! from the one before, for as long as a connection lives; after that the next one goes complete.
//!
//! Costs a decoding and an encoding of each sample; memory: a message, and the state of one block for
//! each recording that is written now.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use connection::{Address, ClientTls, SocketStream};
use log_protocol::frame::{self, FrameKind, Head};
use log_protocol::handshake::{FrameReader, HandshakeError, Hello, PeerRole, greet_server};
use log_protocol::parts::send_parts;
use log_protocol::{ProcessId, StreamId};
use recording::{ReadOutcome, Reader, SampleEncoder};
use sample::Snapshot;
use serde_json::Value;
use text::error_text::with_causes;

use crate::SendError;
use crate::batch::SampleEnd;
use crate::cursor::{RecordingCursor, SendCursor};
use crate::engine::SendOutcome;
use crate::recording_files::{FolderContents, RecordingFiles, age_of};
use crate::settings::SendSettings;
use crate::stock::{SendStock, refused_sample};

/// The usual port of a server.
pub(crate) const PORT: u16 = 4515;

/// Bytes of frames after which a message is full.
const MESSAGE_BYTES: usize = 1 << 20;

/// Samples of a message.
const MESSAGE_SAMPLES: u64 = 1024;

/// The number of a folder: recordings of a host come from one.
const NUMBER_FILE: &str = ".sender";

/// The recordings of a folder, and the connection to a server.
pub(crate) struct RecordingStock {
    files: RecordingFiles,
    open: Vec<OpenRecording>,
    ends: Vec<SampleEnd>,
    /// The place in `open` of the recording that the ends are of, which is read on next.
    at: usize,
    message: Message,
    server: Server,
    connection: Option<Connected>,
}

/// A recording that is being read.
struct OpenRecording {
    file_id: u64,
    name: String,
    reader: Reader,
    snapshot: Snapshot,
    encoder: SampleEncoder,
    /// The sample that the server wants next, once this connection has said what the recording is.
    begun: Option<u64>,
    /// Whether the server's decoder has all that was encoded.
    is_in_step: bool,
    is_finished: bool,
    /// Samples that could not be read, as far as they were counted.
    unreadable: u64,
}

/// Samples in sequence.
#[derive(Default)]
struct Message {
    first: u64,
    next: u64,
    frames: Vec<u8>,
}

/// Where the server is, and what it takes to get in.
struct Server {
    address: Address,
    timeout: Duration,
    tls: Option<ClientTls>,
    secret: Option<Vec<u8>>,
    hello: Hello,
}

struct Connected {
    reader: FrameReader,
    writer: SocketStream,
}

impl RecordingStock {
    pub(crate) fn new(
        folder: &Path,
        address: &Address,
        settings: &SendSettings,
    ) -> Result<Self, SendError> {
        let token = settings.authorization.as_ref().map(http_client::header::HeaderValue::as_bytes);
        let secret = token.map(|text| text.strip_prefix(b"Bearer ").unwrap_or(text).to_vec());
        let path = folder.join(NUMBER_FILE);
        let number = number_of(&path).map_err(|source| SendError::Number { path, source })?;
        let hello = Hello { role: PeerRole::Recorder, proxy: number.0, host: String::new() };
        let (timeout, tls) = (settings.client.timeout, settings.client.tls.clone());
        Ok(RecordingStock {
            files: RecordingFiles::new(folder),
            open: Vec::new(),
            ends: Vec::new(),
            at: 0,
            message: Message::default(),
            server: Server { address: address.clone(), timeout, tls, secret, hello },
            connection: None,
        })
    }

    /// Hands samples over, and the end of the recording if these are its last ones.
    fn hand_over(&mut self, first: u64, next: u64, is_all: bool) -> io::Result<()> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.server.connect().map_err(io::Error::other)?),
        };
        let open = &mut self.open[self.at];
        let wanted = match open.begun {
            Some(next) => next,
            None => open.begin(connection)?,
        };
        let message = &mut self.message;
        let is_ready = open.is_in_step && is_all && (wanted, next) == (message.first, message.next);
        if is_ready && next > first {
            open.send(connection, message)?;
        } else if wanted < next {
            open.send_again(connection, wanted, next, message)?;
        } else if open.reader.next_number() != next {
            open.reader.seek_number(next);
        }
        if open.is_finished && is_all {
            open.end(connection)?;
        }
        Ok(())
    }
}

impl SendStock for RecordingStock {
    fn what(&self) -> &'static str {
        "samples"
    }

    fn look(&mut self, cursor: &mut SendCursor) -> Result<FolderContents, SendError> {
        let is_open = |id: u64| self.open.iter().any(|open| open.file_id == id);
        self.files.look(cursor, &is_open)
    }

    fn age(&self) -> Option<Duration> {
        age_of(self.open.iter().map(|open| &open.reader))
    }

    fn fill(&mut self, _: &SendCursor, _: usize) -> Result<bool, SendError> {
        self.ends.clear();
        // Recordings that have nothing more yet.
        let mut idle = 0;
        while self.ends.is_empty() {
            if idle == self.open.len() {
                let Some((path, sent)) = self.files.waiting.pop_front() else { break };
                if let Some(reader) = self.files.open(&path, &[]) {
                    self.at = self.open.len();
                    self.open.push(OpenRecording::new(reader, &sent));
                }
                continue;
            }
            if self.at >= self.open.len() {
                self.at = 0;
            }
            let open = &mut self.open[self.at];
            if open.is_finished {
                // Its end was acknowledged.
                self.open.remove(self.at);
                continue;
            }
            match open.fill(&mut self.files, &mut self.message, &mut self.ends) {
                Err(error) if self.files.has_lost(&open.reader, &error) => {
                    self.open.remove(self.at);
                    continue;
                }
                filled => filled?,
            }
            if self.ends.is_empty() {
                self.files.wait(&mut open.reader, self.at);
                self.at += 1;
                idle += 1;
            }
        }
        Ok(!self.ends.is_empty())
    }

    fn ends(&self) -> &[SampleEnd] {
        &self.ends
    }

    fn is_nothing(&self, some: Range<usize>) -> bool {
        some.is_empty()
    }

    fn hand_over(&mut self, some: Range<usize>) -> SendOutcome {
        let before = some.start.checked_sub(1).map(|at| self.ends[at].next);
        let first = before.unwrap_or(self.message.first);
        let next = self.ends[some.end - 1].next;
        match self.hand_over(first, next, some.len() == self.ends.len()) {
            Ok(()) => SendOutcome::Acknowledged,
            Err(error) => {
                self.connection = None;
                for open in &mut self.open {
                    (open.begun, open.is_in_step) = (None, false);
                }
                SendOutcome::Retry { why: with_causes(&error), after: None }
            }
        }
    }

    fn refusal(&self, end: &SampleEnd, name: &str) -> Value {
        refused_sample(end, name)
    }

    fn settle(&mut self, cursor: &mut SendCursor) -> Vec<String> {
        self.files.settle(cursor)
    }

    fn rewind(&mut self) {
        self.files.rewind();
        self.open.clear();
        self.at = 0;
    }
}

impl OpenRecording {
    /// A recording from the first sample on that was not sent, with its own definitions.
    fn new(mut reader: Reader, sent: &RecordingCursor) -> Self {
        let (file_id, defs) = (reader.file_id(), reader.defs());
        reader.seek_number(sent.next);
        OpenRecording {
            file_id,
            name: sent.name.clone(),
            snapshot: Snapshot::new(&defs),
            encoder: SampleEncoder::new(&defs, file_id),
            reader,
            begun: None,
            is_in_step: false,
            is_finished: false,
            unreadable: 0,
        }
    }

    /// Reads the next samples into a message: until it is full, nothing more is there, or numbers are
    /// missing.
    fn fill(
        &mut self,
        files: &mut RecordingFiles,
        message: &mut Message,
        ends: &mut Vec<SampleEnd>,
    ) -> Result<(), SendError> {
        message.begin(self.reader.next_number());
        if !self.is_in_step {
            self.encoder.begin();
        }
        let file_id = self.file_id;
        while !message.is_full() {
            match self.read(message)? {
                ReadOutcome::Sample => {
                    let (next, realtime_ns) = (message.next, self.snapshot.realtime_ns);
                    ends.push(SampleEnd { file_id, next, samples: 1, points: 0, realtime_ns });
                }
                ReadOutcome::NoMoreYet if self.reader.is_being_written() => break,
                // Nobody writes the rest of a recording whose recorder was killed.
                ReadOutcome::NoMoreYet | ReadOutcome::End => {
                    if !files.is_at_end(&self.reader) {
                        continue;
                    }
                    self.is_finished = true;
                    // What is to be told is its end.
                    let (next, realtime_ns) = (message.next, i64::MIN);
                    ends.push(SampleEnd { file_id, next, samples: 0, points: 0, realtime_ns });
                    break;
                }
            }
            if self.reader.next_number() > message.next {
                break;
            }
        }
        files.count_damage(&self.reader, &mut self.unreadable);
        Ok(())
    }

    /// Adds the next sample to a message, if there is one.  If numbers before it are missing it begins
    /// the message, or is left for the next one.
    fn read(&mut self, message: &mut Message) -> Result<ReadOutcome, SendError> {
        loop {
            let outcome = self.reader.next(&mut self.snapshot)?;
            if outcome != ReadOutcome::Sample {
                return Ok(outcome);
            }
            let number = self.reader.next_number().saturating_sub(1);
            if number == message.next {
                self.encoder.encode(&self.snapshot, self.reader.texts(), &mut message.frames);
                message.next = number + 1;
                return Ok(outcome);
            }
            // The server counts those that are missing by the numbers: read as if none were.
            self.reader.seek_number(number);
            if message.first < message.next {
                return Ok(outcome);
            }
            message.begin(number);
        }
    }

    fn stream(&self) -> StreamId {
        StreamId::of_recording(self.file_id)
    }

    /// Says what the recording is; the server says which sample it wants.
    fn begin(&mut self, connection: &mut Connected) -> io::Result<u64> {
        let mut body = Vec::new();
        log_protocol::bytes::put_short(&mut body, self.name.as_bytes());
        let (meta, defs) = (self.reader.meta(), self.reader.schemas());
        body.extend_from_slice(&recording::stream_head(meta, defs, self.file_id)?);
        let head = Head::of(FrameKind::Recording, self.stream(), 0, 0, 0);
        let wanted = connection.ask(head, &body, FrameKind::Marks)?;
        self.begun = Some(wanted);
        Ok(wanted)
    }

    fn send(&mut self, connection: &mut Connected, message: &Message) -> io::Result<()> {
        self.is_in_step = false;
        let count = u32::try_from(message.next - message.first).map_err(io::Error::other)?;
        let (first, next) = (message.first, message.next);
        let head = Head::of(FrameKind::Samples, self.stream(), first, next, count);
        let mut packed = Vec::new();
        recording::pack_samples(&message.frames, &mut packed)?;
        let acknowledged = connection.ask(head, &packed, FrameKind::Ack)?;
        if acknowledged < next {
            return Err(io::Error::other("the server does not acknowledge what it was sent"));
        }
        self.begun = Some(acknowledged);
        self.is_in_step = true;
        Ok(())
    }

    /// Reads again what the server lacks, and sends it.
    fn send_again(
        &mut self,
        connection: &mut Connected,
        wanted: u64,
        next: u64,
        message: &mut Message,
    ) -> io::Result<()> {
        self.encoder.begin();
        self.reader.seek_number(wanted);
        message.begin(wanted);
        while message.next < next {
            let outcome = self.read(message).map_err(io::Error::other)?;
            let is_last = outcome != ReadOutcome::Sample || message.next >= next;
            if message.is_full() || is_last || self.reader.next_number() > message.next {
                if message.first < message.next {
                    self.send(connection, message)?;
                }
                message.begin(self.reader.next_number());
            }
            if is_last {
                break;
            }
        }
        // It was counted when it was read first.
        self.unreadable = self.reader.damage().samples_unreadable;
        Ok(())
    }

    fn end(&mut self, connection: &mut Connected) -> io::Result<()> {
        let head = Head::of(FrameKind::RecordingEnd, self.stream(), 0, 0, 0);
        connection.ask(head, &[], FrameKind::Ack)?;
        self.begun = None;
        Ok(())
    }
}

impl Message {
    fn begin(&mut self, number: u64) {
        self.frames.clear();
        (self.first, self.next) = (number, number);
    }

    fn is_full(&self) -> bool {
        self.frames.len() >= MESSAGE_BYTES || self.next - self.first >= MESSAGE_SAMPLES
    }
}

impl Server {
    fn connect(&self) -> Result<Connected, HandshakeError> {
        let (tls, secret) = (self.tls.as_ref(), self.secret.as_deref());
        let (reader, writer) = greet_server(&self.address, self.timeout, tls, secret, &self.hello)?;
        Ok(Connected { reader, writer })
    }
}

impl Connected {
    /// Sends something and waits for the mark that the server then has.
    fn ask(&mut self, head: Head, body: &[u8], answer: FrameKind) -> io::Result<u64> {
        // What a server says to one that it sends away may be there although nothing can be written.
        let sent = send_parts(&mut self.writer, head, body);
        let mut bytes = Vec::new();
        let read = self.reader.read(&mut bytes);
        let said = match (read, sent) {
            (Ok(Some(said)), _) => said,
            (_, Err(error)) | (Err(error), Ok(())) => return Err(error),
            (Ok(None), Ok(())) => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        if said.kind == FrameKind::Refused {
            let why = String::from_utf8_lossy(&bytes);
            return Err(io::Error::other(format!(
                "refused: {}",
                layout::text::escape(why.as_bytes())
            )));
        }
        let mark = frame::marks(&bytes).find(|mark| mark.stream == head.stream);
        let mark = mark.filter(|_| said.kind == answer);
        mark.map(|mark| mark.next).ok_or_else(|| io::Error::other("the server's answer is none"))
    }
}

/// The number of a folder, which is made at the first time.
fn number_of(path: &Path) -> io::Result<ProcessId> {
    match std::fs::read_to_string(path) {
        Ok(text) => ProcessId::parse(text.trim()).ok_or_else(|| {
            let what = "it is no number of a folder of recordings: remove it";
            io::Error::new(io::ErrorKind::InvalidData, what)
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let number = ProcessId(connection::random()?);
            whole_file::replace(path, format!("{number}\n"))?;
            Ok(number)
        }
        Err(error) => Err(error),
    }
}
