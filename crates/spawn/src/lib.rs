//! Starts programs at the lowest cost that the kernel allows, and waits for their exits.
//!
//! A program is started by `clone(CLONE_VM)`: nothing of this process is copied, however much
//! memory it has, and this process does not wait.  The child makes a handful of system calls
//! (process group, descriptors, signal mask) on a stack of its own and calls execve(2), while the
//! next child is started on another CPU.  Waiting for that (`CLONE_VFORK`, as in `posix_spawn`)
//! costs two context switches a program and lets only one child at a time reach its execve: with
//! `/bin/true` on two CPUs 1,500 a second instead of 2,800, at twice the CPU time of this process.
//!
//! What the child needs (path, arguments, environment) is made before; nothing is allocated between
//! clone and execve.  It is in one [`Launch`], which belongs to the child until its exit is known,
//! and is then used again.
//!
//! Exits arrive as SIGCHLD on one `signalfd` ([`SignalFd`]); [`reap`] calls `wait4`, which also
//! returns the resource usage.  A pidfd for each process would cost three more system calls a
//! program.
//!
//! Uses nothing of ours.  Begin reading with `launch.rs` (what is passed to the child), then
//! `spawner.rs` (clone, and what the child does) and `signals.rs` (exits).

use std::io;

mod arguments;
mod details;
mod execve;
mod fresh;
mod input_copy;
mod launch;
mod room;
mod search;
mod signals;
mod spawner;
mod usage;

pub use arguments::{Arguments, Environment, push_word};
pub use details::ExitDetails;
pub use fresh::{unblock, unblock_in};
pub use input_copy::InputCopy;
pub use launch::{Child, Launch, Reclaimed};
pub use room::{ARGUMENT_BYTES_MAX, Room};
pub use search::find_program;
pub use signals::{Reaped, SignalFd, reap};
pub use spawner::Spawner;
pub use usage::{ResourceUsage, ShellTime};

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No process can be created at the moment (EAGAIN, ENOMEM): try later.
    #[error("cannot start another process now: {0}")]
    Busy(io::Error),
    /// The program cannot be run.
    #[error("cannot run {program}: {error}")]
    Program {
        /// The path of the program.
        program: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The program's working directory cannot be entered.
    #[error("cannot enter {folder}: {error}")]
    Folder {
        /// The path of the folder.
        folder: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The file for its standard input cannot be written.
    #[error("cannot write a temporary file for a job: {0}; --tmpdir names another folder")]
    InputCopy(io::Error),
    /// No process can be created at all.
    #[error("cannot start a process: {0}")]
    Refused(io::Error),
}

impl SpawnError {
    /// The exit status that a shell would use: 127 for a program that does not exist, 126 for one
    /// that cannot be run.
    pub fn exit_code(&self) -> u8 {
        match self {
            SpawnError::Program { error, .. } | SpawnError::Folder { error, .. }
                if error.raw_os_error() == Some(libc::ENOENT) =>
            {
                127
            }
            _ => 126,
        }
    }
}
