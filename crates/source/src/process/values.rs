//! The numbers of a process's line: usage in the interval, and times as text.

use layout::Row;
use layout::number::push_u64;
use sample::State;

use super::fields::*;
use super::switches::{PROCESS_OPTIONS, USER_LIST};
use super::users::UserList;

/// The id of a process or thread: the first label of its row's name.
pub(super) fn pid(row: &Row<'_>) -> i64 {
    let digits = row.name().iter().take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: i64, &digit| {
        number.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    })
}

/// The row of a thread's process, which is a little before the thread's own.
pub(super) fn process_of<'a>(row: &Row<'a>) -> Option<Row<'a>> {
    let own = pid(row);
    let group = row.raw(TGID).map(u64::cast_signed).filter(|&group| group != own)?;
    let at = |index| Row { index, ..*row };
    (0..row.index).rev().map(at).find(|other| pid(other) == group)
}

/// Threads other than the first; a thread shows the number of its process.
pub(super) fn further_threads(row: &Row<'_>) -> Option<f64> {
    let threads = row.raw(THREADS).or_else(|| process_of(row)?.raw(THREADS))?;
    Some(threads as f64 - 1.0)
}

/// The real user's name, with `--passwd` from that file.  `None` if only the id is known.
pub(super) fn user<'a>(row: &Row<'a>) -> Option<&'a [u8]> {
    if let Some(users) = row.options().value(&USER_LIST).custom::<UserList>() {
        let uid = row.raw(UID).and_then(|uid| u32::try_from(uid).ok())?;
        return users.name(uid);
    }
    row.text(USER)
}

/// The delta of a counter.  For a process that started after the previous reading its whole value.
fn delta(row: &Row<'_>, field: usize) -> Option<f64> {
    if !row.is_new() {
        return row.delta(field);
    }
    let previous = &row.track.previous;
    let is_young = || {
        let boot_ns: i64 = row.frame.meta.get("boot_ns")?.parse().ok()?;
        let tick_ns = 1_000_000_000 / row.frame.meta.ticks_per_second().max(1);
        let began_ns = row.raw(START_TIME)?.saturating_add(1).saturating_mul(tick_ns);
        Some(i64::try_from(began_ns).ok()?.saturating_add(boot_ns) >= previous.realtime_ns)
    };
    // collectl treats every process that it has not seen before as new.
    let counts = row.collectl_digits() || is_young() == Some(true);
    (previous.state == State::Ok && counts).then(|| row.raw(field))?.map(|value| value as f64)
}

/// Ticks of CPU time in the interval, in the kernel and in user mode; `--procopts c` adds those of
/// exited children.
pub(super) fn cpu_ticks(row: &Row<'_>) -> (Option<f64>, Option<f64>) {
    let children = row.options().value(&PROCESS_OPTIONS).has('c');
    let ticks = |own, of_children| {
        let own = delta(row, own)?;
        if children { Some(own + delta(row, of_children)?) } else { Some(own) }
    };
    (ticks(SYSTEM_TIME, CHILD_SYSTEM_TIME), ticks(USER_TIME, CHILD_USER_TIME))
}

/// Ticks of CPU time since it began.
pub(super) fn cpu_total_ticks(row: &Row<'_>) -> Option<f64> {
    let children = row.options().value(&PROCESS_OPTIONS).has('c');
    let own = row.raw(SYSTEM_TIME)? + row.raw(USER_TIME)?;
    let all = match children {
        true => own + row.raw(CHILD_SYSTEM_TIME)? + row.raw(CHILD_USER_TIME)?,
        false => own,
    };
    Some(all as f64)
}

/// CPU time of the interval in per cent of one CPU; under `--exact` and `-on` in per cent of one
/// second.
pub(super) fn cpu_percent(row: &Row<'_>) -> Option<f64> {
    let (system, user) = cpu_ticks(row);
    let seconds = if row.exact() { seconds(row) } else { row.interval_seconds() };
    let hz = row.frame.meta.ticks_per_second() as f64;
    let ticks = system? + user?;
    // In collectl's order, which decides the last digit.
    Some(100.0 * (ticks / hz) / seconds.filter(|&seconds| seconds > 0.0)?)
}

/// The time to divide by.  collectl intends to use the time since the previous reading, but uses
/// the nominal interval.
fn seconds(row: &Row<'_>) -> Option<f64> {
    let asked_ns = row.frame.meta.interval2_ns();
    if row.exact() && !row.options().per_interval() && asked_ns > 0 {
        return Some(asked_ns as f64 / 1e9);
    }
    row.seconds()
}

fn per_second(row: &Row<'_>, amount: Option<f64>) -> Option<f64> {
    Some(amount? / seconds(row).filter(|&seconds| seconds > 0.0)?)
}

/// Page faults: a rate, or with `--procopts f` all since it began.
pub(super) fn faults(row: &Row<'_>, field: usize) -> Option<f64> {
    match row.options().value(&PROCESS_OPTIONS).has('f') {
        true => row.raw(field).map(|count| count as f64),
        false => per_second(row, delta(row, field)),
    }
}

/// A counter of events per second.
pub(super) fn switches(row: &Row<'_>, field: usize) -> Option<f64> {
    per_second(row, delta(row, field))
}

/// A counter of bytes in KiB per second.
pub(super) fn kilobytes(row: &Row<'_>, field: usize) -> Option<f64> {
    per_second(row, delta(row, field).map(|bytes| bytes / 1024.0))
}

/// A memory size in KiB; 0 without an address space (kernel threads, zombies).  A thread shows that
/// of its process.
pub(super) fn memory(row: &Row<'_>, field: usize) -> Option<f64> {
    let of = |row: &Row<'_>| {
        let without_space = || (row.raw(VIRTUAL) == Some(0)).then_some(0.0);
        row.raw(field).map(|value| value.cast_signed() as f64).or_else(without_space)
    };
    of(row).or_else(|| of(&process_of(row)?))
}

/// Whole seconds and hundredths.  collectl multiplies a rounded fraction, so that 0.29 s is 28
/// hundredths.
fn split(ticks: f64, row: &Row<'_>) -> (u64, u64) {
    let hz = row.frame.meta.ticks_per_second().max(1);
    let ticks = ticks.max(0.0) as u64;
    let (seconds, rest) = (ticks / hz, ticks % hz);
    let hundredths = match row.collectl_digits() {
        true => (rest as f64 / hz as f64 * 100.0) as u64,
        false => rest * 100 / hz,
    };
    (seconds, hundredths)
}

pub(super) fn push_two(out: &mut Vec<u8>, number: u64) {
    if number < 10 {
        out.push(b'0');
    }
    push_u64(out, number);
}

/// `1.05`, the seconds right-aligned to `width`.
pub(super) fn push_seconds(out: &mut Vec<u8>, ticks: Option<f64>, width: usize, row: &Row<'_>) {
    let start = out.len();
    let Some(ticks) = ticks.or(row.exact().then_some(0.0)) else {
        // Nothing in plot lines, which are not padded.
        if width > 0 {
            out.push(b'-');
            layout::number::pad_left(out, start, width + 3);
        }
        return;
    };
    let (seconds, hundredths) = split(ticks, row);
    push_u64(out, seconds);
    layout::number::pad_left(out, start, width);
    out.push(b'.');
    push_two(out, hundredths);
}

/// ` 12:34.56`, or from an hour on ` 01:12:34`.
pub(super) fn push_accumulated(out: &mut Vec<u8>, ticks: Option<f64>, row: &Row<'_>) {
    let start = out.len();
    if let Some(ticks) = ticks.or(row.exact().then_some(0.0)) {
        let (seconds, hundredths) = split(ticks, row);
        let minutes = seconds / 60;
        if minutes < 60 {
            push_two(out, minutes);
            out.push(b':');
            push_two(out, seconds % 60);
            out.push(b'.');
            push_two(out, hundredths);
        } else {
            push_two(out, minutes / 60);
            out.push(b':');
            push_two(out, minutes % 60);
            out.push(b':');
            push_two(out, seconds % 60);
        }
    } else {
        out.push(b'-');
    }
    layout::number::pad_left(out, start, 9);
}

/// `1:05:09`.
pub(super) fn push_hours(out: &mut Vec<u8>, ticks: Option<f64>, row: &Row<'_>) {
    let Some(ticks) = ticks.or(row.exact().then_some(0.0)) else { return };
    let (seconds, _) = split(ticks, row);
    push_u64(out, seconds / 3600);
    out.push(b':');
    push_two(out, seconds / 60 % 60);
    out.push(b':');
    push_two(out, seconds % 60);
}

/// When it began, in local time: `12:34:56`, or with the day `Nov21-12:34:56`.
pub(super) fn push_start(out: &mut Vec<u8>, row: &Row<'_>, with_day: bool) {
    let start = out.len();
    let Some(seconds) = began_seconds(row) else {
        out.push(b'-');
        return layout::number::pad_left(out, start, if with_day { 14 } else { 8 });
    };
    let time = row.options().zone.civil(seconds);
    if with_day {
        out.extend_from_slice(time.short_month().as_bytes());
        push_two(out, time.day.unsigned_abs());
        out.push(b'-');
    }
    push_two(out, time.hour.unsigned_abs());
    out.push(b':');
    push_two(out, time.minute.unsigned_abs());
    out.push(b':');
    push_two(out, time.second.unsigned_abs());
}

/// When it began, in seconds since the epoch.
fn began_seconds(row: &Row<'_>) -> Option<i64> {
    let boot_ns: i64 = row.frame.meta.get("boot_ns")?.parse().ok()?;
    let ticks = row.raw(START_TIME)?;
    let hz = row.frame.meta.ticks_per_second().max(1);
    if row.collectl_digits() {
        // In floating-point seconds, as in collectl: the last bit may matter.
        return Some((boot_ns as f64 / 1e9 + ticks as f64 / 100.0) as i64);
    }
    let began_ns = i128::from(boot_ns) + i128::from(ticks) * 1_000_000_000 / i128::from(hz);
    i64::try_from(began_ns.div_euclid(1_000_000_000)).ok()
}
