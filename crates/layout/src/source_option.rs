//! Options of one source (`--dskopts`, `--cpufilt` and so on): the definition, which the source
//! declares as data ([`SourceOption`]), and the values that were given ([`SourceValues`]).
//!
//! An option is a `static` and is identified by its address.  A source gets its own value by
//! [`Options::value`](crate::Options::value), which searches the few options that were given: no
//! look-up by name, no allocation.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use sample::Meta;

/// Decides which instances a view shows: collectl's `--dskfilt`, `--netfilt` and so on. The caller
/// provides the matching, so this crate needs no regular expressions.
#[derive(Clone, Default)]
pub struct NameFilter(Option<Keep>);

type Keep = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

impl NameFilter {
    /// A filter that keeps the names for which `keep` is true.
    pub fn new(keep: impl Fn(&[u8]) -> bool + Send + Sync + 'static) -> Self {
        NameFilter(Some(Arc::new(keep)))
    }

    /// Whether to show the instance; an empty filter shows all.
    pub fn keeps(&self, name: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|keep| keep(name))
    }

    /// Whether there is a filter.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

impl fmt::Debug for NameFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_set() { "NameFilter(set)" } else { "NameFilter" })
    }
}

/// An option that a source declares.  The command line, its help and its checks are made from it.
///
/// Write it with `..SourceOption::EMPTY`, so that a new member changes no source.
#[derive(Debug)]
pub struct SourceOption {
    /// The name without its hyphens; unique among all sources.
    pub name: &'static str,
    /// A one-letter form of the option.
    pub short: Option<char>,
    /// Another name of the option.
    pub alias: Option<&'static str>,
    /// Whether it selects what to record, not what to show.
    pub is_of_record: bool,
    /// The name of its value in the help.
    pub value_name: &'static str,
    /// The line in the help, without a full stop.
    pub help: &'static str,
    /// How its value is parsed.
    pub kind: OptionKind,
    /// The `-s` letters with which it has an effect; empty if it has one whenever its own source is
    /// shown.
    pub letters: &'static str,
    /// What happens if none of them is shown.
    pub idle: Idle,
    /// Letters of `-o` of which at least one must be given, and the error message otherwise.
    pub needs: Option<(&'static str, &'static str)>,
    /// Rules for its letters, for [`OptionKind::Letters`].
    pub rules: &'static [LetterRule],
    /// Whether it can be combined with lists and sums of instances.
    pub lists: Lists,
    /// The value that a recording implies if the option is not given.
    pub recorded: fn(&Meta) -> Option<OptionValue>,
    /// Two `-s` letters: if the option is given and the first is played, the second is read, too.
    pub reads_too: Option<(char, char)>,
}

impl SourceOption {
    /// The defaults of an option.
    pub const EMPTY: SourceOption = SourceOption {
        name: "",
        short: None,
        alias: None,
        is_of_record: false,
        value_name: "LETTERS",
        help: "",
        kind: OptionKind::Letters { known: "", default: "" },
        letters: "",
        idle: Idle::Noted,
        needs: None,
        rules: &[],
        lists: Lists::All,
        recorded: |_| None,
        reads_too: None,
    };

    /// The text of its value if it is not given.
    fn default_text(&self) -> &'static str {
        match self.kind {
            OptionKind::Letters { default, .. } => default,
            _ => "",
        }
    }
}

/// How the value of an option is parsed.
#[derive(Clone, Copy, Debug)]
pub enum OptionKind {
    /// Letters, each with a meaning of its own.
    Letters {
        /// All valid letters.
        known: &'static str,
        /// The letters that apply if the option is not given.
        default: &'static str,
    },
    /// Words separated by commas, in upper or lower case.
    Words(&'static [&'static str]),
    /// Names of instances: regular expressions separated by commas, one of which must match; with a
    /// `^` in front, instances that match are left out.
    NamePatterns,
    /// Names of instances: prefixes separated by commas.
    NamePrefixes,
    /// Names of instances: numbers and ranges (`0-3,8`), compared with the digits at the end of a
    /// name; with a `^` in front, these instances are left out.
    NameNumbers,
    /// Parsed by a function of the source.
    Custom(ParseOption),
}

/// Parses the text of an option; an error names the option and says what is wrong.
pub type ParseOption = fn(&str) -> Result<OptionValue, Box<dyn Error + Send + Sync>>;

/// What happens to an option if nothing is shown on which it has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It is accepted with a note on stderr; collectl accepts it silently.
    Noted,
    /// It is refused, as by collectl; the text is what the option is for (`interfaces`).
    Refused(&'static str),
}

/// A rule for some letters of an option.
#[derive(Clone, Copy, Debug)]
pub enum LetterRule {
    /// The letters (first) have an effect only with these `-s` letters, else they are refused.
    For(&'static str, &'static str),
    /// The letter excludes each of the others.
    Excludes(char, &'static str),
    /// A width follows the letter.
    Width {
        /// The letter.
        letter: char,
        /// The smallest width.
        least: u32,
        /// The greatest width.
        most: u32,
        /// Whether the width must be given.
        is_required: bool,
    },
    /// The columns of these letters do not fit on one line with those of other subsystems.
    NeedsLines(&'static str),
    /// The letters leave out idle instances.  Views that give each instance a column ignore them.
    LeavesOutIdle(&'static str),
    /// The letters apply to `--top` only.
    OfTop(&'static str),
    /// The letters select what to record, not how to show it.
    OfRecord(&'static str),
}

/// Whether an option can be combined with lists and sums of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// With all of them.
    All,
    /// With lists (`--top`), but not with sums over all instances (`--by`, digests).
    NotSums,
    /// With none.
    None,
}

/// The value of an option.
#[derive(Clone)]
pub enum OptionValue {
    /// Letters or words, unchanged.
    Text(String),
    /// The instances to show.
    Names(NameFilter),
    /// The value that a function of the source parsed ([`OptionKind::Custom`]).
    Custom(Arc<dyn Any + Send + Sync>),
}

impl OptionValue {
    /// A value of the source's own type.
    pub fn custom<T: Any + Send + Sync>(value: T) -> Self {
        OptionValue::Custom(Arc::new(value))
    }
}

impl fmt::Debug for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Text(text) => f.debug_tuple("Text").field(text).finish(),
            OptionValue::Names(filter) => filter.fmt(f),
            OptionValue::Custom(_) => f.write_str("Custom"),
        }
    }
}

/// The options of sources that were given, with their values.
#[derive(Clone, Debug, Default)]
pub struct SourceValues(Vec<(&'static SourceOption, OptionValue)>);

impl SourceValues {
    /// Sets the value of an option, in place of an earlier one.
    pub fn set(&mut self, option: &'static SourceOption, value: OptionValue) {
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(*known, option)) {
            Some((_, held)) => *held = value,
            None => self.0.push((option, value)),
        }
    }

    /// Like [`set`](Self::set), for chained calls.
    #[must_use]
    pub fn with(mut self, option: &'static SourceOption, value: OptionValue) -> Self {
        self.set(option, value);
        self
    }

    /// Adds a letter to an option that does not contain it.
    pub fn add_letter(&mut self, option: &'static SourceOption, letter: char) {
        let given = self.of(option);
        if !given.has(letter) {
            let text = format!("{}{letter}", given.text());
            self.set(option, OptionValue::Text(text));
        }
    }

    /// The value of an option.
    pub fn of(&self, option: &'static SourceOption) -> GivenValue<'_> {
        let held = self.0.iter().find(|(known, _)| std::ptr::eq(*known, option));
        GivenValue { option, value: held.map(|(_, value)| value) }
    }

    /// The values without letters that leave out idle instances
    /// ([`LetterRule::LeavesOutIdle`]).
    #[must_use]
    pub fn with_idle_instances(&self) -> Self {
        let mut all = self.clone();
        for (option, value) in &mut all.0 {
            let OptionValue::Text(text) = value else { continue };
            for rule in option.rules {
                if let LetterRule::LeavesOutIdle(letters) = rule {
                    text.retain(|letter| !letters.contains(letter));
                }
            }
        }
        all
    }
}

/// The value of one option, or its default if it was not given.
#[derive(Clone, Copy, Debug)]
pub struct GivenValue<'a> {
    option: &'static SourceOption,
    value: Option<&'a OptionValue>,
}

impl<'a> GivenValue<'a> {
    /// Whether it was given.
    pub fn is_set(self) -> bool {
        self.value.is_some()
    }

    /// The letters or words of the value; empty for an option of another kind.
    pub fn text(self) -> &'a str {
        match self.value {
            Some(OptionValue::Text(text)) => text,
            Some(_) => "",
            None => self.option.default_text(),
        }
    }

    /// Whether it contains the letter.
    pub fn has(self, letter: char) -> bool {
        self.text().contains(letter)
    }

    /// Whether it contains any of the letters.
    pub fn has_any(self, letters: &[char]) -> bool {
        self.text().contains(letters)
    }

    /// The number that follows a letter.
    pub fn number_behind(self, letter: char) -> Option<usize> {
        let (_, rest) = self.text().split_once(letter)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    }

    /// Whether it shows the instance with this name; true if no names were given.
    pub fn keeps(self, name: &[u8]) -> bool {
        match self.value {
            Some(OptionValue::Names(filter)) => filter.keeps(name),
            _ => true,
        }
    }

    /// The value of the source's own type.
    pub fn custom<T: Any + Send + Sync>(self) -> Option<&'a T> {
        match self.value? {
            OptionValue::Custom(value) => value.downcast_ref(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static LETTERS: SourceOption = SourceOption {
        name: "letters",
        kind: OptionKind::Letters { known: "awz", default: "a" },
        rules: &[LetterRule::LeavesOutIdle("z")],
        ..SourceOption::EMPTY
    };

    /// Equal in every member; only the address differs.
    static OTHER: SourceOption = SourceOption {
        name: "letters",
        kind: OptionKind::Letters { known: "awz", default: "a" },
        rules: &[LetterRule::LeavesOutIdle("z")],
        ..SourceOption::EMPTY
    };

    static NAMES: SourceOption =
        SourceOption { name: "names", kind: OptionKind::NamePatterns, ..SourceOption::EMPTY };

    #[test]
    fn an_option_is_found_by_its_address() {
        let values = SourceValues::default().with(&LETTERS, OptionValue::Text("zw12".to_owned()));
        assert!(values.of(&LETTERS).is_set() && !values.of(&OTHER).is_set());
        assert_eq!((values.of(&LETTERS).text(), values.of(&OTHER).text()), ("zw12", "a"));
        assert!(values.of(&LETTERS).has('z') && !values.of(&OTHER).has('z'));
        assert_eq!(values.of(&LETTERS).number_behind('w'), Some(12));
        assert_eq!(values.of(&LETTERS).number_behind('z'), None);
        assert_eq!(values.with_idle_instances().of(&LETTERS).text(), "w12");
    }

    #[test]
    fn values_are_of_their_kind() {
        let filter = NameFilter::new(|name| name == b"a");
        let mut values = SourceValues::default().with(&NAMES, OptionValue::Names(filter));
        assert!(values.of(&NAMES).keeps(b"a") && !values.of(&NAMES).keeps(b"b"));
        assert!(values.of(&LETTERS).keeps(b"b"));
        values.add_letter(&LETTERS, 'w');
        values.add_letter(&LETTERS, 'w');
        assert_eq!(values.of(&LETTERS).text(), "aw", "added to the default, once");
        values.set(&OTHER, OptionValue::custom(7_u32));
        assert_eq!(values.of(&OTHER).custom::<u32>(), Some(&7));
        assert_eq!(values.of(&OTHER).custom::<u64>(), None);
    }
}
