//! `/proc/schedstat` (kernel `Documentation/scheduler/sched-stats.rst`), versions 15 to 17:
//!
//! ```text
//! version 15
//! timestamp 4295043821
//! cpu0 0 0 1166128 394873 614018 384250 78417542338 6042161263 741302
//! domain0 00000003 40812 40703 109 …
//! ```
//!
//! Only the lines of CPUs are parsed.  Version 14 (before Linux 3.2) has other columns.  The
//! columns of a CPU are the same in versions 15 to 17, and assumed to be so in later ones.

use crate::scan::{lines, number, take_number, take_word};

/// Counters of one CPU's run queue since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunQueue {
    /// Calls of `sched_yield`.
    pub yields: u64,
    /// Calls of `schedule`.
    pub schedules: u64,
    /// Calls of `schedule` that left the CPU idle.
    pub schedules_idle: u64,
    /// Calls of `try_to_wake_up` on this CPU.
    pub wakeups: u64,
    /// Tasks that this CPU woke up to run on itself.
    pub wakeups_local: u64,
    /// Time tasks ran, in ns.
    pub run_ns: u64,
    /// Time tasks waited on the run queue, in ns.
    pub wait_ns: u64,
    /// Timeslices run.
    pub timeslices: u64,
}

/// The CPUs of the file with their numbers as text; `None` if the version is missing or older than
/// 15.  Truncated lines are skipped.
pub fn parse_schedstat(text: &[u8]) -> Option<impl Iterator<Item = (&[u8], RunQueue)>> {
    let mut lines = lines(text);
    let version = number(lines.next()?.strip_prefix(b"version ")?)?;
    (version >= 15).then(|| lines.filter_map(parse_cpu))
}

fn parse_cpu(line: &[u8]) -> Option<(&[u8], RunQueue)> {
    let mut rest = line.strip_prefix(b"cpu")?;
    let cpu = take_word(&mut rest);
    if cpu.is_empty() || !cpu.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut columns = [0; 9];
    for column in &mut columns {
        *column = take_number(&mut rest)?;
    }
    // The second column counted array switches of the O(1) scheduler and is now always 0.
    let [yields, _, schedules, schedules_idle, wakeups, wakeups_local, run_ns, wait_ns, timeslices] =
        columns;
    let queue = RunQueue {
        yields,
        schedules,
        schedules_idle,
        wakeups,
        wakeups_local,
        run_ns,
        wait_ns,
        timeslices,
    };
    Some((cpu, queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_15_to_17_and_not_14() {
        let text = b"version 15\ntimestamp 4295043821\ncpu0 1 0 3 4 5 6 7 8 9\n\
            domain0 00000003 1 2\ncpu17 9 0 7 6 5 4 3 2 1\ncpu18 1 2\ncpux 1 0 3 4 5 6 7 8 9\n";
        let cpus: Vec<_> = parse_schedstat(text).unwrap().collect();
        assert_eq!(cpus.len(), 2);
        let queue = RunQueue {
            yields: 1,
            schedules: 3,
            schedules_idle: 4,
            wakeups: 5,
            wakeups_local: 6,
            run_ns: 7,
            wait_ns: 8,
            timeslices: 9,
        };
        assert_eq!(cpus[0], (&b"0"[..], queue));
        assert_eq!((cpus[1].0, cpus[1].1.timeslices), (&b"17"[..], 1));
        let named = b"version 17\ntimestamp 1\ncpu0 1 0 3 4 5 6 7 8 9\ndomain0 MC 00000003 1\n";
        assert_eq!(parse_schedstat(named).unwrap().count(), 1);
        assert!(parse_schedstat(b"version 14\ntimestamp 1\ncpu0 1 2\n").is_none());
        assert!(parse_schedstat(b"").is_none());
        assert!(parse_schedstat(b"rubbish\n").is_none());
    }
}
