//! What whit reports about its own CPU time agrees with what an outside observer measures: the
//! parent that waits for the process, as `time` does.

use std::process::{Command, Stdio};
use std::sync::Arc;

use procfs::{Host, SystemClock};
use sample::{Snapshot, State};
use source::{Entry, Sampler};

/// Where the child writes what it believes to have used, in µs.
const REPORT: &str = "OWN_COST_REPORT";

/// The recorded process: reads all sources of this machine for a while, `whit` last.
#[test]
fn child() {
    let Some(report) = std::env::var_os(REPORT) else { return };
    let entries: Vec<&'static Entry> = source::ALL.iter().collect();
    assert_eq!(entries.last().unwrap().def.name, "whit");
    let mut host = Host::new("/");
    let mut sampler = Sampler::open(&mut host, &entries, &Arc::default());
    let mut snapshot = Snapshot::new(&sampler.defs());
    for _ in 0..200 {
        sampler.sample(&mut host, &mut SystemClock, |_, _| State::Ok, &mut snapshot);
    }
    let table = &snapshot.samples.last().unwrap().table;
    let used = table.get(0, 0).unwrap() + table.get(0, 1).unwrap();
    std::fs::write(report, used.to_string()).unwrap();
}

#[test]
fn agrees_with_the_process_that_waits_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--test-threads=1"]).env(REPORT, &report);
    command.stdout(Stdio::null());
    let outside = testkit::bench::run_command(&mut command).unwrap().cpu_us();
    let inside: u64 = std::fs::read_to_string(&report).unwrap().parse().unwrap();
    // The child goes on a little after its last reading: one file written, the process torn down.
    assert!(inside > 20_000, "{inside} µs are too few to compare");
    assert!(inside <= outside, "inside {inside} µs, outside {outside} µs");
    assert!(outside - inside < 5_000 + outside / 20, "inside {inside} µs, outside {outside} µs");
}
