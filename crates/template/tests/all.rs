//! The tests of `template` that can share a process, in one program: it is linked once.

mod allocations;
mod template;
mod words;

/// Tests count the allocations of their own thread.
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
