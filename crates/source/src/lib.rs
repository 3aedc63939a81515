//! Every source: one file each, and one line in the list of `sources!`, which makes [`ALL`].
//!
//! A source reads kernel files through a [`Host`] and fills a [`Table`].  It knows neither
//! recordings nor views; how views show it is data in its [`Entry`].  `docs/adding-a-source.md`
//! describes how to add one.
//!
//! Uses `sample`, `layout`, `procfs`, `logring` and `bpf`. Begin with [`Source`] and [`Entry`], then
//! `softirq.rs`, a source in one file; [`Sampler`] reads sources, and each is opened with a
//! [`SourceContext`].
#![forbid(unsafe_code)]

use layout::{Layout, Selection, SourceOption};
use procfs::Host;
use sample::{Cadence, Field, Level, SourceDef, State, Table};

mod context;
mod counters;
mod instance;
mod kernel;
mod option;
mod process_counters;
mod process_options;
mod program_counters;
mod rename;
mod sampler;
mod shared_counters;
mod trial;

pub use context::{ExcludedExitMethods, RecordFilter, SharedState, SourceContext};
pub use kernel::{Refusals, SharedKernel};
pub use option::{OptionError, options, parse_option};
pub use process::{SelectorError, UserListError};
pub use process_counters::attributed::{AttributedCpuTime, start_ticks};
pub use process_counters::{ExitMethod, PassTotals, ProcessCounters, ProcessMethodInUse};
pub use process_net::process_net_bytes;
pub use process_options::{Candidate, Choice, Chooser, ProcessMethod, ProcessOptions};
pub use program_counters::{Counter, JobCounters, RecorderCounters};
pub use rename::{InstanceNames, RenameError, RuleError, SensorRules};
pub use sampler::Sampler;
pub use shared_counters::{CounterMethod, SharedCounters};
pub use tcp::netstat_metrics;
pub use trial::Trial;
pub use vmstat::vmstat_metrics;

/// Declares the module of each source and the registry of their entries.  `cargo fmt` does not look
/// into macros: `cargo xtask fmt` formats these files, too.
macro_rules! sources {
    ($(mod $name:ident;)*) => {
        $(mod $name;)*

        /// Every source, alphabetically.
        pub static ALL: &[&Entry] = &[$(&$name::ENTRY,)*];
    };
}

sources! {
    mod buddy;
    mod cgroup;
    mod compressed;
    mod cpu;
    mod cpu_core;
    mod disk;
    mod environment;
    mod exit;
    mod filesystem;
    mod infiniband;
    mod inode;
    mod interrupt;
    mod job;
    mod log;
    mod memory;
    mod network;
    mod nfs;
    mod numa;
    mod pressure;
    mod process;
    mod process_net;
    mod process_total;
    mod schedstat;
    mod slab;
    mod socket;
    mod softirq;
    mod syscall;
    mod tcp;
    mod vmstat;
    mod whit;
}

/// A source that has been opened on a host.
pub trait Source {
    /// Takes one reading into `table`, which it first empties with [`Table::begin`].  If the result
    /// is not [`State::Ok`], the contents of the table have no meaning.
    ///
    /// It must not allocate once warm, must not read a file twice, and must not panic on any text.
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State;

    /// When to call [`drain_kernel_buffer`](Self::drain_kernel_buffer) between two readings,
    /// however long the interval is; `None` for a source without a buffer in the kernel.
    fn wakeup(&self) -> Option<Wakeup<'_>> {
        None
    }

    /// Reads what the kernel has buffered since the last call, and keeps it for the next reading.
    fn drain_kernel_buffer(&mut self) {}

    /// Whether to read it after all other sources of a tick, because it uses their results.
    fn reads_last(&self) -> bool {
        false
    }

    /// Announces that the next reading is the last, which then contains data that the source holds
    /// back.  Returns whether there is any; without another reading it would be lost.
    fn finish(&mut self) -> bool {
        false
    }

    /// CPU time, in nanoseconds, that the source has cost all other tasks since the last call,
    /// besides its readings: an estimate, for `--budget`.  0 for a source that only reads files.
    fn overhead_ns(&mut self) -> u64 {
        0
    }

    /// Stops for good the work that slows other tasks: from now on its samples are
    /// [`State::Skipped`].  Only for sources with an [`overhead_ns`](Self::overhead_ns).
    fn stop(&mut self) {}
}

/// When to call a source between two readings.
#[derive(Clone, Copy, Debug)]
pub enum Wakeup<'a> {
    /// When this descriptor is readable.
    Descriptor(std::os::fd::BorrowedFd<'a>),
    /// Every this many nanoseconds.
    Every(u64),
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entry").field(&self.name).finish()
    }
}

/// What a source is, how views show it, and how to open it.
///
/// Write it with `..Entry::EMPTY`, so that a new member changes no source.
pub struct Entry {
    /// `[a-z0-9_]+`, unique, and never changed: recordings and `-s` find sources by it.
    pub name: &'static str,
    /// One sentence without a full stop, for the reference.
    pub about: &'static str,
    /// The `-s` letters that select it, besides its name ([`SourceDef::letters`]); new sources have
    /// none.
    pub letters: &'static str,
    /// The files it reads, as patterns under `/proc`, `/sys`, `/dev/shm` and `/run`; `*` stands for any name.
    pub reads: &'static [&'static str],
    /// The labels of an instance, in order; empty for a source with a single row.
    pub instance: &'static [&'static str],
    /// The columns.
    pub fields: &'static [Field],
    /// The interval at which it is read.
    pub cadence: Cadence,
    /// How views show it at each level; without a layout, they show all fields in columns.
    pub layouts: &'static [Layout],
    /// Other sources that its layouts read, if the feed has them.
    pub beside: &'static [&'static str],
    /// The options of the source on the command line.
    pub options: &'static [&'static SourceOption],
    /// Whether it is opened only if it is selected by name or letter: a source that slows every
    /// task of the machine, or that has data only in recordings of `whit run`.
    pub by_name_only: bool,
    /// The hardware that the machine must have (`InfiniBand adapter`).  `None` if a module or a
    /// mount can make the source available at any time.
    pub hardware: Option<&'static str>,
    /// Opens it on a host.  Never fails: what is missing becomes a state of its readings.
    pub open: fn(&mut Host, &std::sync::Arc<SourceContext>) -> Box<dyn Source>,
}

impl Entry {
    /// The defaults of an entry.
    pub const EMPTY: Entry = Entry {
        name: "",
        about: "",
        letters: "",
        reads: &[],
        instance: &[],
        fields: &[],
        cadence: Cadence::First,
        layouts: &[],
        beside: &[],
        options: &[],
        by_name_only: false,
        hardware: None,
        open: |_, _| Box::new(NotOpened),
    };

    /// The definition for recordings and their readers.
    #[must_use]
    pub fn def(&self) -> SourceDef {
        SourceDef {
            name: self.name.into(),
            about: self.about.into(),
            letters: self.letters.into(),
            instance: self.instance.iter().map(|&label| label.into()).collect(),
            fields: self.fields.into(),
            cadence: self.cadence,
        }
    }

    /// The index of a field by its name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// The letter that selects it at a level, if there is one.
    #[must_use]
    pub fn letter(&self, level: Level) -> Option<char> {
        self.letters.chars().find(|&letter| Level::of_letter(letter) == level)
    }

    /// Whether a selection selects this source, at any level.
    #[must_use]
    pub fn asked_by(&self, selection: &Selection) -> bool {
        selection.asks_for(&self.def())
    }

    /// Whether it is opened without being selected.
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        !self.by_name_only
    }
}

/// The source of an entry without `open`.
struct NotOpened;

impl Source for NotOpened {
    fn read(&mut self, _: &mut Host, _: &mut Table) -> State {
        State::Failed(0)
    }
}

/// The name of the source that every recording has: what the recorder itself costs.
pub const OWN_SOURCE: &str = "whit";

/// The entry of a source by its name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().copied().find(|entry| entry.name == name)
}

/// The layouts of the source of that name, for [`layout::Options::layouts`].
pub fn layouts_of(name: &str) -> &'static [Layout] {
    find(name).map_or(&[], |entry| entry.layouts)
}

/// The hardware that the source of that name needs ([`Entry::hardware`]).
pub fn hardware_of(name: &str) -> Option<&'static str> {
    find(name)?.hardware
}

/// The definitions of every source, for readers of recordings.
pub fn definitions() -> Vec<std::sync::Arc<SourceDef>> {
    ALL.iter().map(|entry| std::sync::Arc::new(entry.def())).collect()
}
