//! Time comes from `Clock`, so that tests can replace it.
//!
//! Checked by calls: whatever a type is imported as, a clock is read by `now`, `elapsed` or a
//! system call.

use super::Complaints;
use super::rust;
use super::sources::is_below_cli;
use super::tree::Tree;

/// Calls that read a clock.
const READS: &[&str] =
    &["::now", ".elapsed()", "UNIX_EPOCH.elapsed", "clock_gettime", "gettimeofday", "libc::time("];

/// Files that may, and why.
const CLOCKS: &[(&str, &str)] = &[
    ("crates/alert/src/clock.rs", "is the clock of deliveries, whose waits are bounded"),
    ("crates/bench/", "measures programs against the clock on the wall"),
    ("crates/connection/src/clock.rs", "is the clock of connections, whose waits are bounded"),
    ("crates/doctor/src/calls.rs", "measures what a system call costs here"),
    (
        "crates/log_protocol/src/clock.rs",
        "is the clock of servers and proxies, which wait and retry",
    ),
    ("crates/logring/src/clock.rs", "stamps records, and reads all clocks at once"),
    ("crates/nats/src/clock.rs", "is the clock of waits for a server, which are bounded"),
    ("crates/poll/src/clock.rs", "is the clock of programs and of requests that are under way"),
    ("crates/procfs/src/clock.rs", "is the clock of this machine"),
    ("crates/procfs/src/probe.rs", "measures what each file costs, when asked to"),
    ("crates/run/src/engine/blocks.rs", "is the clock of a thread that reads blocks"),
    ("crates/run/src/engine/os.rs", "is the clock of running jobs"),
    ("crates/run/src/hosts/", "waits for hosts before any job runs"),
    ("crates/run/src/semaphore.rs", "waits for a slot before any job runs"),
    ("crates/send/src/clock.rs", "tells how old the newest sample is that waits to be sent"),
    ("crates/serve/src/clock.rs", "is the clock of queries that may not take too long"),
    ("crates/source/src/exit/taskstats.rs", "asks when this machine was started"),
    ("crates/source/src/process_counters.rs", "compares with start times of processes"),
    ("crates/spawn/src/launch.rs", "gives the start of a job, taken beside the clone"),
    ("crates/spawn/src/spawner.rs", "measures how long a job waited to be started"),
    ("crates/testkit/", "is for tests"),
    ("crates/trace/src/clock.rs", "is the clock of traced calls"),
    ("crates/trace/src/table/", "has the names of system calls"),
];

pub(super) fn check(tree: &Tree, complaints: &mut Complaints) {
    for (file, text) in tree.ending(".rs") {
        if is_below_cli(file) && !CLOCKS.iter().any(|(clock, _)| file.starts_with(clock)) {
            check_file(file, text, complaints);
        }
    }
}

fn check_file(file: &str, text: &str, complaints: &mut Complaints) {
    let code = rust::code(text);
    for (number, line) in rust::without_tests(&code).lines().enumerate() {
        // A crate may have a module `clock` that all others ask.
        let line = line.replace("clock::now", "");
        for read in READS.iter().filter(|read| line.contains(**read)) {
            complaints.push(format!("{file}:{}: `{read}`: time comes from `Clock`", number + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_spelling_is_found() {
        for line in [
            "let t = std::time::Instant::now();",
            "use std::time::SystemTime as S; let t = S::now();",
            "let t = start.unwrap_or_else(std::time::Instant::now);",
            "let t = jiff::Zoned::now();",
            "let t = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);",
            "let t = start.elapsed();",
        ] {
            let mut complaints = Vec::new();
            check_file("crates/x/src/a.rs", line, &mut complaints);
            assert_eq!(complaints.len(), 1, "{line}: {complaints:?}");
        }
        let mut complaints = Vec::new();
        check_file("crates/x/src/a.rs", "let t = clock.now(); // Instant::now", &mut complaints);
        assert!(complaints.is_empty(), "{complaints:?}");
    }
}
