//! `sar -o`: readings of this host as records of a daily file of sysstat, which Debian's `sar -f` and
//! `sadf` read.
//!
//! A record has every activity of [`written_sources`] that this kernel has; `/proc/diskstats` is read once more
//! for the numbers of the disks.  A number that whit records in another form is made here.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use recording::imported::ImportedRow;
use recording::sadc::{SADC_TRANSFERS, SadcTime, SadcWriter, written_sources};
use sample::{Kind, Meta, Sample, State};
use source::Entry;

use crate::SysstatError;
use crate::activities::{HUGE_PAGES, STOLEN, TRANSFERS, is_device};
use crate::sources::TERMINALS;

/// Where Debian's `sadc` has its daily files.
const FOLDER: &str = "/var/log/sysstat";

/// Where readings are written to.
#[derive(Debug, Default)]
pub(crate) struct Saving {
    /// The file, or the folder of daily files; nothing for that of sysstat.
    pub(crate) path: Option<PathBuf>,
    /// Whether the name of a daily file has year and month (`-D`).
    pub(crate) has_whole_date: bool,
}

/// The file that is written.
pub(crate) struct Saver<'a> {
    root: &'a Path,
    meta: Meta,
    path: PathBuf,
    is_of_day: bool,
    zone: jiff::tz::TimeZone,
    writer: Option<SadcWriter<File>>,
}

impl Saving {
    /// The sources that are read.
    pub(crate) fn sources() -> impl Iterator<Item = &'static str> {
        written_sources().chain([TERMINALS])
    }

    /// Prepares the file, which is created with the first record.
    pub(crate) fn begin<'a>(&self, root: &'a Path, meta: &Meta, now: &Zoned) -> Saver<'a> {
        let mut path = self.path.clone().unwrap_or_else(|| FOLDER.into());
        let is_of_day = self.path.is_none() || path.is_dir();
        if is_of_day {
            let form = if self.has_whole_date { "sa%Y%m%d" } else { "sa%d" };
            path.push(now.strftime(form).to_string());
        }
        let mut meta = meta.clone();
        meta.set("zone_abbreviation", now.strftime("%Z").to_string());
        Saver { root, meta, path, is_of_day, zone: now.time_zone().clone(), writer: None }
    }
}

impl Saver<'_> {
    /// Writes a record of the samples of these sources.
    pub(crate) fn write(
        &mut self,
        entries: &[&'static Entry],
        samples: &[Sample],
        (uptime_ns, realtime_ns): (u64, i64),
    ) -> Result<(), SysstatError> {
        let at = jiff::Timestamp::from_nanosecond(realtime_ns.into()).unwrap_or_default();
        let ahead_s = self.zone.to_offset(at).seconds().into();
        let time = SadcTime { uptime_ns, realtime_ns, ahead_s };
        let mut rows = Vec::new();
        for (entry, sample) in entries.iter().zip(samples) {
            if sample.state == State::Ok {
                add_rows(entry, sample, &mut rows);
            }
        }
        number_disks(self.root, &mut rows);
        if self.writer.is_none() {
            let opened = SadcWriter::open(&self.path, &self.meta, time, &rows, self.is_of_day);
            self.writer = Some(opened?);
        }
        if let Some(writer) = &mut self.writer {
            writer.values(time, &rows)?;
        }
        Ok(())
    }
}

/// The rows of a sample, with the fields of daily files.
fn add_rows(entry: &Entry, sample: &Sample, rows: &mut Vec<ImportedRow>) {
    let table = &sample.table;
    // What all disks transfer together.
    let mut all: Vec<(&'static str, u64)> = Vec::new();
    for index in 0..table.rows() {
        let mut row = ImportedRow {
            source: if entry.name == TERMINALS { "inode" } else { entry.name },
            name: table.name(index).to_vec(),
            cells: Vec::new(),
            texts: Vec::new(),
        };
        for (place, field) in entry.fields.iter().enumerate() {
            let std::borrow::Cow::Borrowed(name) = field.name else { continue };
            match field.kind {
                Kind::Text => {
                    let text = table.text(index, place);
                    row.texts.extend(text.map(|text| (name, text.to_vec())));
                }
                _ => row.cells.extend(table.get(index, place).map(|value| (name, value))),
            }
        }
        add_own(entry.name, &mut row);
        if entry.name == "disk" && is_device(&text_of(&row, "kind")) {
            all.extend(&row.cells);
        }
        rows.push(row);
    }
    if entry.name == "disk" {
        let (source, texts) = (SADC_TRANSFERS, Vec::new());
        rows.push(ImportedRow { source, name: Vec::new(), cells: all, texts });
    }
}

fn text_of(row: &ImportedRow, field: &str) -> String {
    let found = row.texts.iter().find(|(name, _)| *name == field);
    found.map(|(_, text)| String::from_utf8_lossy(text).into_owned()).unwrap_or_default()
}

/// Adds the fields that daily files have and whit's sources have not.
fn add_own(source: &str, row: &mut ImportedRow) {
    let cells = &row.cells;
    let get = |name: &str| cells.iter().find(|(field, _)| *field == name).map(|(_, value)| *value);
    let sum = |names: &[&str]| names.iter().filter_map(|name| get(name)).reduce(u64::wrapping_add);
    let own: Vec<(&'static str, Option<u64>)> = match source {
        "disk" => vec![("transfers", sum(TRANSFERS))],
        "inode" => {
            let used = get("inodes").zip(get("inodes_free"));
            vec![("inodes_used", used.map(|(all, free)| all.saturating_sub(free)))]
        }
        "memory" => {
            let size = get("huge_size").unwrap_or(0);
            let pages = |name| get(name).map(|pages: u64| pages.saturating_mul(size));
            let huge = HUGE_PAGES.iter().map(|(kib, count)| (*kib, pages(count)));
            huge.chain([("stolen", sum(STOLEN))]).collect()
        }
        _ => Vec::new(),
    };
    row.cells.extend(own.into_iter().filter_map(|(name, value)| Some((name, value?))));
}

/// Calls disks by their numbers, as daily files do.
fn number_disks(root: &Path, rows: &mut [ImportedRow]) {
    let text = std::fs::read(root.join("proc/diskstats")).unwrap_or_default();
    let numbers: HashMap<&[u8], String> = procfs::diskstats::parse_diskstats(&text)
        .map(|disk| (disk.name, format!("{}:{}", disk.major, disk.minor)))
        .collect();
    for row in rows.iter_mut().filter(|row| row.source == "disk") {
        if let Some(numbers) = numbers.get(&*row.name) {
            row.name = numbers.clone().into_bytes();
        }
    }
}
