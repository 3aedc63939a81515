//! Counting calls on the running kernel: every one is counted, in its place, and nobody else's.
//! A test says why it skips where programs may not be loaded.
#![allow(clippy::print_stderr, reason = "a skipped test says why")]
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use bpf::{CallStorage, CountSettings, Error, KernelTypes, Split, SyscallCounts};

const GETPPID: usize = 110;
const CHDIR: usize = 80;

fn open(settings: &CountSettings) -> Option<SyscallCounts> {
    opened(|kernel| SyscallCounts::open(kernel, settings))
}

fn opened(
    open: impl FnOnce(&KernelTypes) -> Result<SyscallCounts, Error>,
) -> Option<SyscallCounts> {
    match KernelTypes::open().and_then(|kernel| open(&kernel)) {
        Ok(counts) => Some(counts),
        Err(error @ (Error::Denied(_) | Error::NoBtf(_) | Error::Namespace)) => {
            testkit::skip("BPF programs", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn own_thread() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn getppid(times: u64) {
    for _ in 0..times {
        std::hint::black_box(rustix::process::getppid());
    }
}

#[test]
fn every_call_of_a_seeded_thread_is_counted_and_no_other() {
    every_call_is_counted_with(CallStorage::Task);
}

/// The programs for kernels without task storage run on newer ones too.
#[test]
fn every_call_is_counted_without_task_storage() {
    every_call_is_counted_with(CallStorage::Hash);
}

fn every_call_is_counted_with(storage: CallStorage) {
    let settings = CountSettings { split: Split::Thread, ..CountSettings::default() };
    let open = |kernel: &KernelTypes| SyscallCounts::open_with(kernel, &settings, storage);
    let Some(mut counts) = opened(open) else { return };
    assert_eq!(counts.storage(), storage);
    getppid(1_000);
    let own = own_thread();
    assert_eq!(counts.watch(&[own]).unwrap(), [own]);
    std::thread::scope(|scope| {
        scope.spawn(|| getppid(5_000));
    });
    getppid(10_000);
    for _ in 0..7 {
        assert!(rustix::process::chdir("/nowhere at all").is_err());
    }
    let call = counts.call(GETPPID).unwrap();
    assert_eq!((call.calls, call.errors), (10_000, 0));
    assert_eq!(call.steps.iter().sum::<u64>(), 10_000);
    assert!(call.shortest_ns * call.calls <= call.wall_ns && call.longest_ns <= call.wall_ns);
    assert!(call.cpu_ns <= call.wall_ns && call.cpu_ns > 0);
    assert_eq!(counts.call(CHDIR).unwrap().errors, 7);
    let failures = counts.failures().unwrap();
    assert!(failures.contains(&(CHDIR as u32, 2, 7)), "{failures:?}");
    let units = counts.units().unwrap();
    let unit = units.iter().find(|unit| unit.slot == GETPPID as u32).unwrap();
    assert_eq!((unit.id.cast_signed(), unit.calls), (own, 10_000));
    assert_eq!(counts.uncounted().unwrap(), bpf::Uncounted::default());
}

#[test]
fn a_call_that_waits_takes_wall_time_and_no_cpu_time() {
    let Some(mut counts) = open(&CountSettings::default()) else { return };
    counts.watch(&[own_thread()]).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(100));
    // Some systems sleep by nanosleep, others by clock_nanosleep; a sleep that the kernel interrupts
    // for work of its own goes on in restart_syscall.
    let slept: Vec<_> = [230, 35, 219].into_iter().filter_map(|call| counts.call(call)).collect();
    let wall_ns: u64 = slept.iter().map(|call| call.wall_ns).sum();
    let cpu_ns: u64 = slept.iter().map(|call| call.cpu_ns).sum();
    assert!(wall_ns >= 100_000_000, "{slept:?}");
    assert!(cpu_ns < wall_ns / 2, "{slept:?}");
}

#[test]
fn children_are_counted_when_they_are_to_be_followed() {
    for follow in [false, true] {
        let settings = CountSettings { follow, ..CountSettings::default() };
        let Some(mut counts) = open(&settings) else { return };
        counts.watch(&[own_thread()]).unwrap();
        for _ in 0..20 {
            std::process::Command::new("/bin/true").status().unwrap();
        }
        let execs = counts.call(59).map_or(0, |call| call.calls);
        let cut_off = counts.call(231).map_or(0, |call| call.cut_off);
        let expected = if follow { 20 } else { 0 };
        assert_eq!((execs, cut_off), (expected, expected), "follow: {follow}");
    }
}

#[test]
fn what_is_not_wanted_is_not_counted() {
    let mut calls = [0; bpf::SLOTS / 64];
    calls[GETPPID / 64] |= 1 << (GETPPID % 64);
    let some = CountSettings { calls: Some(calls), ..CountSettings::default() };
    let slow = CountSettings { slower_than_ns: 1_000_000_000, ..CountSettings::default() };
    let failed = CountSettings { errors_only: true, ..CountSettings::default() };
    let good = CountSettings { successes_only: true, ..CountSettings::default() };
    let stranger = CountSettings { command: Some([b'x'; 16]), ..CountSettings::default() };
    for (settings, expected) in
        [(some, (10, 0)), (slow, (0, 0)), (failed, (0, 1)), (good, (10, 0)), (stranger, (0, 0))]
    {
        let Some(mut counts) = open(&settings) else { return };
        counts.watch(&[own_thread()]).unwrap();
        getppid(10);
        assert!(rustix::process::chdir("/nowhere at all").is_err());
        let of = |slot: usize| counts.call(slot).map_or(0, |call| call.calls);
        assert_eq!((of(GETPPID), of(CHDIR)), expected, "{settings:?}");
    }
}

/// So often the measured mean has changed before it is compared: each measured jiffy holds some
/// two bundles of calls.
const CHANGES: usize = 8;

#[test]
fn sampled_runs_stand_for_all_of_them() {
    let settings = CountSettings { measure: true, ..CountSettings::default() };
    for storage in [CallStorage::Task, CallStorage::Hash] {
        let open = |kernel: &KernelTypes| SyscallCounts::open_with(kernel, &settings, storage);
        let Some(mut counts) = opened(open) else { return };
        assert_eq!(counts.run_time_of(1_000), None, "nothing is measured yet");
        counts.watch(&[own_thread()]).unwrap();
        let measuring = SyscallCounts::measure().unwrap();
        // Until several of the measured jiffies are in it: a busy machine may give them to others.
        let (mut latest, mut changes) = (None, 0);
        for _ in 0..100_000 {
            getppid(10_000);
            let run_time = counts.run_time_of(1_000_000_000);
            changes += usize::from(run_time != std::mem::replace(&mut latest, run_time));
            if changes == CHANGES {
                break;
            }
        }
        let kernel = counts.run_time().unwrap();
        drop(measuring);
        let calls = counts.call(GETPPID).unwrap().calls;
        // Runs for tasks that are not watched are the kernel's, too: they make its mean smaller, and
        // its sum larger than what these calls took.
        let all_ns = (kernel.enter_ns + kernel.leave_ns) as f64;
        let mean_ns = (kernel.enter_ns as f64 / kernel.enter_runs as f64
            + kernel.leave_ns as f64 / kernel.leave_runs as f64)
            * calls as f64;
        let sampled_ns = counts.run_time_of(calls).expect("measured runs") as f64;
        assert!(
            mean_ns / 2.0 <= sampled_ns && sampled_ns <= all_ns * 2.0,
            "{storage:?}: {sampled_ns} {mean_ns} {all_ns}"
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn cost() {
    let time = |text: &str| {
        let mut best = f64::MAX;
        for _ in 0..7 {
            let start = std::time::Instant::now();
            getppid(300_000);
            best = best.min(start.elapsed().as_secs_f64() / 3e5 * 1e9);
        }
        eprintln!("{text}: {best:.1} ns");
    };
    time("bare");
    let Some(mut counts) = open(&CountSettings { follow: true, ..CountSettings::default() }) else {
        return;
    };
    time("not selected");
    counts.watch(&[own_thread()]).unwrap();
    time("counted");
    let on = SyscallCounts::measure().unwrap();
    time("measured");
    drop(on);
    let run = counts.run_time().unwrap();
    eprintln!("{} + {} ns", run.enter_ns / run.enter_runs, run.leave_ns / run.leave_runs);
    drop(counts);
    time("detached");
    let Some(mut counts) =
        open(&CountSettings { follow: true, split: Split::Process, ..CountSettings::default() })
    else {
        return;
    };
    counts.watch(&[own_thread()]).unwrap();
    time("by process");
    drop(counts);
    let Some(_counts) =
        open(&CountSettings { everybody: true, own_process: 1, ..CountSettings::default() })
    else {
        return;
    };
    time("everybody");
}
