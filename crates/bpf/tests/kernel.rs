//! The programs on the running kernel.  A test says why it skips where they may not be loaded.

use std::collections::HashMap;
use std::process::Command;
use std::sync::mpsc;

use bpf::{Error, KernelTypes, ProcessEvent, ProcessEvents, TaskIterator};

/// The kernel, or the reason why these tests mean nothing here.
fn open<T>(load: impl FnOnce(&KernelTypes) -> Result<T, Error>) -> Option<T> {
    match KernelTypes::open().and_then(|kernel| load(&kernel)) {
        Ok(loaded) => Some(loaded),
        Err(error @ (Error::Denied(_) | Error::NoBtf(_) | Error::Namespace)) => {
            testkit::skip("BPF programs", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
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
    let Some(mut events) = open(ProcessEvents::open) else { return };
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
    let lost = events.lost().expect("the count of lost events");
    assert_eq!((begun + lost.execs as usize, ended + lost.exits as usize), (50, 50), "{lost:?}");
}

#[test]
fn a_process_ends_with_the_account_of_all_its_threads() {
    let Some(mut events) = open(ProcessEvents::open) else { return };
    // Eight threads that work for 20 ms each and are still there when the process ends.
    let script = "import threading, time, os\n\
        def work():\n  begin = time.thread_time()\n  while time.thread_time() - begin < .02: pass\n  done.wait(); time.sleep(9)\n\
        done = threading.Barrier(9)\n\
        for _ in range(8): threading.Thread(target=work, daemon=True).start()\n\
        done.wait(); os._exit(3)";
    let Ok(mut child) = Command::new("python3").args(["-c", script]).spawn() else {
        testkit::skip("python3", "not installed");
        return;
    };
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
    assert!(found);
}

#[test]
#[allow(clippy::zombie_processes, reason = "waited for by wait4")]
fn the_time_on_a_cpu_is_the_one_that_the_parent_is_told() {
    let Some(mut events) = open(ProcessEvents::open) else { return };
    let mut children = HashMap::new();
    for _ in 0..50 {
        let child = Command::new("/bin/true").spawn().expect("true");
        children.insert(child.id().cast_signed(), cpu_ns_of(child.id()));
    }
    let (mut ours, mut theirs) = (0, 0);
    let begin = std::time::Instant::now();
    // The kernel frees a process when no one can be looking at it any more.
    while !children.is_empty() {
        assert!(begin.elapsed().as_secs() < 20, "not freed: {children:?}");
        std::thread::sleep(std::time::Duration::from_millis(20));
        events.drain(|event| {
            if let ProcessEvent::Free(free) = event
                && let Some(cpu_ns) = children.remove(&free.pid)
            {
                ours += free.run_ns;
                theirs += cpu_ns;
            }
        });
    }
    assert!(ours.abs_diff(theirs) <= theirs / 50, "{ours} {theirs}");
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
