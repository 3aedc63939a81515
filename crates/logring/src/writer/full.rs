//! No room in a ring: look whether the consumer has read; else grow, wait, drop or overwrite, as the
//! policy of the record's level says.  What is dropped is counted, and reported in the stream.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::files;
use super::process::Process;
use super::settings::FullPolicy;
use super::state::{Dropped, PIECE_BYTES, ThreadState};
use crate::abi::{self, LEVEL_MASK, RECORD_HEAD, kind, ring};
use crate::clock;
use crate::system::timespec;

/// Bytes of a report of dropped records, and of the records 5 and 7 that the reserve is for.
const REPORT_BYTES: usize = RECORD_HEAD + 32;

/// Longest single wait: a wake-up that was missed costs no more.
const WAIT_NS_MAX: u64 = 10_000_000;

/// Bytes that overwriting gives up at once, so that it happens once in some hundred calls.
const OVERWRITE_BYTES: u64 = 4096;

/// Where a field of a ring's header is.
fn field(state: &ThreadState, offset: usize) -> *const u8 {
    let at = offset as isize - ring::WRITE_POSITION as isize;
    state.published.get().cast::<u8>().wrapping_offset(at)
}

/// A word of a ring's header.
fn word(state: &ThreadState, offset: usize) -> &AtomicU64 {
    // SAFETY: the header is mapped for as long as the state has a ring; the field is aligned, and
    // used as an atomic by all.
    unsafe { &*field(state, offset).cast() }
}

/// A number of four bytes of a ring's header.
fn u32_at(state: &ThreadState, offset: usize) -> &AtomicU32 {
    // SAFETY: as of `word`.
    unsafe { &*field(state, offset).cast() }
}

impl ThreadState {
    /// Capacity of the ring.
    fn capacity(&self) -> u64 {
        self.mask.get() + 1
    }

    /// Looks how far the consumer is; gives whether that changed.
    pub(super) fn look(&self) -> bool {
        for _ in 0..100 {
            let position = u64::from_le(word(self, ring::MARKS).load(Ordering::Acquire));
            let inverted = u64::from_le(word(self, ring::MARKS + 16).load(Ordering::Acquire));
            if position != !inverted {
                std::hint::spin_loop();
                continue;
            }
            // A consumer that says it read what was not written, or goes back, is not believed.
            let is_sound = position <= self.write.get() && position.is_multiple_of(8);
            if !is_sound || position <= self.read.get() {
                return false;
            }
            self.read.set(position);
            self.set_limit();
            return true;
        }
        false
    }

    /// Computes how far there is room from the read and the oldest position.
    pub(super) fn set_limit(&self) {
        let from = self.read.get().max(self.oldest.get());
        let room = from + self.capacity() - ring::RESERVE;
        self.room.set(room);
        let most = if self.is_slow.get() { 0 } else { self.packet_end.get() };
        let most = most.min(self.mapped.get());
        self.limit.set(room.min(most));
    }

    /// Notes that only the first pages of a ring that has grown are mapped.
    pub(super) fn begin_mapped(&self) {
        if PIECE_BYTES < self.capacity() {
            self.mapped.set(PIECE_BYTES);
            self.set_limit();
        }
    }

    /// Maps the piece of the ring into which a record of `size` bytes goes.
    pub(super) fn map_ahead(&self, size: usize) {
        let (from, end) = (self.mapped.get(), self.write.get() + size as u64);
        if end <= from {
            return;
        }
        let to = end.next_multiple_of(PIECE_BYTES).min(self.capacity());
        #[allow(clippy::cast_possible_truncation, reason = "64-bit addresses")]
        files::map_pages(
            self.data.get().wrapping_add(from as usize),
            to.saturating_sub(from) as usize,
        );
        self.mapped.set(if to < self.capacity() { to } else { u64::MAX });
        self.set_limit();
    }

    /// Counts the records of a packet of so many (0: there are none), after one was written slowly;
    /// whether it is full.  The hot path stores fewer than are left of it, since each has a head.
    pub(super) fn fill_packet(&self, most: u32) -> bool {
        // Without a ring there is nothing to count; ring 0 wakes with every record.
        if most == 0 || self.data.get().is_null() {
            return most > 0;
        }
        let next = self.sequence.get();
        let is_full = next - self.packet_first.get() >= u64::from(most);
        if is_full {
            self.packet_first.set(next);
        }
        let left = u64::from(most) - (next - self.packet_first.get());
        self.packet_end.set(self.write.get() + (left - 1) * RECORD_HEAD as u64);
        self.set_limit();
        is_full
    }

    /// Bytes without anything to be read.
    pub(super) fn free_bytes(&self) -> u64 {
        self.room.get().saturating_sub(self.write.get())
    }

    /// Notes that a record of a level, a context and a number was dropped.
    fn note_dropped(&self, level: u8, context: u32, sequence: u64) {
        let level = usize::from(level & LEVEL_MASK);
        let counter = word(self, ring::DROPPED + level * 8);
        counter
            .store((u64::from_le(counter.load(Ordering::Relaxed)) + 1).to_le(), Ordering::Relaxed);
        let (first, last) = (sequence, sequence);
        let one = Dropped { count: 1, first, last, context, is_of_several: false };
        self.dropped[level].set(self.dropped[level].get().and(one));
        self.has_dropped.set(true);
    }

    /// Writes what was dropped, as far as there is room beside `size` bytes.
    pub(super) fn report_dropped(&self, size: usize) {
        if !self.has_dropped.get() {
            return;
        }
        for (level, slot) in (0u8..).zip(&self.dropped) {
            let all = slot.get();
            if all.count == 0 {
                continue;
            }
            if !self.has_room(size + REPORT_BYTES) {
                return;
            }
            let word = abi::word0(REPORT_BYTES, kind::DROPPED, level);
            // SAFETY: the state is this thread's or locked, and there is room.
            unsafe {
                self.place(word, [0, all.context], &all.payload(), REPORT_BYTES, usize::MAX);
            }
            slot.set(Dropped::NONE);
        }
        self.has_dropped.set(false);
    }

    /// Writes what was dropped and is not reported yet, of all levels in one record of level 0, into
    /// the reserve: the last chance.
    pub(super) fn report_all_dropped(&self) {
        let all = self.dropped.iter().map(Cell::get).fold(Dropped::NONE, Dropped::and);
        let end = self.write.get() + REPORT_BYTES as u64;
        if all.count == 0 || end > self.room.get() + ring::RESERVE / 2 {
            return;
        }
        let word = abi::word0(REPORT_BYTES, kind::DROPPED, 0);
        // SAFETY: the state is this thread's, and the reserve has room for this and one more.
        unsafe { self.place(word, [0, all.context], &all.payload(), REPORT_BYTES, usize::MAX) };
        self.dropped.iter().for_each(|slot| slot.set(Dropped::NONE));
        self.has_dropped.set(false);
    }

    /// Gives up the oldest records until `size` bytes have room.
    fn overwrite(&self, size: usize) {
        let from = self.read.get().max(self.oldest.get());
        let wanted = (size as u64).saturating_sub(self.free_bytes());
        let wanted = wanted.max(OVERWRITE_BYTES.min(self.capacity() / 4));
        let (mut at, mut count) = (from, 0);
        while at < self.write.get() && at - from < wanted {
            // SAFETY: records begin within the first mapping, and have at least three words.
            let [first, ids] = unsafe {
                #[allow(clippy::cast_possible_truncation, reason = "64-bit addresses")]
                let place = self.data.get().add((at & self.mask.get()) as usize);
                [0, 2].map(|word| u64::from_le(place.cast::<u64>().add(word).read()))
            };
            let [size_low, size_high, kind, flags, ..] = first.to_le_bytes();
            // The upper half of the number is that of the next record, or one less.
            let low = first >> 32;
            let next = self.sequence.get();
            let sequence = next - (next.wrapping_sub(low) & u64::from(u32::MAX));
            if kind == kind::LOG {
                let context = u32::try_from(ids >> 32).unwrap_or(0);
                self.note_dropped(flags, context, sequence);
            }
            let length = u64::from(u16::from_le_bytes([size_low, size_high])) * 8;
            at += length.max(8);
            count += 1;
        }
        if count == 0 {
            return;
        }
        self.oldest.set(at);
        word(self, ring::OLDEST_POSITION).store(at.to_le(), Ordering::Release);
        // The reader sees this before anything of what is stored there next.
        fence(Ordering::SeqCst);
        self.set_limit();
    }
}

impl Process {
    /// Makes room for a record of a level and a context; `false`: it was dropped, and counted.
    pub(super) fn make_room(
        &'static self,
        state: &'static ThreadState,
        size: usize,
        level: u8,
        context: u32,
    ) -> bool {
        if state.has_room(size) && !state.has_dropped.get() {
            return true;
        }
        state.look();
        state.report_dropped(size);
        if state.has_room(size) {
            return true;
        }
        let policy = self.settings().policies[usize::from(level & LEVEL_MASK)];
        let is_shared = state.is_shared.get();
        let has_room = match policy {
            // Ring 0 neither grows nor waits: a signal handler must not.
            _ if !is_shared && self.grow(state, size, self.bytes_max(level)) => true,
            FullPolicy::OverwriteOldest => {
                state.overwrite(size);
                state.has_room(size)
            }
            FullPolicy::Grow | FullPolicy::Block if !is_shared => self.wait(state, size),
            _ => false,
        };
        if has_room {
            return true;
        }
        let sequence = state.sequence.get();
        state.note_dropped(level, context, sequence);
        state.sequence.set(sequence + 1);
        false
    }

    /// The size up to which a ring grows for a record of a level.
    fn bytes_max(&self, level: u8) -> u64 {
        match self.settings().policies[usize::from(level & LEVEL_MASK)] {
            FullPolicy::Grow => self.settings().ring_bytes_max,
            _ => 0,
        }
    }

    /// Goes on in a ring that a record fits into without being cut, if the limits allow.
    pub(super) fn grow_for(&'static self, state: &'static ThreadState, size: usize, level: u8) {
        let wanted = ring::for_record(size);
        if !state.is_shared.get() && wanted > state.capacity() {
            self.grow(state, size, self.bytes_max(level));
        }
    }

    /// Waits until there is room; not again before the consumer has read something.
    fn wait(&'static self, state: &'static ThreadState, size: usize) -> bool {
        if state.stalled.get() == state.read.get() + 1 {
            return false;
        }
        let begin = clock::boottime_ns();
        let timeout = self.settings().block_timeout_ns;
        let waits = u32_at(state, ring::PRODUCER_WAITS);
        loop {
            waits.store(1u32.to_le(), Ordering::Relaxed);
            fence(Ordering::SeqCst);
            state.look();
            if state.has_room(size) {
                waits.store(0, Ordering::Relaxed);
                state.report_dropped(size);
                return state.has_room(size);
            }
            let waited = clock::boottime_ns().saturating_sub(begin);
            if waited >= timeout {
                waits.store(0, Ordering::Relaxed);
                state.stalled.set(state.read.get() + 1);
                return false;
            }
            self.wake_consumers();
            let seen = u32_at(state, ring::MARKS);
            #[allow(clippy::cast_possible_truncation, reason = "a futex is the low half")]
            let expected = state.read.get() as u32;
            let time = timespec((timeout - waited).min(WAIT_NS_MAX));
            // SAFETY: the word and the time outlive the call.
            unsafe { libc::syscall(libc::SYS_futex, seen, libc::FUTEX_WAIT, expected, &time) };
        }
    }
}
