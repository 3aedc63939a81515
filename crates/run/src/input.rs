//! Input sources: arguments, files and streams, combined into records and packed into jobs.
//!
//! [`split`] takes the sources off a command line, [`open`] makes an [`Input`] of them, which is an
//! iterator of records; [`Packer`] packs several records into one job.
//!
//! A single source is streamed: a million lines take the memory of one.  For a product only the
//! sources after the first are kept, because each of their values is used again for every value of
//! those before.

mod columns;
mod combine;
mod lines;
mod link;
mod packer;
mod product;
#[cfg(test)]
mod tests;
mod values;

use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use thiserror::Error;

pub(crate) use self::columns::{Cut, bytes_pattern, is_space};
pub use self::combine::Input;
pub use self::packer::{Packer, RecordPacking};

/// Where values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// Given on the command line (`:::`).
    Arguments(Vec<Vec<u8>>),
    /// Lines of a file (`::::`, `-a`).
    File(PathBuf),
    /// Lines of standard input (`-a -`, `:::: -`, or no source at all).
    Stdin,
}

/// Whether a source advances together with the one before it (`:::+`, `::::+`): the shorter of the
/// two ends both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Linked {
    /// It is combined with all values of the sources before it.
    #[default]
    No,
    /// The source before it: the n-th value of one goes with the n-th of the other.
    Previous,
}

/// Sources in their order, each with its link.
pub type Sources = Vec<(InputSource, Linked)>;

/// The words that begin sources on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Separators {
    /// Before arguments: `:::` (`--arg-sep`); a `+` after it links them.
    pub arguments: Vec<u8>,
    /// Before files: `::::` (`--arg-file-sep`); a `+` after it links them.
    pub files: Vec<u8>,
}

impl Default for Separators {
    fn default() -> Self {
        Separators { arguments: b":::".to_vec(), files: b"::::".to_vec() }
    }
}

/// How a value is split into columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Not at all.
    #[default]
    None,
    /// At each match of this regular expression (`--colsep`) over bytes.
    Separator(Vec<u8>),
    /// As CSV, with this separator between fields (`--csv`; `,`).
    Csv(Vec<u8>),
}

/// The names of the values (`--header`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ValueNames {
    /// None.
    #[default]
    None,
    /// The first value of each source (`:`, and any other argument of `--header`, which only
    /// `--pipe` uses).
    First,
    /// The names of the files (`0`).
    FileNames,
}

/// White space that is removed from values (`--trim`).
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
pub struct InputOptions {
    /// What ends a value in a file: `\n`, or that of `-d` or `-0`; see [`delimiter`].
    pub delimiter: Vec<u8>,
    /// How values are split into columns.
    pub columns: Columns,
    /// The names of the values.
    pub header: ValueNames,
    /// White space to remove, from each column; `None` for the default of the columns
    /// ([`Trim::Both`] with [`Columns::Separator`]).
    pub trim: Option<Trim>,
    /// Read all sources in parallel, repeating the short ones (`--link`).
    pub link: bool,
    /// Read everything first and shuffle it with this seed (`--shuf`).
    pub shuffle: Option<u64>,
    /// A value that ends the input (`-E`).
    pub end_of_file: Option<Vec<u8>>,
    /// Skip the first value of the first source (`--skip-first-line`).
    pub skip_first_line: bool,
    /// Skip values that consist of white space (`-r`).
    pub no_run_if_empty: bool,
    /// A value that ends in white space is continued by the next one (`-L`, `-l`).
    pub continued: bool,
}

impl Default for InputOptions {
    fn default() -> Self {
        InputOptions {
            delimiter: b"\n".to_vec(),
            columns: Columns::None,
            header: ValueNames::None,
            trim: None,
            link: false,
            shuffle: None,
            end_of_file: None,
            skip_first_line: false,
            no_run_if_empty: false,
            continued: false,
        }
    }
}

/// Why input cannot be read.
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
    #[error(
        "{name}: a value is longer than {limit} bytes: set the delimiter with -d, or use --pipe"
    )]
    TooLong {
        /// The file, or `standard input`.
        name: String,
        /// The limit.
        limit: usize,
    },
    /// Values that must be kept because they are used again take too much memory.
    #[error(
        "the values that are used more than once take more than {limit} bytes: \
         put the longest source first, or do without --link and --shuf"
    )]
    TooMuch {
        /// The limit.
        limit: usize,
    },
    /// A line is not CSV.
    #[error("{name}: {line:?} is not CSV: {reason}")]
    Csv {
        /// The file, or `standard input`.
        name: String,
        /// The beginning of the record.
        line: String,
        /// Why it is invalid.
        reason: &'static str,
    },
    /// A regular expression is invalid.
    #[error("cannot use the regular expression {pattern:?} of {option}: {error}")]
    Pattern {
        /// As the user wrote it.
        pattern: String,
        /// The option that it belongs to.
        option: &'static str,
        /// Why it is invalid.
        error: String,
    },
    /// The separator of CSV columns is empty.
    #[error(
        "--colsep '' leaves the columns of --csv without a separator: give one or leave it out"
    )]
    Separator,
    /// A delimiter is invalid.
    #[error(
        "the delimiter {text:?} of -d is empty or unreadable: give characters, \\n, \\054 or \\x2c"
    )]
    Delimiter {
        /// As the user wrote it.
        text: String,
    },
    /// The command line is too long with a single record.
    #[error("the command line is too long with the argument {argument:?}")]
    DoesNotFit {
        /// The beginning of the record.
        argument: String,
    },
    /// The command line is too long with the number of records asked for (`-x`).
    #[error("the command line is too long with {wanted} arguments: ask for less or leave out -x")]
    TooManyForOne {
        /// The number asked for.
        wanted: u64,
    },
}

impl InputError {
    /// Whether a stream only has nothing to read yet, so that reading can be tried again.
    pub fn passes(&self) -> bool {
        matches!(self, InputError::Read { error, .. } if error.kind() == ErrorKind::WouldBlock)
    }
}

/// Splits a command line into the words of the command and the sources that follow them.  `-` among
/// files is standard input.
pub fn split(words: Vec<Vec<u8>>, separators: &Separators) -> (Vec<Vec<u8>>, Sources) {
    let mut command = Vec::new();
    let mut sources: Sources = Vec::new();
    // Where words belong: to the command until the first separator, then to a list of arguments, or
    // of files with their link.
    let mut files: Option<Linked> = None;
    let mut in_command = true;
    for word in words {
        if let Some((is_files, linked)) = separators.find(&word) {
            in_command = false;
            files = is_files.then_some(linked);
            if !is_files {
                sources.push((InputSource::Arguments(Vec::new()), linked));
            }
        } else if in_command {
            command.push(word);
        } else if let Some(linked) = files {
            sources.push((file(word), linked));
        } else if let Some((InputSource::Arguments(values), _)) = sources.last_mut() {
            values.push(word);
        }
    }
    (command, sources)
}

impl Separators {
    /// Whether a separator is for files, and how they are linked; `None` for other words.
    fn find(&self, word: &[u8]) -> Option<(bool, Linked)> {
        let (base, linked) = match word.strip_suffix(b"+") {
            Some(base) if base == self.arguments || base == self.files => (base, Linked::Previous),
            _ => (word, Linked::No),
        };
        if base == self.arguments {
            Some((false, linked))
        } else if base == self.files {
            Some((true, linked))
        } else {
            None
        }
    }
}

/// The source for a file name: `-` is standard input.
pub fn file(name: Vec<u8>) -> InputSource {
    use std::os::unix::ffi::OsStringExt;
    if name == b"-" {
        InputSource::Stdin
    } else {
        InputSource::File(std::ffi::OsString::from_vec(name).into())
    }
}

/// The bytes that `-d` stands for: characters, escapes of C (`\n`, `\t`, `\0` …), octal `\054` and
/// hexadecimal `\x2c`; other escapes stand for themselves.
pub fn delimiter(text: &[u8]) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        if let Some((byte, used)) = (first == b'\\').then(|| escape(after)).flatten() {
            bytes.push(byte);
            rest = &after[used..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    if bytes.is_empty() {
        return Err(InputError::Delimiter { text: String::from_utf8_lossy(text).into_owned() });
    }
    Ok(bytes)
}

/// The byte of an escape after the backslash, and how many characters it took.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let number = |digits: &[u8], base: u32| {
        let length = digits.iter().take_while(|digit| (**digit as char).is_digit(base)).count();
        let value = digits[..length].iter().fold(0, |value: u32, digit| {
            value * base + (*digit as char).to_digit(base).unwrap_or(0)
        });
        (length > 0).then_some(())?;
        Some((u8::try_from(value).ok()?, length))
    };
    match *text.first()? {
        b'n' => Some((b'\n', 1)),
        b't' => Some((b'\t', 1)),
        b'r' => Some((b'\r', 1)),
        b'a' => Some((7, 1)),
        b'b' => Some((8, 1)),
        b'v' => Some((11, 1)),
        b'f' => Some((12, 1)),
        b'\\' => Some((b'\\', 1)),
        b'x' => {
            let (byte, used) = number(&text[1..text.len().min(3)], 16)?;
            Some((byte, used + 1))
        }
        _ => number(&text[..text.len().min(3)], 8),
    }
}

/// Opens the sources; without any, standard input is the only one.  `stdin` is what
/// [`InputSource::Stdin`] reads.  The line of a header is read here.
pub fn open(
    sources: Sources,
    options: &InputOptions,
    stdin: Box<dyn Read + Send>,
) -> Result<Input, InputError> {
    Input::new(sources, options, stdin)
}
