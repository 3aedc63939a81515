//! Waiting for descriptors: `poll`, `select`, `epoll`.

use super::{
    ArgumentKind, CaptureCount, CapturePhase, CapturedData, DecodeContext, Outcome, Reads,
    StructBytes, put, reads, result, signals,
};
use crate::flags::event as names;

fn asked(context: &mut DecodeContext<'_>, bytes: &StructBytes<8>) {
    context.put("{fd=");
    context.descriptor(bytes.i32(0));
    if bytes.i32(0) >= 0 {
        context.put(", events=");
        context.constant(&names::POLL, u64::from(bytes.u16(4)));
    }
    context.put("}");
}

/// What `poll` waits for; the next argument is the number of descriptors.
pub(crate) const POLL: ArgumentKind = ArgumentKind::new(|context, index| {
    let count = context.argument(index + 1) & 0xffff_ffff;
    context.array(context.argument(index), count, asked);
    Outcome::Done
})
.reading(&[reads::counted(CapturePhase::Both, 1, 8)])
.of_any_width();

/// The result of `poll`: ` ([{fd=3, revents=POLLIN}])`, ` (Timeout)`.  The array is the first
/// argument.
pub(crate) fn found(context: &mut DecodeContext<'_>, left_index: Option<usize>) {
    if context.count() == 0 {
        context.put(" (Timeout)");
        return;
    }
    let (address, count) = (context.argument(0), context.argument(1) & 0xffff_ffff);
    let limit = context.elements_shown();
    context.put(" ([");
    let mut shown = 0;
    for index in 0..count.min(super::ELEMENTS_MAX) {
        let Some(bytes) = context.read::<8>(address.wrapping_add(index * 8)) else {
            break;
        };
        if bytes.u16(6) == 0 || bytes.i32(0) < 0 {
            continue;
        }
        if shown > 0 {
            context.put(", ");
        }
        if shown >= limit {
            context.put("...");
            break;
        }
        shown += 1;
        // What the descriptors point to was written with the arguments.
        put!(context, "{{fd={}, revents=", bytes.i32(0));
        context.constant(&names::POLL, u64::from(bytes.u16(6)));
        context.put("}");
    }
    context.put("]");
    if let Some(index) = left_index {
        left(context, index, 9, ", ");
    }
    context.put(")");
}

/// Writes what is left of a time limit, after a separator: `left {tv_sec=1, tv_nsec=0}`.
fn left(context: &mut DecodeContext<'_>, index: usize, digits: usize, separator: &str) {
    let unit = if digits == 9 { 'n' } else { 'u' };
    if let Some(bytes) = context.read::<16>(context.argument(index)) {
        put!(context, "{separator}left {{tv_sec={}, tv_{unit}sec={}}}", bytes.i64(0), bytes.u64(8));
    }
}

/// The largest set of descriptors that is decoded: the `fd_set` of C libraries.
const SET_MAX: u64 = 1024;

/// Descriptors of a set, below the count that is the first argument.
fn members(context: &DecodeContext<'_>, address: u64) -> Option<Vec<i32>> {
    let count = (context.argument(0) as i32).max(0) as u64;
    let words = count.min(SET_MAX).div_ceil(64);
    let bytes = context.read_some(address, words as usize * 8);
    if bytes.len() < words as usize * 8 || address == 0 {
        return None;
    }
    let is_set = |number: &u64| bytes[(number / 8) as usize] >> (number % 8) & 1 != 0;
    Some((0..count.min(SET_MAX)).filter(is_set).map(|number| number as i32).collect())
}

fn set(context: &mut DecodeContext<'_>, members: &[i32], with_targets: bool) {
    context.put("[");
    for (index, &descriptor) in members.iter().enumerate() {
        if index > 0 {
            context.put(" ");
        }
        if with_targets {
            context.descriptor(descriptor);
        } else {
            put!(context, "{descriptor}");
        }
    }
    context.put("]");
}

/// A set of descriptors that `select` waits for.
pub(crate) const SET: ArgumentKind = ArgumentKind::new(|context, index| {
    let address = context.argument(index);
    match members(context, address) {
        Some(list) if (context.argument(0) as i32) > 0 => set(context, &list, true),
        _ => context.pointer(address),
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Both, 128)]);

/// The result of `select`: ` (in [3], left {…})`, ` (Timeout)`.
pub(crate) fn selected(context: &mut DecodeContext<'_>, digits: usize) {
    let count = context.count();
    if count == 0 {
        context.put(" (Timeout)");
        return;
    }
    let start = context.out.len();
    context.put(" (");
    let empty = context.out.len();
    for (index, name) in [(1, "in"), (2, "out"), (3, "except")] {
        if let Some(list) = members(context, context.argument(index))
            && !list.is_empty()
        {
            put!(context, "{}{name} ", if context.out.len() > empty { ", " } else { "" });
            set(context, &list, false);
        }
    }
    // The sets may be unreadable where the kernel read them: it cuts the count to what the table of
    // descriptors holds.
    left(context, 4, digits, if context.out.len() > empty { ", " } else { "" });
    if context.out.len() == empty {
        context.out.truncate(start);
        return;
    }
    context.put(")");
}

fn event(context: &mut DecodeContext<'_>, bytes: &StructBytes<12>) {
    context.put("{events=");
    context.constant(&names::EPOLL, u64::from(bytes.u32(0)));
    let data = u64::from(bytes.u32(4)) | u64::from(bytes.u32(8)) << 32;
    put!(context, ", data={{u32={}, u64={data}}}}}", bytes.u32(4));
}

/// The event that `epoll_ctl` registers; ignored by `EPOLL_CTL_DEL`.
pub(crate) const EVENT_IN: ArgumentKind = ArgumentKind::new(|context, index| {
    const DELETE: u64 = 2;
    let address = context.argument(index);
    if context.argument(1) & 0xffff_ffff == DELETE {
        context.pointer(address);
    } else {
        context.structure(address, event);
    }
    Outcome::Done
})
.reading(&[reads::fixed(CapturePhase::Enter, 12)])
.of_any_width();

/// The events that `epoll_wait` returns; the result is their number.
pub(crate) const EVENTS_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    let address = context.argument(index);
    if context.has_failed() {
        context.pointer(address);
    } else if context.count() == 0 {
        context.put("[]");
    } else {
        context.array(address, context.count(), event);
    }
    Outcome::Done
})
.reading(&[reads::resulting(12)])
.of_any_width();

/// The mask of `pselect6`: a pointer to a set, and the set's size.
pub(crate) const MASK: ArgumentKind = ArgumentKind::new(|context, index| {
    context.structure::<16>(context.argument(index), |context, bytes| {
        context.put("{sigmask=");
        if bytes.u64(8) == 8 {
            context
                .structure::<8>(bytes.u64(0), |context, bytes| signals::set(context, bytes.u64(0)));
        } else {
            context.pointer(bytes.u64(0));
        }
        put!(context, ", sigsetsize={}}}", bytes.u64(8));
    });
    Outcome::Done
})
.reading(&[Reads { when: CapturePhase::Enter, what: CapturedData::Mask }]);

/// The result of `poll`.
pub(crate) const POLL_RESULT: ArgumentKind = result::with(|context| found(context, None));
/// The result of `ppoll`.
pub(crate) const PPOLL_RESULT: ArgumentKind = result::with(|context| found(context, Some(2)));
/// The result of `recvmmsg`.
pub(crate) const RECEIVED_RESULT: ArgumentKind = result::with(|context| {
    if context.count() == 0 {
        context.put(" (Timeout)");
        return;
    }
    let start = context.out.len();
    left(context, 4, 9, " (");
    if context.out.len() > start {
        context.put(")");
    }
});
/// The result of `select`.
pub(crate) const SELECT_RESULT: ArgumentKind = result::with(|context| selected(context, 6));
/// The result of `pselect6`.
pub(crate) const PSELECT_RESULT: ArgumentKind = result::with(|context| selected(context, 9));

/// A time limit that the kernel changes to the time left, which is shown with the result.
pub(crate) const LIMIT_NS: ArgumentKind = super::time::TIMESPEC_IN.reading(&[Reads {
    when: CapturePhase::Both,
    what: CapturedData::Bytes { count: CaptureCount::Fixed(1), size: 16 },
}]);
/// As [`LIMIT_NS`], in microseconds.
pub(crate) const LIMIT_US: ArgumentKind = super::time::TIMEVAL_IN.reading(&[Reads {
    when: CapturePhase::Both,
    what: CapturedData::Bytes { count: CaptureCount::Fixed(1), size: 16 },
}]);
