//! Which processes are meant (`--procfilt`), how they are shown (`--procopts`, `--procstate`) and
//! what their users are called (`--passwd`): collectl's switches and their rules.
//!
//! A filter is a list of selectors, any of which is enough: `chttp` (a regular expression found in
//! the name), `Chttp` (at its beginning), `fgetty tty1` (text found in the command line), `p42`,
//! `P1` (the parent), `u1000`, `u100-199`, `Uroot`.  A `+` behind the letter adds the threads.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, bail, ensure};
use layout::{ProcessFacts, ProcessFilter, UserNames};
use regex::bytes::Regex;

use super::DisplayArguments;

/// Letters of `--procopts`, collectl's.
const LETTERS: &str = "cfiIkmprRsStuwxz";

/// Most selectors of a filter: a list that a person or a script writes, not a dump.
const SELECTORS_MAX: usize = 10_000;

/// Longest names that collectl takes: the kernel's for commands, `ps`'s for users.
const COMMAND_BYTES_MAX: usize = 15;
const USER_BYTES_MAX: usize = 19;

/// What a filter says of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Not meant.
    Leave,
    /// Meant.
    Keep,
    /// Meant, and its threads.
    KeepWithThreads,
    /// Hangs on its command line, which is not known.
    AskCommandLine,
}

/// `--procfilt`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selectors(Vec<Selector>);

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
    /// A list, or the name of a file with one.
    pub(crate) fn parse(given: &str) -> anyhow::Result<Self> {
        let list = match Path::new(given).exists() {
            true => joined_lines(given)?,
            false => given.to_owned(),
        };
        let selectors: Vec<Selector> = list
            .split(',')
            .filter(|part| !part.is_empty())
            .map(Selector::parse)
            .collect::<anyhow::Result<_>>()?;
        ensure!(!selectors.is_empty(), "--procfilt {given}: selects nothing");
        ensure!(
            selectors.len() <= SELECTORS_MAX,
            "--procfilt: {} selectors; no more than {SELECTORS_MAX} are taken",
            selectors.len()
        );
        Ok(Selectors(selectors))
    }

    /// What the list says of a process.  Threads are asked with the facts of their process.
    pub(crate) fn decide(&self, facts: &ProcessFacts<'_>) -> Decision {
        let mut decision = Decision::Leave;
        for selector in &self.0 {
            match selector.what.matches(facts) {
                Some(true) if selector.threads => return Decision::KeepWithThreads,
                Some(true) => decision = Decision::Keep,
                None if decision == Decision::Leave => decision = Decision::AskCommandLine,
                Some(false) | None => {}
            }
        }
        decision
    }

    /// As a filter of what is shown.  A further thread is shown if its process is meant with its
    /// threads.
    pub(crate) fn filter(self) -> ProcessFilter {
        ProcessFilter::new(move |facts| match self.decide(facts) {
            Decision::KeepWithThreads => true,
            Decision::Keep => !facts.is_thread,
            Decision::Leave | Decision::AskCommandLine => false,
        })
    }
}

impl Selectors {
    /// As a choice of what is read.
    pub(crate) fn chooser(self) -> Box<source::Chooser> {
        Box::new(move |candidate| {
            let facts = ProcessFacts {
                pid: candidate.pid.into(),
                parent: Some(candidate.parent.into()),
                uid: candidate.uid.map(i64::from),
                user: candidate.user,
                command: candidate.command,
                command_line: candidate.command_line,
                is_thread: false,
            };
            match self.decide(&facts) {
                Decision::Leave => source::Choice::Leave,
                Decision::Keep => source::Choice::Keep,
                Decision::KeepWithThreads => source::Choice::KeepWithThreads,
                Decision::AskCommandLine => source::Choice::AskCommandLine,
            }
        })
    }
}

impl Selector {
    fn parse(part: &str) -> anyhow::Result<Self> {
        let mut rest = part.chars();
        let letter = rest.next().unwrap_or_default();
        let rest = rest.as_str();
        let value = rest.trim_start_matches('+');
        let threads = value.len() < rest.len();
        let number = || -> anyhow::Result<i64> {
            let number = value.parse().ok().filter(|number| *number >= 0);
            number.with_context(|| format!("--procfilt {part}: '{value}' is not a number"))
        };
        let what = match letter {
            'c' | 'C' => {
                ensure!(
                    value.len() <= COMMAND_BYTES_MAX,
                    "--procfilt {part}: names have no more than {COMMAND_BYTES_MAX} bytes"
                );
                let pattern =
                    if letter == 'C' { format!("^(?:{value})") } else { value.to_owned() };
                let regex = Regex::new(&pattern).with_context(|| {
                    format!("--procfilt {part}: '{value}' is no regular expression")
                })?;
                What::Name(regex)
            }
            'f' => What::CommandLine(Regex::new(&regex::escape(value)).context("--procfilt f")?),
            'p' => What::Process(number()?),
            'P' => What::Parent(number()?),
            'u' => match value.split_once('-') {
                Some((low, high)) => {
                    let ends = low.parse().ok().zip(high.parse().ok());
                    let ends = ends.filter(|(low, high): &(i64, i64)| *low >= 0 && low <= high);
                    let (low, high) = ends.with_context(|| {
                        format!("--procfilt {part}: '{value}' is no range of users")
                    })?;
                    What::Users(low..=high)
                }
                None => number().map(|number| What::Users(number..=number))?,
            },
            'U' => {
                ensure!(
                    value.len() <= USER_BYTES_MAX,
                    "--procfilt {part}: names of users have no more than {USER_BYTES_MAX} bytes"
                );
                What::User(value.as_bytes().to_vec())
            }
            _ => bail!("--procfilt {part}: must begin with one of c C f p P u U"),
        };
        ensure!(!value.is_empty(), "--procfilt {part}: nothing stands behind the letter");
        Ok(Selector { what, threads })
    }
}

impl What {
    /// Whether it is meant; `None` if that hangs on the command line, which is not known.
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

/// The lines of a file as one list: without blanks, comments and empty lines.
fn joined_lines(path: &str) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--procfilt: cannot read the file {path}"))?;
    let lines = text.lines().map(|line| line.split_whitespace().collect::<String>());
    let lines: Vec<String> =
        lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    ensure!(!lines.is_empty(), "--procfilt: the file {path} selects nothing");
    Ok(lines.join(","))
}

/// Fails unless `--procopts` and `--procstate` are what collectl takes.
pub(crate) fn check(procopts: &str, procstate: &str) -> anyhow::Result<()> {
    let letters = without_widths(procopts)?;
    super::only("--procopts", &letters, LETTERS)?;
    let has = |letter| letters.contains(letter);
    ensure!(!(has('i') && has('m')), "--procopts: i and m exclude each other");
    ensure!(!(has('i') && has('I')), "--procopts: i and I exclude each other");
    ensure!(!(has('s') && has('S')), "--procopts: s and S exclude each other");
    super::only("--procstate", procstate, "DRSTWZ")
}

/// The letters without the numbers behind `u` and `w`.
fn without_widths(procopts: &str) -> anyhow::Result<String> {
    let mut letters = String::new();
    let mut rest = procopts;
    while let Some(letter) = rest.chars().next() {
        letters.push(letter);
        rest = &rest[letter.len_utf8()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && matches!(letter, 'u' | 'w') {
            let width: u32 = rest[..digits].parse().unwrap_or(u32::MAX);
            let least = if letter == 'u' { 8 } else { 1 };
            ensure!(
                (least..=4096).contains(&width),
                "--procopts {letter}{}: the width must be from {least} to 4096",
                &rest[..digits]
            );
            rest = &rest[digits..];
        }
    }
    Ok(letters)
}

/// The names of a file in the form of `/etc/passwd`.
pub(crate) fn users(path: &Path) -> anyhow::Result<UserNames> {
    let text = std::fs::read(path)
        .with_context(|| format!("--passwd: cannot read the file {}", path.display()))?;
    Ok(UserNames::new(parse_users(&text)))
}

/// Names by number.  The last of several stands, as in collectl.
fn parse_users(text: &[u8]) -> HashMap<u32, Vec<u8>> {
    let mut names = HashMap::new();
    for line in text.split(|&byte| byte == b'\n').filter(|line| line.first() != Some(&b'+')) {
        let mut parts = line.split(|&byte| byte == b':');
        let (Some(name), Some(uid)) = (parts.next(), parts.nth(1)) else { continue };
        if let Some(uid) = std::str::from_utf8(uid).ok().and_then(|uid| uid.parse().ok()) {
            names.insert(uid, name.to_vec());
        }
    }
    names
}

/// A sentence about ends of processes of which nothing is known but that they happened.
pub(crate) fn ends_lost(count: u64) -> String {
    let ends = if count == 1 { "end" } else { "ends" };
    format!(
        "{count} {ends} of processes or threads were lost: that they ended is all that is known"
    )
}

impl DisplayArguments {
    /// What of processes is to be read while recording.
    pub(crate) fn process_options(&self) -> anyhow::Result<source::ProcessOptions> {
        let options = self.procopts.as_deref().unwrap_or_default();
        let selectors = self.procfilt.as_deref().map(Selectors::parse).transpose()?;
        Ok(source::ProcessOptions {
            choose: selectors.map(Selectors::chooser),
            threads: options.contains('t'),
            without_io: options.contains('I'),
            only_first: options.contains('p'),
            // Sizes and switches that only the largest of the files has.
            status: options.contains(['m', 'x']) || self.plot,
            schedstat: options.contains('x'),
            passwd: self.passwd.clone(),
            ..source::ProcessOptions::default()
        })
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

    fn decide(list: &str, facts: &ProcessFacts<'_>) -> Decision {
        Selectors::parse(list).unwrap().decide(facts)
    }

    #[test]
    fn every_letter_selects() {
        for list in ["chttp", "ct+pd$", "Chttp", "fhttpd -k", "p42", "P1", "u33", "u1-100"] {
            assert_eq!(decide(list, &FACTS), Decision::Keep, "{list}");
        }
        assert_eq!(decide("Uwww-data", &FACTS), Decision::Keep);
        for list in ["cssh", "Cttpd", "fhttpd -k stop", "p4", "P42", "u3", "u34-100", "Uwww"] {
            assert_eq!(decide(list, &FACTS), Decision::Leave, "{list}");
        }
        assert_eq!(decide("cssh,p7,Uwww-data", &FACTS), Decision::Keep);
        assert_eq!(decide("chttp,c+http", &FACTS), Decision::KeepWithThreads);
        let early = ProcessFacts { command_line: None, ..FACTS };
        assert_eq!(decide("fhttpd", &early), Decision::AskCommandLine);
        assert_eq!(decide("fhttpd,p42", &early), Decision::Keep);
        assert_eq!(decide("u0", &ProcessFacts { uid: None, ..FACTS }), Decision::Leave);
    }

    #[test]
    fn threads_follow_their_process_if_asked_for() {
        let thread = ProcessFacts { is_thread: true, ..FACTS };
        let shown = |list: &str| Selectors::parse(list).unwrap().filter().keeps(&thread);
        assert!(shown("p+42") && !shown("p42") && !shown("p+7"));
    }

    #[test]
    fn a_file_is_a_list() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# mine\n\n p 42 , cssh\nUroot\n").unwrap();
        let selectors = Selectors::parse(file.path().to_str().unwrap()).unwrap();
        assert_eq!(selectors.0.len(), 3);
        assert_eq!(selectors.decide(&FACTS), Decision::Keep);
        std::fs::write(file.path(), "# nothing\n").unwrap();
        assert!(Selectors::parse(file.path().to_str().unwrap()).is_err());
    }

    #[test]
    fn what_selects_nothing_is_refused() {
        for list in ["", ",", "x1", "p", "px", "p-1", "u1-", "u5-3", "c(", "c1234567890123456"] {
            assert!(Selectors::parse(list).is_err(), "{list}");
        }
    }

    #[test]
    fn options_are_collectls() {
        for good in ["", "i", "m", "cfkprRsxu12w32", "u", "wk", "It"] {
            assert!(check(good, "").is_ok(), "{good}");
        }
        for bad in ["im", "iI", "q", "u7", "w0", "3", "sS", "w99999999999"] {
            assert!(check(bad, "").is_err(), "{bad}");
        }
        assert!(check("", "DRSTWZ").is_ok() && check("", "X").is_err());
    }

    #[test]
    fn users_have_names() {
        let names = parse_users(b"root:x:0:0::/:/bin/sh\n+nis\n\nbad:x\na:x:7:7:::\nb:x:7:7:::\n");
        assert_eq!(names.get(&0).map(Vec::as_slice), Some(&b"root"[..]));
        assert_eq!(names.get(&7).map(Vec::as_slice), Some(&b"b"[..]));
        assert_eq!(names.len(), 2);
    }
}
