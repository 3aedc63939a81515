//! The schedule beside GNU parallel: the same jobs under the same `--halt`, `--retries` and
//! `--timeout` must give the same exit code and the same lines of the joblog.
//!
//! Our side is an engine of a few lines that starts real processes; it looks for ends every
//! millisecond, which the real one does not.

use std::fs;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use run::Outcome;
use run::schedule::{
    Action, AfterEnd, Halt, Jobs, LocalMachine, Schedule, ScheduleOptions, Start, TermSequence,
    Timeout,
};

/// Options of ours, and the same as words.
struct Case {
    name: &'static str,
    options: ScheduleOptions,
    words: Vec<String>,
    script: &'static str,
    arguments: &'static [&'static str],
}

/// A line of the joblog: number, exit value, signal.
type Line = (u64, i32, i32);

/// A case of so many jobs at once; `words` are options as `--name value`.
fn case(
    name: &'static str,
    jobs: u32,
    words: &[(&str, &str)],
    script: &'static str,
    arguments: &'static [&'static str],
) -> Case {
    let mut options = ScheduleOptions { jobs: Jobs::number(jobs), ..ScheduleOptions::default() };
    let mut all = vec![format!("-j{jobs}")];
    for (option, value) in words {
        match *option {
            "--halt" => options.halt = Halt::parse(value).expect("a halt"),
            "--retries" => options.retries = value.parse().ok(),
            "--timeout" => options.timeout = Timeout::parse(value).ok(),
            "--term-seq" => options.term_sequence = TermSequence::parse(value).expect("signals"),
            other => panic!("{other}"),
        }
        all.extend([(*option).to_owned(), (*value).to_owned()]);
    }
    Case { name, options, words: all, script, arguments }
}

/// The cases: each differs from the others in what decides the exit code.
fn cases() -> Vec<Case> {
    let exits = "exit {}";
    let timed = "sleep 0.{}; exit {}";
    let tries = "echo x >> tries{}; test $(wc -l < tries{}) -ge {}";
    vec![
        case("plain", 2, &[], "test {} -lt 10 || kill -9 $$; exit {}", &["0", "3", "4", "10"]),
        case("fail", 2, &[("--halt", "now,fail=1")], timed, &["3", "8", "4", "1"]),
        case("soon", 3, &[("--halt", "soon,fail=2")], timed, &["2", "4", "7", "1"]),
        case("done", 1, &[("--halt", "now,done=2")], exits, &["0", "0", "0"]),
        case(
            "percent",
            1,
            &[("--halt", "soon,fail=30%")],
            exits,
            &["7", "0", "7", "0", "7", "7", "0"],
        ),
        case("retries", 1, &[("--retries", "3")], tries, &["1", "2", "3", "4"]),
        case(
            "timeout",
            3,
            &[("--timeout", "0.5")],
            "trap 'exit {}' TERM; sleep {} & wait",
            &["0", "7", "9"],
        ),
        case(
            "timeout halted",
            1,
            &[("--timeout", "0.3"), ("--retries", "2"), ("--halt", "now,fail=1")],
            "sleep {}",
            &["0", "5", "6"],
        ),
        case(
            "stubborn",
            1,
            &[("--timeout", "0.2"), ("--term-seq", "INT,100,KILL,25")],
            "trap '' INT TERM; sleep 9 {}",
            &["1"],
        ),
    ]
}

fn in_shell(script: &str, argument: &str, folder: &Path) -> Child {
    Command::new("/bin/sh")
        .args(["-c", &script.replace("{}", argument)])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .expect("sh")
}

/// Sends a signal to a job's process group.
fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes two numbers; the group is that of a child which has not been waited for.
    unsafe { libc::kill(-child.id().cast_signed(), signal) };
}

/// Runs a case by our schedule.
fn ours(case: &Case, folder: &Path) -> (u8, Vec<Line>) {
    let mut machine = LocalMachine::default();
    let mut schedule =
        Schedule::new(case.options.clone(), Instant::now(), &mut machine).expect("a schedule");
    schedule.set_total(case.arguments.len() as u64);
    let mut queue: Vec<u64> = (1..=case.arguments.len() as u64).rev().collect();
    let mut live: Vec<(u32, u64, Child)> = Vec::new();
    let mut log = Vec::new();
    loop {
        let now = Instant::now();
        while let Some(seq) = queue.last().copied()
            && let Start::Now { slot } = schedule.may_start(now, &mut machine)
        {
            queue.pop();
            live.push((slot, seq, in_shell(case.script, case.arguments[seq as usize - 1], folder)));
            schedule.started(seq, slot, now);
        }
        if live.is_empty() && (queue.is_empty() || schedule.is_stopped()) {
            log.sort_unstable();
            return (schedule.exit_code(), log);
        }
        if schedule.next_timer().is_some_and(|moment| moment <= now) {
            schedule.poll(now, &mut machine);
        }
        for action in schedule.actions() {
            if let Action::Signal { slot, signal: number, .. } = action {
                let job = live.iter().find(|(of, ..)| *of == slot).expect("a job that runs");
                signal(&job.2, number);
            }
        }
        let over =
            live.iter_mut().position(|(.., child)| child.try_wait().expect("wait").is_some());
        let Some(at) = over else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let (slot, seq, mut child) = live.swap_remove(at);
        let status = child.wait().expect("wait");
        let outcome = match (status.code(), status.signal()) {
            (Some(code), _) => Outcome::Exited(code as u8),
            (None, number) => Outcome::Signalled(number.unwrap_or(0) as u8),
        };
        let ended = schedule.ended(slot, outcome, Instant::now(), &mut machine);
        match ended.verdict {
            AfterEnd::Done => log.push((seq, ended.outcome.exit_value(), ended.outcome.signal())),
            AfterEnd::Again => queue.push(seq),
            AfterEnd::Dropped => {}
        }
    }
}

/// Runs a case by the incumbent.
fn theirs(case: &Case, folder: &Path) -> (u8, Vec<Line>) {
    let status = Command::new("/usr/bin/parallel")
        .args(["--plain", "--will-cite", "--joblog", "log"])
        .args(&case.words)
        .arg(case.script)
        .arg(":::")
        .args(case.arguments)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("PARALLEL_SHELL", "/bin/sh")
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("parallel");
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    let line = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        Some((
            fields.first()?.parse().ok()?,
            fields.get(6)?.parse().ok()?,
            fields.get(7)?.parse().ok()?,
        ))
    };
    let mut log: Vec<Line> = text.lines().filter_map(line).collect();
    log.sort_unstable();
    (status.code().unwrap_or(-1) as u8, log)
}

#[test]
fn halts_retries_and_timeouts_are_those_of_the_incumbent() {
    if !Path::new("/usr/bin/parallel").exists() {
        testkit::skip("GNU parallel", "no /usr/bin/parallel");
        return;
    }
    let results: Vec<_> = thread::scope(|scope| {
        let cases = cases();
        let threads: Vec<_> = cases
            .into_iter()
            .map(|case| {
                scope.spawn(move || {
                    let own = tempfile::tempdir().expect("a folder");
                    let other = tempfile::tempdir().expect("a folder");
                    (case.name, ours(&case, own.path()), theirs(&case, other.path()))
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a case")).collect()
    });
    for (name, ours, theirs) in results {
        assert_eq!(ours, theirs, "{name}: ours, then theirs");
    }
}
