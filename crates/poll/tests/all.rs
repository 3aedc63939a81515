//! The tests of `poll` that can share a process, in one program: it is linked once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accepts;
mod arithmetic;
mod asking;
mod beside_mrtg;
mod bulk;
mod common;
mod hostile;
mod hostile_texts;
mod index;
mod log_file;
mod make;
mod meaning;
mod open_databases;
mod other_encodings;
mod pages;
mod pictures;
mod read_times;
mod renumbered;
mod restarts;
mod router_objects;
mod silence;
mod support;
mod thresholds;
