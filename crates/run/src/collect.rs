//! The output of jobs: kept apart, in order, tagged, in files; never mixed.
//!
//! Jobs write to descriptors that the [`Collector`] opens, one pair for each slot, used again for the
//! slot's next job:
//!
//! - [`Mode::Group`]: two files without a name (`O_TMPFILE`), so that no file is left behind however
//!   this process ends.  A job that wrote nothing costs two calls (where do its files end?); the output
//!   of others is copied to our own and the file truncated.
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
mod groups;
mod lines;
mod order;
mod results;
mod sink;
mod slot;
mod space;
mod table;
mod temporary;

pub use collector::Collector;
pub use results::{folder_of, has_results};
pub(crate) use temporary::Temporary;

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
pub struct OutputOptions {
    /// How it is kept apart.
    pub mode: Mode,
    /// In the order of the jobs' numbers, not in that of their ends.
    pub keep_order: bool,
    /// What the jobs of a group wrote comes together, when the group is over; not line by line.
    pub grouped: bool,
    /// Save it to files and print their names, each followed by this byte (`\n`, or NUL).
    pub files: Option<u8>,
    /// Save it to files or a table.
    pub results: Option<Results>,
    /// Names of the input sources (`--header :`); numbers where there are none.
    pub names: Vec<Vec<u8>>,
    /// The lines of each job in a color of its own; ignored when ungrouped.
    pub color: bool,
    /// The lines of jobs that failed in red; of those that were passed on line by line it is too
    /// late.
    pub color_failed: bool,
    /// Where temporary files are made.
    pub directory: PathBuf,
    /// No command writes anything to its standard output
    /// ([`redirects_output`](template::shell::redirects_output)): grouped, they need no file for it.
    pub stdout_unused: bool,
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
    /// The group it is in, for [`OutputOptions::grouped`].
    pub group: usize,
    /// Its argument records, for [`Results::Tree`] and the tables.
    pub records: &'a [Record],
}

/// What a job gets as its standard output and error.
///
/// The descriptors stay the collector's; they are close-on-exec, and valid until the job is closed
/// or abandoned.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// Its descriptor 1; `None` leaves ours.
    pub stdout: Option<RawFd>,
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
