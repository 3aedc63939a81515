//! Recordings as a whole: what goes in comes out, whatever happens in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

pub(crate) mod support;

mod crash;
mod damage;
mod files;
mod many_rows;
mod roundtrip;
mod side;
mod stream;
mod versions;
