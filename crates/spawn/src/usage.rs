//! The resource usage of a process.

/// What a process used, by the kernel's account of it and of the children that it waited for
/// (getrusage(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceUsage {
    /// User time, microseconds.
    pub user_us: u64,
    /// System time, microseconds.
    pub system_us: u64,
    /// Peak resident memory of the largest of them, KiB; `None` where it was not above the runner's
    /// own, which the kernel counts into it.  May be the runner's own unless details are asked for
    /// ([`ExitDetails`](crate::ExitDetails)).
    pub resident_kib: Option<u64>,
    /// Times it gave the CPU away.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults that needed no reading.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// From the moment it could start to its program running, nanoseconds.
    pub spawn_ns: u64,
    /// What of the CPU time was the shell's.
    pub shell: ShellTime,
}

/// What of a job's CPU time was the shell's that ran it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShellTime {
    /// It was not asked for, or the kernel does not say.
    #[default]
    Unknown,
    /// There was no shell.
    NoShell,
    /// The shell became the command (`exec`, or its last one): what it had used until then is in
    /// the command's.
    Became,
    /// So many nanoseconds.
    Own(u64),
}

impl ShellTime {
    /// Nanoseconds, where they are known.
    pub fn ns(self) -> Option<u64> {
        match self {
            ShellTime::Unknown => None,
            ShellTime::NoShell | ShellTime::Became => Some(0),
            ShellTime::Own(ns) => Some(ns),
        }
    }
}

impl ResourceUsage {
    /// What of the CPU time was not the shell's, microseconds, where that is known.
    pub fn command_us(&self) -> Option<u64> {
        Some((self.user_us + self.system_us).saturating_sub(self.shell.ns()? / 1000))
    }
}
