//! Running many jobs at once, as GNU parallel and xargs do.
//!
//! The parts, in the order in which a job goes through them:
//!
//! 1. [`input`] gives [`Record`](template::Record)s (one combination of the input sources' values each) and packs
//!    them into [`Work`] (what one job is given);
//! 2. crate [`template`] makes the command line, with its values quoted, and decides whether a shell is needed;
//! 3. [`schedule`] decides when the next job may start, and what happens to those that fail or run
//!    too long;
//! 4. crate [`spawn`] starts it and waits for its exit;
//! 5. [`collect`] keeps its output apart from that of other jobs and writes it;
//! 6. [`joblog`] writes its line of the joblog, and reads the joblog to resume a run.
//!
//! [`engine`] joins them.  Everything but [`engine`] can be tested without starting a process: the
//! operating system is behind a trait, and the time is an argument.
//!
//! Nothing here prints, ends the process or reads the environment: the caller passes in what a user
//! has set.
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

pub use job::{JobResult, Outcome, Work};
