//! The tests of `promql` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod beside_prometheus;
mod common;
mod hostile;
mod meaning;
mod pieces;
mod random_queries;
