//! `getrusage(2)`: resource usage of this process.  One system call, about 0.3 µs.

/// Resource usage of a process since it started: the sum of all its threads, also exited ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_us: u64,
    /// CPU time in the kernel.  The sum of both is exact; the kernel samples how it is split.
    pub system_us: u64,
    /// Voluntary context switches: the task waited.
    pub switches_voluntary: u64,
    /// Involuntary context switches: the task was preempted.
    pub switches_forced: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Peak resident memory in KiB, including the time before `exec`.
    pub resident_kib_max: u64,
}

/// The processes whose usage to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This process.
    Own,
    /// The children that exited and were waited for, and their children.
    Children,
}

/// The resource usage so far.
pub fn usage(whose: Whose) -> Usage {
    let whose = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure of the type that the call fills.  It cannot fail
    // with these arguments; if it did, the zeros would stay.
    unsafe { libc::getrusage(whose, &raw mut usage) };
    Usage::from(&usage)
}

/// Converts a count; the C types differ between machines, and counts are never negative.
fn count(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

impl From<&libc::rusage> for Usage {
    fn from(usage: &libc::rusage) -> Self {
        let microseconds =
            |time: libc::timeval| count(time.tv_sec) * 1_000_000 + count(time.tv_usec);
        Usage {
            user_us: microseconds(usage.ru_utime),
            system_us: microseconds(usage.ru_stime),
            switches_voluntary: count(usage.ru_nvcsw),
            switches_forced: count(usage.ru_nivcsw),
            major_faults: count(usage.ru_majflt),
            minor_faults: count(usage.ru_minflt),
            resident_kib_max: count(usage.ru_maxrss),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_used_something_and_memory() {
        let usage = usage(Whose::Own);
        assert!(usage.user_us + usage.system_us > 0);
        assert!(usage.resident_kib_max > 500);
    }
}
