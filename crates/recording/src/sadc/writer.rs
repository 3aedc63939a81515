//! Writes daily files as `sadc` of sysstat 12.6 does, which its `sar -f` and `sadf` read.
//!
//! The way back of the reader: [`super::activities`] says which field stands at which place.  Of each
//! activity the newest format is written, with those activities of which the first record has values.
//! A file has no missing numbers: what is missing is 0, as `sadc` writes it.  A record is one write(2).

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use calendar::CivilTime;
use sample::{Meta, SourceDef};

use super::SadcError;
use super::activities::{
    ALL_CPUS, Activity, FILESYSTEM_BYTES, INTERFACE_BYTES, INTERRUPT_BYTES, Names, newest,
};
use super::head::{
    COMMENT, COMMENT_BYTES, FORMAT, MAGIC_BYTES, NAME_BYTES, RESTART, STATISTICS, ZONE_BYTES,
};
use super::input::MAGIC;
use crate::imported::ImportedRow;

/// The version of sysstat whose files these are: 12.6.1.
const VERSION: [u8; 4] = [12, 6, 1, 0];

/// How many numbers of each kind the structures of the head have: of the header, of descriptions, of
/// headers of records.
const HEAD_NUMBERS: [u32; 3] = [1, 1, 12];
const DESCRIPTION_NUMBERS: [u32; 3] = [0, 0, 9];
const RECORD_NUMBERS: [u32; 3] = [2, 0, 1];
const RECORD_BYTES: u32 = 24;
const DESCRIPTION_BYTES: u32 = 36;

/// When a record is made.
#[derive(Clone, Copy, Debug)]
pub struct SadcTime {
    /// How long the machine has run.
    pub uptime_ns: u64,
    /// The time since the epoch.
    pub realtime_ns: i64,
    /// How far the local time is ahead.
    pub ahead_s: i64,
}

impl SadcTime {
    fn local(self) -> CivilTime {
        CivilTime::of_local(self.seconds().saturating_add(self.ahead_s))
    }

    fn seconds(self) -> i64 {
        self.realtime_ns.div_euclid(1_000_000_000)
    }
}

/// A daily file that is written.
#[derive(Debug)]
pub struct SadcWriter<W> {
    /// The name of the file, for errors.
    path: PathBuf,
    out: W,
    activities: Vec<WrittenActivity>,
    bytes: Vec<u8>,
}

/// An activity of the file.
#[derive(Debug)]
struct WrittenActivity {
    activity: &'static Activity,
    /// How many items the first record has.
    items: usize,
    /// The names of the parts of an item, for activities of two dimensions.
    parts: Vec<Vec<u8>>,
}

/// The sources whose values are written.
pub fn written_sources() -> impl Iterator<Item = &'static str> {
    newest().flat_map(|activity| activity.sources().iter().copied())
}

impl SadcWriter<File> {
    /// Creates a file, or goes on with one that has the same activities of the same machine; `rows` are
    /// those of the first record, which is not written yet.  A file of a day, `is_of_day`, begins anew
    /// if it is of another day: its name has no month.
    ///
    /// # Errors
    /// The file cannot be written, or is of another machine, program or version.
    pub fn open(
        path: &Path,
        meta: &Meta,
        time: SadcTime,
        rows: &[ImportedRow],
        is_of_day: bool,
    ) -> Result<Self, SadcError> {
        let failed = |source| SadcError::Write { path: path.to_owned(), source };
        let activities = written(meta, rows);
        let head = head(meta, time, &activities);
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let mut file = file.map_err(failed)?;
        // Two writers would mix their records.
        file.try_lock().map_err(|error| failed(error.into()))?;
        let mut found = Vec::new();
        (&mut file).take(head.len() as u64).read_to_end(&mut found).map_err(failed)?;
        if is_of_day && date(&found) != date(&head) && super::is_sadc_start(&found) {
            file.set_len(0).map_err(failed)?;
            found.clear();
        }
        if found.is_empty() {
            file.write_all(&head).map_err(failed)?;
        } else if !is_same(&found, &head) {
            return Err(SadcError::OtherHead(path.to_owned()));
        }
        Ok(SadcWriter { path: path.to_owned(), out: file, activities, bytes: Vec::new() })
    }
}

/// The activities of which a record has values.
fn written(meta: &Meta, rows: &[ImportedRow]) -> Vec<WrittenActivity> {
    let (by_source, cpus) = (BySource::of(rows), meta.cpus());
    newest().filter_map(|activity| WrittenActivity::of(activity, &by_source, cpus)).collect()
}

impl<W: Write> SadcWriter<W> {
    /// Begins a file on `out` that is made of the one at `path`, which has another format; `rows` are
    /// those of the first record.
    ///
    /// # Errors
    /// The system refused.
    pub fn convert(
        out: W,
        (path, format): (&Path, u16),
        meta: &Meta,
        time: SadcTime,
        rows: &[ImportedRow],
    ) -> Result<Self, SadcError> {
        let activities = written(meta, rows);
        let mut bytes = head(meta, time, &activities);
        bytes[CONVERTED_FROM].copy_from_slice(&u32::from(format).to_ne_bytes());
        let mut writer = SadcWriter { path: path.to_owned(), out, activities, bytes };
        writer.write()?;
        Ok(writer)
    }

    /// Writes a record of values.
    ///
    /// # Errors
    /// The system refused.
    pub fn values(&mut self, time: SadcTime, rows: &[ImportedRow]) -> Result<(), SadcError> {
        self.begin(STATISTICS, time);
        let by_source = BySource::of(rows);
        for written in &self.activities {
            written.put(&by_source, &mut self.bytes);
        }
        self.write()
    }

    /// Writes that the machine was started, with so many CPUs.
    ///
    /// # Errors
    /// The system refused.
    pub fn restart(&mut self, time: SadcTime, cpus: usize) -> Result<(), SadcError> {
        self.begin(RESTART, SadcTime { uptime_ns: 0, ..time });
        self.bytes.extend((cpus as u32 + 1).to_ne_bytes());
        self.write()
    }

    /// Writes a comment, of which the file keeps 63 bytes.
    ///
    /// # Errors
    /// The system refused.
    pub fn comment(&mut self, time: SadcTime, text: &[u8]) -> Result<(), SadcError> {
        self.begin(COMMENT, SadcTime { uptime_ns: 0, ..time });
        put_text(text, COMMENT_BYTES, &mut self.bytes);
        self.write()
    }

    fn begin(&mut self, kind: u8, time: SadcTime) {
        let local = time.local();
        self.bytes.clear();
        self.bytes.extend((time.uptime_ns / 10_000_000).to_ne_bytes());
        self.bytes.extend(time.seconds().to_ne_bytes());
        self.bytes.extend(0_u32.to_ne_bytes());
        self.bytes.extend([kind, local.hour as u8, local.minute as u8, local.second as u8]);
    }

    fn write(&mut self) -> Result<(), SadcError> {
        let written = self.out.write_all(&self.bytes);
        written.map_err(|source| SadcError::Write { path: self.path.clone(), source })
    }
}

/// Where the format stands that a file was converted from.
const CONVERTED_FROM: Range<usize> = 12..16;

/// Where the year stands in the file, and day and month.
const YEAR: Range<usize> = MAGIC_BYTES + 24..MAGIC_BYTES + 28;
const DAY_AND_MONTH: Range<usize> = MAGIC_BYTES + 64..MAGIC_BYTES + 66;

/// Year, day and month of a head.
fn date(head: &[u8]) -> [&[u8]; 2] {
    [YEAR, DAY_AND_MONTH].map(|range| head.get(range).unwrap_or_default())
}

/// Whether a file has this head, but for its date and numbers that each record says anew.
fn is_same(found: &[u8], head: &[u8]) -> bool {
    // Behind the bytes of the header, of which the magic numbers say how many there are.
    let header_bytes = head.get(8..12).and_then(|bytes| bytes.try_into().ok());
    let header_end = MAGIC_BYTES + header_bytes.map_or(0, u32::from_ne_bytes) as usize;
    let without_changes = |head: &[u8]| {
        let mut head = head.to_vec();
        for range in [MAGIC_BYTES..MAGIC_BYTES + 8, YEAR, DAY_AND_MONTH] {
            head.get_mut(range).into_iter().flatten().for_each(|byte| *byte = 0);
        }
        let descriptions = head.get_mut(header_end..).into_iter();
        for one in descriptions.flat_map(|all| all.chunks_exact_mut(DESCRIPTION_BYTES as usize)) {
            // The number of items, if each record has its own.
            if one[16..20] != [0; 4] {
                one[8..12].fill(0);
            }
        }
        head
    };
    without_changes(found) == without_changes(head)
}

/// What stands before the first record.
fn head(meta: &Meta, time: SadcTime, activities: &[WrittenActivity]) -> Vec<u8> {
    let mut names = Vec::new();
    for key in ["system", "host", "kernel", "architecture"] {
        let usual = if key == "system" { "Linux" } else { "" };
        put_text(meta.get(key).unwrap_or(usual).as_bytes(), NAME_BYTES, &mut names);
    }
    put_text(meta.get("zone_abbreviation").unwrap_or("").as_bytes(), ZONE_BYTES, &mut names);
    let local = time.local();
    let mut header = Vec::new();
    header.extend(time.seconds().to_ne_bytes());
    header.extend(meta.ticks_per_second().to_ne_bytes());
    let [first, second, third] = DESCRIPTION_NUMBERS;
    let [long, words, short] = RECORD_NUMBERS;
    let numbers = [
        meta.cpus() as u32 + 1,
        activities.len() as u32,
        (local.year - 1900) as u32,
        first,
        second,
        third,
        long,
        words,
        short,
        DESCRIPTION_BYTES,
        RECORD_BYTES,
        0,
    ];
    numbers.iter().for_each(|number| header.extend(number.to_ne_bytes()));
    header.extend([local.day as u8, local.month as u8 - 1, size_of::<u64>() as u8]);
    header.extend(names);
    header.resize(header.len().next_multiple_of(8), 0);
    let mut bytes = Vec::new();
    bytes.extend(MAGIC.to_ne_bytes());
    bytes.extend(FORMAT.to_ne_bytes());
    bytes.extend(VERSION);
    let [long, words, short] = HEAD_NUMBERS;
    let numbers = [header.len() as u32, 0, long, words, short];
    numbers.iter().for_each(|number| bytes.extend(number.to_ne_bytes()));
    bytes.resize(MAGIC_BYTES, 0);
    bytes.extend(header);
    activities.iter().for_each(|written| written.describe(&mut bytes));
    bytes
}

/// A text in so many bytes, the last of them a zero.
fn put_text(text: &[u8], bytes: usize, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    out.extend(&text[..text.len().min(bytes - 1)]);
    out.resize(end, 0);
}

/// The rows of a record by source, each with its labels.
struct BySource<'a>(HashMap<&'a str, Vec<Labelled<'a>>>);

/// A row and the labels of its instance: the second is that of an instance with two.
#[derive(Clone, Copy)]
struct Labelled<'a> {
    row: &'a ImportedRow,
    first: &'a [u8],
    second: Option<&'a [u8]>,
}

impl<'a> BySource<'a> {
    fn of(rows: &'a [ImportedRow]) -> Self {
        let mut sources: HashMap<&str, Vec<Labelled<'a>>> = HashMap::new();
        for row in rows {
            let mut labels = row.name.splitn(2, |byte| *byte == SourceDef::INSTANCE_SEPARATOR);
            let first = labels.next().unwrap_or_default();
            sources.entry(row.source).or_default().push(Labelled {
                row,
                first,
                second: labels.next(),
            });
        }
        BySource(sources)
    }

    fn rows(&self, source: &str) -> &[Labelled<'a>] {
        self.0.get(source).map_or(&[], Vec::as_slice)
    }
}

/// The number of a CPU, which the kernel calls `cpu3`.
fn cpu(label: &[u8]) -> Option<usize> {
    let digits = label.strip_prefix(b"cpu").unwrap_or(label);
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// One item: the rows whose numbers are added up, and the texts behind the numbers.
#[derive(Default)]
struct Item<'a> {
    rows: Vec<&'a ImportedRow>,
    texts: Vec<(&'a [u8], usize)>,
}

impl WrittenActivity {
    /// How an activity is written; `None` if the record has nothing of it.
    fn of(activity: &'static Activity, rows: &BySource<'_>, cpus: usize) -> Option<Self> {
        let has = |row: &Labelled<'_>| row.row.cells.iter().any(|(field, _)| activity.has(field));
        if !rows.rows(activity.source).iter().any(has) {
            return None;
        }
        let mut parts: Vec<Vec<u8>> = Vec::new();
        if activity.names == Names::InterruptsOfCpus {
            parts.push(b"sum".to_vec());
            for row in rows.rows(activity.source) {
                if parts.last().is_none_or(|last| last != row.first) {
                    parts.push(row.first.to_vec());
                }
            }
        }
        let mut written = WrittenActivity { activity, items: 0, parts };
        let has_cpus = || rows.rows(activity.source).iter().any(|row| row.second.is_some());
        written.items = match activity.names {
            // Old files have them of all CPUs only.
            Names::InterruptsOfCpus if !has_cpus() => 1,
            Names::Cpus | Names::InterruptsOfCpus | Names::EachCpu | Names::AllAndEachCpu => {
                cpus + 1
            }
            _ => written.items(rows).len(),
        };
        (written.items > 0).then_some(written)
    }

    fn has_count(&self) -> bool {
        !matches!(self.activity.names, Names::One(_))
    }

    /// The bytes of an item.
    fn item_bytes(&self) -> usize {
        let [long, words, short] = self.activity.written_counts();
        let align = if long + words > 0 { 8 } else { 4 };
        (8 * (long + words) + 4 * short + self.activity.text_bytes()).next_multiple_of(align)
    }

    fn describe(&self, out: &mut Vec<u8>) {
        let [long, words, short] = self.activity.written_counts();
        let parts = self.parts.len().max(1);
        let has_count = usize::from(self.has_count());
        let (id, format) = (self.activity.id as usize, self.activity.format as usize);
        let size = self.item_bytes();
        for number in [id, format, self.items, parts, has_count, size, long, words, short] {
            out.extend((number as u32).to_ne_bytes());
        }
    }

    /// Writes the items of a record.
    fn put(&self, rows: &BySource<'_>, out: &mut Vec<u8>) {
        let items = self.items(rows);
        let parts = self.parts.len().max(1);
        if self.has_count() {
            out.extend(((items.len() / parts) as u32).to_ne_bytes());
        } else if items.is_empty() {
            // The number of these is fixed.
            out.resize(out.len() + self.item_bytes(), 0);
        }
        for item in items {
            let end = out.len() + self.item_bytes();
            self.put_numbers(&item.rows, out);
            item.texts.iter().for_each(|(text, bytes)| put_text(text, *bytes, out));
            out.resize(end, 0);
        }
    }

    /// Writes the numbers of an item: the sums over its rows.
    fn put_numbers(&self, rows: &[&ImportedRow], out: &mut Vec<u8>) {
        let counts = self.activity.written_counts();
        for (kind, count) in counts.into_iter().enumerate() {
            for place in 0..count {
                let field = self.activity.fields[kind].get(place).copied().unwrap_or("");
                let sum = match field {
                    "" => self.number(kind, place, rows),
                    _ => rows
                        .iter()
                        .flat_map(|row| &row.cells)
                        .filter(|(name, _)| *name == field)
                        .fold(0_u64, |sum, (_, value)| sum.wrapping_add(*value)),
                };
                // The kernel counts the task that reads as running, sadc does not.
                let sum = sum.saturating_sub(u64::from(field == "tasks_running"));
                match kind {
                    2 => out.extend((sum as u32).to_ne_bytes()),
                    _ => out.extend(sum.to_ne_bytes()),
                }
            }
        }
    }

    /// A number that is no field: a part of the name.
    fn number(&self, kind: usize, place: usize, rows: &[&ImportedRow]) -> u64 {
        let name = rows.first().map(|row| String::from_utf8_lossy(&row.name));
        let name = name.as_deref().unwrap_or_default();
        let part = match (self.activity.names, kind, place) {
            (Names::Disks, 2, 4) => name.split(':').next(),
            (Names::Disks, 2, 5) => name.split(':').nth(1),
            (Names::Last, _, _) => Some(name),
            _ => None,
        };
        part.and_then(|part| part.parse().ok()).unwrap_or(0)
    }

    /// The items of a record, each with its parts.
    fn items<'a>(&'a self, rows: &'a BySource<'a>) -> Vec<Item<'a>> {
        let all = rows.rows(self.activity.source);
        let one = |row: &Labelled<'a>| Item { rows: vec![row.row], texts: Vec::new() };
        let each_cpu = |rows: &[Labelled<'a>]| {
            let mut items: Vec<Item<'a>> = Vec::new();
            items.resize_with(self.items, Item::default);
            for row in rows {
                let place = match row.first {
                    ALL_CPUS => Some(0),
                    label => cpu(label).map(|cpu| cpu + 1),
                };
                let item = place.and_then(|place| items.get_mut(place));
                item.into_iter().for_each(|item| item.rows.push(row.row));
            }
            items
        };
        match self.activity.names {
            Names::One(name) => {
                let first = name.split(SourceDef::INSTANCE_SEPARATOR as char).next();
                let is_of = |row: &&Labelled<'a>| Some(row.first) == first.map(str::as_bytes);
                let rows: Vec<_> = all.iter().filter(is_of).map(|row| row.row).collect();
                let item = Item { rows, texts: Vec::new() };
                Some(item).filter(|item| !item.rows.is_empty()).into_iter().collect()
            }
            Names::Cpus => {
                let mut items = each_cpu(rows.rows("cpu_core"));
                if let Some(first) = items.first_mut() {
                    first.rows = all.iter().map(|row| row.row).collect();
                }
                items
            }
            Names::EachCpu | Names::AllAndEachCpu => each_cpu(all),
            Names::InterruptsOfCpus => self.interrupts(all),
            Names::Interrupts => Vec::new(),
            Names::Disks => {
                // As sadc does, without partitions and without disks that never did anything.
                let has_worked = |row: &Labelled<'a>| {
                    row.row.cells.iter().any(|(field, value)| *field == "transfers" && *value > 0)
                };
                let is_disk = |row: &&Labelled<'a>| {
                    has_worked(row)
                        && !row
                            .row
                            .texts
                            .iter()
                            .any(|(field, text)| *field == "kind" && text == b"partition")
                };
                all.iter().filter(is_disk).map(one).collect()
            }
            Names::Last => all.iter().map(one).collect(),
            Names::Interfaces => all
                .iter()
                .map(|row| Item { rows: vec![row.row], texts: vec![(row.first, INTERFACE_BYTES)] })
                .collect(),
            Names::Filesystems => all.iter().filter_map(filesystem).collect(),
        }
    }

    /// The interrupts of all CPUs, with their names, then those of each.
    fn interrupts<'a>(&'a self, rows: &[Labelled<'a>]) -> Vec<Item<'a>> {
        let places: HashMap<&[u8], usize> =
            self.parts.iter().enumerate().map(|(place, name)| (&**name, place)).collect();
        let parts = self.parts.len();
        let mut items: Vec<Item<'a>> = Vec::new();
        items.resize_with(self.items * parts, Item::default);
        for (item, name) in items.iter_mut().zip(&self.parts) {
            item.texts.push((name, INTERRUPT_BYTES));
        }
        for row in rows {
            let Some(part) = places.get(row.first) else { continue };
            // What is of no CPU, as errors of the controller, is counted as the first one's.
            let Some(cpu) = row.second.map_or(Some(0), cpu) else { continue };
            for item in [0, cpu + 1] {
                // The first part is the sum of the others.
                for part in [0, *part] {
                    if let Some(item) = items.get_mut(item * parts + part) {
                        item.rows.push(row.row);
                    }
                }
            }
        }
        items
    }
}

/// A filesystem of a device.
fn filesystem<'a>(row: &Labelled<'a>) -> Option<Item<'a>> {
    let device = row.row.texts.iter().find(|(field, _)| *field == "device")?;
    let bytes = FILESYSTEM_BYTES;
    let texts = vec![(&*device.1, bytes), (row.first, bytes)];
    device.1.starts_with(b"/").then(|| Item { rows: vec![row.row], texts })
}
