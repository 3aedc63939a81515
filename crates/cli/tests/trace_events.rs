//! `whit trace` beside strace: the same lines, files and exit codes, and plain words for what is
//! wrong.
//!
//! Skips, and says so, where strace is missing or nothing may be traced.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use regex::Regex;
use testkit::{Running, wait_until};

use crate::WHIT;

/// A run that takes longer hangs.
const LIMIT: &str = "300";

fn whit() -> Command {
    program(WHIT)
}

/// A program that is ended if it hangs.
fn program(name: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--foreground", "-k", "1", LIMIT, name]).stdin(Stdio::null());
    // Of cargo; the loader would look into each of its folders.
    command.env_remove("LD_LIBRARY_PATH").env("LC_ALL", "C");
    command
}

fn trace(arguments: &[&str]) -> Output {
    whit().arg("trace").args(["--way", "ptrace"]).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has_strace() -> bool {
    testkit::is_installed("strace", "strace") && can_trace()
}

fn can_trace() -> bool {
    let out = trace(&["-qq", "-o", "/dev/null", "true"]);
    if !out.status.success() {
        testkit::skip_refused("ptrace", &text(&out.stderr));
    }
    out.status.success()
}

/// Starts a process that runs beside the test, ended with it.
fn start(command: &mut Command) -> Running {
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Replaces what differs from run to run: addresses, numbers of processes, times, random bytes.
fn normal(lines: &str) -> Vec<String> {
    let rules = [
        (r"0x[0-9a-f]{5,}", "ADDRESS"),
        (r"/\* \d+ vars \*/", "/* VARS */"),
        (r"\bsi_pid=\d+", "si_pid=PID"),
        (r"^(\[pid +)?\d+\]? ", "PID "),
        (r"= \d{3,}$", "= NUMBER"),
        (r"pipe:\[\d+\]", "pipe"),
        // The number's digits move the column of what the call returned.
        (r"\bkill\(\d+(.*\)) +=", "kill(PID$1 ="),
        (r"getrandom\(.*", "getrandom"),
        (r"si_[us]time=\d+", "si_time"),
        (r"st_(size|ino)=\d+|st_[acm]time.*?[,}]|tv_n?u?sec=\d+", "STAT"),
        (r"^set_tid_address.*", "set_tid_address"),
    ];
    let rules = rules.map(|(pattern, with)| (Regex::new(pattern).unwrap(), with));
    let replaced = |line: &str| {
        rules
            .iter()
            .fold(line.to_owned(), |line, (rule, with)| rule.replace_all(&line, *with).into_owned())
    };
    lines.lines().map(replaced).collect()
}

/// The lines of a command by both, with the same switches.
fn both(switches: &[&str], command: &[&str]) -> [(Vec<String>, Output); 2] {
    both_by("ptrace", switches, command)
}

fn both_by(way: &str, switches: &[&str], command: &[&str]) -> [(Vec<String>, Output); 2] {
    let folder = tempfile::tempdir().unwrap();
    let run = |mut program: Command| {
        let file = folder.path().join("lines");
        program.args(switches).arg("-o").arg(&file).args(command);
        let output = program.output().unwrap();
        (normal(&std::fs::read_to_string(&file).unwrap()), output)
    };
    let mut ours = whit();
    ours.args(["trace", "--way", way]);
    [run(ours), run(program("strace"))]
}

#[test]
fn options_of_a_file_are_no_error_without_one() {
    if !has_strace() {
        return;
    }
    let words = ["-A", "--output-separately", "-e", "trace=none", "-qq", "true"];
    let theirs = program("strace").args(words).output().unwrap();
    let ours = trace(&words);
    for (output, of_append) in [(&ours, "-A has no effect without"), (&theirs, "-A/")] {
        let said = text(&output.stderr);
        assert!(output.status.success() && said.contains(of_append), "{said}");
        assert!(said.contains("--output-separately has no effect without -o"), "{said}");
    }
}

#[test]
fn lines_are_those_of_strace() {
    if !has_strace() {
        return;
    }
    // Nothing reads this file, so its access time does not move between the two runs; that of
    // /etc/passwd does whenever its other times are later (relatime).
    let file = tempfile::NamedTempFile::new().unwrap();
    let file = file.path().to_str().unwrap();
    let cases: [(&[&str], &[&str]); 16] = [
        (&[], &["true"]),
        (&[], &["ls", "/nowhere", "/usr"]),
        (&["-y"], &["cat", "/etc/passwd"]),
        (&["-v", "-s", "80"], &["stat", file]),
        (&["-x"], &["head", "-c9", "/bin/ls"]),
        (&["-xx", "-s4"], &["cat", "/etc/hostname"]),
        (&["-n"], &["sh", "-c", "exit 3"]),
        (&["-z", "-e", "trace=%file"], &["ls", "/nowhere"]),
        (&["-Z"], &["cat", "/nowhere"]),
        (&["-P", "/etc/hostname"], &["cat", "/etc/hostname"]),
        (&["-e", "raw=openat,read", "-e", "trace=openat,read,close"], &["cat", "/etc/hostname"]),
        (&["-e", "status=failed", "-e", "quiet=exit"], &["ls", "/nowhere"]),
        (&["-e", "signal=none", "-e", "trace=!%memory"], &["sh", "-c", "kill -USR1 $$"]),
        (&["--columns=70", "-e", "t=/^[a-f]"], &["date", "-u", "-d", "@0"]),
        (&["-e", "abbrev=none", "-e", "newfstatat,prlimit64,uname"], &["uname", "-a"]),
        (&["-qq"], &["sh", "-c", "kill -TERM $$; exit 3"]),
    ];
    for (switches, command) in cases {
        let [(ours, our_output), (theirs, their_output)] = both(switches, command);
        assert!(ours.len() > 1, "{switches:?} {command:?}: {ours:?}");
        for (our_line, their_line) in ours.iter().zip(&theirs) {
            assert_eq!(our_line, their_line, "{switches:?} {command:?}");
        }
        assert_eq!(ours.len(), theirs.len(), "{switches:?} {command:?}");
        assert_eq!(our_output.status.code(), their_output.status.code(), "{command:?}");
        assert_eq!(our_output.stdout, their_output.stdout, "{command:?}");
    }
}

#[test]
fn lines_from_the_kernel_are_those_of_strace() {
    let can = whit().args(["trace", "-q", "--way", "kernel", "-o", "/dev/null", "true"]).output();
    let can = can.unwrap();
    if !can.status.success() {
        testkit::skip_refused("BPF programs", &text(&can.stderr));
        return;
    }
    if !has_strace() {
        return;
    }
    let cases: [(&[&str], &[&str]); 7] = [
        (&[], &["true"]),
        (&[], &["ls", "/nowhere", "/usr"]),
        (&["-xx", "-s4"], &["cat", "/etc/hostname"]),
        (&["-Z"], &["cat", "/nowhere"]),
        (&["-P", "/etc/hostname"], &["cat", "/etc/hostname"]),
        (&["-n", "-e", "trace=!%memory"], &["sh", "-c", "exit 3"]),
        (&["-e", "trace=%file,kill"], &["sh", "-c", "kill -TERM $$"]),
    ];
    for (switches, command) in cases {
        let [(ours, our_output), (theirs, their_output)] = both_by("kernel", switches, command);
        for (our_line, their_line) in ours.iter().zip(&theirs) {
            assert_eq!(our_line, their_line, "{switches:?} {command:?}");
        }
        assert_eq!(ours.len(), theirs.len(), "{switches:?} {command:?}: {ours:?}");
        assert_eq!(our_output.status.code(), their_output.status.code(), "{command:?}");
    }

    // Everybody, a name, a process: told by none of strace.
    let beside = start(
        Command::new("perl").args(["-e", "chdir '/', select undef, undef, undef, .01 for 1..1e5"]),
    );
    let pid = beside.id().to_string();
    for whom in [&["-a"][..], &["--comm", "perl"], &["-p", &pid]] {
        let mut command = whit();
        command.args(["trace", "-q", "-e", "trace=chdir", "--for", "0.3"]).args(whom);
        // On a busy machine the other process may get no CPU in so short a time.
        wait_until(&format!("calls of {whom:?} are seen"), || {
            let out = command.output().unwrap();
            assert!(out.status.success(), "{out:?}");
            text(&out.stderr).matches("chdir(\"/\")").count() > 3
        });
    }
}

#[test]
fn children_are_followed_as_by_strace() {
    if !has_strace() {
        return;
    }
    let script = "(exit 4); (exec /bin/true); /bin/false; exit 5";
    let folder = tempfile::tempdir().unwrap();
    // A file for each task: as many, and in their order the same lines.
    let mut found: Vec<Vec<Vec<String>>> = Vec::new();
    for (number, mut command) in [whit(), program("strace")].into_iter().enumerate() {
        if number == 0 {
            command.args(["trace", "--way", "ptrace"]);
        }
        let folder = folder.path().join(number.to_string());
        std::fs::create_dir(&folder).unwrap();
        command.args(["-ff", "-e", "trace=%process", "-o"]).arg(folder.join("t"));
        let output = command.args(["sh", "-c", script]).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let entries = std::fs::read_dir(&folder).unwrap();
        let mut files: Vec<(u32, String)> = entries
            .map(|entry| {
                let path = entry.unwrap().path();
                let pid = path.extension().unwrap().to_str().unwrap().parse().unwrap();
                (pid, std::fs::read_to_string(path).unwrap())
            })
            .collect();
        files.sort();
        found.push(files.iter().map(|(_, text)| normal(text)).collect());
    }
    assert_eq!(found[0].len(), 4, "{found:?}");
    let settled = |files: &[Vec<String>]| {
        // Whether a child's end comes before or within its parent's wait is chance.
        let is_chance = |line: &&String| !line.contains("SIGCHLD") && !line.contains("wait4");
        let kept = |file: &Vec<String>| file.iter().filter(is_chance).cloned().collect();
        files.iter().map(kept).collect::<Vec<Vec<String>>>()
    };
    assert_eq!(settled(&found[0]), settled(&found[1]));

    // In one file each line says whose it is, and the filter gives the same.
    let pattern = Regex::new(r"(?m)^\d+ +exit_group\(([0145])\) += \?$").unwrap();
    for way in ["ptrace", "seccomp"] {
        let file = folder.path().join("one");
        let mut command = whit();
        command.args(["trace", "--way", way, "-f", "-e", "trace=exit_group", "-o"]).arg(&file);
        let output = command.args(["sh", "-c", script]).output().unwrap();
        assert_eq!(output.status.code(), Some(5), "{output:?}");
        let lines = std::fs::read_to_string(&file).unwrap();
        let mut codes: Vec<_> =
            pattern.captures_iter(&lines).map(|found| text(found[1].as_bytes())).collect();
        codes.sort();
        assert_eq!(codes, ["0", "1", "4", "5"], "{way}: {lines}");
        assert_eq!(lines.matches("+++ exited with").count(), 4, "{way}: {lines}");
    }
}

#[test]
fn times_stand_where_they_do_with_strace() {
    if !can_trace() {
        return;
    }
    let shapes = [
        (&["-t"][..], r"^\d\d:\d\d:\d\d execve\("),
        (&["-tt"], r"^\d\d:\d\d:\d\d\.\d{6} execve\("),
        (&["-ttt"], r"^\d{10}\.\d{6} execve\("),
        (&["-r"], r"^     0\.000000 execve\("),
        (&["-tt", "-r"], r"^\d\d:\d\d:\d\d\.\d{6} \(\+     0\.000000\) execve\("),
        (&["-T"], r"^execve\(.* = 0 <\d+\.\d{6}>$"),
        (&["--syscall-times=ns"], r"^execve\(.* = 0 <\d+\.\d{9}>$"),
        (&["--absolute-timestamps=unix,ms"], r"^\d{10}\.\d{3} execve\("),
        (&["--relative-timestamps=s"], r"^     0 execve\("),
    ];
    for (switches, shape) in shapes {
        let out = trace(&[&["-q"], switches, &["true"]].concat());
        let lines = text(&out.stderr);
        let first = lines.lines().next().unwrap();
        assert!(Regex::new(shape).unwrap().is_match(first), "{switches:?}: {first}");
    }
    // The time that a call takes is that of the call, which is not longer than all that we wait.
    let begun = Instant::now();
    let out = trace(&["-q", "-T", "-e", "trace=clock_nanosleep", "sleep", "0.2"]);
    let lines = text(&out.stderr);
    let took = Regex::new(r"<(\d+\.\d+)>").unwrap().captures(&lines).unwrap();
    let seconds: f64 = took[1].parse().unwrap();
    assert!((0.2..begun.elapsed().as_secs_f64()).contains(&seconds), "{lines}");
}

#[test]
fn it_goes_to_pipes_and_files_and_ends_as_the_command_does() {
    if !can_trace() {
        return;
    }
    let out = trace(&["-o", "|tr a-z A-Z", "-e", "trace=execve", "true"]);
    assert!(text(&out.stdout).starts_with("EXECVE(\""), "{out:?}");
    let out = trace(&["-o", "-", "-e", "trace=execve", "true"]);
    assert!(text(&out.stdout).starts_with("execve(\""), "{out:?}");
    // A reader who has had enough does not end the command.
    let out =
        trace(&["-o", "|true", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo $i; done; exit 6"]);
    assert_eq!((out.status.code(), out.stdout.len()), (Some(6), 18), "{out:?}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x");
    for times in 1..=2 {
        trace(&["-A", "-e", "trace=execve", "-o", file.to_str().unwrap(), "true"]);
        let lines = std::fs::read_to_string(&file).unwrap();
        assert_eq!(lines.matches("execve(").count(), times, "{lines}");
    }
    // timeout(1) stands between, and tells of signals in its own way.
    let end = |script: &str| {
        let mut command = crate::whit();
        command.args(["trace", "-qq", "-o", "/dev/null", "sh", "-c", script]).status().unwrap()
    };
    assert_eq!(end("exit 7").code(), Some(7));
    assert_eq!(end("kill -9 $$").signal(), Some(9));
    assert_eq!(end("kill -SEGV $$").signal(), Some(11));
    let script = r#"$0 && [ "$ADDED" = yes ] && [ -z "$HOME" ]"#;
    let out = trace(&["-q", "-E", "ADDED=yes", "-E", "HOME", "sh", "-c", script, "true"]);
    assert!(out.status.success(), "{out:?}");
}

#[test]
fn a_table_can_follow_the_lines_and_events_be_json() {
    if !can_trace() {
        return;
    }
    let out =
        trace(&["-C", "-q", "-S", "name", "-e", "trace=openat,close", "cat", "/etc/hostname"]);
    let lines = text(&out.stderr);
    let opened = lines.matches("openat(").count();
    let row = lines.lines().find(|line| line.ends_with(" openat")).unwrap();
    let calls: usize = row.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert_eq!(calls, opened, "{lines}");
    assert!(lines.contains(" total"), "{lines}");

    let out = trace(&["--json", "-f", "-q", "-o", "-", "sh", "-c", "cat /nowhere 2>&-; kill $$"]);
    let objects: Vec<serde_json::Value> =
        text(&out.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let failed = objects
        .iter()
        .find(|object| object["syscall"] == "openat" && object["arguments"][1] == "\"/nowhere\"");
    let failed = failed.unwrap();
    assert_eq!((&failed["error"], &failed["result"]), (&"ENOENT".into(), &(-2).into()));
    let arguments = serde_json::json!(["AT_FDCWD", "\"/nowhere\"", "O_RDONLY"]);
    assert_eq!(failed["arguments"], arguments);
    // Commas within an argument are its own.
    let began = objects.iter().find(|object| object["syscall"] == "execve").unwrap();
    let arguments = began["arguments"].as_array().unwrap();
    assert_eq!(arguments.len(), 3, "{arguments:?}");
    assert_eq!(arguments[1], r#"["sh", "-c", "cat /nowhere 2>&-; kill $$"]"#);
    let left = objects.iter().find(|object| object["syscall"] == "exit_group").unwrap();
    assert_eq!(left["arguments"], serde_json::json!(["1"]));
    assert!(failed["wall_ns"].as_u64().unwrap() > 0 && failed["time_s"].as_f64().unwrap() > 1e9);
    let ends: Vec<_> = objects.iter().filter(|object| object["event"] == "ended").collect();
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert_eq!((&ends[0]["status"], &ends[1]["signal"]), (&1.into(), &15.into()));
    assert!(objects.iter().any(|object| object["signal"] == "SIGTERM"));
    assert!(objects.iter().any(|object| object["event"] == "began"));

    // Only what took its time.
    let out =
        trace(&["-qq", "--slower-than", "0.1", "-e", "signal=none", "sh", "-c", "sleep 0.2; :"]);
    let lines = text(&out.stderr);
    assert!(
        lines.lines().count() == 2
            && lines.ends_with("exit_group(0)                           = ?\n")
            && lines.starts_with("wait4("),
        "{lines}"
    );
}

#[test]
fn running_processes_are_traced_and_run_on() {
    if !can_trace() {
        return;
    }
    let beside = start(
        Command::new("perl").args(["-e", "chdir '/', select undef, undef, undef, .01 for 1..1e5"]),
    );
    // The run is interrupted as by Ctrl-C.
    let mut command = crate::whit();
    command.args(["trace", "--way", "ptrace", "-p", &beside.id().to_string()]);
    let mut traced = Running::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut stderr = BufReader::new(traced.stderr.take().unwrap());
    let mut lines = String::new();
    while lines.matches("chdir(\"/\")").count() < 6 {
        assert!(stderr.read_line(&mut lines).unwrap() > 0, "{lines}");
    }
    traced.signal(libc::SIGINT);
    stderr.read_to_string(&mut lines).unwrap();
    assert_eq!(traced.ended().signal(), Some(libc::SIGINT), "{lines}");
    let pid = beside.id().to_string();
    assert!(lines.starts_with(&format!("strace: Process {pid} attached\n")), "{lines}");
    assert!(lines.matches("chdir(\"/\")").count() > 5, "{lines}");
    assert!(lines.contains(&format!("strace: Process {pid} detached\n")), "{lines}");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    assert!(status.contains("TracerPid:\t0\n"), "{status}");
    let state = status.lines().find(|line| line.starts_with("State:")).unwrap();
    assert!(state.contains("(sleeping)") || state.contains("(running)"), "{state}");

    // For a time only.
    let out = trace(&["-q", "--for", "0.3", "-p", &pid]);
    assert!(out.status.success() && text(&out.stderr).contains("chdir("), "{out:?}");
}

#[test]
fn a_command_gets_the_signals_and_is_traced_to_its_end() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (ready, file) = (folder.path().join("ready"), folder.path().join("lines"));
    let script =
        format!("trap 'exit 9' TERM; : > {}; while :; do sleep 0.05; done", ready.display());
    let mut command = crate::whit();
    command.args(["trace", "--way", "ptrace", "-o"]).arg(&file).args(["sh", "-c", &script]);
    let mut traced = start(&mut command);
    wait_until("the script runs", || ready.exists());
    traced.signal(libc::SIGTERM);
    assert_eq!(traced.ended().code(), Some(9));
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.contains("--- SIGTERM") && lines.ends_with("+++ exited with 9 +++\n"), "{lines}");
}

#[test]
fn processes_that_end_while_they_are_attached_to() {
    if !can_trace() {
        return;
    }
    // Ends at any moment of the attaching: told of, or as one that is not there, but never a hang.
    for delay_ms in [0, 1, 2, 5, 10] {
        let mut short = Command::new("sleep").arg(format!("0.0{delay_ms:02}")).spawn().unwrap();
        let out = trace(&["-q", "-f", "-p", &short.id().to_string()]);
        short.wait().unwrap();
        let said = text(&out.stderr);
        match out.status.code() {
            Some(0) => {}
            Some(2) => assert_eq!(said.lines().count(), 1, "{said}"),
            other => panic!("{other:?}: {said}"),
        }
    }
    let mut gone = Command::new("true").spawn().unwrap();
    let pid = gone.id().to_string();
    gone.wait().unwrap();
    let out = trace(&["-p", &pid]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(text(&out.stderr), format!("whit: no process {pid}: it may have ended\n"));
}

#[test]
fn who_may_not_trace_is_told_so() {
    if !rustix::process::geteuid().is_root() || !can_trace() {
        testkit::skip("root", "only root can become a user who may not trace");
        return;
    }
    let beside = start(Command::new("sleep").arg("60"));
    // Nobody may not look into root's folders, so the program is handed over open.
    let file = std::fs::File::open(WHIT).unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", r#"exec "$0" trace -p "$1""#, &path, &beside.id().to_string()]);
    // SAFETY: `fcntl` is async-signal-safe; it lets the descriptor live on.
    unsafe {
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        command.pre_exec(move || {
            libc::fcntl(number, libc::F_SETFD, 0);
            Ok(())
        });
    }
    let out =
        command.current_dir("/").uid(65_534).gid(65_534).stdin(Stdio::null()).output().unwrap();
    let said = text(&out.stderr);
    if out.status.code() == Some(126) {
        testkit::skip_refused("nobody", &said);
        return;
    }
    assert_eq!(out.status.code(), Some(2), "{said}");
    let expected = format!("not allowed to trace process {}: it belongs to user 0", beside.id());
    assert!(said.contains(&expected) && said.lines().count() == 1, "{said}");
}

#[test]
fn calls_of_32_bit_programs_have_their_own_names() {
    if !can_trace() || !testkit::is_installed("cc", "cc") {
        return;
    }
    // A 64-bit program can ask by `int 0x80` too: getpid is 20 there, and writev here.
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("x.c"), folder.path().join("x"));
    let code = "int main(void) { int r; __asm__ volatile (\"int $0x80\" : \"=a\"(r) : \"a\"(20)); \
                __asm__ volatile (\"int $0x80\" : \"=a\"(r) : \"a\"(9999)); return 0; }";
    std::fs::write(&source, code).unwrap();
    let built = Command::new("cc").arg("-o").args([&program, &source]).status().unwrap();
    assert!(built.success());
    if Command::new(&program).status().unwrap().signal() == Some(libc::SIGSEGV) {
        testkit::skip("32-bit calls", "this kernel takes none");
        return;
    }
    let out = trace(&["-q", program.to_str().unwrap()]);
    let lines = text(&out.stderr);
    assert!(out.status.success(), "{lines}");
    assert!(Regex::new(r"(?m)^getpid\(\) += \d+$").unwrap().is_match(&lines), "{lines}");
    assert!(lines.contains("syscall_0x270f("), "{lines}");
    let out = trace(&["-q", "--json", "-e", "trace=getpid@32", program.to_str().unwrap()]);
    let call: serde_json::Value =
        serde_json::from_str(text(&out.stderr).lines().next().unwrap()).unwrap();
    assert_eq!((&call["syscall"], &call["abi"]), (&"getpid".into(), &"i386".into()));
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let refused = |words: &[&str], expected: &str| {
        let out = whit().arg("trace").args(words).output().unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{words:?}: {said}");
    };
    refused(&[], "nothing to trace");
    refused(&["-k", "true"], "-k, --stack-traces is not a switch of whit trace");
    refused(&["-D", "-o", "|cat", "true"], "-D excludes -o |COMMAND");
    refused(&["--inject=read", "true"], "say what is done");
    refused(&["-e", "inject=read:error=EFOO", "true"], "give an error by its name");
    refused(&["-e", "inject=read:syscall=getpid", "true"], "say what is done");
    refused(&["-e", "write=x", "true"], "\"x\" is not the number of a descriptor");
    refused(&["--way", "kernel", "--fault", "read", "true"], "--way kernel: -e inject=");
    refused(&["-c", "--way", "seccomp", "--fault", "read", "true"], "use --way ptrace");
    refused(&["--way", "kernel", "--instruction-pointer", "true"], "-i reads registers");
    refused(&["-c", "-P", "/", "--json", "true"], "exclude each other");
    refused(&["-I", "5", "true"], "give 1 (anywhere)");
    refused(&["-O", "x", "true"], "give microseconds");
    refused(&["-e", "trace=nosuch", "true"], "no system call is named \"nosuch\"");
    refused(&["-e", "signal=NOSUCH", "true"], "no signal is named");
    refused(&["--absolute-timestamps=day", "true"], "--absolute-timestamps=day");
    refused(&["-s", "9999999999", "true"], "at most");
    refused(&["--histogram", "true"], "--histogram is for counting");
    refused(&["-c", "-T", "true"], "-T is for lines");
    refused(&["-c", "-C", "true"], "cannot be used with");
    refused(&["-ff", "-C", "-o", "/tmp/x", "true"], "exclude each other");
    refused(&["-ff", "-o", "|cat", "true"], "give a file");
    refused(&["-o", "/nowhere/x", "true"], "-o /nowhere/x: cannot be written");
    refused(&["-ff", "-o", "/nowhere/x", "true"], "cannot write files in /nowhere");
    refused(&["-u", "nosuch", "true"], "no user \"nosuch\"");
    refused(&["no such command"], "no such command");
    refused(&["-p", "4000000"], "no process 4000000");
    refused(&["-p", "x"], "give the number of a process");
    refused(&["--way", "seccomp", "-p", "1"], "a filter cannot be installed in a running process");
    if can_trace() {
        let out = trace(&["-q", "/etc/passwd"]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains("EACCES") && said.contains("whit: cannot run /etc/passwd"), "{said}");
        assert_eq!(said.matches("(os error 13)").count(), 1, "{said}");
    }
}

#[test]
fn called_as_strace_it_is_strace() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("strace");
    assert!(whit().arg("link").arg(folder.path()).status().unwrap().success());
    if !has_strace() || !Path::new("/usr/bin/strace").exists() {
        return;
    }
    let strace = |program: &str, words: &[&str]| {
        let mut command = self::program(program);
        command.args(words).output().unwrap()
    };
    let link = link.to_str().unwrap();
    for words in [
        &["-a60", "-e", "trace=open,openat,close", "cat", "/etc/hostname"][..],
        &["-qqf", "--trace", "execve", "--col=30", "sh", "-c", "exit 3"],
        &["-Xabbrev", "-e", "trace=%process", "true"],
        &["-Z", "test", "-e", "/nowhere"],
    ] {
        let (ours, theirs) = (strace(link, words), strace("/usr/bin/strace", words));
        assert_eq!(normal(&text(&ours.stderr)), normal(&text(&theirs.stderr)), "{words:?}");
        assert_eq!(ours.stdout, theirs.stdout, "{words:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{words:?}");
    }
    // The table has the same calls and nothing below it.
    let rows = |output: &Output| {
        let lines = text(&output.stderr);
        let calls =
            |line: &str| line.split_whitespace().rev().map(str::to_owned).collect::<Vec<_>>();
        lines.lines().map(calls).collect::<Vec<_>>()
    };
    let words = ["-c", "-w", "-S", "name", "-U", "calls,errors,name", "ls", "/"];
    assert_eq!(rows(&strace(link, &words)), rows(&strace("/usr/bin/strace", &words)));

    for (words, expected) in [
        (&["-k", "true"][..], "--stack-traces is not a switch"),
        (&["-X", "nosuch", "true"], "--const-print-style"),
        (&["-e", "trace=nosuch", "true"], "nosuch"),
        (&["nosuchcommand"], "nosuchcommand"),
        (&["-o", "/nowhere/x", "true"], "/nowhere/x"),
    ] {
        let out = strace(link, words);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains(expected) && said.lines().count() == 1, "{words:?}: {said}");
    }
    assert!(text(&strace(link, &["-V"]).stdout).starts_with("whit "));
    assert!(text(&strace(link, &["-h"]).stdout).contains("--follow-forks"));
}
