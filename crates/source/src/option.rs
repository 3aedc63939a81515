//! Parses the values of options that sources declare ([`Entry::options`]): a text from the command
//! line becomes an [`OptionValue`], or an error that names the option and the mistake.

use layout::{LetterRule, NameFilter, OptionKind, OptionValue, SourceOption};
use regex::bytes::Regex;

use crate::{ALL, Entry};

/// Every option of every source, with the source that declares it.
pub fn options() -> impl Iterator<Item = (&'static Entry, &'static SourceOption)> {
    ALL.iter().flat_map(|&entry| entry.options.iter().map(move |&option| (entry, option)))
}

/// An invalid value of an option.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// A letter that the option does not have.
    #[error("--{option} {given}: unknown letter '{letter}'; known are {known}")]
    Letter {
        /// The switch.
        option: &'static str,
        /// The whole value.
        given: String,
        /// The letter.
        letter: char,
        /// The letters that it has.
        known: &'static str,
    },
    /// A word that the option does not have.
    #[error("--{option}: '{word}' is none of {known}")]
    Word {
        /// The switch.
        option: &'static str,
        /// The word.
        word: String,
        /// The words that it has.
        known: String,
    },
    /// Two letters that exclude each other.
    #[error("--{option}: {letter} and {other} exclude each other")]
    Exclusive {
        /// The switch.
        option: &'static str,
        /// One letter.
        letter: char,
        /// The other letter.
        other: char,
    },
    /// A letter without its width.
    #[error("--{option} {letter} needs a width: {letter}{example}")]
    NoWidth {
        /// The switch.
        option: &'static str,
        /// The letter.
        letter: char,
        /// A width in the valid range.
        example: u32,
    },
    /// A width out of range.
    #[error("--{option} {letter}{width}: the width must be from {least} to {most}")]
    Width {
        /// The switch.
        option: &'static str,
        /// The letter.
        letter: char,
        /// The digits after the letter.
        width: String,
        /// The smallest width.
        least: u32,
        /// The greatest width.
        most: u32,
    },
    /// An invalid regular expression.
    #[error("--{option}: '{pattern}' is not a regular expression")]
    Pattern {
        /// The switch.
        option: &'static str,
        /// The expression.
        pattern: String,
        /// The reason why it is invalid.
        #[source]
        source: regex::Error,
    },
    /// An invalid number or range.
    #[error("--{option}: '{part}' is not a number or range")]
    Number {
        /// The switch.
        option: &'static str,
        /// What was given.
        part: String,
    },
    /// The error of the source's own parser.
    #[error(transparent)]
    Own(Box<dyn std::error::Error + Send + Sync>),
}

/// Parses the value of an option.
///
/// # Errors
/// One line that names the option and the mistake.
pub fn parse_option(option: &SourceOption, given: &str) -> Result<OptionValue, OptionError> {
    match option.kind {
        OptionKind::Letters { known, .. } => letters(option, known, given),
        OptionKind::Words(known) => words(option.name, known, given),
        OptionKind::NamePatterns => patterns(option.name, given).map(OptionValue::Names),
        OptionKind::NamePrefixes => Ok(OptionValue::Names(prefixes(given))),
        OptionKind::NameNumbers => numbers(option.name, given).map(OptionValue::Names),
        OptionKind::Custom(parse) => parse(given).map_err(OptionError::Own),
    }
}

fn letters(
    option: &SourceOption,
    known: &'static str,
    given: &str,
) -> Result<OptionValue, OptionError> {
    let name = option.name;
    let letters = without_widths(option, given)?;
    if let Some(letter) = letters.chars().find(|letter| !known.contains(*letter)) {
        return Err(OptionError::Letter { option: name, given: given.to_owned(), letter, known });
    }
    for rule in option.rules {
        if let LetterRule::Excludes(letter, others) = *rule
            && letters.contains(letter)
            && let Some(other) = others.chars().find(|other| letters.contains(*other))
        {
            return Err(OptionError::Exclusive { option: name, letter, other });
        }
    }
    Ok(OptionValue::Text(given.to_owned()))
}

/// The letters without the widths that follow them.
fn without_widths(option: &SourceOption, given: &str) -> Result<String, OptionError> {
    let name = option.name;
    let mut letters = String::new();
    let mut rest = given.chars();
    while let Some(letter) = rest.next() {
        letters.push(letter);
        let width = option.rules.iter().find_map(|rule| match *rule {
            LetterRule::Width { letter: of, least, most, is_required } if of == letter => {
                Some((least, most, is_required))
            }
            _ => None,
        });
        let Some((least, most, is_required)) = width else { continue };
        let text = rest.as_str();
        let (digits, after) =
            text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        rest = after.chars();
        if digits.is_empty() {
            if is_required {
                return Err(OptionError::NoWidth { option: name, letter, example: least });
            }
        } else if !digits.parse().is_ok_and(|width| (least..=most).contains(&width)) {
            let width = digits.to_owned();
            return Err(OptionError::Width { option: name, letter, width, least, most });
        }
    }
    Ok(letters)
}

fn words(
    option: &'static str,
    known: &'static [&'static str],
    given: &str,
) -> Result<OptionValue, OptionError> {
    let is_known = |word: &&str| known.iter().any(|known| known.eq_ignore_ascii_case(word));
    let mut parts = given.split(',').filter(|word| !word.is_empty());
    match parts.find(|word| !is_known(word)) {
        None => Ok(OptionValue::Text(given.to_owned())),
        Some(word) => {
            Err(OptionError::Word { option, word: word.to_owned(), known: known.join(", ") })
        }
    }
}

/// Splits `^a,b` into whether to leave out the matches, and the parts.
fn parts_of(given: &str) -> (bool, Vec<&str>) {
    let given = given.trim_matches(['\'', '"']);
    let (leaves_out, list) = match given.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, given),
    };
    (leaves_out, list.split(',').filter(|part| !part.is_empty()).collect())
}

fn patterns(option: &'static str, given: &str) -> Result<NameFilter, OptionError> {
    let (leaves_out, parts) = parts_of(given);
    let regex = expression(option, &parts.join("|"))?;
    Ok(NameFilter::new(move |name| regex.is_match(name) != leaves_out))
}

fn numbers(option: &'static str, given: &str) -> Result<NameFilter, OptionError> {
    let (leaves_out, parts) = parts_of(given);
    let mut ranges = Vec::new();
    for part in parts {
        let (low, high) = part.split_once("..").or(part.split_once('-')).unwrap_or((part, part));
        let number = |text: &str| -> Result<u64, OptionError> {
            let wrong = |_| OptionError::Number { option, part: part.to_owned() };
            text.trim().parse().map_err(wrong)
        };
        ranges.push(number(low)?..=number(high)?);
    }
    Ok(NameFilter::new(move |name| {
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let digits = std::str::from_utf8(&name[name.len() - digits..]).unwrap_or_default();
        let is_listed =
            digits.parse().is_ok_and(|number| ranges.iter().any(|range| range.contains(&number)));
        is_listed != leaves_out
    }))
}

/// Names to record: one regular expression, which may contain commas.  With a `+` in front collectl
/// adds it to its own list; whit then records every name, as by default.
pub(crate) fn names_to_record(
    option: &'static str,
    given: &str,
) -> Result<OptionValue, Box<dyn std::error::Error + Send + Sync>> {
    if given.starts_with('+') {
        return Ok(OptionValue::Names(NameFilter::default()));
    }
    let regex = expression(option, given)?;
    Ok(OptionValue::Names(NameFilter::new(move |name| regex.is_match(name))))
}

/// Names not to record: one regular expression.
pub(crate) fn names_to_ignore(
    option: &'static str,
    given: &str,
) -> Result<OptionValue, Box<dyn std::error::Error + Send + Sync>> {
    let regex = expression(option, given)?;
    Ok(OptionValue::Names(NameFilter::new(move |name| !regex.is_match(name))))
}

fn expression(option: &'static str, pattern: &str) -> Result<Regex, OptionError> {
    let pattern = pattern.to_owned();
    Regex::new(&pattern).map_err(|source| OptionError::Pattern { option, pattern, source })
}

/// Prefixes of names, as in collectl's `--slabfilt`.
fn prefixes(given: &str) -> NameFilter {
    let starts: Vec<Vec<u8>> = given.split(',').map(|part| part.as_bytes().to_vec()).collect();
    NameFilter::new(move |name| starts.iter().any(|start| name.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use layout::SourceValues;

    use super::*;

    /// Parsed, or the error's text.
    fn parsed(option: &'static SourceOption, given: &str) -> Result<SourceValues, String> {
        let value = parse_option(option, given).map_err(|error| error.to_string())?;
        Ok(SourceValues::default().with(option, value))
    }

    #[test]
    fn every_option_is_complete_and_has_a_name_of_its_own() {
        let mut names = HashSet::new();
        for (entry, option) in options() {
            assert!(names.insert(option.name), "{} is declared twice", option.name);
            assert!(!option.help.is_empty() && !option.help.ends_with('.'), "{}", option.name);
            assert!(!option.letters.is_empty() || entry.letters.is_empty(), "{}", option.name);
            let OptionKind::Letters { known, default } = option.kind else { continue };
            let of_rules = option.rules.iter().flat_map(|rule| {
                match *rule {
                    LetterRule::For(letters, _)
                    | LetterRule::NeedsLines(letters)
                    | LetterRule::LeavesOutIdle(letters)
                    | LetterRule::OfTop(letters)
                    | LetterRule::OfRecord(letters) => letters.to_owned(),
                    LetterRule::Excludes(letter, others) => format!("{letter}{others}"),
                    LetterRule::Width { letter, .. } => letter.to_string(),
                }
                .chars()
                .collect::<Vec<_>>()
            });
            for letter in of_rules.chain(default.chars()) {
                assert!(known.contains(letter), "--{}: {letter}", option.name);
            }
        }
        assert!(names.len() > 20, "{names:?}");
    }

    #[test]
    fn filters_keep_or_leave_out() {
        static PATTERNS: SourceOption =
            SourceOption { name: "dskfilt", kind: OptionKind::NamePatterns, ..SourceOption::EMPTY };
        static NUMBERS: SourceOption =
            SourceOption { name: "cpufilt", kind: OptionKind::NameNumbers, ..SourceOption::EMPTY };
        let keeps =
            |option, given, name: &[u8]| parsed(option, given).unwrap().of(option).keeps(name);
        assert!(keeps(&PATTERNS, "sd,vd", b"sda") && keeps(&PATTERNS, "sd,vd", b"vdb"));
        assert!(!keeps(&PATTERNS, "sd,vd", b"dm-0"));
        assert!(!keeps(&PATTERNS, "^sd", b"sda") && keeps(&PATTERNS, "^sd", b"dm-0"));
        assert!(parsed(&PATTERNS, "(").is_err());
        assert!(keeps(&NUMBERS, "0-2,7", b"cpu2") && keeps(&NUMBERS, "0-2,7", b"7"));
        assert!(!keeps(&NUMBERS, "0-2,7", b"cpu10"));
        assert!(parsed(&NUMBERS, "x").unwrap_err().starts_with("--cpufilt: 'x' is not a number"));
    }

    #[test]
    fn names_to_record_are_one_expression() {
        let keeps = |value: OptionValue, name: &[u8]| match value {
            OptionValue::Names(filter) => filter.keeps(name),
            _ => unreachable!(),
        };
        assert!(keeps(names_to_record("x", "sd{1,2}").unwrap(), b"sda"));
        assert!(!keeps(names_to_record("x", "sd").unwrap(), b"dm-0"));
        assert!(keeps(names_to_record("x", "+sd").unwrap(), b"dm-0"));
        assert!(!keeps(names_to_ignore("x", "sd").unwrap(), b"sda"));
        assert!(keeps(names_to_ignore("x", "sd").unwrap(), b"dm-0"));
        assert!(names_to_ignore("x", "(").is_err());
    }

    #[test]
    fn letters_follow_their_rules() {
        static OPTION: SourceOption = SourceOption {
            name: "procopts",
            kind: OptionKind::Letters { known: "imuw", default: "" },
            rules: &[
                LetterRule::Excludes('i', "m"),
                LetterRule::Width { letter: 'u', least: 8, most: 4096, is_required: false },
                LetterRule::Width { letter: 'w', least: 5, most: 256, is_required: true },
            ],
            ..SourceOption::EMPTY
        };
        for good in ["", "i", "mu", "u12w32", "w5u"] {
            assert_eq!(parsed(&OPTION, good).unwrap().of(&OPTION).text(), good);
        }
        for (bad, why) in [
            ("im", "i and m exclude each other"),
            ("q", "unknown letter 'q'"),
            ("u7", "u7: the width must be from 8 to 4096"),
            ("u99999999999", "must be from 8"),
            ("3", "unknown letter '3'"),
            ("w", "w needs a width: w5"),
        ] {
            let text = parsed(&OPTION, bad).unwrap_err();
            assert!(text.contains(why), "{text}");
        }
    }

    #[test]
    fn words_are_known() {
        static OPTION: SourceOption = SourceOption {
            name: "nfsfilt",
            kind: OptionKind::Words(&["c2", "s3"]),
            ..SourceOption::EMPTY
        };
        assert!(parsed(&OPTION, "C2,s3").is_ok() && parsed(&OPTION, "").is_ok());
        assert!(parsed(&OPTION, "c2,x").unwrap_err().contains("'x' is none of c2, s3"));
    }
}
