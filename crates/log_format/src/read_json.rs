//! Records out of their JSON lines: what [`JsonFormat`](crate::JsonFormat) wrote, in any form again.
//!
//! A line is an object of texts, numbers and truths, with the objects `context` and `data` in it.  Its
//! message, which is finished text, becomes the one argument of a call site.  A line that is another
//! object than that is no record.  Costs some µs and some allocations a line; a record has at most the
//! bytes of its line.  What JSON does not say is lost: bytes that are no UTF-8, a level of the call
//! site beside that of the record, and that a record is a notice of dropped ones.

use calendar::{DAY_S, days_of_date};
use logring::abi::{FLAG_ATTRIBUTES, FLAG_CUT, kind, padded};
use logring::{
    ArgumentType, Dictionary, DictionaryEntry, FormatKind, LogContext, LogLevel, RingRecord, Site,
    SiteRole,
};

use crate::message::without_cut_note;
use crate::record::RecordOrigin;

/// The number of the call site in the dictionary of a record, and that of its context.
const SITE: u32 = 1;
const CONTEXT: u32 = 2;

/// The longest name of an attribute: a record has its length in a byte.
const NAME_BYTES_MAX: usize = 255;

/// A record that was read from JSON, with all that belongs to it.
#[derive(Debug, Default)]
pub struct ReadRecord {
    /// When it was made, in ns since 1970.
    pub time_ns: u64,
    /// What numbers in it mean.
    pub dictionary: Dictionary,
    host: String,
    process: String,
    thread: String,
    pid: u32,
    tid: u32,
    ring: u32,
    sequence: u64,
    level_and_flags: u8,
    context: u32,
    payload: Vec<u8>,
}

/// A value of a member.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Text(String),
    Number(Number),
    Object(Vec<(String, Value)>),
}

/// A value that is no text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
    Bool(bool),
}

impl ReadRecord {
    /// Reads a line; `None` if it is no record.
    #[must_use]
    pub fn parse(line: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(line).ok()?;
        let mut reader = JsonReader { rest: text.trim() };
        let Some(Value::Object(members)) = reader.value(2) else { return None };
        reader.rest.is_empty().then(|| Self::of(members))?
    }

    fn of(members: Vec<(String, Value)>) -> Option<Self> {
        let mut one = ReadRecord::default();
        let mut site = Site {
            file: String::new(),
            line: 0,
            routine: String::new(),
            level: None,
            format: "{}".to_owned(),
            format_kind: FormatKind::Braces,
            role: SiteRole::Message,
            types: vec![ArgumentType::Text],
        };
        let mut context = LogContext { logger: 0, logger_name: String::new(), pairs: Vec::new() };
        let (mut time_ns, mut level, mut message, mut data) = (None, None, None, Vec::new());
        for (name, value) in members {
            match (name.as_str(), value) {
                ("time", Value::Text(text)) => time_ns = Some(time_of(&text)?),
                ("level", Value::Text(text)) => level = Some(LogLevel::parse(&text)?),
                ("message", Value::Text(text)) => message = Some(text),
                ("logger", Value::Text(text)) => context.logger_name = text,
                ("host", Value::Text(text)) => one.host = text,
                ("process", Value::Text(text)) => one.process = text,
                ("thread", Value::Text(text)) => one.thread = text,
                ("file", Value::Text(text)) => site.file = text,
                ("routine", Value::Text(text)) => site.routine = text,
                ("pid", value) => one.pid = value.number()?,
                ("tid", value) => one.tid = value.number()?,
                ("ring", value) => one.ring = value.number()?,
                ("line", value) => site.line = value.number()?,
                ("sequence", Value::Number(Number::Unsigned(number))) => one.sequence = number,
                ("cut", Value::Number(Number::Bool(true))) => one.level_and_flags |= FLAG_CUT,
                ("context", Value::Object(pairs)) => context.pairs = texts(pairs)?,
                ("data", Value::Object(fields)) => {
                    one.level_and_flags |= FLAG_ATTRIBUTES;
                    data = fields;
                }
                _ => return None,
            }
        }
        (one.time_ns, one.level_and_flags) = (time_ns?, one.level_and_flags | level?.number());
        let message = message?;
        let is_cut = one.level_and_flags & FLAG_CUT != 0;
        one.put_text(if is_cut { without_cut_note(&message) } else { &message });
        data.iter().try_for_each(|(name, value)| one.put_attribute(name, value))?;
        let mut entries = vec![DictionaryEntry::Site(site)];
        if !context.logger_name.is_empty() || !context.pairs.is_empty() {
            one.context = CONTEXT;
            entries.push(DictionaryEntry::Context(context));
        }
        one.dictionary = Dictionary::of(entries);
        Some(one)
    }

    /// Where it was made.
    #[must_use]
    pub fn origin(&self) -> RecordOrigin<'_> {
        RecordOrigin {
            host: &self.host,
            process: &self.process,
            pid: self.pid,
            thread: &self.thread,
            tid: self.tid,
            ring: self.ring,
        }
    }

    /// As it would be in a ring; its stamp is the time.
    #[must_use]
    pub fn record(&self) -> RingRecord<'_> {
        RingRecord {
            kind: kind::LOG,
            flags: self.level_and_flags,
            sequence: self.sequence,
            stamp: self.time_ns,
            site: SITE,
            context: self.context,
            payload: &self.payload,
            offset: 0,
        }
    }

    /// Appends a text as the payload of a record has it: its length, its bytes, whole words.
    fn put_text(&mut self, text: &str) {
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
        self.payload.extend_from_slice(&length.to_le_bytes());
        self.payload.extend_from_slice(text.as_bytes());
        self.payload.resize(padded(self.payload.len()), 0);
    }

    /// Appends an attribute: its type, the length of its name, the name, the value.
    fn put_attribute(&mut self, name: &str, value: &Value) -> Option<()> {
        let length = u8::try_from(name.len()).ok().filter(|_| name.len() <= NAME_BYTES_MAX)?;
        let (kind, word) = match value {
            Value::Object(_) => return None,
            Value::Text(_) => (ArgumentType::Text, 0),
            Value::Number(Number::Signed(number)) => (ArgumentType::Signed, number.cast_unsigned()),
            Value::Number(Number::Unsigned(number)) => (ArgumentType::Unsigned, *number),
            Value::Number(Number::Float(number)) => (ArgumentType::Float, number.to_bits()),
            Value::Number(Number::Bool(is)) => (ArgumentType::Bool, u64::from(*is)),
        };
        self.payload.extend_from_slice(&[kind as u8, length, 0, 0]);
        self.payload.extend_from_slice(name.as_bytes());
        self.payload.resize(padded(self.payload.len()), 0);
        match value {
            Value::Text(text) => self.put_text(text),
            _ => self.payload.extend_from_slice(&word.to_le_bytes()),
        }
        Some(())
    }
}

impl Value {
    /// A number of 32 bits.
    fn number(&self) -> Option<u32> {
        match self {
            Value::Number(Number::Unsigned(number)) => u32::try_from(*number).ok(),
            _ => None,
        }
    }
}

/// Names and texts.
fn texts(members: Vec<(String, Value)>) -> Option<Vec<(String, String)>> {
    let text = |(name, value)| match value {
        Value::Text(text) => Some((name, text)),
        _ => None,
    };
    members.into_iter().map(text).collect()
}

/// A time as `JsonFormat` writes it, in ns since 1970: 2026-11-22T20:00:00.123456789Z.
fn time_of(text: &str) -> Option<u64> {
    let number = |from: usize, length: usize| -> Option<i64> {
        let digits = text.get(from..from + length)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let marks = [(4, '-'), (7, '-'), (10, 'T'), (13, ':'), (16, ':'), (19, '.'), (29, 'Z')];
    if text.len() != 30
        || marks
            .iter()
            .any(|(at, mark)| !text[..].is_char_boundary(*at) || !text[*at..].starts_with(*mark))
    {
        return None;
    }
    let (month, day) = (number(5, 2)?, number(8, 2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_of_date(number(0, 4)?, month, day);
    let seconds = days * DAY_S + number(11, 2)? * 3600 + number(14, 2)? * 60 + number(17, 2)?;
    let seconds = u64::try_from(seconds).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(number(20, 9)?.cast_unsigned())
}

/// Reads values of JSON; every name that an object has twice comes twice.
struct JsonReader<'a> {
    rest: &'a str,
}

impl JsonReader<'_> {
    /// The next value, with objects this deep.
    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.rest.bytes().next()? {
            b'"' => self.text().map(Value::Text),
            b'{' if depth > 0 => self.object(depth - 1).map(Value::Object),
            _ => {
                let is_end = |one: char| matches!(one, ',' | '}' | ' ');
                let length = self.rest.find(is_end).unwrap_or(self.rest.len());
                let (word, rest) = self.rest.split_at(length);
                self.rest = rest;
                number_of(word).map(Value::Number)
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<Vec<(String, Value)>> {
        self.skip_mark('{')?;
        let mut members = Vec::new();
        if self.skip_mark('}').is_some() {
            return Some(members);
        }
        loop {
            self.space();
            let name = self.text()?;
            self.skip_mark(':')?;
            self.space();
            members.push((name, self.value(depth)?));
            if self.skip_mark(',').is_none() {
                self.skip_mark('}')?;
                return Some(members);
            }
        }
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Takes a mark, and the space before it.
    fn skip_mark(&mut self, mark: char) -> Option<()> {
        self.space();
        self.rest = self.rest.strip_prefix(mark)?;
        Some(())
    }

    fn text(&mut self) -> Option<String> {
        self.rest = self.rest.strip_prefix('"')?;
        let mut text = String::new();
        loop {
            let at = self.rest.find(['"', '\\'])?;
            let (plain, rest) = self.rest.split_at(at);
            text.push_str(plain);
            self.rest = &rest[1..];
            if rest.starts_with('"') {
                return Some(text);
            }
            text.push(self.escaped()?);
        }
    }

    /// The character of an escape, behind its backslash.
    fn escaped(&mut self) -> Option<char> {
        let mark = self.rest.chars().next()?;
        self.rest = &self.rest[mark.len_utf8()..];
        Some(match mark {
            '"' | '\\' | '/' => mark,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let high = self.unit()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high);
                }
                self.rest = self.rest.strip_prefix("\\u")?;
                let low = self.unit()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + low);
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.rest.get(..4)?;
        self.rest = &self.rest[4..];
        let is_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_digits.then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

/// The value of a word that is no text; a number with a point or an exponent is a float.
fn number_of(word: &str) -> Option<Number> {
    match word {
        "true" => return Some(Number::Bool(true)),
        "false" => return Some(Number::Bool(false)),
        _ => {}
    }
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !is_number {
        return None;
    }
    if let Ok(number) = word.parse() {
        return Some(Number::Unsigned(number));
    }
    if let Ok(number) = word.parse() {
        return Some(Number::Signed(number));
    }
    word.parse().ok().map(Number::Float)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JsonFormat, LogRecord, RecordFormat as _};

    #[test]
    fn a_line_becomes_the_same_line() {
        let data = r#"{"n":18446744073709551615,"s":-7,"f":0.1,"e":1e300,"one":1.0,"b":true,"t":"x\ny","n":"again"}"#;
        for line in [
            format!(
                r#"{{"time":"2026-11-22T20:00:00.123456789Z","level":"WARNING","logger":"a.b","host":"h","process":"p","thread":"t","file":"f.rs","routine":"r","pid":7,"tid":8,"line":9,"ring":1,"sequence":12,"message":"{{}} ä \"q\" \\","context":{{"Antenna":"DV01"}},"data":{data}}}"#
            ),
            r#"{"time":"1970-01-01T00:00:00.000000000Z","level":"INFO","pid":0,"tid":0,"line":0,"ring":0,"sequence":0,"message":""}"#.to_owned(),
            r#"{"time":"2026-01-31T00:00:00.000000001Z","level":"ERROR","pid":1,"tid":2,"line":0,"ring":0,"sequence":4294967296,"message":"ab [a text was cut: the record would have been too long: 17 bytes are left out]","cut":true,"data":{"CutBytes":17}}"#.to_owned(),
            r#"{"time":"2026-01-31T00:00:00.000000001Z","level":"ERROR","pid":1,"tid":2,"line":0,"ring":0,"sequence":1,"message":" [a text was cut: the record would have been too long]","cut":true,"data":{}}"#.to_owned(),
        ] {
            let read = ReadRecord::parse(line.as_bytes()).unwrap();
            let record = read.record();
            let record = LogRecord::new(&record, &read.dictionary, read.origin(), read.time_ns);
            let mut again = Vec::new();
            JsonFormat::default().put(&mut again, &record);
            assert_eq!(String::from_utf8(again).unwrap().trim_end(), line);
        }
    }

    #[test]
    fn what_is_no_record_is_none() {
        let sound = r#"{"time":"2026-01-31T00:00:00.000000001Z","level":"INFO","message":"m","data":{"a":1}}"#;
        let read = ReadRecord::parse(sound.as_bytes()).unwrap();
        let record = read.record();
        let values = record.arguments(&[ArgumentType::Text]).unwrap();
        assert!(values.attributes.eq([(&b"a"[..], logring::LogValue::Unsigned(1))]));
        // Every beginning of it, and whatever has another byte somewhere, ends without a panic.
        for at in 0..sound.len() {
            assert!(ReadRecord::parse(&sound.as_bytes()[..at]).is_none(), "{at}");
            for byte in [b'"', b'\\', b'{', b'}', 0xff, b'9', 0] {
                let mut other = sound.as_bytes().to_vec();
                other[at] = byte;
                let _ = ReadRecord::parse(&other);
            }
        }
        let deep = "{\"a\":".repeat(100_000);
        for text in ["", "{}", "[]", "null", "{\"time\":\"2026\"}", r#"{"a":"\ud800"}"#, &deep] {
            assert!(ReadRecord::parse(text.as_bytes()).is_none());
        }
        assert_eq!(time_of("ä026-01-31T00:00:00.00000001Z"), None);
    }
}
