//! The journal, by `journalctl -o export`: `NAME=value` lines, or a name, a length and bytes; an empty line
//! ends an entry.  The cursor is the journal's own.  The journal is that of this machine, or what a folder has:
//! those of other machines, which `systemd-journal-remote` has taken.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Read as _};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::process::{Child, Command, Stdio};

use logring::{LogLevel, LogValue};

use super::cursor::{CURSOR, Written};
use super::fields::{LEFT_OUT, level_of, wait_for};
use super::{InputPlace, PATIENCE, TEXT_BYTES_MAX, later};

/// Fields of an entry that are kept.
const FIELDS_MAX: usize = 64;
/// Longest name of a field.
const NAME_MAX: usize = 64;
/// Pauses after which a journalctl that has ended is started again.
const PAUSES: u32 = 10;

/// The journal of this machine, or of a folder, which must be there.
pub(super) fn open(place: InputPlace) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
    if !place.target.is_empty() {
        std::fs::read_dir(&place.target)?;
    }
    later(place, run)
}

fn run(place: &mut InputPlace) -> io::Result<()> {
    let mut cursor = place.cursor.take().map_or(Vec::new(), |saved| match saved.written {
        Written::Text(text) => text,
        _ => saved.place,
    });
    loop {
        let mut child = start(place, &cursor)?;
        let done = read_entries(place, &mut child, &mut cursor);
        let _ = child.kill();
        let status = child.wait()?;
        done?;
        if place.is_ending() || place.control.is_once {
            return Ok(());
        }
        place.records.write_own(
            LogLevel::Warning,
            &format!("journalctl has ended ({status}): it is started again"),
        );
        for _ in 0..PAUSES {
            if place.is_ending() {
                return Ok(());
            }
            std::thread::sleep(PATIENCE);
        }
    }
}

fn start(place: &InputPlace, cursor: &[u8]) -> io::Result<Child> {
    let mut command = Command::new("journalctl");
    command.args(["--output=export", "--quiet", "--no-pager", "--all"]);
    if !place.target.is_empty() {
        command.arg("--directory").arg(&place.target);
    }
    if !place.control.is_once {
        command.args(["--follow", "--no-tail"]);
    }
    if !cursor.is_empty() {
        command.arg(format!("--after-cursor={}", String::from_utf8_lossy(cursor)));
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("journalctl: {error}")))
}

fn read_entries(place: &mut InputPlace, child: &mut Child, cursor: &mut Vec<u8>) -> io::Result<()> {
    let Some(output) = child.stdout.take() else { return Ok(()) };
    let mut reader = BufReader::with_capacity(64 << 10, output);
    let mut entry = JournalEntry::default();
    while !place.is_ending() {
        if reader.buffer().is_empty() && !wait_for(&[reader.get_ref().as_fd()])?[0] {
            continue;
        }
        if !entry.read(&mut reader)? {
            return Ok(());
        }
        if place.cursor.is_due() {
            place.cursor.save(cursor)?;
        }
        let Some(own) = entry.value("__CURSOR") else { continue };
        let fields = entry.fields(own);
        let priority = entry.value("PRIORITY").and_then(|value| value.first().copied());
        let severity = priority.map_or(6, |digit| digit.wrapping_sub(b'0'));
        place.records.write(
            level_of(severity),
            entry.value("MESSAGE").unwrap_or_default(),
            &fields,
        );
        cursor.clear();
        cursor.extend_from_slice(own);
    }
    Ok(())
}

/// An entry; its memory serves the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct JournalEntry {
    /// Names and values, one after the other.
    bytes: Vec<u8>,
    fields: Vec<FieldPlace>,
    left_out: u64,
}

/// Where in the bytes of an entry a field is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldPlace {
    name: Range<usize>,
    value: Range<usize>,
}

/// Fields that are shown under names that other inputs use too.
fn shared_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "SYSLOG_IDENTIFIER" => "Process",
        "_PID" => "Pid",
        "_HOSTNAME" => "Host",
        "_SYSTEMD_UNIT" => "Unit",
        "SYSLOG_FACILITY" => "Facility",
        "__REALTIME_TIMESTAMP" => "TimeMicroseconds",
        _ => return None,
    })
}

impl JournalEntry {
    fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.fields.iter().map(|field| {
            // `add` has made it so.
            let name = std::str::from_utf8(&self.bytes[field.name.clone()]).unwrap_or_default();
            (name, &self.bytes[field.value.clone()])
        })
    }

    fn value(&self, name: &str) -> Option<&[u8]> {
        self.all().find(|(one, _)| *one == name).map(|(_, value)| value)
    }

    /// Names and values beside the message: those of [`shared_name`], and those that programs have set.
    fn fields<'a>(&'a self, cursor: &'a [u8]) -> Vec<super::output::Field<'a>> {
        let mut fields = Vec::with_capacity(self.fields.len() + 2);
        for (name, value) in self.all() {
            let is_own = !name.starts_with('_')
                && !matches!(name, "MESSAGE" | "PRIORITY" | "SYSLOG_PID" | "SYSLOG_TIMESTAMP");
            if let Some(name) = shared_name(name).or_else(|| is_own.then_some(name)) {
                fields.push((name, LogValue::Text(value)));
            }
        }
        if self.left_out > 0 {
            fields.push((LEFT_OUT, LogValue::Unsigned(self.left_out)));
        }
        fields.push((CURSOR, LogValue::Text(cursor)));
        fields
    }

    /// Reads an entry in place of this one; `false`: there is no whole one any more.
    fn read(&mut self, reader: &mut impl BufRead) -> io::Result<bool> {
        self.bytes.clear();
        self.fields.clear();
        self.left_out = 0;
        loop {
            let begin = self.bytes.len();
            let most = NAME_MAX + 1 + TEXT_BYTES_MAX;
            if reader.by_ref().take(most as u64).read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(false);
            }
            if self.bytes.pop_if(|byte| *byte == b'\n').is_none() {
                // The rest of a line that is too long, which ends with it.
                self.left_out += skip_line(reader)?;
            } else if self.bytes.len() == begin {
                if self.fields.is_empty() {
                    continue;
                }
                return Ok(true);
            }
            match memchr::memchr(b'=', &self.bytes[begin..]) {
                Some(length) => {
                    let name = begin..begin + length;
                    self.add(FieldPlace { value: name.end + 1..self.bytes.len(), name });
                }
                None if !self.read_bytes(begin, reader)? => return Ok(false),
                None => {}
            }
        }
    }

    /// Reads the value of a field whose name is there: its length, and so many bytes; `false`: it is not
    /// whole.
    fn read_bytes(&mut self, begin: usize, reader: &mut impl BufRead) -> io::Result<bool> {
        let name = begin..self.bytes.len();
        let mut length = [0; 8];
        if reader.read_exact(&mut length).is_err() {
            return Ok(false);
        }
        let length = u64::from_le_bytes(length);
        let kept = length.min(TEXT_BYTES_MAX as u64);
        reader.by_ref().take(kept).read_to_end(&mut self.bytes)?;
        let rest = length - kept;
        let skipped = io::copy(&mut reader.by_ref().take(rest), &mut io::sink())?;
        let value = name.end..self.bytes.len();
        if value.len() as u64 != kept || skipped != rest || !ends_line(reader)? {
            return Ok(false);
        }
        self.left_out += rest;
        self.add(FieldPlace { name, value });
        Ok(true)
    }

    /// Adds the field that is at the end of the bytes.
    fn add(&mut self, mut field: FieldPlace) {
        let values: usize = self.fields.iter().map(|field| field.value.len()).sum();
        // A record has half a megabyte, and the cursor must be in it.
        if self.fields.len() >= FIELDS_MAX || values + field.value.len() > 3 * TEXT_BYTES_MAX {
            self.left_out += field.value.len() as u64;
            self.bytes.truncate(field.name.start);
            return;
        }
        let begin = field.name.start;
        if let Cow::Owned(name) = String::from_utf8_lossy(&self.bytes[field.name.clone()]) {
            drop(self.bytes.splice(field.name, name.bytes()));
            field.name = begin..begin + name.len();
            field.value = self.bytes.len() - field.value.len()..self.bytes.len();
        }
        self.fields.push(field);
    }
}

/// Passes over the rest of a line; gives its bytes.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let bytes = reader.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (length, is_over) = (end.map_or(bytes.len(), |at| at + 1), bytes.is_empty());
        skipped += (length - usize::from(end.is_some())) as u64;
        reader.consume(length);
        if end.is_some() || is_over {
            return Ok(skipped);
        }
    }
}

fn ends_line(reader: &mut impl BufRead) -> io::Result<bool> {
    let mut byte = [0];
    Ok(reader.read(&mut byte)? == 1 && byte[0] == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(bytes: &[u8]) -> Vec<JournalEntry> {
        let mut reader = BufReader::with_capacity(7, bytes);
        let mut entry = JournalEntry::default();
        let next = || entry.read(&mut reader).unwrap().then(|| entry.clone());
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn entries_have_texts_and_bytes() {
        let mut bytes = b"__CURSOR=s=1;i=2\nPRIORITY=3\nMESSAGE\n".to_vec();
        bytes.extend_from_slice(&6_u64.to_le_bytes());
        bytes.extend_from_slice(b"a\nb\0\xff=\nKEY=v=w\n_COMM=x\n\n\n__CURSOR=s=2\nMESSAGE=\n\n");
        bytes.extend_from_slice(b"__CURSOR=s=3\nMESSAGE=cut off");
        let found = entries(&bytes);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].value("MESSAGE"), Some(&b"a\nb\0\xff="[..]));
        let cursor = found[0].value("__CURSOR").unwrap();
        let fields = found[0].fields(cursor);
        let expected: [(&str, LogValue<'_>); 2] =
            [("KEY", LogValue::Text(b"v=w")), (CURSOR, LogValue::Text(b"s=1;i=2"))];
        assert_eq!(fields, expected);
        assert_eq!(found[1].value("MESSAGE"), Some(&b""[..]));
    }

    #[test]
    fn a_name_that_is_no_text_becomes_one() {
        let found = entries(b"A\xffB=value\nMESSAGE=text\n\n");
        let all: Vec<_> = found[0].all().collect();
        assert_eq!(all, [("A\u{fffd}B", &b"value"[..]), ("MESSAGE", b"text")]);
    }

    #[test]
    fn entries_are_bounded() {
        let long = vec![b'x'; TEXT_BYTES_MAX * 2];
        let mut bytes = b"__CURSOR=c\nA=".to_vec();
        bytes.extend_from_slice(&long);
        bytes.extend_from_slice(b"\nB\n");
        bytes.extend_from_slice(&(long.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&long);
        bytes.push(b'\n');
        (0..100).for_each(|number| bytes.extend_from_slice(format!("N{number}=v\n").as_bytes()));
        bytes.extend_from_slice(b"\nMESSAGE=next\n\n");
        let found = entries(&bytes);
        assert_eq!((found.len(), found[0].fields.len()), (2, FIELDS_MAX));
        // Of A what is behind a name and a text, half of B, and 39 values of a byte.
        let expected = (long.len() + 2 - NAME_MAX - 1 - TEXT_BYTES_MAX) + TEXT_BYTES_MAX + 39;
        assert_eq!(found[0].left_out, expected as u64);
        // A length that is none, and a name without an end.
        assert_eq!(entries(b"A\n\xff\xff\xff\xff\xff\xff\xff\xffxx"), []);
        assert_eq!(entries(&long), []);
    }
}
