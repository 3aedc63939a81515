//! A command line as getopt(3) reads it: letters in clusters, values attached or in the next word, long
//! options with `=`.

use std::time::Duration;

use crate::SysstatError;

/// What comes next on a command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// An option: one letter, a number, or the name after two dashes.
    Option(String),
    /// Anything else.
    Plain(String),
}

/// A command line that is being read.
pub(crate) struct Words<'a> {
    rest: &'a [String],
    /// Letters of a cluster that are left.
    cluster: String,
    /// The value after `=` of a long option.
    attached: Option<String>,
    /// Whether `--` was there.
    is_ended: bool,
}

impl<'a> Words<'a> {
    /// Reads these words, without the name of the program.
    pub(crate) fn new(words: &'a [String]) -> Self {
        Words { rest: words, cluster: String::new(), attached: None, is_ended: false }
    }

    /// The next option or word.
    pub(crate) fn next(&mut self) -> Result<Option<Word>, SysstatError> {
        if let Some(value) = self.attached.take() {
            return Err(SysstatError::Usage(format!("an option takes no value: {value}")));
        }
        if let Some(letter) = self.take_letter() {
            return Ok(Some(Word::Option(letter.to_string())));
        }
        let Some((first, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        if self.is_ended || first == "-" || !first.starts_with('-') {
            return Ok(Some(Word::Plain(first.clone())));
        }
        if first == "--" {
            self.is_ended = true;
            return self.next();
        }
        if let Some(long) = first.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (long, None),
            };
            self.attached = value;
            return Ok(Some(Word::Option(name.to_owned())));
        }
        if is_number(&first[1..]) {
            return Ok(Some(Word::Option(first[1..].to_owned())));
        }
        first[1..].clone_into(&mut self.cluster);
        self.next()
    }

    fn take_letter(&mut self) -> Option<char> {
        let letter = self.cluster.chars().next()?;
        self.cluster.drain(..letter.len_utf8());
        Some(letter)
    }

    /// The value of the option read last.
    pub(crate) fn value(&mut self, option: &str) -> Result<String, SysstatError> {
        if let Some(value) = self.attached.take() {
            return Ok(value);
        }
        if !self.cluster.is_empty() {
            return Ok(std::mem::take(&mut self.cluster));
        }
        let missing = || SysstatError::Usage(format!("option {option} needs a value"));
        let (first, rest) = self.rest.split_first().ok_or_else(missing)?;
        self.rest = rest;
        Ok(first.clone())
    }

    /// All words that are left: a command.
    pub(crate) fn rest(&mut self, option: &str) -> Result<Vec<String>, SysstatError> {
        let first = self.value(option)?;
        let rest = std::mem::take(&mut self.rest);
        Ok([first].into_iter().chain(rest.iter().cloned()).collect())
    }

    /// The value of the option read last, if the next word is one of its own: `sar -u ALL`.
    pub(crate) fn value_if(&mut self, is_value: impl Fn(&str) -> bool) -> Option<String> {
        if !self.cluster.is_empty() {
            return None;
        }
        let (first, rest) = self.rest.split_first().filter(|(first, _)| is_value(first))?;
        self.rest = rest;
        Some(first.clone())
    }
}

/// Seconds between reports, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    /// The time between two, if it was given.
    pub(crate) interval: Option<Duration>,
    /// How many, if it was given.
    pub(crate) count: Option<u64>,
    /// An interval of 0: only the time since boot.
    pub(crate) is_once: bool,
}

impl Pace {
    /// Takes a word that is not an option: the interval, then the count.
    pub(crate) fn read_word(&mut self, word: &str) -> Result<(), SysstatError> {
        let refuse = || SysstatError::Usage(format!("failed to parse argument: '{word}'"));
        match (self.interval, self.count) {
            _ if self.is_once => return Err(refuse()),
            (None, None) if is_zero(word) => self.is_once = true,
            (None, None) => self.interval = Some(Duration::from_secs(whole(word)?)),
            (Some(_), None) => self.count = Some(whole(word)?),
            _ => return Err(refuse()),
        }
        Ok(())
    }
}

/// The name of a disk, which may be given as the path of its device.
pub(crate) fn device_name(word: &str) -> &str {
    word.strip_prefix("/dev/").unwrap_or(word)
}

/// Checks the value of `-o`.
pub(crate) fn json(form: &str) -> Result<(), SysstatError> {
    match form {
        "JSON" => Ok(()),
        _ => Err(SysstatError::Usage(format!("-o takes JSON, not {form}"))),
    }
}

/// Whether a word is digits alone.
pub(crate) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is the number 0.
pub(crate) fn is_zero(word: &str) -> bool {
    is_number(word) && word.parse() == Ok(0)
}

/// A number from 1 on.
pub(crate) fn whole(word: &str) -> Result<u64, SysstatError> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| SysstatError::Usage(format!("failed to parse argument: '{word}'")))
}

/// An option that no tool of this name has.
pub(crate) fn unknown(option: &str) -> SysstatError {
    let is_short = option.chars().count() == 1 || is_number(option);
    let dashes = if is_short { "-" } else { "--" };
    SysstatError::Usage(format!("unknown option {dashes}{option}"))
}
