//! The tests of `http_server` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod access;
mod common;
mod limits;
mod sockets;
