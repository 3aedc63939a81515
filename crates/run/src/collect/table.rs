//! `--results` as a table: a row for each job, with its output in the last two columns.
//!
//! CSV and TSV quote a field that contains a blank, the separator, a quotation mark or NUL; JSON is
//! one object a line.  All are as GNU parallel writes them, and bytes that are not UTF-8 are not
//! changed.  Output is written in pieces, however long it is.

use super::CollectError;
use super::TableFormat;
use super::sink::{Buffers, Text};
use crate::job::JobResult;
use crate::joblog::push_seconds;
use template::Record;

/// Receives the pieces of a row.
type Take<'a> = dyn FnMut(&[u8]) -> Result<(), CollectError> + 'a;

const COLUMNS: [&str; 9] =
    ["Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command"];

/// The header of a table for jobs with as many values as this one; empty for JSON.
pub(super) fn header(format: TableFormat, names: &[Vec<u8>], records: &[Record]) -> Vec<u8> {
    let mut row = Vec::new();
    let Some(separator) = separator(format) else { return row };
    for name in COLUMNS {
        row.extend_from_slice(name.as_bytes());
        row.push(separator);
    }
    for (at, _) in records.iter().flat_map(|record| &record.values).enumerate() {
        match names.get(at) {
            Some(name) => push_quoted(name, separator, &mut row),
            None => row.extend_from_slice(format!("V{}", at + 1).as_bytes()),
        }
        row.push(separator);
    }
    row.extend_from_slice(b"Stdout");
    row.push(separator);
    row.extend_from_slice(b"Stderr\n");
    row
}

fn separator(format: TableFormat) -> Option<u8> {
    match format {
        TableFormat::Csv => Some(b','),
        TableFormat::Tsv => Some(b'\t'),
        TableFormat::Json => None,
    }
}

/// Writes the row of a job in pieces.
pub(super) fn row(
    format: TableFormat,
    finished: &JobResult,
    stdout: &Text<'_>,
    stderr: &Text<'_>,
    buffers: &mut Buffers,
    take: &mut Take<'_>,
) -> Result<(), CollectError> {
    let mut row = Vec::new();
    let Some(separator) = separator(format) else {
        push_json(finished, &mut row);
        row.extend_from_slice(b"\"Stdout\": \"");
        take(&row)?;
        each_escaped(stdout, buffers, take)?;
        take(b"\", \"Stderr\": \"")?;
        each_escaped(stderr, buffers, take)?;
        return take(b"\" }\n");
    };
    push_columns(finished, separator, &mut row);
    take(&row)?;
    each_quoted(stdout, separator, buffers, take)?;
    take(&[separator])?;
    each_quoted(stderr, separator, buffers, take)?;
    take(b"\n")
}

fn push_columns(finished: &JobResult, separator: u8, row: &mut Vec<u8>) {
    row.extend_from_slice(finished.seq.to_string().as_bytes());
    row.push(separator);
    push_quoted(finished.host.as_bytes(), separator, row);
    row.push(separator);
    push_seconds(finished.start_ns, 0, row);
    row.push(separator);
    push_seconds(finished.wall_ns, 0, row);
    row.push(separator);
    for number in [finished.send_bytes, finished.receive_bytes] {
        row.extend_from_slice(number.to_string().as_bytes());
        row.push(separator);
    }
    for number in [finished.outcome.exit_value(), finished.outcome.signal()] {
        row.extend_from_slice(number.to_string().as_bytes());
        row.push(separator);
    }
    push_quoted(&finished.command, separator, row);
    row.push(separator);
    for value in finished.records.iter().flat_map(|record| &record.values) {
        push_quoted(value, separator, row);
        row.push(separator);
    }
}

fn push_json(finished: &JobResult, row: &mut Vec<u8>) {
    row.extend_from_slice(format!("{{ \"Seq\": {}, \"Host\": \"", finished.seq).as_bytes());
    push_escaped(finished.host.as_bytes(), row);
    row.extend_from_slice(b"\", \"Starttime\": ");
    push_seconds(finished.start_ns, 0, row);
    row.extend_from_slice(b", \"JobRuntime\": ");
    push_seconds(finished.wall_ns, 0, row);
    let numbers = format!(
        ", \"Send\": {}, \"Receive\": {}, \"Exitval\": {}, \"Signal\": {}, \"Command\": \"",
        finished.send_bytes,
        finished.receive_bytes,
        finished.outcome.exit_value(),
        finished.outcome.signal()
    );
    row.extend_from_slice(numbers.as_bytes());
    push_escaped(&finished.command, row);
    row.extend_from_slice(b"\", \"V\": [ ");
    for (at, value) in finished.records.iter().flat_map(|record| &record.values).enumerate() {
        row.extend_from_slice(if at == 0 { b"\"" } else { b",\"" });
        push_escaped(value, row);
        row.push(b'"');
    }
    row.extend_from_slice(b" ], ");
}

fn needs_quotes(bytes: &[u8], separator: u8) -> bool {
    bytes.iter().any(|&byte| {
        byte == separator || matches!(byte, b' ' | b'"' | 0 | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
    })
}

fn push_doubled(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
}

fn push_quoted(bytes: &[u8], separator: u8, out: &mut Vec<u8>) {
    if needs_quotes(bytes, separator) {
        out.push(b'"');
        push_doubled(bytes, out);
        out.push(b'"');
    } else {
        out.extend_from_slice(bytes);
    }
}

/// Writes a text as one field.  It is read twice, since only at its end is it known that no quotes
/// are needed.
fn each_quoted(
    text: &Text<'_>,
    separator: u8,
    buffers: &mut Buffers,
    take: &mut Take<'_>,
) -> Result<(), CollectError> {
    let mut quotes = false;
    text.each_piece(buffers, |piece| {
        quotes = quotes || needs_quotes(piece, separator);
        Ok(())
    })?;
    if !quotes {
        return text.each_piece(buffers, take);
    }
    let mut doubled = Vec::new();
    take(b"\"")?;
    text.each_piece(buffers, |piece| {
        doubled.clear();
        push_doubled(piece, &mut doubled);
        take(&doubled)
    })?;
    take(b"\"")
}

fn push_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
}

fn each_escaped(
    text: &Text<'_>,
    buffers: &mut Buffers,
    take: &mut Take<'_>,
) -> Result<(), CollectError> {
    let mut escaped = Vec::new();
    text.each_piece(buffers, |piece| {
        escaped.clear();
        push_escaped(piece, &mut escaped);
        take(&escaped)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Outcome;

    fn written(format: TableFormat, values: &[&str], stdout: &[u8], stderr: &[u8]) -> String {
        let finished = JobResult {
            seq: 3,
            slot: 1,
            host: ":".into(),
            start_ns: 1_795_284_754_155_400_000,
            wall_ns: 2_499_999,
            send_bytes: 0,
            receive_bytes: 6,
            outcome: Outcome::Exited(0),
            attempt: 1,
            command: b"echo 'q\"r,s'; echo err'q\"r,s' >&2; ".to_vec(),
            records: values.iter().map(|value| Record::of(*value)).collect(),
            usage: None,
        };
        let mut out = Vec::new();
        let mut buffers = Buffers::default();
        let (stdout, stderr) = (Text::plain(stdout), Text::plain(stderr));
        row(format, &finished, &stdout, &stderr, &mut buffers, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })
        .expect("a row");
        String::from_utf8(out).expect("text")
    }

    /// Rows as GNU parallel wrote them, except for times.
    #[test]
    fn rows_are_written_as_others_read_them() {
        assert_eq!(
            written(TableFormat::Csv, &["q\"r,s"], b"q\"r,s\n", b"errq\"r,s\n"),
            "3,:,1795284754.155,0.002,0,6,0,0,\"echo 'q\"\"r,s'; echo err'q\"\"r,s' >&2; \",\
             \"q\"\"r,s\",\"q\"\"r,s\n\",\"errq\"\"r,s\n\"\n"
        );
        assert_eq!(
            written(TableFormat::Tsv, &["a", "a,b"], b"a,b", b"a\x0bb"),
            "3\t:\t1795284754.155\t0.002\t0\t6\t0\t0\t\"echo 'q\"\"r,s'; echo err'q\"\"r,s' >&2; \
             \"\ta\ta,b\ta,b\t\"a\x0bb\"\n"
        );
        assert_eq!(
            written(TableFormat::Json, &["t\tu\u{1}\u{7f}ö/", "\\"], b"x\"\n", b""),
            "{ \"Seq\": 3, \"Host\": \":\", \"Starttime\": 1795284754.155, \"JobRuntime\": 0.002, \
             \"Send\": 0, \"Receive\": 6, \"Exitval\": 0, \"Signal\": 0, \"Command\": \"echo \
             'q\\\"r,s'; echo err'q\\\"r,s' >&2; \", \"V\": [ \"t\\u0009u\\u0001\u{7f}ö/\",\"\\\\\" \
             ], \"Stdout\": \"x\\\"\\u000a\", \"Stderr\": \"\" }\n"
        );
    }

    #[test]
    fn only_what_others_quote_is_quoted() {
        for (field, quoted) in [
            ("a b", true),
            ("a,b", true),
            ("a\tb", true),
            ("a\"b", true),
            ("a\0b", true),
            ("a\rb", true),
            ("a\x0cb", true),
            ("a;b", false),
            ("a'b", false),
            ("é", false),
            ("a\x01b", false),
            ("a\x7fb", false),
            ("", false),
            ("\\", false),
        ] {
            assert_eq!(needs_quotes(field.as_bytes(), b','), quoted, "{field:?}");
        }
        assert!(!needs_quotes(b"a,b", b'\t'));
    }

    #[test]
    fn the_header_names_the_values() {
        let records = [Record { values: vec![b"1".to_vec(), b"2".to_vec()] }];
        let names = [b"a b".to_vec(), b"c\"d".to_vec()];
        assert_eq!(
            header(TableFormat::Csv, &names, &records),
            b"Seq,Host,Starttime,JobRuntime,Send,Receive,Exitval,Signal,Command,\"a b\",\"c\"\"d\",\
              Stdout,Stderr\n"
        );
        assert!(header(TableFormat::Tsv, &[], &records).ends_with(b"\tV1\tV2\tStdout\tStderr\n"));
        assert!(header(TableFormat::Json, &[], &records).is_empty());
    }
}
