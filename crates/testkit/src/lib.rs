//! What tests share: fake kernel trees, a simulated clock, a counting allocator, and the one way to
//! skip a test.
//!
//! Prints nothing but skips.
//!
//! Uses `sample`.  A dev-dependency alone: no program that is shipped has it.
//! Begin with `fake.rs`, the tree that tests write kernel files into, and `skip.rs`.

pub mod alloc;
pub mod clock;
pub mod fake;
mod skip;
pub mod trees;

pub use alloc::{Allocations, CountingAllocator, allocations_of, live_bytes};
pub use clock::{Event, SimClock};
pub use fake::{FakeHost, as_nobody};
pub use skip::{LEDGER, skip};
