//! Waiting for descriptors: `poll`, `select`, `epoll`.

use super::{
    Bytes, Copied, Kind, Length, Outcome, Reads, Scene, When, put, reads, result, signals,
};
use crate::flags::event as names;

fn asked(scene: &mut Scene<'_>, bytes: &Bytes<8>) {
    scene.put("{fd=");
    scene.descriptor(bytes.i32(0));
    if bytes.i32(0) >= 0 {
        scene.put(", events=");
        names::POLL.write(u64::from(bytes.u16(4)), scene.out);
    }
    scene.put("}");
}

/// What `poll` waits for; the next argument is the number of descriptors.
pub(crate) const POLL: Kind = Kind::new(|scene, index| {
    let count = scene.argument(index + 1) & 0xffff_ffff;
    scene.array(scene.argument(index), count, asked);
    Outcome::Done
})
.reading(&[reads::counted(When::Both, 1, 8)])
.of_any_width();

/// What `poll` found: ` ([{fd=3, revents=POLLIN}])`, ` (Timeout)`.  The array is the first argument.
pub(crate) fn found(scene: &mut Scene<'_>, left_index: Option<usize>) {
    if scene.count() == 0 {
        scene.put(" (Timeout)");
        return;
    }
    let (address, count) = (scene.argument(0), scene.argument(1) & 0xffff_ffff);
    let limit = scene.elements_shown();
    scene.put(" ([");
    let mut shown = 0;
    for index in 0..count.min(super::ELEMENTS_MAX) {
        let Some(bytes) = scene.read::<8>(address.wrapping_add(index * 8)) else {
            break;
        };
        if bytes.u16(6) == 0 || bytes.i32(0) < 0 {
            continue;
        }
        if shown > 0 {
            scene.put(", ");
        }
        if shown >= limit {
            scene.put("...");
            break;
        }
        shown += 1;
        // What they point to was told before.
        put!(scene, "{{fd={}, revents=", bytes.i32(0));
        names::POLL.write(u64::from(bytes.u16(6)), scene.out);
        scene.put("}");
    }
    scene.put("]");
    if let Some(index) = left_index {
        left(scene, index, 9);
    }
    scene.put(")");
}

/// Writes what is left of a time limit: `, left {tv_sec=1, tv_nsec=0}`.
fn left(scene: &mut Scene<'_>, index: usize, digits: usize) {
    let unit = if digits == 9 { 'n' } else { 'u' };
    if let Some(bytes) = scene.read::<16>(scene.argument(index)) {
        put!(scene, ", left {{tv_sec={}, tv_{unit}sec={}}}", bytes.i64(0), bytes.u64(8));
    }
}

/// The largest set of descriptors that is looked at: what a C library's `fd_set` holds.
const SET_MAX: u64 = 1024;

/// Descriptors of a set, below the count that is the first argument.
fn members(scene: &Scene<'_>, address: u64) -> Option<Vec<i32>> {
    let count = (scene.argument(0) as i32).max(0) as u64;
    let words = count.min(SET_MAX).div_ceil(64);
    let bytes = scene.read_some(address, words as usize * 8);
    if bytes.len() < words as usize * 8 || address == 0 {
        return None;
    }
    let is_set = |number: &u64| bytes[(number / 8) as usize] >> (number % 8) & 1 != 0;
    Some((0..count.min(SET_MAX)).filter(is_set).map(|number| number as i32).collect())
}

fn set(scene: &mut Scene<'_>, members: &[i32], with_targets: bool) {
    scene.put("[");
    for (index, &descriptor) in members.iter().enumerate() {
        if index > 0 {
            scene.put(" ");
        }
        if with_targets {
            scene.descriptor(descriptor);
        } else {
            put!(scene, "{descriptor}");
        }
    }
    scene.put("]");
}

/// A set of descriptors that `select` waits for.
pub(crate) const SET: Kind = Kind::new(|scene, index| {
    let address = scene.argument(index);
    match members(scene, address) {
        Some(list) if (scene.argument(0) as i32) > 0 => set(scene, &list, true),
        _ => scene.pointer(address),
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Both, 128)]);

/// What `select` found: ` (in [3], left {…})`, ` (Timeout)`.
pub(crate) fn selected(scene: &mut Scene<'_>, digits: usize) {
    let count = scene.count();
    if count == 0 {
        scene.put(" (Timeout)");
        return;
    }
    let start = scene.out.len();
    scene.put(" (");
    let empty = scene.out.len();
    for (index, name) in [(1, "in"), (2, "out"), (3, "except")] {
        if let Some(list) = members(scene, scene.argument(index))
            && !list.is_empty()
        {
            put!(scene, "{}{name} ", if scene.out.len() > empty { ", " } else { "" });
            set(scene, &list, false);
        }
    }
    if scene.out.len() == empty {
        scene.out.truncate(start);
        return;
    }
    left(scene, 4, digits);
    scene.put(")");
}

fn event(scene: &mut Scene<'_>, bytes: &Bytes<12>) {
    scene.put("{events=");
    names::EPOLL.write(u64::from(bytes.u32(0)), scene.out);
    let data = u64::from(bytes.u32(4)) | u64::from(bytes.u32(8)) << 32;
    put!(scene, ", data={{u32={}, u64={data}}}}}", bytes.u32(4));
}

/// What `epoll_ctl` is told to wait for; of no use when a descriptor is taken out.
pub(crate) const EVENT_IN: Kind = Kind::new(|scene, index| {
    const DELETE: u64 = 2;
    let address = scene.argument(index);
    if scene.argument(1) & 0xffff_ffff == DELETE {
        scene.pointer(address);
    } else {
        scene.structure(address, event);
    }
    Outcome::Done
})
.reading(&[reads::fixed(When::Enter, 12)])
.of_any_width();

/// What `epoll_wait` found; the result is their number.
pub(crate) const EVENTS_OUT: Kind = Kind::new(|scene, index| {
    if !scene.is_over() {
        return Outcome::Later;
    }
    let address = scene.argument(index);
    if scene.has_failed() {
        scene.pointer(address);
    } else if scene.count() == 0 {
        scene.put("[]");
    } else {
        scene.array(address, scene.count(), event);
    }
    Outcome::Done
})
.reading(&[reads::resulting(12)])
.of_any_width();

/// The mask of `pselect6`: a pointer to a set, and the set's size.
pub(crate) const MASK: Kind = Kind::new(|scene, index| {
    scene.structure::<16>(scene.argument(index), |scene, bytes| {
        scene.put("{sigmask=");
        if bytes.u64(8) == 8 {
            scene.structure::<8>(bytes.u64(0), |scene, bytes| signals::set(scene, bytes.u64(0)));
        } else {
            scene.pointer(bytes.u64(0));
        }
        put!(scene, ", sigsetsize={}}}", bytes.u64(8));
    });
    Outcome::Done
})
.reading(&[Reads { when: When::Enter, what: Copied::Mask }]);

/// The result of `poll`.
pub(crate) const POLL_RESULT: Kind = result::with(|scene| found(scene, None));
/// The result of `ppoll`.
pub(crate) const PPOLL_RESULT: Kind = result::with(|scene| found(scene, Some(2)));
/// The result of `select`.
pub(crate) const SELECT_RESULT: Kind = result::with(|scene| selected(scene, 6));
/// The result of `pselect6`.
pub(crate) const PSELECT_RESULT: Kind = result::with(|scene| selected(scene, 9));

/// A time limit that the kernel changes; what is left is told with the result.
pub(crate) const LIMIT_NS: Kind = super::time::TIMESPEC_IN.reading(&[Reads {
    when: When::Both,
    what: Copied::Bytes { count: Length::Fixed(1), size: 16 },
}]);
/// The same in microseconds.
pub(crate) const LIMIT_US: Kind = super::time::TIMEVAL_IN.reading(&[Reads {
    when: When::Both,
    what: Copied::Bytes { count: Length::Fixed(1), size: 16 },
}]);
