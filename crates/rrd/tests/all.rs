//! The tests of `rrd` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod convert;
mod interrupted;
mod oracle;
mod pipe;
mod repair;
mod rrdtool;
mod structure;
mod values;
