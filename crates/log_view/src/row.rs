//! A record as it is shown: its fields as text that no terminal acts on.

use log_format::{LogRecord, put_value, write_message};
use log_protocol::bytes::{ByteCursor, put_short};
use log_store::archive::RecordKey;
use logring::LogLevel;
use text::escape::{escape_into, push_visible};

/// Most bytes of a message that are kept.
const TEXT_BYTES_MAX: usize = 4096;
/// Most bytes of a name or a value.
const NAME_BYTES_MAX: usize = 256;
/// Most names and values of a record that are kept, beside those that columns show.
const PAIRS_MAX: usize = 12;

/// A record as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: RecordKey,
    pub(crate) level: LogLevel,
    pub(crate) host: String,
    /// `name[pid]`.
    pub(crate) process: String,
    pub(crate) thread: String,
    pub(crate) logger: String,
    pub(crate) text: String,
    /// Where it was logged: `file:line routine`.
    pub(crate) place: String,
    /// Names and values of the context and of the record.
    pub(crate) pairs: Vec<(String, String)>,
}

impl Row {
    /// The row of a record.
    pub(crate) fn of(key: RecordKey, record: &LogRecord<'_>) -> Self {
        let mut scratch = Vec::new();
        write_message(&mut scratch, record);
        let mut text = Vec::new();
        push_visible(&mut text, cut(&scratch, TEXT_BYTES_MAX));
        let text = string(&text).replace('\t', " ");
        let origin = &record.origin;
        let process = format!("{}[{}]", escaped_name(origin.process.as_bytes()), origin.pid);
        let place = match record.file() {
            "" => escaped_name(record.routine().as_bytes()),
            file => {
                let (file, routine) =
                    (escaped_name(file.as_bytes()), escaped_name(record.routine().as_bytes()));
                format!("{file}:{} {routine}", record.line())
            }
        };
        let pairs = record.pairs().iter();
        let mut pairs: Vec<_> = pairs
            .take(PAIRS_MAX)
            .map(|(one, value)| (escaped_name(one.as_bytes()), escaped_name(value.as_bytes())))
            .collect();
        for field in record.attributes().take(PAIRS_MAX.saturating_sub(pairs.len())) {
            scratch.clear();
            put_value(&mut scratch, &field, record);
            pairs.push((escaped_name(field.name), escaped_name(&scratch)));
        }
        Row {
            key,
            level: record.level(),
            host: escaped_name(origin.host.as_bytes()),
            process,
            thread: escaped_name(origin.thread.as_bytes()),
            logger: escaped_name(record.logger().as_bytes()),
            text,
            place,
            pairs,
        }
    }

    /// As bytes, without the key.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.level.number()];
        let texts =
            [&self.host, &self.process, &self.thread, &self.logger, &self.text, &self.place];
        texts.iter().for_each(|text| put_short(&mut out, text.as_bytes()));
        for (name, value) in &self.pairs {
            put_short(&mut out, name.as_bytes());
            put_short(&mut out, value.as_bytes());
        }
        out
    }

    /// The row of these bytes.
    pub(crate) fn decode(key: RecordKey, bytes: &[u8]) -> Option<Self> {
        let mut from = ByteCursor::new(bytes);
        let level = LogLevel::from_number(from.u8()?)?;
        let mut text = || from.short_text();
        let (host, process, thread, logger) = (text()?, text()?, text()?, text()?);
        let (text, place) = (text()?, text()?);
        let mut pairs = Vec::new();
        while !from.is_empty() {
            pairs.push((from.short_text()?, from.short_text()?));
        }
        Some(Row { key, level, host, process, thread, logger, text, place, pairs })
    }
}

fn cut(bytes: &[u8], most: usize) -> &[u8] {
    &bytes[..bytes.len().min(most)]
}

/// A name or a value that no terminal acts on.
pub(crate) fn escaped_name(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    escape_into(&mut out, cut(bytes, NAME_BYTES_MAX));
    string(&out)
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
