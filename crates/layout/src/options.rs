//! How to show samples: collectl's display switches, resolved.  Filled by `cli`, read by views and
//! by the layouts inside sources.

use std::collections::HashMap;
use std::sync::Arc;

use sample::{Level, SourceDef};

use crate::{Layout, Selection};

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

impl std::fmt::Debug for NameFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_set() { "NameFilter(set)" } else { "NameFilter" })
    }
}

/// What a filter may know of a process, from a recording or while it is being read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessFacts<'a> {
    /// Its number; of a further thread, the number of the process that it belongs to.
    pub pid: i64,
    /// The process that it is a child of, as far as that is known.
    pub parent: Option<i64>,
    /// Number of the real user, as far as that is known.
    pub uid: Option<i64>,
    /// Name of the real user, or the number if it has none.
    pub user: &'a [u8],
    /// Its name, at most 15 bytes of any kind.
    pub command: &'a [u8],
    /// Program and arguments, blanks between them; `None` if they are not known.
    pub command_line: Option<&'a [u8]>,
    /// Whether it is a further thread of its process.
    pub is_thread: bool,
}

/// Decides which processes are shown: collectl's `--procfilt`.
#[derive(Clone, Default)]
pub struct ProcessFilter(Option<KeepProcess>);

type KeepProcess = Arc<dyn Fn(&ProcessFacts<'_>) -> bool + Send + Sync>;

impl ProcessFilter {
    /// A filter that keeps the processes for which `keep` is true.
    pub fn new(keep: impl Fn(&ProcessFacts<'_>) -> bool + Send + Sync + 'static) -> Self {
        ProcessFilter(Some(Arc::new(keep)))
    }

    /// Whether to show the process; an empty filter shows all.
    pub fn keeps(&self, facts: &ProcessFacts<'_>) -> bool {
        self.0.as_ref().is_none_or(|keep| keep(facts))
    }

    /// Whether anything was asked for.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

impl std::fmt::Debug for ProcessFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_set() { "ProcessFilter(set)" } else { "ProcessFilter" })
    }
}

/// Names of users by their numbers, for a recording from another machine (`--passwd`).
#[derive(Clone, Debug, Default)]
pub struct UserNames(Option<Arc<HashMap<u32, Vec<u8>>>>);

impl UserNames {
    /// These names.
    pub fn new(names: HashMap<u32, Vec<u8>>) -> Self {
        UserNames(Some(Arc::new(names)))
    }

    /// The name of a user; `None` if it has none here.
    pub fn get(&self, uid: u32) -> Option<&[u8]> {
        self.0.as_ref()?.get(&uid).map(Vec::as_slice)
    }

    /// Whether there are names at all, which then replace those of a recording.
    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }
}

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

/// `-l`: from where on `-ox` and `-oX` take an instance for an exception.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// `SVC`: milliseconds of service time.
    pub service_ms: f64,
    /// `IOS`: reads or writes, per second (`-on`: per interval).
    pub operations: f64,
    /// `AND`: both must be reached, not either.
    pub both: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { service_ms: 30.0, operations: 10.0, both: false }
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

    /// The layout of a source for one of its letters.
    pub fn letter(self, def: &SourceDef, letter: char) -> Option<&'static Layout> {
        if !def.letters.contains(letter) {
            return None;
        }
        self.at(def, Level::of_letter(letter))
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
    /// `-l`.
    pub limits: Limits,
    /// `--top`: instances or groups, sorted.
    pub list: Option<List>,
    /// `--by`: what instances are grouped by.
    pub by: String,
    /// `--cpuopts`.
    pub cpuopts: String,
    /// `--dskopts`.
    pub dskopts: String,
    /// `--netopts`.
    pub netopts: String,
    /// `--memopts`.
    pub memopts: String,
    /// `--xopts`.
    pub xopts: String,
    /// `--nfsopts`.
    pub nfsopts: String,
    /// `--slabopts`.
    pub slabopts: String,
    /// `--envopts`.
    pub envopts: String,
    /// `--procopts`, widths and all (`wu12`).
    pub procopts: String,
    /// `--procstate`: states to show; empty for all.
    pub procstate: String,
    /// `--procfilt`.
    pub procfilt: ProcessFilter,
    /// `--passwd`, and the local names for a recording of collectl, which has none.
    pub users: UserNames,
    /// Local time, where a layout shows a date.
    pub local_offset: LocalOffset,
    /// `--tcpfilt`, `ituc` unless told.
    pub tcpfilt: String,
    /// `--nfsfilt`, such as `C3,S4`.
    pub nfsfilt: String,
    /// `--cpufilt`.
    pub cpufilt: NameFilter,
    /// `--dskfilt`.
    pub dskfilt: NameFilter,
    /// `--netfilt`.
    pub netfilt: NameFilter,
    /// `--intfilt`.
    pub intfilt: NameFilter,
    /// `--slabfilt`.
    pub slabfilt: NameFilter,
    /// `--envfilt`.
    pub envfilt: NameFilter,
}

impl Options {
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
