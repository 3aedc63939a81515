//! The tests of `graph` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod description;
mod differential;
mod options;
