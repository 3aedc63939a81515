//! The table of rings: made, given to threads, taken back, grown, forgotten.
//!
//! A thread that ends leaves its ring to the next one that begins, so there are as many rings as
//! there ever were threads at once.  A ring that was outgrown stays until it was read.

use std::fmt::Write as _;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::super::files::{self, Descriptor};
use super::super::state::{Dropped, PIECE_BYTES, ThreadState, WAKE_LEVEL};
use super::{Guard, Inner, NO_RING, Name, Process, thread_id};
use crate::abi::{self, RECORD_HEAD, kind, process, ring};
use crate::clock;

/// Most rings at once; more threads share ring 0.
const SLOTS_MAX: usize = 4096;

/// Bytes of the table.
pub(super) const SLOT_BYTES: usize = SLOTS_MAX * size_of::<Slot>();

/// Bytes of ring 0, which does not grow.
const SHARED_BYTES: u64 = 32 << 10;

/// Bytes of a thread's first ring, if the settings do not say less and the thread has not asked for all of
/// it: most processes log little.
const FIRST_BYTES: u64 = 16 << 10;

/// Idle rings that are kept for new threads; more are given up.
const IDLE_MAX: usize = 16;

/// Bytes of the states' pages.
const STATE_BYTES: usize = size_of::<ThreadState>().next_multiple_of(abi::PAGE);

/// What a place of the table is used for.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Use {
    Free = 0,
    /// A thread writes.
    Active = 1,
    /// For the next thread.
    Idle = 2,
    /// Outgrown or given up: until all of it was read.
    Retired = 3,
}

/// How large a thread's first ring is.
#[derive(Clone, Copy)]
pub(in super::super) enum FirstRing {
    /// What most threads need; it grows.
    Small,
    /// The size that the settings name, if there is room for it.
    Whole,
}

/// A ring.
pub(in super::super) struct Slot {
    used: Use,
    pub(super) number: u32,
    /// The descriptor, if the ring has no name; else −1.
    pub(super) file: Descriptor,
    capacity: u64,
    base: *mut u8,
    /// A page that stays with the place.
    state: *mut ThreadState,
}

impl Slot {
    /// A number of four bytes of the header.
    fn u32_at(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: fields of the header are mapped for as long as the place is used.
        unsafe { &*self.base.add(offset).cast() }
    }

    /// A number of eight bytes of the header.
    pub(in super::super) fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: as of `u32_at`.
        unsafe { &*self.base.add(offset).cast() }
    }

    /// The position of a mark (0: read, 1: synced, 2: central), if it can be read now.
    pub(in super::super) fn mark(&self, tier: usize) -> Option<u64> {
        let at = ring::MARKS + tier * ring::MARK_BYTES;
        let position = u64::from_le(self.word(at).load(Ordering::Acquire));
        let inverted = u64::from_le(self.word(at + 16).load(Ordering::Acquire));
        (position == !inverted).then_some(position)
    }

    /// The write position.
    pub(in super::super) fn written(&self) -> u64 {
        u64::from_le(self.word(ring::WRITE_POSITION).load(Ordering::Acquire))
    }

    /// Number of the ring.
    pub(in super::super) fn number(&self) -> u32 {
        self.number
    }

    fn is_read(&self) -> bool {
        self.mark(0).is_some_and(|position| position >= self.written())
    }
}

impl Inner {
    fn slots(&self) -> &[Slot] {
        // SAFETY: so many were filled; a zeroed place is a value.
        unsafe { std::slice::from_raw_parts(self.slots, self.slot_count) }
    }

    /// The rings that are mapped.
    pub(super) fn used_slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots().iter().filter(|slot| slot.used != Use::Free)
    }

    /// Forgets all rings: this is a child of `fork`, which has none of them.  Of the states' pages,
    /// one is that of the thread that lives on; the others are not used any more.
    pub(super) fn forget_slots(&mut self) {
        for at in 0..self.slot_count {
            // SAFETY: within the table.
            let slot = unsafe { &mut *self.slots.add(at) };
            (slot.used, slot.state) = (Use::Free, std::ptr::null_mut());
        }
    }

    /// A place for a ring: its state has a page.
    fn free_slot(&mut self) -> Option<&'static mut Slot> {
        self.reclaim();
        let free = self.slots().iter().position(|slot| slot.used == Use::Free);
        let at = free.or_else(|| (self.slot_count < SLOTS_MAX).then_some(self.slot_count))?;
        self.slot_count = self.slot_count.max(at + 1);
        // SAFETY: the table is never unmapped; whoever has the lock, or the thread that the ring
        // is given to, uses the place.
        let slot = unsafe { &mut *self.slots.add(at) };
        if slot.state.is_null() {
            slot.state = files::map_wiped_on_fork(STATE_BYTES).ok()?.cast();
        }
        Some(slot)
    }

    /// Unmaps rings that were given up and are read.
    fn reclaim(&mut self) {
        for at in 0..self.slot_count {
            // SAFETY: within the table; nobody writes into a retired ring.
            let slot = unsafe { &mut *self.slots.add(at) };
            if slot.used == Use::Retired && slot.is_read() {
                files::unmap_ring(slot.base, slot.capacity);
                files::close(slot.file);
                self.ring_bytes = self.ring_bytes.saturating_sub(slot.capacity);
                slot.used = Use::Free;
            }
        }
    }
}

impl Process {
    /// Makes a ring's file and maps it.
    fn make_ring(
        &self,
        inner: &mut Inner,
        capacity: u64,
        predecessor: u32,
        flags: u32,
    ) -> io::Result<(*mut u8, Descriptor, u32)> {
        let length = ring::DATA as u64 + capacity;
        let number = inner.next_ring;
        let (mut from, mut to) = (Name::new(), Name::new());
        let (directory, stem) = (self.directory.as_str(), inner.stem.as_str());
        write!(to, "{directory}/{stem}-{number}.ring").map_err(io::Error::other)?;
        write!(from, "{directory}/{stem}-{number}.new").map_err(io::Error::other)?;
        let file = if inner.is_private {
            files::make_unnamed(length)?
        } else {
            files::make(from.as_c()?, length)?
        };
        // A thread that grows its ring is in the middle of its records: it pays for what it uses.
        let mapped = if predecessor == NO_RING { capacity } else { capacity.min(PIECE_BYTES) };
        let base = files::map_ring(file, capacity, mapped).inspect_err(|_| {
            files::close(file);
            from.as_c().into_iter().for_each(files::remove);
        })?;
        self.fill_ring(inner, base, capacity, [number, predecessor, flags]);
        if !inner.is_private {
            files::close(file);
            files::rename_new(from.as_c()?, to.as_c()?)
                .inspect_err(|_| files::unmap_ring(base, capacity))?;
        }
        inner.next_ring = number + 1;
        inner.ring_bytes += capacity;
        self.u32_at(process::RING_COUNT).store((number + 1).to_le(), Ordering::Release);
        Ok((base, if inner.is_private { file } else { -1 }, number))
    }

    fn fill_ring(&self, inner: &Inner, base: *mut u8, capacity: u64, numbers: [u32; 3]) {
        // SAFETY: the header page is mapped, zero, and nobody else has it yet.
        let page = unsafe { std::slice::from_raw_parts_mut(base, ring::DATA) };
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        let [number, predecessor, flags] = numbers;
        put(0, &abi::RING_MAGIC);
        put(ring::VERSION, &abi::VERSION.to_le_bytes());
        put(ring::FLAGS, &flags.to_le_bytes());
        put(ring::PROCESS_ID, &inner.process_id);
        put(ring::PID, &inner.pid.to_le_bytes());
        put(ring::START_TICKS, &inner.start_ticks.to_le_bytes());
        put(ring::NUMBER, &number.to_le_bytes());
        put(ring::PREDECESSOR, &predecessor.to_le_bytes());
        put(ring::CAPACITY, &capacity.to_le_bytes());
        put(ring::SUCCESSOR, &NO_RING.to_le_bytes());
        for tier in 0..3 {
            put(ring::MARKS + tier * ring::MARK_BYTES + 16, &[0xff; 16]);
        }
    }

    /// Makes a first ring; without room one without a name.
    fn make_some_ring(
        &self,
        inner: &mut Inner,
        capacity: u64,
        flags: u32,
    ) -> io::Result<(*mut u8, Descriptor, u32)> {
        let made = self.make_ring(inner, capacity, NO_RING, flags);
        if made.is_ok() || inner.is_private {
            return made;
        }
        inner.is_private = true;
        let made = self.make_ring(inner, capacity, NO_RING, flags);
        inner.is_private = false;
        made
    }

    /// Ring 0.
    pub(super) fn make_shared_ring(&self, inner: &mut Inner) -> Option<*const ThreadState> {
        let made = self.make_some_ring(inner, SHARED_BYTES, ring::FLAG_SHARED);
        let (base, file, number) = made.ok()?;
        let slot = inner.free_slot()?;
        *slot = Slot { used: Use::Active, number, file, capacity: SHARED_BYTES, base, ..*slot };
        // SAFETY: the page is of the place, which was free.
        let state = unsafe { &*slot.state };
        self.begin_state(state, slot);
        state.is_shared.set(true);
        Some(state)
    }

    /// The size that each thread's ring grows to, whatever the policies: it begins with less.
    fn first_bytes(&self) -> u64 {
        let wanted = self.settings.ring_bytes.clamp(ring::CAPACITY_MIN, ring::CAPACITY_MAX);
        wanted.next_power_of_two()
    }

    /// The size of a thread's first ring.
    fn capacity(&self, first: FirstRing) -> u64 {
        match first {
            FirstRing::Small => self.first_bytes().min(FIRST_BYTES),
            FirstRing::Whole => self.first_bytes(),
        }
    }

    /// Sets the state to write into a new ring.
    fn begin_state(&self, state: &ThreadState, slot: &mut Slot) {
        // SAFETY: the data begins behind the header.
        state.data.set(unsafe { slot.base.add(ring::DATA) });
        state.mask.set(slot.capacity - 1);
        state.published.set(std::ptr::from_ref(slot.word(ring::WRITE_POSITION)));
        let (oldest, write) = (
            u64::from_le(slot.word(ring::OLDEST_POSITION).load(Ordering::Relaxed)),
            slot.written(),
        );
        state.write.set(write);
        state.oldest.set(oldest);
        state.read.set(slot.mark(0).unwrap_or(0).min(write));
        state.stalled.set(0);
        state.has_tsc.set(u32::from(self.has_tsc));
        state.is_shared.set(false);
        let settings = self.settings();
        state.is_slow.set(self.throttle.is_some() || settings.wake_level < WAKE_LEVEL);
        state.mapped.set(u64::MAX);
        state.packet_first.set(0);
        state.packet_end.set(if settings.packet_records == 0 { u64::MAX } else { 0 });
        state.slot.set(std::ptr::from_mut(slot).cast());
        state.has_dropped.set(false);
        state.dropped.iter().for_each(|slot| slot.set(Dropped::NONE));
        state.set_limit();
    }

    /// Gives this thread a state with a ring: one that another thread left, or a new one.
    pub(in super::super) fn take_state(
        &'static self,
        first: FirstRing,
    ) -> Option<&'static ThreadState> {
        let mut guard = self.lock()?;
        let state = match guard.idle_state(first) {
            Some(state) => state,
            None => guard.new_state(None, first)?,
        };
        drop(guard);
        self.say_thread_begins(state);
        // SAFETY: the key was made at the start; the state's page is never unmapped.
        unsafe { libc::pthread_setspecific(self.key, std::ptr::from_ref(state).cast()) };
        Some(state)
    }

    /// Gives a thread that lives on in a child of `fork` a new ring, in its own state.
    pub(in super::super) fn attach_state(&'static self, state: &'static ThreadState) -> bool {
        let Some(mut guard) = self.lock() else { return false };
        let has_ring = guard.new_state(Some(state), FirstRing::Small).is_some();
        drop(guard);
        if has_ring {
            self.say_thread_begins(state);
        }
        has_ring
    }

    /// Writes who writes, and what the clocks say.
    fn say_thread_begins(&self, state: &ThreadState) {
        let mut name = [0u8; 16];
        // SAFETY: the kernel writes at most 16 bytes.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(16);
        let text = std::str::from_utf8(&name[..length]).unwrap_or_default();
        let tid = thread_id();
        // SAFETY: the place is of this thread's ring.
        let slot = unsafe { &*state.slot.get().cast::<Slot>() };
        slot.u32_at(ring::TID).store(tid.to_le(), Ordering::Relaxed);
        for (at, bytes) in name.chunks_exact(8).enumerate() {
            let word = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
            slot.word(ring::THREAD_NAME + at * 8).store(word, Ordering::Relaxed);
        }
        let clocks = clock::pair(self.has_tsc);
        let readings = (clocks.stamp, clocks.realtime_ns, clocks.boottime_ns);
        put(state, kind::THREAD_BEGIN, &(u64::from(tid), text));
        put(state, kind::CALIBRATION, &readings);
    }

    /// The thread has ended: its ring is for another.
    pub(in super::super) fn give_back(&'static self, state: &'static ThreadState) {
        state.look();
        state.report_dropped(0);
        put_last(state, kind::THREAD_END, u64::from(thread_id()));
        // SAFETY: the place is of this thread's ring.
        let slot = unsafe { &mut *state.slot.get().cast::<Slot>() };
        let Some(guard) = self.lock() else { return };
        let idle = guard.inner.used_slots().filter(|slot| slot.used == Use::Idle).count();
        slot.used = if idle < IDLE_MAX { Use::Idle } else { Use::Retired };
        if slot.used == Use::Retired {
            slot.u32_at(ring::ENDED).store(1u32.to_le(), Ordering::Release);
        }
    }

    /// Goes on in a ring that is larger, if the limits allow: each ring may grow to the size that the
    /// settings name, by steps of four, and by steps of two to `most`.
    pub(in super::super) fn grow(
        &'static self,
        state: &'static ThreadState,
        size: usize,
        most: u64,
    ) -> bool {
        let (now, first) = (state.mask.get() + 1, self.first_bytes());
        let step = (now * 4).min(first).max(now * 2);
        let capacity = step.max(ring::for_record(size));
        let Some(guard) = self.lock() else { return false };
        let total = guard.inner.ring_bytes + capacity;
        if capacity > most.max(first) || total > self.settings.process_bytes_max {
            return false;
        }
        // SAFETY: the place is of this thread's ring.
        let old = unsafe { &mut *state.slot.get().cast::<Slot>() };
        let Ok((base, file, number)) = self.make_ring(guard.inner, capacity, old.number, 0) else {
            return false;
        };
        let Some(slot) = guard.inner.free_slot() else {
            // The table is full; the file is found ended, and removed.
            files::unmap_ring(base, capacity);
            files::close(file);
            return false;
        };
        let page = slot.state;
        *slot = Slot { used: Use::Active, number, file, capacity, base, state: old.state };
        put_last(state, kind::NEXT_RING, u64::from(number));
        old.u32_at(ring::SUCCESSOR).store(number.to_le(), Ordering::Relaxed);
        old.u32_at(ring::ENDED).store(1u32.to_le(), Ordering::Release);
        (old.used, old.state) = (Use::Retired, page);
        self.begin_state(state, slot);
        state.begin_mapped();
        state.sequence.set(0);
        drop(guard);
        self.say_thread_begins(state);
        state.has_room(size)
    }
}

impl Guard<'_> {
    /// A state with a ring that another thread left, with room.
    fn idle_state(&mut self, first: FirstRing) -> Option<&'static ThreadState> {
        let least = self.process.capacity(first);
        for at in 0..self.inner.slot_count {
            // SAFETY: within the table; idle rings are used under the lock.
            let slot = unsafe { &mut *self.inner.slots.add(at) };
            if slot.used != Use::Idle || slot.state.is_null() || slot.capacity < least {
                continue;
            }
            // SAFETY: the page of the place; its thread has ended.
            let state = unsafe { &*slot.state };
            state.look();
            if state.free_bytes() > slot.capacity / 4 {
                slot.used = Use::Active;
                state.busy.set(0);
                state.scope.set(0);
                return Some(state);
            }
        }
        None
    }

    /// A new ring, for a state or with one of its own.
    fn new_state(
        &mut self,
        state: Option<&'static ThreadState>,
        first: FirstRing,
    ) -> Option<&'static ThreadState> {
        if self.inner.file < 0 {
            return None;
        }
        let slot = self.inner.free_slot()?;
        let whole = self.process.capacity(first);
        let has_room = self.inner.ring_bytes + whole <= self.process.settings.process_bytes_max;
        let made = match first {
            FirstRing::Whole if has_room => self.process.make_ring(self.inner, whole, NO_RING, 0),
            _ => Err(io::ErrorKind::Unsupported.into()),
        };
        // A small one that readers find is better than a whole one without a name.
        let (capacity, (base, file, number)) = match made {
            Ok(made) => (whole, made),
            Err(_) => {
                let small = self.process.capacity(FirstRing::Small);
                (small, self.process.make_some_ring(self.inner, small, 0).ok()?)
            }
        };
        let is_new = state.is_none();
        let own = state.map_or(slot.state, |state| std::ptr::from_ref(state).cast_mut());
        *slot = Slot { used: Use::Active, number, file, capacity, base, state: own };
        // SAFETY: the page of the place, or that of the calling thread.
        let state = unsafe { &*slot.state };
        self.process.begin_state(state, slot);
        state.sequence.set(0);
        if is_new {
            state.busy.set(0);
        }
        Some(state)
    }
}

/// Writes a record about the thread, if there is room.
fn put(state: &ThreadState, kind: u8, payload: &dyn super::super::argument::ErasedArguments) {
    let size = RECORD_HEAD + payload.size_bytes(usize::MAX);
    if state.has_room(size) {
        let word = abi::word0(size, kind, 0);
        // SAFETY: the state is this thread's, and there is room.
        unsafe { state.place(word, [0, 0], payload, size, usize::MAX) };
    }
}

/// Writes the record that the reserve is for.
fn put_last(state: &ThreadState, kind: u8, number: u64) {
    state.report_all_dropped();
    let size = RECORD_HEAD + 8;
    if state.write.get() + size as u64 <= state.room.get() + ring::RESERVE {
        // SAFETY: the state is this thread's, and the reserve has room for one such record.
        unsafe { state.place(abi::word0(size, kind, 0), [0, 0], &(number,), size, usize::MAX) };
    }
}
