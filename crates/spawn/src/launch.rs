//! The memory that a child shares with us until it calls execve(2).

use std::ffi::{CString, c_void};
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::Rlimit;

use crate::{Arguments, Environment, InputCopy, SpawnError};

/// Stack of a child, which calls a dozen functions with a few variables each.  Only touched pages
/// take memory, one or two.
const STACK_BYTES: usize = 16 * 1024;

/// The stack alignment of the ABIs of x86-64 and AArch64.
const STACK_ALIGNMENT: usize = 16;

/// A program to start.  Its buffers are used again for the next one.
#[derive(Debug)]
pub struct Launch {
    /// The file, already found (PATH is not searched here).
    pub program: Arc<CString>,
    /// The arguments of the program, including the zeroth.
    pub arguments: Arguments,
    /// The environment of the program.
    pub environment: Environment,
    /// The descriptors 0, 1 and 2; `None` inherits ours.  They must be open when it starts, and be
    /// 3 or above.
    pub streams: [Option<RawFd>; 3],
    /// The working directory; `None` inherits ours.
    pub directory: Option<CString>,
    /// The nice value; 0 inherits ours.
    pub nice: i32,
    /// The limit of open files; `None` inherits ours.
    pub descriptors: Option<Rlimit>,
    /// Whether it stays in our process group, as it must to read from the terminal.
    pub shares_group: bool,
    /// A file that is filled before it starts.
    pub input_copy: Option<InputCopy>,
    /// The signal mask, set by the spawner.
    pub(crate) mask: libc::sigset_t,
    stack: Box<[MaybeUninit<u8>]>,
    /// When the start was requested, and when the child called execve(2): CLOCK_MONOTONIC, ns; 0 if
    /// it has not.
    requested_ns: u64,
    called_ns: AtomicU64,
    /// The error number of the child's failed call, 0 if none failed.
    failed: AtomicI32,
}

impl Launch {
    /// The error for a program that did not start with `error`: since a child reports only one
    /// number, the working directory is checked again.
    fn refusal(&self, error: io::Error) -> SpawnError {
        let shown = |path: &CString| String::from_utf8_lossy(path.as_bytes()).into_owned();
        let enters = |path: &&CString| {
            rustix::fs::access(path.as_c_str(), rustix::fs::Access::EXEC_OK).is_ok()
        };
        match self.directory.as_ref().filter(|path| !enters(path)) {
            Some(folder) => SpawnError::Folder { folder: shown(folder), error },
            None => SpawnError::Program { program: shown(&self.program), error },
        }
    }

    /// A program without arguments, with our working directory and descriptors.
    pub fn new(program: Arc<CString>, environment: Environment) -> Self {
        Launch {
            program,
            arguments: Arguments::default(),
            environment,
            streams: [None; 3],
            directory: None,
            nice: 0,
            descriptors: None,
            shares_group: false,
            input_copy: None,
            // SAFETY: zeros are a valid value of this plain structure: the empty set.
            mask: unsafe { MaybeUninit::zeroed().assume_init() },
            stack: Box::new_uninit_slice(STACK_BYTES),
            requested_ns: 0,
            called_ns: AtomicU64::new(0),
            failed: AtomicI32::new(0),
        }
    }

    /// Prepares the launch for a child whose start was requested `waited` ago.
    pub(crate) fn prepare(&mut self, mask: &libc::sigset_t, waited: Duration) {
        self.mask = *mask;
        let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.requested_ns = monotonic_ns().saturating_sub(waited_ns);
        *self.called_ns.get_mut() = 0;
        *self.failed.get_mut() = 0;
    }

    /// The top of the child's stack, which grows downwards.
    pub(crate) fn stack_top(&mut self) -> *mut c_void {
        let end = self.stack.as_mut_ptr_range().end;
        end.wrapping_sub(end.addr() % STACK_ALIGNMENT).cast()
    }

    /// Called by the child just before execve(2).
    pub(crate) fn calls(&self) {
        self.called_ns.store(monotonic_ns(), Relaxed);
    }

    /// Called by the child when a necessary call has failed.
    pub(crate) fn fails(&self, error: rustix::io::Errno) {
        self.failed.store(error.raw_os_error(), Relaxed);
    }
}

fn monotonic_ns() -> u64 {
    // Read through the vDSO, which needs neither a system call nor thread-local state.
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// A started process, and the memory that it uses until its execve(2).
///
/// Dropping it leaks that memory, because the process may still use it: call
/// [`reclaim`](Self::reclaim).
#[derive(Debug)]
pub struct Child {
    /// The process id, which is also the number of the process group.
    pub pid: i32,
    launch: ManuallyDrop<Box<Launch>>,
}

/// What is left of a process that has exited.
#[derive(Debug)]
pub struct Reclaimed {
    /// The launch, to be used again.
    pub launch: Box<Launch>,
    /// Time from the request to the execve(2); 0 if it was not called.
    pub took: Duration,
    /// Why the program did not start.
    pub error: Option<SpawnError>,
}

impl Child {
    /// A process of this number that was started with `launch`.
    pub fn new(pid: i32, launch: Box<Launch>) -> Self {
        Child { pid, launch: ManuallyDrop::new(launch) }
    }

    /// A child whose program cannot be run because of this error: for simulations, since a real
    /// child writes the error number itself.
    #[must_use]
    pub fn failing(self, code: i32) -> Self {
        self.launch.failed.store(code, Relaxed);
        self
    }

    /// Returns the launch, once the process has been waited for.
    pub fn reclaim(self) -> Reclaimed {
        let mut launch = ManuallyDrop::into_inner(self.launch);
        let called_ns = *launch.called_ns.get_mut();
        let took = Duration::from_nanos(called_ns.saturating_sub(launch.requested_ns));
        let error = match *launch.failed.get_mut() {
            0 => None,
            code => Some(launch.refusal(io::Error::from_raw_os_error(code))),
        };
        Reclaimed { launch, took: if called_ns == 0 { Duration::ZERO } else { took }, error }
    }
}
