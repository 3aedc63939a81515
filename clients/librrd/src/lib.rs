//! RRDtool's C library: the functions of librrd 1.7.2 under their names, over the crate `rrdtool`.
//!
//! The functions that take `argc` and `argv` are the commands of the verb `whit rrd`; those that end
//! in `_r` call the crate `rrd`.  Whatever a program gets is allocated by `malloc`, as programs free
//! it.  A function that fails returns what RRDtool's returns and sets the error of its thread; a
//! panic becomes such an error.
//!
//! Begin with `call.rs` (how a call gets in and out), then `commands.rs` and `files.rs`.
//! `docs/librrd.md` says what is met and what is not.

#![allow(
    unsafe_code,
    unreachable_pub,
    clippy::missing_safety_doc,
    reason = "the functions are for C; docs/librrd.md and RRDtool's manual say what they demand"
)]

mod call;
mod client;
mod commands;
mod error;
mod fetch;
mod files;
mod graph;
mod info;
mod memory;
mod raw;
mod reduce;
mod times;
mod utility;
