//! Every source of this host: one file each, and one line in [`ALL`].
//!
//! A source reads kernel files through a [`Host`] and fills a [`Table`].  It knows no recording
//! and no view; how collectl shows it stands as data in its definition.  To add one, follow
//! `docs/adding-a-source.md`: the file, its line here, nothing else.
#![forbid(unsafe_code)]

use layout::{Layout, Selection};
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
pub use process::attributed::{AttributedCpuTime, start_ticks};
pub use process::counters::{ExitMethod, PassTotals, ProcessCounters, ProcessMethodInUse};
pub use process::{Candidate, Choice, Chooser, ProcessMethod, ProcessOptions};
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

    /// When [`drain_kernel_buffer`](Self::drain_kernel_buffer) wants to be called between two readings, however far they are
    /// apart; never for a source that only looks when it is read.
    fn wakeup(&self) -> Option<Wakeup<'_>> {
        None
    }

    /// Takes over what the kernel has told meanwhile, for the next reading: its own room is small.
    fn drain_kernel_buffer(&mut self) {}

    /// Whether it tells what others find out as they are read, so that it wants to be read behind
    /// all of them at every tick.
    fn reads_last(&self) -> bool {
        false
    }

    /// Says that the next reading is the last: what waits for more to become known waits no longer.
    /// Whether there is anything for that reading which would otherwise be lost.
    fn finish(&mut self) -> bool {
        false
    }

    /// What it has cost all others of the machine since it was last asked, beside its readings, in
    /// nanoseconds of CPU time: an estimate, for `--budget`.  Nothing for a source that only reads.
    fn overhead_ns(&mut self) -> u64 {
        0
    }

    /// Stops what costs others, for good: its samples are [`State::Skipped`] from now on.  For
    /// sources with a [`overhead_ns`](Self::overhead_ns).
    fn stop(&mut self) {}
}

/// What a source wants between two readings.
#[derive(Clone, Copy, Debug)]
pub enum Wakeup<'a> {
    /// To be called when this can be read.
    Descriptor(std::os::fd::BorrowedFd<'a>),
    /// To be called every so many nanoseconds.
    Every(u64),
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Entry").field(&self.name).finish()
    }
}

/// A source as its file states it: what it is, how it looks, how it is opened.
///
/// Write it with `..Entry::EMPTY`; what is added here later then changes no source.
pub struct Entry {
    /// `[a-z0-9_]+`, unique, the same for ever: recordings find sources by it, `-s` selects by it.
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
    /// How it looks at each level; views make up a plain layout from the fields where there is
    /// none.
    pub layouts: &'static [Layout],
    /// Whether it is opened only where its letter or name is given, never as a part of all: one
    /// that slows every task of the machine, or of which there is nothing but in recordings of the
    /// program that runs jobs.
    pub by_name_only: bool,
    /// What a machine lacks on which the source finds nothing (`InfiniBand adapter`).  `None` for
    /// what may come with a module or a mount at any time.
    pub hardware: Option<&'static str>,
    /// Opens it on a host.  Never fails: what is missing shows as a state when read.
    pub open: fn(&mut Host, &std::sync::Arc<SourceContext>) -> Box<dyn Source>,
}

impl Entry {
    /// An entry of nothing, to be completed.
    pub const EMPTY: Entry = Entry {
        name: "",
        about: "",
        letters: "",
        reads: &[],
        instance: &[],
        fields: &[],
        cadence: Cadence::First,
        layouts: &[],
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

    /// Whether it is a part of all.
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        !self.by_name_only
    }
}

/// What an entry that does not say how to open its source gives.
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

/// What a machine lacks on which the source of that name finds nothing ([`Entry::hardware`]).
pub fn hardware_of(name: &str) -> Option<&'static str> {
    find(name)?.hardware
}

/// The definitions of every source, for readers of recordings.
pub fn definitions() -> Vec<std::sync::Arc<SourceDef>> {
    ALL.iter().map(|entry| std::sync::Arc::new(entry.def())).collect()
}
