//! What a source is, as data: names, letters, files, fields and layouts.  No code runs from here
//! but the small functions inside layouts.

use crate::{Field, Layout};

/// How often a source is read: which of collectl's three intervals (`-i i1:i2:i3`) it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cadence {
    /// Every tick (`i1`).
    First,
    /// The second interval (`i2`, 60 s unless told): slabs and processes, which are dear.
    Second,
    /// The third interval (`i3`, 120 s unless told): temperatures, fans, volumes: slow to change.
    Third,
}

/// A source: what it is called, what it reads and what it gives.
#[derive(Debug)]
pub struct SourceDef {
    /// `[a-z0-9_]+`, unique, the same for ever: recordings find sources by it.
    pub name: &'static str,
    /// One sentence without a full stop, for the reference.
    pub about: &'static str,
    /// The `-s` letters that ask for it: lower case for a summary, upper case for detail.
    /// One source may serve both (`d` and `D`); two sources may serve one letter.
    pub letters: &'static str,
    /// The kernel files it reads, as patterns under `/proc` and `/sys`; `*` stands for any name.
    pub reads: &'static [&'static str],
    /// The labels of an instance, in order; empty for a source with a single row.  Where there
    /// are two, an instance's name holds them with [`INSTANCE_SEPARATOR`](Self::INSTANCE_SEPARATOR)
    /// between.
    pub instance: &'static [&'static str],
    /// The columns.
    pub fields: &'static [Field],
    /// How often it is read.
    pub cadence: Cadence,
    /// How collectl's views show it, letter by letter.  Views make up a plain layout from the
    /// fields for letters that have none here.
    pub layouts: &'static [Layout],
}

impl SourceDef {
    /// Stands between the parts of an instance's name (`24` and `cpu1`).  A unit separator, as
    /// ASCII meant it: device names may hold any printable character.
    pub const INSTANCE_SEPARATOR: u8 = 0x1f;

    /// The index of a field by its name.
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The layout for a letter.
    pub fn layout(&self, letter: char) -> Option<&'static Layout> {
        self.layouts.iter().find(|layout| layout.letter == letter)
    }

    /// Whether a selection of letters asks for this source.
    pub fn asked_by(&self, selection: &str) -> bool {
        self.letters.chars().any(|letter| selection.contains(letter))
    }
}
