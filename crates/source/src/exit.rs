//! Every process that exited since the previous tick, with its total usage, including those that
//! lived only between two readings.
//!
//! Three methods; opening the source chooses the best that works:
//!
//! * `bpf` ([`ring`]): a ring buffer filled by BPF programs at exec, exit and free.  No system
//!   calls, no cost while no process exits, and all fields.
//! * `taskstats` ([`taskstats`]): records over netlink, one system call for each exit.  No command
//!   lines and control groups; CPU time only as sampled by the kernel's tick.
//! * `inferred` ([`inferred`]): no exit events, but one row for each parent whose child times have
//!   grown by more than is known of its children, with the CPU time and the faults of the rest.
//!   Not if a filter selects processes: the others' child times are then unknown.
//!
//! Without any of them the source is absent, and `process_total` shows the usage of exited
//! processes as busy and not attributed.
//!
//! An instance's name is that of the process: its id and start time.  A process appears at the tick
//! after its exit; if it exited less than [`ring::SETTLE_NS`] before that tick and the kernel has
//! not freed it, one tick later, when its CPU time is final.  An inferred row has the name
//! `children of` and the parent's id, and the origin `inferred`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use procfs::Host;
use procfs::passwd::Users;
use sample::{Cadence, RowMut, State, Table, fields};

use crate::{Entry, ExitMethod, Source, SourceContext, Wakeup};

mod account;
mod digest;
pub(crate) mod groups;
pub(crate) mod inferred;
mod layout;
mod lines;
mod ring;
mod stats;
mod taskstats;

use groups::Groups;
use ring::Ring;
use taskstats::Taskstats;

fields! {
    COMMAND: text, "Its name at exit; for an inferred row, the parent's";
    COMMAND_LINE: text, "Program and arguments, separated by blanks; at most 256 bytes";
    USER: text, "Name of the real user, or the id if it has none";
    CGROUP: text, "Path of its control group, if it still exists";
    ORIGIN: text,
        "Where the row comes from: bpf or taskstats; inferred, if it is what a parent's children \
         used";
    PARENT: gauge Count, "Process id of the parent";
    UID: gauge Count, "Real user id";
    CGROUP_ID: gauge Count, "Id of its control group in the unified hierarchy";
    START_TIME: gauge Ticks, "Start time, since boot";
    LIFETIME: gauge Nanoseconds, "Time from start to exit";
    END_TIME: gauge Nanoseconds, "Exit time, since boot";
    EXIT_CODE: gauge Count, "Exit status; missing if a signal ended it";
    SIGNAL: gauge Count, "The signal that ended it";
    USER_TIME: gauge Nanoseconds, "CPU time in user mode, whole lifetime";
    SYSTEM_TIME: gauge Nanoseconds, "CPU time in the kernel, whole lifetime";
    RUN_TIME: gauge Nanoseconds,
        "CPU time, whole lifetime; exact, but from taskstats of one that slept to a tick";
    MINOR_FAULTS: gauge Count, "Page faults without I/O, whole lifetime";
    MAJOR_FAULTS: gauge Count, "Page faults with I/O, whole lifetime";
    VOLUNTARY_SWITCHES: gauge Count, "Voluntary context switches";
    INVOLUNTARY_SWITCHES: gauge Count, "Involuntary context switches";
    READ_CHARS: gauge Bytes, "Bytes requested by read system calls";
    WRITE_CHARS: gauge Bytes, "Bytes passed to write system calls";
    READ_CALLS: gauge Count, "Read system calls";
    WRITE_CALLS: gauge Count, "Write system calls";
    READ_BYTES: gauge Bytes, "Bytes read from storage";
    WRITE_BYTES: gauge Bytes, "Bytes written to storage";
    CANCELLED_WRITE_BYTES: gauge Bytes, "Writes cancelled because the file was truncated";
    PEAK_RESIDENT: gauge Kibibytes, "Peak resident memory";
}

/// The most exits kept between two ticks; further ones count as lost, though their CPU time is
/// attributed.  They take 60 MB if there are that many in one interval (10,000 a second at the
/// default of 10 s would be 100,000).
const ENDS_MAX: usize = 65_536;

fn open(host: &mut Host, context: &Arc<SourceContext>) -> Box<dyn Source> {
    let method = if host.is_this_machine() { open_method(context) } else { None };
    context.shared.processes.set_exit_method(method.as_ref().map(|method| match method {
        Method::Ring(_) => ExitMethod::Bpf,
        Method::Taskstats(_) => ExitMethod::Taskstats,
        Method::Inferred => ExitMethod::Inferred,
    }));
    let names = Names {
        users: context.shared.processes.users(),
        name: Vec::new(),
        groups: Groups::default(),
    };
    Box::new(Exits { method, names, context: Arc::clone(context) })
}

fn open_method(context: &Arc<SourceContext>) -> Option<Method> {
    let excluded = context.excluded_exit_methods;
    if !excluded.bpf
        && let Ok(ring) = Ring::open(context)
    {
        return Some(Method::Ring(Box::new(ring)));
    }
    if !excluded.taskstats
        && let Ok(taskstats) = Taskstats::open(context)
    {
        return Some(Method::Taskstats(Box::new(taskstats)));
    }
    let reads_all = context.filter.process.choose.is_none() && !context.filter.process.only_first;
    (!excluded.inferred && reads_all).then_some(Method::Inferred)
}

/// Checks whether taskstats works here.
pub(crate) fn try_taskstats(context: &Arc<SourceContext>) -> std::io::Result<()> {
    Taskstats::open(context).map(drop)
}

enum Method {
    Ring(Box<Ring>),
    Taskstats(Box<Taskstats>),
    Inferred,
}

/// The origin of inferred rows.
const INFERRED: &[u8] = b"inferred";

/// Names of users and control groups by id.
struct Names {
    users: Arc<Mutex<Users>>,
    /// A buffer for one name.
    name: Vec<u8>,
    groups: Groups,
}

impl Names {
    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_user(&mut self, row: &mut RowMut<'_>, uid: u32) {
        row.set(UID, uid.into());
        let users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        users.name(uid, &mut self.name);
        drop(users);
        row.set_text(USER, &self.name);
    }

    fn set_group(&mut self, host: &Host, row: &mut RowMut<'_>, id: u64) {
        row.set(CGROUP_ID, id);
        if let Some(path) = self.groups.path(id, host.now_ns()) {
            row.set_text(CGROUP, path);
        }
    }
}

struct Exits {
    method: Option<Method>,
    names: Names,
    context: Arc<SourceContext>,
}

impl Source for Exits {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        if matches!(self.method, Some(Method::Ring(_) | Method::Taskstats(_))) {
            self.names.users().refresh(host, self.context.filter.process.passwd.as_deref());
        }
        match &mut self.method {
            Some(Method::Ring(ring)) => ring.rows(host, &mut self.names, table),
            Some(Method::Taskstats(taskstats)) => taskstats.rows(&mut self.names, table),
            // Inference needs a reading of the processes.
            Some(Method::Inferred) if self.context.shared.processes.totals().is_some() => {
                inferred::write_rows(&mut self.context.shared.processes.inference(), table);
            }
            Some(Method::Inferred) | None => return State::Absent,
        }
        State::Ok
    }

    fn wakeup(&self) -> Option<Wakeup<'_>> {
        match &self.method {
            Some(Method::Ring(ring)) => Some(ring.wakeup()),
            Some(Method::Taskstats(taskstats)) => Some(taskstats.wakeup()),
            Some(Method::Inferred) | None => None,
        }
    }

    fn drain_kernel_buffer(&mut self) {
        match &mut self.method {
            Some(Method::Ring(ring)) => ring.drain(),
            Some(Method::Taskstats(taskstats)) => taskstats.drain(),
            Some(Method::Inferred) | None => {}
        }
    }

    fn finish(&mut self) -> bool {
        match &mut self.method {
            Some(Method::Ring(ring)) => ring.finish(),
            Some(Method::Taskstats(taskstats)) => taskstats.finish(),
            Some(Method::Inferred) | None => false,
        }
    }

    /// Inference uses the pass over the processes.
    fn reads_last(&self) -> bool {
        matches!(self.method, Some(Method::Inferred))
    }
}

/// Sets exit status or signal from the status word of wait(2).
fn set_code(row: &mut RowMut<'_>, code: u32) {
    match code & 0x7F {
        0 => row.set(EXIT_CODE, (code >> 8 & 0xFF).into()),
        signal => row.set(SIGNAL, signal.into()),
    }
}

/// A text up to its terminating zero, if any.
pub(crate) fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}

pub(crate) static ENTRY: Entry = Entry {
    name: "exit",
    about: "Every process that exited since the previous tick, with all it used",
    letters: "Z",
    reads: &[],
    instance: &["pid", "start"],
    fields: FIELDS,
    cadence: Cadence::First,
    layouts: &[layout::LAYOUT],
    open,
    ..Entry::EMPTY
};
