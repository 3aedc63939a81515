//! The tests of `rrdcached` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod beside_rrdcached;
mod common;
mod durability;
mod full_disk;
mod hostile;
mod power_loss;
mod sessions;
mod tls;
mod writers;
