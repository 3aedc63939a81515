//! The state of a thread that writes, and how a record is stored and published.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::argument::ErasedArguments;
use crate::abi::{RECORD_HEAD, ring};
use crate::clock;

/// Records of this level and above leave the hot path for the doorbell, if the settings say so.
pub(super) const WAKE_LEVEL: u8 = 8;

/// Bytes of a ring that has grown whose pages are mapped at once, ahead of the records: some 10 µs a time.
pub(super) const PIECE_BYTES: u64 = 64 << 10;

/// Records of one level that were dropped and not reported yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropped {
    pub(super) count: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The context of all, which names their logger; 0: none, or several.
    pub(super) context: u32,
    /// Whether their contexts differ.
    pub(super) is_of_several: bool,
}

impl Dropped {
    /// None.
    pub(super) const NONE: Dropped =
        Dropped { count: 0, first: 0, last: 0, context: 0, is_of_several: false };

    /// Both together; either may be none.
    pub(super) fn and(self, other: Dropped) -> Dropped {
        if self.count == 0 || other.count == 0 {
            return if self.count == 0 { other } else { self };
        }
        let is_one = self.context == other.context;
        Dropped {
            count: self.count + other.count,
            first: self.first.min(other.first),
            last: self.last.max(other.last),
            context: if is_one { self.context } else { 0 },
            is_of_several: self.is_of_several || other.is_of_several || !is_one,
        }
    }

    /// The arguments of the record that says so.
    pub(super) fn payload(&self) -> (u64, u64, u64, bool) {
        (self.count, self.first, self.last, self.is_of_several)
    }
}

/// The state of a thread that writes; the first line is what the hot path uses.
#[repr(C, align(64))]
pub(super) struct ThreadState {
    /// A call is under way.
    pub(super) busy: Cell<u32>,
    /// Context of the thread, 0: none.
    pub(super) scope: Cell<u32>,
    /// Position after the last record.
    pub(super) write: Cell<u64>,
    /// Position up to which there is room for the hot path; 0 where every record takes the slow path.
    pub(super) limit: Cell<u64>,
    /// The data, mapped twice.
    pub(super) data: Cell<*mut u8>,
    /// Capacity − 1.
    pub(super) mask: Cell<u64>,
    /// The write position in the ring's header.
    pub(super) published: Cell<*const AtomicU64>,
    /// Sequence number of the next record.
    pub(super) sequence: Cell<u64>,
    /// Whether stamps are TSC ticks.
    pub(super) has_tsc: Cell<u32>,

    /// Position up to which there is room.
    pub(super) room: Cell<u64>,
    /// Position up to which the ring's pages are mapped; `u64::MAX`: all are.
    pub(super) mapped: Cell<u64>,
    /// Whether every record takes the slow path: see `throttle`, and `RingSettings::wake_level`.
    pub(super) is_slow: Cell<bool>,
    /// Position after which the next record takes the slow path, which counts those of a packet.
    pub(super) packet_end: Cell<u64>,
    /// Sequence number of the packet's first record.
    pub(super) packet_first: Cell<u64>,
    /// Whether this is ring 0.
    pub(super) is_shared: Cell<bool>,
    /// Read position, as last seen.
    pub(super) read: Cell<u64>,
    /// What is before it may be overwritten.
    pub(super) oldest: Cell<u64>,
    /// Read position at which a wait timed out, + 1.
    pub(super) stalled: Cell<u64>,
    /// The ring's place in the table of rings.
    pub(super) slot: Cell<*mut ()>,
    /// By level: what is to be reported.
    pub(super) dropped: [Cell<Dropped>; 16],
    /// Whether there is something in `dropped`.
    pub(super) has_dropped: Cell<bool>,
    /// The last combination of a logger's context and the thread's, and its number.
    pub(super) combined: Cell<(u32, u32, u32)>,
}

impl ThreadState {
    /// Whether a record of `size` bytes has room on the hot path.
    #[inline(always)]
    pub(super) fn fits(&self, size: usize) -> bool {
        self.write.get() + size as u64 <= self.limit.get()
    }

    /// Whether a record of `size` bytes has room.
    pub(super) fn has_room(&self, size: usize) -> bool {
        self.write.get() + size as u64 <= self.room.get()
    }

    /// The number of the thread's ring; `None`: it has none.
    pub(super) fn ring_number(&self) -> Option<u32> {
        if self.data.get().is_null() {
            return None;
        }
        // SAFETY: the header, in the page before the data, is mapped for as long as the state has a ring.
        let number = unsafe { self.data.get().sub(ring::DATA - ring::NUMBER).cast::<u32>().read() };
        Some(u32::from_le(number))
    }

    /// Stores a record and publishes it.
    ///
    /// # Safety
    /// The state is of this thread (or locked, of ring 0), has a ring, and `size` bytes of room (or,
    /// for the last record, of the reserve).
    #[inline(always)]
    pub(super) unsafe fn place<P: ErasedArguments + ?Sized>(
        &self,
        word: u64,
        [site, context]: [u32; 2],
        payload: &P,
        size: usize,
        text_max: usize,
    ) {
        let (begin, sequence) = (self.write.get(), self.sequence.get());
        // SAFETY: the ring is mapped twice, so that `size` bytes from any place of the first
        // mapping are mapped; records begin at multiples of 8.
        unsafe {
            #[allow(clippy::cast_possible_truncation, reason = "64-bit addresses")]
            let to = self.data.get().add((begin & self.mask.get()) as usize);
            prefetch(to.wrapping_add(PREFETCH_BYTES));
            let words = to.cast::<u64>();
            words.write((word | sequence << 32).to_le());
            words.add(2).write((u64::from(site) | u64::from(context) << 32).to_le());
            payload.store(to.add(RECORD_HEAD), text_max);
            words.add(1).write(clock::stamp(self.has_tsc.get() != 0).to_le());
        }
        let end = begin + size as u64;
        self.sequence.set(sequence + 1);
        self.write.set(end);
        // SAFETY: the header is mapped for as long as the state has a ring.
        unsafe { (*self.published.get()).store(end.to_le(), Ordering::Release) };
    }
}

/// How far ahead of a record the ring is fetched into the cache: the next twenty records, so that
/// those after a pause find their lines there.
const PREFETCH_BYTES: usize = 1024;

/// Fetches a line that will be written.  Beyond the mapping it does nothing.
#[inline(always)]
fn prefetch(place: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults.
    unsafe {
        core::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// Runs what makes system calls, so that the program sees its own `errno` afterwards.
pub(super) fn with_errno_kept(work: impl FnOnce()) {
    // SAFETY: the place is this thread's.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let kept = unsafe { *place };
    work();
    // SAFETY: as above.
    unsafe { *place = kept };
}

#[cfg(test)]
mod tests {
    use super::Dropped;

    fn one(sequence: u64, context: u32) -> Dropped {
        let (first, last) = (sequence, sequence);
        Dropped { count: 1, first, last, context, is_of_several: false }
    }

    #[test]
    fn what_was_dropped_names_its_context_while_that_is_one() {
        let same = Dropped::NONE.and(one(7, 3)).and(one(9, 3)).and(Dropped::NONE);
        assert_eq!((same.payload(), same.context), ((2, 7, 9, false), 3));
        let several = same.and(one(5, 4));
        assert_eq!((several.payload(), several.context), ((3, 5, 9, true), 0));
        let still = several.and(one(10, 0)).and(one(11, 3));
        assert_eq!((still.payload(), still.context), ((5, 5, 11, true), 0));
    }
}
