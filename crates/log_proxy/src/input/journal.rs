//! The journal of this machine, or what a folder has: those of other machines, which `systemd-journal-remote`
//! has taken.  The cursor is the journal's own.
//!
//! What is there at the start is read from the files themselves, at a fraction of the cost; see
//! `journal_files`.  What follows, and what cannot be read so, comes by `journalctl -o export`: `NAME=value`
//! lines, or a name, a length and bytes; an empty line ends an entry.

use std::io::{self, BufRead, BufReader, Read as _};
use std::ops::Range;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use logring::{LogLevel, LogValue};
use text::integer::push_u64;

use super::cursor::CURSOR;
use super::fields::{LEFT_OUT, level_of, wait_for};
use super::journal_cursor::{EntryPlace, JournalCursor};
use super::journal_files::{JournalError, JournalFiles};
use super::{InputPlace, OpenedInput, PATIENCE, TEXT_BYTES_MAX, later};

/// Fields of an entry that are kept.
const FIELDS_MAX: usize = 64;
/// Longest name of a field.
const NAME_MAX: usize = 64;
/// Pauses after which a journalctl that has ended is started again.
const PAUSES: u32 = 10;

/// The journal of this machine, or of a folder, which must be there.
pub(super) fn open(place: InputPlace) -> io::Result<OpenedInput> {
    if !place.target.is_empty() {
        std::fs::read_dir(&place.target)?;
    }
    later(place, run)
}

fn run(place: &mut InputPlace) -> io::Result<()> {
    let mut progress = Progress::default();
    if let Some(saved) = place.cursor.take_saved() {
        progress.last = JournalCursor::of(saved);
    }
    match read_files(place, &mut progress)? {
        None if place.control.is_once => return Ok(()),
        None => {}
        Some(error) => {
            place.records.write_own(LogLevel::Notice, &format!("{error}: journalctl reads on"));
        }
    }
    while !place.is_ending() {
        let mut child = start(place, &progress.last)?;
        let done = read_entries(place, &mut child, &mut progress);
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
    Ok(())
}

/// How far a journal is read.
struct Progress {
    /// The last entry.
    last: JournalCursor,
    /// The place that was saved last.
    saved: JournalCursor,
    /// What the record of an entry says of its cursor.
    said: Vec<u8>,
}

impl Default for Progress {
    fn default() -> Self {
        Progress { last: JournalCursor::NONE, saved: JournalCursor::NONE, said: Vec::new() }
    }
}

/// Reads what the files have behind the last entry; gives what keeps it from the rest.
fn read_files(place: &mut InputPlace, progress: &mut Progress) -> io::Result<Option<JournalError>> {
    let after = match &progress.last {
        JournalCursor::Entry(after) => Some(*after),
        none if none.is_none() => None,
        JournalCursor::Text(_) => {
            return Ok(Some(JournalError::Files("the cursor is not one of a journal")));
        }
    };
    let folder = (!place.target.is_empty()).then(|| Path::new(&place.target));
    let mut files = match JournalFiles::open(folder, after) {
        Ok(files) => files,
        Err(error) => return Ok(Some(error)),
    };
    let mut entry = JournalEntry::default();
    while !place.is_ending() {
        match entry.read_from(&mut files) {
            Ok(Some(own)) => progress.write(place, &entry, JournalCursor::Entry(own))?,
            Ok(None) => break,
            Err(error) => return Ok(Some(error)),
        }
    }
    Ok(None)
}

/// Reads the files of a folder up to what cannot be read; gives how many entries that were: for fuzz targets.
pub(crate) fn entries_of_files(folder: &Path) -> usize {
    let Ok(mut files) = JournalFiles::open(Some(folder), None) else { return 0 };
    let mut entry = JournalEntry::default();
    std::iter::from_fn(|| entry.read_from(&mut files).ok().flatten()).count()
}

impl Progress {
    /// Writes the record of an entry, which is then the last one.
    fn write(
        &mut self,
        place: &mut InputPlace,
        entry: &JournalEntry,
        own: JournalCursor,
    ) -> io::Result<()> {
        if place.cursor.is_due() {
            place.cursor.save(&self.last.text())?;
            self.saved = self.last.clone();
        }
        self.said.clear();
        own.put_behind(&self.saved, &mut self.said);
        let fields = entry.fields(&self.said);
        let priority = entry.value("PRIORITY").and_then(|value| value.first().copied());
        let severity = priority.map_or(6, |digit| digit.wrapping_sub(b'0'));
        let text = entry.value("MESSAGE").unwrap_or_default();
        place.records.write(level_of(severity), text, &fields);
        self.last = own;
        Ok(())
    }
}

fn start(place: &InputPlace, after: &JournalCursor) -> io::Result<Child> {
    let mut command = Command::new("journalctl");
    command.args(["--output=export", "--quiet", "--no-pager", "--all"]);
    if !place.target.is_empty() {
        command.arg("--directory").arg(&place.target);
    }
    if !place.control.is_once {
        command.args(["--follow", "--no-tail"]);
    }
    if !after.is_none() {
        command.arg(format!("--after-cursor={}", String::from_utf8_lossy(&after.text())));
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("journalctl: {error}")))
}

fn read_entries(
    place: &mut InputPlace,
    child: &mut Child,
    progress: &mut Progress,
) -> io::Result<()> {
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
        if let Some(own) = entry.value("__CURSOR") {
            progress.write(place, &entry, JournalCursor::parse(own))?;
        }
    }
    Ok(())
}

/// An entry; its memory serves the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct JournalEntry {
    /// Names, one after the other.
    names: String,
    /// Values, and what else was read.
    bytes: Vec<u8>,
    fields: Vec<FieldPlace>,
    /// Bytes of all values.
    kept: usize,
    left_out: u64,
}

/// Where a field is: its name in the names of an entry, its value in the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FieldPlace {
    name: Range<usize>,
    value: Range<usize>,
}

/// The field that has the time of an entry.
const TIME: &str = "__REALTIME_TIMESTAMP";

/// Fields that are shown under names that other inputs use too.
fn shared_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "SYSLOG_IDENTIFIER" => "Process",
        "_PID" => "Pid",
        "_HOSTNAME" => "Host",
        "_SYSTEMD_UNIT" => "Unit",
        "SYSLOG_FACILITY" => "Facility",
        TIME => "TimeMicroseconds",
        _ => return None,
    })
}

/// Whether a field of a journal's file is one of a record.
fn is_shown(name: &[u8]) -> bool {
    !name.starts_with(b"_")
        || std::str::from_utf8(name).is_ok_and(|name| shared_name(name).is_some())
}

impl JournalEntry {
    /// Reads the next entry of files in place of this one; `None`: there is none.
    fn read_from(&mut self, files: &mut JournalFiles) -> Result<Option<EntryPlace>, JournalError> {
        let Some(place) = files.next()? else { return Ok(None) };
        self.clear();
        self.bytes.extend_from_slice(TIME.as_bytes());
        push_u64(&mut self.bytes, place.realtime_us);
        self.add(0..TIME.len(), TIME.len()..self.bytes.len());
        files.each_field(NAME_MAX, TEXT_BYTES_MAX, is_shown, |name, value, length| {
            self.put(name, value, length);
        })?;
        Ok(Some(place))
    }

    fn clear(&mut self) {
        self.names.clear();
        self.bytes.clear();
        self.fields.clear();
        (self.kept, self.left_out) = (0, 0);
    }

    /// Adds a field, with the beginning of a value of so many bytes.
    fn put(&mut self, name: &[u8], value: &[u8], length: u64) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(name);
        let name = begin..self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.left_out += length - value.len() as u64;
        self.add(name.clone(), name.end..self.bytes.len());
    }

    fn all(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let all = self.fields.iter();
        all.map(|field| (&self.names[field.name.clone()], &self.bytes[field.value.clone()]))
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
        self.clear();
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
                    let value = begin + length + 1..self.bytes.len();
                    self.add(begin..begin + length, value);
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
        self.add(name, value);
        Ok(true)
    }

    /// Adds the field that is at the end of the bytes.
    fn add(&mut self, name: Range<usize>, value: Range<usize>) {
        // A record has half a megabyte, and the cursor must be in it.
        if self.fields.len() >= FIELDS_MAX || self.kept + value.len() > 3 * TEXT_BYTES_MAX {
            self.left_out += value.len() as u64;
            return self.bytes.truncate(name.start);
        }
        self.kept += value.len();
        let begin = self.names.len();
        self.names.push_str(&String::from_utf8_lossy(&self.bytes[name]));
        self.fields.push(FieldPlace { name: begin..self.names.len(), value });
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
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use testkit::{Random, make_journal};

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

    /// Entries in the export format, of a boot, every so many microseconds.
    fn export(boot: u32, step_us: u64, count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in 0..count {
            // Of each boot its own: behind a cursor `journalctl` gives entries of the same microsecond again.
            let time = 1_800_000_000_000_000 + number * step_us + u64::from(boot);
            let mut text = format!(
                "__REALTIME_TIMESTAMP={time}\n__MONOTONIC_TIMESTAMP={}\n_BOOT_ID={boot:032x}\n\
                 PRIORITY={}\n_HOSTNAME=far-{boot}\n_TRANSPORT=journal\nOWN=a=b\nOWN=c\n\
                 MESSAGE=number {number}{}\n",
                number * step_us + 7,
                number % 8,
                // Beyond what journald leaves unpacked, and beyond what is read at once.
                " and more".repeat([0, 90, 9_000][(number % 3) as usize]),
            )
            .into_bytes();
            if number % 20 == 0 {
                let value = format!("two\nlines {}", "x".repeat(TEXT_BYTES_MAX + 9)).into_bytes();
                text.extend_from_slice(b"BYTES\n");
                text.extend_from_slice(&(value.len() as u64).to_le_bytes());
                text.extend_from_slice(&value);
                text.push(b'\n');
            }
            bytes.extend_from_slice(&text);
            bytes.push(b'\n');
        }
        bytes
    }

    type ShownEntry = (String, Option<Vec<u8>>, Vec<(String, String)>, u64);

    fn shown(entry: &JournalEntry, cursor: &[u8]) -> ShownEntry {
        let text = |value: &LogValue<'_>| match value {
            LogValue::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("{other:?}"),
        };
        let fields = entry.fields(cursor);
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), text(value))).collect();
        let message = entry.value("MESSAGE").map(<[u8]>::to_vec);
        (String::from_utf8_lossy(cursor).into_owned(), message, fields, entry.left_out)
    }

    /// All entries of a folder after one, and what keeps it from the rest.
    fn by_files(folder: &Path, after: Option<&str>) -> (Vec<ShownEntry>, Option<JournalError>) {
        let after = after.map(|cursor| EntryPlace::parse(cursor.as_bytes()).unwrap());
        let mut files = match JournalFiles::open(Some(folder), after) {
            Ok(files) => files,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let (mut entry, mut all) = (JournalEntry::default(), Vec::new());
        loop {
            match entry.read_from(&mut files) {
                Ok(Some(own)) => all.push(shown(&entry, &JournalCursor::Entry(own).text())),
                Ok(None) => return (all, None),
                Err(error) => return (all, Some(error)),
            }
        }
    }

    fn by_journalctl(folder: &Path, after: Option<&str>) -> Vec<ShownEntry> {
        let mut command = Command::new("journalctl");
        command.args(["--output=export", "--quiet", "--all", "--directory"]).arg(folder);
        command.args(after.map(|cursor| format!("--after-cursor={cursor}")));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let found = entries(&output.stdout);
        found.iter().map(|entry| shown(entry, entry.value("__CURSOR").unwrap())).collect()
    }

    #[test]
    fn entries_of_files_are_those_of_journalctl() {
        for form in [
            vec![],
            vec![("SYSTEMD_JOURNAL_COMPACT", "0")],
            vec![("SYSTEMD_JOURNAL_KEYED_HASH", "0"), ("SYSTEMD_JOURNAL_COMPACT", "0")],
        ] {
            let folder = tempfile::tempdir().unwrap();
            let machine = folder.path().join("0123456789abcdef0123456789abcdef");
            std::fs::create_dir(&machine).unwrap();
            for (boot, path) in [
                (1, folder.path().join("one.journal")),
                (2, folder.path().join("two.journal")),
                (3, machine.join("three.journal")),
            ] {
                let export = export(boot, 1_000 + 70 * u64::from(boot), 100);
                if make_journal(&path, &export, &form).is_none() {
                    return;
                }
            }
            // The same entries once more are no entries.
            std::fs::copy(machine.join("three.journal"), folder.path().join("x.journal")).unwrap();
            let (all, error) = by_files(folder.path(), None);
            assert!(error.is_none(), "{error:?}");
            let expected = by_journalctl(folder.path(), None);
            assert!(all.len() == 300 && all.iter().any(|one| one.3 > 0), "{}", all.len());
            assert!(all == expected, "{} {}", all.len(), expected.len());
            for at in [0, 1, 99, all.len() - 2, all.len() - 1] {
                let (rest, _) = by_files(folder.path(), Some(&all[at].0));
                assert!(rest == all[at + 1..], "{at}: {}", rest.len());
                assert!(rest == by_journalctl(folder.path(), Some(&all[at].0)), "{at}");
            }
        }
    }

    /// A file of a journal, and where its objects begin and end.
    fn journal(folder: &Path) -> Option<(File, Vec<ShownEntry>, Range<u64>)> {
        let path = folder.join("one.journal");
        make_journal(&path, &export(1, 10, 40), &[])?;
        let (all, error) = by_files(folder, None);
        assert!(error.is_none() && all.len() == 40, "{error:?}");
        let file = File::options().read(true).write(true).open(path).unwrap();
        let number = |at| {
            let mut bytes = [0; 8];
            file.read_exact_at(&mut bytes, at).unwrap();
            u64::from_le_bytes(bytes)
        };
        // Behind the table of hashes that comes last, to the last object.
        let begin = (number(104) + number(112)).max(number(120) + number(128));
        let end = number(136) + 64;
        Some((file, all, begin..end))
    }

    #[test]
    fn files_of_any_bytes_end() {
        let folder = tempfile::tempdir().unwrap();
        let Some((file, all, objects)) = journal(folder.path()) else { return };
        let mut random = Random::from_seed(7);
        let (mut faults, mut others) = (0, 0);
        for _ in 0..600 {
            let at = match random.below(3) {
                0 => random.below(208),
                _ => objects.start + random.below(objects.end - objects.start),
            };
            let mut old = [0; 8];
            file.read_exact_at(&mut old, at).unwrap();
            let any = random.bits();
            let new = random.one_of(&[0, u64::MAX, 1 << 63, 64, any, objects.start]);
            let length = 1 + random.index(8);
            file.write_all_at(&new.to_le_bytes()[..length], at).unwrap();
            let (found, error) = by_files(folder.path(), random.percent(30).then_some(&*all[9].0));
            assert!(found.len() <= all.len(), "{at}: {new:#x}");
            faults += usize::from(error.is_some());
            others += usize::from(error.is_none());
            file.write_all_at(&old, at).unwrap();
        }
        assert!(faults > 10 && others > 10, "{faults} {others}");
        assert!(by_files(folder.path(), None).0 == all);
    }

    #[test]
    fn what_is_not_known_of_a_file_is_left_to_journalctl() {
        let folder = tempfile::tempdir().unwrap();
        let Some((file, all, objects)) = journal(folder.path()) else { return };
        let mut flags = [0];
        file.read_exact_at(&mut flags, 12).unwrap();
        // Compact and packed by ZSTD; and then by LZ4, too.
        assert_eq!(flags[0] & 0x18, 0x18);
        file.write_all_at(&[flags[0] | 2], 12).unwrap();
        let (found, error) = by_files(folder.path(), None);
        let error = error.unwrap().to_string();
        assert!(found.is_empty() && error.contains("features that are not known"), "{error}");
        file.write_all_at(&flags, 12).unwrap();
        file.set_len(objects.start.midpoint(objects.end)).unwrap();
        let (found, error) = by_files(folder.path(), None);
        assert!(found.len() < all.len() && found == all[..found.len()]);
        assert!(error.unwrap().to_string().contains("ends too soon"));
    }

    /// Both forms of a file, with arrays of one and of four entries: `journalctl` shows the same.
    #[test]
    fn entries_are_read_by_hand_made_arrays() {
        for form in ["regular", "compact"] {
            let folder = tempfile::tempdir().unwrap();
            let seeds = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/log_journal");
            let to = folder.path().join("x.journal");
            std::fs::copy(Path::new(seeds).join(form), &to).unwrap();
            let (all, error) = by_files(folder.path(), None);
            assert!(error.is_none(), "{error:?}");
            let messages: Vec<_> = all.iter().map(|one| one.1.as_deref().unwrap()).collect();
            assert_eq!(messages, [b"number 0", b"number 1", b"number 2"]);
            assert_eq!(all[0].2[1..3], [("Host", "h"), ("Process", "p")].map(own_texts));
            assert_eq!(entries_of_files(folder.path()), 3);
        }
    }

    fn own_texts((name, value): (&str, &str)) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }
}
