//! What a line begins with: the task and the time.

use calendar::CivilTime;
use text::integer::{push_filled, push_i64, push_u64};

use crate::decode::text::angled;

use super::options::{LineOptions, PidPrefix};
use super::stamp::{Precision, Stamp};

const SECOND_NS: u64 = 1_000_000_000;

/// Writes the number of the task, and its name if that is not empty.
pub(super) fn write(
    options: &LineOptions,
    tasks: usize,
    thread: i32,
    command: &[u8],
    line: &mut Vec<u8>,
) {
    const WIDTH: usize = 5;
    let named = |line: &mut Vec<u8>| {
        if !command.is_empty() {
            angled(command, &options.style, line);
        }
    };
    let thread = u64::from(thread.unsigned_abs());
    match options.pid_prefix {
        PidPrefix::Always => {
            let start = line.len();
            push_u64(line, thread);
            line.resize(line.len().max(start + WIDTH), b' ');
            named(line);
            line.push(b' ');
        }
        PidPrefix::WhenSeveral if tasks > 1 => {
            line.extend_from_slice(b"[pid ");
            push_filled(line, thread, WIDTH, b' ');
            named(line);
            line.extend_from_slice(b"] ");
        }
        _ => {}
    }
}

/// Writes the time, and how long after the previous line it is.
pub(super) fn write_times(
    options: &LineOptions,
    time_ns: u64,
    last_ns: Option<u64>,
    line: &mut Vec<u8>,
) {
    if let Some(stamp) = options.stamp {
        let wall_ns = (time_ns as i64).saturating_add(options.wall_offset_ns).max(0);
        let seconds = wall_ns / SECOND_NS as i64;
        let precision = match stamp {
            Stamp::OfDay(precision) => {
                let local = seconds.saturating_add(i64::from(options.style.zone_s));
                let time = CivilTime::of_local(local);
                for (part, end) in [(time.hour, &b":"[..]), (time.minute, b":"), (time.second, b"")]
                {
                    push_filled(line, part.unsigned_abs(), 2, b'0');
                    line.extend_from_slice(end);
                }
                precision
            }
            Stamp::Unix(precision) => {
                push_i64(line, seconds);
                precision
            }
        };
        fraction(precision, wall_ns as u64 % SECOND_NS, line);
        line.push(b' ');
    }
    if let Some(precision) = options.relative {
        let since_ns = last_ns.map_or(0, |last_ns| time_ns.saturating_sub(last_ns));
        let (open, close) = if options.stamp.is_some() { ("(+", ") ") } else { ("", " ") };
        line.extend_from_slice(open.as_bytes());
        push_filled(line, since_ns / SECOND_NS, 6, b' ');
        fraction(precision, since_ns % SECOND_NS, line);
        line.extend_from_slice(close.as_bytes());
    }
}

/// Writes the instruction pointer: `[00007f40716a39f0] `.
pub(super) fn write_pointer(pointer: Option<(u64, bool)>, line: &mut Vec<u8>) {
    use std::io::Write as _;
    let _ = match pointer {
        Some((address, true)) => write!(line, "[{address:016x}] "),
        Some((address, false)) => write!(line, "[{address:08x}] "),
        None => write!(line, "[????????????????] "),
    };
}

/// Writes how long a call took: ` <0.000005>`.
pub(super) fn write_took(precision: Precision, wall_ns: u64, line: &mut Vec<u8>) {
    line.extend_from_slice(b" <");
    push_u64(line, wall_ns / SECOND_NS);
    fraction(precision, wall_ns % SECOND_NS, line);
    line.push(b'>');
}

fn fraction(precision: Precision, nanoseconds: u64, line: &mut Vec<u8>) {
    let count = precision.digits();
    if count > 0 {
        let value = nanoseconds / 10_u64.pow(9 - count as u32);
        line.push(b'.');
        push_filled(line, value, count, b'0');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(options: &LineOptions, time_ns: u64, last_ns: Option<u64>) -> String {
        let mut line = Vec::new();
        write_times(options, time_ns, last_ns, &mut line);
        String::from_utf8_lossy(&line).into_owned()
    }

    #[test]
    fn times_as_strace_writes_them() {
        let base = LineOptions { wall_offset_ns: 1_795_275_260_000_000_000, ..Default::default() };
        let time_ns = 686_480_123;
        let day = |precision| Some(Stamp::OfDay(precision));
        let options = LineOptions { stamp: day(Precision::Seconds), ..base.clone() };
        assert_eq!(shown(&options, time_ns, None), "15:34:20 ");
        let options = LineOptions { stamp: day(Precision::Microseconds), ..base.clone() };
        assert_eq!(shown(&options, time_ns, None), "15:34:20.686480 ");
        let stamp = Some(Stamp::Unix(Precision::Nanoseconds));
        assert_eq!(
            shown(&LineOptions { stamp, ..base.clone() }, time_ns, None),
            "1795275260.686480123 "
        );
        let relative = Some(Precision::Microseconds);
        let options = LineOptions { relative, ..base.clone() };
        assert_eq!(shown(&options, time_ns, Some(time_ns - 54_321)), "     0.000054 ");
        let stamp = day(Precision::Seconds);
        let options = LineOptions { stamp, relative, ..base };
        assert_eq!(shown(&options, time_ns, None), "15:34:20 (+     0.000000) ");
        let mut line = Vec::new();
        write_took(Precision::Microseconds, 33_999, &mut line);
        assert_eq!(line, b" <0.000033>");
    }

    #[test]
    fn whom_a_line_is_about() {
        let shown = |pid_prefix, tasks, thread| {
            let mut line = Vec::new();
            write(&LineOptions { pid_prefix, ..Default::default() }, tasks, thread, b"", &mut line);
            String::from_utf8_lossy(&line).into_owned()
        };
        assert_eq!(shown(PidPrefix::WhenSeveral, 1, 12), "");
        assert_eq!(shown(PidPrefix::WhenSeveral, 2, 12), "[pid    12] ");
        assert_eq!(shown(PidPrefix::Always, 1, 12), "12    ");
        assert_eq!(shown(PidPrefix::Always, 1, 4_194_303), "4194303 ");
    }
}
