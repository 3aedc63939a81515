//! What the tests of the ptrace engines share: commands, the running of an engine with a limit, the
//! counting of what came, and what their own programs do when they are run as commands.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Stdio;
use std::time::{Duration, Instant};

use trace::engine::{
    CallFilter, Error, FollowScope, PtraceEngine, RunResult, TraceEngine, TracedCommand,
};
use trace::{CallId, EventKind, Memory, TraceEvent};

#[allow(unused_imports, reason = "each test program uses a part of it")]
pub(crate) use testkit::{Deadline, PATIENCE, Running};

/// What this test's own program does when it is run as a command.
pub(crate) const PART: &str = "WHIT_TRACE_TEST_PART";

pub(crate) fn command(words: &[&str]) -> TracedCommand {
    TracedCommand::new(words, std::env::vars_os().collect(), std::env::var_os("PATH").unwrap())
}

/// This test's own program, for a part (see [`part`]).
pub(crate) fn own(name: &str) -> TracedCommand {
    let again = testkit::own_test("part");
    let words: Vec<&str> = [again.get_program()]
        .into_iter()
        .chain(again.get_args())
        .map(|word| word.to_str().unwrap())
        .collect();
    let mut command = command(&words);
    command.environment.push((PART.into(), name.into()));
    command
}

pub(crate) fn installed(program: &str) -> bool {
    testkit::is_installed(program, program)
}

/// Whether this kernel takes 32-bit calls, as this test's own program makes them without a tracer.
pub(crate) fn takes_32_bit_calls() -> bool {
    let own = own("int 0x80");
    let mut program = std::process::Command::new(&own.program);
    let status = program.args(&own.arguments).envs(own.environment).output().unwrap().status;
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    if signal == Some(libc::SIGSEGV) {
        testkit::skip("32-bit calls", "this kernel takes none");
        return false;
    }
    assert!(status.success(), "{status}");
    true
}

/// Runs an engine to its end, with a limit.
pub(crate) fn run(
    engine: &mut impl TraceEngine,
    mut each: impl FnMut(&TraceEvent, &dyn Memory),
) -> Result<(), Error> {
    let deadline = Deadline::default();
    loop {
        let progress = engine.run(Some(Duration::from_millis(200)), &mut |event, memory| {
            each(event, memory);
            ControlFlow::Continue(())
        })?;
        if progress == RunResult::Ended {
            return Ok(());
        }
        assert!(deadline.is_ahead(), "still running: {progress:?}");
    }
}

pub(crate) fn events(engine: &mut impl TraceEngine) -> Vec<TraceEvent> {
    let mut events = Vec::new();
    run(engine, |event, _| events.push(*event)).unwrap();
    check_order(&events);
    events
}

/// Every task's events are in the order of time, and every answer has its question.
pub(crate) fn check_order(events: &[TraceEvent]) {
    let mut open: BTreeMap<i32, CallId> = BTreeMap::new();
    let mut last: BTreeMap<i32, u64> = BTreeMap::new();
    for event in events {
        let before = last.insert(event.thread, event.time_ns).unwrap_or(0);
        assert!(event.time_ns >= before, "{event:?}");
        match event.what {
            EventKind::Enter(call) => {
                open.insert(event.thread, call.id);
            }
            EventKind::Exit { call, .. } => {
                let question = open.remove(&event.thread);
                // It was in the call when we came.
                assert!(question == Some(call.id) || before == 0 && question.is_none());
            }
            EventKind::Superseded { former } => {
                let call = open.remove(&former).unwrap();
                open.insert(event.thread, call);
            }
            _ => (),
        }
    }
}

/// Calls and errors by name.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

pub(crate) fn counts(events: &[TraceEvent]) -> Counts {
    let mut counts = Counts::new();
    for event in events {
        if let EventKind::Exit { call, result, .. } = event.what {
            let count = counts.entry(call.id.name().into_owned()).or_default();
            count.0 += 1;
            count.1 += u64::from((-4095..0).contains(&result));
        }
    }
    counts
}

/// What `strace -c` counts; `None` if it is not installed.
pub(crate) fn strace(options: &[&str], words: &[&str]) -> Option<Counts> {
    if !installed("strace") {
        return None;
    }
    let table = tempfile::NamedTempFile::new().unwrap();
    let status = std::process::Command::new("strace")
        .args(["-c", "-U", "name,calls,errors", "-o", table.path().to_str().unwrap()])
        .args(options)
        .arg("--")
        .args(words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.unwrap();
    let text = std::fs::read_to_string(table.path()).unwrap();
    let mut counts = Counts::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let [name, calls, rest @ ..] = &words[..]
            && let Ok(calls) = calls.parse()
            && *name != "total"
        {
            let errors = rest.first().map_or(0, |errors| errors.parse().unwrap());
            counts.insert((*name).to_owned(), (calls, errors));
        }
    }
    assert!(!counts.is_empty(), "{text}");
    Some(counts)
}

/// Runs an engine for a time.
pub(crate) fn run_for(engine: &mut impl TraceEngine, time: Duration) -> Vec<TraceEvent> {
    let mut events = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < time {
        let limit = time.saturating_sub(begin.elapsed());
        let progress = engine.run(Some(limit), &mut |event, _| {
            events.push(*event);
            ControlFlow::Continue(())
        });
        if progress.unwrap() == RunResult::Ended {
            break;
        }
    }
    events
}

/// Runs an engine until what it told is enough.
pub(crate) fn run_until(
    engine: &mut impl TraceEngine,
    is_enough: impl Fn(&[TraceEvent]) -> bool,
) -> Vec<TraceEvent> {
    let (mut events, deadline) = (Vec::new(), Deadline::default());
    while !is_enough(&events) {
        assert!(deadline.is_ahead(), "{events:?}");
        events.extend(run_for(engine, Duration::from_millis(50)));
    }
    events
}

/// What this program does as a command of the tests above; nothing as a test.
pub(crate) fn part() {
    let Ok(name) = std::env::var(PART) else { return };
    let ask_often = || {
        for _ in 0..250 {
            let _ = rustix::process::getppid();
        }
    };
    let threads = || {
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(ask_often)).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    };
    match name.as_str() {
        "threads" => threads(),
        "threads and a child" => {
            std::process::Command::new("sh").args(["-c", "exit 0"]).status().unwrap();
            threads();
        }
        "exec" => {
            use std::os::unix::process::CommandExt as _;
            panic!("{}", std::process::Command::new("true").exec());
        }
        "int 0x80" => {
            for _ in 0..10 {
                let parent: u64;
                // SAFETY: getppid of the table of 32-bit programs, which changes no memory.
                unsafe {
                    std::arch::asm!(
                        "int 0x80", inout("rax") 64u64 => parent,
                        out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                    );
                }
                assert!(parent > 0 && parent < 1 << 32);
            }
            let _ = rustix::process::getppid();
        }
        "unknown" => {
            // SAFETY: numbers that are no calls.
            unsafe {
                libc::syscall(9999, 1, 2, 3);
                libc::syscall(-1, 1, 2, 3);
            }
        }
        "tracer seccomp" | "tracer ptrace" => {
            let start = if name.ends_with("seccomp") {
                PtraceEngine::start_selected
            } else {
                PtraceEngine::start
            };
            let mut engine =
                start(&command(&["sleep", "1000"]), FollowScope::Tree, CallFilter::all()).unwrap();
            run_for(&mut engine, Duration::from_millis(300));
            println!("\npid {}", engine.pid().unwrap());
            run(&mut engine, |_, _| ()).unwrap();
        }
        "attach to the first process" => {
            let error =
                PtraceEngine::attach(&[1], FollowScope::Tree, CallFilter::all()).err().unwrap();
            let text = error.to_string();
            assert!(text.contains("belongs to user 0: run as that user or as root"), "{text}");
        }
        other => panic!("no part {other}"),
    }
}
