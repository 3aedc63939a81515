//! The tests of `source` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

mod allocation;
mod exits;
mod layouts_line_up;
mod mutation;
mod own_cost;
mod processes;
mod registry;
mod syscall;
mod trees;

/// Tests count the allocations of their own thread.
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
