//! The resource usage of a process.

/// What a process and the children that it waited for used, by getrusage(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// User time, microseconds.
    pub user_us: u64,
    /// System time, microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest of them, KiB; `None` if it was not above that of the
    /// runner, which the kernel includes.  Without [`ExitDetails`](crate::ExitDetails) it may be
    /// the runner's own.
    pub resident_kib: Option<u64>,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// From the request to start it to its execve(2), nanoseconds.
    pub spawn_ns: u64,
    /// The part of the CPU time that the shell used.
    pub shell: ShellTime,
}

/// The part of a job's CPU time that its shell used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShellTime {
    /// It was not requested, or the kernel does not report it.
    #[default]
    Unknown,
    /// There was no shell.
    NoShell,
    /// The shell became the command by execve(2) (`exec`, or its last command): what it had used
    /// before is included in the command's time.
    Became,
    /// This many nanoseconds.
    Own(u64),
}

impl ShellTime {
    /// Nanoseconds, if known.
    pub fn ns(self) -> Option<u64> {
        match self {
            ShellTime::Unknown => None,
            ShellTime::NoShell | ShellTime::Became => Some(0),
            ShellTime::Own(ns) => Some(ns),
        }
    }
}

impl ResourceUsage {
    /// The CPU time that the shell did not use, in microseconds, if known.
    pub fn command_us(&self) -> Option<u64> {
        Some((self.user_us + self.system_us).saturating_sub(self.shell.ns()? / 1000))
    }
}
