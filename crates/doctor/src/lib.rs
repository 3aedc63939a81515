//! The cost of reading each kernel file on this machine, and whether that is too much.
//!
//! `whit doctor` shows all results; `whit record` calls [`check`] when it starts on a big machine.
//! The kernel generates the text of a file at each read, so the cost grows with the machine: on 48
//! CPUs Linux 2.6.32 needed 15 ms for one `/proc/stat`.  Users should know that before they record.
//!
//! Uses: `source` for what is read, `procfs` to read it, `trace` and `bpf` to count system calls.
//! Begin with [`examine`], then `measure.rs`, which measures, and `verdict.rs`, which judges.
#![forbid(unsafe_code)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use procfs::Host;
use sample::Cadence;
use source::{Entry, SourceContext};

mod calls;
mod facts;
mod loading;
mod measure;
mod model;
mod print;
mod verdict;

pub use print::Findings;
pub use verdict::{Slow, Verdict};

/// Fewest CPUs with which `whit record` checks at its start, as collectl does.
pub const CHECK_CPUS_MIN: usize = 32;

/// Readings of each file in the check at the start of a recording.
const CHECK_READS: u32 = 5;

/// Longest that check may take before the first sample, unless a single round takes longer.
const CHECK_TIME: Duration = Duration::from_millis(300);

/// Longest that the readings of [`examine`] may take, however many were asked for.
const EXAMINE_TIME: Duration = Duration::from_secs(5);

/// Reads the kernel files of all sources `reads` times, and finds what the machine below `root` and
/// this process allow.  The verdict is for samples every `interval_ns` (0: 1 s).
pub fn examine(root: &Path, interval_ns: u64, reads: u32) -> Findings {
    let interval_ns = if interval_ns == 0 { 1_000_000_000 } else { interval_ns };
    let of_all = |entry: &&Entry| entry.is_of_all();
    let entries: Vec<&'static Entry> = source::ALL.iter().copied().filter(of_all).collect();
    let mut host = Host::new(root);
    let here = host.is_this_machine();
    let measured = measure::measure(&mut host, &entries, &Arc::default(), reads, EXAMINE_TIME);
    let model = model::model(&mut Host::new(root));
    let capabilities = if here { facts::capabilities() } else { Vec::new() };
    let mut facts = facts::facts(root, &capabilities);
    if here {
        facts.extend(loading::facts());
    }
    let kernel = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease"));
    let host_name = match here {
        true => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        false => root.display().to_string(),
    };
    Findings {
        host: host_name,
        kernel: kernel.map_or("unknown kernel".into(), |text| format!("Linux {}", text.trim_end())),
        interval_ns,
        verdict: verdict::of_all(&measured, interval_ns),
        slow: verdict::slow(&measured, interval_ns),
        measured,
        model,
        calls: here.then(calls::examine),
        capabilities,
        facts,
    }
}

/// Reads the files of `entries` a few times, on a separate [`Host`]; returns those that are dear
/// or too slow for the intervals at which they are read (see [`Cadence`]; 0: 1 s).
pub fn check(
    root: &Path,
    entries: &[&'static Entry],
    context: &Arc<SourceContext>,
    intervals_ns: [u64; 3],
) -> Vec<Slow> {
    check_on(&mut Host::new(root), entries, context, intervals_ns)
}

fn check_on(
    host: &mut Host,
    entries: &[&'static Entry],
    context: &Arc<SourceContext>,
    intervals_ns: [u64; 3],
) -> Vec<Slow> {
    let cadences = [Cadence::First, Cadence::Second, Cadence::Third];
    let mut slow = Vec::new();
    for (cadence, interval_ns) in cadences.into_iter().zip(intervals_ns) {
        let entries: Vec<&'static Entry> =
            entries.iter().copied().filter(|entry| entry.cadence == cadence).collect();
        if !entries.is_empty() {
            host.forget_touches();
            let measured = measure::measure(host, &entries, context, CHECK_READS, CHECK_TIME);
            slow.extend(verdict::slow(&measured, interval_ns));
        }
    }
    slow
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root with a small `/proc/stat` and `/proc/loadavg`.
    fn root() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        for (name, text) in [
            ("stat", "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5 1 2\nctxt 7\n"),
            ("loadavg", "0.20 0.18 0.12 1/80 11206\n"),
        ] {
            std::fs::write(root.path().join("proc").join(name), text).unwrap();
        }
        root
    }

    #[test]
    fn a_slow_proc_stat_is_found_and_the_letters_named() {
        const SECOND: u64 = 1_000_000_000;
        let root = root();
        let entries: Vec<&Entry> =
            ["cpu", "cpu_core"].iter().filter_map(|n| source::find(n)).collect();
        let check_with = |delay_ns: u64, interval_ns: u64| {
            let mut host = Host::new(root.path());
            host.set_delay("/proc/stat", delay_ns);
            check_on(&mut host, &entries, &Arc::default(), [interval_ns, 0, 0])
        };
        // The regression of 2.6.32.
        let slow = check_with(15_000_000, SECOND);
        assert_eq!(slow.len(), 1, "{slow:?}");
        assert_eq!(slow[0].path, "/proc/stat");
        assert_eq!(slow[0].verdict, verdict::Verdict::TooSlow);
        let text = slow[0].to_string();
        let (_, rest) = text.split_once("/proc/stat takes ").unwrap_or_default();
        let ms: f64 = rest.split(' ').next().and_then(|ms| ms.parse().ok()).unwrap_or_default();
        // Other work may delay it more.
        assert!((15.0..100.0).contains(&ms), "{text}");
        assert!(text.contains("c") && text.contains("C") && text.contains("-i"), "{text}");
        // The same file is dear every 10 s, and fine every minute.
        assert_eq!(check_with(15_000_000, 10 * SECOND)[0].verdict, verdict::Verdict::Dear);
        assert!(check_with(15_000_000, 60 * SECOND).is_empty());
        assert!(check_with(0, SECOND).is_empty());
    }
}
