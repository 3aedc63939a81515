//! The ptrace engines against the kernel and against `strace`: commands of our own.
//!
//! What a program that behaves the same each time does is counted by both, and must be equal.  Where
//! `strace` or an interpreter is missing a test says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

mod lines;
mod support;

use std::io::Read as _;
use std::ops::ControlFlow;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::*;
use trace::engine::{
    CallFilter, CommandUser, Error, FollowScope, PtraceEngine, RunResult, TraceEngine as _,
    TraceWay,
};
use trace::{Abi, CallId, EventKind, Memory, TraceEvent, WaitStatus};

/// Programs that do the same each time, with what they write taken away.
const PROGRAMS: &[&[&str]] = &[
    &["true"],
    &["cat", "/etc/passwd"],
    &["cat", "/nowhere"],
    &["sh", "-c", "echo one | cat | tr o 0 >/dev/null; exit 3"],
    &["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done"],
    &["perl", "-e", "for (1..50) { my $p = fork; exit 0 if !$p; waitpid $p, 0 }"],
    &["find", "/etc/apt"],
];

#[test]
fn counts_are_those_of_strace() {
    for words in PROGRAMS.iter().filter(|words| installed(words[0])) {
        let quiet = quiet(words);
        let Some(theirs) = strace(&["-f"], &quiet) else { return };
        let whole = command(&quiet);
        let mut engine = PtraceEngine::start(&whole, FollowScope::Tree, CallFilter::all()).unwrap();
        let ours = counts(&events(&mut engine));
        assert_eq!(certain(words, ours), certain(words, theirs), "{words:?}");
        // Without -f, only the shell itself.
        let theirs = strace(&[], &quiet).unwrap();
        let mut engine =
            PtraceEngine::start(&whole, FollowScope::Thread, CallFilter::all()).unwrap();
        let ours = counts(&events(&mut engine));
        assert_eq!(certain(words, ours), certain(words, theirs), "{words:?} alone");
    }
}

/// What is the same each time.  Several children that end at once are told of by one signal or by
/// more, as it happens, and one that comes at the begin of a `clone` makes it begin again.
fn certain(words: &[&str], mut counts: Counts) -> Counts {
    if words.iter().any(|word| word.contains('|')) {
        for name in ["rt_sigreturn", "wait4"] {
            counts.remove(name);
        }
        if let Some((calls, errors)) = counts.get_mut("clone") {
            *calls -= std::mem::take(errors);
        }
    }
    counts
}

/// The command without its output: redirected by a shell that is replaced by it.
fn quiet<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut quiet = vec!["sh", "-c", "exec \"$@\" >/dev/null 2>&1", "sh"];
    quiet.extend(words);
    quiet
}

#[test]
fn selected_calls_are_those_of_strace() {
    for words in PROGRAMS.iter().filter(|words| installed(words[0])) {
        let quiet = quiet(words);
        let set = "trace=openat,close,execve,dup2,clone,write";
        let Some(theirs) = strace(&["-f", "-e", set], &quiet) else { return };
        let names = ["openat", "close", "execve", "dup2", "clone", "write"];
        let wanted =
            CallFilter::of(|call| call.known_name().is_some_and(|name| names.contains(&name)));
        for way in [TraceWay::Seccomp, TraceWay::Ptrace] {
            let start = if way == TraceWay::Seccomp {
                PtraceEngine::start_selected
            } else {
                PtraceEngine::start
            };
            let mut engine = start(&command(&quiet), FollowScope::Tree, wanted.clone()).unwrap();
            assert_eq!(engine.way(), way);
            let ours = certain(words, counts(&events(&mut engine)));
            assert_eq!(ours, certain(words, theirs.clone()), "{words:?} by {}", way.name());
        }
        let theirs = strace(&["-e", set], &quiet).unwrap();
        let mut engine =
            PtraceEngine::start_selected(&command(&quiet), FollowScope::Thread, wanted).unwrap();
        let ours = certain(words, counts(&events(&mut engine)));
        assert_eq!(ours, certain(words, theirs), "{words:?} alone");
    }
}

#[test]
fn the_first_call_is_the_execve_of_the_file() {
    for way in [TraceWay::Seccomp, TraceWay::Ptrace] {
        let start = if way == TraceWay::Seccomp {
            PtraceEngine::start_selected
        } else {
            PtraceEngine::start
        };
        let mut engine = start(&command(&["true"]), FollowScope::Tree, CallFilter::all()).unwrap();
        let file = command(&["true"]).file().unwrap();
        let mut first = None;
        run(&mut engine, |event, memory| {
            if let (None, EventKind::Enter(call)) = (&first, event.what) {
                let mut text = [0; 64];
                let count = memory.read(call.arguments[0], &mut text);
                let text = text[..count].split(|byte| *byte == 0).next().unwrap();
                first = Some((call.id.name(), String::from_utf8(text.to_vec()).unwrap()));
            }
        })
        .unwrap();
        assert_eq!(first.unwrap(), ("execve".into(), file.to_str().unwrap().to_owned()));
        assert_eq!(engine.end(), Some(WaitStatus::Exited(0)));
    }
}

#[test]
fn statuses_and_signals_come_back() {
    let ends = [
        ("exit 7", WaitStatus::Exited(7)),
        ("kill -TERM $$", WaitStatus::Signaled { number: libc::SIGTERM, dumped: false }),
        ("kill -KILL $$", WaitStatus::Signaled { number: libc::SIGKILL, dumped: false }),
        // SIGPIPE does again what it does by default.
        ("kill -PIPE $$; exit 1", WaitStatus::Signaled { number: libc::SIGPIPE, dumped: false }),
    ];
    let open = CallFilter::of(|call| call.known_name() == Some("openat"));
    for (script, end) in ends {
        let mut engine = PtraceEngine::start(
            &command(&["sh", "-c", script]),
            FollowScope::Tree,
            CallFilter::all(),
        )
        .unwrap();
        let pid = engine.pid().unwrap();
        let events = events(&mut engine);
        assert_eq!(engine.end(), Some(end), "{script}");
        let last = events.last().unwrap();
        assert_eq!((last.thread, last.what), (pid, EventKind::Ended(end)));
        if let WaitStatus::Signaled { number, .. } = end
            && number != libc::SIGKILL
        {
            let signal = events.iter().find_map(|event| match event.what {
                EventKind::Signal(signal) => Some(signal),
                _ => None,
            });
            let signal = signal.unwrap();
            assert_eq!((signal.number, signal.pid), (number, pid));
        }
        let shell = command(&["sh", "-c", script]);
        let mut engine =
            PtraceEngine::start_selected(&shell, FollowScope::Tree, open.clone()).unwrap();
        run(&mut engine, |_, _| ()).unwrap();
        assert_eq!(engine.end(), Some(end), "{script}");
    }
}

#[test]
fn children_that_are_killed_lose_nobody() {
    // The shell kills its child, which may be at any point of its begin.
    let script =
        "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 60 & kill -KILL $!; wait $!; done; exit 5";
    let shell = command(&["sh", "-c", script]);
    let mut engine = PtraceEngine::start(&shell, FollowScope::Tree, CallFilter::all()).unwrap();
    let events = events(&mut engine);
    assert_eq!(engine.end(), Some(WaitStatus::Exited(5)));
    let killed = WaitStatus::Signaled { number: libc::SIGKILL, dumped: false };
    let of =
        |wanted: &dyn Fn(&EventKind) -> bool| events.iter().filter(|e| wanted(&e.what)).count();
    assert_eq!(of(&|what| *what == EventKind::Ended(killed)), 10);
    assert_eq!(of(&|what| matches!(what, EventKind::Began { .. })), 10);
}

#[test]
fn a_stopped_process_stays_stopped_until_told_to_go_on() {
    let script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 4";
    let shell = command(&["sh", "-c", script]);
    let mut engine = PtraceEngine::start(&shell, FollowScope::Tree, CallFilter::all()).unwrap();
    let pid = engine.pid().unwrap();
    let events = events(&mut engine);
    assert_eq!(engine.end(), Some(WaitStatus::Exited(4)));
    let at = |wanted: &dyn Fn(&EventKind) -> bool| {
        let event = events.iter().find(|event| event.thread == pid && wanted(&event.what));
        event.unwrap().time_ns
    };
    let stopped = at(&|what| *what == EventKind::Stopped(libc::SIGSTOP));
    let went_on =
        at(&|what| matches!(what, EventKind::Signal(signal) if signal.number == libc::SIGCONT));
    assert!(went_on - stopped > 100_000_000, "{} ns", went_on - stopped);
}

#[test]
fn threads_are_followed_and_one_of_them_may_begin_a_program() {
    let mut engine =
        PtraceEngine::start(&own("threads"), FollowScope::Tree, CallFilter::all()).unwrap();
    let pid = engine.pid().unwrap();
    let threads = events(&mut engine);
    assert_eq!(engine.end(), Some(WaitStatus::Exited(0)));
    // Four threads, 250 each; nobody else in such a program asks for it.
    assert_eq!(counts(&threads)["getppid"], (1000, 0));
    assert!(threads.iter().all(|event| event.process == pid));
    let begun = |event: &&TraceEvent| event.what == EventKind::Began { parent: pid };
    assert!(threads.iter().filter(begun).count() >= 4);

    // Asked for the threads of a process, its children are let go.
    let mut engine =
        PtraceEngine::start(&own("threads and a child"), FollowScope::Process, CallFilter::all());
    let threads = events(engine.as_mut().unwrap());
    assert_eq!(counts(&threads)["getppid"], (1000, 0));
    assert!(threads.iter().all(|event| event.process == threads[0].process));

    let mut engine =
        PtraceEngine::start(&own("exec"), FollowScope::Tree, CallFilter::all()).unwrap();
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
}

#[test]
fn calls_of_32_bit_programs_have_their_own_names() {
    if !takes_32_bit_calls() {
        return;
    }
    let wanted =
        CallFilter::of(|call| matches!(call.known_name(), Some("getppid" | "sched_yield")));
    for way in [TraceWay::Seccomp, TraceWay::Ptrace] {
        let start = if way == TraceWay::Seccomp {
            PtraceEngine::start_selected
        } else {
            PtraceEngine::start
        };
        let mut engine = start(&own("int 0x80"), FollowScope::Tree, wanted.clone()).unwrap();
        let events = events(&mut engine);
        let of = |id: CallId| {
            let ends = events.iter().filter(
                |event| matches!(event.what, EventKind::Exit { call, .. } if call.id == id),
            );
            ends.count()
        };
        // Number 64 is getppid in their table, and semget in that of 64-bit programs.
        assert_eq!(engine.end(), Some(WaitStatus::Exited(0)));
        assert_eq!(of(CallId { abi: Abi::I386, number: 64 }), 10, "{}", way.name());
        assert_eq!(of(CallId::by_name(Abi::X86_64, "getppid").unwrap()), 1);
    }
}

#[test]
fn unknown_calls_are_told_as_they_are() {
    let mut engine =
        PtraceEngine::start(&own("unknown"), FollowScope::Tree, CallFilter::all()).unwrap();
    let counts = counts(&events(&mut engine));
    assert_eq!(counts["syscall_0x270f"], (1, 1));
    assert_eq!(counts["syscall_0xffffffffffffffff"], (1, 1));
}

#[test]
fn no_call_of_many_short_processes_is_lost() {
    if !installed("perl") {
        return;
    }
    let script = "for (1..500) { my $p = fork; if (!$p) { getppid; exit 0 } waitpid $p, 0 }";
    let perl = command(&["perl", "-e", script]);
    let wanted = CallFilter::of(|call| matches!(call.known_name(), Some("getppid" | "exit_group")));
    for way in [TraceWay::Seccomp, TraceWay::Ptrace] {
        let start = if way == TraceWay::Seccomp {
            PtraceEngine::start_selected
        } else {
            PtraceEngine::start
        };
        let mut engine = start(&perl, FollowScope::Tree, wanted.clone()).unwrap();
        let events = events(&mut engine);
        let of = |name| {
            let begun = |event: &&TraceEvent| matches!(event.what, EventKind::Enter(call) if call.id.name() == name);
            events.iter().filter(begun).count()
        };
        // getppid is cached by nobody; the parent too ends with exit_group.
        assert_eq!((of("getppid"), of("exit_group")), (500, 501), "{}", way.name());
        let ended = |event: &&TraceEvent| event.what == EventKind::Ended(WaitStatus::Exited(0));
        assert_eq!(events.iter().filter(ended).count(), 501);
        let weight = engine.cost();
        // At the least each child's begin, and its two calls.
        assert!(weight.times > 1500 && weight.held_ns > weight.times * 100, "{weight:?}");
        if way == TraceWay::Seccomp {
            assert!(weight.times < 10_000, "{weight:?}");
        }
    }
}

#[test]
fn a_command_that_cannot_run_says_why() {
    let all = CallFilter::all;
    let start = |words: &[&str]| PtraceEngine::start(&command(words), FollowScope::Tree, all());
    let message = |result: Result<PtraceEngine, Error>| result.err().unwrap().to_string();
    assert_eq!(
        message(start(&["no such command"])),
        "no command \"no such command\" in the folders of PATH"
    );
    assert!(
        message(start(&["/no/such/file"])).starts_with("cannot run /no/such/file: No such file")
    );
    assert!(message(start(&["echo", "a\0b"])).contains("zero byte"));

    // What only execve knows: a folder, a file that may not be run or is no program.
    for path in ["/", "/etc/passwd"] {
        let mut engine = start(&[path]).unwrap();
        let mut names = Vec::new();
        let result = run(&mut engine, |event, _| {
            if let EventKind::Exit { call, result, .. } = event.what {
                names.push((call.id.name().into_owned(), result));
            }
        });
        assert!(matches!(&result, Err(Error::Exec { program, .. }) if program == path));
        let refused = -i64::from(libc::EACCES);
        assert_eq!(names, [("execve".to_owned(), refused)], "nothing of our own is told");

        let wanted = CallFilter::of(|call| call.known_name() == Some("write"));
        let mut engine =
            PtraceEngine::start_selected(&command(&[path]), FollowScope::Tree, wanted).unwrap();
        let result = run(&mut engine, |event, _| panic!("{event:?}"));
        assert!(matches!(result, Err(Error::Exec { .. })));
    }
}

#[test]
fn a_command_runs_as_another_user_and_under_another_name() {
    assert!(matches!(CommandUser::by_name("no such user"), Err(Error::NoUser(_))));
    if !rustix::process::geteuid().is_root() {
        testkit::skip("root", "only root can run as another user");
        return;
    }
    let nobody = CommandUser::by_name("nobody").unwrap();
    for way in [TraceWay::Seccomp, TraceWay::Ptrace] {
        let start = if way == TraceWay::Seccomp {
            PtraceEngine::start_selected
        } else {
            PtraceEngine::start
        };
        let script = "test $(id -un) = nobody && test \"$0\" = name && test \"$KEY\" = value";
        let mut command = command(&["sh", "-c", script, "name"]);
        command.user = Some(nobody.clone());
        command.environment.push(("KEY".into(), "value".into()));
        command.name = Some("another".into());
        let mut engine = start(&command, FollowScope::Tree, CallFilter::all()).unwrap();
        run(&mut engine, |_, _| ()).unwrap();
        assert_eq!(engine.end(), Some(WaitStatus::Exited(0)), "{}", way.name());
    }
}

#[test]
fn a_signal_to_the_caller_ends_the_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: a handler that does nothing; zeros are valid for the rest.
    let thread = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as libc::sighandler_t;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()), 0);
        libc::pthread_self()
    };
    let sleep = command(&["sleep", "1000"]);
    let mut engine = PtraceEngine::start(&sleep, FollowScope::Tree, CallFilter::all()).unwrap();
    run_for(&mut engine, Duration::from_millis(200));
    // One that comes while nobody waits is not noticed, so there are more.
    let is_over = Arc::new(AtomicBool::new(false));
    let seen_over = Arc::clone(&is_over);
    let sender = std::thread::spawn(move || {
        while !seen_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(200));
            // SAFETY: the thread is there until it has waited for this one.
            unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
        }
    });
    let each = &mut |_: &TraceEvent, _: &dyn Memory| ControlFlow::Continue(());
    let progress = engine.run(Some(PATIENCE), each).unwrap();
    assert_eq!(progress, RunResult::Interrupted);
    is_over.store(true, Ordering::Relaxed);
    sender.join().unwrap();
    assert_eq!(engine.run(Some(Duration::ZERO), each).unwrap(), RunResult::Elapsed);
    // SAFETY: both sets are live, and the first is filled.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
    let limit = Some(Duration::from_millis(50));
    assert_eq!(engine.run(limit, each).unwrap(), RunResult::Elapsed);
    // SAFETY: the child of this test, which nobody has waited for.
    unsafe { libc::kill(engine.pid().unwrap(), libc::SIGKILL) };
    run(&mut engine, |_, _| ()).unwrap();
}

#[test]
fn a_command_does_not_outlive_its_tracer() {
    for way in ["tracer seccomp", "tracer ptrace"] {
        let own = own(way);
        let mut command = std::process::Command::new(own.program);
        command.args(own.arguments).envs(own.environment).stdout(Stdio::piped());
        let mut tracer = Running::start(&mut command);
        let mut text = Vec::new();
        let mut output = tracer.stdout.take().unwrap();
        let pid: i32 = loop {
            let mut byte = [0];
            output.read_exact(&mut byte).unwrap();
            text.push(byte[0]);
            let line = text.strip_suffix(b"\n").map(String::from_utf8_lossy);
            let line = line.as_ref().and_then(|line| line.lines().last());
            if let Some(pid) = line.and_then(|line| line.strip_prefix("pid ")) {
                break pid.parse().unwrap();
            }
        };
        tracer.kill();
        testkit::wait_until(way, || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            !stat.is_ok_and(|stat| !stat.contains(") Z"))
        });
    }
}

#[test]
fn whoever_looks_may_break_off_and_go_on() {
    let words =
        ["sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done; exec cat /etc/passwd >/dev/null"];
    let mut engine =
        PtraceEngine::start(&command(&words), FollowScope::Tree, CallFilter::all()).unwrap();
    let mut events = Vec::new();
    loop {
        let progress = engine.run(Some(PATIENCE), &mut |event, _| {
            events.push(*event);
            ControlFlow::Break(())
        });
        match progress.unwrap() {
            RunResult::Paused => (),
            RunResult::Ended => break,
            other => panic!("{other:?}"),
        }
    }
    let mut whole =
        PtraceEngine::start(&command(&words), FollowScope::Tree, CallFilter::all()).unwrap();
    assert_eq!(counts(&events), counts(&self::events(&mut whole)));
}

#[test]
fn a_filter_needs_its_tracer() {
    let sleep = command(&["sleep", "60"]);
    let wanted = CallFilter::of(|call| call.known_name() == Some("openat"));
    let mut engine = PtraceEngine::start_selected(&sleep, FollowScope::Tree, wanted).unwrap();
    run_for(&mut engine, Duration::from_millis(200));
    assert!(matches!(engine.detach(), Err(Error::Inseparable)));
    let pid = engine.pid().unwrap();
    drop(engine);
    // It was ended, and its end was taken note of.
    assert!(!std::fs::exists(format!("/proc/{pid}")).unwrap());
}

/// What this program does as a command of the tests above; nothing as a test.
#[test]
fn part() {
    support::part();
}
