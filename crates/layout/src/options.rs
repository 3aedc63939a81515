//! How to show samples: collectl's display switches, resolved.  Filled by `cli`, read by views and
//! by the layouts inside sources.

use std::sync::Arc;

use sample::{Level, SourceDef};

use crate::{Given, Layout, Selection, SourceOption, SourceValues};

/// Local time as seconds to add to those since the epoch; UTC unless told.  The zones are handed
/// in, so that this crate needs to know none.
#[derive(Clone, Default)]
pub struct LocalOffset(Option<OffsetAt>);

type OffsetAt = Arc<dyn Fn(i64) -> i32 + Send + Sync>;

impl LocalOffset {
    /// The offset in seconds at a moment in seconds since the epoch.
    pub fn new(at: impl Fn(i64) -> i32 + Send + Sync + 'static) -> Self {
        LocalOffset(Some(Arc::new(at)))
    }

    /// The offset in seconds at a moment in seconds since the epoch.
    pub fn at(&self, seconds: i64) -> i32 {
        self.0.as_ref().map_or(0, |at| at(seconds))
    }
}

impl std::fmt::Debug for LocalOffset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LocalOffset")
    }
}

/// `--top`: which list, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The name of a rank, or of an order of groups.
    pub order: String,
    /// Most lines.
    pub count: usize,
    /// On a terminal: the last line of the area above, in which other subsystems scroll; 0 if
    /// there is none.  `None`: one list below the other.
    pub scroll_end: Option<usize>,
    /// Whether a record line stands above each list.
    pub records: bool,
}

/// Where views find how a source looks: its layouts, by its name.  Handed in, so that views know no
/// source.
#[derive(Clone, Copy)]
pub struct LayoutLookup(pub fn(&str) -> &'static [Layout]);

impl LayoutLookup {
    /// All layouts of a source; none for one that this program does not have.
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

/// Display switches.  Strings of letters keep collectl's letters; see `collectl(1)`.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How sources look.
    pub layouts: LayoutLookup,
    /// `-s`: the sources to show.
    pub subsystems: Selection,
    /// `-o`: `d D T U m g G x X n a c u 1 2 z i A`.
    pub letters: String,
    /// `--verbose`, or detail letters that force it.
    pub verbose: bool,
    /// `--iosize`: sizes of transfers in brief mode.
    pub iosize: bool,
    /// `-w`: wide numbers, never scaled.
    pub wide: bool,
    /// `--exact`: collectl's digits even where collectl is wrong: missing as 0, counter wraps
    /// guessed, totals by its name lists.
    pub exact: bool,
    /// `--hr`, `--headerrepeat`: lines between headers; `None` means the mode's own default.
    pub header_repeat: Option<i64>,
    /// `--home`: each interval at the top of the screen.
    pub home: bool,
    /// `--full`: verbose, with a record line before each interval whatever the columns are.
    pub full: bool,
    /// `--stats`: totals and averages after the last interval (brief mode, playback).
    pub stats: bool,
    /// `--statopts`: a averages, i intervals too, s for each file.
    pub statopts: String,
    /// `--utc`: plot times as seconds since the epoch.
    pub utc: bool,
    /// `--sep`: what stands between plot columns.
    pub separator: String,
    /// Characters between the columns of a terminal of this width; `None` when not a terminal.
    pub terminal_columns: Option<usize>,
    /// `--fields`: `source`, `source.field` or `source[instance].field`, each; empty for all that
    /// `subsystems` asks for.  CSV, JSON and OpenMetrics heed it.
    pub fields: Vec<String>,
    /// `--top`: instances or groups, sorted.
    pub list: Option<List>,
    /// `--by`: what instances are grouped by.
    pub by: String,
    /// The options that sources declare, as far as they were given.
    pub of_sources: SourceValues,
    /// Local time, where a layout shows a date.
    pub local_offset: LocalOffset,
}

impl Options {
    /// What was given for an option that a source declares.
    pub fn value(&self, option: &'static SourceOption) -> Given<'_> {
        self.of_sources.of(option)
    }

    /// Whether `-o` has the letter.
    pub fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }

    /// Whether `-s` asks for a source at a level.
    pub fn asks(&self, def: &SourceDef, level: Level) -> bool {
        self.subsystems.asks(def, level)
    }

    /// Whether `-s` has the letter.
    pub fn shows(&self, letter: char) -> bool {
        self.subsystems.has(letter)
    }

    /// Decimals of plot numbers: `-o1`, `-o2`.
    pub fn precision(&self) -> u8 {
        let digits = self.letters.bytes().find(u8::is_ascii_digit);
        digits.map_or(0, |digit| digit - b'0')
    }

    /// Rates per interval instead of per second (`-on`).
    pub fn per_interval(&self) -> bool {
        self.has('n')
    }
}
