//! Starting programs at the price the kernel asks, and hearing how they ended.
//!
//! A program is started by `clone(CLONE_VM | CLONE_VFORK)`: nothing of this process is copied,
//! however much memory it holds, and only the calling thread waits until the program runs.  The
//! child makes a handful of calls (its own process group, descriptors, the signal mask)
//! and becomes the program: 38 system calls for a `/bin/true` where `std::process::Command` makes
//! 158 (its C library resets each signal by itself).  What the child needs (path, arguments,
//! environment) is made before; nothing is allocated between the clone and the program.
//!
//! Ends are heard by one `signalfd` for SIGCHLD and `wait4`, which gives the account of what a job
//! used without a further call; a descriptor for each process would cost three calls a job more.

use std::ffi::CString;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

mod arguments;
mod child;
mod ends;

pub use arguments::{Arguments, Environment};
pub use child::Kernel;
pub use ends::{Ends, Reaped};

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
        /// The number of the process that was to be it, which has ended.
        pid: i32,
    },
    /// No process can be made at all.
    #[error("cannot start a process: {0}")]
    Refused(io::Error),
}

impl SpawnError {
    /// What a shell would have ended with: 127 for a program that does not exist, 126 for one that
    /// cannot be run.
    pub fn exit_code(&self) -> u8 {
        match self {
            SpawnError::Program { error, .. } if error.raw_os_error() == Some(libc::ENOENT) => 127,
            _ => 126,
        }
    }
}

/// A program to be started.  Its buffers are used again for the next one.
#[derive(Debug)]
pub struct Launch {
    /// The file, found already (nothing looks through PATH here).
    pub program: Arc<CString>,
    /// Its words, the zeroth included.
    pub arguments: Arguments,
    /// Its environment.
    pub environment: Environment,
    /// What it gets as descriptors 0, 1 and 2; `None` leaves ours.  They must stay open until it
    /// runs, and be 3 or above.
    pub streams: [Option<RawFd>; 3],
    /// Where it runs; `None`: where we are.
    pub directory: Option<CString>,
    /// What is added to its nice value.
    pub nice: i32,
    /// Whether it stays in our process group, as one that asks the terminal must.
    pub shares_group: bool,
}
