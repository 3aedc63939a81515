//! The tests of `recording` that can share a process, in one program: it is linked once.

mod allocation;
mod many_recordings;
mod processes;
mod recording;

/// Tests count the allocations of their own thread.
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
