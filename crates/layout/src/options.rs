//! How to show samples: collectl's display options, parsed.  `cli` fills them; views and the
//! layouts of sources read them.

use std::sync::Arc;

use calendar::CivilZone;
use sample::{Level, SourceDef};

use crate::{GivenValue, Layout, Selection, SourceOption, SourceValues};

/// `--top`: the order and the size of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The name of a rank, or of an order of groups.
    pub order: String,
    /// The most lines.
    pub count: usize,
    /// On a terminal: the last line of the upper area, in which other subsystems scroll; 0 without
    /// such an area.  `None`: lists are printed one below the other.
    pub scroll_end: Option<usize>,
    /// Whether each list begins with a record line.
    pub records: bool,
}

/// Finds the layouts of a source by its name.  The caller provides it, so views know no source.
#[derive(Clone, Copy)]
pub struct LayoutLookup(pub fn(&str) -> &'static [Layout]);

impl LayoutLookup {
    /// All layouts of a source; none if this program does not have the source.
    pub fn of(self, def: &SourceDef) -> &'static [Layout] {
        (self.0)(&def.name)
    }

    /// The layout of a source at a level.
    pub fn at(self, def: &SourceDef, level: Level) -> Option<&'static Layout> {
        self.of(def).iter().find(|layout| layout.level == level)
    }
}

impl Default for LayoutLookup {
    fn default() -> Self {
        LayoutLookup(|_| &[])
    }
}

impl std::fmt::Debug for LayoutLookup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LayoutLookup")
    }
}

/// Display options.  Strings of letters contain collectl's letters; see `collectl(1)`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The layouts of sources.
    pub layouts: LayoutLookup,
    /// `-s`: the sources to show.
    pub subsystems: Selection,
    /// Whether more was asked for, which the machine cannot have: what is shown is then never one
    /// table alone.
    pub asked_beside: bool,
    /// `-o`: `d D T U m g G x X n a c u 1 2 z i A`.
    pub letters: String,
    /// `--verbose`, or detail letters that imply it.
    pub verbose: bool,
    /// `--iosize`: sizes of transfers in brief mode.
    pub iosize: bool,
    /// `-w`: wide numbers, never scaled.
    pub wide: bool,
    /// `--exact`: collectl's digits even where collectl is wrong: 0 for missing values, guessed
    /// counter wraps, totals by its lists of names.
    pub exact: bool,
    /// `--hr`, `--headerrepeat`: lines between headers; `None` for the default of the format.
    pub header_repeat: Option<i64>,
    /// `--home`: each interval begins at the top of the screen.
    pub home: bool,
    /// `--full`: verbose, with a record line before each interval, whatever the columns are.
    pub full: bool,
    /// `--stats`: totals and averages after the last interval (brief mode, playback).
    pub stats: bool,
    /// `--statopts`: a averages, i also intervals, s for each file.
    pub statopts: String,
    /// `--utc`: plot times as seconds since the epoch.
    pub utc: bool,
    /// `--sep`: the separator of plot columns.
    pub separator: String,
    /// Characters in a line of the terminal; `None` without a terminal.
    pub terminal_columns: Option<usize>,
    /// Whether a line that is wider than the terminal loses whole sections, not its end: collectl cuts
    /// it, in the middle of a number.
    pub whole_sections: bool,
    /// `--fields`: each is `source`, `source.field` or `source[instance].field`; empty for all that
    /// `subsystems` selects.  CSV, JSON and OpenMetrics use it.
    pub fields: Vec<String>,
    /// The sources of all recordings that are played, if `fields` names any: a source may be in
    /// later ones only.
    pub sources_played: Vec<Arc<SourceDef>>,
    /// `--top`: instances or groups, sorted.
    pub list: Option<List>,
    /// `--by`: the criterion by which instances are grouped.
    pub by: String,
    /// Whether the smallest and the largest value of each step are shown (`--spread`).
    pub spread: bool,
    /// The values of options that sources declare.
    pub of_sources: SourceValues,
    /// Local time, for layouts that show a date.
    pub zone: CivilZone,
}

impl Options {
    /// The value of an option that a source declares.
    pub fn value(&self, option: &'static SourceOption) -> GivenValue<'_> {
        self.of_sources.of(option)
    }

    /// Whether `-o` contains the letter.
    pub fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }

    /// Whether `-s` selects a source at a level.
    pub fn asks(&self, def: &SourceDef, level: Level) -> bool {
        self.subsystems.asks(def, level)
    }

    /// Whether `-s` contains the letter.
    pub fn shows(&self, letter: char) -> bool {
        self.subsystems.has(letter)
    }

    /// The number of decimals in plot format: `-o1`, `-o2`.
    pub fn precision(&self) -> u8 {
        let digits = self.letters.bytes().find(u8::is_ascii_digit);
        digits.map_or(0, |digit| digit - b'0')
    }

    /// Whether rates are per interval and not per second (`-on`).
    pub fn per_interval(&self) -> bool {
        self.has('n')
    }
}
