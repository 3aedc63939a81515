//! Which tasks and which system calls the programs look at.  This is set once, before they are
//! loaded, so that the verifier removes the code of what is switched off.

use aya::Pod;

use crate::SLOTS;

/// The unit by which calls are counted, beside the sum over all tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Nothing: the sum alone.
    #[default]
    None,
    /// By process, under the name of its first thread.
    Process,
    /// By thread.
    Thread,
    /// By the name (`comm`) of the task.
    Command,
    /// By process group.
    ProcessGroup,
}

/// Which calls of which tasks are counted.
#[derive(Clone, Debug, Default)]
pub struct CountSettings {
    /// Count every task but those of `own_process`; otherwise only the tasks given to
    /// [`SyscallCounts::watch`](crate::SyscallCounts::watch).
    pub everybody: bool,
    /// The process that is left out when every task is counted.
    pub own_process: i32,
    /// Also watch the children and threads that a watched task creates from now on.
    pub follow: bool,
    /// The numbers given to `watch` are those of processes, each for all its threads.
    pub whole_processes: bool,
    /// Count a task given to `watch` only from its next `execve` on.
    pub from_exec: bool,
    /// Only tasks of this name (`comm`), ended by a zero byte.
    pub command: Option<[u8; 16]>,
    /// Only tasks in or below this control group of the unified hierarchy: its id, and its depth
    /// below the root.
    pub cgroup: Option<(u64, u32)>,
    /// Only the system calls of these slots, a bit each.
    pub calls: Option<[u64; SLOTS / 64]>,
    /// Only calls that failed.
    pub errors_only: bool,
    /// Only calls that succeeded.
    pub successes_only: bool,
    /// Only calls that took at least this long.
    pub slower_than_ns: u64,
    /// By which unit to count.
    pub split: Split,
    /// Time the runs of the programs during one jiffy of 64, for
    /// [`SyscallCounts::run_time_of`](crate::SyscallCounts::run_time_of).
    pub measure: bool,
}

/// `struct settings` of the program.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawSettings {
    slower_than_ns: u64,
    cgroup: u64,
    calls: [u64; SLOTS / 64],
    everybody: u32,
    follow: u32,
    some_calls: u32,
    errors_only: u32,
    split: u32,
    cgroup_level: u32,
    by_command: u32,
    by_cgroup: u32,
    own_process: i32,
    seed_threads: u32,
    from_exec: u32,
    successes_only: u32,
    pub(crate) threads_only: u32,
    measure: u32,
    command: [u8; 16],
}

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl Pod for RawSettings {}

impl CountSettings {
    pub(crate) fn raw(&self) -> RawSettings {
        RawSettings {
            slower_than_ns: self.slower_than_ns,
            cgroup: self.cgroup.map_or(0, |(id, _)| id),
            calls: self.calls.unwrap_or_default(),
            everybody: u32::from(self.everybody),
            follow: u32::from(self.follow),
            some_calls: u32::from(self.calls.is_some()),
            errors_only: u32::from(self.errors_only),
            split: self.split as u32,
            cgroup_level: self.cgroup.map_or(0, |(_, level)| level),
            by_command: u32::from(self.command.is_some()),
            by_cgroup: u32::from(self.cgroup.is_some()),
            own_process: self.own_process,
            seed_threads: u32::from(self.whole_processes),
            from_exec: u32::from(self.from_exec),
            successes_only: u32::from(self.successes_only),
            threads_only: 0,
            measure: u32::from(self.measure),
            command: self.command.unwrap_or_default(),
        }
    }
}
