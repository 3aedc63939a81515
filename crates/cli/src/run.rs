//! `whit run`: from a command line to an engine of crate `run`, and what only this program can join:
//! `--record` and `--trace`.
//!
//! Begin reading with `plan.rs`.

pub(crate) mod arguments;
pub(crate) mod config;
pub(crate) mod exit;
mod hosts;
mod observers;
mod pipe;
pub(crate) mod plan;
mod record;
pub(crate) mod semaphore;
mod shell;
mod tee;
mod trace;
