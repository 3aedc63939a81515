//! A thread's state, and the way of a record into its ring: the hot path.
//!
//! The state is in a page that a child of `fork` finds zeroed: then no record fits, and the slow
//! path registers the child.  So fork costs a call nothing.  While a call is under way the state is
//! busy: a signal handler that logs then writes into ring 0, the signal ring.

use std::cell::Cell;
use std::sync::atomic::{Ordering, compiler_fence};

use super::argument::{ErasedArguments, WithAttributes};
use super::process::{FirstRing, Process, clear_sleeper, has_sleeper};
use super::settings::RingSettings;
use super::state::{Dropped, ThreadState, WAKE_LEVEL, with_errno_kept};
use super::throttle::{Admission, SuppressedLevel};
use crate::abi::{
    self, FLAG_ASIDE, FLAG_ATTRIBUTES, FLAG_CUT, LEVEL_MASK, RECORD_BYTES_MAX, RECORD_HEAD, kind,
    ring,
};
use crate::error::Error;
use crate::record::LogValue;

/// Bytes of the attribute that says how much of texts was cut: a head with its name, and a number.
const CUT_BYTES: usize = abi::padded(4 + abi::CUT_NAME.len()) + 8;

/// Lets a static be shared that nobody writes to.
struct Shared(ThreadState);

// SAFETY: `busy` is 1 for ever, so nothing else is used of it, and nothing is stored.
unsafe impl Sync for Shared {}

/// The state of a thread without a ring: busy, so that the hot path leaves it alone.
static EMPTY: Shared = Shared(ThreadState {
    busy: Cell::new(1),
    scope: Cell::new(0),
    write: Cell::new(0),
    limit: Cell::new(0),
    data: Cell::new(std::ptr::null_mut()),
    mask: Cell::new(0),
    published: Cell::new(std::ptr::null()),
    sequence: Cell::new(0),
    has_tsc: Cell::new(0),
    room: Cell::new(0),
    mapped: Cell::new(0),
    is_slow: Cell::new(false),
    packet_end: Cell::new(0),
    packet_first: Cell::new(0),
    is_shared: Cell::new(false),
    read: Cell::new(0),
    oldest: Cell::new(0),
    stalled: Cell::new(0),
    slot: Cell::new(std::ptr::null_mut()),
    dropped: [const { Cell::new(Dropped::NONE) }; 16],
    has_dropped: Cell::new(false),
    combined: Cell::new((0, 0, 0)),
});

/// What became of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not logged yet.
    New,
    /// It is being given a ring.
    Attaching,
    /// It has a ring.
    Attached,
    /// It has given its ring back.
    Ended,
}

thread_local! {
    static STATE: Cell<*const ThreadState> = const { Cell::new(&raw const EMPTY.0) };
    static PHASE: Cell<Phase> = const { Cell::new(Phase::New) };
}

/// The state of this thread.
#[inline(always)]
fn current() -> &'static ThreadState {
    // SAFETY: it points to the static, or to a page that is never unmapped.
    unsafe { &*STATE.with(Cell::get) }
}

/// Starts writing: makes the process's files.  Gives why they are private to this process, if they
/// are: then only a consumer in the process can read them.
///
/// # Errors
/// If the process writes already, or the system refuses even private memory.
pub fn start(settings: RingSettings) -> Result<Option<std::io::Error>, Error> {
    super::process::start(settings, thread_ends)
}

/// Writes a log record: level and flags, call site, context and arguments.  The caller has compared
/// the level.
#[inline(always)]
pub fn write<P: ErasedArguments>(level_and_flags: u8, site: u32, context: u32, payload: &P) {
    let state = current();
    let size = RECORD_HEAD + payload.size_bytes(usize::MAX);
    let word = abi::word0(size, kind::LOG, level_and_flags);
    if state.busy.get() == 0 && size <= RECORD_BYTES_MAX {
        state.busy.set(1);
        compiler_fence(Ordering::SeqCst);
        if state.fits(size) && state.scope.get() == 0 {
            // SAFETY: the state is this thread's, and there is room.
            unsafe { state.place(word, [site, context], payload, size, usize::MAX) };
            compiler_fence(Ordering::SeqCst);
            state.busy.set(0);
            if has_sleeper() || level_and_flags & LEVEL_MASK >= WAKE_LEVEL {
                wake(level_and_flags);
            }
            return;
        }
        state.busy.set(0);
    }
    slow(kind::LOG, level_and_flags, [site, context], payload);
}

/// Writes into ring 0, which signal handlers use, whatever the state of the thread.
pub fn write_to_signal_ring<P: ErasedArguments>(
    level_and_flags: u8,
    site: u32,
    context: u32,
    payload: &P,
) {
    with_errno_kept(|| {
        if let Some(process) = Process::get()
            && process.admit(level_and_flags & LEVEL_MASK) != Admission::No
        {
            write_signal_ring(process, kind::LOG, level_and_flags, [site, context], payload);
            wake(level_and_flags);
        }
    });
}

/// Writes that records of a call site were suppressed: how many, and the stamps of the first and the
/// last.
pub fn write_suppressed(level: u8, site: u32, context: u32, count: u64, stamps: [u64; 2]) {
    slow(kind::SUPPRESSED, level, [site, context], &(count, stamps[0], stamps[1]));
}

/// After a record: wakes the consumers, if one sleeps or the level is one that wakes.
#[cold]
#[inline(never)]
fn wake(level_and_flags: u8) {
    if let Some(process) = Process::get()
        && (has_sleeper() || level_and_flags & LEVEL_MASK >= process.settings().wake_level)
    {
        wake_now(process);
    }
}

fn wake_now(process: &Process) {
    clear_sleeper();
    process.wake_consumers();
}

#[cold]
#[inline(never)]
fn slow(kind: u8, head: u8, ids: [u32; 2], payload: &dyn ErasedArguments) {
    with_errno_kept(|| {
        let Some(process) = Process::get() else { return };
        let admission = match kind {
            kind::LOG => process.admit(head & LEVEL_MASK),
            _ => Admission::Yes,
        };
        if admission == Admission::No {
            return;
        }
        let state = current();
        let phase = PHASE.with(Cell::get);
        if phase == Phase::New {
            attach(process, FirstRing::Small);
        }
        let state = if phase == Phase::New { current() } else { state };
        let packet_records = process.settings().packet_records;
        let mut is_full = packet_records > 0;
        if state.busy.get() != 0 {
            write_signal_ring(process, kind, head, ids, payload);
        } else {
            state.busy.set(1);
            compiler_fence(Ordering::SeqCst);
            if admission == Admission::AfterReport {
                report_suppressed(process, state);
            }
            write_slowly(process, state, kind, head, ids, payload);
            is_full = state.fill_packet(packet_records);
            compiler_fence(Ordering::SeqCst);
            state.busy.set(0);
        }
        match kind {
            _ if is_full => wake_now(process),
            kind::LOG => wake(head),
            _ => wake(0),
        }
    });
}

/// Says what the limit of records in a second has suppressed.
fn report_suppressed(process: &'static Process, state: &'static ThreadState) {
    process.take_suppressed(|SuppressedLevel { level, count, times_ns }| {
        let [first, last] = times_ns.map(super::process::stamp_of_boottime);
        let payload = (count, first, last);
        write_slowly(process, state, kind::SUPPRESSED, level, [0, 0], &payload);
    });
}

/// Says that the process ends in order, and what was suppressed until now.  Logging goes on working.
pub fn end() {
    let Some(process) = Process::get() else { return };
    with_errno_kept(|| {
        process.take_suppressed(|SuppressedLevel { level, count, times_ns }| {
            let stamps = times_ns.map(super::process::stamp_of_boottime);
            write_suppressed(level, 0, 0, count, stamps);
        });
    });
    super::process::end();
}

/// Writes into the thread's own ring, making room if there is none.
fn write_slowly(
    process: &'static Process,
    state: &'static ThreadState,
    kind: u8,
    head: u8,
    [site, context]: [u32; 2],
    payload: &dyn ErasedArguments,
) {
    // A child of fork: its state is zero.
    if state.data.get().is_null() && !process.attach_state(state) {
        write_signal_ring(process, kind, head, [site, context], payload);
        return;
    }
    let of_logger = context;
    let context = match state.scope.get() {
        0 => context,
        scope => combined(process, state, context, scope),
    };
    let whole = RECORD_HEAD + payload.size_bytes(usize::MAX);
    process.grow_for(state, whole.min(RECORD_BYTES_MAX), head & LEVEL_MASK);
    put_fitted(payload, state.mask.get() + 1, |size, flags, payload, text_max| {
        if process.make_room(state, size, head & LEVEL_MASK, of_logger) {
            state.map_ahead(size);
            let word = abi::word0(size, kind, head | flags);
            // SAFETY: the state is this thread's, and there is room.
            unsafe { state.place(word, [site, context], payload, size, text_max) };
        }
    });
}

/// Calls `put` with the size of a record in a ring, the flags that say what was done to it, its arguments,
/// and what their texts are cut to; if they are, an attribute says how many bytes were left out.
fn put_fitted(
    payload: &dyn ErasedArguments,
    capacity: u64,
    put: impl FnOnce(usize, u8, &dyn ErasedArguments, usize),
) {
    let most = usize::try_from(capacity / 2 - ring::RESERVE).unwrap_or(0).min(RECORD_BYTES_MAX);
    let whole = RECORD_HEAD + payload.size_bytes(usize::MAX);
    if whole <= most {
        return put(whole, 0, payload, usize::MAX);
    }
    let size = |text_max| RECORD_HEAD + payload.size_bytes(text_max) + CUT_BYTES;
    // Numbers alone always fit: 32 of them need 256 bytes.
    let (mut text_max, mut too_much) = (0, most);
    while text_max + 1 < too_much {
        let middle = usize::midpoint(text_max, too_much);
        if size(middle) <= most {
            text_max = middle;
        } else {
            too_much = middle;
        }
    }
    let left_out = payload.text_bytes(usize::MAX) - payload.text_bytes(text_max);
    let attributes = [(abi::CUT_NAME, LogValue::Unsigned(left_out as u64))];
    let with_count = WithAttributes(payload, &attributes);
    put(size(text_max), FLAG_CUT | FLAG_ATTRIBUTES, &with_count, text_max);
}

/// Writes into ring 0; counts the record as dropped if that is not possible.
fn write_signal_ring(
    process: &'static Process,
    kind: u8,
    head: u8,
    [site, context]: [u32; 2],
    payload: &dyn ErasedArguments,
) {
    let written = process.with_signal_ring(|state| {
        put_fitted(payload, state.mask.get() + 1, |size, flags, payload, text_max| {
            if process.make_room(state, size, head & LEVEL_MASK, context) {
                let word = abi::word0(size, kind, head | flags | FLAG_ASIDE);
                // SAFETY: ring 0 is locked, and there is room.
                unsafe { state.place(word, [site, context], payload, size, text_max) };
            }
        });
    });
    if written.is_none() {
        process.count_dropped(head & LEVEL_MASK);
    }
}

/// The context of a logger together with that of the thread.
fn combined(process: &Process, state: &ThreadState, context: u32, scope: u32) -> u32 {
    let (logger, thread, known) = state.combined.get();
    if (logger, thread) == (context, scope) {
        return known;
    }
    let number = process.combine(context, scope);
    state.combined.set((context, scope, number));
    number
}

/// Gives this thread a ring of the whole size that the settings name, if it has none: to be called by a
/// thread that logs in signal handlers, or whose first records must not wait until a ring has grown, which
/// takes some µs for each page.
pub fn attach_thread() {
    attach_if_new(FirstRing::Whole);
}

fn attach_if_new(first: FirstRing) {
    if let Some(process) = Process::get()
        && PHASE.with(Cell::get) == Phase::New
    {
        with_errno_kept(|| attach(process, first));
    }
}

/// Where the next record of a thread goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadPosition {
    /// Number of the ring.
    pub ring: u32,
    /// Position in it.
    pub position: u64,
    /// Bytes of the ring.
    pub capacity_bytes: u64,
}

/// Where the next record of this thread goes, which gets a ring if it has none; `None`: there is no room for
/// one.
#[must_use]
pub fn thread_position() -> Option<ThreadPosition> {
    attach_if_new(FirstRing::Small);
    let state = current();
    let (position, capacity_bytes) = (state.write.get(), state.mask.get() + 1);
    state.ring_number().map(|ring| ThreadPosition { ring, position, capacity_bytes })
}

fn attach(process: &'static Process, first: FirstRing) {
    PHASE.with(|phase| phase.set(Phase::Attaching));
    let state = process.take_state(first);
    if let Some(state) = state {
        STATE.with(|current| current.set(state));
    }
    PHASE.with(|phase| phase.set(if state.is_some() { Phase::Attached } else { Phase::New }));
}

/// The end of a thread: called by the C library after destructors of thread-local values.
extern "C" fn thread_ends(_: *mut libc::c_void) {
    let state = current();
    PHASE.with(|phase| phase.set(Phase::Ended));
    STATE.with(|current| current.set(&raw const EMPTY.0));
    if let Some(process) = Process::get()
        && !std::ptr::eq(state, &raw const EMPTY.0)
        && !state.data.get().is_null()
    {
        report_suppressed(process, state);
        process.give_back(state);
    }
}

/// The context of this thread; 0: none.
#[must_use]
pub fn scope() -> u32 {
    current().scope.get()
}

/// Sets the context of this thread for all its records, beside those of their loggers; gives the one
/// before.  0: none.
pub fn set_scope(context: u32) -> u32 {
    attach_if_new(FirstRing::Small);
    let state = current();
    if std::ptr::eq(state, &raw const EMPTY.0) {
        return 0;
    }
    state.scope.replace(context)
}
