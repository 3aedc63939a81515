//! Groups for machines: CSV and JSON lines.
//!
//! CSV has one header and a line for each group of each interval, then one for their total, whose
//! `by` is `total`; only that one has the last four columns.  JSON has an object for each
//! interval.  Numbers are in base units, counters per second (`cpu` 0.25 is a quarter of one
//! CPU); what is missing is empty in CSV and left out in JSON.

use layout::{Measure, text};
use sample::Unit;

use super::{Group, Interval, Plan, shown};
use crate::fields::{epoch_text, time_text, to_base};
use crate::json::push_text;

/// The header line.
pub(super) fn push_csv_header(out: &mut Vec<u8>, plan: &Plan) {
    out.extend_from_slice(b"time,host,by,group,processes,births,ends");
    for measure in plan.account.measures {
        out.push(b',');
        out.extend_from_slice(measure.name.as_bytes());
    }
    out.extend_from_slice(b",busy,attributed,unattributed,ends_lost\n");
}

/// The lines of an interval.
pub(super) fn push_csv(out: &mut Vec<u8>, interval: &Interval<'_>, groups: &[Group], host: &str) {
    let time = match interval.frame.options.utc {
        true => epoch_text(interval.frame.realtime_ns),
        false => time_text(interval.frame.realtime_ns),
    };
    let by = interval.plan.grouping.name;
    let lines = groups.iter().map(|group| (by, group, group.name.as_deref()));
    for (by, group, name) in lines.chain([("total", interval.total, None)]) {
        out.extend_from_slice(time.as_bytes());
        out.push(b',');
        text::push_csv_field(out, text::escape(host.as_bytes()).as_bytes());
        out.push(b',');
        out.extend_from_slice(by.as_bytes());
        out.push(b',');
        text::push_csv_field(out, text::escape(name.unwrap_or_default()).as_bytes());
        for count in [group.living, group.births, group.ends] {
            out.extend_from_slice(format!(",{count}").as_bytes());
        }
        for (_, value) in values(interval, group) {
            push_cell(out, value);
        }
        let attribution = if by == "total" { attribution(interval) } else { [("", None); 4] };
        for (_, value) in attribution {
            push_cell(out, value);
        }
        out.push(b'\n');
    }
}

fn push_cell(out: &mut Vec<u8>, value: Option<f64>) {
    out.push(b',');
    if let Some(value) = value {
        out.extend_from_slice(format!("{value}").as_bytes());
    }
}

/// The object of an interval.
pub(super) fn push_json(out: &mut Vec<u8>, interval: &Interval<'_>, groups: &[Group], host: &str) {
    let time = time_text(interval.frame.realtime_ns);
    out.extend_from_slice(format!("{{\"time\":\"{time}\",\"host\":").as_bytes());
    push_text(out, host.as_bytes());
    let by = interval.plan.grouping.name;
    let seconds = interval.close.seconds;
    let head = format!(",\"seconds\":{seconds},\"by\":\"{by}\",\"groups\":[");
    out.extend_from_slice(head.as_bytes());
    for (at, group) in groups.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{" } else { b"{" });
        if let Some(name) = &group.name {
            out.extend_from_slice(format!("\"{by}\":").as_bytes());
            push_text(out, name);
            out.push(b',');
        }
        push_numbers(out, interval, group);
        out.push(b'}');
    }
    out.extend_from_slice(b"],\"total\":{");
    push_numbers(out, interval, interval.total);
    for (name, value) in attribution(interval) {
        push_member(out, name, value);
    }
    out.extend_from_slice(b"}}\n");
}

fn push_numbers(out: &mut Vec<u8>, interval: &Interval<'_>, group: &Group) {
    let Group { living, births, ends, .. } = group;
    let counts = format!("\"processes\":{living},\"births\":{births},\"ends\":{ends}");
    out.extend_from_slice(counts.as_bytes());
    for (name, value) in values(interval, group) {
        push_member(out, name, value);
    }
}

fn push_member(out: &mut Vec<u8>, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        out.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
    }
}

/// Every measure of a group in base units.
fn values<'a>(
    interval: &'a Interval<'_>,
    group: &'a Group,
) -> impl Iterator<Item = (&'static str, Option<f64>)> + 'a {
    let Interval { plan, frame, close, .. } = interval;
    plan.account.measures.iter().enumerate().map(move |(index, measure)| {
        let Measure { name, unit, .. } = measure;
        let value = shown(measure, index, group, close, frame.options);
        (*name, value.map(|value| to_base(*unit, value, frame.meta)))
    })
}

/// The machine's own counters, in the same units.
fn attribution(interval: &Interval<'_>) -> [(&'static str, Option<f64>); 4] {
    let Interval { frame, close, attribution, .. } = interval;
    let seconds = if frame.options.per_interval() { 1.0 } else { close.seconds };
    let rate = |ns: Option<f64>| ns.map(|ns| to_base(Unit::Nanoseconds, ns / seconds, frame.meta));
    [
        ("busy", rate(attribution.busy_ns)),
        ("attributed", rate(attribution.attributed_ns)),
        ("unattributed", rate(attribution.unattributed_ns)),
        ("ends_lost", attribution.ends_lost),
    ]
}
