//! Other hosts: logins, files sent and fetched, commands for the host's shell.
//!
//! Pure functions from options to the text of commands; the engine runs them.  A host needs a POSIX
//! shell, and `tar` if files are transferred; nothing of ours is installed there.
//!
//! - [`login`] reads `-S` and `--sshloginfile`;
//! - [`command`] makes the command that runs on the host, and the command line here that runs it;
//! - [`files`] sends and fetches files, by `tar` through the same login: every host has it, whereas
//!   rsync would have to be installed on both sides;
//! - [`hosts`] decides which host gets the next job.

pub mod command;
pub mod files;
pub mod hosts;
pub mod login;
mod shell_line;

pub use command::{Connection, Job, RemoteStdin, Workdir};
pub use hosts::Hosts;
pub use login::{HostAddress, Login, LoginEntry, LoginError, Ssh};
