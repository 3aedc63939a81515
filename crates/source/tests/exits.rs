//! Ends of real processes, by each method of learning of them, beside what their parent is told.
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

use std::collections::HashMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use procfs::{Host, SystemClock};
use sample::{Sample, Snapshot, State};
use source::{ExcludedExitMethods, ProcessMethod, ProcessOptions, Sampler, SourceContext};
use testkit::Running;

/// Sums over all processes of the machine are compared by one test, which the many short lives of
/// the others would blur: what ends together with its parent is nobody's.
static WHOLE_MACHINE: RwLock<()> = RwLock::new(());

const NONE: ExcludedExitMethods =
    ExcludedExitMethods { bpf: true, taskstats: true, inferred: true };
const BPF: ExcludedExitMethods = ExcludedExitMethods { bpf: false, ..NONE };
const TASKSTATS: ExcludedExitMethods = ExcludedExitMethods { taskstats: false, ..NONE };
const INFERRED: ExcludedExitMethods = ExcludedExitMethods { inferred: false, ..NONE };

/// Sources of processes on this machine, read as a recorder reads them.
struct Watch {
    host: Host,
    context: Arc<SourceContext>,
    sampler: Sampler,
    snapshot: Snapshot,
}

impl Watch {
    /// `None`, and why, where this method does not work.
    fn open(names: &[&str], excluded: ExcludedExitMethods) -> Option<Self> {
        Watch::open_method(names, excluded, None)
    }

    fn open_method(
        names: &[&str],
        excluded: ExcludedExitMethods,
        method: Option<ProcessMethod>,
    ) -> Option<Self> {
        let mut host = Host::new("/");
        let process = ProcessOptions { method, ..ProcessOptions::default() };
        let context = Arc::new(SourceContext {
            excluded_exit_methods: excluded,
            ..SourceContext::with_process(process)
        });
        let entries: Vec<_> = names.iter().filter_map(|name| source::find(name)).collect();
        assert_eq!(entries.len(), names.len());
        let sampler = Sampler::open(&mut host, &entries, &context);
        let snapshot = Snapshot::new(&sampler.defs());
        if excluded != NONE && context.shared.processes.exit_method().is_none() {
            let trial = source::Trial::new();
            let errors = [(excluded.bpf, trial.ring), (excluded.taskstats, trial.taskstats)];
            let errors = errors.into_iter().filter(|(is_excluded, _)| !is_excluded);
            let errors: Vec<String> = errors.filter_map(|(_, tried)| tried.err()).collect();
            testkit::skip_refused("exit events", &errors.join("; "));
            return None;
        }
        Some(Watch { host, context, sampler, snapshot })
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
    let def = source::find(source).expect("a source").def();
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

/// 200 short processes: each is seen or counted as lost; codes and faults are the parent's to the
/// number, CPU time within `tolerance` hundredths of the sum.
fn short_lives(excluded: ExcludedExitMethods, tolerance: u64) {
    let Some(mut watch) = Watch::open(&["exit"], excluded) else { return };
    watch.tick();
    let mut children = HashMap::new();
    for number in 0..200 {
        let end = if number % 10 == 9 { "kill -9 $$".into() } else { format!("exit {number}") };
        let script = format!("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; {end}");
        let (pid, told) = run("/bin/sh", &["-c", &script]);
        // Of two with one id, when ids have wrapped, nobody says which is which.
        children.entry(pid).and_modify(|one| *one = None).or_insert(Some(told));
    }
    // The CPU time is final when the kernel frees a process.
    std::thread::sleep(Duration::from_millis(300));
    watch.tick();
    let sample = watch.sample("exit");
    assert_eq!(sample.state, State::Ok);
    let table = &sample.table;
    let get = |row, name| table.get(row, field("exit", name));
    let (mut seen, mut ours, mut shown, mut theirs) = (0, 0, 0, 0);
    for row in 0..table.rows() {
        let name = String::from_utf8(table.name(row).to_vec()).expect("digits");
        let pid: u32 = name.split('\x1f').next().expect("a number").parse().expect("a number");
        let Some(told) = children.get(&pid) else { continue };
        // An id may have been another's before or after.
        if get(row, "parent") != Some(u64::from(std::process::id())) {
            continue;
        }
        seen += 1;
        let Some(told) = told else { continue };
        assert_eq!(get(row, "exit_code"), (told.signal == 0).then_some(told.code));
        assert_eq!(get(row, "signal"), (told.signal != 0).then_some(told.signal));
        assert_eq!(get(row, "minor_faults"), Some(told.minor_faults));
        assert_eq!(get(row, "uid"), Some(rustix::process::getuid().as_raw().into()));
        assert_eq!(table.text(row, field("exit", "command")), Some(&b"sh"[..]));
        assert!(get(row, "peak_resident") > Some(100) && get(row, "lifetime") > Some(0));
        assert!(get(row, "read_chars").is_some() && get(row, "voluntary_switches").is_some());
        let parts = get(row, "user_time").expect("user") + get(row, "system_time").expect("system");
        ours += parts;
        // What CPU % is computed from.
        shown += get(row, "run_time").unwrap_or(parts);
        theirs += told.cpu_ns;
        if !excluded.bpf {
            let line = table.text(row, field("exit", "command_line")).expect("a command line");
            assert!(line.starts_with(b"/bin/sh -c i=0; while ["), "{:?}", line.utf8_chunks());
            assert!(get(row, "cgroup_id").is_some());
        }
    }
    let counters = &watch.context.shared.processes;
    let lost = counters.exits_lost.get();
    // On a busy machine some of the lost are of others.
    assert!(seen <= 200 && seen + lost >= 200, "{seen} {lost}");
    eprintln!(
        "{excluded:?}: CPU {ours} ns, shown {shown} ns, the parent says {theirs} ns, {lost} lost"
    );
    assert!(ours.abs_diff(theirs) <= theirs * tolerance / 100, "{ours} {theirs}");
    assert!(shown.abs_diff(theirs) <= theirs * tolerance / 100, "{shown} {theirs}");
}

#[test]
fn the_ring_tells_of_short_lives_what_their_parent_is_told() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    short_lives(BPF, 3);
}

#[test]
fn taskstats_tell_of_short_lives_what_their_parent_is_told() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    // The record is written before the process has freed its memory.
    short_lives(TASKSTATS, 20);
}

#[test]
fn without_any_way_the_source_is_absent() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let mut watch = Watch::open(&["exit"], NONE).expect("nothing needed");
    watch.tick();
    assert_eq!(watch.sample("exit").state, State::Absent);
    assert_eq!(watch.context.shared.processes.exit_method(), None);
}

#[test]
fn a_ring_that_nobody_empties_loses_ends_and_counts_each() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let Some(mut watch) = Watch::open(&["exit"], BPF) else { return };
    watch.tick();
    let told = |watch: &Watch| {
        let counters = &watch.context.shared.processes;
        counters.exits.get() + counters.exits_lost.get()
    };
    let (before, forked) = (told(&watch), forks());
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
    let lost = watch.context.shared.processes.exits_lost.get();
    eprintln!(
        "{seen} seen, {lost} lost, {others} of others seen, {} in all",
        told(&watch) - before
    );
    assert!(lost > 0 && seen > 1000);
    // What was lost of others' is not known apart; no more have ended than have begun, but for some
    // that were there before.
    assert!(seen + lost >= 10_000, "{seen} {lost}");
    let forked = forks() - forked;
    assert!(seen + others + lost <= forked + 50, "{seen} {others} {lost} {forked}");
}

/// Processes and threads that have begun since the machine was started.
fn forks() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let count = stat.lines().find_map(|line| line.strip_prefix("processes ")).expect("a line");
    count.trim().parse().expect("a number")
}

/// What a busy machine's processes used, beside what the machine says it was, ns.
struct Share {
    /// Used by anybody.
    busy: f64,
    /// Of that, not attributed to a process.
    missing: f64,
    /// Used by processes that began and ended between two looks.
    short: f64,
    /// Taken by the machine's host meanwhile: processes are charged for it, the machine is not.
    stolen: f64,
}

impl Share {
    /// Whether all of it is attributed, as far as ticks can tell.
    fn is_whole(&self) -> bool {
        self.missing.abs() < 0.06 * self.busy + self.stolen
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Share { busy, missing, short, stolen } = self;
        write!(out, "busy {busy} ns, missing {missing}, short {short}, stolen {stolen}")
    }
}

/// Time that the host took from this machine's CPUs, ns (`steal` of proc_stat(5)).
fn stolen_ns() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").expect("/proc/stat");
    let line = stat.lines().next().expect("a line");
    let ticks: f64 =
        line.split_whitespace().nth(8).map_or(0.0, |text| text.parse().expect("ticks"));
    ticks * 1e7
}

/// Measures until a claim holds, three times at most; `None` where it cannot be measured.
///
/// The machine's own sum counts whole ticks of whatever ran when they fell; beside other work that
/// comes and goes it is wrong by more than a part of a single measurement now and then.  What is not
/// attributed at all is missing every time.
fn holds(measure: impl Fn() -> Option<Share>, claim: impl Fn(&Share) -> bool) -> Option<()> {
    let mut shares = Vec::new();
    for _ in 0..3 {
        let share = measure()?;
        if claim(&share) {
            return Some(());
        }
        shares.push(share.to_string());
    }
    panic!("never held: {}", shares.join("; "));
}

fn unattributed(excluded: ExcludedExitMethods) -> Option<Share> {
    unattributed_method(excluded, None)
}

fn unattributed_method(
    excluded: ExcludedExitMethods,
    method: Option<ProcessMethod>,
) -> Option<Share> {
    let mut watch = Watch::open_method(&["exit", "process", "process_total"], excluded, method)?;
    watch.tick();
    if watch.sample("process").state != State::Ok {
        let why = watch.context.shared.processes.method_reason();
        testkit::skip_refused("the BPF iterator", &why);
        return None;
    }
    let sums = |watch: &Watch| {
        let table = &watch.sample("process_total").table;
        let get = |name| table.get(0, field("process_total", name)).expect("a sum");
        (get("attributed"), get("busy"))
    };
    let before = (sums(&watch), stolen_ns());
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
    let after = (sums(&watch), stolen_ns());
    long.kill().expect("kill");
    long.wait().expect("its end");
    let stolen = after.1 - before.1;
    let (attributed, busy) = ((after.0.0 - before.0.0) as f64, (after.0.1 - before.0.1) as f64);
    let share = Share { busy, missing: busy - attributed, short: short_ns as f64, stolen };
    eprintln!("{excluded:?}: {share}");
    Some(share)
}

#[test]
fn the_cpu_time_of_a_busy_machine_is_attributed_and_hidden_ends_show() {
    let _alone = WHOLE_MACHINE.write().unwrap_or_else(PoisonError::into_inner);
    if holds(|| unattributed(BPF), Share::is_whole).is_none() {
        return;
    }
    let is_missing =
        |share: &Share| share.short > 5e8 && share.missing > 0.8 * share.short - share.stolen;
    if holds(|| unattributed(NONE), is_missing).is_none() {
        return;
    }
    // What their parent was told of them fills the gap, whichever method processes are read.
    for method in [ProcessMethod::Iterator, ProcessMethod::Proc] {
        holds(|| unattributed_method(INFERRED, Some(method)), Share::is_whole);
    }
}

/// What was inferred about the children of one process: CPU time in ns and faults without I/O.
fn inferred_of(watch: &Watch, parent: u32) -> (u64, u64) {
    let table = &watch.sample("exit").table;
    let get = |row, name| table.get(row, field("exit", name));
    let of_it = |&row: &usize| get(row, "parent") == Some(parent.into());
    let mut sums = (0, 0);
    for row in (0..table.rows()).filter(of_it) {
        assert_eq!(table.text(row, field("exit", "origin")), Some(&b"inferred"[..]));
        let name = table.text(row, field("exit", "command")).expect("a name");
        assert!(name.starts_with(b"children of "), "{:?}", name.utf8_chunks());
        for nobody_knows in ["exit_code", "signal", "uid", "lifetime", "run_time", "cgroup_id"] {
            assert_eq!(get(row, nobody_knows), None, "{nobody_knows}");
        }
        sums.0 += get(row, "user_time").expect("user") + get(row, "system_time").expect("system");
        sums.1 += get(row, "minor_faults").expect("faults");
    }
    sums
}

/// What passes have shown of a process so far, in the same measure.
fn shown_of(watch: &Watch, pid: u32) -> Option<(u64, u64)> {
    let table = &watch.sample("process").table;
    let name = format!("{pid}\x1f");
    let row = (0..table.rows()).find(|&row| table.name(row).starts_with(name.as_bytes()))?;
    let get = |name| table.get(row, field("process", name)).expect("a number");
    Some(((get("user_time") + get("system_time")) * 10_000_000, get("minor_faults")))
}

#[test]
fn without_ends_the_use_of_children_is_read_off_their_parent() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    for method in [ProcessMethod::Iterator, ProcessMethod::Proc] {
        let names = ["exit", "process", "process_total"];
        let Some(mut watch) = Watch::open_method(&names, INFERRED, Some(method)) else { continue };
        watch.tick();
        if watch.sample("process").state != State::Ok {
            let why = watch.context.shared.processes.method_reason();
            testkit::skip_refused("the BPF iterator", &why);
            continue;
        }
        assert_eq!(watch.context.shared.processes.exit_method(), Some("inferred"));
        let mut shell = Shell::new();
        shell.run("true");
        watch.tick();
        assert_eq!(inferred_of(&watch, shell.id()), (0, 0), "{method:?}: before it began");
        // Children that no pass sees.
        let before = shell.told();
        let short = "sh -c 'j=0; while [ $j -lt 4000 ]; do j=$((j+1)); done'";
        shell.run(&format!("i=0; while [ $i -lt 40 ]; do {short}; i=$((i+1)); done"));
        let after = shell.told();
        watch.tick();
        let found = inferred_of(&watch, shell.id());
        assert!(found.0 >= 50_000_000, "{method:?}: {found:?}");
        assert!(found.0.abs_diff(after.0 - before.0) <= 20_000_000, "{method:?}: {found:?}");
        assert_eq!(found.1, after.1 - before.1, "{method:?}: faults");
        watch.tick();
        assert_eq!(inferred_of(&watch, shell.id()), (0, 0), "{method:?}: told once");
        // A child that a pass sees at work, and that works on before it ends.
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let pipe = pipe.to_str().expect("a name");
        let work = "k=0; while [ $k -lt 200000 ]; do k=$((k+1)); done";
        shell.run(&format!(
            "mkfifo {pipe}; sh -c '{work}; read l <{pipe}; {work}' & child=$!; sleep 0.1"
        ));
        watch.tick();
        shell.run("echo $child");
        let child: u32 = shell.said.trim().parse().expect("a number");
        let is_waiting = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/wchan"));
            state.is_ok_and(|place| place.contains("fifo") || place.contains("wait_for_partner"))
        };
        for _ in 0..1000 {
            if is_waiting() {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        watch.tick();
        let (before, shown) = (shell.told(), shown_of(&watch, child).expect("it lives"));
        std::fs::write(pipe, "go\n").expect("the pipe");
        shell.run("wait $child");
        let after = shell.told();
        watch.tick();
        let found = inferred_of(&watch, shell.id());
        let whole = (after.0 - before.0, after.1 - before.1);
        eprintln!("{method:?}: of {whole:?} {shown:?} were shown, {found:?} are inferred");
        assert!(shown.0 >= 30_000_000 && whole.0 >= shown.0 + 30_000_000, "{shown:?} {whole:?}");
        assert!(found.0.abs_diff(whole.0 - shown.0) <= 30_000_000, "{method:?}: {found:?}");
        assert_eq!(found.1, whole.1 - shown.1, "{method:?}: faults");
        watch.tick();
        assert_eq!(inferred_of(&watch, shell.id()), (0, 0), "{method:?}: told once");
        let total = &watch.sample("process_total").table;
        let place = |name: &str| field("process_total", name);
        assert_eq!(total.text(0, place("exit_way")), Some(&b"inferred"[..]));
        for nobody_counts in ["exits", "exits_lost", "execs"] {
            assert_eq!(total.get(0, place(nobody_counts)), None, "{nobody_counts}");
        }
    }
}

#[test]
fn nothing_is_inferred_where_not_all_processes_are_read() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let mut host = Host::new("/");
    let process = ProcessOptions { only_first: true, ..ProcessOptions::default() };
    let context = Arc::new(SourceContext {
        excluded_exit_methods: INFERRED,
        ..SourceContext::with_process(process)
    });
    Sampler::open(&mut host, &[source::find("exit").expect("a source")], &context);
    assert_eq!(context.shared.processes.exit_method(), None);
}

/// A shell that runs what it is told and says when it is done.
struct Shell {
    child: Running,
    output: std::io::BufReader<std::process::ChildStdout>,
    /// What the latest command said.
    said: String,
}

impl Shell {
    fn new() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while read -r line; do eval \"$line\"; echo .; done"]);
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = Running::start(&mut command);
        let output = std::io::BufReader::new(child.stdout.take().expect("its output"));
        Shell { child, output, said: String::new() }
    }

    fn id(&self) -> u32 {
        self.child.id()
    }

    fn run(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("its input");
        std::io::Write::write_all(input, format!("{line}\n").as_bytes()).expect("a pipe");
        self.said.clear();
        loop {
            let mut line = String::new();
            let count = std::io::BufRead::read_line(&mut self.output, &mut line).expect("a line");
            if count == 0 || line == ".\n" {
                return;
            }
            self.said.push_str(&line);
        }
    }

    /// What it was told of its children so far: CPU time in ns, faults without I/O.
    fn told(&self) -> (u64, u64) {
        let text = std::fs::read(format!("/proc/{}/stat", self.id())).expect("its stat");
        let stat = procfs::pid::parse_stat(&text).expect("a line");
        let field = |number| stat.field(number).expect("a number");
        ((field(16) + field(17)) * 10_000_000, field(11))
    }
}

#[test]
fn what_is_still_in_the_ring_at_the_end_is_shown_by_a_last_look() {
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
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
    let _beside = WHOLE_MACHINE.read().unwrap_or_else(PoisonError::into_inner);
    let mut watch = Watch::open(&["cpu", "exit"], NONE).expect("no method works everywhere");
    watch.tick();
    let before = watch.snapshot.monotonic_ns;
    let Watch { host, sampler, snapshot, .. } = &mut watch;
    assert!(!sampler.finish(host, &mut SystemClock, snapshot));
    assert_eq!(watch.snapshot.monotonic_ns, before);
}
