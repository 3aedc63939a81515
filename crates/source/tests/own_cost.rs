//! What whit reports about its own CPU time agrees with what an outside observer measures: the
//! parent that waits for the process, as `time` does.

use std::process::{Command, Stdio};
use std::sync::Arc;

use procfs::{Host, SystemClock};
use sample::{Snapshot, State};
use source::{Entry, Sampler};

/// Where the child writes what it believes to have used, in µs.
const REPORT: &str = "OWN_COST_REPORT";

/// CPU time of a program and all that it waited for, by the kernel's account of it.
fn cpu_us_of(command: &mut Command) -> u64 {
    // The call below waits for it, in place of `Child::wait`, which gives no account.
    #[allow(clippy::zombie_processes)]
    let child = command.spawn().expect("the test starts itself");
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::uninit());
    let pid = child.id().cast_signed();
    // SAFETY: both pointers are to what the kernel fills.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    assert_eq!((waited, status), (pid, 0));
    // SAFETY: the call has filled it.
    let usage = unsafe { usage.assume_init() };
    let us = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned();
    us(usage.ru_utime) + us(usage.ru_stime)
}

/// The recorded process: reads all sources of this machine for a while, `whit` last.
#[test]
fn child() {
    let Some(report) = std::env::var_os(REPORT) else { return };
    // Last, so that what all others cost is in it.
    let is_own = |entry: &&Entry| entry.name == "whit";
    let others = source::ALL.iter().copied().filter(|entry| !is_own(entry));
    let entries: Vec<&'static Entry> = others.chain(source::find("whit")).collect();
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
    let outside = cpu_us_of(&mut command);
    let inside: u64 = std::fs::read_to_string(&report).unwrap().parse().unwrap();
    // The child goes on a little after its last reading: one file written, the process torn down.
    assert!(inside > 20_000, "{inside} µs are too few to compare");
    assert!(inside <= outside, "inside {inside} µs, outside {outside} µs");
    assert!(outside - inside < 5_000 + outside / 20, "inside {inside} µs, outside {outside} µs");
}
