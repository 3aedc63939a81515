//! The programs on the running kernel.  A test says why it skips where they may not be loaded.

use std::collections::HashMap;
use std::process::Command;
use std::sync::mpsc;

use bpf::{Error, KernelTypes, LostEvents, ProcessEvent, ProcessEvents, TaskIterator};

/// The kernel, or the reason why these tests mean nothing here.
pub(crate) fn open<T>(load: impl FnOnce(&KernelTypes) -> Result<T, Error>) -> Option<T> {
    match KernelTypes::open().and_then(|kernel| load(&kernel)) {
        Ok(loaded) => Some(loaded),
        Err(error @ (Error::Denied(_) | Error::NoBtf(_) | Error::Namespace)) => {
            testkit::skip("BPF programs", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs `work` on the events of this machine until none was lost meanwhile: others may start many
/// processes in the same moment, and their events fill the ring buffer too.
fn without_loss<T>(mut work: impl FnMut(&mut ProcessEvents) -> T) -> Option<T> {
    for _ in 0..20 {
        let mut events = open(ProcessEvents::open)?;
        let result = work(&mut events);
        let lost = events.lost().expect("the count of lost events");
        if lost == LostEvents::default() && events.lost_frees().expect("that of releases") == 0 {
            return Some(result);
        }
    }
    panic!("events were lost in each of 20 runs");
}

#[test]
fn a_pass_sees_this_process_and_its_threads() {
    let Some(mut tasks) = open(TaskIterator::open) else { return };
    let own = std::process::id().cast_signed();
    let (mut threads, mut leaders, mut last) = (0, 0, 0);
    std::thread::scope(|scope| {
        // Each ends when its sender is dropped: at the end, or when an assertion fails.
        let (started_sender, started) = mpsc::channel();
        let _senders: Vec<mpsc::Sender<()>> = (0..3)
            .map(|_| {
                let (sender, receiver) = mpsc::channel();
                let started_sender = started_sender.clone();
                scope.spawn(move || {
                    started_sender.send(()).unwrap();
                    receiver.recv()
                });
                sender
            })
            .collect();
        assert_eq!(started.iter().take(3).count(), 3);
        tasks
            .pass(|task, group| {
                assert!(task.pid > last, "{} after {last}", task.pid);
                last = task.pid;
                if task.tgid == own {
                    threads += 1;
                    if let Some(group) = group {
                        leaders += 1;
                        assert_eq!(group.has_memory, 1);
                        assert!(group.threads >= 4, "{}", group.threads);
                        assert!(group.total_pages > 0 && group.file_pages > 0);
                        assert!(group.parent > 0);
                    }
                }
            })
            .expect("a pass");
    });
    assert_eq!(leaders, 1);
    assert!(threads >= 4, "{threads}");
}

#[test]
fn passes_can_be_repeated() {
    let Some(mut tasks) = open(TaskIterator::open) else { return };
    for _ in 0..100 {
        let mut count = 0;
        tasks.pass(|_, _| count += 1).expect("a pass");
        assert!(count > 2, "{count}");
    }
}

#[test]
fn every_short_life_is_told_from_its_command_line_to_its_exit_code() {
    let Some((begun, ended)) = without_loss(short_lives) else { return };
    assert_eq!((begun, ended), (50, 50));
}

/// Of 50 children, how many were seen to begin and to end as they did.
fn short_lives(events: &mut ProcessEvents) -> (usize, usize) {
    let mut children = HashMap::new();
    for code in 0..50 {
        let script = format!("exit {code}");
        let mut child = Command::new("/bin/sh").args(["-c", &script]).spawn().expect("sh");
        child.wait().expect("wait");
        children.insert(child.id().cast_signed(), code);
    }
    let (mut begun, mut ended) = (0, 0);
    events.drain(|event| match event {
        ProcessEvent::Exec(exec, arguments) => {
            if let Some(code) = children.get(&exec.pid) {
                assert_eq!(arguments, format!("/bin/sh\0-c\0exit {code}\0").as_bytes());
                begun += 1;
            }
        }
        ProcessEvent::Exit(exit) => {
            if let Some(code) = children.get(&exit.pid) {
                assert_eq!(exit.code, code << 8);
                assert_eq!(exit.parent, std::process::id().cast_signed());
                assert_eq!(exit.command.split(|&byte| byte == 0).next(), Some(&b"sh"[..]));
                assert!(exit.time_ns > exit.start_boottime_ns);
                assert!(exit.peak_resident_pages > 0 && exit.minor_faults > 0);
                assert_eq!(exit.threads_uncounted, 0);
                ended += 1;
            }
        }
        ProcessEvent::Free(_) => {}
    });
    (begun, ended)
}

#[test]
fn a_process_ends_with_the_account_of_all_its_threads() {
    if !testkit::is_installed("python3", "python3") {
        return;
    }
    if let Some(found) = without_loss(eight_threads) {
        assert!(found);
    }
}

/// Whether the account of a process of eight threads was seen, and right.
fn eight_threads(events: &mut ProcessEvents) -> bool {
    // Eight threads that work for 20 ms each and are still there when the process ends.
    let script = "import threading, time, os\n\
        def work():\n  begin = time.thread_time()\n  while time.thread_time() - begin < .02: pass\n  done.wait(); time.sleep(9)\n\
        done = threading.Barrier(9)\n\
        for _ in range(8): threading.Thread(target=work, daemon=True).start()\n\
        done.wait(); os._exit(3)";
    let mut child = Command::new("python3").args(["-c", script]).spawn().expect("python3");
    child.wait().expect("wait");
    let mut found = false;
    events.drain(|event| {
        if let ProcessEvent::Exit(exit) = event
            && exit.pid == child.id().cast_signed()
        {
            found = true;
            assert_eq!(exit.code, 3 << 8);
            assert!(exit.run_ns >= 160_000_000, "{} ns", exit.run_ns);
        }
    });
    found
}

#[test]
fn the_time_on_a_cpu_is_the_one_that_the_parent_is_told() {
    let Some((ours, theirs)) = without_loss(times) else { return };
    assert!(ours.abs_diff(theirs) <= theirs / 50, "{ours} {theirs}");
}

/// The CPU time of 50 children, in ns: of our events, and as their parent is told.
#[allow(clippy::zombie_processes, reason = "waited for by wait4")]
fn times(events: &mut ProcessEvents) -> (u64, u64) {
    let (mut children, mut freed) = (HashMap::new(), HashMap::new());
    let mut drain = |freed: &mut HashMap<i32, u64>| {
        events.drain(|event| {
            if let ProcessEvent::Free(free) = event {
                freed.insert(free.pid, free.run_ns);
            }
        });
        events.lost_frees().expect("the count of lost events") > 0
    };
    for _ in 0..50 {
        let child = Command::new("/bin/true").spawn().expect("true");
        children.insert(child.id().cast_signed(), cpu_ns_of(child.id()));
        drain(&mut freed);
    }
    let deadline = testkit::Deadline::default();
    // The kernel frees a process when no one can be looking at it any more: another test may hold a few.
    while children.keys().filter(|pid| freed.contains_key(pid)).count() < 40 {
        assert!(deadline.is_ahead(), "not freed: {children:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
        if drain(&mut freed) {
            // Repeated by the caller.
            break;
        }
    }
    let both = children.iter().filter_map(|(pid, theirs)| Some((freed.get(pid)?, theirs)));
    both.fold((0, 0), |(ours, theirs), (one, other)| (ours + one, theirs + other))
}

/// Waits for a child: what it used, as wait4(2) tells.
fn cpu_ns_of(pid: u32) -> u64 {
    // SAFETY: plain integers, for which any bits will do.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both pointers are to what the kernel fills.
    let waited = unsafe { libc::wait4(pid.cast_signed(), &raw mut status, 0, &raw mut usage) };
    assert_eq!(waited, pid.cast_signed());
    let micros = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    (micros(usage.ru_utime) + micros(usage.ru_stime)).cast_unsigned() * 1000
}

#[test]
fn the_programs_measure_their_run_time_as_the_kernel_does() {
    let Some(mut events) = open(ProcessEvents::open) else { return };
    let measuring = match bpf::SyscallCounts::measure() {
        Ok(measuring) => measuring,
        Err(error) => {
            return testkit::skip_refused("run times of BPF programs", &error.to_string());
        }
    };
    let (ours_before, kernel_before) = (events.run_time(), events.run_time_by_kernel().unwrap());
    for _ in 0..300 {
        Command::new("/bin/true").status().expect("true");
    }
    let (ours, kernel) = (events.run_time(), events.run_time_by_kernel().unwrap());
    drop(measuring);
    events.drain(|_| ());
    let runs = ours.runs - ours_before.runs;
    // A life is an exec, an exit and a release; the last releases may still come.
    assert!(runs >= 800, "{runs}");
    assert!(kernel.runs - kernel_before.runs >= runs);
    let (ours, kernel) = (ours.ns - ours_before.ns, kernel.ns - kernel_before.ns);
    // The kernel's includes its own two clock reads, some 40 ns, and the runs for other threads.
    assert!(ours > kernel / 2 && ours < kernel + kernel / 10, "{ours} ns, kernel {kernel} ns");
}
