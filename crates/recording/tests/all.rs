//! The tests of `recording` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

mod allocation;
mod processes;
mod recording;

/// Tests count the allocations of their own thread.
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
