//! The tests of `serve` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod beside_prometheus;
mod common;
mod dashboard;
mod grafana;
mod held_selectors;
mod hostile;
mod hosts;
mod large_answers;
mod logs;
mod metrics;
mod page;
mod page_folders;
mod pictures;
mod recorded;
mod recordings;
