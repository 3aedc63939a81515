//! What a process and all its descendants cost, by `/proc`.

use crate::process::{cpu, dirtied_bytes, microseconds, stat_fields};

/// The cost of a process and its descendants since their start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeCost {
    /// CPU time of those that live, and of their children that have ended.
    pub(crate) cpu_us: u64,
    /// Proportional memory now.
    pub(crate) memory_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) processes: usize,
}

impl TreeCost {
    /// The cost of a process; none if it has ended.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        cpu(pid)?;
        let mut sum = TreeCost::default();
        for pid in descendants(pid) {
            sum.cpu_us += cpu(pid).map_or(0, microseconds) + ended_children_us(pid);
            sum.memory_bytes += proportional_kib(pid).unwrap_or(0) * 1024;
            sum.written_bytes += dirtied_bytes(&pid.to_string()).unwrap_or(0);
            sum.processes += 1;
        }
        Some(sum)
    }
}

/// A process, its children, theirs and so on.
fn descendants(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let parents: Vec<(u32, u32)> = processes.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    found
}

fn parent(pid: u32) -> Option<u32> {
    let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let (_, _, mut words) = stat_fields(&text)?;
    words.nth(1)?.parse().ok()
}

/// `cutime` and `cstime` of `/proc/PID/stat` (proc(5)).
fn ended_children_us(pid: u32) -> u64 {
    let ticks = || {
        let text = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let (_, _, mut words) = stat_fields(&text)?;
        let user: u64 = words.nth(13)?.parse().ok()?;
        Some(user + words.next()?.parse::<u64>().ok()?)
    };
    ticks().unwrap_or(0) * 1_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

fn proportional_kib(pid: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    value.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_belongs_to_the_tree_while_it_lives_and_its_time_afterwards() {
        let own = std::process::id();
        let alone = TreeCost::of(own).unwrap();
        assert!(alone.cpu_us > 0 && alone.memory_bytes > 0);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let both = descendants(own);
        assert!(both.contains(&own) && both.contains(&child.id()), "{both:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(TreeCost::of(own).unwrap().cpu_us >= alone.cpu_us);
        assert!(!descendants(own).contains(&child.id()));
    }
}
