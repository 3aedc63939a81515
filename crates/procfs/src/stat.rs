//! `/proc/stat` (proc(5), kernel `fs/proc/stat.c`): CPU times in ticks of `USER_HZ`, interrupts,
//! context switches, forks, running and blocked tasks.

use crate::scan::{lines, number, take_number};

/// User, nice, system, idle, iowait, irq, softirq, steal, guest, guest nice.  Old kernels have
/// fewer columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// The columns in the file's order.
    pub ticks: [u64; 10],
    /// The number of columns that the kernel printed.
    pub count: usize,
}

/// One known line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatLine {
    /// `cpu`: all CPUs together.
    Total(CpuTimes),
    /// `cpuN`: one CPU, by number.  Offline CPUs have no line.
    Cpu(u32, CpuTimes),
    /// `intr`: interrupts since boot (the first number; the rest is not parsed).
    Interrupts(u64),
    /// `ctxt`: context switches since boot.
    ContextSwitches(u64),
    /// `btime`: boot time, in seconds since the epoch.
    BootTime(u64),
    /// `processes`: forks since boot.
    Forks(u64),
    /// `procs_running`.
    Running(u64),
    /// `procs_blocked`.
    Blocked(u64),
}

/// The lines of the file.  Unknown and malformed lines are skipped.
pub fn parse_stat(text: &[u8]) -> impl Iterator<Item = StatLine> {
    lines(text).filter_map(parse_line)
}

/// Like [`parse_stat`], but does not parse the times of single CPUs, most of the file on a large
/// machine: [`StatLine::Cpu`] comes without times.
pub fn parse_stat_totals(text: &[u8]) -> impl Iterator<Item = StatLine> {
    lines(text).filter_map(|line| match line {
        [b'c', b'p', b'u', b'0'..=b'9', ..] => {
            let index = u32::try_from(number(&line[3..])?).ok()?;
            Some(StatLine::Cpu(index, CpuTimes::default()))
        }
        line => parse_line(line),
    })
}

#[inline]
fn parse_line(line: &[u8]) -> Option<StatLine> {
    if let Some(mut rest) = line.strip_prefix(b"cpu") {
        if rest.first() == Some(&b' ') {
            return Some(StatLine::Total(times(rest)));
        }
        let index = u32::try_from(take_number(&mut rest)?).ok()?;
        return Some(StatLine::Cpu(index, times(rest)));
    }
    let after = |key: &str| line.strip_prefix(key.as_bytes()).and_then(number);
    match line.first()? {
        b'i' => after("intr ").map(StatLine::Interrupts),
        b'c' => after("ctxt ").map(StatLine::ContextSwitches),
        b'b' => after("btime ").map(StatLine::BootTime),
        b'p' => after("processes ")
            .map(StatLine::Forks)
            .or_else(|| after("procs_running ").map(StatLine::Running))
            .or_else(|| after("procs_blocked ").map(StatLine::Blocked)),
        _ => None,
    }
}

#[inline]
fn times(mut text: &[u8]) -> CpuTimes {
    let mut times = CpuTimes::default();
    for slot in &mut times.ticks {
        let Some(value) = take_number(&mut text) else { break };
        *slot = value;
        times.count += 1;
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file() {
        let text = b"cpu  7978 0 6695 108331 468 0 88 63 0 0\ncpu1 1 2 3 4\nintr 549787 0 9\n\
            ctxt 5\nbtime 6\nprocesses 7\nprocs_running 8\nprocs_blocked 9\nsoftirq 1 2\ncpux 1\n";
        let parsed: Vec<StatLine> = parse_stat(text).collect();
        let total = CpuTimes { ticks: [7978, 0, 6695, 108_331, 468, 0, 88, 63, 0, 0], count: 10 };
        let one = CpuTimes { ticks: [1, 2, 3, 4, 0, 0, 0, 0, 0, 0], count: 4 };
        let totals: Vec<StatLine> = parse_stat_totals(text).collect();
        assert_eq!(totals[1], StatLine::Cpu(1, CpuTimes::default()));
        assert_eq!((totals[0], &totals[2..]), (parsed[0], &parsed[2..]));
        assert_eq!(
            parsed,
            [
                StatLine::Total(total),
                StatLine::Cpu(1, one),
                StatLine::Interrupts(549_787),
                StatLine::ContextSwitches(5),
                StatLine::BootTime(6),
                StatLine::Forks(7),
                StatLine::Running(8),
                StatLine::Blocked(9),
            ]
        );
    }
}
