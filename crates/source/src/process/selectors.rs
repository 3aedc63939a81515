//! Selection of processes: `--procfilt`, by collectl's rules.
//!
//! A list of selectors, one of which must match: `chttp` (a regular expression found in the name),
//! `Chttp` (at its beginning), `fgetty tty1` (text found in the command line), `p42`, `P1` (the
//! parent), `u1000`, `u100-199`, `Uroot`.  A `+` after the letter adds the threads.

use std::path::{Path, PathBuf};

use regex::bytes::Regex;

use crate::process_options::{Candidate, Choice, Chooser};

/// The most selectors of a filter, far more than a person or a script writes.
const SELECTORS_MAX: usize = 10_000;

/// The longest names that collectl accepts: the kernel's limit for commands, that of `ps` for
/// users.
const COMMAND_BYTES_MAX: usize = 15;
const USER_BYTES_MAX: usize = 19;

/// The facts of a process that a filter uses, from a recording or while it is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessFacts<'a> {
    /// The process id; for a thread other than the first, that of its process.
    pub(super) pid: i64,
    /// The parent's process id, if known.
    pub(super) parent: Option<i64>,
    /// The real user id, if known.
    pub(super) uid: Option<i64>,
    /// Name of the real user, or the id if it has none.
    pub(super) user: &'a [u8],
    /// The name of the task (`comm`): at most 15 bytes, any bytes.
    pub(super) command: &'a [u8],
    /// Program and arguments, separated by blanks; `None` if not known.
    pub(super) command_line: Option<&'a [u8]>,
    /// Whether it is a thread other than the first.
    pub(super) is_thread: bool,
}

/// An invalid list of selectors.
#[derive(Debug, thiserror::Error)]
pub enum SelectorError {
    /// The file with the list cannot be read.
    #[error("--procfilt: cannot read the file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: std::io::Error,
    },
    /// The file has no selectors.
    #[error("--procfilt: the file {} selects nothing", .0.display())]
    EmptyFile(PathBuf),
    /// The list has no selectors.
    #[error("--procfilt {0}: selects nothing")]
    Empty(String),
    /// The list has too many selectors.
    #[error("--procfilt: {0} selectors; the limit is {SELECTORS_MAX}")]
    TooMany(usize),
    /// A selector with an invalid regular expression.
    #[error("--procfilt {part}: '{pattern}' is not a regular expression")]
    Pattern {
        /// The selector.
        part: String,
        /// The expression.
        pattern: String,
        /// The reason why it is invalid.
        #[source]
        source: regex::Error,
    },
    /// An invalid selector.
    #[error("--procfilt {part}: {reason}")]
    Form {
        /// The selector.
        part: String,
        /// The reason why it is invalid.
        reason: String,
    },
}

/// The value of `--procfilt`.
#[derive(Clone, Debug, Default)]
pub(super) struct Selectors(Vec<Selector>);

#[derive(Clone, Debug)]
struct Selector {
    what: What,
    threads: bool,
}

#[derive(Clone, Debug)]
enum What {
    Name(Regex),
    CommandLine(Regex),
    Process(i64),
    Parent(i64),
    Users(std::ops::RangeInclusive<i64>),
    User(Vec<u8>),
}

impl Selectors {
    /// Parses a list, or the file of that name with a list.
    pub(super) fn parse(given: &str) -> Result<Self, SelectorError> {
        let list = match Path::new(given).exists() {
            true => joined_lines(Path::new(given))?,
            false => given.to_owned(),
        };
        let parts = list.split(',').filter(|part| !part.is_empty());
        let selectors: Vec<Selector> = parts.map(Selector::parse).collect::<Result<_, _>>()?;
        match selectors.len() {
            0 => Err(SelectorError::Empty(given.to_owned())),
            count if count > SELECTORS_MAX => Err(SelectorError::TooMany(count)),
            _ => Ok(Selectors(selectors)),
        }
    }

    /// The decision about a process.  For a thread it needs the facts of the process.
    fn decide(&self, facts: &ProcessFacts<'_>) -> Choice {
        let mut choice = Choice::Leave;
        for selector in &self.0 {
            match selector.what.matches(facts) {
                Some(true) if selector.threads => return Choice::KeepWithThreads,
                Some(true) => choice = Choice::Keep,
                None if choice == Choice::Leave => choice = Choice::AskCommandLine,
                Some(false) | None => {}
            }
        }
        choice
    }

    /// Whether a process is shown.  A thread other than the first is shown if its process is
    /// selected with its threads.
    pub(super) fn shows(&self, facts: &ProcessFacts<'_>) -> bool {
        match self.decide(facts) {
            Choice::KeepWithThreads => true,
            Choice::Keep => !facts.is_thread,
            Choice::Leave | Choice::AskCommandLine => false,
        }
    }

    /// Makes the decision while processes are being read.
    pub(super) fn chooser(self) -> Box<Chooser> {
        Box::new(move |candidate: &Candidate<'_>| {
            self.decide(&ProcessFacts {
                pid: candidate.pid.into(),
                parent: Some(candidate.parent.into()),
                uid: candidate.uid.map(i64::from),
                user: candidate.user,
                command: candidate.command,
                command_line: candidate.command_line,
                is_thread: false,
            })
        })
    }
}

impl Selector {
    fn parse(part: &str) -> Result<Self, SelectorError> {
        let form = |reason: String| SelectorError::Form { part: part.to_owned(), reason };
        let compile = |pattern: &str, shown: &str| {
            Regex::new(pattern).map_err(|source| SelectorError::Pattern {
                part: part.to_owned(),
                pattern: shown.to_owned(),
                source,
            })
        };
        let mut rest = part.chars();
        let letter = rest.next().unwrap_or_default();
        let rest = rest.as_str();
        let value = rest.trim_start_matches('+');
        let threads = value.len() < rest.len();
        let number = || {
            let number = value.parse().ok().filter(|number: &i64| *number >= 0);
            number.ok_or_else(|| form(format!("'{value}' is not a number")))
        };
        let at_most = |bytes_max: usize, what: &str| match value.len() <= bytes_max {
            true => Ok(()),
            false => Err(form(format!("{what} have no more than {bytes_max} bytes"))),
        };
        let what = match letter {
            'c' | 'C' => {
                at_most(COMMAND_BYTES_MAX, "names")?;
                let pattern =
                    if letter == 'C' { format!("^(?:{value})") } else { value.to_owned() };
                What::Name(compile(&pattern, value)?)
            }
            'f' => What::CommandLine(compile(&regex::escape(value), value)?),
            'p' => What::Process(number()?),
            'P' => What::Parent(number()?),
            'u' => match value.split_once('-') {
                Some((low, high)) => {
                    let ends = low.parse().ok().zip(high.parse().ok());
                    let ends = ends.filter(|(low, high): &(i64, i64)| *low >= 0 && low <= high);
                    let (low, high) =
                        ends.ok_or_else(|| form(format!("'{value}' is not a range of users")))?;
                    What::Users(low..=high)
                }
                None => number().map(|number| What::Users(number..=number))?,
            },
            'U' => {
                at_most(USER_BYTES_MAX, "names of users")?;
                What::User(value.as_bytes().to_vec())
            }
            _ => return Err(form("must begin with one of c C f p P u U".to_owned())),
        };
        if value.is_empty() {
            return Err(form("nothing follows the letter".to_owned()));
        }
        Ok(Selector { what, threads })
    }
}

impl What {
    /// Whether the process matches; `None` if that depends on the command line, which is not known.
    fn matches(&self, facts: &ProcessFacts<'_>) -> Option<bool> {
        Some(match self {
            What::Name(regex) => regex.is_match(facts.command),
            What::CommandLine(text) => text.is_match(facts.command_line?),
            What::Process(pid) => facts.pid == *pid,
            What::Parent(pid) => facts.parent == Some(*pid),
            What::Users(range) => facts.uid.is_some_and(|uid| range.contains(&uid)),
            What::User(name) => facts.user == name,
        })
    }
}

/// The lines of a file as one list, without blanks, comments and empty lines.
fn joined_lines(path: &Path) -> Result<String, SelectorError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| SelectorError::Read { path: path.to_owned(), source })?;
    let lines = text.lines().map(|line| line.split_whitespace().collect::<String>());
    let lines: Vec<String> =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    match lines.is_empty() {
        true => Err(SelectorError::EmptyFile(path.to_owned())),
        false => Ok(lines.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: ProcessFacts<'static> = ProcessFacts {
        pid: 42,
        parent: Some(1),
        uid: Some(33),
        user: b"www-data",
        command: b"httpd",
        command_line: Some(b"/usr/sbin/httpd -k start"),
        is_thread: false,
    };

    fn decide(list: &str, facts: &ProcessFacts<'_>) -> Choice {
        Selectors::parse(list).unwrap().decide(facts)
    }

    #[test]
    fn every_letter_selects() {
        for list in ["chttp", "ct+pd$", "Chttp", "fhttpd -k", "p42", "P1", "u33", "u1-100"] {
            assert_eq!(decide(list, &FACTS), Choice::Keep, "{list}");
        }
        assert_eq!(decide("Uwww-data", &FACTS), Choice::Keep);
        for list in ["cssh", "Cttpd", "fhttpd -k stop", "p4", "P42", "u3", "u34-100", "Uwww"] {
            assert_eq!(decide(list, &FACTS), Choice::Leave, "{list}");
        }
        assert_eq!(decide("cssh,p7,Uwww-data", &FACTS), Choice::Keep);
        assert_eq!(decide("chttp,c+http", &FACTS), Choice::KeepWithThreads);
        let early = ProcessFacts { command_line: None, ..FACTS };
        assert_eq!(decide("fhttpd", &early), Choice::AskCommandLine);
        assert_eq!(decide("fhttpd,p42", &early), Choice::Keep);
        assert_eq!(decide("u0", &ProcessFacts { uid: None, ..FACTS }), Choice::Leave);
    }

    #[test]
    fn threads_follow_their_process_if_asked_for() {
        let thread = ProcessFacts { is_thread: true, ..FACTS };
        let shown = |list: &str| Selectors::parse(list).unwrap().shows(&thread);
        assert!(shown("p+42") && !shown("p42") && !shown("p+7"));
    }

    #[test]
    fn a_file_is_a_list() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# mine\n\n p 42 , cssh\nUroot\n").unwrap();
        let selectors = Selectors::parse(file.path().to_str().unwrap()).unwrap();
        assert_eq!(selectors.0.len(), 3);
        assert_eq!(selectors.decide(&FACTS), Choice::Keep);
        std::fs::write(file.path(), "# nothing\n").unwrap();
        assert!(Selectors::parse(file.path().to_str().unwrap()).is_err());
    }

    #[test]
    fn what_selects_nothing_is_refused() {
        for list in ["", ",", "x1", "p", "px", "p-1", "u1-", "u5-3", "c(", "c1234567890123456"] {
            assert!(Selectors::parse(list).is_err(), "{list}");
        }
    }
}
