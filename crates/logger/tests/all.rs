//! The tests of `logger` that can share a process, in one program: it is linked once.
//! `Cargo.toml` lists those that are programs of their own, and why.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod c_client;
mod default_folder;
mod features;
mod formats_beside;
mod outputs;
mod reading;
