//! The tests of `rrdcached` that can share a process, in one program: it is linked once.

mod beside_rrdcached;
mod common;
mod durability;
mod hostile;
mod power_loss;
mod sessions;
mod tls;
mod writers;
