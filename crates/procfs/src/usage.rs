//! `getrusage(2)`: what this process has used.  One system call, about 0.3 µs.

/// What a process has used since it began, all its threads together, ended ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode.
    pub user_us: u64,
    /// CPU time in the kernel.  The sum of both is exact; how it is split is sampled by the kernel.
    pub system_us: u64,
    /// Context switches because there was nothing to do.
    pub switches_voluntary: u64,
    /// Context switches because another task's turn had come.
    pub switches_forced: u64,
    /// Page faults that had to read a disk.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// The most memory it has held, in KiB; what held it before `exec` counts too.
    pub resident_kib_max: u64,
}

/// Whose usage is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// This process.
    Own,
    /// Its children that have ended and have been waited for, and theirs.
    Children,
}

/// What has been used so far.
pub fn usage(whose: Whose) -> Usage {
    let whose = match whose {
        Whose::Own => libc::RUSAGE_SELF,
        Whose::Children => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: all zeros is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live structure of the type that the call fills.  It cannot fail
    // with these arguments; if it did, the zeros would stay.
    unsafe { libc::getrusage(whose, &raw mut usage) };
    Usage::from(&usage)
}

/// The C types differ from machine to machine; nothing counted here is ever negative.
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
