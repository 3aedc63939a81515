//! NATS JetStream: a message for each sample, whose points are lines of InfluxDB's protocol, and for each
//! log record, which is a JSON object.
//!
//! The protocol is in the crate `nats`.  Each sample has a number in its recording, which has a subject of its
//! own, `whit.samples.HOST.RECORDING`; each record has one in its segment, and its subject is
//! `whit.logs.STORE.HOST.PROCESS`.  The last message of the subject says what the stream has, and each
//! message is published on the condition that the one before it is the last one
//! (`Nats-Expected-Last-Subject-Sequence` of the first, `Nats-Expected-Last-Msg-Id` of those behind it): so
//! nothing is left out and nothing is there twice, whatever was lost on the way.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::Range;

use base64ct::{Base64, Encoding as _};
use connection::Address;
use log_format::{JsonFormat, LogRecord, RecordFormat as _};
use nats::{NatsConnection, NatsEndpoint, NatsMessage, NatsRefusal};
use serde_json::{Value, json};

use crate::batch::{Batch, BatchSeries};
use crate::engine::{MetricEngine, SendOutcome};
use crate::influx;
use crate::log_batch::{LogBatch, LogEngine, LogEntry};
use crate::settings::SendSettings;

/// Bytes of the headers of a message, at most.
const HEAD_BYTES_MAX: usize = 256;

/// `err_code` of a message that is refused since another one than was said is before it: its id, or its
/// number.
const WRONG_LAST: [u64; 2] = [10_070, 10_071];

/// Subjects of which it is known what the stream has.
const SUBJECTS_MAX: usize = 10_000;

/// Bytes of a word of a subject: a server takes lines of 4 KiB.
const WORD_BYTES_MAX: usize = 200;

/// Messages that are published before the first of them is acknowledged.
const FLYING_MAX: usize = 1000;

/// The engine.
pub(crate) struct JetStream {
    server: NatsEndpoint,
    format: JsonFormat,
    connection: Option<NatsConnection>,
    /// What the stream has, by subject.
    has: HashMap<String, StreamHas>,
}

/// What a stream has of a subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamHas {
    /// The place of its last sample or record.
    place: MessagePlace,
    /// The number of the message with that.
    number: u64,
}

/// Where a sample or a record is among all of its subject: they are published in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct MessagePlace {
    /// The segment of a record; a recording is one file.
    segment: u64,
    /// The number behind its own.
    next: u64,
}

impl MessagePlace {
    /// Reads the last word of an id.
    fn parse(text: &str) -> Option<Self> {
        let (segment, next) = text.split_once('.').unwrap_or(("0", text));
        Some(MessagePlace { segment: segment.parse().ok()?, next: next.parse().ok()? })
    }
}

/// The message of a sample or of a record.
struct StreamMessage {
    place: MessagePlace,
    id: String,
    subject: String,
    text: Vec<u8>,
}

impl JetStream {
    pub(crate) fn new(address: &Address, settings: &SendSettings) -> Self {
        JetStream {
            server: NatsEndpoint::new(address, settings.nats_access()),
            format: JsonFormat::default(),
            connection: None,
            has: HashMap::new(),
        }
    }

    /// Hands messages over, which are made for a connection that takes so many bytes of each.
    fn deliver(
        &mut self,
        make: impl Fn(usize) -> Result<Vec<StreamMessage>, NatsRefusal>,
    ) -> SendOutcome {
        if self.has.len() > SUBJECTS_MAX {
            self.has.clear();
        }
        loop {
            let kept = self.connection.take();
            // One that was kept may have ended meanwhile: another one is tried at once.
            let was_kept = kept.is_some();
            let opened = kept.map_or_else(|| self.server.open(), Ok);
            let done = opened.map_err(NatsRefusal::from).and_then(|mut connection| {
                let messages = make(connection.payload_max);
                let done = messages.and_then(|messages| self.publish(&mut connection, messages));
                if !matches!(done, Err(NatsRefusal::Later(_))) {
                    self.connection = Some(connection);
                }
                done
            });
            match done {
                Ok(()) => return SendOutcome::Acknowledged,
                Err(NatsRefusal::Never(why)) => {
                    return SendOutcome::Refused { why, is_known: false };
                }
                Err(NatsRefusal::Later(error)) => {
                    // What was published and not acknowledged: the stream says what it has.
                    self.has.clear();
                    if !was_kept {
                        let why = format!("{}: {error}", self.server.address);
                        return SendOutcome::Retry { why, after: None };
                    }
                }
            }
        }
    }

    /// Publishes messages that the stream has not, in their order, and waits until it has them.
    fn publish(
        &mut self,
        connection: &mut NatsConnection,
        mut messages: Vec<StreamMessage>,
    ) -> Result<(), NatsRefusal> {
        let mut in_vain = 0;
        loop {
            for message in &messages {
                if !self.has.contains_key(&message.subject) {
                    let newest = newest(connection, &message.subject)?;
                    self.has.insert(message.subject.clone(), newest);
                }
            }
            let has = &self.has;
            messages.retain(|one| has.get(&one.subject).is_none_or(|has| has.place < one.place));
            if messages.is_empty() {
                return Ok(());
            }
            // Whoever else publishes to the stream meanwhile breaks the chain: the rest goes again.
            let some = &messages[..messages.len().min(FLYING_MAX)];
            in_vain = if self.fly(connection, some)? { 0 } else { in_vain + 1 };
            if in_vain > 0 {
                // The last sender of these subjects still had some on their way.
                self.has.clear();
            }
            if in_vain > 3 {
                let why = "somebody else publishes to the subjects whit.>";
                return Err(NatsRefusal::Later(io::Error::other(why)));
            }
        }
    }

    /// Publishes messages, each on the condition that the one before it is the last one of the stream, so
    /// that none is left out.  Whether the stream took any.
    fn fly(
        &mut self,
        connection: &mut NatsConnection,
        messages: &[StreamMessage],
    ) -> Result<bool, NatsRefusal> {
        // By the number of the question.
        let mut waits: BTreeMap<u64, &StreamMessage> = BTreeMap::new();
        let (mut before, mut flying) = (None, BTreeSet::new());
        for message in messages {
            let mut head = format!("NATS/1.0\r\nNats-Msg-Id: {}\r\n", message.id);
            if let Some(before) = before.replace(&message.id) {
                head += &format!("Nats-Expected-Last-Msg-Id: {before}\r\n");
            }
            if flying.insert(&message.subject) {
                let number = self.has.get(&message.subject).map_or(0, |has| has.number);
                head += &format!("Nats-Expected-Last-Subject-Sequence: {number}\r\n");
            }
            head += "\r\n";
            waits.insert(connection.ask(&message.subject, &head, &message.text)?, message);
        }
        let (mut took_any, mut refusal) = (false, None);
        while !waits.is_empty() {
            // Others are of messages that were given up.
            let is_awaited = |answer: &NatsMessage| {
                answer.question.is_some_and(|number| waits.contains_key(&number))
            };
            let answer = connection.message(is_awaited)?;
            let question = answer.question;
            let Some(message) = question.and_then(|number| waits.remove(&number)) else { continue };
            match acknowledged(&answer) {
                Ok(Some(number)) => {
                    took_any = true;
                    let has = self.has.entry(message.subject.clone()).or_default();
                    if message.place > has.place {
                        *has = StreamHas { place: message.place, number };
                    }
                }
                Ok(None) => {}
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(took_any), Err)
    }
}

/// The number of a message in the stream; none if another one than was thought is before it.
pub(crate) fn acknowledged(answer: &NatsMessage) -> Result<Option<u64>, NatsRefusal> {
    if answer.is_lost() {
        let why = "no stream takes the subjects whit.>: make one";
        return Err(NatsRefusal::Later(io::Error::other(why)));
    }
    let said: Value = serde_json::from_slice(&answer.payload).map_err(io::Error::from)?;
    let Some(error) = said["error"].as_object() else {
        let number = said["seq"].as_u64();
        let wrong = || NatsRefusal::Later(io::Error::other("an acknowledgement without a number"));
        return number.map(Some).ok_or_else(wrong);
    };
    let code = |name: &str| error.get(name).and_then(Value::as_u64).unwrap_or(0);
    if WRONG_LAST.contains(&code("err_code")) {
        return Ok(None);
    }
    let why = error.get("description").and_then(Value::as_str).unwrap_or_default();
    let why = layout::text::escape(why.as_bytes());
    match code("code") {
        400 => Err(NatsRefusal::Never(why)),
        _ => Err(NatsRefusal::Later(io::Error::other(why))),
    }
}

/// Refuses a message that the server does not take.
fn check_size(what: &str, size: usize, payload_max: usize) -> Result<(), NatsRefusal> {
    match size + HEAD_BYTES_MAX > payload_max {
        true => {
            let why = format!("a {what} of {size} bytes: the server takes {payload_max}");
            Err(NatsRefusal::Never(why))
        }
        false => Ok(()),
    }
}

/// A word of a subject.
pub(crate) fn token(text: &str) -> String {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control() && !['.', '*', '>'].contains(&c);
    match text {
        "" => "_".to_owned(),
        text => {
            let text = &text[..text.floor_char_boundary(WORD_BYTES_MAX)];
            text.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
        }
    }
}

/// What a stream has of a subject.
pub(crate) fn newest(
    connection: &mut NatsConnection,
    subject: &str,
) -> Result<StreamHas, NatsRefusal> {
    let streams = connection.asked("$JS.API.STREAM.NAMES", &json!({ "subject": subject }))?;
    let Some(stream) = streams["streams"][0].as_str() else {
        let kind = subject.split('.').nth(1).unwrap_or_default();
        let why = format!("no stream takes the subject {subject}: make one for whit.{kind}.>");
        return Err(NatsRefusal::Later(io::Error::other(why)));
    };
    let question = format!("$JS.API.STREAM.MSG.GET.{stream}");
    let last = connection.asked(&question, &json!({ "last_by_subj": subject }))?;
    if last["error"]["code"] == 404 {
        return Ok(StreamHas::default());
    }
    let head = last["message"]["hdrs"].as_str().and_then(|text| Base64::decode_vec(text).ok());
    let head = head.map(|head| String::from_utf8_lossy(&head).into_owned()).unwrap_or_default();
    let id = head.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id: "));
    let place = id.and_then(|id| MessagePlace::parse(id.rsplit_once('-')?.1.trim()));
    let has = place.zip(last["message"]["seq"].as_u64());
    has.map(|(place, number)| StreamHas { place, number }).ok_or_else(|| {
        let what = format!("the last message of {subject} is none of whit: {last}");
        let what = layout::text::escape(what.as_bytes());
        NatsRefusal::Later(io::Error::other(what.chars().take(300).collect::<String>()))
    })
}

impl MetricEngine for JetStream {
    fn hand_over(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> SendOutcome {
        self.deliver(|most| sample_messages(series, batch, samples.clone(), most))
    }
}

impl LogEngine for JetStream {
    fn encode(&mut self, record: &LogRecord<'_>, out: &mut Vec<u8>) {
        self.format.put(out, record);
    }

    fn hand_over(&mut self, batch: &LogBatch, entries: Range<usize>) -> SendOutcome {
        self.deliver(|most| log_messages(batch, entries.clone(), most))
    }
}

/// The messages of samples.
fn sample_messages(
    series: &BatchSeries,
    batch: &Batch,
    samples: Range<usize>,
    payload_max: usize,
) -> Result<Vec<StreamMessage>, NatsRefusal> {
    let mut messages = Vec::new();
    for at in samples {
        let (end, points) = (&batch.ends[at], batch.points_of(at..at + 1));
        let text = influx::lines(series, points);
        let Some(point) = points.first().filter(|_| !text.is_empty()) else { continue };
        check_size("sample", text.len(), payload_max)?;
        let host = token(series.labels(point.series).get("instance"));
        let (file_id, next) = (end.file_id, end.next);
        messages.push(StreamMessage {
            place: MessagePlace { segment: 0, next },
            id: format!("{file_id:016x}-{next}"),
            subject: format!("whit.samples.{host}.{file_id:016x}"),
            text,
        });
    }
    Ok(messages)
}

/// The messages of log records.
fn log_messages(
    batch: &LogBatch,
    entries: Range<usize>,
    payload_max: usize,
) -> Result<Vec<StreamMessage>, NatsRefusal> {
    let store = &batch.store;
    let message = |entry: &LogEntry| {
        let text = batch.text(entry).trim_ascii_end();
        check_size("record", text.len(), payload_max)?;
        let (host, process) = (token(&entry.origin.host), token(&entry.origin.process));
        let place = MessagePlace { segment: entry.segment, next: entry.next };
        Ok(StreamMessage {
            place,
            id: format!("{store}-{}.{}", place.segment, place.next),
            subject: format!("whit.logs.{store}.{host}.{process}"),
            text: text.to_vec(),
        })
    };
    batch.entries[entries].iter().map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_one_word_of_a_subject() {
        assert_eq!(token("web1.example"), "web1_example");
        assert_eq!((token(""), token("a b>*\n")), ("_".to_owned(), "a_b___".to_owned()));
    }
}
