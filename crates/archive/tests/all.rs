//! The tests of `archive`, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod columns;
mod decoded;
mod devices;
mod folders;
mod histories;
mod machine;
mod questions;
mod ranges;
mod rankings;
mod steps;
mod stored;
mod summaries;
