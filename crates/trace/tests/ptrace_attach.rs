//! The ptrace engines towards processes that run already: taken hold of, let go, refused.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

#[path = "ptrace/support.rs"]
mod support;

use std::collections::BTreeSet;
use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use support::*;
use trace::engine::{
    CallFilter, CommandUser, Error, FollowScope, PtraceEngine, RunResult, TraceEngine as _,
};
use trace::{EventKind, TraceEvent, WaitStatus};

/// A process that sleeps, ended when it goes out of sight.
struct Sleeper(Running);

impl Sleeper {
    /// Starts a shell, from a thread of its own: the tracer must not take note of its end.
    fn start(script: &'static str) -> Self {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut sleeper = Sleeper(Running::start(&mut shell));
        let mut line = [0; 3];
        sleeper.0.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"go\n");
        sleeper
    }

    fn pid(&self) -> i32 {
        self.0.pid()
    }

    fn state(&self) -> u8 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        text.as_bytes()[text.rfind(')').unwrap() + 2]
    }

    fn tracer(&self) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        line.unwrap().trim().to_owned()
    }
}

#[test]
fn a_running_process_is_taken_hold_of_and_let_go() {
    let script = "echo go; while :; do sleep 0.01; done";
    let sleeper = Sleeper::start(script);
    for scope in [FollowScope::Tree, FollowScope::Thread] {
        let mut engine = PtraceEngine::attach(&[sleeper.pid()], scope, CallFilter::all()).unwrap();
        let has_others =
            |events: &[TraceEvent]| events.iter().any(|event| event.thread != sleeper.pid());
        let events = run_until(&mut engine, |events| {
            let counts = counts(events);
            let forks = ["clone", "vfork"].iter().filter_map(|name| counts.get(*name));
            let has_forked = forks.map(|(calls, _)| calls).sum::<u64>() > 2;
            has_forked && (scope != FollowScope::Tree || has_others(events))
        });
        assert_eq!(has_others(&events), scope == FollowScope::Tree);
        engine.detach().unwrap();
        assert_eq!(sleeper.tracer(), "0");
        let nothing = engine.run(None, &mut |event, _| panic!("{event:?}")).unwrap();
        assert_eq!(nothing, RunResult::Ended);
        testkit::wait_until("it is not left stopped", || sleeper.state() != b't');
    }
}

#[test]
fn nobody_is_left_held_however_busy_they_are() {
    if !installed("python3") {
        return;
    }
    // Threads that come and go, each of which begins processes that do so too.
    let script = "exec python3 -c '
import os, threading
def work():
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
print(\"go\", flush=True)
while True:
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()'";
    let sleeper = Sleeper::start(script);
    // Their tracer is the thread that this test runs in.
    let me = format!("TracerPid:\t{}\n", rustix::thread::gettid().as_raw_nonzero());
    for round in 0..20 {
        let mut engine =
            PtraceEngine::attach(&[sleeper.pid()], FollowScope::Tree, CallFilter::all()).unwrap();
        let events = run_for(&mut engine, Duration::from_millis(5 * round));
        check_order(&events);
        engine.detach().unwrap();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let status = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            assert!(!status.contains(&me), "round {round}: {status}");
        }
    }
    let ended = std::fs::read_to_string(format!("/proc/{}/stat", sleeper.pid())).unwrap();
    assert!(!ended.contains(") Z"), "{ended}");
}

#[test]
fn a_stopped_process_is_left_stopped() {
    let sleeper = Sleeper::start("echo go; kill -STOP $$; sleep 1000");
    testkit::wait_until("it has stopped", || sleeper.state() == b'T');
    let mut engine =
        PtraceEngine::attach(&[sleeper.pid()], FollowScope::Tree, CallFilter::all()).unwrap();
    let events = run_until(&mut engine, |events| !events.is_empty());
    let [stopped] = &events[..] else { panic!("{events:?}") };
    assert_eq!(stopped.what, EventKind::Stopped(libc::SIGSTOP));
    engine.detach().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(sleeper.state(), b'T');
}

#[test]
fn all_threads_of_a_running_process_are_taken_hold_of() {
    if !installed("python3") {
        return;
    }
    let script = "exec python3 -c '
import threading, time, os
def work():
    while True:
        os.getppid()
        time.sleep(0.01)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
print(\"go\", flush=True)
time.sleep(1000)'";
    let sleeper = Sleeper::start(script);
    let mut engine =
        PtraceEngine::attach(&[sleeper.pid()], FollowScope::Process, CallFilter::all()).unwrap();
    let askers = |events: &[TraceEvent]| {
        let asks = |event: &&TraceEvent| match event.what {
            EventKind::Enter(call) => call.id.name() == "getppid",
            _ => false,
        };
        events.iter().filter(asks).map(|event| event.thread).collect::<BTreeSet<i32>>().len()
    };
    run_until(&mut engine, |events| askers(events) == 4);
    // The error of a second tracer names the first.
    let pid = sleeper.pid();
    let second = std::thread::spawn(move || {
        PtraceEngine::attach(&[pid], FollowScope::Process, CallFilter::all())
            .err()
            .unwrap()
            .to_string()
    });
    let second = second.join().unwrap();
    assert!(second.contains("is already traced by process"), "{second}");
    drop(engine);
    assert_eq!(sleeper.tracer(), "0");
}

#[test]
fn processes_that_end_while_they_are_taken_hold_of_harm_nobody() {
    let sleeper = Sleeper::start("echo go; while :; do /bin/true; done");
    let (mut held, mut gone) = (0, 0);
    let (begin, deadline) = (Instant::now(), Deadline::default());
    // Both, if both happen soon; one of them is enough.
    while (held == 0 || gone == 0 || begin.elapsed() < Duration::from_secs(1))
        && (begin.elapsed() < Duration::from_secs(20) || held + gone == 0 && deadline.is_ahead())
    {
        let children = format!("/proc/{0}/task/{0}/children", sleeper.pid());
        if !std::fs::exists("/proc/thread-self/children").unwrap() {
            testkit::skip("/proc/PID/task/TID/children", "this kernel has none");
            return;
        }
        let text = std::fs::read_to_string(&children).unwrap();
        let Some(child) = text.split_whitespace().next() else { continue };
        match PtraceEngine::attach(&[child.parse().unwrap()], FollowScope::Tree, CallFilter::all())
        {
            Ok(mut engine) => {
                run(&mut engine, |_, _| ()).unwrap();
                held += 1;
            }
            Err(Error::NoProcess(_) | Error::Denied { .. }) => gone += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(held + gone > 0);
    eprintln!("{held} held, {gone} gone");
}

#[test]
fn refusals_are_told() {
    let attach =
        |pid| PtraceEngine::attach(&[pid], FollowScope::Tree, CallFilter::all()).err().unwrap();
    assert!(matches!(attach(0), Error::NoProcess(0)));
    assert!(matches!(attach(-5), Error::NoProcess(-5)));
    assert!(matches!(attach(i32::MAX), Error::NoProcess(_)));
    let own = attach(std::process::id() as i32).to_string();
    assert!(own.ends_with("it is this very process"), "{own}");
    // As somebody else, towards a process of root.
    if !rustix::process::geteuid().is_root() {
        testkit::skip("root", "only root can run as another user");
        return;
    }
    let mut command = self::own("attach to the first process");
    command.user = Some(CommandUser::by_name("nobody").unwrap());
    let mut engine = PtraceEngine::start(&command, FollowScope::Thread, CallFilter::all()).unwrap();
    run(&mut engine, |_, _| ()).unwrap();
    // nobody may be unable to reach the test's program at all.
    assert!(matches!(engine.end(), Some(WaitStatus::Exited(0 | 127))), "{:?}", engine.end());
}

/// What this program does as a command of the tests above; nothing as a test.
#[test]
fn part() {
    support::part();
}
