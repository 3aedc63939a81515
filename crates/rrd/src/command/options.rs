//! Options as RRDtool reads them: long names in full, short letters in a bundle, anywhere before
//! `--`.

use std::collections::VecDeque;

use crate::error::{Result, refuse};

/// An option that a command has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Definition {
    /// The long name.
    pub(crate) long: &'static str,
    /// The letter; some long names share one.
    pub(crate) letter: char,
    /// Whether a value follows.
    pub(crate) has_value: bool,
}

/// An option without a value.
pub(crate) const fn flag(long: &'static str, letter: char) -> Definition {
    Definition { long, letter, has_value: false }
}

/// An option with a value.
pub(crate) const fn value(long: &'static str, letter: char) -> Definition {
    Definition { long, letter, has_value: true }
}

/// The daemon's address, which nearly every command takes.
pub(crate) const DAEMON: Definition = value("daemon", 'd');

/// What a command was given.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Options by their letter, in order, with their values.
    pub(crate) options: Vec<(char, String)>,
    /// All other words, in order.
    pub(crate) words: Vec<String>,
}

impl Parsed {
    /// Whether an option was given.
    pub(crate) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    /// The value that was given last.
    pub(crate) fn value(&self, letter: char) -> Option<&str> {
        let mut values = self.options.iter().filter(|(own, _)| *own == letter);
        values.next_back().map(|(_, value)| value.as_str())
    }
}

/// Longest text of an error: RRDtool cuts it here.
const ERROR_BYTES_MAX: usize = 63;

/// Reads the words after a command's name.
pub(crate) fn parse(arguments: &[String], definitions: &[Definition]) -> Result<Parsed> {
    let mut parsed = Parsed::default();
    let mut rest: VecDeque<&String> = arguments.iter().collect();
    while let Some(word) = rest.pop_front() {
        if word == "--" {
            parsed.words.extend(rest.drain(..).cloned());
        } else if let Some(long) = word.strip_prefix("--") {
            parse_long(long, definitions, &mut rest, &mut parsed)?;
        } else if word.len() > 1 && word.starts_with('-') {
            parse_letters(&word[1..], definitions, &mut rest, &mut parsed)?;
        } else {
            parsed.words.push(word.clone());
        }
    }
    Ok(parsed)
}

fn parse_long(
    word: &str,
    definitions: &[Definition],
    rest: &mut VecDeque<&String>,
    parsed: &mut Parsed,
) -> Result<()> {
    let (name, given) = match word.split_once('=') {
        Some((name, given)) => (name, Some(given.to_owned())),
        None => (word, None),
    };
    let Some(definition) = definitions.iter().find(|one| one.long == name) else {
        return Err(cut(&format!("invalid option -- '{word}'")));
    };
    let value = match (definition.has_value, given) {
        (true, Some(given)) => given,
        (true, None) => match rest.pop_front() {
            Some(next) => next.clone(),
            None => return Err(cut(&format!("option requires argument -- '{name}'"))),
        },
        (false, Some(_)) => {
            return Err(cut(&format!("option takes no arguments -- '{name}'")));
        }
        (false, None) => String::new(),
    };
    parsed.options.push((definition.letter, value));
    Ok(())
}

fn parse_letters(
    letters: &str,
    definitions: &[Definition],
    rest: &mut VecDeque<&String>,
    parsed: &mut Parsed,
) -> Result<()> {
    let mut letters = letters.char_indices();
    while let Some((at, letter)) = letters.next() {
        let Some(definition) = definitions.iter().find(|one| one.letter == letter) else {
            return Err(cut(&format!("invalid option -- '{letter}'")));
        };
        if !definition.has_value {
            parsed.options.push((letter, String::new()));
            continue;
        }
        let own = letters.as_str();
        let _ = at;
        let value = match own.is_empty() {
            false => own.to_owned(),
            true => match rest.pop_front() {
                Some(next) => next.clone(),
                None => return Err(cut(&format!("option requires an argument -- '{letter}'"))),
            },
        };
        parsed.options.push((letter, value));
        return Ok(());
    }
    Ok(())
}

fn cut(text: &str) -> crate::Error {
    let mut end = text.len().min(ERROR_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    refuse!("{}", &text[..end])
}
