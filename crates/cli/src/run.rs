//! `whit run`: from a command line to an engine of crate `run`, and what is shown while it runs.

pub(crate) mod arguments;
pub(crate) mod config;
pub(crate) mod hosts;
pub(crate) mod machine;
pub(crate) mod notice;
pub(crate) mod observers;
pub(crate) mod panel;
pub(crate) mod pipe;
pub(crate) mod plan;
pub(crate) mod progress;
pub(crate) mod record;
pub(crate) mod semaphore;
pub(crate) mod shell;
pub(crate) mod signals;
pub(crate) mod spread;
pub(crate) mod stats;
pub(crate) mod tee;
pub(crate) mod trace;
