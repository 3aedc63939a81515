//! `whit run` with real processes: what it ends, what it leaves, and what it says to bad input.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use testkit::Running;

fn whit(words: &[&str]) -> Command {
    let mut command = crate::whit();
    command.arg("run").args(words).env("LC_ALL", "C").env("PARALLEL_SHELL", "/bin/sh");
    command
}

fn run(words: &[&str]) -> Output {
    whit(words).output().expect("whit runs")
}

fn run_on(words: &[&str], input: &[u8]) -> Output {
    testkit::run_on(&mut whit(words), input)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The process whose number a file holds, if it is there and no zombie.
fn lives(pid_file: &Path) -> bool {
    let Ok(pid) = std::fs::read_to_string(pid_file) else { return false };
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn nothing_is_said_and_nothing_left_when_all_is_well() {
    let folder = tempfile::tempdir().unwrap();
    let output = whit(&["-k", "echo", ":::", "a", "b c"]).env("TMPDIR", folder.path()).output();
    let output = output.unwrap();
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("a\nb c\n".into(), String::new()));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(output.status.success());
}

#[test]
fn empty_input_runs_nothing() {
    let output = run_on(&["echo"], b"");
    assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(0), 0, 0));
}

#[test]
fn a_command_that_does_not_exist_is_told_as_a_shell_tells_it() {
    let output = run(&["no-such-command-here", ":::", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no-such-command-here"), "{}", text(&output.stderr));
    let output = run(&["--joblog", "-", "no-such-command-here", ":::", "1"]);
    assert!(text(&output.stdout).contains("\t127\t0\tno-such-command-here 1\n"));
}

#[test]
fn a_million_lines_in_little_memory() {
    let input: String = (0..1_000_000).map(|number| format!("{number}\n")).collect();
    let output = run_on(&["-j2", "-X", "--shell", "auto", "/bin/echo"], input.as_bytes());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let mut numbers: Vec<u32> =
        text(&output.stdout).split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers.len(), 1_000_000);
    assert!(numbers.into_iter().eq(0..1_000_000));
}

#[test]
fn a_nul_in_a_line_and_an_endless_line_are_no_crash() {
    let output = run_on(&["-k", "echo", "-{}-"], b"a\0b\nc\n");
    assert!(output.status.code().is_some(), "no signal ended it");
    assert!(text(&output.stdout).contains("-c-"), "{}", text(&output.stdout));
    for options in [&["echo"][..], &["--halt", "soon,fail=50%", "echo"]] {
        let told = text(&run_on(options, b"a\0b\nc\n").stderr);
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.contains("a NUL in the input") && told.contains("--null"), "{told}");
    }
    let line = vec![b'x'; 40 << 20];
    let output = run_on(&["echo"], &line);
    assert_eq!(output.status.code(), Some(255));
    assert!(text(&output.stderr).contains("longer than"), "{}", text(&output.stderr));
}

#[test]
fn a_job_that_ignores_term_is_killed_and_takes_its_children_along() {
    let folder = tempfile::tempdir().unwrap();
    let (job, child) = (folder.path().join("job"), folder.path().join("child"));
    let script = format!(
        "trap '' TERM; echo $$ > {}; (trap '' TERM; sleep 1000) & echo $! > {}; wait; sleep 1000; {{}}",
        job.display(),
        child.display()
    );
    let output =
        run(&["--timeout", "0.3", "--term-seq", "TERM,200,KILL,50", &script, ":::", "true"]);
    assert_eq!(output.status.code(), Some(1));
    testkit::wait_until("the job is gone", || !lives(&job));
    testkit::wait_until("its child is gone", || !lives(&child));
}

#[test]
fn killed_it_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("started");
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let script = format!("echo x; touch {}; sleep 2; echo {{}}", mark.display());
    let mut command = whit(&["-j2", &script, ":::", "1", "2"]);
    command.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::null());
    let runner = Running::start(&mut command);
    testkit::wait_until("a job runs", || mark.exists());
    runner.kill();
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn an_empty_tmpdir_is_none() {
    // Nobody can make a file in the current folder.
    let mut command = whit(&["-k", "echo", ":::", "a"]);
    let output = command.env("TMPDIR", "").current_dir("/proc").output().unwrap();
    assert_eq!(text(&output.stdout), "a\n", "{}", text(&output.stderr));
}

#[test]
fn without_descriptors_or_processes_no_job_is_lost() {
    // A limit of processes does not hold for root: of another user there are none yet.
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !is_root || !Path::new("/usr/bin/setpriv").exists() {
        testkit::skip("a limit of processes", "needs root and setpriv(1)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .unwrap();
    let program = folder.path().join("whit");
    // Where the build is kept another user may not be let in.
    if std::fs::hard_link(crate::WHIT, &program).is_err() {
        testkit::skip(
            "a limit of processes",
            "cannot link the program to where another user may run it",
        );
        return;
    }
    let line = format!(
        "ulimit -u 12; seq 200 | {} run --spawners 1 -j50 -k --shell never /bin/echo",
        program.display()
    );
    let mut command = Command::new("/usr/bin/setpriv");
    command.args(["--reuid=61234", "--regid=61234", "--clear-groups", "/bin/sh", "-c", &line]);
    let output = command.env("TMPDIR", folder.path()).env("HOME", folder.path()).output().unwrap();
    let expected: String = (1..=200).map(|number| format!("{number}\n")).collect();
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert!(output.status.success());
}

#[test]
fn tags_know_how_many_jobs_there_are() {
    let output = run(&["-j1", "--plus", "--tagstring", "{#}/{##}", "echo", ":::", "a", "b"]);
    assert_eq!(text(&output.stdout), "1/2\ta\n2/2\tb\n", "{}", text(&output.stderr));
}

#[test]
fn output_of_many_noisy_jobs_is_never_mixed() {
    let script = "i=0; while [ $i -lt 20 ]; do echo line {} $i; i=$((i+1)); done";
    let input: String = (1..=300).map(|number| format!("{number}\n")).collect();
    let output = run_on(&["-j20", script], input.as_bytes());
    let output = text(&output.stdout);
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 300 * 20);
    for job in lines.chunks(20) {
        let name = job[0].split(' ').nth(1).unwrap();
        for (number, line) in job.iter().enumerate() {
            assert_eq!(**line, *format!("line {name} {number}"));
        }
    }
}

#[test]
fn the_next_run_goes_on_where_this_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let log = log.to_str().unwrap();
    let first = run(&[
        "-j1",
        "--joblog",
        log,
        "--halt",
        "now,fail=1",
        "echo {}; exit {}",
        ":::",
        "0",
        "1",
        "0",
    ]);
    assert_eq!(first.status.code(), Some(1));
    let second =
        run(&["-j1", "--joblog", log, "--resume", "echo {}; exit {}", ":::", "0", "1", "0"]);
    assert_eq!((text(&second.stdout), second.status.code()), ("0\n".into(), Some(0)));
    let third =
        run(&["-j1", "--joblog", log, "--resume-failed", "echo again {}", ":::", "0", "1", "0"]);
    assert_eq!(text(&third.stdout), "again 1\n");
    assert_eq!(std::fs::read_to_string(log).unwrap().lines().count(), 1 + 2 + 1 + 1);
}

#[test]
fn options_of_files_and_profiles_come_before_those_of_the_line() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("config"), "--tag\n").unwrap();
    std::fs::write(home.path().join("mine"), "# a profile\n--tagstring 'p {}'\n").unwrap();
    let of = |words: &[&str]| {
        let output = whit(words).env("PARALLEL_HOME", home.path()).env("PARALLEL", "-k").output();
        text(&output.unwrap().stdout)
    };
    assert_eq!(of(&["echo", ":::", "x"]), "x\tx\n");
    assert_eq!(of(&["-J", "mine", "echo", ":::", "x"]), "p x\tx\n");
    assert_eq!(of(&["--plain", "echo", ":::", "x"]), "x\n");
}

#[test]
fn what_has_to_be_read_before_the_first_job_can_be_interrupted() {
    // A shell without job control starts what runs in the background with SIGINT ignored, which
    // children inherit.
    // SAFETY: plain system call; nothing else of this program handles the signal.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) };
    for option in [["--bar", "--plain"], ["--header", ":"]] {
        let mut command = whit(&[option.as_slice(), &["echo"]].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = Running::start(&mut command);
        testkit::wait_until("it hears", || {
            let has_ended = child.try_wait().expect("a child").is_some();
            // SAFETY: plain system call; the process was not waited for.
            has_ended || unsafe { libc::kill(child.pid(), libc::SIGINT) } != 0
        });
    }
}

#[test]
fn what_cannot_be_done_is_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(&log, "1\t:\t1\t1\t0\t0\t0\t0\techo 1\n2 strange\n").unwrap();
    let log = log.to_str().unwrap();
    for (words, says) in [
        (&["--rpl", "() 1", "echo ()", ":::", "a"][..], "--rpl \"()\" is not a tag"),
        (&["--csv", "--colsep", "", "echo", ":::", "a,b"], "--colsep ''"),
        (&["--resume-failed", "--joblog", log, "echo", ":::", "1"], "line 2 of the joblog"),
        (&["--retry-failed", "--joblog", log], "line 2 of the joblog"),
        (&["-j", "x", "echo", ":::", "1"], "-j"),
        (&["-a", "/nowhere/at/all", "echo"], "/nowhere/at/all"),
        (&["--joblog", "/nowhere/x", "echo", ":::", "1"], "(os error 2)"),
        (&["--tmpdir", "/nowhere", "echo", ":::", "1"], "(os error 2)"),
        (&["--compress", "--results", "x", "echo", ":::", "1"], "cannot go together"),
        (&["--compress", "--files", "echo", ":::", "1"], "cannot go together"),
        (&["--decompress-program", "cat", "echo", ":::", "1"], "is of --compress"),
        (&["--compress-program", "exit 3", "echo", ":::", "1"], "'exit 3' failed"),
        (&["--halt", "now,fail=x", "echo", ":::", "1"], "--halt"),
    ] {
        let output = run(words);
        let said = text(&output.stderr);
        assert_eq!(
            (output.status.code(), said.lines().count()),
            (Some(255), 1),
            "{words:?} {said}"
        );
        assert!(said.contains(says), "{words:?}: {said}");
        assert!(said.matches("os error").count() < 2, "{words:?} says it twice: {said}");
        assert!(output.stdout.is_empty(), "{words:?}");
    }
    let output = run(&["--workdir", "/nowhere", "echo", ":::", "1"]);
    let said = text(&output.stderr);
    assert!(said.starts_with("whit run: cannot enter /nowhere: "), "{said}");
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1));
}

#[test]
fn jobs_stop_and_go_on_with_the_runner() {
    use std::os::unix::process::CommandExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep {{}}", file.display());
    let mut command = whit(&[&script, ":::", "1000"]);
    // A group of its own, which is not left alone: its parent is not in it.
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    let runner = Running::start(&mut command);
    testkit::wait_until("the job runs", || lives(&file));
    let state = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    let job = std::fs::read_to_string(&file).unwrap();
    let runner_pid = runner.id();
    // SAFETY: plain system calls on a child of ours.
    let send = |signal| unsafe { libc::kill(runner_pid.cast_signed(), signal) };
    send(libc::SIGTSTP);
    testkit::wait_until("both are stopped", || {
        [&job, &runner_pid.to_string()].iter().all(|pid| state(pid) == Some('T'))
    });
    send(libc::SIGCONT);
    testkit::wait_until("both go on", || {
        [&job, &runner_pid.to_string()].iter().all(|pid| state(pid) == Some('S'))
    });
    send(libc::SIGINT);
    testkit::wait_until("the job is ended", || !lives(&file));
}
