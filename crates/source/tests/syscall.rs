//! System calls of other processes are counted, the recorder's own are not, and without permission
//! nothing is said but that.  A test says why it skips where programs may not be loaded.
#![allow(clippy::print_stderr, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use procfs::{Host, SystemClock};
use sample::{Snapshot, State};
use source::{Entry, Sampler, SourceContext};

/// Tells the child that it is one.
const CHILD: &str = "SYSCALL_CHILD";

/// What the child calls, and how often: more than anybody else does meanwhile.
const CALLS: u64 = 20_000;
const FAILURES: u64 = 5_000;

/// One test's child would be counted by another.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn entries() -> Vec<&'static Entry> {
    vec![source::find("syscall").unwrap()]
}

fn getppid() {
    for _ in 0..CALLS {
        std::hint::black_box(rustix::process::getppid());
    }
}

/// The process beside the recorder.
#[test]
fn child() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    getppid();
    (0..FAILURES).for_each(|_| assert!(rustix::process::chdir("/nowhere at all").is_err()));
}

fn run_child() {
    let mut child = testkit::own_test("syscall::child");
    child.env(CHILD, "1");
    let status = child.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
}

struct Watch {
    _alone: MutexGuard<'static, ()>,
    host: Host,
    sampler: Sampler,
    snapshot: Snapshot,
}

impl Watch {
    fn sample(&mut self) {
        let clock = &mut SystemClock;
        self.sampler.sample(&mut self.host, clock, |_, _| State::Ok, &mut self.snapshot);
    }

    fn get(&self, call: &str, field: &str) -> Option<u64> {
        let table = &self.snapshot.samples[0].table;
        let field = source::find("syscall").unwrap().field(field).unwrap();
        table.get(table.find(call.as_bytes(), 0)?, field)
    }
}

/// A source that counts; `None` if that is not allowed here.
fn watch() -> Option<Watch> {
    let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut host = Host::new("/");
    let context = Arc::new(SourceContext::default());
    let sampler = Sampler::open(&mut host, &entries(), &context);
    let snapshot = Snapshot::new(&sampler.defs());
    let mut watch = Watch { _alone: alone, host, sampler, snapshot };
    watch.sample();
    if watch.snapshot.samples[0].state == State::Ok {
        assert_eq!(context.shared.refusals.of("syscall"), None);
        return Some(watch);
    }
    let why = context.shared.refusals.of("syscall").expect("a reason");
    testkit::skip_refused("counting in the kernel", &why);
    None
}

#[test]
fn calls_of_another_process_are_counted_and_own_ones_are_not() {
    let Some(mut watch) = watch() else { return };
    let before = watch.get("getppid", "calls").unwrap_or(0);
    getppid();
    run_child();
    watch.sample();
    let calls = watch.get("getppid", "calls").unwrap() - before;
    assert!((CALLS..CALLS + CALLS / 2).contains(&calls), "{calls}");
    assert!(watch.get("chdir", "errors").unwrap() >= FAILURES);
    let field = |name| watch.get("getppid", name).unwrap();
    assert!(field("cpu_time") > 0 && field("cpu_time") <= field("wall_time"));
    assert!(field("median") > 0 && field("median") <= field("percentile_99"));
    assert!(field("percentile_99") <= field("longest"));
    assert!(field("wall_time") / CALLS < field("longest"));
    // What it cost others is told once.
    let mut overhead_ns = 0;
    watch.sampler.limit_overhead(|_, told_ns| {
        overhead_ns = told_ns;
        true
    });
    assert!(overhead_ns >= (CALLS + FAILURES) * 100, "{overhead_ns}");
    // Nobody calls this one in between, or next to nobody: no times, and never a zero.
    watch.sample();
    watch.sample();
    let times = ["median", "percentile_99", "longest"].map(|name| watch.get("chdir", name));
    assert!(times.iter().all(|time| *time != Some(0)), "{times:?}");
    assert!(watch.get("chdir", "calls").unwrap() >= FAILURES);
}

#[test]
fn one_that_was_given_up_says_so_and_counts_no_more() {
    let Some(mut watch) = watch() else { return };
    run_child();
    watch.sample();
    assert!(watch.get("getppid", "calls").is_some());
    watch.sampler.limit_overhead(|_, overhead_ns| {
        assert!(overhead_ns > 0);
        false
    });
    watch.sample();
    assert_eq!(watch.snapshot.samples[0].state, State::Skipped);
    assert_eq!(watch.snapshot.samples[0].table.rows(), 0);
    watch.sampler.limit_overhead(|_, _| unreachable!("it costs nobody anything"));
}

#[test]
fn without_permission_it_is_denied_with_the_reason() {
    let (state, why) = testkit::as_nobody(|| {
        let mut host = Host::new("/");
        let context = Arc::new(SourceContext::default());
        let mut sampler = Sampler::open(&mut host, &entries(), &context);
        let mut snapshot = Snapshot::new(&sampler.defs());
        sampler.sample(&mut host, &mut SystemClock, |_, _| State::Ok, &mut snapshot);
        assert_eq!(snapshot.samples[0].table.rows(), 0);
        (snapshot.samples[0].state, context.shared.refusals.of("syscall").unwrap())
    });
    match state {
        State::Denied => assert!(why.contains("CAP_BPF"), "{why}"),
        // No BTF, or in a namespace: nothing was asked for.
        State::Absent => testkit::skip_refused("counting without rights", &why),
        _ => panic!("{state:?}: {why}"),
    }
}
