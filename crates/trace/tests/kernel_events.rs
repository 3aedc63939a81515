//! The engine in the kernel against the ptrace engine: what a program that behaves the same each time
//! does is written as lines by both, and must be equal.  And against itself: nothing is lost unseen.
//!
//! A test says why it skips where programs may not be loaded.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

#[path = "ptrace/support.rs"]
mod support;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::*;
use trace::engine::{
    CallFilter, Error, FollowScope, KernelEngine, KernelSettings, PtraceEngine, RunResult,
    TraceEngine,
};
use trace::{CallId, EventKind, LineOptions, Memory, Printer, TraceEvent, WaitStatus};

fn background(words: &[&str]) -> Running {
    let mut command = std::process::Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Running::start(&mut command)
}

/// The engine, or `None` where programs may not be loaded.
fn opened(engine: Result<KernelEngine, Error>) -> Option<KernelEngine> {
    match engine {
        Ok(engine) => Some(engine),
        Err(Error::Kernel(
            error @ (bpf::Error::Denied(_) | bpf::Error::NoBtf(_) | bpf::Error::Namespace),
        )) => {
            testkit::skip("BPF programs", &error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn start(words: &[&str], settings: &KernelSettings) -> Option<KernelEngine> {
    opened(KernelEngine::start(&command(words), settings))
}

fn only(names: &'static [&'static str]) -> KernelSettings {
    KernelSettings {
        wanted: CallFilter::of(|call| call.known_name().is_some_and(|name| names.contains(&name))),
        ..KernelSettings::new(FollowScope::Tree)
    }
}

/// SIGCHLD comes before or after a wait, as it happens.  And how a heap grows depends on where it is.
fn by_chance(line: &str) -> bool {
    let names = ["rt_sigreturn({mask=[]})", "wait4(", "brk(", "mmap(", "munmap("];
    names.iter().any(|name| line.starts_with(name))
}

/// The lines of each task, in the order of their begin; numbers of tasks and addresses are replaced.
fn lines(engine: &mut impl TraceEngine, options: &LineOptions) -> Vec<Vec<String>> {
    let mut tasks: Vec<i32> = Vec::new();
    let mut printers: BTreeMap<i32, (Printer, Vec<u8>)> = BTreeMap::new();
    run(engine, |event, memory| {
        if !tasks.contains(&event.thread) {
            tasks.push(event.thread);
        }
        let begin = || (Printer::new(options.clone()), Vec::new());
        let (printer, out) = printers.entry(event.thread).or_insert_with(begin);
        printer.event(event, memory, &(), out).unwrap();
    })
    .unwrap();
    let address = regex::Regex::new("0x[0-9a-f]{5,}").unwrap();
    // What is random, and what others change.
    let random =
        regex::Regex::new(r"^(getrandom|f?statfs|sysinfo)\(.*|^read\(3, .*, 4\) += 4$").unwrap();
    let value =
        regex::Regex::new(r"(tv_nsec|u64|si_[us]time)=\d+(?: /\* [0-9.]+ s \*/)?|  +").unwrap();
    // Where a task's number stands; elsewhere the same number may stand by chance.
    let number = regex::Regex::new(concat!(
        r"(pid=|Process |tid=\[|\btgkill\(\w+, |\b(?:wait4|t?g?kill)\(|P_PID, |",
        r"\b(?:clone3?|v?fork|wait4|getpid|gettid|set_tid_address)\(.*\) = )(\d+)\b"
    ))
    .unwrap();
    let plain = |line: &str| {
        let line = address.replace_all(line, "ADDRESS");
        let line = value.replace_all(&line, "$1 ");
        let line = random.replace_all(&line, "random $1");
        let name = |found: &regex::Captures<'_>| {
            let task = tasks.iter().position(|task| found[2] == task.to_string());
            task.map_or_else(|| found[0].to_owned(), |index| format!("{}TASK{index}", &found[1]))
        };
        let line = number.replace_all(&line, name);
        // Once more for the result behind an argument.
        number.replace_all(&line, name).into_owned()
    };
    tasks
        .iter()
        .map(|task| {
            let text = String::from_utf8_lossy(&printers[task].1).into_owned();
            let mut lines: Vec<_> =
                text.lines().filter(|line| !by_chance(line)).map(plain).collect();
            // Where it comes is chance too, not how often.
            lines.sort_by_key(|line| line.starts_with("--- SIGCHLD"));
            lines
        })
        .collect()
}

/// Everything that has a form: vectors, messages, addresses of sockets, sets of descriptors, times.
const SHAPES: &str = r#"
import os, select, signal, socket, struct
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
a.sendmsg([b"one", b"two"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 1))])
b.recvmsg(100, 100)
os.writev(a.fileno(), [b"abc", b"", b"d" * 100])
os.readv(b.fileno(), [bytearray(2), bytearray(200)])
os.pwritev(os.memfd_create("name"), [b"xyz"], 5)
try: os.stat("/no/" + "x" * 300)
except OSError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.bind(("127.0.0.1", 0))
u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 1, 5))
u.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
try: u.connect(("127.0.0.1", 0))
except OSError: pass
a.sendall(b"q")
select.select([b], [a], [], 0.5)
p = select.poll()
p.register(b, select.POLLIN)
p.poll(100)
e = select.epoll()
e.register(b, select.EPOLLIN)
e.poll(0.1)
b.recv(10)
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
signal.sigtimedwait([signal.SIGUSR2], 1)
signal.setitimer(signal.ITIMER_REAL, 100, 0.5)
os.getcwd(); os.uname(); os.listdir("/proc/self/fdinfo"); os.readlink("/proc/self/root")
os.statvfs("/"); os.sched_getaffinity(0); os.getgroups(); os.pipe()
select.select([], [], [], 0.01)
r = os.fork()
if r == 0: os._exit(7)
os.waitpid(r, 0)
os.execv("/bin/echo", ["echo", "x" * 40, "\n"])
"#;

#[test]
fn lines_are_those_of_the_ptrace_engine() {
    let _alone = alone();
    let python = ["/usr/bin/python3", "-I", "-S", "-c", SHAPES];
    let programs: &[&[&str]] = &[
        &["true"],
        &["cat", "/etc/passwd"],
        &["cat", "/nowhere"],
        &["find", "/etc/apt"],
        &["sh", "-c", "for i in 1 2 3; do /bin/true; done; cat /etc/hostname; exit 3"],
        &["sh", "-c", "kill -TERM $$"],
        &["perl", "-e", "for (1..5) { my $p = fork; exit $_ if !$p; waitpid $p, 0 } exec 'true'"],
        &python,
    ];
    for words in programs.iter().filter(|words| installed(words[0])) {
        let mut quiet = vec!["sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh"];
        quiet.extend(*words);
        let options = LineOptions::default();
        let settings = KernelSettings::new(FollowScope::Tree);
        let Some(mut engine) = start(&quiet, &settings) else { return };
        let ours = lines(&mut engine, &options);
        assert_eq!(engine.lost(), 0);
        let mut ptrace =
            PtraceEngine::start(&command(&quiet), FollowScope::Tree, CallFilter::all()).unwrap();
        let theirs = lines(&mut ptrace, &options);
        assert_eq!(engine.end(), ptrace.end(), "{words:?}");
        assert_eq!(ours.len(), theirs.len(), "{words:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let differ: Vec<_> =
                ours.iter().zip(theirs).filter(|(our, their)| our != their).take(20).collect();
            assert!(differ.is_empty(), "{words:?}: {differ:#?}");
            assert_eq!(ours.len(), theirs.len(), "{words:?}");
        }
    }
}

/// How often each kind of event came.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    enters: u64,
    exits: u64,
    began: u64,
    ended: u64,
}

fn seen(engine: &mut KernelEngine) -> Seen {
    let mut seen = Seen::default();
    run(engine, |event, _| match event.what {
        EventKind::Enter(_) => seen.enters += 1,
        EventKind::Exit { .. } => seen.exits += 1,
        EventKind::Began { .. } => seen.began += 1,
        EventKind::Ended(_) => seen.ended += 1,
        // Of SIGCHLD, as it happens to be blocked or not.
        _ => (),
    })
    .unwrap();
    seen
}

#[test]
fn nothing_of_ten_thousand_short_processes_is_lost() {
    let _alone = alone();
    if !installed("perl") {
        return;
    }
    let script = "for (1..10000) { my $p = fork; if (!$p) { getppid; exit 0 } waitpid $p, 0 }";
    let settings = only(&["getppid", "exit_group"]);
    let Some(mut engine) = start(&["perl", "-e", script], &settings) else { return };
    let seen = seen(&mut engine);
    assert_eq!(engine.lost(), 0);
    // An exit_group does not come back.
    let expected = Seen { enters: 20_001, exits: 10_000, began: 10_000, ended: 10_001 };
    assert_eq!(seen, expected);
    assert_eq!(engine.end(), Some(WaitStatus::Exited(0)));
}

#[test]
fn what_a_full_ring_loses_is_counted() {
    let _alone = alone();
    if !installed("perl") {
        return;
    }
    let settings = KernelSettings { ring_bytes: 4096, text_limit: None, ..only(&["getppid"]) };
    let script = "getppid for 1..20000";
    let Some(mut engine) = start(&["perl", "-e", script], &settings) else { return };
    // Nobody reads until it is over.
    wait_for_state(engine.pid().unwrap(), ") Z");
    let seen = seen(&mut engine);
    assert!(seen.enters > 10 && seen.enters < 40, "{seen:?}");
    // Begin and end of each, and the end of the process.
    assert_eq!(seen.enters + seen.exits + seen.ended + engine.lost(), 40_001, "{seen:?}");
    engine.detach().unwrap();
    assert!(engine.lost() > 39_000);
}

/// Waits until a process is in this state.
fn wait_for_state(pid: i32, state: &str) {
    testkit::wait_until(state, || {
        std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(state)
    });
}

#[test]
fn what_comes_faster_than_it_is_told_waits_in_memory() {
    let _alone = alone();
    if !installed("perl") {
        return;
    }
    let lost = |backlog_bytes| {
        let settings = KernelSettings {
            ring_bytes: 1 << 20,
            backlog_bytes,
            text_limit: None,
            ..only(&["getppid"])
        };
        // Each time nearly as much as the ring holds.
        let script = "for (1..4) { getppid for 1..4000; kill STOP, $$ }";
        let mut engine = start(&["perl", "-e", script], &settings)?;
        let pid = engine.pid().unwrap();
        let mut enters = 0;
        for _ in 0..4 {
            wait_for_state(pid, ") T");
            // No more than one is told.
            let progress = engine.run(None, &mut |event, _| {
                enters += u64::from(matches!(event.what, EventKind::Enter(_)));
                ControlFlow::Break(())
            });
            assert_eq!(progress.unwrap(), RunResult::Paused);
            let process = rustix::process::Pid::from_raw(pid).unwrap();
            rustix::process::kill_process(process, rustix::process::Signal::CONT).unwrap();
        }
        enters += seen(&mut engine).enters;
        assert!(enters <= 16_000, "{enters}");
        assert!(engine.lost() > 0 || enters == 16_000, "{enters}");
        Some(engine.lost())
    };
    let Some(none) = lost(8 << 20) else { return };
    assert_eq!(none, 0);
    assert!(lost(0).unwrap() > 10_000, "there is nowhere to wait");
}

#[test]
fn a_process_that_is_killed_in_a_call_does_not_come_back_from_it() {
    let _alone = alone();
    let settings = KernelSettings::new(FollowScope::Tree);
    let Some(mut engine) = start(&["sleep", "1000"], &settings) else { return };
    run_until(&mut engine, |events| {
        let last = events.last().map(|event| event.what);
        matches!(last, Some(EventKind::Enter(call)) if call.id.name() == "clock_nanosleep")
    });
    // SAFETY: a child of this test that was not waited for.
    unsafe { libc::kill(engine.pid().unwrap(), libc::SIGKILL) };
    let rest = events_of(&mut engine);
    let killed = WaitStatus::Signaled { number: libc::SIGKILL, dumped: false };
    assert_eq!(rest.iter().map(|event| event.what).collect::<Vec<_>>(), [EventKind::Ended(killed)]);
    assert_eq!(engine.end(), Some(killed));
}

fn events_of(engine: &mut KernelEngine) -> Vec<TraceEvent> {
    let mut events = Vec::new();
    run(engine, |event, _| events.push(*event)).unwrap();
    events
}

#[test]
fn processes_that_run_already_are_watched_and_let_go() {
    let _alone = alone();
    let mut shell = background(&["sh", "-c", "while :; do sleep 0.05; done"]);
    let pid = shell.pid();
    let settings = KernelSettings::new(FollowScope::Tree);
    let begin = Instant::now();
    let Some(mut engine) = opened(KernelEngine::attach(&[pid], &settings)) else { return };
    let seen = run_until(&mut engine, |events| {
        events.iter().filter(|event| event.thread == pid).count() > 10
    });
    let watched = begin.elapsed();
    // It was waiting when we came.
    let first = seen.iter().find(|event| event.thread == pid).unwrap();
    let EventKind::Exit { call, wall_ns, .. } = first.what else { panic!("{first:?}") };
    // For its child, or, for a moment, until that had begun its program.
    assert!(["wait4", "vfork"].contains(&&*call.id.name()), "{first:?}");
    // No longer than we watched.
    assert!(u128::from(wall_ns) < watched.as_nanos(), "{first:?}");
    check_order(&seen.into_iter().filter(|event| event.thread == pid).collect::<Vec<_>>());
    engine.detach().unwrap();
    assert_eq!(run_for(&mut engine, Duration::from_millis(200)), []);
    assert!(shell.try_wait().unwrap().is_none());

    // One that ends by itself.
    let mut sleep = background(&["sleep", "2"]);
    let pid = sleep.pid();
    let mut engine = KernelEngine::attach(&[pid], &settings).unwrap();
    let last = events_of(&mut engine).pop().unwrap();
    assert_eq!((last.thread, last.what), (pid, EventKind::Ended(WaitStatus::Exited(0))));
    sleep.ended();
    let error = KernelEngine::attach(&[pid], &settings).err().unwrap();
    assert!(matches!(error, Error::NoProcess(absent) if absent == pid), "{error}");
}

#[test]
fn only_failures_and_only_slow_calls() {
    let _alone = alone();
    let settings = KernelSettings { errors_only: true, ..KernelSettings::new(FollowScope::Tree) };
    let script = "exec cat /nowhere 2>/dev/null";
    let Some(mut engine) = start(&["sh", "-c", script], &settings) else { return };
    let all = lines(&mut engine, &LineOptions::default()).concat();
    let (last, failures) = all.split_last().unwrap();
    assert_eq!(last, "+++ exited with 1 +++");
    assert!(failures.iter().all(|line| line.contains(" = -1 E")), "{all:#?}");
    let failure =
        "openat(AT_FDCWD, \"/nowhere\", O_RDONLY) = -1 ENOENT (No such file or directory)";
    assert!(failures.iter().any(|line| line == failure), "{all:#?}");

    let slower_than_ns = 50_000_000;
    let settings = KernelSettings { slower_than_ns, ..KernelSettings::new(FollowScope::Tree) };
    let mut engine = start(&["sleep", "0.1"], &settings).unwrap();
    let what: Vec<_> = events_of(&mut engine).into_iter().map(|event| event.what).collect();
    // On a busy machine another call may be slow too; all of some forty are not.
    assert!(what.len() < 30, "{what:?}");
    let (mut slept, mut entered) = (false, None);
    for what in &what {
        match *what {
            EventKind::Enter(call) => entered = Some(call),
            EventKind::Exit { call, wall_ns, cpu_ns, .. } => {
                assert!(entered == Some(call) && wall_ns > slower_than_ns, "{what:?}");
                if call.id.name() == "clock_nanosleep" {
                    slept = wall_ns > 100_000_000 && cpu_ns.unwrap() < wall_ns / 2;
                }
            }
            _ => {}
        }
    }
    assert!(slept && matches!(what.last(), Some(EventKind::Ended(_))), "{what:?}");

    let settings = KernelSettings { successes_only: true, ..settings };
    let mut engine = start(&["cat", "/nowhere"], &settings).unwrap();
    assert!(events_of(&mut engine).iter().all(|event| matches!(event.what, EventKind::Ended(_))));
}

#[test]
fn a_command_that_cannot_run_says_why() {
    let _alone = alone();
    let settings = KernelSettings::new(FollowScope::Tree);
    let Some(mut engine) = start(&["/etc/passwd"], &settings) else { return };
    let mut results = Vec::new();
    let result = run(&mut engine, |event, _| {
        if let EventKind::Exit { call, result, .. } = event.what {
            results.push((call.id.name().into_owned(), result));
        }
    });
    assert!(matches!(result, Err(Error::Exec { program, .. }) if program == "/etc/passwd"));
    // Nothing of our own is told.
    assert_eq!(results, [("execve".to_owned(), -i64::from(libc::EACCES))]);
}

#[test]
fn threads_are_followed_and_one_of_them_may_begin_a_program() {
    let _alone = alone();
    let settings = KernelSettings::new(FollowScope::Tree);
    let Some(mut engine) = opened(KernelEngine::start(&own("threads"), &settings)) else { return };
    let pid = engine.pid().unwrap();
    let threads = events(&mut engine);
    // Four threads, 250 each; nobody else in such a program asks for it.
    assert_eq!(counts(&threads)["getppid"], (1000, 0));
    assert!(threads.iter().all(|event| event.process == pid));
    let of =
        |wanted: &dyn Fn(&EventKind) -> bool| threads.iter().filter(|e| wanted(&e.what)).count();
    let began = of(&|what| *what == EventKind::Began { parent: pid });
    let ended = of(&|what| matches!(what, EventKind::Ended(WaitStatus::Exited(0))));
    assert!(began >= 4 && ended == began + 1, "{began} {ended}");
    assert_eq!(threads.last().unwrap().thread, pid);

    let process = KernelSettings::new(FollowScope::Process);
    let mut engine = KernelEngine::start(&own("threads and a child"), &process).unwrap();
    let threads = events(&mut engine);
    assert_eq!(counts(&threads)["getppid"], (1000, 0));
    assert!(threads.iter().all(|event| event.process == threads[0].process));

    let alone = KernelSettings::new(FollowScope::Thread);
    let mut engine = KernelEngine::start(&own("threads"), &alone).unwrap();
    let pid = engine.pid().unwrap();
    assert!(events(&mut engine).iter().all(|event| event.thread == pid));

    let mut engine = KernelEngine::start(&own("exec"), &settings).unwrap();
    let pid = engine.pid().unwrap();
    let events = events(&mut engine);
    assert_eq!(engine.end(), Some(WaitStatus::Exited(0)));
    let superseded = events.iter().position(|event| {
        event.thread == pid
            && matches!(event.what, EventKind::Superseded { former } if former != pid)
    });
    let next = events[superseded.unwrap() + 1..].iter().find(|event| event.thread == pid);
    let EventKind::Exit { call, result: 0, .. } = next.unwrap().what else { panic!("{next:?}") };
    assert_eq!(call.id.name(), "execve");
    // The number's former bearer does not end.
    let ends = events.iter().filter(|event| event.thread == pid);
    assert_eq!(ends.filter(|event| matches!(event.what, EventKind::Ended(_))).count(), 1);
}

#[test]
fn calls_of_32_bit_programs_and_numbers_that_are_no_calls() {
    let _alone = alone();
    let settings = KernelSettings::new(FollowScope::Tree);
    if takes_32_bit_calls() {
        let Some(mut engine) = opened(KernelEngine::start(&own("int 0x80"), &settings)) else {
            return;
        };
        let events = events_of(&mut engine);
        let of = |id: CallId| {
            let ends = events.iter().filter(
                |event| matches!(event.what, EventKind::Exit { call, .. } if call.id == id),
            );
            ends.count()
        };
        assert_eq!(engine.end(), Some(WaitStatus::Exited(0)));
        assert_eq!(of(CallId { abi: trace::Abi::I386, number: 64 }), 10);
        assert_eq!(of(CallId::by_name(trace::Abi::X86_64, "getppid").unwrap()), 1);
    }
    let Some(mut engine) = opened(KernelEngine::start(&own("unknown"), &settings)) else {
        return;
    };
    let counts = counts(&events_of(&mut engine));
    assert_eq!(counts["syscall_0x270f"], (1, 1));
    assert_eq!(counts["syscall_0xffffffffffffffff"], (1, 1));
}

#[test]
fn everybody_is_heard_but_ourselves() {
    let _alone = alone();
    if !installed("perl") {
        return;
    }
    let settings = KernelSettings { scope: FollowScope::Thread, ..only(&["getppid"]) };
    let Some(mut engine) = opened(KernelEngine::everybody(&settings)) else { return };
    let perl = background(&["perl", "-e", "getppid for 1..500; sleep 60"]);
    let pid = perl.pid();
    let _ = rustix::process::getppid();
    let own = std::process::id() as i32;
    let mut counts = (0, 0);
    // On a busy machine perl starts late.
    for _ in 0..40 {
        for event in run_for(&mut engine, Duration::from_millis(500)) {
            if matches!(event.what, EventKind::Exit { .. }) {
                counts.0 += usize::from(event.process == pid);
                counts.1 += usize::from(event.process == own);
            }
        }
        if counts.0 >= 500 {
            break;
        }
    }
    assert_eq!(counts, (500, 0));
}

#[test]
fn several_at_once_are_told_in_their_own_order() {
    let _alone = alone();
    if !installed("perl") {
        return;
    }
    // Eight that run beside each other, each with many calls: two CPUs write into one ring.
    let script =
        "for my $i (1..8) { if (!fork) { getppid for 1..5000; exit $i } } 1 while wait > 0";
    let Some(mut engine) = start(&["perl", "-e", script], &only(&["getppid"])) else { return };
    let events = events(&mut engine);
    assert_eq!(engine.lost(), 0);
    assert_eq!(counts(&events)["getppid"], (40_000, 0));
    let mut ends: Vec<_> = events
        .iter()
        .filter_map(|event| match event.what {
            EventKind::Ended(WaitStatus::Exited(status)) => Some(status),
            _ => None,
        })
        .collect();
    ends.sort_unstable();
    assert_eq!(ends, (0..=8).collect::<Vec<_>>());
}

#[test]
fn only_tasks_of_a_name() {
    let _alone = alone();
    let mut command = [0; 16];
    command[..4].copy_from_slice(b"true");
    let settings =
        KernelSettings { command: Some(command), ..KernelSettings::new(FollowScope::Tree) };
    let Some(mut engine) = start(&["sh", "-c", "true; /bin/true; cat /dev/null"], &settings) else {
        return;
    };
    let events = events_of(&mut engine);
    let threads: std::collections::BTreeSet<_> = events.iter().map(|event| event.thread).collect();
    assert_eq!(threads.len(), 1, "{events:?}");
    assert!(!threads.contains(&engine.pid().unwrap()));
    assert_eq!(events.last().unwrap().what, EventKind::Ended(WaitStatus::Exited(0)));
}

#[test]
fn a_signal_to_the_caller_ends_the_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    let _alone = alone();
    let Some(mut engine) = start(&["sleep", "60"], &KernelSettings::new(FollowScope::Tree)) else {
        return;
    };
    // SAFETY: a handler that does nothing; zeros are valid for the rest.
    let thread = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as libc::sighandler_t;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()), 0);
        libc::pthread_self()
    };
    // One that comes while nobody waits is not noticed, so there are more.
    let is_over = Arc::new(AtomicBool::new(false));
    let seen_over = Arc::clone(&is_over);
    let sender = std::thread::spawn(move || {
        while !seen_over.load(Ordering::Relaxed) {
            // SAFETY: the thread is there until it has waited for this one.
            unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let each = &mut |_: &TraceEvent, _: &dyn Memory| ControlFlow::Continue(());
    assert_eq!(engine.run(Some(PATIENCE), each).unwrap(), RunResult::Interrupted);
    is_over.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    assert_eq!(engine.run(Some(Duration::ZERO), each).unwrap(), RunResult::Elapsed);
    // SAFETY: the child of this test, which nobody has waited for.
    unsafe { libc::kill(engine.pid().unwrap(), libc::SIGKILL) };
    events_of(&mut engine);
    assert_eq!(engine.end(), Some(WaitStatus::Signaled { number: libc::SIGKILL, dumped: false }));
}

#[test]
fn a_string_that_is_not_in_memory_yet_is_told_all_the_same() {
    let _alone = alone();
    if !installed("python3") {
        return;
    }
    // A page of a file that nobody has touched: the kernel alone does, in the call.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let mut text = vec![b'x'; 1 << 16];
    text[40_000..40_014].copy_from_slice(b"/not/here/yet\0");
    file.write_all(&text).unwrap();
    let path = file.path().display();
    let script = format!(
        "import ctypes, os; c = ctypes.CDLL(None, use_errno=True); f = os.open('{path}', 0); \
         c.mmap.restype = ctypes.c_void_p; m = c.mmap(None, 65536, 1, 2, f, 0); \
         c.madvise(ctypes.c_void_p(m), 65536, 1); c.open(ctypes.c_void_p(m + 40000), 0)"
    );
    let settings = only(&["open", "openat"]);
    let words = ["/usr/bin/python3", "-I", "-S", "-c", &script];
    let Some(mut engine) = start(&words, &settings) else { return };
    let all = lines(&mut engine, &LineOptions::default()).concat();
    assert!(all.iter().any(|line| line.contains("\"/not/here/yet\"")), "{all:#?}");
}

/// Numbers of the programs that this process has in the kernel.
fn programs() -> Vec<u32> {
    let mut ids = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fdinfo").unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        let id = text.lines().find_map(|line| line.strip_prefix("prog_id:"));
        ids.extend(id.map(|id| id.trim().parse::<u32>().unwrap()));
    }
    ids
}

/// Whether the kernel still has a program.
fn is_loaded(id: u32) -> bool {
    const PROG_GET_FD_BY_ID: libc::c_long = 13;
    let attributes = [id, 0, 0, 0];
    // SAFETY: the kernel reads so many bytes of the attributes and writes none.
    let descriptor =
        unsafe { libc::syscall(libc::SYS_bpf, PROG_GET_FD_BY_ID, attributes.as_ptr(), 16) };
    if descriptor >= 0 {
        // SAFETY: it was just made for us.
        unsafe { libc::close(descriptor as i32) };
    }
    descriptor >= 0
}

#[test]
fn nothing_is_left_behind() {
    let _alone = alone();
    let Some(mut engine) = start(&["true"], &KernelSettings::new(FollowScope::Tree)) else {
        return;
    };
    let ids = programs();
    assert!(ids.len() >= 7 && ids.iter().all(|id| is_loaded(*id)), "{ids:?}");
    events_of(&mut engine);
    engine.detach().unwrap();
    assert!(programs().is_empty());
    // The kernel frees them when nobody can be in one any more.
    testkit::wait_until("they are freed", || !ids.iter().any(|id| is_loaded(*id)));
}

#[test]
fn whoever_looks_may_break_off_and_go_on() {
    let _alone = alone();
    let Some(mut engine) = start(&["true"], &KernelSettings::new(FollowScope::Tree)) else {
        return;
    };
    let mut names = Vec::new();
    let mut pauses = 0;
    loop {
        let progress = engine.run(Some(PATIENCE), &mut |event: &TraceEvent, _: &dyn Memory| {
            names.push(event.what);
            ControlFlow::Break(())
        });
        match progress.unwrap() {
            RunResult::Paused => pauses += 1,
            RunResult::Ended => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(pauses, names.len());
    assert_eq!(names.last(), Some(&EventKind::Ended(WaitStatus::Exited(0))));
}

#[test]
#[ignore = "a measurement"]
fn cost() {
    let _alone = alone();
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    let time = |text: &str, call: &dyn Fn()| {
        let mut best = f64::MAX;
        for _ in 0..7 {
            let start = Instant::now();
            (0..20_000).for_each(|_| call());
            best = best.min(start.elapsed().as_secs_f64() / 2e4 * 1e9);
        }
        println!("{text}: {best:.0} ns");
    };
    let getppid = || {
        std::hint::black_box(rustix::process::getppid());
    };
    let stat = || {
        std::hint::black_box(
            rustix::fs::access("/nowhere/at/all", rustix::fs::Access::EXISTS).err(),
        );
    };
    let file = std::fs::File::options().write(true).open("/dev/null").unwrap();
    let write = || {
        std::hint::black_box(rustix::io::write(&file, &[0; 4096]).unwrap());
    };
    time("getppid, bare", &getppid);
    time("access, bare", &stat);
    time("write, bare", &write);
    let other = background(&["sleep", "60"]);
    let settings = KernelSettings {
        ring_bytes: 1 << 26,
        text_limit: None,
        ..KernelSettings::new(FollowScope::Thread)
    };
    let Some(engine) = opened(KernelEngine::attach(&[other.pid()], &settings)) else {
        return;
    };
    time("getppid, others are watched", &getppid);
    drop(engine);
    for (text, text_limit) in [("without memory", None), ("with memory", Some(32))] {
        let settings = KernelSettings { text_limit, ..settings.clone() };
        // A ring for each, that nothing is lost: that would be cheaper.
        for (name, call) in
            [("getppid", &getppid as &dyn Fn()), ("access", &stat), ("write", &write)]
        {
            let mut engine = KernelEngine::attach(&[own], &settings).unwrap();
            time(&format!("{name}, {text}"), call);
            assert_eq!(engine.lost(), 0);
            engine.detach().unwrap();
        }
    }
    time("getppid, let go", &getppid);
}

#[test]
fn part() {
    support::part();
}

/// One engine at a time: a test counts the programs of this process.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
