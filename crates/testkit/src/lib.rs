//! What tests share: fake kernel trees, a simulated clock, a counting allocator, numbers from a
//! seed, RRDtool's caching daemon, and the one way to skip a test.
//!
//! Prints only skips.
//!
//! Uses `sample`.  Only a dev-dependency: no shipped program contains it.
//! Begin with `fake.rs`, the tree that tests write kernel files into, and `skip.rs`.

pub mod alloc;
pub mod clock;
pub mod fake;
mod random;
mod rrdcached;
mod skip;
pub mod trees;

pub use alloc::{Allocations, CountingAllocator, allocations_of, live_bytes};
pub use clock::{Event, SimClock};
pub use fake::{FakeHost, as_nobody};
pub use random::Random;
pub use rrdcached::Rrdcached;
pub use skip::{LEDGER, is_installed, skip, skip_refused};
