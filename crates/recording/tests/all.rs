//! The tests of `recording` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod allocation;
mod atop;
mod processes;
mod recording;

/// Tests count the allocations of their own thread.
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;
