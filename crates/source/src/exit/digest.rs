//! Exited processes in `--procanalyze`: the columns of living processes, in the same order, filled
//! with the values known at exit.

use ::layout::{Digest, DigestColumn, Fold, Form, Of, Role, Row};

use super::*;
use crate::process::account::number;
use crate::process::digest::percent;

const fn whole(name: &'static str, fold: Fold, value: fn(&Row<'_>) -> Option<f64>) -> DigestColumn {
    let (form, value) = (Form::Whole, Of::Number(value));
    DigestColumn { name, lead: "", width: 0, fold, form, value }
}

const fn clock(name: &'static str, fold: Fold, value: fn(&Row<'_>) -> Option<f64>) -> DigestColumn {
    DigestColumn { form: Form::Clock, ..whole(name, fold, value) }
}

const fn text(name: &'static str, value: for<'a> fn(&Row<'a>) -> Option<&'a [u8]>) -> DigestColumn {
    let (fold, form, value) = (Fold::First, Form::Left, Of::Text(value));
    DigestColumn { name, lead: "", width: 0, fold, form, value }
}

/// A size that is not known at exit.
const fn unknown(name: &'static str, fold: Fold) -> DigestColumn {
    whole(name, fold, |_| None)
}

fn seconds(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(row.raw(field)? as f64 / 1e9)
}

fn kibibytes(row: &Row<'_>, field: usize) -> Option<f64> {
    Some(row.raw(field)? as f64 / 1024.0)
}

/// The user's name, or the id.
fn user(row: &Row<'_>, out: &mut Vec<u8>) {
    let mut name = Vec::new();
    super::account::write_user(&row.now(), row.options(), &mut name);
    ::layout::text::escape_into(out, &name);
}

fn command<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    let line = row.text(COMMAND_LINE).filter(|line| !line.is_empty());
    Some(line.or_else(|| row.text(COMMAND))?.trim_ascii_end())
}

pub(super) static DIGEST: Digest = Digest {
    name: "process",
    role: Role::Ended,
    extension: "prcs",
    has_times: true,
    is_sorted: false,
    counts: |row| !super::account::inferred(&row.now()),
    keep: |_| true,
    columns: &[
        whole("Pid", Fold::First, |row| number(&row.now()).map(|number| number as f64)),
        DigestColumn { value: Of::Written(user), ..text("User", |_| None) },
        whole("PPid", Fold::First, |row| row.gauge(PARENT)),
        unknown("ExeSize", Fold::First),
        unknown("SizeMin", Fold::Least),
        unknown("SizeMax", Fold::Most),
        unknown("LckMin", Fold::Least),
        unknown("LckMax", Fold::Most),
        unknown("RSSMin", Fold::Least),
        whole("RSSMax", Fold::Most, |row| row.gauge(PEAK_RESIDENT)),
        unknown("DataMin", Fold::Least),
        unknown("DataMax", Fold::Most),
        unknown("StkMin", Fold::Least),
        unknown("StkMax", Fold::Most),
        unknown("LibMin", Fold::Least),
        unknown("LibMax", Fold::Most),
        clock("sysT", Fold::Gain, |row| seconds(row, SYSTEM_TIME)),
        clock("usrT", Fold::Gain, |row| seconds(row, USER_TIME)),
        DigestColumn {
            width: 6,
            form: Form::Fixed(2),
            ..whole("PCT", Fold::From(percent), |_| None)
        },
        clock("accumT", Fold::Last, |row| {
            Some(seconds(row, SYSTEM_TIME)? + seconds(row, USER_TIME)?)
        }),
        whole("RKB", Fold::Gain, |row| kibibytes(row, READ_BYTES)),
        whole("WKB", Fold::Gain, |row| kibibytes(row, WRITE_BYTES)),
        whole("RKBC", Fold::Gain, |row| kibibytes(row, READ_CHARS)),
        whole("WKBC", Fold::Gain, |row| kibibytes(row, WRITE_CHARS)),
        whole("RSYS", Fold::Gain, |row| row.gauge(READ_CALLS)),
        whole("WSYS", Fold::Gain, |row| row.gauge(WRITE_CALLS)),
        whole("CNCL", Fold::Gain, |row| kibibytes(row, CANCELLED_WRITE_BYTES)),
        unknown("threadsMin", Fold::Least),
        unknown("threadsMax", Fold::Most),
        whole("majF", Fold::Gain, |row| row.gauge(MAJOR_FAULTS)),
        whole("minF", Fold::Gain, |row| row.gauge(MINOR_FAULTS)),
        text("Command", command),
    ],
};
