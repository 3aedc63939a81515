//! What whit reports about its own CPU time agrees with what an outside observer measures: the
//! parent that waits for the process, as `time` does, and for BPF programs the kernel.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::process::{Command, Stdio};
use std::sync::Arc;

use procfs::{Host, SystemClock};
use sample::{Snapshot, State};
use source::{Entry, RecorderCounters, Sampler, SharedState, SourceContext};

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
    let mut command = testkit::own_test("own_cost::child");
    command.env(REPORT, &report);
    command.stdout(Stdio::null());
    let outside = cpu_us_of(&mut command);
    let inside: u64 = std::fs::read_to_string(&report).unwrap().parse().unwrap();
    // The child goes on a little after its last reading: one file written, the process torn down.
    assert!(inside > 20_000, "{inside} µs are too few to compare");
    assert!(inside <= outside, "inside {inside} µs, outside {outside} µs");
    assert!(outside - inside < 5_000 + outside / 20, "inside {inside} µs, outside {outside} µs");
}

/// The run time of this process's BPF programs as the kernel shows it beside their descriptors.
fn run_ns_by_kernel() -> u64 {
    let entries = std::fs::read_dir("/proc/self/fdinfo").unwrap();
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
    let run_ns = texts.filter_map(|text| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == "run_time_ns")?.1.trim().parse::<u64>().ok()
    });
    run_ns.sum()
}

/// Many short lives, two at a time.
fn flood(lives: u32) -> Vec<std::process::Child> {
    let script = format!("i=0; while [ $i -lt {} ]; do /bin/true; i=$((i+1)); done", lives / 2);
    let shell = || Command::new("/bin/sh").args(["-c", &script]).spawn().unwrap();
    vec![shell(), shell()]
}

#[test]
fn the_cpu_time_of_bpf_programs_is_the_kernels() {
    let recorder = Arc::new(RecorderCounters::default());
    let shared = SharedState { recorder: Some(recorder), ..SharedState::default() };
    let context = Arc::new(SourceContext { shared, ..SourceContext::default() });
    let own = source::find("whit").unwrap();
    let entries = [source::find("exit").unwrap(), own];
    let mut host = Host::new("/");
    let mut sampler = Sampler::open(&mut host, &entries, &context);
    let mut snapshot = Snapshot::new(&sampler.defs());
    let mut bpf_us = || {
        sampler.sample(&mut host, &mut SystemClock, |_, _| State::Ok, &mut snapshot);
        snapshot.samples[1].table.get(0, own.field("bpf").unwrap())
    };
    if context.shared.processes.exit_method() != Some("bpf") {
        assert_eq!(bpf_us(), None, "missing, not 0");
        let why = source::Trial::new().ring.expect_err("exit events can be had");
        return testkit::skip_refused("exit events", &why);
    }
    let measuring = match bpf::SyscallCounts::measure() {
        Ok(measuring) => measuring,
        Err(error) => {
            return testkit::skip_refused("run times of BPF programs", &error.to_string());
        }
    };
    let (ours, kernel) = (bpf_us().unwrap(), run_ns_by_kernel());
    let mut shells = flood(10_000);
    while shells.iter_mut().any(|shell| shell.try_wait().unwrap().is_none()) {
        std::thread::sleep(std::time::Duration::from_millis(100));
        bpf_us();
    }
    let (ours, kernel) = (bpf_us().unwrap() - ours, (run_ns_by_kernel() - kernel) / 1_000);
    drop(measuring);
    // 10,000 lives are 30,000 runs; that of an exit takes a microsecond on any machine.
    assert!(ours >= 10_000, "{ours} us");
    // The kernel's measurement has 40 ns more of each run.
    assert!(ours > kernel / 2 && ours < kernel + kernel / 10, "{ours} us, kernel {kernel} us");
}
