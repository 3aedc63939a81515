//! `whit run`: many jobs at once, by GNU parallel's command line.
//!
//! From a command line to an engine of crate `run`, and what only this program can join: `--record`
//! and `--trace`.  Begin reading with `run.rs`.
//!
//! Exit codes are those of parallel: 0 all jobs succeeded; 1 to 100 the number of failed jobs, 101
//! more than 100; 255 another error.

mod arguments;
pub(crate) mod config;
mod exit;
mod observers;
mod record;
#[allow(clippy::module_inception, reason = "each verb has this file")]
mod run;
mod semaphore;
mod settings;
mod shell;
mod trace;

pub(crate) use self::run::run;
pub(crate) use arguments::RunArguments;
pub(crate) use exit::FAILURE;
