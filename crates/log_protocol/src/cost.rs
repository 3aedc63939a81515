//! What this process costs its machine: proxies and servers say it of themselves.
//!
//! Two system calls and one read of `/proc/self/statm` (proc(5)); asked once a second at most.

use std::fmt;
use std::time::Duration;

use crate::clock;

/// Between two records about the own cost.
pub const TOLD_EVERY: Duration = Duration::from_secs(60);

/// What a process has cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnCost {
    /// Time of CPUs, user and system, in ns.
    pub cpu_ns: u64,
    /// Resident memory, in bytes; 0: unknown.
    pub memory_bytes: u64,
}

impl OwnCost {
    /// What this process has cost until now.
    #[must_use]
    pub fn read() -> Self {
        // `size resident shared ...`, in pages.
        let pages = std::fs::read_to_string("/proc/self/statm")
            .ok()
            .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
        let page = rustix::param::page_size() as u64;
        OwnCost { cpu_ns: clock::cpu_ns(), memory_bytes: pages.unwrap_or(0) * page }
    }

    /// In words: what was spent since another reading, that long ago.
    pub fn since<'a>(&'a self, before: &'a OwnCost, span: Duration) -> impl fmt::Display + 'a {
        struct Since<'a>(&'a OwnCost, &'a OwnCost, Duration);
        impl fmt::Display for Since<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Since(now, before, span) = self;
                let ms = now.cpu_ns.saturating_sub(before.cpu_ns) / 1_000_000;
                let (seconds, kib) = (span.as_secs(), now.memory_bytes >> 10);
                write!(f, "own cost: {ms} ms of CPU in {seconds} s, {kib} KiB of memory")
            }
        }
        Since(self, before, span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs() {
        let before = OwnCost::read();
        let mut sum = 0_u64;
        while OwnCost::read().cpu_ns < before.cpu_ns + 20_000_000 {
            sum = sum.wrapping_mul(31).wrapping_add(std::hint::black_box(7));
        }
        std::hint::black_box(sum);
        let now = OwnCost::read();
        assert!(now.memory_bytes > 100_000, "{now:?}");
        let text = now.since(&before, Duration::from_secs(3)).to_string();
        assert!(text.contains(" ms of CPU in 3 s, "), "{text}");
    }
}
