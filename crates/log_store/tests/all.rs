//! The tests of `log_store` over its interface, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archive;
mod versions;
mod words;
