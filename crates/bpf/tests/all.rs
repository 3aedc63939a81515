//! The tests of `bpf` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cpu_counters;
mod kernel;
mod objects;
mod process_net;
mod syscall_counts;
