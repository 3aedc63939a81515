//! What tests and benchmarks share: fake kernel trees, a simulated clock, a counting allocator,
//! a small bench harness, the floor of starting programs, and the one way to skip a test.
//!
//! Prints nothing but skips: what is measured is handed back.

pub mod alloc;
pub mod clock;
pub mod fake;
mod skip;
pub mod trees;

pub use alloc::{Allocations, CountingAllocator, allocations_of};
pub use clock::{Event, SimClock};
pub use fake::{FakeHost, as_nobody};
pub use skip::{LEDGER, skip};
