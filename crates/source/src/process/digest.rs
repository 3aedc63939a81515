//! One line for each process over a whole recording: collectl's `--procanalyze`.
//!
//! Processes that exited, whose accounting is in the source `exit`, use the same lines
//! ([`ENDED`](crate::exit)): their columns are these, in the same order.

use layout::{Digest, DigestColumn, Fold, Folded, Form, Of, Role, Row};

use super::account::{is_process, number};
use super::fields::*;
use super::values::{further_threads, memory};
use crate::process_counters::attributed::TICKS_A_SECOND;

/// Indexes of columns from which others are computed.
const SYSTEM: usize = 16;
const USER: usize = 17;

const fn new(name: &'static str, fold: Fold, form: Form, value: Of) -> DigestColumn {
    DigestColumn { name, lead: "", width: 0, fold, form, value }
}

const fn whole(name: &'static str, fold: Fold, value: fn(&Row<'_>) -> Option<f64>) -> DigestColumn {
    new(name, fold, Form::Whole, Of::Number(value))
}

/// Time in seconds, of a counter in ticks.
fn seconds(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(row.raw(field)? as f64 / TICKS_A_SECOND as f64)
}

fn kibibytes(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(row.raw(field)? as f64 / 1024.0)
}

fn count(row: &Row<'_>, field: usize) -> Option<f64> {
    row.raw(field).map(|raw| raw as f64)
}

/// CPU time in per cent of one CPU.  collectl divides by the number of intervals once more.
pub(crate) fn percent(folded: &Folded<'_>) -> Option<f64> {
    let used = folded.values[SYSTEM]? + folded.values[USER]?;
    let seconds = if folded.seconds == 0.0 { 1.0 } else { folded.seconds };
    let intervals = if folded.exact { folded.intervals.max(1) as f64 } else { 1.0 };
    Some(100.0 * used / seconds / intervals)
}

/// The user's name, or its number.
fn user(row: &Row<'_>, out: &mut Vec<u8>) {
    let mut name = Vec::new();
    super::account::write_user(&row.now(), row.options(), &mut name);
    layout::text::escape_into(out, &name);
}

/// The command line; for a thread, which has none, the name.
fn command<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    let line = row.text(COMMAND_LINE).filter(|line| !line.is_empty());
    let line = line.filter(|_| is_process(&row.now()));
    Some(line.or_else(|| row.text(COMMAND))?.trim_ascii_end())
}

pub(super) static DIGEST: Digest = Digest {
    name: "process",
    role: Role::Living,
    extension: "prcs",
    has_times: true,
    is_sorted: false,
    counts: |row| is_process(&row.now()) || row.collectl_digits(),
    keep: |_| true,
    columns: &[
        whole("Pid", Fold::First, |row| number(&row.now()).map(|number| number as f64)),
        new("User", Fold::First, Form::Left, Of::Written(user)),
        whole("PPid", Fold::First, |row| row.gauge(PARENT)),
        whole("ExeSize", Fold::First, |row| memory(row, CODE)),
        whole("SizeMin", Fold::Least, |row| memory(row, VIRTUAL)),
        whole("SizeMax", Fold::Most, |row| memory(row, VIRTUAL)),
        whole("LckMin", Fold::Least, |row| memory(row, LOCKED)),
        whole("LckMax", Fold::Most, |row| memory(row, LOCKED)),
        whole("RSSMin", Fold::Least, |row| memory(row, RESIDENT)),
        whole("RSSMax", Fold::Most, |row| memory(row, RESIDENT)),
        whole("DataMin", Fold::Least, |row| memory(row, DATA)),
        whole("DataMax", Fold::Most, |row| memory(row, DATA)),
        whole("StkMin", Fold::Least, |row| memory(row, STACK)),
        whole("StkMax", Fold::Most, |row| memory(row, STACK)),
        whole("LibMin", Fold::Least, |row| memory(row, LIBRARIES)),
        whole("LibMax", Fold::Most, |row| memory(row, LIBRARIES)),
        new("sysT", Fold::Gain, Form::Clock, Of::Number(|row| seconds(row, SYSTEM_TIME))),
        new("usrT", Fold::Gain, Form::Clock, Of::Number(|row| seconds(row, USER_TIME))),
        DigestColumn {
            width: 6,
            ..new("PCT", Fold::From(percent), Form::Fixed(2), Of::Number(|_| None))
        },
        new(
            "accumT",
            Fold::Last,
            Form::Clock,
            Of::Number(|row| Some(seconds(row, SYSTEM_TIME)? + seconds(row, USER_TIME)?)),
        ),
        whole("RKB", Fold::Gain, |row| kibibytes(row, READ_BYTES)),
        whole("WKB", Fold::Gain, |row| kibibytes(row, WRITE_BYTES)),
        whole("RKBC", Fold::Gain, |row| kibibytes(row, READ_CHARS)),
        whole("WKBC", Fold::Gain, |row| kibibytes(row, WRITE_CHARS)),
        whole("RSYS", Fold::Gain, |row| count(row, READ_CALLS)),
        whole("WSYS", Fold::Gain, |row| count(row, WRITE_CALLS)),
        whole("CNCL", Fold::Gain, |row| kibibytes(row, CANCELLED_WRITE_BYTES)),
        whole("threadsMin", Fold::Least, further_threads),
        whole("threadsMax", Fold::Most, further_threads),
        whole("majF", Fold::Gain, |row| count(row, MAJOR_FAULTS)),
        whole("minF", Fold::Gain, |row| count(row, MINOR_FAULTS)),
        new("Command", Fold::First, Form::Left, Of::Text(command)),
    ],
};
