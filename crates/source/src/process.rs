//! Every process, and on request every thread: what it is, what it uses, how it stands.
//!
//! Reads all tasks in one pass of a BPF iterator, well under a microsecond a process; or the files
//! of `/proc` where that is not to be had, and on any host that is not this machine.
//!
//! An instance's name is its number and the time it began, in ticks since boot, so that a number
//! used again is another process and never goes on where the old one stopped.

use std::sync::Arc;

use bpf::TaskIterator;
use procfs::Host;
use sample::{Cadence, State, Table};

use crate::{Entry, Limits, Source};

pub(crate) mod account;
pub(crate) mod counters;
pub(crate) mod digest;
mod facts;
pub(crate) mod fields;
mod files;
mod iterator;
mod limits;
mod layout;
mod roster;
mod walk;

pub use limits::{Candidate, Choice, Chooser, ProcessLimits, Way};

use counters::ProcessWay;
use fields::FIELDS;
use files::Files;
use iterator::Iterator;
use walk::Walk;

fn open(host: &mut Host, limits: &Arc<Limits>) -> Box<dyn Source> {
    let reader = match iterator(host, limits) {
        Ok(iterator) => {
            limits.processes.set_way(ProcessWay::Iterator);
            limits.processes.set_way_reason("");
            Reader::Iterator(Box::new(iterator))
        }
        Err(reason) => {
            Reader::Walk(Box::new(Walk::new(Files::new(), reason, limits.processes.users())))
        }
    };
    Box::new(Process { reader, limits: Arc::clone(limits) })
}

/// Opens the iterator, or tells why not; nothing where it could say nothing anyway.
fn iterator(host: &Host, limits: &Limits) -> Result<Iterator, String> {
    if !host.is_this_machine() {
        return Err(String::new());
    }
    if limits.process.way == Some(Way::Proc) {
        return Err("the iterator was not to be used".to_owned());
    }
    let tasks = limits.kernel.load(TaskIterator::open).map_err(|error| error.to_string())?;
    Ok(Iterator::new(tasks, limits.processes.users()))
}

struct Process {
    reader: Reader,
    limits: Arc<Limits>,
}

enum Reader {
    Iterator(Box<Iterator>),
    Walk(Box<Walk>),
}

impl Source for Process {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let state = match &mut self.reader {
            Reader::Iterator(iterator) => iterator.read(host, &self.limits, table),
            // Who asked for the iterator and nothing else gets nothing else.
            Reader::Walk(_)
                if self.limits.process.way == Some(Way::Iterator) && host.is_this_machine() =>
            {
                State::Denied
            }
            Reader::Walk(walk) => walk.read(host, &self.limits, table),
        };
        if state != State::Ok {
            self.limits.processes.set_totals(None);
        }
        state
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "process",
    about: "Every process: what it is, what it uses, how it stands",
    letters: "Z",
    reads: &[
        "/proc/*/stat",
        "/proc/*/status",
        "/proc/*/io",
        "/proc/*/schedstat",
        "/proc/*/cmdline",
        "/proc/*/exe",
        "/proc/*/cgroup",
    ],
    instance: &["pid", "start"],
    fields: FIELDS,
    cadence: Cadence::Second,
    layouts: layout::LAYOUTS,
    open,
    ..Entry::EMPTY
};
