//! What the programs write, as `programs/*.bpf.c` lays it out: 64-bit words in the machine's own
//! order, which no file ever sees.

/// A structure of plain integers that the kernel's side fills.
///
/// # Safety
/// Every pattern of bits must be a value, and there must be no padding that matters.
pub(crate) unsafe trait Record: Copy {
    /// The record at the start of `bytes`, and what follows it; `None` if they are too few.
    fn take(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = bytes.split_at_checked(size_of::<Self>())?;
        // SAFETY: there are enough bytes, any bits will do, and the read needs no alignment.
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

/// What a thread has used and how it stands.  For a process's only thread, and for the leader of
/// several, a [`ThreadGroup`] comes with it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TaskRecord {
    /// When it began, on the clock that counts suspended time.
    pub start_boottime_ns: u64,
    /// Time in user mode, as sampled by the kernel's tick: to be scaled to `run_ns`.
    pub user_ns: u64,
    /// Time in the kernel, likewise.
    pub system_ns: u64,
    /// Time on a CPU, exact.
    pub run_ns: u64,
    /// Time ready to run and waiting for a CPU; all bits set if the kernel does not count it.
    pub run_delay_ns: u64,
    /// User time that `/proc` has last shown of this thread: it never goes back.
    pub previous_user_ns: u64,
    /// System time, likewise.
    pub previous_system_ns: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
    /// Times it gave the CPU up.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Bytes asked for by reading calls.
    pub read_chars: u64,
    /// Bytes given to writing calls.
    pub write_chars: u64,
    /// Reading calls.
    pub read_calls: u64,
    /// Writing calls.
    pub write_calls: u64,
    /// Bytes fetched from storage.
    pub read_bytes: u64,
    /// Bytes sent to storage.
    pub write_bytes: u64,
    /// Bytes that were to be written and then were not, as the file was cut.
    pub cancelled_write_bytes: u64,
    /// The thread's number.
    pub pid: i32,
    /// The number of its process.
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
    /// Its name, ended by a zero unless it fills all bytes.
    pub command: [u8; 16],
}

/// What the threads of a process share, and what those that have ended have left.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThreadGroup {
    /// Id of its control group in the unified hierarchy: the inode of the group's directory.
    pub cgroup: u64,
    /// User time of threads that have ended.
    pub user_ns: u64,
    /// System time of threads that have ended.
    pub system_ns: u64,
    /// Time on a CPU of threads that have ended.
    pub run_ns: u64,
    /// User time that `/proc` has last shown of this process: it never goes back.
    pub previous_user_ns: u64,
    /// System time, likewise.
    pub previous_system_ns: u64,
    /// User time of children that have ended and been waited for.
    pub child_user_ns: u64,
    /// System time, likewise.
    pub child_system_ns: u64,
    /// As in [`TaskRecord`], of threads that have ended.
    pub minor_faults: u64,
    /// Likewise.
    pub major_faults: u64,
    /// Minor faults of children that have ended and been waited for.
    pub child_minor_faults: u64,
    /// Major faults, likewise.
    pub child_major_faults: u64,
    /// As in [`TaskRecord`], of threads that have ended.
    pub voluntary_switches: u64,
    /// Likewise.
    pub involuntary_switches: u64,
    /// Likewise.
    pub read_chars: u64,
    /// Likewise.
    pub write_chars: u64,
    /// Likewise.
    pub read_calls: u64,
    /// Likewise.
    pub write_calls: u64,
    /// Likewise.
    pub read_bytes: u64,
    /// Likewise.
    pub write_bytes: u64,
    /// Likewise.
    pub cancelled_write_bytes: u64,
    /// Size of the address space.
    pub total_pages: u64,
    /// Pages locked in memory.
    pub locked_pages: u64,
    /// Private writable pages.
    pub data_pages: u64,
    /// Executable pages, libraries included.
    pub executable_pages: u64,
    /// Pages of the stack.
    pub stack_pages: u64,
    /// Where the program's own code begins.
    pub code_start: u64,
    /// Where it ends.
    pub code_end: u64,
    /// Resident pages of files.
    pub file_pages: i64,
    /// Resident pages of no file.
    pub anonymous_pages: i64,
    /// Pages in swap.
    pub swap_pages: i64,
    /// Resident pages of shared memory.
    pub shared_pages: i64,
    /// The most pages that were resident, if more than now.
    pub peak_resident_pages: u64,
    /// Changes whenever it begins another program.
    pub exec_id: u64,
    /// Whether there is an address space at all: kernel threads and zombies have none.
    pub has_memory: u32,
    /// The real user.
    pub uid: u32,
    /// The process that it is a child of; 0 for none.
    pub parent: i32,
    /// Threads that have not been released.
    pub threads: i32,
}

/// Bytes kept of a command line.
pub(crate) const ARGUMENTS_BYTES: usize = 256;

/// A process has begun another program.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExecEvent {
    pub(crate) kind: u32,
    /// The process.
    pub pid: i32,
    /// When, on the clock that counts suspended time.
    pub time_ns: u64,
    /// When the process began, on the same clock.
    pub start_boottime_ns: u64,
    /// Bytes of the whole command line; 0 if it could not be read.
    pub arguments_bytes: u32,
    /// The real user.
    pub uid: u32,
}

/// A process has ended: its whole account, with all its threads.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExitEvent {
    pub(crate) kind: u32,
    /// The process.
    pub pid: i32,
    /// When, on the clock that counts suspended time.
    pub time_ns: u64,
    /// When it began, on the same clock.
    pub start_boottime_ns: u64,
    /// As in [`TaskRecord`], of all its threads.
    pub user_ns: u64,
    /// Likewise.
    pub system_ns: u64,
    /// Likewise; without what its last thread used since the latest tick, which [`FreeEvent`] tells.
    pub run_ns: u64,
    /// As in [`ThreadGroup`].
    pub previous_user_ns: u64,
    /// Likewise.
    pub previous_system_ns: u64,
    /// As in [`TaskRecord`], of all its threads.
    pub minor_faults: u64,
    /// Likewise.
    pub major_faults: u64,
    /// Likewise.
    pub voluntary_switches: u64,
    /// Likewise.
    pub involuntary_switches: u64,
    /// Likewise.
    pub read_chars: u64,
    /// Likewise.
    pub write_chars: u64,
    /// Likewise.
    pub read_calls: u64,
    /// Likewise.
    pub write_calls: u64,
    /// Likewise.
    pub read_bytes: u64,
    /// Likewise.
    pub write_bytes: u64,
    /// Likewise.
    pub cancelled_write_bytes: u64,
    /// The most pages that were resident.
    pub peak_resident_pages: u64,
    /// As in [`ThreadGroup`].
    pub cgroup: u64,
    /// The process that it was a child of.
    pub parent: i32,
    /// The real user.
    pub uid: u32,
    /// As `wait(2)` gives it: the code in bits 8 to 15, or a signal in bits 0 to 6.
    pub code: u32,
    /// 1 if it had more threads at its end than were looked at, so that it used more than this.
    pub threads_uncounted: u32,
    /// Its name, ended by a zero unless it fills all bytes.
    pub command: [u8; 16],
}

/// A process that has ended is gone for good: what it has used in all, its end included.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FreeEvent {
    pub(crate) kind: u32,
    /// The process.
    pub pid: i32,
    /// When it began, on the clock that counts suspended time.
    pub start_boottime_ns: u64,
    /// Time on a CPU of all its threads.
    pub run_ns: u64,
}
