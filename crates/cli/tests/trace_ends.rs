//! How `whit trace` ends, what its table counts, and which descriptors the command gets.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::io::{Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Output, Stdio};
use std::thread;

use testkit::Running;

use crate::{WHIT, whit};

fn trace(words: &[&str]) -> Command {
    let mut command = whit();
    command.arg("trace").args(words);
    command
}

fn output(words: &[&str]) -> Output {
    trace(words).output().unwrap()
}

#[test]
fn the_status_of_a_command_whose_trace_cannot_be_written_is_kept() {
    for options in [&["-o"][..], &["-c", "-o"], &["--json", "-o"], &["--way", "ptrace", "-o"]] {
        let output = output(&[options, &["/dev/full", "sh", "-c", "exit 3"]].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{options:?}: {text}");
        assert!(text.contains("No space left on device"), "{options:?}: {text}");
    }
}

#[test]
fn a_trace_of_a_process_that_a_signal_ends_ends_by_it() {
    for options in [&["-c", "-o", "/dev/null"][..], &["-o", "/dev/null"]] {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let traced = Running::start(Command::new("sleep").arg("1000"));
            let pid = traced.id().to_string();
            let mut tracer =
                Running::start(trace(options).args(["-p", &pid]).stderr(Stdio::null()));
            // The signals are blocked as soon as the trace has begun.
            testkit::wait_until("the trace has begun", || tracer.takes_signal(libc::SIGINT));
            tracer.signal(signal);
            let status = tracer.ended();
            assert_eq!(status.signal(), Some(signal), "{options:?}: {status:?}");
        }
    }
}

#[test]
fn a_signal_ends_the_trace_or_does_nothing_as_asked() {
    let is_ready = |tracer: &Running| tracer.takes_signal(libc::SIGINT);
    // The command has ended by it, too, or it would run on for 1000 seconds.
    let words = ["--interruptible", "1", "-o", "/dev/null", "sleep", "1000"];
    let mut tracer = Running::start(trace(&words).stderr(Stdio::null()));
    testkit::wait_until("the trace has begun", || is_ready(&tracer));
    tracer.signal(libc::SIGTERM);
    assert_eq!(tracer.ended().signal(), Some(libc::SIGTERM));
    let words = ["--interruptible", "never", "-o", "/dev/null", "sh", "-c", "read x; exit 5"];
    let (reader, writer) = std::io::pipe().unwrap();
    let mut tracer = Running::start(trace(&words).stdin(reader));
    testkit::wait_until("the trace has begun", || is_ready(&tracer));
    tracer.signal(libc::SIGTERM);
    drop(writer);
    assert_eq!(tracer.ended().code(), Some(5));
}

#[test]
fn a_tracer_apart_leaves_the_command_the_child_of_its_caller() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    // The shell's parent; the group and the session of its tracer and of itself.
    let script = "echo $PPID; t=$(sed -n 's/^TracerPid:\\t//p' /proc/$$/status); \
                  cut -d' ' -f5,6 /proc/$$/stat /proc/$t/stat; exit 7";
    for (option, is_own_group, is_own_session) in [
        ("-D", false, false),
        ("--daemonize", false, false),
        ("-DD", true, false),
        ("--daemonize=pgroup", true, false),
        ("-DDD", true, true),
        ("--daemonize=session", true, true),
    ] {
        // It has ended when nobody has its output open.
        let output = trace(&[option, "-o"]).arg(&file).args(["sh", "-c", script]).output().unwrap();
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<&str> = shown.split_whitespace().collect();
        let [parent, group, session, of_tracer @ ..] = numbers.as_slice() else {
            panic!("{option}: {output:?}")
        };
        assert_eq!(*parent, std::process::id().to_string(), "{option}");
        assert_eq!(of_tracer[0] != *group, is_own_group, "{option}: {shown}");
        assert_eq!(of_tracer[1] != *session, is_own_session, "{option}: {shown}");
        assert_eq!(output.status.code(), Some(7), "{option}");
        let lines = std::fs::read_to_string(&file).unwrap();
        assert!(lines.starts_with("execve("), "{option}: {lines}");
        assert!(lines.ends_with("+++ exited with 7 +++\n"), "{option}: {lines}");
    }
    let counted = output(&["-D", "-c", "-q", "true"]);
    assert!(counted.status.success(), "{counted:?}");
    assert!(String::from_utf8_lossy(&counted.stderr).contains("execve"), "{counted:?}");
    let refused = output(&["-D", "-o", "|cat", "true"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("-D excludes"));
    let unfound = output(&["-D", "/nowhere"]);
    assert!(!unfound.status.success());
}

#[test]
fn signal_calls_include_the_return_from_a_handler() {
    let output = output(&["-e", "trace=%signal", "sh", "-c", "trap : USR1; kill -USR1 $$; :"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("rt_sigreturn({mask="), "{text}");
}

#[test]
fn the_table_counts_only_the_calls_of_the_path() {
    for way in [&[][..], &["--way", "ptrace"]] {
        let words = [way, &["-C", "-P", "/etc/hosts", "cat", "/etc/hosts"]].concat();
        let output = output(&words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let (lines, table) = text.split_once("% time").unwrap();
        let shown = lines.lines().filter(|line| line.contains('(')).count();
        let total = table.lines().find(|line| line.ends_with(" total")).unwrap();
        let counted: usize = total.split_whitespace().nth(3).unwrap().parse().unwrap();
        assert!(shown > 2, "{text}");
        assert_eq!(counted, shown, "{text}");
        assert!(table.contains("Seconds are "), "{text}");
    }
}

#[test]
fn a_command_runs_on_when_its_table_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    for way in ["kernel", "ptrace"] {
        for options in [&["--csv"][..], &["--csv", "-i", "0.1"], &["--json", "-i", "0.1"]] {
            let done = folder.path().join("done");
            let script = format!("sleep 0.4; : > {}; exit 3", done.display());
            let words = [&["-c", "--way", way], options, &["-o", "/dev/full"]].concat();
            let output = output(&[&words[..], &["sh", "-c", &script]].concat());
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{words:?}: {text}");
            assert_eq!(text.matches("No space left on device").count(), 1, "{words:?}: {text}");
            assert!(done.exists(), "{words:?}: the command was left: {text}");
            std::fs::remove_file(done).unwrap();
        }
    }
}

/// `clone(CLONE_PARENT)` of the command makes a child of whit that whit did not start.
#[test]
fn a_child_that_the_command_leaves_to_us_ends_with_the_trace() {
    if !testkit::is_installed("cc", "cc") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("clone_parent");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace_programs/clone_parent.c");
    let mut compiler = Command::new("cc");
    assert!(compiler.args(["-O1", "-o"]).arg(&program).arg(source).status().unwrap().success());
    let program = program.to_str().unwrap();
    // How long the child and the command live, and the signal at the child's end: none, SIGCHLD.
    let lives = [["0", "200", "17"], ["200", "0", "17"], ["0", "200", "0"], ["200", "0", "0"]];
    let check = &|way: &str, options: &[&str], life: [&str; 3]| {
        let file = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
        let mut command = Command::new("timeout");
        command.args(["--foreground", "-k", "1", "300", WHIT]);
        command.args(["trace", "-q", "--way", way]).args(options).arg("-o").arg(file.path());
        let output = command.arg(program).args(life).stdin(Stdio::null()).output().unwrap();
        let case = format!("{way} {options:?} {life:?}: {output:?}");
        // 7 would be the child's, 124 that of timeout(1).
        assert_eq!(output.status.code(), Some(3), "{case}");
        let text = std::fs::read_to_string(file.path()).unwrap();
        if options == ["-f"] {
            assert_eq!(text.matches("+++ exited with 3 +++").count(), 1, "{case}: {text}");
            assert_eq!(text.matches("+++ exited with 7 +++").count(), 1, "{case}: {text}");
        } else if options.is_empty() {
            assert!(!text.contains("exited with 7"), "{case}: {text}");
        }
    };
    // All lives at once: a run sleeps most of its time.
    for way in ["kernel", "seccomp", "ptrace"] {
        for options in [&[][..], &["-f"], &["-c"], &["-c", "-f"]] {
            if way == "seccomp" && options.is_empty() {
                continue;
            }
            std::thread::scope(|scope| {
                for life in lives {
                    scope.spawn(move || check(way, options, life));
                }
            });
        }
    }
}

/// The command closes both and then waits for a word of ours, which comes when both pipes have ended.
#[test]
fn pipes_end_when_the_command_closes_them() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script = format!("exec <&- >&-; read word < {}; exit 3", fifo.display());
    let ways = [
        &[][..],
        &["--way", "ptrace"],
        &["--way", "seccomp", "-f", "-e", "trace=close"],
        &["-c"],
        &["-c", "--way", "ptrace"],
        &["-ff"],
    ];
    for way in ways {
        let file = folder.path().join("lines");
        let mut tracer = trace(&[way, &["-o", file.to_str().unwrap()]].concat());
        tracer.args(["sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut tracer = Running::start(&mut tracer);
        let (mut input, mut output) = (tracer.stdin.take().unwrap(), tracer.stdout.take().unwrap());
        let writer = thread::spawn(move || while input.write_all(&[b'x'; 1 << 10]).is_ok() {});
        let reader = thread::spawn(move || output.read_to_end(&mut Vec::new()));
        testkit::wait_until(&format!("both pipes have ended: {way:?}"), || {
            writer.is_finished() && reader.is_finished()
        });
        std::fs::write(&fifo, "go\n").unwrap();
        assert_eq!(tracer.ended().code(), Some(3), "{way:?}");
    }
}

#[test]
fn lines_on_stdout_come_there() {
    for way in ["kernel", "ptrace"] {
        let words = ["--way", way, "-qq", "-e", "trace=exit_group", "-o", "-", "echo", "told"];
        let text = String::from_utf8(output(&words).stdout).unwrap();
        let lines = ["told", "exit_group(0)"].map(|start| text.matches(start).count());
        assert_eq!(lines, [1, 1], "{way}: {text}");
    }
}

#[test]
fn a_table_by_ptrace_says_what_its_seconds_are() {
    let unshare = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["-pf", "--mount-proc"]).args(words).output().unwrap()
    };
    let can = unshare(&["true"]);
    if !can.status.success() {
        return testkit::skip_refused("PID namespaces", &String::from_utf8_lossy(&can.stderr));
    }
    for (option, is_said) in [("-c", true), ("-cw", false)] {
        let output = unshare(&[WHIT, "trace", option, "true"]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains("counting by ptrace, which slows calls down"), "{text}");
        assert_eq!(text.contains("not on a CPU"), is_said, "{option}: {text}");
    }
}

#[test]
fn closed_descriptors_stay_closed() {
    let folder = tempfile::tempdir().unwrap();
    for way in ["", "--way ptrace", "-c"] {
        for (closed, descriptor) in [("<&-", 0), (">&-", 1), ("2>&-", 2)] {
            let line = format!(
                "exec {WHIT} trace {way} -o lines test -e /proc/self/fd/{descriptor} {closed}"
            );
            let mut shell = Command::new("sh");
            shell.args(["-c", &line]).current_dir(folder.path());
            let status = shell.stdin(Stdio::null()).status().unwrap();
            assert_eq!(status.code(), Some(1), "{line}: the descriptor is open");
        }
    }
}
