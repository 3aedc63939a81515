//! The tests of `trace` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

mod hostile;
mod launch;
mod process_groups;
mod strace;
