//! Every process, and on request every thread: identity, resource usage and state.
//!
//! Reads all tasks in one pass of a BPF iterator, in less than a microsecond a process; or the
//! files of `/proc` where BPF is not available, and on hosts other than this machine.
//!
//! An instance's name is the process id and the start time in ticks since boot, so that a reused
//! process id is another instance.

use std::sync::Arc;

use bpf::TaskIterator;
use procfs::Host;
use sample::{Cadence, State, Table};

use crate::{Entry, ProcessMethod, ProcessMethodInUse, Source, SourceContext};

pub(crate) mod account;
pub(crate) mod digest;
mod facts;
pub(crate) mod fields;
mod files;
mod iterator;
mod layout;
mod selectors;
mod switches;
mod task_table;
mod users;
mod values;
mod walk;

pub use selectors::SelectorError;
pub(crate) use switches::{PROCESS_FILTER, PROCESS_STATE};
pub use users::UserListError;

use fields::FIELDS;
use files::Files;
use iterator::Iterator;
use switches::{PROCESS_OPTIONS, USER_LIST};
use walk::Walk;

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    let reader = match iterator(host, context) {
        Ok(iterator) => {
            context.shared.processes.set_method(ProcessMethodInUse::Iterator);
            context.shared.processes.set_method_reason("");
            ProcessReader::Iterator(Box::new(iterator))
        }
        Err(reason) => {
            context.shared.processes.set_method_reason(reason.as_str());
            let users = context.shared.processes.users();
            ProcessReader::Walk(Box::new(Walk::new(Files::new(), reason, users)))
        }
    };
    Box::new(Process { reader, context: Arc::clone(context) })
}

/// Opens the iterator; the error says why it cannot be used, and is empty on other hosts.
fn iterator(host: &Host, context: &SourceContext) -> Result<Iterator, String> {
    if !host.is_this_machine() {
        return Err(String::new());
    }
    if context.filter.process.method == Some(ProcessMethod::Proc) {
        return Err("the iterator is disabled".to_owned());
    }
    let tasks =
        context.shared.kernel.load(TaskIterator::open).map_err(|error| error.to_string())?;
    Ok(Iterator::new(tasks, context.shared.processes.users()))
}

struct Process {
    reader: ProcessReader,
    context: Arc<SourceContext>,
}

enum ProcessReader {
    Iterator(Box<Iterator>),
    Walk(Box<Walk>),
}

impl Source for Process {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        let state = match &mut self.reader {
            ProcessReader::Iterator(iterator) => iterator.read(host, &self.context, table),
            // The options demand the iterator: do not fall back to `/proc`.
            ProcessReader::Walk(_)
                if self.context.filter.process.method == Some(ProcessMethod::Iterator)
                    && host.is_this_machine() =>
            {
                State::Denied
            }
            ProcessReader::Walk(walk) => walk.read(host, &self.context, table),
        };
        if state != State::Ok {
            self.context.shared.processes.set_totals(None);
        }
        state
    }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "process",
    about: "Every process: identity, resource use and state",
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
    options: &[&PROCESS_FILTER, &PROCESS_OPTIONS, &PROCESS_STATE, &USER_LIST],
    open,
    ..Entry::EMPTY
};
