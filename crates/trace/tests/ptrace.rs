//! The ptrace engines against the kernel and against `strace`.
//!
//! What a program that behaves the same each time does is counted by both, and must be equal.  Where
//! `strace` or an interpreter is missing a test says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout, reason = "tests")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use trace::engine::{Command, Engine, Error, Progress, Ptrace, Scope, User, Wanted, Way};
use trace::{Abi, CallId, End, Event, Memory, What};

/// No test waits longer.
const LIMIT: Duration = Duration::from_secs(60);

/// What this test's own program does when it is run as a command.
const PART: &str = "WHIT_TRACE_TEST_PART";

fn command(words: &[&str]) -> Command {
    Command {
        program: words[0].into(),
        arguments: words[1..].iter().map(OsString::from).collect(),
        name: None,
        environment: std::env::vars_os().collect(),
        folders: std::env::var_os("PATH").unwrap(),
        user: None,
    }
}

/// This test's own program, for a part (see [`part`]).
fn own(name: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = command(&[program.to_str().unwrap(), "--exact", "part", "--nocapture"]);
    command.environment.push((PART.into(), name.into()));
    command
}

fn installed(program: &str) -> bool {
    let found = command(&[program]).file().is_ok();
    if !found {
        eprintln!("skipped: {program} is not installed");
    }
    found
}

/// Runs an engine to its end, with a limit.
fn run(engine: &mut Ptrace, mut each: impl FnMut(&Event, &dyn Memory)) -> Result<(), Error> {
    let begin = Instant::now();
    loop {
        let progress = engine.run(Some(Duration::from_millis(200)), &mut |event, memory| {
            each(event, memory);
            ControlFlow::Continue(())
        })?;
        if progress == Progress::Ended {
            return Ok(());
        }
        assert!(begin.elapsed() < LIMIT, "still running: {progress:?}");
    }
}

fn events(engine: &mut Ptrace) -> Vec<Event> {
    let mut events = Vec::new();
    run(engine, |event, _| events.push(*event)).unwrap();
    check_order(&events);
    events
}

/// Every task's events are in the order of time, and every answer has its question.
fn check_order(events: &[Event]) {
    let mut open: BTreeMap<i32, CallId> = BTreeMap::new();
    let mut last: BTreeMap<i32, u64> = BTreeMap::new();
    for event in events {
        let before = last.insert(event.thread, event.time_ns).unwrap_or(0);
        assert!(event.time_ns >= before, "{event:?}");
        match event.what {
            What::Enter(call) => {
                open.insert(event.thread, call.id);
            }
            What::Exit { call, .. } => {
                let question = open.remove(&event.thread);
                // It was in the call when we came.
                assert!(question == Some(call.id) || before == 0 && question.is_none());
            }
            What::Superseded { former } => {
                let call = open.remove(&former).unwrap();
                open.insert(event.thread, call);
            }
            _ => (),
        }
    }
}

/// Calls and errors by name.
type Counts = BTreeMap<String, (u64, u64)>;

fn counts(events: &[Event]) -> Counts {
    let mut counts = Counts::new();
    for event in events {
        if let What::Exit { call, result, .. } = event.what {
            let count = counts.entry(call.id.name().into_owned()).or_default();
            count.0 += 1;
            count.1 += u64::from((-4095..0).contains(&result));
        }
    }
    counts
}

/// What `strace -c` counts; `None` if it is not installed.
fn strace(options: &[&str], words: &[&str]) -> Option<Counts> {
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
        let mut engine = Ptrace::start(&whole, Scope::Tree, Wanted::all()).unwrap();
        let ours = counts(&events(&mut engine));
        assert_eq!(certain(words, ours), certain(words, theirs), "{words:?}");
        // Without -f, only the shell itself.
        let theirs = strace(&[], &quiet).unwrap();
        let mut engine = Ptrace::start(&whole, Scope::Thread, Wanted::all()).unwrap();
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
        let wanted = Wanted::of(|call| call.known_name().is_some_and(|name| names.contains(&name)));
        for way in [Way::Seccomp, Way::Ptrace] {
            let start = if way == Way::Seccomp { Ptrace::start_selected } else { Ptrace::start };
            let mut engine = start(&command(&quiet), Scope::Tree, wanted.clone()).unwrap();
            assert_eq!(engine.way(), way);
            let ours = certain(words, counts(&events(&mut engine)));
            assert_eq!(ours, certain(words, theirs.clone()), "{words:?} by {}", way.name());
        }
        let theirs = strace(&["-e", set], &quiet).unwrap();
        let mut engine = Ptrace::start_selected(&command(&quiet), Scope::Thread, wanted).unwrap();
        let ours = certain(words, counts(&events(&mut engine)));
        assert_eq!(ours, certain(words, theirs), "{words:?} alone");
    }
}

#[test]
fn the_first_call_is_the_execve_of_the_file() {
    for way in [Way::Seccomp, Way::Ptrace] {
        let start = if way == Way::Seccomp { Ptrace::start_selected } else { Ptrace::start };
        let mut engine = start(&command(&["true"]), Scope::Tree, Wanted::all()).unwrap();
        let file = command(&["true"]).file().unwrap();
        let mut first = None;
        run(&mut engine, |event, memory| {
            if let (None, What::Enter(call)) = (&first, event.what) {
                let mut text = [0; 64];
                let count = memory.read(call.arguments[0], &mut text);
                let text = text[..count].split(|byte| *byte == 0).next().unwrap();
                first = Some((call.id.name(), String::from_utf8(text.to_vec()).unwrap()));
            }
        })
        .unwrap();
        assert_eq!(first.unwrap(), ("execve".into(), file.to_str().unwrap().to_owned()));
        assert_eq!(engine.end(), Some(End::Status(0)));
    }
}

#[test]
fn statuses_and_signals_come_back() {
    let ends = [
        ("exit 7", End::Status(7)),
        ("kill -TERM $$", End::Signal { number: libc::SIGTERM, dumped: false }),
        ("kill -KILL $$", End::Signal { number: libc::SIGKILL, dumped: false }),
        // SIGPIPE does again what it does by default.
        ("kill -PIPE $$; exit 1", End::Signal { number: libc::SIGPIPE, dumped: false }),
    ];
    let open = Wanted::of(|call| call.known_name() == Some("openat"));
    for (script, end) in ends {
        let mut engine =
            Ptrace::start(&command(&["sh", "-c", script]), Scope::Tree, Wanted::all()).unwrap();
        let pid = engine.pid().unwrap();
        let events = events(&mut engine);
        assert_eq!(engine.end(), Some(end), "{script}");
        let last = events.last().unwrap();
        assert_eq!((last.thread, last.what), (pid, What::Ended(end)));
        if let End::Signal { number, .. } = end
            && number != libc::SIGKILL
        {
            let signal = events.iter().find_map(|event| match event.what {
                What::Signal(signal) => Some(signal),
                _ => None,
            });
            let signal = signal.unwrap();
            assert_eq!((signal.number, signal.pid), (number, pid));
        }
        let shell = command(&["sh", "-c", script]);
        let mut engine = Ptrace::start_selected(&shell, Scope::Tree, open.clone()).unwrap();
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
    let mut engine = Ptrace::start(&shell, Scope::Tree, Wanted::all()).unwrap();
    let events = events(&mut engine);
    assert_eq!(engine.end(), Some(End::Status(5)));
    let killed = End::Signal { number: libc::SIGKILL, dumped: false };
    let of = |wanted: &dyn Fn(&What) -> bool| events.iter().filter(|e| wanted(&e.what)).count();
    assert_eq!(of(&|what| *what == What::Ended(killed)), 10);
    assert_eq!(of(&|what| matches!(what, What::Began { .. })), 10);
}

#[test]
fn a_stopped_process_stays_stopped_until_told_to_go_on() {
    let script = "(sleep 0.3; kill -CONT $$) & kill -STOP $$; exit 4";
    let shell = command(&["sh", "-c", script]);
    let mut engine = Ptrace::start(&shell, Scope::Tree, Wanted::all()).unwrap();
    let pid = engine.pid().unwrap();
    let events = events(&mut engine);
    assert_eq!(engine.end(), Some(End::Status(4)));
    let at = |wanted: &dyn Fn(&What) -> bool| {
        let event = events.iter().find(|event| event.thread == pid && wanted(&event.what));
        event.unwrap().time_ns
    };
    let stopped = at(&|what| *what == What::Stopped(libc::SIGSTOP));
    let went_on =
        at(&|what| matches!(what, What::Signal(signal) if signal.number == libc::SIGCONT));
    assert!(went_on - stopped > 100_000_000, "{} ns", went_on - stopped);
}

#[test]
fn threads_are_followed_and_one_of_them_may_begin_a_program() {
    let mut engine = Ptrace::start(&own("threads"), Scope::Tree, Wanted::all()).unwrap();
    let pid = engine.pid().unwrap();
    let threads = events(&mut engine);
    assert_eq!(engine.end(), Some(End::Status(0)));
    // Four threads, 250 each; nobody else in such a program asks for it.
    assert_eq!(counts(&threads)["getppid"], (1000, 0));
    assert!(threads.iter().all(|event| event.process == pid));
    let begun = |event: &&Event| event.what == What::Began { parent: pid };
    assert!(threads.iter().filter(begun).count() >= 4);

    // Asked for the threads of a process, its children are let go.
    let mut engine = Ptrace::start(&own("threads and a child"), Scope::Process, Wanted::all());
    let threads = events(engine.as_mut().unwrap());
    assert_eq!(counts(&threads)["getppid"], (1000, 0));
    assert!(threads.iter().all(|event| event.process == threads[0].process));

    let mut engine = Ptrace::start(&own("exec"), Scope::Tree, Wanted::all()).unwrap();
    let pid = engine.pid().unwrap();
    let events = events(&mut engine);
    assert_eq!(engine.end(), Some(End::Status(0)));
    let superseded = events.iter().position(|event| {
        event.thread == pid && matches!(event.what, What::Superseded { former } if former != pid)
    });
    let next = events[superseded.unwrap() + 1..].iter().find(|event| event.thread == pid);
    let What::Exit { call, result: 0, .. } = next.unwrap().what else { panic!("{next:?}") };
    assert_eq!(call.id.name(), "execve");
}

#[test]
fn calls_of_32_bit_programs_have_their_own_names() {
    let wanted = Wanted::of(|call| matches!(call.known_name(), Some("getppid" | "sched_yield")));
    for way in [Way::Seccomp, Way::Ptrace] {
        let start = if way == Way::Seccomp { Ptrace::start_selected } else { Ptrace::start };
        let mut engine = start(&own("int 0x80"), Scope::Tree, wanted.clone()).unwrap();
        let events = events(&mut engine);
        let of = |id: CallId| {
            let ends = events
                .iter()
                .filter(|event| matches!(event.what, What::Exit { call, .. } if call.id == id));
            ends.count()
        };
        // Number 64 is getppid in their table, and semget in that of 64-bit programs.
        if engine.end() == Some(End::Status(0)) {
            assert_eq!(of(CallId { abi: Abi::I386, number: 64 }), 10, "{}", way.name());
            assert_eq!(of(CallId::by_name(Abi::X86_64, "getppid").unwrap()), 1);
        } else {
            eprintln!("skipped: this kernel takes no calls of 32-bit programs");
        }
    }
}

#[test]
fn unknown_calls_are_told_as_they_are() {
    let mut engine = Ptrace::start(&own("unknown"), Scope::Tree, Wanted::all()).unwrap();
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
    let wanted = Wanted::of(|call| matches!(call.known_name(), Some("getppid" | "exit_group")));
    for way in [Way::Seccomp, Way::Ptrace] {
        let start = if way == Way::Seccomp { Ptrace::start_selected } else { Ptrace::start };
        let mut engine = start(&perl, Scope::Tree, wanted.clone()).unwrap();
        let events = events(&mut engine);
        let of = |name| {
            let begun =
                |event: &&Event| matches!(event.what, What::Enter(call) if call.id.name() == name);
            events.iter().filter(begun).count()
        };
        // getppid is cached by nobody; the parent too ends with exit_group.
        assert_eq!((of("getppid"), of("exit_group")), (500, 501), "{}", way.name());
        let ended = |event: &&Event| event.what == What::Ended(End::Status(0));
        assert_eq!(events.iter().filter(ended).count(), 501);
    }
}

#[test]
fn a_command_that_cannot_run_says_why() {
    let all = Wanted::all;
    let start = |words: &[&str]| Ptrace::start(&command(words), Scope::Tree, all());
    let message = |result: Result<Ptrace, Error>| result.err().unwrap().to_string();
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
            if let What::Exit { call, result, .. } = event.what {
                names.push((call.id.name().into_owned(), result));
            }
        });
        assert!(matches!(&result, Err(Error::Exec { program, .. }) if program == path));
        let refused = -i64::from(libc::EACCES);
        assert_eq!(names, [("execve".to_owned(), refused)], "nothing of our own is told");

        let wanted = Wanted::of(|call| call.known_name() == Some("write"));
        let mut engine = Ptrace::start_selected(&command(&[path]), Scope::Tree, wanted).unwrap();
        let result = run(&mut engine, |event, _| panic!("{event:?}"));
        assert!(matches!(result, Err(Error::Exec { .. })));
    }
}

#[test]
fn a_command_runs_as_another_user_and_under_another_name() {
    assert!(matches!(User::by_name("no such user"), Err(Error::NoUser(_))));
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be somebody else");
        return;
    }
    let nobody = User::by_name("nobody").unwrap();
    for way in [Way::Seccomp, Way::Ptrace] {
        let start = if way == Way::Seccomp { Ptrace::start_selected } else { Ptrace::start };
        let script = "test $(id -un) = nobody && test \"$0\" = name && test \"$KEY\" = value";
        let mut command = command(&["sh", "-c", script, "name"]);
        command.user = Some(nobody.clone());
        command.environment.push(("KEY".into(), "value".into()));
        command.name = Some("another".into());
        let mut engine = start(&command, Scope::Tree, Wanted::all()).unwrap();
        run(&mut engine, |_, _| ()).unwrap();
        assert_eq!(engine.end(), Some(End::Status(0)), "{}", way.name());
    }
}

/// A process that sleeps, ended when it goes out of sight.
struct Sleeper(Child);

impl Sleeper {
    /// Starts a shell, from a thread of its own: the tracer must not take note of its end.
    fn start(script: &'static str) -> Self {
        let shell = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut sleeper = Sleeper(shell);
        let mut line = [0; 3];
        sleeper.0.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"go\n");
        sleeper
    }

    fn pid(&self) -> i32 {
        self.0.id() as i32
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

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs an engine for a time.
fn run_for(engine: &mut Ptrace, time: Duration) -> Vec<Event> {
    let mut events = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < time {
        let limit = time.saturating_sub(begin.elapsed());
        let progress = engine.run(Some(limit), &mut |event, _| {
            events.push(*event);
            ControlFlow::Continue(())
        });
        if progress.unwrap() == Progress::Ended {
            break;
        }
    }
    events
}

#[test]
fn a_running_process_is_taken_hold_of_and_let_go() {
    let script = "echo go; while :; do sleep 0.01; done";
    let sleeper = Sleeper::start(script);
    for scope in [Scope::Tree, Scope::Thread] {
        let mut engine = Ptrace::attach(&[sleeper.pid()], scope, Wanted::all()).unwrap();
        let events = run_for(&mut engine, Duration::from_millis(300));
        let counts = counts(&events);
        let forks = ["clone", "vfork"].iter().filter_map(|name| counts.get(*name));
        assert!(forks.map(|(calls, _)| calls).sum::<u64>() > 2, "{counts:?}");
        assert!(events.iter().any(|event| event.thread != sleeper.pid()) == (scope == Scope::Tree));
        let begin = Instant::now();
        engine.detach().unwrap();
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
        assert_eq!(sleeper.tracer(), "0");
        let nothing = engine.run(None, &mut |event, _| panic!("{event:?}")).unwrap();
        assert_eq!(nothing, Progress::Ended);
        std::thread::sleep(Duration::from_millis(50));
        assert_ne!(sleeper.state(), b't', "left stopped");
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
        let mut engine = Ptrace::attach(&[sleeper.pid()], Scope::Tree, Wanted::all()).unwrap();
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
fn a_signal_to_the_caller_ends_the_wait() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: a handler that does nothing; zeros are valid for the rest.
    let thread = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as libc::sighandler_t;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut()), 0);
        libc::pthread_self()
    };
    let sleep = command(&["sleep", "60"]);
    let mut engine = Ptrace::start(&sleep, Scope::Tree, Wanted::all()).unwrap();
    run_for(&mut engine, Duration::from_millis(200));
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        // SAFETY: the thread waits for this.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR2) };
    });
    let each = &mut |_: &Event, _: &dyn Memory| ControlFlow::Continue(());
    let begin = Instant::now();
    let progress = engine.run(Some(LIMIT), each).unwrap();
    assert_eq!(progress, Progress::Interrupted);
    assert!(begin.elapsed() < LIMIT / 2);
    let begin = Instant::now();
    assert_eq!(engine.run(Some(Duration::ZERO), each).unwrap(), Progress::Elapsed);
    assert!(begin.elapsed() < LIMIT / 2);
    // SAFETY: the child of this test, which nobody has waited for.
    unsafe { libc::kill(engine.pid().unwrap(), libc::SIGKILL) };
    run(&mut engine, |_, _| ()).unwrap();
}

#[test]
fn a_command_does_not_outlive_its_tracer() {
    for way in ["tracer seccomp", "tracer ptrace"] {
        let own = own(way);
        let mut tracer = std::process::Command::new(own.program)
            .args(own.arguments)
            .envs(own.environment)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
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
        tracer.kill().unwrap();
        tracer.wait().unwrap();
        let begin = Instant::now();
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| !stat.contains(") Z"))
        };
        while runs() {
            assert!(begin.elapsed() < LIMIT, "{way}: {pid} runs on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_stopped_process_is_left_stopped() {
    let sleeper = Sleeper::start("echo go; kill -STOP $$; sleep 60");
    let begin = Instant::now();
    while sleeper.state() != b'T' {
        assert!(begin.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut engine = Ptrace::attach(&[sleeper.pid()], Scope::Tree, Wanted::all()).unwrap();
    let events = run_for(&mut engine, Duration::from_millis(100));
    let [stopped] = &events[..] else { panic!("{events:?}") };
    assert_eq!(stopped.what, What::Stopped(libc::SIGSTOP));
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
time.sleep(60)'";
    let sleeper = Sleeper::start(script);
    let mut engine = Ptrace::attach(&[sleeper.pid()], Scope::Process, Wanted::all()).unwrap();
    let events = run_for(&mut engine, Duration::from_millis(300));
    let askers = events
        .iter()
        .filter(|event| matches!(event.what, What::Enter(call) if call.id.name() == "getppid"));
    let mut askers: Vec<i32> = askers.map(|event| event.thread).collect();
    askers.sort_unstable();
    askers.dedup();
    assert_eq!(askers.len(), 4);
    // A second tracer is told of the first.
    let pid = sleeper.pid();
    let second = std::thread::spawn(move || {
        Ptrace::attach(&[pid], Scope::Process, Wanted::all()).err().unwrap().to_string()
    });
    let second = second.join().unwrap();
    assert!(second.contains("is traced by process"), "{second}");
    drop(engine);
    assert_eq!(sleeper.tracer(), "0");
}

#[test]
fn processes_that_end_while_they_are_taken_hold_of_harm_nobody() {
    let sleeper = Sleeper::start("echo go; while :; do /bin/true; done");
    let (mut held, mut gone) = (0, 0);
    let begin = Instant::now();
    while (held == 0 || gone == 0 || begin.elapsed() < Duration::from_secs(1))
        && begin.elapsed() < Duration::from_secs(20)
    {
        let children = format!("/proc/{0}/task/{0}/children", sleeper.pid());
        let Ok(text) = std::fs::read_to_string(&children) else {
            eprintln!("skipped: this kernel does not list children");
            return;
        };
        let Some(child) = text.split_whitespace().next() else { continue };
        match Ptrace::attach(&[child.parse().unwrap()], Scope::Tree, Wanted::all()) {
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
    let attach = |pid| Ptrace::attach(&[pid], Scope::Tree, Wanted::all()).err().unwrap();
    assert!(matches!(attach(0), Error::NoProcess(0)));
    assert!(matches!(attach(-5), Error::NoProcess(-5)));
    assert!(matches!(attach(i32::MAX), Error::NoProcess(_)));
    let own = attach(std::process::id() as i32).to_string();
    assert!(own.ends_with("it is this very process"), "{own}");
    // As somebody else, towards a process of root.
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be somebody else");
        return;
    }
    let mut command = self::own("attach to the first process");
    command.user = Some(User::by_name("nobody").unwrap());
    let mut engine = Ptrace::start(&command, Scope::Thread, Wanted::all()).unwrap();
    run(&mut engine, |_, _| ()).unwrap();
    // nobody may be unable to reach the test's program at all.
    assert!(matches!(engine.end(), Some(End::Status(0 | 127))), "{:?}", engine.end());
}

#[test]
fn whoever_looks_may_break_off_and_go_on() {
    let words = ["sh", "-c", "exec cat /etc/passwd >/dev/null"];
    let mut engine = Ptrace::start(&command(&words), Scope::Tree, Wanted::all()).unwrap();
    let mut events = Vec::new();
    loop {
        let progress = engine.run(Some(LIMIT), &mut |event, _| {
            events.push(*event);
            ControlFlow::Break(())
        });
        match progress.unwrap() {
            Progress::Paused => (),
            Progress::Ended => break,
            other => panic!("{other:?}"),
        }
    }
    let mut whole = Ptrace::start(&command(&words), Scope::Tree, Wanted::all()).unwrap();
    assert_eq!(counts(&events), counts(&self::events(&mut whole)));
}

#[test]
fn a_filter_needs_its_tracer() {
    let sleep = command(&["sleep", "60"]);
    let wanted = Wanted::of(|call| call.known_name() == Some("openat"));
    let mut engine = Ptrace::start_selected(&sleep, Scope::Tree, wanted).unwrap();
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
            let start =
                if name.ends_with("seccomp") { Ptrace::start_selected } else { Ptrace::start };
            let mut engine = start(&command(&["sleep", "60"]), Scope::Tree, Wanted::all()).unwrap();
            run_for(&mut engine, Duration::from_millis(300));
            println!("\npid {}", engine.pid().unwrap());
            run(&mut engine, |_, _| ()).unwrap();
        }
        "attach to the first process" => {
            let error = Ptrace::attach(&[1], Scope::Tree, Wanted::all()).err().unwrap();
            let text = error.to_string();
            assert!(text.contains("belongs to user 0: run as that user or as root"), "{text}");
        }
        other => panic!("no part {other}"),
    }
}
