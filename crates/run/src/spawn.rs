//! Starting programs at the price the kernel asks, and hearing how they ended.
//!
//! A program is started by `clone(CLONE_VM)`: nothing of this process is copied, however much
//! memory it holds, and nobody waits: the child makes a handful of calls (its own process group,
//! descriptors, the signal mask) on a stack of its own and becomes the program while the next one
//! is being started on another CPU.  Waiting for that (`CLONE_VFORK`, as `posix_spawn` does) costs
//! two switches a job and lets one program come to life at a time: of `/bin/true` on two CPUs
//! 1,500 a second instead of 2,800, at twice the CPU time of this process.
//!
//! What the child needs (path, arguments, environment) is made before; nothing is allocated between
//! the clone and the program.  It is in one [`Launch`], which belongs to the child until its end
//! is known, and is used again then.
//!
//! Ends are heard by one `signalfd` for SIGCHLD and `wait4`, which gives the account of what a job
//! used without a further call; a descriptor for each process would cost three calls a job more.

use std::io;

mod arguments;
mod child;
mod details;
mod ends;
mod execve;
mod fill;
mod launch;

pub use arguments::{Arguments, Environment};
pub use child::Kernel;
pub use details::Details;
pub use ends::{Ends, Reaped};
pub use fill::Fill;
pub use launch::{Child, Launch, Remains};

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No process can be made at the moment (EAGAIN, ENOMEM): try later.
    #[error("cannot start another process now: {0}")]
    Busy(io::Error),
    /// The program cannot be run.
    #[error("cannot run {program}: {error}")]
    Program {
        /// Its path.
        program: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The folder that it is to run in cannot be entered.
    #[error("cannot enter {folder}: {error}")]
    Folder {
        /// Its path.
        folder: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The file that it is to read cannot be filled.
    #[error("cannot write a temporary file for a job: {0}; --tmpdir names another folder")]
    Fill(io::Error),
    /// No process can be made at all.
    #[error("cannot start a process: {0}")]
    Refused(io::Error),
}

impl SpawnError {
    /// What a shell would have ended with: 127 for a program that does not exist, 126 for one that
    /// cannot be run.
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
