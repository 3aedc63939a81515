//! The tests of `trace` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod hostile;
mod launch;
mod process_groups;
mod strace;
mod strace_options;
