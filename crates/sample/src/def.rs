//! The definition of a source: its name, letters, fields and cadence.  A recording stores it, and
//! readers need it to interpret the samples.
//!
//! Definitions are shared (`Arc<SourceDef>`), so that a program that reads foreign recordings or
//! makes fields at run time frees definitions that are no longer in use.

use std::borrow::Cow;
use std::sync::Arc;

use crate::Field;

/// How often a source is read: which of collectl's three intervals (`-i i1:i2:i3`) it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// Every tick (`i1`).
    First,
    /// The second interval (`i2`, 60 s unless given): slabs and processes, which are expensive.
    Second,
    /// The third interval (`i3`, 120 s unless given): temperatures, fans, volumes change slowly.
    Third,
}

/// Whether a source is shown as a whole or per instance: collectl's lower-case and upper-case
/// letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// One group of numbers for the source as a whole.
    Summary,
    /// A line or group of columns for each instance.
    Detail,
}

impl Level {
    /// The level that a letter stands for by its case.
    pub fn of_letter(letter: char) -> Self {
        if letter.is_ascii_uppercase() { Level::Detail } else { Level::Summary }
    }
}

/// The definition of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDef {
    /// `[a-z0-9_]+`, unique, never changed: recordings identify sources by it.
    pub name: Cow<'static, str>,
    /// One sentence without a full stop, for the reference.
    pub about: Cow<'static, str>,
    /// The `-s` letters that select it: lower case for a summary, upper case for detail.  One
    /// source may have both (`d` and `D`); two sources may share one letter; most new sources have
    /// none and are selected by name.
    pub letters: Cow<'static, str>,
    /// The labels of an instance, in order; empty for a source with a single row.  Where there
    /// are two, an instance's name holds them with [`INSTANCE_SEPARATOR`](Self::INSTANCE_SEPARATOR)
    /// between.
    pub instance: Cow<'static, [Cow<'static, str>]>,
    /// The columns.
    pub fields: Cow<'static, [Field]>,
    /// How often it is read.
    pub cadence: Cadence,
}

impl SourceDef {
    /// Separates the labels in an instance's name (`24` and `cpu1`): ASCII's unit separator, since
    /// device names may contain any printable character.
    pub const INSTANCE_SEPARATOR: u8 = 0x1f;

    /// An empty definition, for `SourceDef { name: "cpu".into(), ..SourceDef::EMPTY }`.
    pub const EMPTY: SourceDef = SourceDef {
        name: Cow::Borrowed(""),
        about: Cow::Borrowed(""),
        letters: Cow::Borrowed(""),
        instance: Cow::Borrowed(&[]),
        fields: Cow::Borrowed(&[]),
        cadence: Cadence::First,
    };

    /// A shared copy of the definition, as readings and histories hold it.
    pub fn shared(&self) -> Arc<SourceDef> {
        Arc::new(self.clone())
    }

    /// The index of a field by its name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The levels at which it is shown: those of its letters.  A source without letters has
    /// `Summary`, and `Detail` if it has instances.
    pub fn levels(&self) -> impl Iterator<Item = Level> + use<> {
        let has = |level| {
            if self.letters.is_empty() {
                level == Level::Summary || !self.instance.is_empty()
            } else {
                self.letter(level).is_some()
            }
        };
        let (summary, detail) = (has(Level::Summary), has(Level::Detail));
        let levels = [(summary, Level::Summary), (detail, Level::Detail)];
        levels.into_iter().filter(|(has, _)| *has).map(|(_, level)| level)
    }

    /// The argument of `-s` that selects it: its letters, or its name if it has none.
    pub fn selector(&self) -> &str {
        if self.letters.is_empty() { &self.name } else { &self.letters }
    }

    /// The letter that selects it at a level, if it has one.
    pub fn letter(&self, level: Level) -> Option<char> {
        self.letters.chars().find(|&letter| Level::of_letter(letter) == level)
    }
}
