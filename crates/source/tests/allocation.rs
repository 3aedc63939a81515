//! Once warm, reading every source of this machine allocates nothing.

use std::sync::Arc;

use procfs::{Host, SystemClock};
use sample::{Snapshot, State};
use source::{
    CounterMethod, Entry, JobCounters, ProcessMethod, ProcessOptions, RecordFilter,
    RecorderCounters, Sampler, SharedState, SourceContext,
};
use testkit::allocations_of;

/// Samples that may allocate: the first sight of files, rows and texts.
const WARM: usize = 10;

/// Samples that may not.  Sources look again for what was absent every 64 reads, and walk trees
/// every 256: both are in.
const COUNTED: usize = 300;

#[test]
fn a_warm_sample_allocates_nothing() {
    let mut guilty = Vec::new();
    for entry in source::ALL {
        let entries: Vec<&'static Entry> = vec![entry];
        let mut host = Host::new("/");
        let recorder = Some(Arc::new(RecorderCounters::default()));
        let jobs = Some(Arc::new(JobCounters::default()));
        let shared = SharedState { recorder, jobs, ..SharedState::default() };
        let context = Arc::new(SourceContext { shared, ..SourceContext::default() });
        let mut sampler = Sampler::open(&mut host, &entries, &context);
        let mut snapshot = Snapshot::new(&sampler.defs());
        let mut clock = SystemClock;
        let mut sample = || sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
        (0..WARM).for_each(|_| sample());
        // What the machine does meanwhile may bring a new row or a longer file now and then; what
        // a source does by itself happens every time.
        let mut allocating =
            || (0..COUNTED).filter(|_| allocations_of(&mut sample).1.count > 0).count();
        // Processes begin and end all the time: most samples have none that is new.
        let allowed = if entry.name == "process" { COUNTED / 2 } else { 0 };
        let mut least = COUNTED;
        for _ in 0..10 {
            least = least.min(allocating());
            if least <= allowed {
                break;
            }
        }
        if least > allowed {
            guilty.push(format!("{}: {least} of {COUNTED} samples", entry.name));
        }
    }
    assert!(guilty.is_empty(), "{guilty:#?}");
}

#[test]
fn processes_by_files_allocate_nothing_either() {
    let entries: Vec<&'static Entry> = source::find("process").into_iter().collect();
    for (status, threads) in [(false, false), (true, true)] {
        let process = ProcessOptions {
            method: Some(ProcessMethod::Proc),
            status,
            threads,
            ..Default::default()
        };
        let context = Arc::new(SourceContext::with_process(process));
        let mut host = Host::new("/");
        let mut sampler = Sampler::open(&mut host, &entries, &context);
        let mut snapshot = Snapshot::new(&sampler.defs());
        let mut clock = SystemClock;
        let mut sample = || sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
        (0..WARM).for_each(|_| sample());
        // What begins or ends meanwhile may allocate: a reading in which nothing did must not, and
        // of several hundred most are such.
        let idle = (0..COUNTED).filter(|_| allocations_of(&mut sample).1.count == 0).count();
        assert!(idle * 2 > COUNTED, "status {status}: {idle} of {COUNTED} allocate nothing");
        assert!(snapshot.samples[0].table.rows() > 1);
        assert_ne!(context.shared.processes.method(), Some("iterator"));
    }
}

#[test]
fn counters_by_bpf_allocate_nothing_either() {
    let names = ["cpu", "cpu_core", "interrupt", "numa"];
    let entries: Vec<&'static Entry> = names.into_iter().filter_map(source::find).collect();
    let filter = RecordFilter {
        counters: CounterMethod::Bpf,
        selection: Some("cCjM".into()),
        ..RecordFilter::default()
    };
    let context = Arc::new(SourceContext { filter, ..SourceContext::default() });
    let mut host = Host::new("/");
    let mut sampler = Sampler::open(&mut host, &entries, &context);
    match context.shared.counters.reasons().first() {
        Some((_, reason)) if reason.contains("/proc/kallsyms") => {
            testkit::skip("addresses of kernel variables", reason);
            return;
        }
        Some((name, reason)) => {
            testkit::skip_refused(name, reason);
            return;
        }
        None => {}
    }
    let mut snapshot = Snapshot::new(&sampler.defs());
    let mut clock = SystemClock;
    let mut sample = || sampler.sample(&mut host, &mut clock, |_, _| State::Ok, &mut snapshot);
    (0..WARM).for_each(|_| sample());
    let tries = (0..3).map(|_| allocations_of(|| (0..COUNTED).for_each(|_| sample())).1.count);
    assert_eq!(tries.min(), Some(0));
    assert!(snapshot.samples.iter().all(|sample| sample.state == State::Ok));
}
