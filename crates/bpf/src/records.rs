//! The records that the programs write, laid out as in `programs/*.bpf.c`: 64-bit words in native
//! byte order, which are never stored in a file.

/// A structure of integers that a program fills.
///
/// # Safety
/// Every bit pattern must be a valid value, and the contents of padding must not matter.
pub(crate) unsafe trait Record: Copy {
    /// The record at the start of `bytes` and the bytes after it; `None` if `bytes` is too short.
    fn split_first(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_at_checked(size_of::<Self>())?;
        // SAFETY: there are enough bytes, every bit pattern is a value, and the read needs no
        // alignment.
        Some((unsafe { head.as_ptr().cast::<Self>().read_unaligned() }, rest))
    }
}

macro_rules! records {
    ($($record:ty),*) => {
        // SAFETY: integers and arrays of them, laid out by C.
        $(unsafe impl Record for $record {})*
    };
}

records!(TaskRecord, ThreadGroup, ExecEvent, ExitEvent, FreeEvent);

/// What a thread has used, and its state.  A [`ThreadGroup`] follows the record of each thread
/// group leader.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TaskRecord {
    /// When it began, on `CLOCK_BOOTTIME`.
    pub start_boottime_ns: u64,
    /// User time as the tick sampled it; [`adjusted`](crate::adjusted) scales it to `run_ns`.
    pub user_ns: u64,
    /// System time as the tick sampled it.
    pub system_ns: u64,
    /// Time on a CPU, exact.
    pub run_ns: u64,
    /// Time on a run queue waiting for a CPU; all bits set if the kernel does not count it.
    pub run_delay_ns: u64,
    /// User time that `/proc` has last shown for this thread; it never decreases.
    pub previous_user_ns: u64,
    /// System time that `/proc` has last shown for this thread.
    pub previous_system_ns: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Bytes that `read` and related calls returned (`rchar`).
    pub read_chars: u64,
    /// Bytes that `write` and related calls took (`wchar`).
    pub write_chars: u64,
    /// Calls of `read` and its relatives.
    pub read_calls: u64,
    /// Calls of `write` and its relatives.
    pub write_calls: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub write_bytes: u64,
    /// Bytes in the page cache that were truncated before they were written to storage.
    pub cancelled_write_bytes: u64,
    /// The thread's number (the kernel's pid).
    pub pid: i32,
    /// The number of its process (the kernel's tgid).
    pub tgid: i32,
    /// `task_struct.__state`.
    pub state: u32,
    /// `task_struct.exit_state`.
    pub exit_state: u32,
    /// `task_struct.flags`.
    pub flags: u32,
    /// The CPU it is on, or was on last.
    pub processor: u32,
    /// `task_struct.prio`: 100 less than what `/proc` shows.
    pub priority: i32,
    /// `task_struct.static_prio`: 120 more than nice.
    pub static_priority: i32,
    /// Scheduling policy (`SCHED_OTHER` and so on).
    pub policy: u32,
    /// Real-time priority.
    pub realtime_priority: u32,
    /// The name (`comm`), ended by a zero byte unless it fills all bytes.
    pub command: [u8; 16],
}

/// What the threads of a process share, and what its exited threads have used.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThreadGroup {
    /// Id of its control group in the unified hierarchy: the inode of the group's directory.
    pub cgroup: u64,
    /// User time of exited threads.
    pub user_ns: u64,
    /// System time of exited threads.
    pub system_ns: u64,
    /// Time on a CPU of exited threads.
    pub run_ns: u64,
    /// User time that `/proc` has last shown for this process; it never decreases.
    pub previous_user_ns: u64,
    /// System time that `/proc` has last shown for this process.
    pub previous_system_ns: u64,
    /// User time of children that were waited for.
    pub child_user_ns: u64,
    /// System time of children that were waited for.
    pub child_system_ns: u64,
    /// Minor page faults of exited threads.
    pub minor_faults: u64,
    /// Major page faults of exited threads.
    pub major_faults: u64,
    /// Minor page faults of children that were waited for.
    pub child_minor_faults: u64,
    /// Major page faults of children that were waited for.
    pub child_major_faults: u64,
    /// Voluntary context switches of exited threads.
    pub voluntary_switches: u64,
    /// Involuntary context switches of exited threads.
    pub involuntary_switches: u64,
    /// Bytes that exited threads got from `read` and related calls.
    pub read_chars: u64,
    /// Bytes that exited threads gave to `write` and related calls.
    pub write_chars: u64,
    /// Calls of `read` and its relatives by exited threads.
    pub read_calls: u64,
    /// Calls of `write` and its relatives by exited threads.
    pub write_calls: u64,
    /// Bytes that exited threads read from storage.
    pub read_bytes: u64,
    /// Bytes that exited threads wrote to storage.
    pub write_bytes: u64,
    /// Cancelled writes of exited threads, in bytes.
    pub cancelled_write_bytes: u64,
    /// Size of the address space.
    pub total_pages: u64,
    /// Pages locked in memory.
    pub locked_pages: u64,
    /// Private writable pages.
    pub data_pages: u64,
    /// Executable pages, libraries included.
    pub executable_pages: u64,
    /// Pages of stack.
    pub stack_pages: u64,
    /// Address at which the program's code begins.
    pub code_start: u64,
    /// Address at which it ends.
    pub code_end: u64,
    /// Resident pages of file mappings.
    pub file_pages: i64,
    /// Resident pages of anonymous memory.
    pub anonymous_pages: i64,
    /// Pages in swap.
    pub swap_pages: i64,
    /// Resident pages of shared memory.
    pub shared_pages: i64,
    /// Peak of the resident pages as last recorded; now may be more.
    pub peak_resident_pages: u64,
    /// Changes at each `execve`.
    pub exec_id: u64,
    /// Whether it has an address space: kernel threads and zombies have none.
    pub has_memory: u32,
    /// The real user id.
    pub uid: u32,
    /// The parent process; 0 for none.
    pub parent: i32,
    /// Threads that the kernel has not released.
    pub threads: i32,
}

/// Bytes that are kept of a command line.
pub(crate) const ARGUMENTS_BYTES: usize = 256;

/// A process has called `execve`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExecEvent {
    pub(crate) kind: u32,
    /// The process.
    pub pid: i32,
    /// When, on `CLOCK_BOOTTIME`.
    pub time_ns: u64,
    /// When the process began, on `CLOCK_BOOTTIME`.
    pub start_boottime_ns: u64,
    /// Length of the whole command line in bytes; 0 if it could not be read.
    pub arguments_bytes: u32,
    /// The real user id.
    pub uid: u32,
}

/// A process has exited: the sums over all its threads.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExitEvent {
    pub(crate) kind: u32,
    /// The process.
    pub pid: i32,
    /// When, on `CLOCK_BOOTTIME`.
    pub time_ns: u64,
    /// When the process began, on `CLOCK_BOOTTIME`.
    pub start_boottime_ns: u64,
    /// User time as the tick sampled it.
    pub user_ns: u64,
    /// System time as the tick sampled it.
    pub system_ns: u64,
    /// Time on a CPU, without what the last thread used since the latest tick; see [`FreeEvent`].
    pub run_ns: u64,
    /// User time that `/proc` has last shown.
    pub previous_user_ns: u64,
    /// System time that `/proc` has last shown.
    pub previous_system_ns: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Bytes that `read` and related calls returned.
    pub read_chars: u64,
    /// Bytes that `write` and related calls took.
    pub write_chars: u64,
    /// Calls of `read` and its relatives.
    pub read_calls: u64,
    /// Calls of `write` and its relatives.
    pub write_calls: u64,
    /// Bytes read from storage.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub write_bytes: u64,
    /// Bytes in the page cache that were truncated before they were written to storage.
    pub cancelled_write_bytes: u64,
    /// Peak of the resident pages.
    pub peak_resident_pages: u64,
    /// Id of its control group, as in [`ThreadGroup`].
    pub cgroup: u64,
    /// The parent process.
    pub parent: i32,
    /// The real user id.
    pub uid: u32,
    /// The wait status (`wait(2)`): the exit code in bits 8 to 15, or a signal in bits 0 to 6.
    pub code: u32,
    /// 1 if it had more threads than the program can visit, so that it used more than this.
    pub threads_uncounted: u32,
    /// The name (`comm`), ended by a zero byte unless it fills all bytes.
    pub command: [u8; 16],
}

/// The kernel has released an exited process: its final CPU time, which includes the exit itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FreeEvent {
    pub(crate) kind: u32,
    /// The process.
    pub pid: i32,
    /// When the process began, on `CLOCK_BOOTTIME`.
    pub start_boottime_ns: u64,
    /// Time on a CPU of all its threads.
    pub run_ns: u64,
}
