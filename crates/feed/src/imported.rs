//! Plays files of sysstat and of atop: what `sadc` and atop recorded, as rows of whit's own sources.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use procfs::Host;
use procfs::passwd::Users;
use recording::atop::{ATOP_FIELDS, AtopReader};
use recording::imported::{ImportEnding, ImportedRecord, ImportedRow};
use recording::sadc::{SADC_FIELDS, SADC_TRANSFERS, SadcReader};
use sample::{Field, Meta, Snapshot, SourceDef, State};
use source::Entry;

use crate::{Complaint, Feed, FeedError, Origin, Position};

/// What reads a file of another program, record by record.
trait Records {
    fn meta(&self) -> &Meta;
    fn sources(&self) -> Vec<&'static str>;
    /// Fields that only this program records, by source.
    fn own_fields(&self) -> &'static [(&'static str, &'static [Field])];
    fn next_record(&mut self) -> Result<Option<ImportedRecord>, FeedError>;
    fn rows(&self) -> &[ImportedRow];
    fn ending(&self) -> &ImportEnding;
}

macro_rules! records {
    ($reader:ty, $own_fields:expr) => {
        impl Records for $reader {
            fn meta(&self) -> &Meta {
                self.meta()
            }

            fn sources(&self) -> Vec<&'static str> {
                self.sources()
            }

            fn own_fields(&self) -> &'static [(&'static str, &'static [Field])] {
                $own_fields
            }

            fn next_record(&mut self) -> Result<Option<ImportedRecord>, FeedError> {
                Ok(self.next_record()?)
            }

            fn rows(&self) -> &[ImportedRow] {
                self.rows()
            }

            fn ending(&self) -> &ImportEnding {
                self.ending()
            }
        }
    };
}
records!(SadcReader, SADC_FIELDS);
records!(AtopReader, ATOP_FIELDS);

/// Opens a file of sysstat or of atop.
fn open(path: &Path, origin: Origin) -> Result<Box<dyn Records>, FeedError> {
    Ok(match origin {
        Origin::Atop => Box::new(AtopReader::open(path)?),
        _ => Box::new(SadcReader::open(path)?),
    })
}

/// The sources of such a file among `entries`, with the fields that only its program has.
pub(crate) fn sources(
    path: &Path,
    origin: Origin,
    entries: &[&'static Entry],
) -> Result<Vec<Arc<SourceDef>>, FeedError> {
    Ok(definitions(&*open(path, origin)?, entries))
}

/// A daily file of sysstat, or a raw log of atop.
pub struct ImportedFeed {
    path: PathBuf,
    reader: Box<dyn Records>,
    defs: Vec<Arc<SourceDef>>,
    /// The index of each source by its name, and of each of its fields.
    places: HashMap<&'static str, usize>,
    fields: HashMap<(usize, &'static str), Option<usize>>,
    names: Names,
    /// The times of the latest record: since the boot, and since the epoch.
    latest: (u64, i64),
}

fn definitions(reader: &dyn Records, entries: &[&'static Entry]) -> Vec<Arc<SourceDef>> {
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
        let more = reader.own_fields().iter().filter(|(source, _)| def.name == *source);
        let more: Vec<_> = more.flat_map(|(_, fields)| fields.iter().cloned()).collect();
        def.fields.to_mut().extend(more);
    }
    defs.into_iter().map(Arc::new).collect()
}

impl ImportedFeed {
    /// Opens a file of sysstat or atop; `entries` are the sources that are wanted.
    ///
    /// # Errors
    /// The file cannot be read, or that program did not write it.
    pub fn open(
        path: &Path,
        origin: Origin,
        entries: &[&'static Entry],
    ) -> Result<Self, FeedError> {
        let reader = open(path, origin)?;
        let defs = definitions(&*reader, entries);
        let mut places = HashMap::new();
        for name in reader.sources() {
            if let Some(index) = defs.iter().position(|def| def.name == name) {
                places.insert(name, index);
            }
        }
        let names = Names::of(reader.meta().host(), origin);
        let fields = HashMap::new();
        Ok(ImportedFeed {
            path: path.to_owned(),
            reader,
            defs,
            places,
            fields,
            names,
            latest: (0, 0),
        })
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
                "disk" => self.names.disk(&row.name),
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
            let uid = row.cells.iter().find(|(field, _)| *field == "uid");
            if let (Some((_, uid)), Some(field)) = (uid, index("user")) {
                cells.set_text(field, self.names.user(*uid));
            }
        }
    }
}

impl Feed for ImportedFeed {
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
            ImportEnding::Whole => return None,
            ImportEnding::Torn => {
                (format!("{name}: the last record is not complete and was left out"), false)
            }
            ImportEnding::Damaged(what) => {
                (format!("{name}: {what}; what stands before it was shown"), true)
            }
        };
        Some(Complaint { text, is_error })
    }
}

/// Names that a file has as numbers only, if this machine has written it.
struct Names {
    /// Whether this machine has recorded the file, so that its numbers are those of this machine.
    is_here: bool,
    /// The names of disks by `MAJOR:MINOR`; `None` if the file has names.
    disks: Option<HashMap<Vec<u8>, Vec<u8>>>,
    users: Users,
    /// The name of the user that was asked for last.
    user: Vec<u8>,
}

impl Names {
    fn of(host: &str, origin: Origin) -> Self {
        let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let is_here = !host.is_empty() && here.trim_end() == host;
        let mut users = Users::default();
        if is_here && origin == Origin::Atop {
            users.refresh(&mut Host::new("/"), None);
        }
        Names {
            is_here,
            disks: (origin == Origin::Sadc).then(HashMap::new),
            users,
            user: Vec::new(),
        }
    }

    /// The name of a disk by `MAJOR:MINOR`: that of this machine if it is its own, else `dev8-0`, as
    /// sysstat calls a disk whose name it cannot find.
    fn disk<'a>(&'a mut self, name: &'a [u8]) -> &'a [u8] {
        let is_here = self.is_here;
        let Some(disks) = &mut self.disks else { return name };
        disks.entry(name.to_vec()).or_insert_with(|| {
            let numbers = String::from_utf8_lossy(name);
            let link = std::fs::read_link(format!("/sys/dev/block/{numbers}"));
            let named = link.ok().filter(|_| is_here);
            let named = named.and_then(|link| Some(link.file_name()?.as_encoded_bytes().to_vec()));
            named.unwrap_or_else(|| format!("dev{}", numbers.replace(':', "-")).into_bytes())
        })
    }

    /// The name of a user, or the number.
    fn user(&mut self, uid: u64) -> &[u8] {
        self.users.name(uid as u32, &mut self.user);
        &self.user
    }
}
