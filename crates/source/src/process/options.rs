//! Which processes are recorded, and how they are read.

/// What is known of a process when somebody has to say whether it is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its number.
    pub pid: i32,
    /// The process that it is a child of.
    pub parent: i32,
    /// Number of the real user; `None` where it may not be read.
    pub uid: Option<u32>,
    /// Name of the real user, or the number as text; empty if that is not known either.
    pub user: &'a [u8],
    /// Its name, at most 15 bytes, any bytes.
    pub command: &'a [u8],
    /// Program and arguments, blanks between them; empty for threads of the kernel.  `None` as
    /// long as it has not been read: say [`Choice::AskCommandLine`] to get it.
    pub command_line: Option<&'a [u8]>,
}

/// What is to be done with a process, until it begins another program or changes its user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Nothing: it is not looked at again.
    Leave,
    /// A row for it.
    #[default]
    Keep,
    /// A row for it and one for each further thread.
    KeepWithThreads,
    /// Cannot be said without its command line.  Where that cannot be read at all this means
    /// [`Choice::Leave`].
    AskCommandLine,
}

/// Says which processes are wanted.
pub type Chooser = dyn Fn(&Candidate<'_>) -> Choice + Send + Sync;

/// How processes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessMethod {
    /// By a program in the kernel that passes over all tasks.
    Iterator,
    /// By the files in `/proc`.
    Proc,
}

/// What of processes is to be recorded.  The default is every process, no thread, read the best
/// method there is.
#[derive(Default)]
pub struct ProcessOptions {
    /// Says which processes are wanted; `None` for all.
    pub choose: Option<Box<Chooser>>,
    /// Whether all processes that are wanted have a row for each further thread too.
    pub threads: bool,
    /// Whether not to read I/O counts, which saves a file for each process in `/proc`.
    pub without_io: bool,
    /// Whether to read `status` of each process at each sample where `/proc` is read: for sizes of
    /// memory other than the whole and the resident, and for switches.
    pub status: bool,
    /// Whether to read `schedstat` of each process at each sample where `/proc` is read: for the
    /// exact time on a CPU and the time without one, of processes of one thread.
    pub schedstat: bool,
    /// Whether `status`, which counts the switches of the first thread alone, may stand for all of
    /// a process's threads, as collectl takes it.
    pub first_thread_switches: bool,
    /// Whether to read only the processes of the first sample, never looking for new ones.
    pub only_first: bool,
    /// A list of users other than the host's, on this machine's disks.
    pub passwd: Option<std::path::PathBuf>,
    /// The one method to be tried; `None` for the best.
    pub method: Option<ProcessMethod>,
}
