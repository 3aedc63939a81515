//! Accounting of exited processes: total usage, under the same measures as for living processes.

use layout::{Account, Grouping, Measure, Options, Role};
use sample::{Cells, Kind, Unit};

use super::{
    CANCELLED_WRITE_BYTES, CGROUP, CGROUP_ID, COMMAND, INFERRED, INVOLUNTARY_SWITCHES,
    MAJOR_FAULTS, MINOR_FAULTS, ORIGIN, PARENT, READ_BYTES, READ_CALLS, READ_CHARS, RUN_TIME,
    SYSTEM_TIME, UID, USER, USER_TIME, VOLUNTARY_SWITCHES, WRITE_BYTES, WRITE_CALLS, WRITE_CHARS,
};
use crate::process::account::{number, write_text, write_user_of};

/// Whether the row is inferred from a parent's child times.
pub(super) fn inferred(cells: &Cells<'_>) -> bool {
    cells.text(ORIGIN) == Some(INFERRED)
}

fn cpu_ns(cells: &Cells<'_>) -> Option<f64> {
    let parts = || Some(cells.level(USER_TIME)? + cells.level(SYSTEM_TIME)?);
    cells.level(RUN_TIME).or_else(parts)
}

/// Writes the user's name, or the id.
pub(super) fn write_user(cells: &Cells<'_>, options: &Options, out: &mut Vec<u8>) -> bool {
    write_user_of(cells, options, [USER, UID], out)
}

/// A measure of the whole lifetime.
const fn life(name: &'static str, unit: Unit, of: fn(&Cells<'_>) -> Option<f64>) -> Measure {
    Measure { name, unit, kind: Kind::Counter, heading: "", of }
}

use Unit::{Bytes, Count, Nanoseconds};

pub(super) static ACCOUNT: Account = Account {
    role: Role::Ended,
    title: "PROCESSES",
    counts: |_| true,
    inferred,
    groupings: &[
        Grouping {
            name: "command",
            write: |cells, _, out| {
                let text = cells.text(COMMAND);
                out.extend_from_slice(text.unwrap_or_default());
                text.is_some()
            },
        },
        Grouping { name: "user", write: write_user },
        Grouping {
            name: "cgroup",
            write: |cells, _, out| write_text(cells, CGROUP, CGROUP_ID, out),
        },
    ],
    number,
    parent: |cells| cells.raw(PARENT),
    label: |cells| cells.text(COMMAND),
    measures: &[
        life("cpu", Nanoseconds, cpu_ns),
        life("user", Nanoseconds, |cells| cells.level(USER_TIME)),
        life("system", Nanoseconds, |cells| cells.level(SYSTEM_TIME)),
        life("read_bytes", Bytes, |cells| cells.level(READ_BYTES)),
        life("write_bytes", Bytes, |cells| cells.level(WRITE_BYTES)),
        life("read_chars", Bytes, |cells| cells.level(READ_CHARS)),
        life("write_chars", Bytes, |cells| cells.level(WRITE_CHARS)),
        life("read_calls", Count, |cells| cells.level(READ_CALLS)),
        life("write_calls", Count, |cells| cells.level(WRITE_CALLS)),
        life("cancelled_write_bytes", Bytes, |cells| cells.level(CANCELLED_WRITE_BYTES)),
        life("major_faults", Count, |cells| cells.level(MAJOR_FAULTS)),
        life("minor_faults", Count, |cells| cells.level(MINOR_FAULTS)),
        life("voluntary_switches", Count, |cells| cells.level(VOLUNTARY_SWITCHES)),
        life("involuntary_switches", Count, |cells| cells.level(INVOLUNTARY_SWITCHES)),
    ],
    orders: &[],
};
