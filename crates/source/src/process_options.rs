//! Which processes are recorded, and how they are read.

/// The facts of a process that a filter decides by.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The process id.
    pub pid: i32,
    /// The parent's process id.
    pub parent: i32,
    /// The real user id; `None` without permission to read it.
    pub uid: Option<u32>,
    /// Name of the real user, or the id as text; empty if neither is known.
    pub user: &'a [u8],
    /// The name of the task (`comm`): at most 15 bytes, any bytes.
    pub command: &'a [u8],
    /// Program and arguments, separated by blanks; empty for kernel threads.  `None` if it was not
    /// read yet: return [`Choice::AskCommandLine`] to get it.
    pub command_line: Option<&'a [u8]>,
}

/// The decision about a process, valid until it executes another program or changes its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Exclude it.
    Leave,
    /// Record a row for it.
    #[default]
    Keep,
    /// Record a row for it and one for each thread other than the first.
    KeepWithThreads,
    /// The command line is needed to decide.  If it cannot be read, this means
    /// [`Choice::Leave`].
    AskCommandLine,
}

impl Choice {
    /// Whether threads other than the first have rows too.
    pub(crate) fn keeps_threads(self, options: &ProcessOptions) -> bool {
        self == Choice::KeepWithThreads || self == Choice::Keep && options.threads
    }
}

/// Decides which processes to record.
pub type Chooser = dyn Fn(&Candidate<'_>) -> Choice + Send + Sync;

/// How processes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMethod {
    /// By a BPF iterator.
    Iterator,
    /// From the files in `/proc`.
    Proc,
}

/// What to record of processes.  The default is every process without threads, by the best method.
#[derive(Default)]
pub struct ProcessOptions {
    /// Decides which processes to record; `None` for all.
    pub choose: Option<Box<Chooser>>,
    /// Whether to record a row for each thread other than the first too.
    pub threads: bool,
    /// Whether not to read I/O counts, which saves a file for each process in `/proc`.
    pub without_io: bool,
    /// Whether the `/proc` method reads `status` of each process at each sample: for memory sizes
    /// other than virtual and resident, and for context switches.
    pub status: bool,
    /// Whether the `/proc` method reads `schedstat` of each process at each sample: for the exact
    /// CPU time and the run delay of processes with one thread.
    pub schedstat: bool,
    /// Whether the context switches in `status`, which are those of the first thread, count as those
    /// of the process, as in collectl.
    pub first_thread_switches: bool,
    /// Whether to read only the processes of the first sample, never looking for new ones.
    pub only_first: bool,
    /// A file with users instead of the host's `/etc/passwd`, on this machine.
    pub passwd: Option<std::path::PathBuf>,
    /// The only method to try; `None` for the best that works.
    pub method: Option<ProcessMethod>,
}
