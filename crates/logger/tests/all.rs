//! The tests of `logger` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

mod c_client;
mod formats_beside;
mod outputs;
mod reading;
