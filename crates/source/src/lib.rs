//! Every source of this host: one file each, and one line in [`ALL`].
//!
//! A source reads kernel files through a [`Host`] and fills a [`Table`].  It knows no recording
//! and no view; how collectl shows it stands as data in its definition.  To add one, follow
//! `docs/adding-a-source.md`: the file, its line here, nothing else.
#![forbid(unsafe_code)]

use procfs::Host;
use sample::{SourceDef, State, Table};

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

pub use job::JobCounters;
pub use kernel::{Refusals, SharedKernel};
pub use process::counters::{
    ExitWay, Ledger, PassTotals, ProcessCounters, ProcessWay, start_ticks,
};
pub use process::{Candidate, Choice, Chooser, ProcessLimits, Way};
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

    /// When [`attend`](Self::attend) wants to be called between two readings, however far they are
    /// apart; never for a source that only looks when it is read.
    fn attention(&self) -> Option<Attention<'_>> {
        None
    }

    /// Takes over what the kernel has told meanwhile, for the next reading: its own room is small.
    fn attend(&mut self) {}

    /// Whether it tells what others find out as they are read, so that it wants to be read behind
    /// all of them at every tick.
    fn follows(&self) -> bool {
        false
    }

    /// Says that the next reading is the last: what waits for more to become known waits no longer.
    /// Whether there is anything for that reading which would otherwise be lost.
    fn finish(&mut self) -> bool {
        false
    }

    /// What it has cost all others of the machine since it was last asked, beside its readings, in
    /// nanoseconds of CPU time: an estimate, for `--budget`.  Nothing for a source that only reads.
    fn burden_ns(&mut self) -> u64 {
        0
    }

    /// Stops what costs others, for good: its samples are [`State::Skipped`] from now on.  For
    /// sources with a [`burden_ns`](Self::burden_ns).
    fn give_up(&mut self) {}
}

/// What a source wants between two readings.
#[derive(Clone, Copy, Debug)]
pub enum Attention<'a> {
    /// To be called when this can be read.
    Descriptor(std::os::fd::BorrowedFd<'a>),
    /// To be called every so many nanoseconds.
    Every(u64),
}

/// What a source may leave out while recording: collectl's `--rawdskfilt` and its like.
#[derive(Default)]
pub struct Limits {
    /// Which disks to record.
    pub disks: sample::NameFilter,
    /// Which interfaces to record.
    pub interfaces: sample::NameFilter,
    /// Whether to ask filesystems on the network or in a process for their space: a dead server
    /// would stop us for ever.
    pub network_filesystems: bool,
    /// What the recorder knows about itself, for the source `whit`; `None` when nobody records,
    /// and then those fields are missing.
    pub recorder: Option<std::sync::Arc<RecorderCounters>>,
    /// What the runner knows about its jobs, for the source `job`; `None` when nobody runs any.
    pub jobs: Option<std::sync::Arc<JobCounters>>,
    /// How to name the sensors of a collectl recording; `None` for the names as they are.
    pub sensors: Option<std::sync::Arc<SensorRules>>,
    /// Which processes to record, and what of them.
    pub process: ProcessLimits,
    /// What the sources about processes tell each other.
    pub processes: ProcessCounters,
    /// The kernel's types, for sources that load a program.
    pub kernel: SharedKernel,
    /// Why sources have nothing to read, in words.
    pub refusals: Refusals,
    /// Ways of learning of ends that are left out, so that the next best is taken.
    pub exit_ways: ExitWays,
}

/// Ways of learning of ends that are not to be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExitWays {
    /// No BPF programs.
    pub without_bpf: bool,
    /// No taskstats.
    pub without_taskstats: bool,
    /// Nothing read off parents' child times.
    pub without_inferred: bool,
}

/// A source: its definition and how to open it.
pub struct Entry {
    /// What it is.
    pub def: &'static SourceDef,
    /// Opens it on a host.  Never fails: what is missing shows as a state when read.
    pub open: fn(&mut Host, &std::sync::Arc<Limits>) -> Box<dyn Source>,
}

/// Sources that are opened only where their letters are given by name, never as a part of all:
/// one that costs every task of the machine something, recorded or not, and one of which there is
/// nothing but in the recordings of the program that runs jobs.
pub const BY_NAME_ONLY: &[&str] = &["job", "syscall"];

impl Entry {
    /// Whether it is a part of all: not one of [`BY_NAME_ONLY`].
    #[must_use]
    pub fn is_of_all(&self) -> bool {
        !BY_NAME_ONLY.contains(&self.def.name)
    }
}

/// Every source, alphabetically.
pub static ALL: &[Entry] = &[
    buddy::ENTRY,
    cgroup::ENTRY,
    compressed::ENTRY,
    cpu::ENTRY,
    cpu_core::ENTRY,
    disk::ENTRY,
    environment::ENTRY,
    exit::ENTRY,
    filesystem::ENTRY,
    infiniband::ENTRY,
    inode::ENTRY,
    interrupt::ENTRY,
    job::ENTRY,
    memory::ENTRY,
    network::ENTRY,
    nfs::ENTRY,
    numa::ENTRY,
    pressure::ENTRY,
    process::ENTRY,
    process_total::ENTRY,
    schedstat::ENTRY,
    slab::ENTRY,
    socket::ENTRY,
    softirq::ENTRY,
    syscall::ENTRY,
    tcp::ENTRY,
    whit::ENTRY,
];

/// The entry of a source by its name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.def.name == name)
}
