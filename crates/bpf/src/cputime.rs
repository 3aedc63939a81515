//! User and system time of a task, computed as `/proc` computes it.
//!
//! The scheduler knows exactly how long a task ran, but only samples at each tick whether that was
//! in user mode or in the kernel.  The kernel splits the exact sum by the ratio of the samples, and
//! never lets either part decrease (`cputime_adjust` in kernel/sched/cputime.c).  This is the same
//! computation, so that both ways of reading a process agree to the nanosecond.

/// User and system time of a task or a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In user mode.
    pub user_ns: u64,
    /// In the kernel.
    pub system_ns: u64,
}

/// Splits `run_ns`, the exact time, by the ratio in `sampled`.  Neither part is less than in
/// `shown`, which is what `/proc` has shown before.
pub fn adjusted(sampled: CpuTime, run_ns: u64, shown: CpuTime) -> CpuTime {
    if shown.user_ns.saturating_add(shown.system_ns) >= run_ns {
        return shown;
    }
    let system_ns = match (sampled.user_ns, sampled.system_ns) {
        (_, 0) => 0,
        (0, _) => run_ns,
        (user, system) => {
            let ticks = u128::from(user) + u128::from(system);
            let part = u128::from(system) * u128::from(run_ns) / ticks;
            // At most `run_ns`, so it fits.
            part as u64
        }
    };
    let system_ns = system_ns.max(shown.system_ns);
    let user_ns = run_ns.saturating_sub(system_ns);
    if user_ns < shown.user_ns {
        return CpuTime { user_ns: shown.user_ns, system_ns: run_ns - shown.user_ns };
    }
    CpuTime { user_ns, system_ns }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(user_ns: u64, system_ns: u64) -> CpuTime {
        CpuTime { user_ns, system_ns }
    }

    #[test]
    fn the_exact_time_is_split_as_it_was_sampled() {
        assert_eq!(adjusted(time(3, 1), 400, time(0, 0)), time(300, 100));
        assert_eq!(adjusted(time(0, 1), 400, time(0, 0)), time(0, 400));
        assert_eq!(adjusted(time(0, 0), 400, time(0, 0)), time(400, 0));
        let long = u64::MAX / 2;
        assert_eq!(adjusted(time(long, long), long, time(0, 0)), time(long - long / 2, long / 2));
    }

    #[test]
    fn neither_part_goes_back() {
        assert_eq!(adjusted(time(1, 1), 100, time(90, 20)), time(90, 20));
        assert_eq!(adjusted(time(1, 1), 100, time(10, 70)), time(30, 70));
        assert_eq!(adjusted(time(1, 1), 100, time(80, 5)), time(80, 20));
    }
}
