//! Every source: one file each, and one line in [`ALL`].
//!
//! A source reads kernel files through a [`Host`] and fills a [`Table`].  It knows neither
//! recordings nor views; how views show it is data in its [`Entry`].  `docs/adding-a-source.md`
//! describes how to add one.
//!
//! Uses `sample`, `layout`, `procfs` and `bpf`.
//! Begin with [`Source`] and [`Entry`], then `softirq.rs`, a source of one file; [`Sampler`] reads
//! sources, and [`SourceContext`] is what they are opened with.
#![forbid(unsafe_code)]

use layout::{Layout, Selection, SourceOption};
use procfs::Host;
use sample::{Cadence, Field, Level, SourceDef, State, Table};

mod buddy;
mod cgroup;
mod compressed;
mod context;
mod cpu;
mod cpu_core;
mod disk;
mod environment;
mod exit;
mod filesystem;
mod infiniband;
mod inode;
mod instance;
mod interrupt;
mod job;
mod kernel;
mod memory;
mod network;
mod nfs;
mod numa;
mod option;
mod pressure;
mod process;
mod process_total;
mod rename;
mod sampler;
mod schedstat;
mod slab;
mod socket;
mod softirq;
mod syscall;
mod tcp;
mod trial;
mod whit;

pub use context::{ExcludedExitMethods, RecordFilter, SharedState, SourceContext};
pub use job::JobCounters;
pub use kernel::{Refusals, SharedKernel};
pub use option::{OptionError, options, parse_option};
pub use process::attributed::{AttributedCpuTime, start_ticks};
pub use process::counters::{ExitMethod, PassTotals, ProcessCounters, ProcessMethodInUse};
pub use process::{
    Candidate, Choice, Chooser, ProcessMethod, ProcessOptions, SelectorError, UserListError,
};
pub use rename::{InstanceNames, RenameError, RuleError, SensorRules};
pub use sampler::Sampler;
pub use trial::Trial;
pub use whit::{Counter, RecorderCounters};

/// A source that has been opened on a host.
pub trait Source {
    /// Takes one reading into `table`, which [`read`](Self::read) begins itself.  Anything but
    /// [`State::Ok`] means that the table holds nothing.
    ///
    /// Must not allocate once warm, must not read a file twice, must not panic on any text.
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State;

    /// When [`drain_kernel_buffer`](Self::drain_kernel_buffer) is to be called between two readings,
    /// however long the interval is; `None` for a source without a buffer in the kernel.
    fn wakeup(&self) -> Option<Wakeup<'_>> {
        None
    }

    /// Reads what the kernel has buffered since, and keeps it for the next reading.
    fn drain_kernel_buffer(&mut self) {}

    /// Whether it must be read after all other sources of a tick, because it uses what they found.
    fn reads_last(&self) -> bool {
        false
    }

    /// The next reading is the last: data that the source holds back goes into it.  Returns whether
    /// there is any, which would otherwise be lost.
    fn finish(&mut self) -> bool {
        false
    }

    /// CPU time, in nanoseconds, that the source has cost all other tasks since the last call,
    /// besides its readings: an estimate, for `--budget`.  0 for a source that only reads.
    fn overhead_ns(&mut self) -> u64 {
        0
    }

    /// Stops for good what slows other tasks: its samples are [`State::Skipped`] from now on.  Only
    /// for sources with an [`overhead_ns`](Self::overhead_ns).
    fn stop(&mut self) {}
}

/// When a source is to be called between two readings.
#[derive(Clone, Copy, Debug)]
pub enum Wakeup<'a> {
    /// When this descriptor is readable.
    Descriptor(std::os::fd::BorrowedFd<'a>),
    /// Every so many nanoseconds.
    Every(u64),
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entry").field(&self.name).finish()
    }
}

/// What a source is, how it looks, and how it is opened.
///
/// Write it with `..Entry::EMPTY`, so that a new member changes no source.
pub struct Entry {
    /// `[a-z0-9_]+`, unique, and never changed: recordings and `-s` find sources by it.
    pub name: &'static str,
    /// One sentence without a full stop, for the reference.
    pub about: &'static str,
    /// The `-s` letters that select it too ([`SourceDef::letters`]); new sources have none.
    pub letters: &'static str,
    /// The kernel files it reads, as patterns under `/proc` and `/sys`; `*` stands for any name.
    pub reads: &'static [&'static str],
    /// The labels of an instance, in order; empty for a source with a single row.
    pub instance: &'static [&'static str],
    /// The columns.
    pub fields: &'static [Field],
    /// How often it is read.
    pub cadence: Cadence,
    /// How it looks at each level; without one, views show all fields in columns.
    pub layouts: &'static [Layout],
    /// The options that it has on the command line, as statics.
    pub options: &'static [&'static SourceOption],
    /// Whether it is opened only where it is selected by name or letter: a source that slows every
    /// task of the machine, or that has data only in recordings of `whit run`.
    pub by_name_only: bool,
    /// The hardware that a machine must have for it (`InfiniBand adapter`).  `None` for what may
    /// come with a module or a mount at any time.
    pub hardware: Option<&'static str>,
    /// Opens it on a host.  Never fails: what is missing shows as a state when read.
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
        options: &[],
        by_name_only: false,
        hardware: None,
        open: |_, _| Box::new(NotOpened),
    };

    /// What recordings and readers know of it.
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

    /// The letter that selects it at a level, if it has one.
    #[must_use]
    pub fn letter(&self, level: Level) -> Option<char> {
        self.letters.chars().find(|&letter| Level::of_letter(letter) == level)
    }

    /// Whether a selection asks for this source, at any level.
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

/// Every source, alphabetically.
pub static ALL: &[&Entry] = &[
    &buddy::ENTRY,
    &cgroup::ENTRY,
    &compressed::ENTRY,
    &cpu::ENTRY,
    &cpu_core::ENTRY,
    &disk::ENTRY,
    &environment::ENTRY,
    &exit::ENTRY,
    &filesystem::ENTRY,
    &infiniband::ENTRY,
    &inode::ENTRY,
    &interrupt::ENTRY,
    &job::ENTRY,
    &memory::ENTRY,
    &network::ENTRY,
    &nfs::ENTRY,
    &numa::ENTRY,
    &pressure::ENTRY,
    &process::ENTRY,
    &process_total::ENTRY,
    &schedstat::ENTRY,
    &slab::ENTRY,
    &socket::ENTRY,
    &softirq::ENTRY,
    &syscall::ENTRY,
    &tcp::ENTRY,
    &whit::ENTRY,
];

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
