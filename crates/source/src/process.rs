//! Every process, and on request every thread: what it is, what it uses, how it stands.
//!
//! Reads all tasks in one pass of a BPF iterator: two calls and one more for every 32 KiB of
//! records, well under a microsecond a process.
//!
//! An instance's name is its number and the time it began, in ticks since boot, so that a number
//! used again is another process and never goes on where the old one stopped.

use std::sync::Arc;

use bpf::Tasks;
use procfs::Host;
use sample::{Cadence, SourceDef, State, Table};

use crate::{Entry, Limits, Source};

mod account;
pub(crate) mod counters;
pub(crate) mod digest;
pub(crate) mod fields;
mod iterator;
mod limits;
mod present;
mod roster;

pub use limits::{Candidate, Choice, Chooser, ProcessLimits, Way};

use counters::ProcessWay;
use fields::FIELDS;
use iterator::Iterator;

pub(crate) const ENTRY: Entry = Entry { def: &PROCESS, open };

fn open(host: &mut Host, limits: &Arc<Limits>) -> Box<dyn Source> {
    let limits = Arc::clone(limits);
    let iterator = if host.is_this_machine() {
        limits.kernel.load(Tasks::open).map(Iterator::new).ok()
    } else {
        None
    };
    if iterator.is_some() {
        limits.processes.set_way(ProcessWay::Iterator);
    }
    Box::new(Process { iterator, limits })
}

struct Process {
    iterator: Option<Iterator>,
    limits: Arc<Limits>,
}

impl Source for Process {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let Some(iterator) = &mut self.iterator else { return State::Absent };
        match iterator.read(&self.limits, table) {
            Ok(calls) => {
                host.add_calls(calls);
                State::Ok
            }
            Err(state) => state,
        }
    }
}

static PROCESS: SourceDef = SourceDef {
    name: "process",
    about: "Every process: what it is, what it uses, how it stands",
    letters: "Z",
    reads: &[
        "/proc/*/stat",
        "/proc/*/status",
        "/proc/*/io",
        "/proc/*/cmdline",
        "/proc/*/exe",
        "/proc/*/cgroup",
    ],
    instance: &["pid", "start"],
    fields: FIELDS,
    cadence: Cadence::Second,
    layouts: present::LAYOUTS,
};
