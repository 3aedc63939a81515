//! Other hosts: login strings, files sent there and brought back, commands for their shell.
//!
//! Pure functions from options to the text of commands; the engine runs them.  A host needs a
//! POSIX shell, and `tar` if files are sent or brought back; nothing of ours is installed there,
//! and the commands carry no program along.
//!
//! - [`login`] reads `-S` and `--sshloginfile`;
//! - [`command`] makes what a job is over there, and the line that does everything around it;
//! - [`files`] sends files and brings them back, by `tar` through the same login: one way that
//!   every host knows, where rsync would have to be there at both ends;
//! - [`hosts`] says which host gets the next job.

pub mod command;
pub mod files;
pub mod hosts;
pub mod login;

pub use command::{Connection, Job, Stdin, Workdir};
pub use hosts::Hosts;
pub use login::{Entry, Login, LoginError, Place, Ssh};
