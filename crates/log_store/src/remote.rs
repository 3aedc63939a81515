//! Records of a store, asked for from another machine: the question, and the answer as it comes.
//!
//! The server chooses the records, by the same filters and index as on its own machine; records come
//! as they are stored, with the dictionaries that they need, so that they take the form that is
//! asked for here.  What comes is bounded: a server is not trusted with the memory of its clients.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use logring::{Dictionary, LogLevel, RecordIterator};

use crate::query::Filter;
use crate::store::{Item, StreamPart, Visit};
use connection::SocketStream;
use log_protocol::bytes::{ByteCursor, put_short};
use log_protocol::frame::{FrameKind, Head};
use log_protocol::handshake::{FrameReader, send};
use log_protocol::{ProcessId, ProcessInfo, StreamInfo};

/// How long a frame may take from its first byte to its last.
const FRAME: Duration = Duration::from_secs(60);
/// Most processes and streams that an answer may name.
const NAMES_MAX: usize = 1 << 20;
/// Most bytes of dictionaries in an answer.
const DICTIONARIES_BYTES_MAX: usize = 1 << 30;
/// Most pairs that a question may name: each is compared with each record.
const PAIRS_MAX: u32 = 64;
/// Most words that a question may name.
const WORDS_MAX: u32 = 64;
/// Longest regular expression, compiled.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// Bytes of an entry before its record.
pub const ENTRY_HEAD: usize = 16;

const FOLLOWS: u32 = 1;
const COUNTS: u32 = 2;
const ALL_KINDS: u32 = 4;
const HAS_NEWEST: u32 = 8;
const HAS_PAIRS: u32 = 16;
const HAS_WORDS: u32 = 32;

/// What a client asks for.
#[derive(Debug, Clone, Default)]
pub struct RemoteQuery {
    /// Which records.
    pub filter: Filter,
    /// Only so many of the newest.
    pub newest: Option<u32>,
    /// So many at most; 0: all.
    pub limit: u64,
    /// Also those that come later, until the client leaves.
    pub follows: bool,
    /// Only how many they are.
    pub counts: bool,
}

impl RemoteQuery {
    /// The bytes of a question.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let filter = &self.filter;
        let flags = [
            (self.follows, FOLLOWS),
            (self.counts, COUNTS),
            (filter.all_kinds, ALL_KINDS),
            (self.newest.is_some(), HAS_NEWEST),
            (!filter.pairs.is_empty(), HAS_PAIRS),
            (!filter.words.is_empty(), HAS_WORDS),
        ];
        let flags: u32 = flags.iter().filter(|(is, _)| *is).map(|(_, flag)| flag).sum();
        let mut out = flags.to_le_bytes().to_vec();
        out.extend_from_slice(&self.newest.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&self.limit.to_le_bytes());
        out.extend_from_slice(&filter.from_ns.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&filter.until_ns.unwrap_or(u64::MAX).to_le_bytes());
        out.push(filter.level.map_or(0, LogLevel::number));
        let regex = filter.regex.as_ref().map_or("", |regex| regex.as_str());
        let text = filter.text.as_str();
        for text in [&filter.logger, &filter.host, &filter.process, text, regex] {
            put_short(&mut out, text.as_bytes());
        }
        // A server that does not know of them refuses the question.
        if !filter.pairs.is_empty() {
            out.extend_from_slice(&(filter.pairs.len() as u32).to_le_bytes());
        }
        for (name, value) in &filter.pairs {
            put_short(&mut out, name.as_bytes());
            put_short(&mut out, value.as_bytes());
        }
        if !filter.words.is_empty() {
            out.extend_from_slice(&(filter.words.len() as u32).to_le_bytes());
        }
        filter.words.iter().for_each(|word| put_short(&mut out, word.as_bytes()));
        out
    }

    /// Reads a question.
    ///
    /// # Errors
    /// If it is none; the text says why.
    pub fn decode(body: &[u8]) -> Result<Self, String> {
        let parts = Self::parts(body).ok_or("a question that this version does not know")?;
        let (mut query, regex) = parts;
        if !regex.is_empty() {
            let mut builder = regex::bytes::RegexBuilder::new(&regex);
            let built = builder.size_limit(REGEX_BYTES_MAX).build();
            query.filter.regex = Some(built.map_err(|error| error.to_string())?);
        }
        Ok(query)
    }

    fn parts(body: &[u8]) -> Option<(Self, String)> {
        let mut from = ByteCursor::new(body);
        let (flags, newest, limit) = (from.u32()?, from.u32()?, from.u64()?);
        let (from_ns, until_ns) = (from.u64()?, from.u64()?);
        let level = match from.u8()? {
            0 => None,
            number => Some(LogLevel::parse(&number.to_string())?),
        };
        let mut filter = Filter {
            level,
            from_ns: (from_ns != 0).then_some(from_ns),
            until_ns: (until_ns != u64::MAX).then_some(until_ns),
            all_kinds: flags & ALL_KINDS != 0,
            ..Filter::default()
        };
        filter.logger = from.short_text()?;
        filter.host = from.short_text()?;
        filter.process = from.short_text()?;
        filter.text = from.short_text()?.into();
        let regex = from.short_text()?;
        let pairs = if flags & HAS_PAIRS != 0 { from.u32()? } else { 0 };
        if pairs > PAIRS_MAX {
            return None;
        }
        for _ in 0..pairs {
            filter.pairs.push((from.short_text()?, from.short_text()?));
        }
        let words = if flags & HAS_WORDS != 0 { from.u32()? } else { 0 };
        if words > WORDS_MAX {
            return None;
        }
        for _ in 0..words {
            filter.words.push(crate::query::word(&from.short_text()?).ok()?);
        }
        let query = RemoteQuery {
            filter,
            newest: (flags & HAS_NEWEST != 0).then_some(newest),
            limit,
            follows: flags & FOLLOWS != 0,
            counts: flags & COUNTS != 0,
        };
        from.is_empty().then_some((query, regex))
    }
}

/// What has come of an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum RemotePart {
    /// Records, which were visited.
    Records,
    /// Nothing more of what the store held when it was asked; whoever follows reads on.
    End {
        /// How many records there were.
        records: u64,
        /// The damaged parts of the store.
        damaged: Vec<String>,
    },
    /// The visitor has seen enough.
    Enough,
}

/// An answer that comes.
#[derive(Debug)]
pub struct RemoteAnswer {
    reader: FrameReader,
    body: Vec<u8>,
    processes: HashMap<ProcessId, (ProcessInfo, Dictionary)>,
    streams: Vec<(ProcessId, StreamPart)>,
    dictionaries_bytes: usize,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl RemoteAnswer {
    /// Asks a server that was greeted.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn ask(
        mut reader: FrameReader,
        writer: &mut SocketStream,
        query: &RemoteQuery,
    ) -> io::Result<Self> {
        send(writer, Head::plain(FrameKind::Query), &query.encode())?;
        reader.set_frame_wait(FRAME);
        Ok(RemoteAnswer {
            reader,
            body: Vec::new(),
            processes: HashMap::new(),
            streams: Vec::new(),
            dictionaries_bytes: 0,
        })
    }

    /// Waits for the next part of the answer, and visits its records.
    ///
    /// # Errors
    /// If the connection breaks, the server refuses, or sends what is no answer.
    pub fn next(&mut self, visit: &mut Visit<'_>) -> io::Result<RemotePart> {
        loop {
            let Some(head) = self.reader.read(&mut self.body)? else {
                let what = "the central server closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            };
            match head.kind {
                FrameKind::Process => self.add_process()?,
                FrameKind::Stream => self.add_stream()?,
                FrameKind::Dictionary => self.add_dictionary(&head)?,
                FrameKind::Found => {
                    let flow = self.visit(visit)?;
                    return Ok(if flow.is_break() {
                        RemotePart::Enough
                    } else {
                        RemotePart::Records
                    });
                }
                FrameKind::End => {
                    let text = String::from_utf8_lossy(&self.body);
                    let damaged = text.lines().map(str::to_owned).collect();
                    return Ok(RemotePart::End { records: head.first, damaged });
                }
                FrameKind::Refused => {
                    return Err(io::Error::other(String::from_utf8_lossy(&self.body).into_owned()));
                }
                _ => return Err(invalid("a frame that is no part of an answer")),
            }
        }
    }

    fn add_process(&mut self) -> io::Result<()> {
        let info = ProcessInfo::decode(&mut ByteCursor::new(&self.body));
        let info = info.ok_or_else(|| invalid("a process that cannot be read"))?;
        if self.processes.len() >= NAMES_MAX {
            return Err(invalid("more processes than an answer may name"));
        }
        let (known, _) = self.processes.entry(info.id).or_default();
        *known = info;
        Ok(())
    }

    fn add_stream(&mut self) -> io::Result<()> {
        let info = StreamInfo::decode(&mut ByteCursor::new(&self.body));
        let info = info.ok_or_else(|| invalid("a ring that cannot be read"))?;
        if self.streams.len() >= NAMES_MAX {
            return Err(invalid("more rings than an answer may name"));
        }
        let StreamInfo { id, tid, thread } = info;
        let (ring, process) = (id.ring, 0);
        let part = StreamPart { process, ring, tid, thread, first: 0, next: 0, count: 0 };
        self.streams.push((id.process, part));
        Ok(())
    }

    fn add_dictionary(&mut self, head: &Head) -> io::Result<()> {
        self.dictionaries_bytes += self.body.len();
        let process = self.processes.get_mut(&head.stream.process);
        let (Some((_, dictionary)), ..=DICTIONARIES_BYTES_MAX) = (process, self.dictionaries_bytes)
        else {
            return Err(invalid("more dictionaries than an answer may have"));
        };
        if dictionary.length_bytes() == head.first {
            // What is malformed ends it; its records are shown without their texts.
            let _ = dictionary.add(&self.body);
        }
        Ok(())
    }

    /// Visits the records of the frame that has come.
    fn visit(&self, visit: &mut Visit<'_>) -> io::Result<ControlFlow<()>> {
        let mut from = ByteCursor::new(&self.body);
        while !from.is_empty() {
            let fields = (|| {
                let stream = from.u32()?;
                let bytes = from.u32()? as usize;
                Some((stream, from.u64()?, from.take(bytes)?))
            })();
            let (stream, sequence, bytes) = fields.ok_or_else(|| invalid("a record is cut"))?;
            let (process, stream) =
                self.streams.get(stream as usize).ok_or_else(|| invalid("a ring is unknown"))?;
            let (process, dictionary) =
                self.processes.get(process).ok_or_else(|| invalid("a process is unknown"))?;
            let record = RecordIterator::new(bytes, sequence).next().and_then(Result::ok);
            let record = &record.ok_or_else(|| invalid("a record cannot be read"))?;
            let item = Item { process, stream, record, dictionary, dictionary_bytes: &[] };
            if visit(&item).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_comes_back_and_no_part_of_one_is_taken() {
        let filter = Filter {
            level: LogLevel::parse("ERROR"),
            logger: "CONTROL/*".into(),
            host: "a".into(),
            process: "12".into(),
            from_ns: Some(7),
            until_ns: None,
            pairs: vec![("Antenna".to_owned(), "DV*".to_owned()), ("".to_owned(), "".to_owned())],
            text: "ü".into(),
            regex: Some(regex::bytes::Regex::new("^a+$").unwrap_or_else(|_| unreachable!())),
            words: vec!["disk".to_owned(), "7".to_owned()],
            all_kinds: true,
        };
        let query =
            RemoteQuery { filter, newest: Some(10), limit: 3, follows: true, counts: false };
        let bytes = query.encode();
        let back = RemoteQuery::decode(&bytes).expect("it comes back");
        assert_eq!(format!("{back:?}"), format!("{query:?}"));
        for cut in 0..bytes.len() {
            assert!(RemoteQuery::decode(&bytes[..cut]).is_err(), "{cut}");
        }
        let plain = Filter { pairs: Vec::new(), words: Vec::new(), ..query.filter.clone() };
        let bytes = RemoteQuery { filter: plain, ..query }.encode();
        let bad = [&bytes[..bytes.len() - 4], b"a{99"].concat();
        assert!(RemoteQuery::decode(&bad).is_err());
    }
}
