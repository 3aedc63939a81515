//! Running many jobs at once, as GNU parallel and xargs do.
//!
//! The parts, in the order in which a job goes through them:
//!
//! 1. [`input`] makes [`Record`](template::Record)s (one combination of the input sources' values
//!    each) and packs them into [`Work`] (the input of one job);
//! 2. crate [`template`] renders the command line, with quoted values, and decides whether a shell
//!    is needed;
//! 3. [`schedule`] decides when the next job may start, and what happens to those that fail or run
//!    too long;
//! 4. crate [`spawn`] starts it and waits for its exit;
//! 5. [`collect`] keeps its output apart from that of other jobs, and writes it;
//! 6. [`joblog`] writes its joblog line, and reads the joblog to resume a run.
//!
//! [`engine`] combines them.  Everything but [`engine`] can be tested without starting a process:
//! the operating system is behind a trait, and the time is an argument.
//!
//! Nothing here prints, exits or reads the environment: the caller passes in what a user has set.
//!
//! Uses `procfs`, `spawn` and `template`.
//! Begin with `engine.rs`, then follow a job through the parts above.

// Exceptions are declared in the files: signals and borrowed descriptors in the engine.
#![deny(unsafe_code)]

pub mod collect;
pub mod cpus;
pub mod engine;
pub mod hosts;
pub mod information;
pub mod input;
pub mod job;
pub mod joblog;
mod loss;
pub mod observers;
pub mod packing;
pub mod parallel_options;
pub mod pipe;
pub mod progress;
pub mod remote;
pub mod schedule;
pub mod semaphore;
pub mod settings;
pub mod setup;
pub mod shell;
pub mod shell_functions;
pub mod units;
pub mod user;

pub use job::{JobResult, Outcome, Work};
