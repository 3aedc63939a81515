//! A message of syslog: RFC 5424, RFC 3164, and what programs send by `syslog(3)`, which lacks the host.

use logring::LogValue;

use super::fields::{left_out, level_of};
use super::frames::InputFrame;
use super::output::{Field, InputRecords};

/// Facilities by their numbers.
const FACILITIES: [&str; 24] = [
    "kern",
    "user",
    "mail",
    "daemon",
    "auth",
    "syslog",
    "lpr",
    "news",
    "uucp",
    "cron",
    "authpriv",
    "ftp",
    "ntp",
    "security",
    "console",
    "solaris-cron",
    "local0",
    "local1",
    "local2",
    "local3",
    "local4",
    "local5",
    "local6",
    "local7",
];
/// What a message has that says nothing of it: `user.notice` (RFC 3164, 4.3.3).
const PRIORITY: u16 = 13;
/// Parameters of structured data that are kept; further ones stay in the text `StructuredData`.
const PARAMETERS_MAX: usize = 64;
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

/// What a message says.  What it does not say is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyslogMessage<'a> {
    /// From 0, emergency, to 7, debug.
    pub severity: u8,
    /// Name of the facility.
    pub facility: &'static str,
    /// The time, as it is written.
    pub time: &'a [u8],
    /// Name of the host.
    pub host: &'a [u8],
    /// Name of the program.
    pub program: &'a [u8],
    /// Number of its process.
    pub process: &'a [u8],
    /// What kind of message it is.
    pub message_id: &'a [u8],
    /// `ID.NAME` and values of structured data.
    pub data: Vec<(String, Vec<u8>)>,
    /// Structured data that is malformed or too much, as it is written.
    pub rest: &'a [u8],
    /// The text.
    pub text: &'a [u8],
}

impl<'a> SyslogMessage<'a> {
    /// Reads a message.  What is not as it should be is part of the text.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Self {
        let end = bytes.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r' | 0));
        let bytes = &bytes[..end.map_or(0, |last| last + 1)];
        let (priority, bytes) = take_priority(bytes).unwrap_or((PRIORITY, bytes));
        let mut message = SyslogMessage {
            severity: (priority % 8) as u8,
            facility: FACILITIES[usize::from(priority / 8).min(FACILITIES.len() - 1)],
            text: bytes,
            ..SyslogMessage::default()
        };
        match bytes.strip_prefix(b"1 ") {
            Some(rest) => message.take_new(rest),
            None => message.take_old(bytes),
        }
        message
    }

    /// RFC 5424 behind `<PRI>1 `.
    fn take_new(&mut self, mut rest: &'a [u8]) {
        for field in [0, 1, 2, 3, 4] {
            let Some(end) = rest.iter().position(|byte| *byte == b' ') else { return };
            let value = if &rest[..end] == b"-" { &rest[..0] } else { &rest[..end] };
            match field {
                0 => self.time = value,
                1 => self.host = value,
                2 => self.program = value,
                3 => self.process = value,
                _ => self.message_id = value,
            }
            rest = &rest[end + 1..];
            self.text = rest;
        }
        match rest.strip_prefix(b"-") {
            Some(behind) if behind.first().is_none_or(|byte| *byte == b' ') => rest = behind,
            _ => {
                let Some(behind) = self.take_data(rest) else {
                    (self.rest, self.text) = (b"", rest);
                    self.data.clear();
                    return;
                };
                rest = behind;
            }
        }
        let text = rest.strip_prefix(b" ").unwrap_or(rest);
        self.text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    }

    /// Structured data; gives what is behind it.
    fn take_data(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let mut rest = bytes;
        while let Some(inside) = rest.strip_prefix(b"[") {
            let end = inside.iter().position(|byte| matches!(byte, b' ' | b']'))?;
            let id = String::from_utf8_lossy(&inside[..end]).into_owned();
            rest = &inside[end..];
            while let Some(parameter) = rest.strip_prefix(b" ") {
                let equals = parameter.iter().position(|byte| *byte == b'=')?;
                let name = String::from_utf8_lossy(&parameter[..equals]);
                let (value, behind) = take_quoted(parameter[equals + 1..].strip_prefix(b"\"")?)?;
                if self.data.len() < PARAMETERS_MAX {
                    self.data.push((format!("{id}.{name}"), value));
                } else {
                    self.rest = bytes;
                }
                rest = behind;
            }
            rest = rest.strip_prefix(b"]")?;
        }
        (rest.len() < bytes.len()).then_some(rest)
    }

    /// `Oct 11 22:14:15 host program[123]: text`, without what is missing; the time may be one of RFC 3339.
    fn take_old(&mut self, bytes: &'a [u8]) {
        let Some(length) = old_time(bytes).or_else(|| new_time(bytes)) else {
            return;
        };
        self.time = &bytes[..length];
        let mut rest = bytes[length..].strip_prefix(b" ").unwrap_or(&bytes[length..]);
        let token = |rest: &'a [u8]| {
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            (&rest[..end], rest[end..].strip_prefix(b" "))
        };
        let is_tag = |token: &[u8]| token.ends_with(b":") || token.contains(&b'[');
        if let (first, Some(behind)) = token(rest)
            && !is_tag(first)
            && is_tag(token(behind).0)
        {
            (self.host, rest) = (first, behind);
        }
        self.text = rest;
        let end = rest.iter().position(|byte| matches!(byte, b':' | b'[' | b' '));
        let Some(end) = end.filter(|end| *end > 0 && *end <= 255) else { return };
        let behind = &rest[end..];
        let (process, behind) = match behind.strip_prefix(b"[") {
            Some(inside) => match inside.iter().position(|byte| *byte == b']') {
                Some(close) => (&inside[..close], &inside[close + 1..]),
                None => return,
            },
            None => (&rest[..0], behind),
        };
        let Some(text) = behind.strip_prefix(b":") else { return };
        (self.program, self.process) = (&rest[..end], process);
        self.text = text.strip_prefix(b" ").unwrap_or(text);
    }

    /// What the message says beside its text, as names and values.
    pub(super) fn fields(&self) -> Vec<Field<'_>> {
        // Those below, and what of the frame is left out.
        let mut fields = Vec::with_capacity(8 + self.data.len());
        fields.push(("Facility", LogValue::Text(self.facility.as_bytes())));
        for (name, value) in [
            ("Time", self.time),
            ("Host", self.host),
            ("Process", self.program),
            ("Pid", self.process),
            ("MessageId", self.message_id),
            ("StructuredData", self.rest),
        ] {
            if !value.is_empty() {
                fields.push((name, LogValue::Text(value)));
            }
        }
        fields.extend(self.data.iter().map(|(name, value)| (name.as_str(), LogValue::Text(value))));
        fields
    }
}

/// Writes the message of a frame.
pub(super) fn write(records: InputRecords, frame: &InputFrame<'_>) {
    let message = SyslogMessage::parse(frame.bytes);
    let mut fields = message.fields();
    fields.extend(left_out(frame));
    records.write(level_of(message.severity), message.text, &fields);
}

/// `<PRI>` with a number up to 191.
fn take_priority(bytes: &[u8]) -> Option<(u16, &[u8])> {
    let rest = bytes.strip_prefix(b"<")?;
    let end = rest.iter().take(4).position(|byte| *byte == b'>')?;
    let digits = std::str::from_utf8(&rest[..end]).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|number| is_number && *number < 192)?;
    Some((number, &rest[end + 1..]))
}

/// A value up to its `"`, in which `\` stands before `"`, `\` and `]`; and what is behind it.
fn take_quoted(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut value, mut at) = (Vec::new(), 0);
    loop {
        match bytes.get(at)? {
            b'"' => return Some((value, &bytes[at + 1..])),
            b'\\' if matches!(bytes.get(at + 1), Some(b'"' | b'\\' | b']')) => {
                value.push(bytes[at + 1]);
                at += 2;
            }
            byte => {
                value.push(*byte);
                at += 1;
            }
        }
    }
}

/// The length of `Mmm dd hh:mm:ss`.
fn old_time(bytes: &[u8]) -> Option<usize> {
    let time = bytes.get(..15)?;
    let is_like = time.iter().zip(b"Mmm dd hh:mm:ss").all(|(byte, like)| match like {
        b' ' | b':' => byte == like,
        b'd' => byte.is_ascii_digit() || *byte == b' ',
        b'h' | b's' => byte.is_ascii_digit(),
        _ => byte.is_ascii_alphanumeric(),
    });
    (is_like && MONTHS.contains(&&time[..3])).then_some(15)
}

/// The length of a time of RFC 3339.
fn new_time(bytes: &[u8]) -> Option<usize> {
    let end = bytes.iter().position(|byte| *byte == b' ')?;
    let time = &bytes[..end];
    let is_like = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        10 => *byte == b'T',
        13 | 16 => *byte == b':',
        0..19 => byte.is_ascii_digit(),
        _ => byte.is_ascii_digit() || b".+-:Z".contains(byte),
    };
    ((19..=40).contains(&end) && time.iter().enumerate().all(is_like)).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        let message = SyslogMessage::parse(bytes);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let data: Vec<String> =
            message.data.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        let parts =
            [message.time, message.host, message.program, message.process, message.message_id];
        let parts: Vec<String> = parts.into_iter().map(text).collect();
        let (severity, facility) = (message.severity, message.facility);
        let (data, text) = (data.join(","), text(message.text));
        format!("{facility}.{severity} {} {data} {text:?}", parts.join("|"))
    }

    #[test]
    fn messages_of_both_rfcs_and_of_programs() {
        let cases: [(&[u8], &str); 20] = [
            // RFC 5424, 6.5.
            (
                b"<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \xef\xbb\xbf'su root' failed",
                "auth.2 2003-10-11T22:14:15.003Z|mymachine.example.com|su||ID47  \"'su root' failed\"",
            ),
            (
                b"<165>1 2003-10-11T22:14:15.003Z m evntslog - ID47 [e@32473 iut=\"3\" s=\"A\\\"\\]\\\\\\x\"][p@1] text",
                "local4.5 2003-10-11T22:14:15.003Z|m|evntslog||ID47 e@32473.iut=3,e@32473.s=A\"]\\\\x \"text\"",
            ),
            (b"<165>1 - - - - - -", "local4.5 ||||  \"\""),
            (b"<165>1 - - - - - [a]", "local4.5 ||||  \"\""),
            (b"<165>1 - - a 7 - [a b=\"c] text", "local4.5 ||a|7|  \"[a b=\\\"c] text\""),
            (b"<165>1 t h", "local4.5 t||||  \"h\""),
            // RFC 3164, 5.4.
            (
                b"<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick",
                "auth.2 Oct 11 22:14:15|mymachine|su||  \"'su root' failed for lonvick\"",
            ),
            (b"Use the BFG!", "user.5 ||||  \"Use the BFG!\""),
            (
                b"<13>Feb  5 17:32:18 10.0.0.99 prog[12]: x\n\0",
                "user.5 Feb  5 17:32:18|10.0.0.99|prog|12|  \"x\"",
            ),
            (b"<13>Feb  5 17:32:18 prog[12]: a b: c", "user.5 Feb  5 17:32:18||prog|12|  \"a b: c\""),
            (b"<13>Feb  5 17:32:18 prog: a b: c", "user.5 Feb  5 17:32:18||prog||  \"a b: c\""),
            (b"<13>Feb  5 17:32:18 no tag here", "user.5 Feb  5 17:32:18||||  \"no tag here\""),
            (
                b"<0>2026-11-26T18:00:00.1+01:00 h p: x",
                "kern.0 2026-11-26T18:00:00.1+01:00|h|p||  \"x\"",
            ),
            (b"<192>x", "user.5 ||||  \"<192>x\""),
            (b"<>x", "user.5 ||||  \"<>x\""),
            (b"<+3>x", "user.5 ||||  \"<+3>x\""),
            (b"<13", "user.5 ||||  \"<13\""),
            (b"<13>", "user.5 ||||  \"\""),
            (b"", "user.5 ||||  \"\""),
            (b"<191>\xff\0\x01", "local7.7 ||||  \"\u{fffd}\\0\\u{1}\""),
        ];
        for (bytes, expected) in cases {
            assert_eq!(shown(bytes), expected);
        }
    }

    #[test]
    fn hostile_messages_are_texts() {
        let mut random = testkit::Random::from_seed(5);
        let parts: [&[u8]; 14] = [
            b"<13>",
            b"1 ",
            b"Oct 11 22:14:15 ",
            b"[",
            b"]",
            b"\"",
            b"\\",
            b"=",
            b" ",
            b"a:",
            b"-",
            b"\xff",
            b"\0",
            b"2026-11-26T18:00:00Z",
        ];
        for _ in 0..testkit::share(200_000) {
            let count = random.below(20);
            let bytes: Vec<u8> = (0..count)
                .flat_map(|_| parts[random.below(parts.len() as u64) as usize])
                .copied()
                .collect();
            let message = SyslogMessage::parse(&bytes);
            assert!(message.text.len() <= bytes.len() && message.data.len() <= PARAMETERS_MAX);
        }
        let many = (0..100).map(|number| format!(" n{number}=\"v\"")).collect::<String>();
        let text = format!("<13>1 - - - - - [id{many}] text");
        let message = SyslogMessage::parse(text.as_bytes());
        assert_eq!((message.data.len(), message.text), (PARAMETERS_MAX, &b"text"[..]));
        assert!(message.rest.starts_with(b"[id n0"));
    }
}
