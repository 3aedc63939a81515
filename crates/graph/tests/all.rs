//! The tests of `graph` that can share a process, in one program: it is linked once.

mod commands;
mod description;
mod differential;
mod options;
