//! Running many jobs at once, as GNU parallel and xargs do.
//!
//! The parts, in the order in which a job goes through them:
//!
//! 1. [`input`] gives [`Record`](template::Record)s (one combination of the input sources' values each) and packs
//!    them into [`Work`] (what one job is given);
//! 2. crate [`template`] makes the command line of it, with its values quoted, and tells whether a shell is needed to run it;
//! 3. [`schedule`] says when the next job may start, and what becomes of those that fail or take
//!    too long;
//! 4. crate [`spawn`] starts it at the kernel's own price and waits for its exit;
//! 5. [`collect`] keeps its output apart from everybody else's and writes it;
//! 6. [`joblog`] writes it down, and reads what was written to go on later.
//!
//! [`engine`] joins them.  Everything but [`engine`] can be tested without starting
//! a process: the spawner is behind a trait that has a fake, and time comes in as an argument.
//!
//! Nothing here prints, ends the process or reads the environment: what a user has set is handed
//! in.
//!
//! Uses `procfs`, `spawn` and `template`.
//! Begin with `engine.rs`, then follow a job through the parts above.

// What needs it says so at its head: signals and descriptors of others, in the engine.
#![deny(unsafe_code)]

pub mod collect;
pub mod engine;
pub mod hosts;
pub mod input;
pub mod job;
pub mod joblog;
pub mod observers;
pub mod packing;
pub mod pipe;
pub mod progress;
pub mod remote;
pub mod schedule;
pub mod semaphore;
pub mod settings;
pub mod setup;
pub mod shell;
pub mod units;

pub use job::{Finished, Outcome, Work};
