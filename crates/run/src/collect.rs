//! The output of jobs: kept apart, in order, tagged, or in files; never mixed.
//!
//! Jobs write to descriptors that the [`Collector`] opens.  Each slot has one pair, which its next
//! job uses again:
//!
//! - [`Mode::Group`]: two unnamed files (`O_TMPFILE`), so that no file is left behind however this
//!   process ends.  A job without output costs two system calls (the lengths of its files); the
//!   output of others is copied to our own and the file truncated.
//!   With [`OutputOptions::compression`] other programs stand before these files.
//! - [`Mode::LineBuffer`]: two pipes, from which whole lines are copied as they come.
//! - [`Mode::Ungroup`]: our own standard output and error.
//!
//! The engine calls [`Collector::open`] before a job starts, [`Collector::readable`] when one of
//! [`Streams::watch`] is readable, and [`Collector::close`] when the job has ended for good, or
//! [`Collector::abandon`] when it is run again or its output is dropped.  Then it calls
//! [`Collector::next_written`] for the jobs whose joblog lines are due.

use std::io;
use std::os::fd::RawFd;
use std::path::PathBuf;

use template::Record;

mod collector;
mod color;
mod compressed;
mod groups;
mod latest;
mod lines;
mod order;
mod results;
mod sink;
mod slot;
mod space;
mod table;
mod temporary;

pub use collector::Collector;
pub use compressed::CompressionCommands;
pub use latest::OutputSize;
pub(crate) use order::HELD_FILES_MAX;
pub use results::{folder_of, has_results};
pub(crate) use temporary::Temporary;

/// How the output of jobs that run at the same time is kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The output of a job is written when it has ended: first its standard output, then its
    /// standard error.
    #[default]
    Group,
    /// Output is written line by line, as the job writes it.
    LineBuffer,
    /// Jobs write to our own descriptors.
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
    /// A tree of directories: `NAME/<source>/<value>/…/{stdout,stderr,seq}`.
    Tree(PathBuf),
    /// Files for each job, by a name that comes with the job ([`JobText::place`]), with `.err` and
    /// `.seq` beside it; a directory if the name ends in `/`.
    Template,
    /// A table; `None` is our standard output.
    Table(TableFormat, Option<PathBuf>),
}

/// What is done with the output of all jobs.
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// How the output of jobs is kept apart.
    pub mode: Mode,
    /// Write output in the order of the jobs' numbers, not in that of their ends.
    pub keep_order: bool,
    /// Write the output of all jobs of a group together when the group ends; not line by line.
    pub grouped: bool,
    /// Save output to files and print their names, each followed by this byte (`\n`, or NUL).
    pub files: Option<u8>,
    /// Remove each of these files when its name is printed (`--dry-run`).
    pub removes_files: bool,
    /// Save output to files or a table.
    pub results: Option<Results>,
    /// Names of the input sources (`--header :`); without a name the number is used.
    pub names: Vec<Vec<u8>>,
    /// Color the lines of each job; ignored when ungrouped.
    pub color: bool,
    /// Color the lines of failed jobs red, except lines that were written before the job ended.
    pub color_failed: bool,
    /// Where temporary files are made.
    pub directory: PathBuf,
    /// With [`Mode::Group`]: compress temporary files; not beside files and results.
    pub compression: Option<CompressionCommands>,
    /// No command writes to its standard output
    /// ([`redirects_output`](template::shell::redirects_output)), so grouped jobs need no file for
    /// it.
    pub stdout_unused: bool,
    /// Most outputs that wait in a file of their own.
    pub held_files_max: usize,
    /// With [`Mode::LineBuffer`]: show only each job's latest line, on a terminal of this size.
    pub latest_line: Option<OutputSize>,
}

impl Default for OutputOptions {
    fn default() -> Self {
        OutputOptions {
            mode: Mode::default(),
            keep_order: false,
            grouped: false,
            files: None,
            removes_files: false,
            results: None,
            names: Vec::new(),
            color: false,
            color_failed: false,
            directory: PathBuf::new(),
            compression: None,
            stdout_unused: false,
            held_files_max: HELD_FILES_MAX,
            latest_line: None,
        }
    }
}

/// What is known of a job before it starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct JobText<'a> {
    /// Written before each of its lines, followed by a TAB.
    pub tag: Option<&'a [u8]>,
    /// Written to standard output before the output of the job (`-v`, `--dry-run`); a newline is
    /// added.
    pub heading: Option<&'a [u8]>,
    /// The name of its files, for [`Results::Template`].
    pub place: Option<&'a [u8]>,
    /// The group it is in, for [`OutputOptions::grouped`].
    pub group: usize,
    /// The argument records of the job, for [`Results::Tree`] and the tables.
    pub records: &'a [Record],
}

/// The standard output and error of a job.
///
/// The collector owns the descriptors; they are close-on-exec, and valid until the job is closed or
/// abandoned.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// The job's descriptor 1; `None` to inherit ours.
    pub stdout: Option<RawFd>,
    /// The job's descriptor 2.
    pub stderr: RawFd,
    /// Descriptors to watch from now on: call [`Collector::readable`] when one is readable.  Given
    /// once for a slot, whose later jobs use them too.  An epoll set drops them when they are
    /// closed.
    pub watch: Option<[RawFd; 2]>,
}

/// Why output could not be collected or written.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// The reader of our standard output has closed it: exit silently.
    #[error("the reader of the output is gone")]
    ReaderGone,
    /// One of our outputs cannot be written: the jobs go on.
    #[error("cannot write to {what}: {error}")]
    Write {
        /// Which output.
        what: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The disk of the temporary files is full.
    #[error("no space left for {what}: free some, or choose another folder with --tmpdir")]
    Full {
        /// The folder of the temporary files.
        what: String,
    },
    /// A program of `--compress` failed: output would be missing.
    #[error("'{command}' failed ({why}): name another with --compress-program")]
    Compression {
        /// What the shell was told.
        command: String,
        /// How it ended.
        why: String,
    },
    /// These options contradict each other.
    #[error("{what} cannot go together: leave one of them out")]
    Together {
        /// The options.
        what: &'static str,
    },
    /// Anything else.
    #[error("cannot {what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        error: io::Error,
    },
}
