//! Plays the daily files of sysstat: what `sadc` recorded, as rows of whit's own sources.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use recording::sadc::{SADC_FIELDS, SADC_TRANSFERS, SadcEnding, SadcReader};
use sample::{Snapshot, SourceDef, State};
use source::Entry;

use crate::{Complaint, Feed, FeedError, Position};

/// A daily file of sysstat.
pub struct SadcFeed {
    path: PathBuf,
    reader: SadcReader,
    defs: Vec<Arc<SourceDef>>,
    /// The index of each source by its name, and of each of its fields.
    places: HashMap<&'static str, usize>,
    fields: HashMap<(usize, &'static str), Option<usize>>,
    disks: DiskNames,
    /// The times of the latest record: since the boot, and since the epoch.
    latest: (u64, i64),
}

/// The sources of a daily file among `entries`, with the fields that only `sadc` has.
pub(crate) fn sources(reader: &SadcReader, entries: &[&'static Entry]) -> Vec<Arc<SourceDef>> {
    let recorded = reader.sources();
    let entries = entries.iter().filter(|entry| recorded.contains(&entry.name));
    let mut defs: Vec<SourceDef> = entries.map(|entry| entry.def()).collect();
    if recorded.contains(&SADC_TRANSFERS) {
        let about = "What all disks transfer together, of a daily file of sysstat";
        defs.push(SourceDef {
            name: SADC_TRANSFERS.into(),
            about: about.into(),
            ..SourceDef::EMPTY
        });
    }
    for def in &mut defs {
        let more = SADC_FIELDS.iter().filter(|(source, _)| def.name == *source);
        let more: Vec<_> = more.flat_map(|(_, fields)| fields.iter().cloned()).collect();
        def.fields.to_mut().extend(more);
    }
    defs.into_iter().map(Arc::new).collect()
}

impl SadcFeed {
    /// Opens a file; `entries` are the sources that are wanted.
    ///
    /// # Errors
    /// The file cannot be read, or `sadc` did not write it.
    pub fn open(path: &Path, entries: &[&'static Entry]) -> Result<Self, FeedError> {
        let reader = SadcReader::open(path)?;
        let defs = sources(&reader, entries);
        let mut places = HashMap::new();
        for name in reader.sources() {
            if let Some(index) = defs.iter().position(|def| def.name == name) {
                places.insert(name, index);
            }
        }
        let disks = DiskNames::of(reader.meta().host());
        let fields = HashMap::new();
        Ok(SadcFeed { path: path.to_owned(), reader, defs, places, fields, disks, latest: (0, 0) })
    }

    /// Puts the rows of a record into the tables.
    fn fill(&mut self, snapshot: &mut Snapshot) {
        for sample in &mut snapshot.samples {
            sample.table.begin();
        }
        for row in self.reader.rows() {
            let Some(&place) = self.places.get(row.source) else { continue };
            let Some(sample) = snapshot.samples.get_mut(place) else { continue };
            let def = &self.defs[place];
            let mut index = |field: &'static str| {
                *self.fields.entry((place, field)).or_insert_with(|| def.field(field))
            };
            let name = match row.source {
                "disk" => self.disks.name(&row.name),
                _ => &row.name,
            };
            let mut cells = sample.table.row(name);
            for (field, value) in &row.cells {
                if let Some(field) = index(field) {
                    cells.set(field, *value);
                }
            }
            for (field, text) in &row.texts {
                if let Some(field) = index(field) {
                    cells.set_text(field, text);
                }
            }
        }
    }
}

impl Feed for SadcFeed {
    fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.defs.clone()
    }

    fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError> {
        let Some(record) = self.reader.next_record()? else { return Ok(false) };
        self.fill(snapshot);
        (snapshot.monotonic_ns, snapshot.realtime_ns) = (record.uptime_ns, record.realtime_ns);
        snapshot.restart = record.is_restart || record.uptime_ns <= self.latest.0;
        for (sample, fresh) in snapshot.samples.iter_mut().zip(&mut snapshot.fresh) {
            (sample.monotonic_ns, sample.realtime_ns) = (record.uptime_ns, record.realtime_ns);
            sample.state = match sample.table.rows() {
                0 => State::Absent,
                _ => State::Ok,
            };
            *fresh = true;
        }
        self.latest = (record.uptime_ns, record.realtime_ns);
        Ok(true)
    }

    fn position(&self) -> Position {
        let host = self.reader.meta().host().to_owned();
        Position { host, realtime_ns: self.latest.1, ..Position::default() }
    }

    fn complaint(&self) -> Option<Complaint> {
        let name = self.path.display();
        let (text, is_error) = match self.reader.ending() {
            SadcEnding::Whole => return None,
            SadcEnding::Torn => {
                (format!("{name}: the last record is not complete and was left out"), false)
            }
            SadcEnding::Damaged(what) => {
                (format!("{name}: {what}; what stands before it was shown"), true)
            }
        };
        Some(Complaint { text, is_error })
    }
}

/// The names of disks, which `sadc` records by their numbers.
struct DiskNames {
    /// Whether this machine has recorded the file, so that its numbers are those of this machine.
    is_here: bool,
    names: HashMap<Vec<u8>, Vec<u8>>,
}

impl DiskNames {
    fn of(host: &str) -> Self {
        let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        DiskNames { is_here: !host.is_empty() && here.trim_end() == host, names: HashMap::new() }
    }

    /// The name of a disk by `MAJOR:MINOR`: that of this machine if it is its own, else `dev8-0`, as
    /// sysstat calls a disk whose name it cannot find.
    fn name(&mut self, numbers: &[u8]) -> &[u8] {
        let is_here = self.is_here;
        self.names.entry(numbers.to_vec()).or_insert_with(|| {
            let numbers = String::from_utf8_lossy(numbers);
            let link = std::fs::read_link(format!("/sys/dev/block/{numbers}"));
            let named = link.ok().filter(|_| is_here);
            let named = named.and_then(|link| Some(link.file_name()?.as_encoded_bytes().to_vec()));
            named.unwrap_or_else(|| format!("dev{}", numbers.replace(':', "-")).into_bytes())
        })
    }
}
