//! `whit run`: from a command line to an engine of crate `run`, and what only this program can join:
//! `--record` and `--trace`.
//!
//! Begin reading with `settings.rs`.

pub(crate) mod arguments;
pub(crate) mod config;
pub(crate) mod exit;
pub(crate) mod line_count;
pub(crate) mod observers;
mod record;
pub(crate) mod semaphore;
pub(crate) mod settings;
mod shell;
mod trace;
