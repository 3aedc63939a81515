//! What a child reads and writes in the memory that it shares with us, until it calls execve(2).

use std::ffi::{CString, c_void};
use std::io;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::{Arguments, Environment, InputCopy, SpawnError};

/// Stack of a child: it calls a dozen functions of a few variables each.  Only what is touched of
/// it takes memory, a page or two.
const STACK_BYTES: usize = 16 * 1024;

/// The alignment of stacks that the ABIs of x86-64 and AArch64 ask for.
const STACK_ALIGNMENT: usize = 16;

/// A program to be started.  Its buffers are used again for the next one.
#[derive(Debug)]
pub struct Launch {
    /// The file, found already (nothing looks through PATH here).
    pub program: Arc<CString>,
    /// Its words, the zeroth included.
    pub arguments: Arguments,
    /// Its environment.
    pub environment: Environment,
    /// What it gets as descriptors 0, 1 and 2; `None` leaves ours.  They must be open when it is
    /// started, and be 3 or above.
    pub streams: [Option<RawFd>; 3],
    /// Where it runs; `None`: where we are.
    pub directory: Option<CString>,
    /// What is added to its nice value.
    pub nice: i32,
    /// Whether it stays in our process group, as one that asks the terminal must.
    pub shares_group: bool,
    /// A file that is to be filled before it starts.
    pub input_copy: Option<InputCopy>,
    /// Its signal mask, by the spawner.
    pub(crate) mask: libc::sigset_t,
    stack: Box<[MaybeUninit<u8>]>,
    /// When the order was given, and when the child asked to become its program: CLOCK_MONOTONIC,
    /// ns; 0 as long as it has not.
    ordered_ns: u64,
    called_ns: AtomicU64,
    /// The error of the child's call that failed, 0 if none did.
    failed: AtomicI32,
}

impl Launch {
    /// Why it never became its program, `error` being what the kernel said last: the folder is
    /// looked at again, as a child reports only one number.
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

    /// A program without words yet, in our directory and with our standard descriptors.
    pub fn new(program: Arc<CString>, environment: Environment) -> Self {
        Launch {
            program,
            arguments: Arguments::default(),
            environment,
            streams: [None; 3],
            directory: None,
            nice: 0,
            shares_group: false,
            input_copy: None,
            // SAFETY: all zeros is a value of this plain structure: the empty set.
            mask: unsafe { MaybeUninit::zeroed().assume_init() },
            stack: Box::new_uninit_slice(STACK_BYTES),
            ordered_ns: 0,
            called_ns: AtomicU64::new(0),
            failed: AtomicI32::new(0),
        }
    }

    /// Makes it ready for its next child: ordered so long ago.
    pub(crate) fn prepare(&mut self, mask: &libc::sigset_t, waited: Duration) {
        self.mask = *mask;
        let waited_ns = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.ordered_ns = monotonic_ns().saturating_sub(waited_ns);
        *self.called_ns.get_mut() = 0;
        *self.failed.get_mut() = 0;
    }

    /// Where the child's stack begins: it grows downwards.
    pub(crate) fn stack_top(&mut self) -> *mut c_void {
        let end = self.stack.as_mut_ptr_range().end;
        end.wrapping_sub(end.addr() % STACK_ALIGNMENT).cast()
    }

    /// By the child: it is about to become its program.
    pub(crate) fn calls(&self) {
        self.called_ns.store(monotonic_ns(), Relaxed);
    }

    /// By the child: a call that it cannot do without has failed.
    pub(crate) fn fails(&self, error: rustix::io::Errno) {
        self.failed.store(error.raw_os_error(), Relaxed);
    }
}

fn monotonic_ns() -> u64 {
    // By the vDSO, which needs neither a call nor anything of the thread that runs it.
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// A process that was started, with what it reads until it is its program.
///
/// Dropping it leaks that, as the process may still read it: hand it to [`reclaim`](Self::reclaim).
#[derive(Debug)]
pub struct Child {
    /// Its number, which is its process group's as well.
    pub pid: i32,
    launch: ManuallyDrop<Box<Launch>>,
}

/// What is left of a process that has ended.
#[derive(Debug)]
pub struct Reclaimed {
    /// What it was started with, to be used again.
    pub launch: Box<Launch>,
    /// From the order to its asking the kernel to be its program; 0 where it never came so far.
    pub took: Duration,
    /// Why it never was its program, if so.
    pub error: Option<SpawnError>,
}

impl Child {
    /// A process of this number that was started with `launch`.
    pub fn new(pid: i32, launch: Box<Launch>) -> Self {
        Child { pid, launch: ManuallyDrop::new(launch) }
    }

    /// The same, of a program that cannot be run because of this error: for worlds that are not
    /// there, since a real child writes it itself.
    #[must_use]
    pub fn failing(self, code: i32) -> Self {
        self.launch.failed.store(code, Relaxed);
        self
    }

    /// Takes back what it was started with, once the process has been waited for.
    pub fn reclaim(self) -> Reclaimed {
        let mut launch = ManuallyDrop::into_inner(self.launch);
        let called_ns = *launch.called_ns.get_mut();
        let took = Duration::from_nanos(called_ns.saturating_sub(launch.ordered_ns));
        let error = match *launch.failed.get_mut() {
            0 => None,
            code => Some(launch.refusal(io::Error::from_raw_os_error(code))),
        };
        Reclaimed { launch, took: if called_ns == 0 { Duration::ZERO } else { took }, error }
    }
}
