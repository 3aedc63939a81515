//! Ends of real processes, by each way of learning of them, beside what their parent is told.
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use procfs::{Host, SystemClock};
use sample::{Sample, Snapshot, State};
use source::{ExitWays, Limits, Sampler};

const BPF: ExitWays = ExitWays { without_bpf: false, without_taskstats: true };
const TASKSTATS: ExitWays = ExitWays { without_bpf: true, without_taskstats: false };
const NONE: ExitWays = ExitWays { without_bpf: true, without_taskstats: true };

/// Sources of processes on this machine, read as a recorder reads them.
struct Watch {
    host: Host,
    limits: Arc<Limits>,
    sampler: Sampler,
    snapshot: Snapshot,
}

impl Watch {
    /// `None`, and why, where this way does not work.
    fn open(names: &[&str], exit_ways: ExitWays) -> Option<Self> {
        let mut host = Host::new("/");
        let limits = Arc::new(Limits { exit_ways, ..Limits::default() });
        let entries: Vec<_> = names.iter().filter_map(|name| source::find(name)).collect();
        assert_eq!(entries.len(), names.len());
        let sampler = Sampler::open(&mut host, &entries, &limits);
        let snapshot = Snapshot::new(&sampler.defs());
        if exit_ways != NONE && limits.processes.exit_way().is_none() {
            eprintln!("skipped: {exit_ways:?} does not work here");
            return None;
        }
        Some(Watch { host, limits, sampler, snapshot })
    }

    fn tick(&mut self) {
        self.sampler.sample(&mut self.host, &mut SystemClock, |_, _| State::Ok, &mut self.snapshot);
    }

    fn sample(&self, name: &str) -> &Sample {
        let place = self.sampler.defs().iter().position(|def| def.name == name);
        &self.snapshot.samples[place.expect("a source that was opened")]
    }
}

fn field(source: &str, name: &str) -> usize {
    let def = source::find(source).expect("a source").def;
    def.fields.iter().position(|field| field.name == name).expect("a field")
}

/// What a parent is told of a child.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    code: u64,
    signal: u64,
    cpu_ns: u64,
    minor_faults: u64,
}

/// Runs a program to its end.
#[allow(clippy::zombie_processes, reason = "waited for by wait4")]
fn run(program: &str, arguments: &[&str]) -> (u32, Told) {
    let child = Command::new(program).args(arguments).spawn().expect("a program");
    // SAFETY: plain integers, for which any bits will do.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    let pid = child.id().cast_signed();
    // SAFETY: both pointers are to what the kernel fills.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!(waited, pid);
    let micros = |time: libc::timeval| (time.tv_sec * 1_000_000 + time.tv_usec).cast_unsigned();
    let told = Told {
        code: (status >> 8 & 0xFF) as u64,
        signal: (status & 0x7F) as u64,
        cpu_ns: (micros(usage.ru_utime) + micros(usage.ru_stime)) * 1000,
        minor_faults: usage.ru_minflt.cast_unsigned(),
    };
    (child.id(), told)
}

/// 200 short processes: codes and faults are the parent's to the number, CPU time within
/// `tolerance` hundredths of the sum.
fn short_lives(exit_ways: ExitWays, tolerance: u64) {
    let Some(mut watch) = Watch::open(&["exit"], exit_ways) else { return };
    watch.tick();
    let mut children = HashMap::new();
    for number in 0..200 {
        let end = if number % 10 == 9 { "kill -9 $$".into() } else { format!("exit {number}") };
        let script = format!("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; {end}");
        children.extend([run("/bin/sh", &["-c", &script])]);
    }
    // The CPU time is final when the kernel frees a process.
    std::thread::sleep(Duration::from_millis(300));
    watch.tick();
    let sample = watch.sample("exit");
    assert_eq!(sample.state, State::Ok);
    let table = &sample.table;
    let get = |row, name| table.get(row, field("exit", name));
    let (mut seen, mut ours, mut theirs) = (0, 0, 0);
    for row in 0..table.rows() {
        let name = String::from_utf8(table.name(row).to_vec()).expect("digits");
        let pid: u32 = name.split('\x1f').next().expect("a number").parse().expect("a number");
        let Some(told) = children.get(&pid) else { continue };
        seen += 1;
        assert_eq!(get(row, "exit_code"), (told.signal == 0).then_some(told.code));
        assert_eq!(get(row, "signal"), (told.signal != 0).then_some(told.signal));
        assert_eq!(get(row, "minor_faults"), Some(told.minor_faults));
        assert_eq!(get(row, "parent"), Some(u64::from(std::process::id())));
        assert_eq!(get(row, "uid"), Some(rustix::process::getuid().as_raw().into()));
        assert_eq!(table.text(row, field("exit", "command")), Some(&b"sh"[..]));
        assert!(get(row, "peak_resident") > Some(100) && get(row, "lifetime") > Some(0));
        assert!(get(row, "read_chars").is_some() && get(row, "voluntary_switches").is_some());
        ours += get(row, "user_time").expect("user") + get(row, "system_time").expect("system");
        theirs += told.cpu_ns;
        if !exit_ways.without_bpf {
            let line = table.text(row, field("exit", "command_line")).expect("a command line");
            assert!(line.starts_with(b"/bin/sh -c i=0; while ["), "{:?}", line.utf8_chunks());
            assert!(get(row, "cgroup_id").is_some());
        }
    }
    let counters = &watch.limits.processes;
    let lost = counters.exits_lost.get();
    assert_eq!(seen + lost, 200);
    eprintln!("{exit_ways:?}: CPU {ours} ns, the parent says {theirs} ns, {lost} lost");
    assert!(ours.abs_diff(theirs) <= theirs * tolerance / 100, "{ours} {theirs}");
}

#[test]
fn the_ring_tells_of_short_lives_what_their_parent_is_told() {
    short_lives(BPF, 3);
}

#[test]
fn taskstats_tell_of_short_lives_what_their_parent_is_told() {
    // CPU time is sampled by a tick of 4 ms or so.
    short_lives(TASKSTATS, 30);
}

#[test]
fn without_any_way_the_source_is_absent() {
    let mut watch = Watch::open(&["exit"], NONE).expect("nothing needed");
    watch.tick();
    assert_eq!(watch.sample("exit").state, State::Absent);
    assert_eq!(watch.limits.processes.exit_way(), None);
}

#[test]
fn a_ring_that_nobody_empties_loses_ends_and_counts_each() {
    let Some(mut watch) = Watch::open(&["exit"], BPF) else { return };
    watch.tick();
    let told = |watch: &Watch| {
        let counters = &watch.limits.processes;
        counters.exits.get() + counters.exits_lost.get()
    };
    let before = told(&watch);
    // Ends of others on this machine count too: our own stand out by their parent.
    let script = "i=0; while [ $i -lt 10000 ]; do /bin/true; i=$((i+1)); done";
    let mut shell = Command::new("/bin/sh").args(["-c", script]).spawn().expect("a shell");
    let parent = shell.id();
    shell.wait().expect("its end");
    std::thread::sleep(Duration::from_millis(300));
    watch.tick();
    let table = &watch.sample("exit").table;
    let is_ours = |&row: &usize| table.get(row, field("exit", "parent")) == Some(parent.into());
    let seen = (0..table.rows()).filter(is_ours).count() as u64;
    let others = table.rows() as u64 - seen;
    let lost = watch.limits.processes.exits_lost.get();
    eprintln!(
        "{seen} seen, {lost} lost, {others} of others seen, {} in all",
        told(&watch) - before
    );
    assert!(lost > 0 && seen > 1000);
    // What was lost of others' is not known apart; what is seen of them says how many there were.
    assert!(seen + lost >= 10_000, "{seen} {lost}");
    let others_at_most = 10 + 4 * others;
    assert!(seen + lost <= 10_000 + others_at_most, "{seen} {lost} {others}");
}

/// What a busy machine's processes used, beside what the machine says it was: busy, not
/// attributed, and used by processes that began and ended between two looks.
fn unattributed(exit_ways: ExitWays) -> Option<(f64, f64, f64)> {
    let mut watch = Watch::open(&["exit", "process", "process_total"], exit_ways)?;
    watch.tick();
    if watch.sample("process").state != State::Ok {
        eprintln!("skipped: processes cannot be read in one pass here");
        return None;
    }
    let sums = |watch: &Watch| {
        let table = &watch.sample("process_total").table;
        let get = |name| table.get(0, field("process_total", name)).expect("a sum");
        (get("attributed"), get("busy"))
    };
    let before = sums(&watch);
    // One long life, many short ones, and one that ends in between.
    let long = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
    let mut long = Command::new("/bin/sh").args(["-c", long]).spawn().expect("a shell");
    let begun = std::time::Instant::now();
    let mut short_ns = 0;
    while begun.elapsed() < Duration::from_secs(4) {
        let script = "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done";
        short_ns += run("/bin/sh", &["-c", script]).1.cpu_ns;
        if begun.elapsed() > Duration::from_secs(2) {
            watch.tick();
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    watch.tick();
    let after = sums(&watch);
    long.kill().expect("kill");
    long.wait().expect("its end");
    let (attributed, busy) = (after.0 - before.0, after.1 - before.1);
    eprintln!("{exit_ways:?}: busy {busy} ns, attributed {attributed} ns, short {short_ns} ns");
    Some((busy as f64, busy as f64 - attributed as f64, short_ns as f64))
}

#[test]
fn the_cpu_time_of_a_busy_machine_is_attributed_and_hidden_ends_show() {
    let Some((busy, missing, _)) = unattributed(BPF) else { return };
    assert!(missing.abs() < 0.06 * busy, "{missing} of {busy}");
    let Some((_, missing, short)) = unattributed(NONE) else { return };
    assert!(short > 5e8 && missing > 0.8 * short, "{missing} of {short}");
}

#[test]
fn what_is_still_in_the_ring_at_the_end_is_shown_by_a_last_look() {
    for ways in [BPF, TASKSTATS] {
        let Some(mut watch) = Watch::open(&["cpu", "exit"], ways) else { continue };
        watch.tick();
        watch.tick();
        let mine: Vec<u32> = (0..20).map(|_| run("true", &[]).0).collect();
        let Watch { host, sampler, snapshot, .. } = &mut watch;
        // At once: none of them has settled.
        assert!(sampler.finish(host, &mut SystemClock, snapshot), "{ways:?}");
        assert_eq!(watch.snapshot.fresh, [false, true], "{ways:?}: nobody else is disturbed");
        let table = &watch.sample("exit").table;
        let shown = |pid: &u32| {
            let begin = format!("{pid}\x1f");
            (0..table.rows()).any(|row| table.name(row).starts_with(begin.as_bytes()))
        };
        let missing: Vec<&u32> = mine.iter().filter(|pid| !shown(pid)).collect();
        assert!(missing.is_empty(), "{ways:?}: {missing:?}");
    }
}

#[test]
fn without_ends_there_is_no_last_look() {
    let mut watch = Watch::open(&["cpu", "exit"], NONE).expect("no way works everywhere");
    watch.tick();
    let before = watch.snapshot.monotonic_ns;
    let Watch { host, sampler, snapshot, .. } = &mut watch;
    assert!(!sampler.finish(host, &mut SystemClock, snapshot));
    assert_eq!(watch.snapshot.monotonic_ns, before);
}
