//! The daily files that sysstat's `sadc` writes (`sa26`, `sa20261126`), of sysstat 9.1.6
//! to 12, on machines of either byte order and word size: they are read, and those of 12.6 written.
//!
//! ```text
//! magic numbers │ header │ one description for each activity
//! record header │ items of each activity, in the order of the descriptions │ record header │ …
//! ```
//!
//! Since 11.7.1 the file says how large each of its structures is, and how many 64-bit numbers, words of the
//! machine and 32-bit numbers it begins with; versions only add numbers at the end of one of these
//! three groups.  So files of versions that came later are read, too.  An activity whose own number
//! of format is not known is passed over.
//!
//! A record becomes rows of whit's own sources ([`ImportedRow`]); [`activities`] says which number is
//! which field.  One record is in memory at a time.
//!
//! - [`input`]: numbers of either byte order, with limits.
//! - [`head`]: what stands before the first record, as [`sample::Meta`].
//! - [`activities`]: what the numbers are.
//! - [`old`]: files of before 11.7.1, which do not say how they are laid out.
//! - [`writer`]: the way back: files as sysstat 12.6 writes them.

mod activities;
mod description;
mod head;
mod input;
mod old;
mod structure;
mod writer;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use sample::Meta;

use crate::imported::{ImportEnding, ImportedRecord, ImportedRow, text};

pub use activities::{SADC_FIELDS, SADC_TRANSFERS};
pub use head::{FORMAT as SADC_FORMAT, SadcActivity, SadcContents};
pub use writer::{SadcTime, SadcWriter, written_sources};

use activities::Rows;
use description::Description;
use head::{Head, RecordHeader};
use input::{Input, Layout};

/// Why a file of `sadc` cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SadcError {
    /// The file cannot be opened or read.
    #[error("cannot read {path}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// Does not begin as these files do.
    #[error("{0} is not a file of sysstat's sadc")]
    NotSadc(PathBuf),
    /// A format from before files described themselves.
    #[error(
        "{path} is of a sysstat whose files are not known here (format {format:#x}; those of 9.1.6 and \
         later are); if it is older, no program converts it: use the sar of its time"
    )]
    TooOld {
        /// The file.
        path: PathBuf,
        /// The number of its format.
        format: u16,
    },
    /// Cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Cannot be gone on with.
    #[error(
        "{0} is of another machine, program or version, or has other activities: choose another file"
    )]
    OtherHead(PathBuf),
    /// Stops before its first record.
    #[error("{0} is cut short: it ends inside its header, before the first record")]
    CutInHead(PathBuf),
    /// A description that no version of sysstat writes.
    #[error("{path}: {what}: the file is damaged")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// A text that a user put into a file (`sadc -C`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SadcComment {
    /// When, since the epoch, to the second.
    pub realtime_ns: i64,
    /// When the record of values before it was made: since the epoch, and since the boot; the least
    /// numbers if there is none.
    pub after: (i64, u64),
    /// The text.
    pub text: Vec<u8>,
}

/// An entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SadcEntry {
    /// Values, whose rows the reader has.
    Values(ImportedRecord),
    /// The machine was started, at this time since the epoch.
    Restart(i64),
    /// A text of a user.
    Comment(SadcComment),
}

/// A file of `sadc` being read.
pub struct SadcReader {
    head: Head,
    input: Input,
    rows: Rows,
    scratch: Vec<u8>,
    ending: ImportEnding,
    /// Records of starts and comments between two of values.
    is_restart: bool,
    started: bool,
    /// The comments read so far, if they are wanted, and the time of the latest record of values.
    comments: Option<Vec<SadcComment>>,
    latest: (i64, u64),
}

impl SadcReader {
    /// Opens a file and reads what stands before its records.
    ///
    /// # Errors
    /// See [`SadcError`].
    pub fn open(path: &Path) -> Result<Self, SadcError> {
        let failed = |source| SadcError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let mut reader = SadcReader::from_reader(BufReader::with_capacity(1 << 16, file), path)?;
        // The interval and the time zone follow from the first two records.
        let mut ahead =
            SadcReader::from_reader(BufReader::new(File::open(path).map_err(failed)?), path)?;
        let first = ahead.next_record()?;
        let local = ahead.head.local_seconds_of_day;
        let second = ahead.next_record()?.filter(|second| !second.is_restart);
        reader.head.complete_meta(first, local, second);
        Ok(reader)
    }

    /// Reads a file from `input`; error messages name it `path`.
    ///
    /// # Errors
    /// See [`SadcError`].
    pub fn from_reader(input: impl Read + 'static, path: &Path) -> Result<Self, SadcError> {
        let mut input = Input::over(Box::new(input), path);
        let head = Head::read(&mut input)?;
        Ok(SadcReader {
            head,
            input,
            rows: Rows::default(),
            scratch: Vec::new(),
            ending: ImportEnding::Whole,
            is_restart: false,
            started: false,
            comments: None,
            latest: (i64::MIN, 0),
        })
    }

    /// The comments of a file, in its order.  Reads the whole file; they take at most twice its size.
    ///
    /// # Errors
    /// See [`SadcError`].
    pub fn comments(path: &Path) -> Result<Vec<SadcComment>, SadcError> {
        let mut reader = SadcReader::open(path)?;
        reader.comments = Some(Vec::new());
        while reader.next_record()?.is_some() {}
        Ok(reader.comments.unwrap_or_default())
    }

    /// What the file says about its machine.
    pub fn meta(&self) -> &Meta {
        &self.head.meta
    }

    /// The number of its format.
    pub fn format(&self) -> u16 {
        self.head.format
    }

    /// What the file says of itself; `None` of a file of before 11.7.1, which does not.
    pub fn contents(&self) -> Option<&SadcContents> {
        self.head.contents.as_ref()
    }

    /// The sources of which the file has values.
    pub fn sources(&self) -> Vec<&'static str> {
        let mut sources = Vec::new();
        for activity in self.head.descriptions.iter().filter_map(|one| one.activity) {
            for source in activity.sources() {
                if !sources.contains(source) {
                    sources.push(*source);
                }
            }
        }
        sources
    }

    /// How the file ends; known once [`next_record`](Self::next_record) gave `None`.
    pub fn ending(&self) -> &ImportEnding {
        &self.ending
    }

    /// The rows of the latest record.
    pub fn rows(&self) -> &[ImportedRow] {
        self.rows.all()
    }

    /// Reads the next record of values; `None` at the end.
    ///
    /// # Errors
    /// The system refused.  Damage ends the file: see [`ending`](Self::ending).
    pub fn next_record(&mut self) -> Result<Option<ImportedRecord>, SadcError> {
        let read = self.read_next();
        self.ended(read)
    }

    /// Reads the next entry of any kind; `None` at the end.
    ///
    /// # Errors
    /// As [`next_record`](Self::next_record).
    pub fn next_entry(&mut self) -> Result<Option<SadcEntry>, SadcError> {
        let read = self.read_entry();
        self.ended(read)
    }

    /// Takes damage for the end of the file.
    fn ended<T>(&mut self, read: Result<Option<T>, SadcError>) -> Result<Option<T>, SadcError> {
        match read {
            Ok(record) => Ok(record),
            Err(error @ SadcError::Io { .. }) => Err(error),
            Err(SadcError::CutInHead(_)) => {
                self.ending = ImportEnding::Torn;
                Ok(None)
            }
            Err(SadcError::Damaged { what, .. }) => {
                self.ending = ImportEnding::Damaged(what);
                Ok(None)
            }
            Err(error) => {
                self.ending = ImportEnding::Damaged(error.to_string());
                Ok(None)
            }
        }
    }

    fn read_next(&mut self) -> Result<Option<ImportedRecord>, SadcError> {
        loop {
            match self.read_entry()? {
                Some(SadcEntry::Values(record)) => return Ok(Some(record)),
                Some(SadcEntry::Comment(comment)) => {
                    if let Some(comments) = &mut self.comments {
                        comments.push(comment);
                    }
                }
                Some(SadcEntry::Restart(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// Reads the next entry: a record of values or of another kind; `None` at the end.
    fn read_entry(&mut self) -> Result<Option<SadcEntry>, SadcError> {
        if self.ending != ImportEnding::Whole {
            return Ok(None);
        }
        loop {
            let Some(header) = self.head.record_header(&mut self.input)? else { return Ok(None) };
            match header.kind {
                head::STATISTICS | head::LAST_STATISTICS => {
                    return self.read_values(&header).map(|record| Some(SadcEntry::Values(record)));
                }
                head::RESTART => {
                    self.head.read_restart(&mut self.input)?;
                    self.is_restart = true;
                    return Ok(Some(SadcEntry::Restart(header.realtime_ns)));
                }
                head::COMMENT => {
                    self.input.bytes(&mut self.scratch, head::COMMENT_BYTES)?;
                    return Ok(Some(SadcEntry::Comment(SadcComment {
                        realtime_ns: header.realtime_ns,
                        after: self.latest,
                        text: text(&self.scratch).to_vec(),
                    })));
                }
                head::EXTRA_FIRST..=head::EXTRA_LAST => {}
                other => {
                    return Err(self
                        .input
                        .damaged(format!("a record of the unknown kind {other}")));
                }
            }
        }
    }

    /// Reads the values of a record.
    fn read_values(&mut self, header: &RecordHeader) -> Result<ImportedRecord, SadcError> {
        self.rows.clear();
        for description in &self.head.descriptions {
            read_items(description, &mut self.input, &mut self.rows, &mut self.scratch)?;
        }
        self.rows.add_up_cpus();
        let is_restart = std::mem::take(&mut self.is_restart) && self.started;
        self.started = true;
        let uptime_ns = header.uptime_hundredths.saturating_mul(10_000_000);
        self.latest = (header.realtime_ns, uptime_ns);
        Ok(ImportedRecord { uptime_ns, realtime_ns: header.realtime_ns, is_restart })
    }
}

/// Reads the items of one activity in a record.
fn read_items(
    description: &Description,
    input: &mut Input,
    rows: &mut Rows,
    scratch: &mut Vec<u8>,
) -> Result<(), SadcError> {
    let count = match description.has_count {
        true => input.count("items of an activity")?,
        false => description.items,
    };
    let all = u64::from(count) * u64::from(description.parts);
    let Some(activity) = description.activity else {
        return input.skip(all.saturating_mul(description.layout.bytes as u64));
    };
    let mut names: Vec<Vec<u8>> = Vec::new();
    let first = rows.all().len();
    for number in 0..all {
        input.bytes(scratch, description.layout.bytes)?;
        let item = Item {
            layout: &description.layout,
            bytes: scratch,
            number: (number / u64::from(description.parts)) as usize,
            part: (number % u64::from(description.parts)) as usize,
        };
        if !activity.add(&item, &mut names, rows) {
            return Err(
                input.damaged(format!("a record of more than {} rows", activities::ROWS_MAX))
            );
        }
    }
    // The first part is the sum of the others, and has no row.
    rows.put_parts_first(first, description.parts.saturating_sub(1) as usize);
    Ok(())
}

/// One item: a structure of the file.
struct Item<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
    /// Which item of the activity it is.
    number: usize,
    /// Which part of the item, for activities of two dimensions.
    part: usize,
}

/// The places of rows, by source and name.
type RowIndexes = HashMap<(&'static str, Vec<u8>), usize>;

/// Whether a file of that name is one that `sadc` makes by itself: `sa26`, `sa20261126`.
pub fn is_sadc_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let digits = name.strip_prefix("sa").unwrap_or_default();
    matches!(digits.len(), 2 | 8) && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a file that begins with these bytes is of `sadc`, whichever version and machine.
pub fn is_sadc_start(first: &[u8]) -> bool {
    first.starts_with(&input::MAGIC.to_le_bytes()) || first.starts_with(&input::MAGIC.to_be_bytes())
}
