//! Times: `timespec`, `timeval`, timers, dates.

use calendar::CivilTime;

use super::structure::{Field, Form, u64_at};
use super::{ArgumentKind, CapturePhase, DecodeContext, Outcome, StructBytes, put, reads};
use crate::flags::event as names;

fn timespec(context: &mut DecodeContext<'_>, bytes: &StructBytes<16>) {
    put!(context, "{{tv_sec={}, tv_nsec={}}}", bytes.i64(0), bytes.u64(8));
}

fn timeval(context: &mut DecodeContext<'_>, bytes: &StructBytes<16>) {
    put!(context, "{{tv_sec={}, tv_usec={}}}", bytes.i64(0), bytes.u64(8));
}

/// A time that the kernel reads.
pub(crate) const TIMESPEC_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), timespec);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)]);

/// A time that the kernel fills in.
pub(crate) const TIMESPEC_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, timespec))
        .reading(&[reads::fixed(CapturePhase::Exit, 16)]);

/// A time that the kernel reads, in the 64-bit layout that newer 32-bit calls use.
pub(crate) const WIDE_TIME_IN: ArgumentKind = TIMESPEC_IN.of_any_width();
/// A time that the kernel fills in, in that layout.
pub(crate) const WIDE_TIME_OUT: ArgumentKind = TIMESPEC_OUT.of_any_width();

/// The rest of an interrupted sleep; the kernel fills it in only if a signal ended the sleep.
pub(crate) const REMAINDER: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    let address = context.argument(index);
    let was_interrupted = context.result.is_some_and(|result| {
        matches!(crate::event::error_of(result), Some(libc::EINTR | 514 | 516))
    });
    if was_interrupted {
        context.structure(address, timespec);
    } else {
        context.pointer(address);
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Exit, 16)]);

/// A time in microseconds that the kernel reads.
pub(crate) const TIMEVAL_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), timeval);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)]);

/// A time in microseconds that the kernel fills in.
pub(crate) const TIMEVAL_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, timeval))
        .reading(&[reads::fixed(CapturePhase::Exit, 16)]);

fn zone(context: &mut DecodeContext<'_>, bytes: &StructBytes<8>) {
    put!(context, "{{tz_minuteswest={}, tz_dsttime={}}}", bytes.i32(0), bytes.i32(4));
}

/// A time zone that the kernel reads.
pub(crate) const ZONE_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), zone);
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 8)])
.of_any_width();

/// A time zone that the kernel fills in.
pub(crate) const ZONE_OUT: ArgumentKind =
    ArgumentKind::new(|context, index| context.filled(index, zone))
        .reading(&[reads::fixed(CapturePhase::Exit, 8)])
        .of_any_width();

/// `time_t` that the kernel fills in: `[1700000000 /* 2023-11-14T22:13:20+0000 */]`.
pub(crate) const TIME_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled::<8>(index, |context, bytes| {
        put!(context, "[{}", bytes.i64(0));
        remark(context, bytes.i64(0), None);
        context.put("]");
    })
})
.reading(&[reads::fixed(CapturePhase::Exit, 8)]);

/// An interval and a value: `{it_interval=…, it_value=…}`.
fn interval(
    context: &mut DecodeContext<'_>,
    bytes: &StructBytes<32>,
    write: fn(&mut DecodeContext<'_>, &StructBytes<16>),
) {
    let half = |at: usize| {
        let mut half = [0; 16];
        half.copy_from_slice(&bytes.0[at..at + 16]);
        StructBytes(half)
    };
    context.put("{it_interval=");
    write(context, &half(0));
    context.put(", it_value=");
    write(context, &half(16));
    context.put("}");
}

/// `itimerval` that the kernel reads.
pub(crate) const ITIMERVAL_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), |context, bytes| interval(context, bytes, timeval));
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 32)]);

/// `itimerval` that the kernel fills in.
pub(crate) const ITIMERVAL_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled(index, |context, bytes| interval(context, bytes, timeval))
})
.reading(&[reads::fixed(CapturePhase::Exit, 32)]);

/// `itimerspec` that the kernel reads.
pub(crate) const ITIMERSPEC_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure(context.argument(index), |context, bytes| interval(context, bytes, timespec));
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 32)]);

/// `itimerspec` that the kernel fills in.
pub(crate) const ITIMERSPEC_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.filled(index, |context, bytes| interval(context, bytes, timespec))
})
.reading(&[reads::fixed(CapturePhase::Exit, 32)]);

/// `struct timex`.
static ADJUSTMENT: [Field; 20] = [
    Field::new("modes", 0, Form::By(|context, bytes| modes(context, u64_at(bytes, 0)))),
    Field::new("offset", 8, Form::Long),
    Field::new("freq", 16, Form::Long),
    Field::new("maxerror", 24, Form::UnsignedLong),
    Field::new("esterror", 32, Form::UnsignedLong),
    Field::new("status", 40, Form::Flags(&names::CLOCK_STATUS)),
    Field::new("constant", 48, Form::Long),
    Field::new("precision", 56, Form::UnsignedLong),
    Field::new("tolerance", 64, Form::Long),
    Field::new("time", 72, Form::By(adjusted_time)),
    Field::new("tick", 88, Form::Long),
    Field::new("ppsfreq", 96, Form::Long),
    Field::new("jitter", 104, Form::Long),
    Field::new("shift", 112, Form::Signed),
    Field::new("stabil", 120, Form::Long),
    Field::new("jitcnt", 128, Form::Long),
    Field::new("calcnt", 136, Form::Long),
    Field::new("errcnt", 144, Form::Long),
    Field::new("stbcnt", 152, Form::Long),
    Field::new("tai", 160, Form::Signed),
];

/// Writes what of a clock is adjusted; two numbers stand for `adjtime`.
fn modes(context: &mut DecodeContext<'_>, value: u64) {
    let value = value & 0xffff_ffff;
    match value {
        0x8001 => context.named(value, |context| context.put("ADJ_OFFSET_SINGLESHOT")),
        0xa001 => context.named(value, |context| context.put("ADJ_OFFSET_SS_READ")),
        _ => context.constant(&names::ADJUST, value),
    }
}

fn adjusted_time(context: &mut DecodeContext<'_>, bytes: &[u8]) {
    put!(context, "{{tv_sec={}, tv_usec={}}}", u64_at(bytes, 72) as i64, u64_at(bytes, 80));
}

/// How a clock is adjusted: what the kernel fills in.
pub(crate) const ADJUST: ArgumentKind = ArgumentKind::new(|context, index| {
    context.at_exit(index, |context, address| context.record::<208>(address, &ADJUSTMENT))
})
.reading(&[reads::fixed(CapturePhase::Exit, 208)]);

/// Two file times with nanoseconds, as `utimensat` takes them.
pub(crate) const FILE_TIMES: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<32>(context.argument(index), |context, bytes| {
        context.put("[");
        for at in [0, 16] {
            if at > 0 {
                context.put(", ");
            }
            let (seconds, nanoseconds) = (bytes.i64(at), bytes.u64(at + 8));
            let number = |out: &mut Vec<u8>| {
                let text = format!("{{tv_sec={seconds}, tv_nsec={nanoseconds}}}");
                out.extend_from_slice(text.as_bytes());
            };
            match nanoseconds {
                0x3fff_ffff => context.named_as(number, |context| context.put("UTIME_NOW")),
                0x3fff_fffe => context.named_as(number, |context| context.put("UTIME_OMIT")),
                _ => {
                    number(context.out);
                    remark(context, seconds, Some((nanoseconds, 9)));
                }
            }
        }
        context.put("]");
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 32)]);

/// Two file times with microseconds, as `utimes` takes them.
pub(crate) const FILE_TIMEVALS: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<32>(context.argument(index), |context, bytes| {
        context.put("[");
        for at in [0, 16] {
            if at > 0 {
                context.put(", ");
            }
            let (seconds, microseconds) = (bytes.i64(at), bytes.u64(at + 8));
            put!(context, "{{tv_sec={seconds}, tv_usec={microseconds}}}");
            remark(context, seconds, Some((microseconds, 6)));
        }
        context.put("]");
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 32)]);

/// Two file times in seconds, as `utime` takes them.
pub(crate) const FILE_SECONDS: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<16>(context.argument(index), |context, bytes| {
        put!(context, "{{actime={}", bytes.i64(0));
        remark(context, bytes.i64(0), None);
        put!(context, ", modtime={}", bytes.i64(8));
        remark(context, bytes.i64(8), None);
        context.put("}");
    });
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 16)]);

/// Writes a date as a remark; `fraction` is a value and its number of digits.
pub(crate) fn remark(
    context: &mut DecodeContext<'_>,
    seconds: i64,
    fraction: Option<(u64, usize)>,
) {
    let zone_s = context.style.zone_s;
    let CivilTime { year, month, day, hour, minute, second, .. } =
        CivilTime::of_local(seconds.saturating_add(i64::from(zone_s)));
    // Years outside this range are hardly dates, and 0 needs no remark.
    if !(1..=9999).contains(&year) || seconds == 0 && fraction.is_none_or(|(value, _)| value == 0) {
        return;
    }
    put!(context, " /* {year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    if let Some((value, digits)) = fraction
        && value != 0
    {
        put!(context, ".{value:0digits$}");
    }
    let sign = if zone_s < 0 { '-' } else { '+' };
    let minutes = zone_s.unsigned_abs() / 60;
    put!(context, "{sign}{:02}{:02} */", minutes / 60, minutes % 60);
}

/// Formats ticks of 1/100 s and what they are in seconds: `2 /* 0.02 s */`.
pub(crate) struct Ticks(pub(crate) i64);

impl std::fmt::Display for Ticks {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ticks = self.0;
        write!(formatter, "{ticks}")?;
        if ticks == 0 {
            return Ok(());
        }
        let sign = if ticks < 0 { "-" } else { "" };
        let magnitude = ticks.unsigned_abs();
        write!(formatter, " /* {sign}{}.{:02} s */", magnitude / 100, magnitude % 100)
    }
}
