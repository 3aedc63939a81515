//! A global allocator that counts, for tests that hold "no allocation once warm".
//!
//! Each thread counts for itself, so tests that run side by side do not disturb one another.
//! [`live_bytes`] is what a thread has allocated and not freed yet, for tests of leaks.
//!
//!
//! ```
//! #[global_allocator]
//! static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
//!
//! let (sum, allocations) = testkit::allocations_of(|| (0..10).sum::<u32>());
//! assert_eq!((sum, allocations.count), (45, 0));
//! let (_, allocations) = testkit::allocations_of(|| vec![0u8; 100]);
//! assert!(allocations.count == 1 && allocations.bytes >= 100);
//! ```
//!
//! Without the `#[global_allocator]` nothing would be counted and every such test would pass;
//! [`allocations_of`] therefore checks that a known allocation is counted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

/// The allocations of one thread.  Growing a block counts as an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocations {
    /// Blocks allocated or grown.
    pub count: u64,
    /// Bytes allocated, including those freed since.
    pub bytes: u64,
}

thread_local! {
    // No destructor and a constant initial value: access neither allocates nor registers anything.
    static ALLOCATIONS: Cell<Allocations> = const { Cell::new(Allocations { count: 0, bytes: 0 }) };
    static LIVE_BYTES: Cell<i64> = const { Cell::new(0) };
}

fn note(bytes: usize) {
    // A thread that is exiting may have lost its counter; its last blocks are not counted.
    let _ = ALLOCATIONS.try_with(|cell| {
        let seen = cell.get();
        cell.set(Allocations { count: seen.count + 1, bytes: seen.bytes + bytes as u64 });
    });
}

/// Adds to the live bytes; a negative number for freed bytes.
fn note_live(bytes: i64) {
    let _ = LIVE_BYTES.try_with(|cell| cell.set(cell.get() + bytes));
}

/// The size of a block, which is never above `isize::MAX`.
fn signed(bytes: usize) -> i64 {
    bytes.cast_signed() as i64
}

// SAFETY: every call is handed to `System` unchanged; counting touches only this thread's cell,
// which never allocates.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        note_live(signed(layout.size()));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        note_live(signed(layout.size()));
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        note_live(signed(size) - signed(layout.size()));
        // SAFETY: `block` came from `System` by way of this allocator.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note_live(-signed(layout.size()));
        // SAFETY: `block` came from `System` by way of this allocator.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Bytes that this thread has allocated minus those that it has freed.  Other threads may free
/// some, so only the difference around work of one thread is meaningful.
///
/// # Panics
/// If the binary does not have [`CountingAllocator`] as its `#[global_allocator]`.
pub fn live_bytes() -> i64 {
    allocations_of(|| ());
    LIVE_BYTES.get()
}

/// Runs `work` and counts what this thread allocates meanwhile.
///
/// # Panics
/// When the binary does not have [`CountingAllocator`] as its `#[global_allocator]`.
pub fn allocations_of<T>(work: impl FnOnce() -> T) -> (T, Allocations) {
    let start = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(0u64)));
    assert!(ALLOCATIONS.get() != start, "CountingAllocator is not the #[global_allocator] here");
    let before = ALLOCATIONS.get();
    let result = work();
    let after = ALLOCATIONS.get();
    let (count, bytes) = (after.count - before.count, after.bytes - before.bytes);
    (result, Allocations { count, bytes })
}
