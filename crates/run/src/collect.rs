//! The output of jobs: kept apart, in order, tagged, in files; never mixed.
//!
//! What a job writes goes to descriptors that the [`Collector`] hands out, one pair for each slot,
//! used again for the slot's next job:
//!
//! - [`Mode::Group`]: two files without a name (`O_TMPFILE`), so that nothing is left behind
//!   however the runner ends.  A job that wrote nothing costs two calls (where do its files end?),
//!   one that wrote something is copied to our own output and its file cut back to nothing.
//! - [`Mode::LineBuffer`]: two pipes, from which whole lines are passed on as they come.
//! - [`Mode::Ungroup`]: our own standard output and error.
//!
//! The engine calls [`Collector::open`] before a job starts, [`Collector::readable`] when one of
//! [`Streams::watch`] is readable, [`Collector::close`] when the job has ended for good,
//! [`Collector::abandon`] when it is to be tried again, [`Collector::finish`] at the end.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;

use crate::job::{Finished, Record};

/// How output of jobs that run at the same time is kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// What a job wrote comes when it has ended: its standard output, then its standard error.
    #[default]
    Group,
    /// It comes line by line, as it is written.
    LineBuffer,
    /// It goes where ours goes, at once, in pieces of any size.
    Ungroup,
}

/// A table of results, one row for each job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Comma-separated values.
    Csv,
    /// Values separated by TAB.
    Tsv,
    /// One JSON object a line.
    Json,
}

/// Where `--results` goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Results {
    /// A tree of folders: `NAME/<source>/<value>/…/{stdout,stderr,seq}`.
    Tree(PathBuf),
    /// A file of its own for each job: the name comes with the job ([`JobText::place`]), and
    /// `.err` and `.seq` beside it; a folder if the name ends in `/`.
    Template,
    /// A table; `None` is our standard output.
    Table(TableFormat, Option<PathBuf>),
}

/// What is to be done with the output of all jobs.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How it is kept apart.
    pub mode: Mode,
    /// In the order of the jobs' numbers, not in that of their ends.
    pub keep_order: bool,
    /// Save it to files and print their names, each followed by this byte (`\n`, or NUL).
    pub files: Option<u8>,
    /// Save it to files or a table.
    pub results: Option<Results>,
    /// Names of the input sources (`--header :`); numbers where there are none.
    pub names: Vec<Vec<u8>>,
    /// Where temporary files are made.
    pub directory: PathBuf,
}

/// What is known of a job before it starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobText<'a> {
    /// Written before each of its lines, with a TAB behind it.
    pub tag: Option<&'a [u8]>,
    /// Written to standard output before everything that the job writes (`-v`, `--dry-run`); a
    /// line feed is added.
    pub heading: Option<&'a [u8]>,
    /// The name of its files, for [`Results::Template`].
    pub place: Option<&'a [u8]>,
    /// Its argument records, for [`Results::Tree`] and the tables.
    pub records: &'a [Record],
}

/// What a job gets as its standard output and error.
///
/// The descriptors stay the collector's; they are close-on-exec, and valid until the job is closed
/// or abandoned.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// Its descriptor 1.
    pub stdout: RawFd,
    /// Its descriptor 2.
    pub stderr: RawFd,
    /// Descriptors to be watched from now on: call [`Collector::readable`] when one is readable.
    /// Given once; a slot's later jobs use them again.  They leave an epoll set by themselves.
    pub watch: Option<[RawFd; 2]>,
}

/// Why output could not be kept or written.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// Whoever read our standard output has closed it: end, and say nothing.
    #[error("the reader of the output is gone")]
    ReaderGone,
    /// The disk of a file or of our output is full.
    #[error("no space left for {what}: free some, or choose another folder with --tmpdir")]
    Full {
        /// Whose space has run out.
        what: String,
    },
    /// Anything else.
    #[error("cannot {what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

/// Collects the output of jobs.
#[derive(Debug)]
pub struct Collector {
    options: Options,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl Collector {
    /// One that writes to these two.
    pub fn new(options: Options, stdout: OwnedFd, stderr: OwnedFd) -> Result<Self, CollectError> {
        Ok(Collector { options, stdout, stderr })
    }

    /// The job `seq` is about to start in `slot` (from 1).
    pub fn open(
        &mut self,
        slot: u32,
        seq: u64,
        text: &JobText<'_>,
    ) -> Result<Streams, CollectError> {
        let _ = (slot, seq, text, &self.options, &self.stdout, &self.stderr);
        Err(CollectError::Full { what: "anything yet".into() })
    }

    /// There is something to read from one of [`Streams::watch`].
    pub fn readable(&mut self, watched: RawFd) -> Result<(), CollectError> {
        let _ = watched;
        Ok(())
    }

    /// The job in `finished.slot` has ended for good: write out what it wrote, or queue it if
    /// others come first, and add its size to `finished.receive_bytes`.
    ///
    /// `leftovers`: processes of it still run (its process group is not empty), so its files must
    /// not be given to another job.
    pub fn close(&mut self, finished: &mut Finished, leftovers: bool) -> Result<(), CollectError> {
        let _ = (finished, leftovers);
        Ok(())
    }

    /// The job in `slot` has ended, but will be tried again: what it wrote is thrown away.
    pub fn abandon(&mut self, slot: u32, leftovers: bool) -> Result<(), CollectError> {
        let _ = (slot, leftovers);
        Ok(())
    }

    /// No more jobs: everything that can be written is written.
    pub fn finish(&mut self) -> Result<(), CollectError> {
        Ok(())
    }
}
