//! Import of the raw logs of atop (`atop_20261126`), of versions 2.3 to 2.11, as they are written on
//! 64-bit machines with the low byte first.
//!
//! ```text
//! header │ record, statistics of the machine, those of its tasks │ record, …
//! ```
//!
//! Both statistics are structures of C, compressed by zlib.  The header names the version and the
//! sizes of the structures; [`layout`] says where each number is.  A file of which either does not fit
//! is refused, with the program that converts it.
//!
//! atop writes how much each counter grew in the interval; the first record after atop's start has
//! what they were since boot.  Here they are added up again, so that views compute rates as from
//! every other recording.  A task that ended is in the first record after its end, with the state `E`,
//! if atop had process accounting; it becomes a row of the source `exit`.
//!
//! Threads, NUMA nodes, NFS, InfiniBand, graphics processors, caches and containers are passed over.
//! One record is in memory at a time, 1 MB, and the tasks one after the other.

mod layout;
mod rows;

use std::fs::File;
use std::io::{self, BufReader, Read, Take};
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;
use sample::{Field, Meta, Unit};

use crate::imported::{ImportEnding, ImportedRecord, ImportedRow, pass_over, take_bytes, text};
use layout::{Layout, MINORS};
use rows::Rows;

/// The first four bytes of a raw log, as a number.
const MAGIC: u32 = 0xfeed_beef;

/// Bytes of the header and of the head of a record.
const HEADER_BYTES: usize = 480;
const RECORD_BYTES: usize = 96;

/// Where the header has the size of a page of memory.
const PAGE_BYTES_AT: usize = 436;

/// Bytes of each name in the header: system, host, kernel, build, architecture, domain.
const NAME_BYTES: usize = 65;

/// The most tasks of a record.  Four times the most processes and threads that a default kernel
/// allows on a machine of 64 GiB.
const TASKS_MAX: u32 = 1 << 18;

/// The flag of a record with values since boot.
const SINCE_BOOT: u16 = 1;

const SECOND_NS: u64 = 1_000_000_000;

/// The letters of the sources of which a raw log has values.
const LETTERS: &str = "cCmdDnNstTpZ";

/// Fields that atop records and whit's own sources do not have, by source.
pub const ATOP_FIELDS: &[(&str, &[Field])] = &[(
    "memory",
    &[
        Field::counter("scanned_all", Unit::Pages, "Pages scanned, as atop adds them up"),
        Field::counter("stolen_all", Unit::Pages, "Pages reclaimed, as atop adds them up"),
    ],
)];

/// Why a raw log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AtopError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Does not begin as these files do.
    #[error("{0} is not a raw log of atop")]
    NotAtop(PathBuf),
    /// Written on a machine whose numbers begin with their high byte.
    #[error(
        "{0} is of a machine whose numbers begin with the high byte; print it there with \
         `atop -r FILE -P ALL`"
    )]
    HighByteFirst(PathBuf),
    /// A version before those that are known.
    #[error(
        "{path} is of atop {version}; `atopconvert {path} NEW` of atop 2.8 or later converts it"
    )]
    TooOld {
        /// The file.
        path: PathBuf,
        /// The version of atop that wrote the file.
        version: String,
    },
    /// A version after those that are known.
    #[error(
        "{path} is of atop {version}, whose structures are not known here (2.3 to 2.11 are); print \
         it with `atop -r {path} -P ALL`"
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The version of atop that wrote the file.
        version: String,
    },
    /// A version that is known, with structures that are not.
    #[error(
        "{path} is of atop {version}, but its structures have {sstat} and {tstat} bytes, as on no \
         64-bit machine; `atopconvert {path} NEW` on the machine that wrote it converts it"
    )]
    OtherSizes {
        /// The file.
        path: PathBuf,
        /// The version of atop that wrote the file.
        version: String,
        /// The size of the statistics of the machine.
        sstat: u64,
        /// The size of those of a task.
        tstat: u64,
    },
    /// Stops before its first record.
    #[error("{0} is cut short: it ends inside its header, before the first record")]
    CutInHead(PathBuf),
    /// What no version of atop writes.
    #[error("{path}: {what}: the file is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// What the header says.
struct Head {
    meta: Meta,
    layout: Layout,
    page_bytes: u64,
    ticks_per_second: u64,
}

/// The head of a record.
struct Record {
    seconds: i64,
    is_since_boot: bool,
    interval_seconds: u64,
    machine_bytes: u32,
    tasks_bytes: u32,
    further_bytes: u64,
    tasks: u32,
    processes: u32,
    exits: u32,
    exits_lost: u32,
}

/// A raw log being read.
pub struct AtopReader {
    head: Head,
    reader: Box<dyn Read>,
    path: PathBuf,
    rows: Rows,
    /// The statistics of the machine, as bytes.
    machine: Vec<u8>,
    scratch: Vec<u8>,
    uptime_ns: u64,
    started: bool,
    ending: ImportEnding,
}

impl AtopReader {
    /// Opens a file and reads what stands before its records.
    ///
    /// # Errors
    /// See [`AtopError`].
    pub fn open(path: &Path) -> Result<Self, AtopError> {
        let open = || {
            let file = File::open(path);
            let file = file.map_err(|source| AtopError::Io { path: path.to_owned(), source })?;
            AtopReader::from_reader(BufReader::with_capacity(1 << 16, file), path)
        };
        let mut reader = open()?;
        // When it began, the CPUs and the interval follow from the first record and the next one's head.
        let mut ahead = open()?;
        let meta = &mut reader.head.meta;
        if let Ok(Some(first)) = ahead.next_record() {
            meta.set("started_ns", first.realtime_ns.to_string());
            let cpus = ahead.rows().iter().filter(|row| row.source == "cpu_core").count();
            meta.set("cpus", cpus.to_string());
            if let Ok(Some(second)) = ahead.record()
                && !second.is_since_boot
            {
                let interval_ns = second.interval_seconds.saturating_mul(SECOND_NS);
                meta.set("interval_ns", interval_ns.to_string());
            }
        }
        Ok(reader)
    }

    /// Reads a file from `input`; error messages name it `path`.
    ///
    /// # Errors
    /// See [`AtopError`].
    pub fn from_reader(input: impl Read + 'static, path: &Path) -> Result<Self, AtopError> {
        let mut reader: Box<dyn Read> = Box::new(input);
        let mut bytes = Vec::new();
        take_bytes(&mut reader, &mut bytes, HEADER_BYTES)
            .map_err(|source| AtopError::Io { path: path.to_owned(), source })?;
        let head = Head::read(&bytes, path)?;
        Ok(AtopReader {
            rows: Rows::new(head.page_bytes, head.ticks_per_second),
            head,
            reader,
            path: path.to_owned(),
            machine: Vec::new(),
            scratch: Vec::new(),
            uptime_ns: 0,
            started: false,
            ending: ImportEnding::Whole,
        })
    }

    /// What the file says about its machine.
    pub fn meta(&self) -> &Meta {
        &self.head.meta
    }

    /// The sources of which the file has values.
    pub fn sources(&self) -> Vec<&'static str> {
        let layout = &self.head.layout;
        let has = |source: &&'static str| match *source {
            "pressure" => layout.pressure.is_some(),
            "socket" => !layout.sockets.is_empty(),
            _ => true,
        };
        rows::SOURCES.iter().copied().filter(has).collect()
    }

    /// How the file ends; known once [`next_record`](Self::next_record) gave `None`.
    pub fn ending(&self) -> &ImportEnding {
        &self.ending
    }

    /// The rows of the latest record.
    pub fn rows(&self) -> &[ImportedRow] {
        self.rows.all()
    }

    /// Reads the next record; `None` at the end.
    ///
    /// # Errors
    /// The system refused.  Damage ends the file: see [`ending`](Self::ending).
    pub fn next_record(&mut self) -> Result<Option<ImportedRecord>, AtopError> {
        if self.ending != ImportEnding::Whole {
            return Ok(None);
        }
        match self.read_next() {
            Ok(record) => Ok(record),
            Err(error @ AtopError::Io { .. }) => Err(error),
            Err(AtopError::CutInHead(_)) => {
                self.ending = ImportEnding::Torn;
                Ok(None)
            }
            Err(AtopError::Damaged { what, .. }) => {
                self.ending = ImportEnding::Damaged(what);
                Ok(None)
            }
            Err(error) => {
                self.ending = ImportEnding::Damaged(error.to_string());
                Ok(None)
            }
        }
    }

    fn read_next(&mut self) -> Result<Option<ImportedRecord>, AtopError> {
        let Some(record) = self.record()? else { return Ok(None) };
        let interval_ns = record.interval_seconds.saturating_mul(SECOND_NS);
        let is_restart = record.is_since_boot && self.started;
        if record.is_since_boot {
            self.uptime_ns = 0;
        }
        self.uptime_ns = self.uptime_ns.saturating_add(interval_ns);
        self.rows.begin(&record);
        self.read_machine(&record)?;
        self.read_tasks(&record)?;
        self.passed(record.further_bytes)?;
        self.started = true;
        Ok(Some(ImportedRecord {
            uptime_ns: self.uptime_ns,
            realtime_ns: realtime_ns(record.seconds),
            is_restart,
        }))
    }

    /// The head of the next record; `None` at the end of the file.
    fn record(&mut self) -> Result<Option<Record>, AtopError> {
        let read = take_bytes(&mut self.reader, &mut self.scratch, RECORD_BYTES);
        match read.map_err(|source| AtopError::Io { path: self.path.clone(), source })? {
            0 => return Ok(None),
            count if count < RECORD_BYTES => return Err(AtopError::CutInHead(self.path.clone())),
            _ => {}
        }
        let number = |at| u32_at(&self.scratch, at).unwrap_or(0);
        let further = [72, 84].map(number).map(u64::from);
        let record = Record {
            seconds: i64_at(&self.scratch, 0).unwrap_or(0),
            is_since_boot: number(8) as u16 & SINCE_BOOT != 0,
            machine_bytes: number(16),
            tasks_bytes: number(20),
            interval_seconds: number(24).into(),
            tasks: number(28),
            processes: number(40),
            exits: number(60),
            exits_lost: number(64),
            further_bytes: if self.head.layout.has_cgroups { further.iter().sum() } else { 0 },
        };
        if record.tasks > TASKS_MAX {
            return Err(self.damaged(format!("a record of {} tasks", record.tasks)));
        }
        Ok(Some(record))
    }

    /// Reads the statistics of the machine.
    fn read_machine(&mut self, record: &Record) -> Result<(), AtopError> {
        let (expected, into) = (self.head.layout.sstat_bytes, &mut self.machine);
        let unpacked = unpack(&mut self.reader, record.machine_bytes, |input| {
            take_bytes(input, into, expected + 1).is_ok_and(|count| count == expected)
        });
        self.check(unpacked, "the statistics of the machine are not what they should be")?;
        self.rows.add_machine(&self.head.layout, &self.machine, record);
        Ok(())
    }

    /// Reads the tasks, one after the other.
    fn read_tasks(&mut self, record: &Record) -> Result<(), AtopError> {
        let (layout, task, rows) = (&self.head.layout, &mut self.scratch, &mut self.rows);
        let unpacked = unpack(&mut self.reader, record.tasks_bytes, |mut input| {
            (0..record.tasks).all(|_| {
                let read = take_bytes(&mut input, task, layout.tstat_bytes);
                let is_whole = read.is_ok_and(|count| count == layout.tstat_bytes);
                if is_whole {
                    rows.add_task(layout, task);
                }
                is_whole
            })
        });
        self.check(unpacked, "the statistics of tasks are not what they should be")?;
        self.rows.end();
        Ok(())
    }

    fn check(&self, unpacked: io::Result<Unpacked>, what: &str) -> Result<(), AtopError> {
        match unpacked.map_err(|source| AtopError::Io { path: self.path.clone(), source })? {
            Unpacked::Whole => Ok(()),
            Unpacked::Cut => Err(AtopError::CutInHead(self.path.clone())),
            Unpacked::Other => Err(self.damaged(what.to_owned())),
        }
    }

    /// Passes over so many bytes.
    fn passed(&mut self, bytes: u64) -> Result<(), AtopError> {
        let passed = pass_over(&mut self.reader, bytes);
        match passed.map_err(|source| AtopError::Io { path: self.path.clone(), source })? {
            passed if passed < bytes => Err(AtopError::CutInHead(self.path.clone())),
            _ => Ok(()),
        }
    }

    fn damaged(&self, what: String) -> AtopError {
        AtopError::Damaged { path: self.path.clone(), what }
    }
}

/// What came out of compressed bytes.
enum Unpacked {
    /// What was wanted.
    Whole,
    /// Not all, for the file ends.
    Cut,
    /// Something else.
    Other,
}

/// Gives what `bytes` of the reader are when unpacked to `take`, which says whether that is what it
/// wanted, and passes over those that were not needed.
fn unpack(
    reader: &mut Box<dyn Read>,
    bytes: u32,
    take: impl FnOnce(&mut ZlibDecoder<&mut Take<&mut Box<dyn Read>>>) -> bool,
) -> io::Result<Unpacked> {
    let mut packed = reader.by_ref().take(bytes.into());
    let is_whole = take(&mut ZlibDecoder::new(&mut packed));
    let left = packed.limit();
    Ok(match pass_over(&mut packed, left)? {
        passed if passed < left => Unpacked::Cut,
        _ if is_whole => Unpacked::Whole,
        _ => Unpacked::Other,
    })
}

impl Head {
    fn read(bytes: &[u8], path: &Path) -> Result<Self, AtopError> {
        let number = |at| u32_at(bytes, at).unwrap_or(0);
        let short = |at| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        match u32_at(bytes, 0) {
            Some(MAGIC) => {}
            Some(magic) if magic == MAGIC.swap_bytes() => {
                return Err(AtopError::HighByteFirst(path.to_owned()));
            }
            _ => return Err(AtopError::NotAtop(path.to_owned())),
        }
        if bytes.len() < HEADER_BYTES {
            return Err(AtopError::CutInHead(path.to_owned()));
        }
        // The highest bit says that the version is recorded at all.
        let (major, minor) = ((short(4) >> 8) & 0x7f, short(4) as u8);
        let version = format!("{major}.{minor}");
        let is_before = major < 2 || major == 2 && minor < *MINORS.start();
        if is_before {
            return Err(AtopError::TooOld { path: path.to_owned(), version });
        }
        if major > 2 || minor > *MINORS.end() {
            return Err(AtopError::TooNew { path: path.to_owned(), version });
        }
        let (sstat, tstat) = (u64::from(number(28)), u64::from(number(32)));
        let has_own_sizes =
            (usize::from(short(10)), usize::from(short(12))) == (HEADER_BYTES, RECORD_BYTES);
        let layout = Layout::find(minor, sstat, tstat).filter(|_| has_own_sizes);
        let Some(layout) = layout else {
            return Err(AtopError::OtherSizes { path: path.to_owned(), version, sstat, tstat });
        };
        let page_bytes = u64::from(number(PAGE_BYTES_AT));
        if !page_bytes.is_power_of_two() || page_bytes < 1024 {
            let what = format!("memory pages of {page_bytes} bytes");
            return Err(AtopError::Damaged { path: path.to_owned(), what });
        }
        let ticks_per_second = u64::from(short(14)).max(1);
        let meta = meta_of(bytes, &version, ticks_per_second);
        Ok(Head { meta, layout, page_bytes, ticks_per_second })
    }
}

fn meta_of(bytes: &[u8], version: &str, ticks_per_second: u64) -> Meta {
    let mut names = bytes[36..].chunks(NAME_BYTES);
    let mut name = || String::from_utf8_lossy(text(names.next().unwrap_or_default())).into_owned();
    let mut meta = Meta::new();
    meta.set("origin", "atop");
    meta.set("version", version);
    meta.set("system", name());
    meta.set("host", name());
    meta.set("kernel", name());
    meta.set("build", name());
    meta.set("architecture", name());
    meta.set("ticks_per_second", ticks_per_second.to_string());
    meta.set("page_size_bytes", u32_at(bytes, PAGE_BYTES_AT).unwrap_or(0).to_string());
    meta.set("subsystems", LETTERS);
    meta
}

fn realtime_ns(seconds: i64) -> i64 {
    seconds.saturating_mul(SECOND_NS as i64)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_le_bytes(bytes.get(at..)?.get(..8)?.try_into().ok()?))
}

/// Whether a file of that name is one that atop's service makes: `atop_20261126`.
pub fn is_atop_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digits = name.strip_prefix("atop_").unwrap_or_default();
    digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a file that begins with these bytes is of atop, whichever version and machine.
pub fn is_atop_start(first: &[u8]) -> bool {
    first.starts_with(&MAGIC.to_le_bytes()) || first.starts_with(&MAGIC.to_be_bytes())
}
