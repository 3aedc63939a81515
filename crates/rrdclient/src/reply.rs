//! Answers of the daemon: read from the connection, with limits, and taken apart.

use std::io::BufRead;

use crate::error::ClientError;

/// Most lines of an answer: a row each second for half a year.
const LINES_MAX: usize = 1 << 24;
/// Longest line of an answer, in bytes: a row of thousands of sources.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Longest answer, in bytes.
const REPLY_BYTES_MAX: usize = 1 << 30;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The number of lines, or below 0 for a refusal.
    pub status: i32,
    /// What follows the number.
    pub message: String,
    /// The lines.
    pub lines: Vec<String>,
}

/// A value of `INFO`.
#[derive(Debug, Clone, PartialEq)]
pub enum InfoField {
    /// A double.
    Double(f64),
    /// A count.
    Count(u64),
    /// A text.
    Text(String),
    /// A whole number.
    Int(i64),
}

/// The answer of `FETCH`.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchReply {
    /// End of the row before the first one, in seconds since 1970.
    pub start_s: i64,
    /// End of the last row, in seconds since 1970.
    pub end_s: i64,
    /// Seconds of a row.
    pub step_s: i64,
    /// Names of the sources.
    pub names: Vec<String>,
    /// Row by row, a value for each source.
    pub values: Vec<f64>,
}

impl Reply {
    pub(crate) fn read(input: &mut impl BufRead) -> Result<Self, ClientError> {
        let mut bytes_left = REPLY_BYTES_MAX;
        let first = read_line(input, &mut bytes_left)?;
        let (number, message) = first.split_once(' ').unwrap_or((&first, ""));
        let status: i32 = number.parse().map_err(|_| ClientError::Closed)?;
        let count = usize::try_from(status).unwrap_or(0);
        if count > LINES_MAX {
            return Err(ClientError::Closed);
        }
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push(read_line(input, &mut bytes_left)?);
        }
        Ok(Self { status, message: message.to_owned(), lines })
    }
}

fn read_line(input: &mut impl BufRead, bytes_left: &mut usize) -> Result<String, ClientError> {
    use std::io::Read as _;
    let mut line = Vec::new();
    let most = LINE_BYTES_MAX.min(*bytes_left);
    input.by_ref().take(most as u64).read_until(b'\n', &mut line)?;
    *bytes_left -= line.len();
    if line.pop() != Some(b'\n') {
        return Err(ClientError::Closed);
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn wrong(command: &'static str, what: impl Into<String>) -> ClientError {
    ClientError::Reply { command, what: what.into() }
}

/// Keys and values of `INFO`: `key type value`.
pub(crate) fn info(reply: &Reply) -> Result<Vec<(String, InfoField)>, ClientError> {
    let unreadable = |line: &str| wrong("info", format!("Unable to parse line: {line}"));
    let mut fields = Vec::new();
    for line in &reply.lines {
        let mut parts = line.splitn(3, ' ');
        let (key, kind) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let text = parts.next().unwrap_or_default();
        let value = match kind {
            "0" => text.parse().ok().map(InfoField::Double),
            "1" => text.parse().ok().map(InfoField::Count),
            "2" => Some(InfoField::Text(text.to_owned())),
            "3" => text.parse().ok().map(InfoField::Int),
            "4" => return Err(wrong("info", "BLOB objects are not supported")),
            _ => return Err(wrong("info", format!("Unsupported info type {kind}"))),
        };
        fields.push((key.to_owned(), value.ok_or_else(|| unreadable(line))?));
    }
    Ok(fields)
}

/// Names and values of `STATS`.
pub(crate) fn stats(reply: &Reply) -> Vec<(String, u64)> {
    let pair = |line: &String| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_owned(), value.trim().parse().ok()?))
    };
    reply.lines.iter().filter_map(pair).collect()
}

/// The rows of `FETCH`.
pub(crate) fn fetch(reply: &Reply) -> Result<FetchReply, ClientError> {
    /// The only version of this answer.
    const FLUSH_VERSION: i64 = 1;
    let mut lines = reply.lines.iter();
    let mut header = |name: &str| {
        let line =
            lines.next().ok_or_else(|| wrong("fetch", "Premature end of response packet"))?;
        let (key, value) = line
            .split_once(": ")
            .ok_or_else(|| wrong("fetch", format!("Unable to parse header `{line}'")))?;
        if key != name {
            let what = format!("Unexpected header line: Expected `{name}', got `{key}'");
            return Err(wrong("fetch", what));
        }
        Ok(value.to_owned())
    };
    let mut number = |name: &str| {
        let text = header(name)?;
        let unreadable = || wrong("fetch", format!("Unable to parse header `{name}'"));
        text.trim().parse::<i64>().map_err(|_| unreadable())
    };
    let version = number("FlushVersion")?;
    if version != FLUSH_VERSION {
        let what = format!("Don't know how to handle flush format version {version}.");
        return Err(wrong("fetch", what));
    }
    let (start_s, end_s) = (number("Start")?, number("End")?);
    let step_s = number("Step")?;
    let columns = number("DSCount")?;
    let names: Vec<String> = header("DSName")?.split_whitespace().map(str::to_owned).collect();
    if start_s < 0 || start_s > end_s {
        let what = format!("Malformed start and end times: start = {start_s}; end = {end_s};");
        return Err(wrong("fetch", what));
    }
    if step_s < 1 {
        return Err(wrong("fetch", format!("Invalid number for Step: {step_s}")));
    }
    if usize::try_from(columns) != Ok(names.len()) || names.is_empty() {
        return Err(wrong("fetch", format!("Invalid number for DSCount: {columns}")));
    }
    let (rows, expected) = (lines.len(), (end_s - start_s) / step_s);
    if i64::try_from(rows) != Ok(expected) {
        return Err(wrong("fetch", format!("Got {rows} lines, expected {expected}")));
    }
    let mut values = Vec::with_capacity(rows * names.len());
    for line in lines {
        let row = line.split_once(':').map_or("", |(_, row)| row);
        let before = values.len();
        for cell in row.split_whitespace() {
            values.push(cell.parse().map_err(|_| wrong("fetch", "Cannot parse value line"))?);
        }
        if values.len() - before != names.len() {
            return Err(wrong("fetch", "Cannot parse value line"));
        }
    }
    Ok(FetchReply { start_s, end_s, step_s, names, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Reply, ClientError> {
        Reply::read(&mut text.as_bytes())
    }

    #[test]
    fn replies_are_read_and_broken_ones_refused() {
        let reply = of("2 Two lines\na\nb\r\n").unwrap();
        assert_eq!((reply.status, reply.message.as_str()), (2, "Two lines"));
        assert_eq!(reply.lines, ["a", "b"]);
        assert_eq!(of("-1 No such file\n").unwrap().status, -1);
        for broken in ["", "x\n", "1 a\n", "1 a\nb", "2000000000 many\n", "99999999999 a\n"] {
            assert!(of(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn rows_are_read_and_broken_ones_refused() {
        let head = "FlushVersion: 1\nStart: 60\nEnd: 180\nStep: 60\nDSCount: 2\nDSName: a b\n";
        let whole = format!("8 Success\n{head}120: 1.5 nan\n180: -nan 2e3\n");
        let rows = fetch(&of(&whole).unwrap()).unwrap();
        assert_eq!((rows.start_s, rows.end_s, rows.step_s), (60, 180, 60));
        assert_eq!(rows.names, ["a", "b"]);
        assert!(rows.values[1].is_nan() && rows.values[2].is_nan());
        assert_eq!((rows.values[0], rows.values[3]), (1.5, 2000.0));
        for (from, to) in [
            ("FlushVersion: 1", "FlushVersion: 2"),
            ("Start: 60", "Start: 600"),
            ("Start: 60", "End: 60"),
            ("Step: 60", "Step: 0"),
            ("DSCount: 2", "DSCount: 3"),
            ("DSCount: 2", "DSCount 2"),
            ("120: 1.5 nan", "120: 1.5"),
            ("120: 1.5 nan", "120: 1.5 x"),
            ("Step: 60", "Step: 30"),
        ] {
            let reply = of(&whole.replacen(from, to, 1)).unwrap();
            assert!(fetch(&reply).is_err(), "{from} {to}");
        }
    }
}
