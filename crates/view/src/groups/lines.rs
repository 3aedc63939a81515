//! Groups as lines for people.

use jiff::tz::TimeZone;
use layout::number::{Scale, pad_left, push_fixed, push_scaled, push_u64};
use layout::{Measure, Options};
use sample::{Kind, Unit};

use super::{Group, Interval, shown};
use crate::brief::CLEAR_SCREEN;
use crate::parts;
use crate::screen::{CURSOR_HOME, push_over};
use crate::time::LocalTime;

/// Widths in characters: of columns of counts, and of the other columns.
const COUNT_WIDTH: usize = 6;
const WIDTH: usize = 6;

/// Writes an interval.
pub(super) fn push(
    out: &mut Vec<u8>,
    interval: &Interval<'_>,
    groups: &[Group],
    zone: &TimeZone,
    number: u64,
) {
    let options = interval.frame.options;
    let mut text = Vec::new();
    if !options.home {
        text.push(b'\n');
    }
    push_headings(&mut text, interval, zone);
    for group in groups {
        push_group(&mut text, interval, group, group.name.as_deref());
    }
    push_group(&mut text, interval, interval.total, Some(b"total"));
    push_attribution(&mut text, interval);
    parts::cut_lines(&mut text, options);
    if !options.home {
        return out.extend_from_slice(&text);
    }
    out.extend_from_slice(if number == 1 { CLEAR_SCREEN } else { CURSOR_HOME });
    push_over(out, &text);
}

fn push_headings(out: &mut Vec<u8>, interval: &Interval<'_>, zone: &TimeZone) {
    let Interval { plan, frame, .. } = interval;
    out.extend_from_slice(b"# ");
    out.extend_from_slice(plan.account.title.as_bytes());
    out.extend_from_slice(b" BY ");
    out.extend(plan.grouping.name.bytes().map(|byte| byte.to_ascii_uppercase()));
    let title = format!(" sorted by {} (counters are $rate) ", plan.order.name);
    parts::push_words(out, title.as_bytes(), frame.meta, frame.options);
    LocalTime::new(frame.realtime_ns, zone).push_long(frame.options, out);
    out.extend_from_slice(b"\n# Procs Births   Ends");
    for measure in plan.account.measures.iter().filter(|measure| !measure.heading.is_empty()) {
        out.push(b' ');
        let start = out.len();
        out.extend_from_slice(measure.heading.as_bytes());
        pad_left(out, start, WIDTH);
    }
    out.push(b' ');
    let mut name = plan.grouping.name.bytes();
    out.extend(name.next().map(|byte| byte.to_ascii_uppercase()));
    out.extend(name);
    out.push(b'\n');
}

fn push_group(out: &mut Vec<u8>, interval: &Interval<'_>, group: &Group, name: Option<&[u8]>) {
    let Interval { plan, frame, close, .. } = interval;
    out.push(b' ');
    for (at, count) in [group.living, group.births, group.ends].into_iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let start = out.len();
        push_u64(out, count);
        pad_left(out, start, COUNT_WIDTH);
    }
    for (index, measure) in plan.account.measures.iter().enumerate() {
        if !measure.heading.is_empty() {
            out.push(b' ');
            let start = out.len();
            let value = shown(measure, index, group, close, frame.options);
            push_value(out, measure, value, frame.options, close.seconds);
            pad_left(out, start, WIDTH);
        }
    }
    out.push(b' ');
    match name {
        Some(name) => layout::text::escape_into(out, name),
        None => out.push(b'-'),
    }
    out.push(b'\n');
}

/// Writes a number for people: CPU time in percent of one CPU, bytes in KiB, others unchanged.
pub(crate) fn push_value(
    out: &mut Vec<u8>,
    measure: &Measure,
    value: Option<f64>,
    options: &Options,
    seconds: f64,
) {
    let Some(value) = value.or(options.exact.then_some(0.0)) else { return out.push(b'-') };
    let is_share = measure.kind == Kind::Counter && measure.unit == Unit::Nanoseconds;
    if is_share {
        // A share of the elapsed time, also with `-on`.
        let seconds = if options.per_interval() { seconds } else { 1.0 };
        return push_fixed(out, value / seconds / 1e7, 1);
    }
    let (value, unit, binary) = match measure.unit {
        Unit::Bytes => (value / 1024.0, 0, true),
        Unit::Kibibytes => (value, 1, true),
        _ => (value, 0, false),
    };
    push_scaled(out, value, Scale { width: WIDTH - 1, unit, binary }, options);
}

/// `# CPU: busy 152.0%, attributed 150.2%, unattributed 1.8%; ends lost 0`.
fn push_attribution(out: &mut Vec<u8>, interval: &Interval<'_>) {
    let share = |ns: Option<f64>| match ns {
        Some(ns) => format!("{:.1}%", ns / interval.close.seconds / 1e7),
        None => "-".to_owned(),
    };
    let attribution = interval.attribution;
    let lost = match attribution.ends_lost {
        Some(lost) => format!("{lost}"),
        None => "-".to_owned(),
    };
    let exits = match interval.close.has_exit_events {
        true => "",
        false => " (no exit events: ends are inferred from two readings)",
    };
    let line = format!(
        "# CPU: busy {}, attributed {}, unattributed {}; ends lost {lost}{exits}\n",
        share(attribution.busy_ns),
        share(attribution.attributed_ns),
        share(attribution.unattributed_ns),
    );
    out.extend_from_slice(line.as_bytes());
}
