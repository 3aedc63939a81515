//! Options of one source (`--dskopts`, `--cpufilt` and their like): what they are, as data that the
//! source declares ([`SourceOption`]), and what was given for them ([`SourceValues`]).
//!
//! An option is a `static`; its address is its identity.  A source asks for its own by
//! [`Options::value`](crate::Options::value), which passes over the few that were given: no
//! look-up by name, no allocation.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use sample::Meta;

/// Decides which instances a view shows: collectl's `--dskfilt`, `--netfilt` and their like.
/// The matching itself is handed in, so that this crate needs no regular expressions.
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

    /// Whether anything was asked for.
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
    /// The switch without its hyphens; unique among all sources.
    pub name: &'static str,
    /// A switch of one letter that means the same.
    pub short: Option<char>,
    /// Another name that means the same.
    pub alias: Option<&'static str>,
    /// Whether it says what to record, not what to show.
    pub is_of_record: bool,
    /// What the help calls its value.
    pub value_name: &'static str,
    /// Its line in the help, without a full stop.
    pub help: &'static str,
    /// How its value is read.
    pub kind: OptionKind,
    /// The `-s` letters with which it has an effect; empty for the source that declares it, at
    /// every level.
    pub letters: &'static str,
    /// What happens where none of them is shown.
    pub idle: Idle,
    /// Letters of `-o` without any of which it is refused, and what is said then.
    pub needs: Option<(&'static str, &'static str)>,
    /// What is to be known of its letters, for [`OptionKind::Letters`].
    pub rules: &'static [LetterRule],
    /// Whether it goes with lists and sums of instances.
    pub lists: Lists,
    /// What a recording says in place of an option that is not given.
    pub recorded: fn(&Meta) -> Option<OptionValue>,
    /// Two `-s` letters: when the option is given and the first is played, the second is read too.
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

    /// What its text is when it is not given.
    fn default_text(&self) -> &'static str {
        match self.kind {
            OptionKind::Letters { default, .. } => default,
            _ => "",
        }
    }
}

/// How the value of an option is read.
#[derive(Clone, Copy, Debug)]
pub enum OptionKind {
    /// Letters, each a switch of its own.
    Letters {
        /// All that there are.
        known: &'static str,
        /// Those that stand for an option that is not given.
        default: &'static str,
    },
    /// Words with commas between them, in capitals or not.
    Words(&'static [&'static str]),
    /// Names of instances: regular expressions with commas between them, any of which is enough; a
    /// `^` in front leaves out what matches.
    NamePatterns,
    /// Names of instances: beginnings with commas between them.
    NamePrefixes,
    /// Names of instances: numbers and ranges (`0-3,8`) for the digits that a name ends in; a `^`
    /// in front leaves them out.
    NameNumbers,
    /// What the source itself reads.
    Custom(ParseOption),
}

/// Reads the text of an option; an error names the switch and says what is wrong.
pub type ParseOption = fn(&str) -> Result<OptionValue, Box<dyn Error + Send + Sync>>;

/// What happens to an option where nothing is shown that it has an effect on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// It is taken, and a sentence on stderr says so: collectl takes it in silence.
    Noted,
    /// It is refused, as collectl does; the text says what it is for (`processes`).
    Refused(&'static str),
}

/// What is to be known of some letters of an option.
#[derive(Clone, Copy, Debug)]
pub enum LetterRule {
    /// The letters have an effect with these `-s` letters only, and are refused without them.
    For(&'static str, &'static str),
    /// The letter excludes each of the others.
    Excludes(char, &'static str),
    /// A width stands behind the letter.
    Width {
        /// The letter.
        letter: char,
        /// The smallest.
        least: u32,
        /// The greatest.
        most: u32,
        /// Whether the letter cannot stand without one.
        is_required: bool,
    },
    /// What the letters show does not fit on one line with other subsystems.
    NeedsLines(&'static str),
    /// The letters leave out instances that do nothing.  Views that give each instance a column
    /// pay no heed to them.
    LeavesOutIdle(&'static str),
    /// The letters are for `--top` only.
    OfTop(&'static str),
    /// The letters say what to record, not how to show it.
    OfRecord(&'static str),
}

/// Whether an option goes with lists and sums of instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// With all of them.
    All,
    /// With lists (`--top`), but not with sums over all instances (`--by`, digests).
    NotSums,
    /// With none.
    None,
}

/// What was given for an option.
#[derive(Clone)]
pub enum OptionValue {
    /// Letters or words, as they were given.
    Text(String),
    /// Which instances to show.
    Names(NameFilter),
    /// What the source itself read ([`OptionKind::Custom`]).
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

/// The options of sources that have a value, and those values.
#[derive(Clone, Debug, Default)]
pub struct SourceValues(Vec<(&'static SourceOption, OptionValue)>);

impl SourceValues {
    /// Gives an option a value, in place of the one it has.
    pub fn set(&mut self, option: &'static SourceOption, value: OptionValue) {
        match self.0.iter_mut().find(|(known, _)| std::ptr::eq(*known, option)) {
            Some((_, held)) => *held = value,
            None => self.0.push((option, value)),
        }
    }

    /// The same, for making a table.
    #[must_use]
    pub fn with(mut self, option: &'static SourceOption, value: OptionValue) -> Self {
        self.set(option, value);
        self
    }

    /// Adds a letter to those of an option, unless it has it.
    pub fn add_letter(&mut self, option: &'static SourceOption, letter: char) {
        let given = self.of(option);
        if !given.has(letter) {
            let text = format!("{}{letter}", given.text());
            self.set(option, OptionValue::Text(text));
        }
    }

    /// What was given for an option.
    pub fn of(&self, option: &'static SourceOption) -> Given<'_> {
        let held = self.0.iter().find(|(known, _)| std::ptr::eq(*known, option));
        Given { option, value: held.map(|(_, value)| value) }
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

/// What was given for one option, or what stands for it when nothing was.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    option: &'static SourceOption,
    value: Option<&'a OptionValue>,
}

impl<'a> Given<'a> {
    /// Whether it has a value.
    pub fn is_set(self) -> bool {
        self.value.is_some()
    }

    /// Its letters or words; empty for one of another kind.
    pub fn text(self) -> &'a str {
        match self.value {
            Some(OptionValue::Text(text)) => text,
            Some(_) => "",
            None => self.option.default_text(),
        }
    }

    /// Whether it has the letter.
    pub fn has(self, letter: char) -> bool {
        self.text().contains(letter)
    }

    /// Whether it has any of the letters.
    pub fn has_any(self, letters: &[char]) -> bool {
        self.text().contains(letters)
    }

    /// The number that stands behind a letter.
    pub fn number_behind(self, letter: char) -> Option<usize> {
        let (_, rest) = self.text().split_once(letter)?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..digits].parse().ok()
    }

    /// Whether it shows the instance of that name: all, unless names were given.
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

    /// The same in every member: only its address tells it from the other.
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
