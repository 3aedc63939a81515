//! Programs traced by both, and their lines compared task by task.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Stdio;

use regex::{Captures, Regex};
use testkit::{Deadline, PATIENCE};
use trace::engine::{
    FollowScope, LiveDescriptors, PtraceEngine, RunResult, TraceEngine, TracedCommand,
};
use trace::{
    CallSet, CallStatus, CallStatuses, DescriptorTarget, Descriptors, Expression, LineOptions,
    NetlinkSocket, PidPrefix, Printer,
};

use super::{ready, script};

/// What changes by nature from run to run: replaced on both sides before they are compared.
const CHANGES: &[(&str, &str)] = &[
    // What a signal broke in on: a child's end comes sooner or later.
    (r"(rt_sigreturn\(.*\)) += .*", "$1"),
    // Who started the program.
    (r"(getppid\(\)) += \d+", "$1 = N"),
    // Where the kernel puts memory.
    (r"0x[0-9a-f]{9,16}", "ADDRESS"),
    (r#"(read\(\d+[^,]*), "[0-9a-f]{8,}-.*"(\.\.\.)?, (\d+)\) += \d+"#, "$1, MAPS, $3) = N"),
    // How long things took and when they were.
    (r"tv_(sec|nsec|usec)=\d+", "tv_$1=T"),
    (r"(si_[us]time|tms_\w+)=\d+( /\* [\d.]+ s \*/)?", "$1=T"),
    (r"([astbcm]+time(?:_nsec)?)=\d+(?: /\* [^*]+ \*/)?", "$1=T"),
    (r" /\* \d{4}-\d\d-\d\dT[^*]+ \*/", " /* DATE */"),
    (r"= 1[67]\d{8} \([^)]*\)", "= TIME"),
    (r"\[1[67]\d{8} ", "[TIME "),
    // Random bytes.
    (r#""(\\x[0-9a-f]{2})+""#, "RANDOM"),
    (r#"read\((\d+)(<[^>]*>)?, "(?:[^"\\]|\\.)*", 4\)"#, "read($1$2, RANDOM, 4)"),
    // What the machine and this process have used meanwhile.
    (r"sysinfo\(\{.*\}\)", "sysinfo({…})"),
    (r"((?:max|est)error|jitter|offset)=-?\d+", "$1=N"),
    (r"((?:shm|msg|sem)ctl\(.*(?:shmmax|msgmax|semmap)=.*\}\)) += \d+", "$1 = HIGHEST"),
    (r"(shm_[cl]pid|msg_l[sr]pid)=\d+", "$1=N"),
    (r"f_(blocks|bfree|bavail|files|ffree)=\d+", "f_$1=N"),
    (r"ru_(maxrss|minflt|majflt|inblock|oublock|nvcsw|nivcsw)=\d+", "ru_$1=N"),
    (r"(times\(.*\)) += \d+", "$1 = N"),
    (r"(stx?)_(ino|blocks)=\d+", "${1}_$2=N"),
    (r"d_(ino|off)=\d+", "d_$1=N"),
    (r"getcpu\(\[\d+\]", "getcpu([N]"),
    // Ports that the kernel chose, inodes of sockets and pipes, identifiers of System V.
    (r"htons\(\d{4,5}\)", "htons(PORT)"),
    (r"(socket|pipe):\[\d+\]", "$1:[N]"),
    (r"\b((?:shm|msg|sem)get\(.*\)) += \d+$", "$1 = ID"),
    (r"\b((?:shm|msg|sem)(?:at|ctl|snd|rcv|op)\()\d+", "${1}ID"),
    // The folder of the test.
    (r"(?:/\w+)+/\.tmp\w+", "/tmp/FOLDER"),
    // How much room the names of our folders take on the stack and in listings.
    (r" /\* \d+ (vars?|entries) \*/", " /* N $1 */"),
    (r"(getdents64\(.*\)) += \d+", "$1 = N"),
];

/// What is looked up in `/proc` while a task is stopped.
struct Live;

impl Descriptors for Live {
    fn target(&self, process: i32, descriptor: i32, _details: bool) -> Option<DescriptorTarget> {
        let path = match descriptor {
            libc::AT_FDCWD => format!("/proc/{process}/cwd"),
            _ => format!("/proc/{process}/fd/{descriptor}"),
        };
        let path = std::fs::read_link(path).ok()?;
        Some(DescriptorTarget { path: path.as_os_str().as_bytes().to_vec(), details: None })
    }

    fn netlink(&self, process: i32, descriptor: i32) -> Option<NetlinkSocket> {
        LiveDescriptors { are_stopped: true }.netlink(process, descriptor)
    }

    fn is_exact(&self) -> bool {
        true
    }
}

fn of_strace(words: &[&str], options: &[&str], folder: &Path) -> String {
    let file = folder.join("strace.out");
    let status = std::process::Command::new("strace")
        .current_dir("/")
        .env_clear()
        .envs(ENVIRONMENT.iter().copied())
        .args(["-f", "-o"])
        .arg(&file)
        .args(options)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let _ = status;
    String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()
}

/// What programs are given.
const ENVIRONMENT: &[(&str, &str)] = &[("OLDPWD", "/"), ("PATH", "/usr/bin:/bin"), ("PWD", "/")];

pub(super) fn command(words: &[&str]) -> TracedCommand {
    // What a shell would add is there; a longer one it would hand on in another order.
    let environment = ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into())).collect();
    TracedCommand::new(words, environment, "/usr/bin:/bin")
}

fn line_options(options: &[&str]) -> LineOptions {
    let mut lines =
        LineOptions { pid_prefix: PidPrefix::Always, announce: false, ..LineOptions::default() };
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match *word {
            "-v" => lines.abbreviated = CallSet::none(),
            "-y" => lines.style.descriptors = 1,
            "-z" => lines.statuses = CallStatuses::only(CallStatus::Successful),
            "-Z" => lines.statuses = CallStatuses::only(CallStatus::Failed),
            "-n" => lines.numbers = true,
            "-x" => lines.style.hex_texts = 1,
            "-X" => lines.style.constants = words.next().unwrap().parse().unwrap(),
            "-s" => lines.style.text_limit = words.next().unwrap().parse().unwrap(),
            "-a" => lines.column = words.next().unwrap().parse().unwrap(),
            "-P" => lines.paths.push(words.next().unwrap().as_bytes().to_vec()),
            "-e" => match Expression::parse(words.next().unwrap()).unwrap() {
                Expression::Trace(set) => lines.calls = set,
                Expression::Raw(set) => lines.raw = set,
                Expression::Abbreviate(set) => lines.abbreviated = set,
                Expression::Signal(set) => lines.signals = set,
                Expression::Status(set) => lines.statuses = set,
                Expression::Quiet(quiet) => lines.ends = !quiet.exit(),
                Expression::Descriptors(detail) => lines.style.descriptors = detail,
                Expression::Verbose(set) => lines.verbose = set,
                Expression::Read(set) => lines.dumps.read = set,
                Expression::Write(set) => lines.dumps.write = set,
                Expression::Commands(are_shown) => lines.style.commands = are_shown,
                Expression::Tamper(_) => panic!("{word}"),
            },
            other => panic!("{other}"),
        }
    }
    lines
}

fn of_whit(words: &[&str], options: &[&str]) -> String {
    // Both run with the same descriptors open and the same input.
    let shell = [
        "/bin/sh",
        "-c",
        "cd / && OLDPWD=/ && exec \"$@\" </dev/null >/dev/null 2>/dev/null",
        "sh",
    ];
    let words: Vec<&str> = shell.iter().chain(words).copied().collect();
    let mut engine =
        PtraceEngine::start(&command(&words), FollowScope::Tree, CallSet::all().wanted()).unwrap();
    let mut printer = Printer::new(line_options(options));
    let mut out = Vec::new();
    // The shell's own lines are left out: what counts begins with the second `execve`.
    let mut programs = 0;
    let deadline = Deadline::default();
    loop {
        let progress = engine.run(Some(PATIENCE), &mut |event, memory| {
            if let trace::EventKind::Enter(call) = event.what
                && call.id.known_name() == Some("execve")
            {
                programs += 1;
            }
            if programs > 1 {
                printer.event(event, memory, &Live, &mut out).unwrap();
            }
            ControlFlow::Continue(())
        });
        if progress.unwrap() == RunResult::Ended {
            break;
        }
        assert!(deadline.is_ahead());
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Lines by task, in the order in which tasks were made; broken lines are joined again, and tasks
/// are named by their order.
fn by_task(text: &str, patterns: &[(Regex, &str)]) -> Vec<Vec<String>> {
    let mut order: Vec<String> = Vec::new();
    let mut tasks: HashMap<String, Vec<String>> = HashMap::new();
    let mut broken: HashMap<String, String> = HashMap::new();
    let mut last_broken = String::new();
    for line in text.lines() {
        let (task, rest) = match line.split_once(' ').unwrap() {
            (task, rest) if task.parse::<i32>().is_ok() => (task, rest),
            // strace -z may break a line that it holds back, and goes on with it as if it had not.
            _ => {
                let whole = broken.remove(&last_broken).unwrap() + line;
                tasks.entry(last_broken.clone()).or_default().push(whole);
                continue;
            }
        };
        let rest = rest.trim_start();
        if !order.iter().any(|known| known == task) {
            order.push(task.to_owned());
        }
        if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
            broken.insert(task.to_owned(), begin.to_owned());
            last_broken = task.to_owned();
            continue;
        }
        let whole = match broken_end(rest) {
            // How far the column is away depends on where the line was broken.
            Some((_, end)) => broken.remove(task).unwrap_or_default() + end,
            None => rest.to_owned(),
        };
        tasks.entry(task.to_owned()).or_default().push(whole);
    }
    // The kernel goes on with the lowest number behind the highest.
    let number = |task: &str| task.parse::<i32>().unwrap();
    let (first, limit) = (order.first().map_or(0, |task| number(task)), pid_max());
    order.sort_by_key(|task| (number(task) - first).rem_euclid(limit));
    // Where a task's number stands; elsewhere a small one may stand by chance.
    let numbers = Regex::new(concat!(
        r"(pid=|wait4\(|kill\(|P_PID, |",
        r"\b(?:clone3?|v?fork|wait4|getpid|gettid|set_tid_address)\(.*\) = )(\d+)\b"
    ))
    .unwrap();
    let columns = Regex::new(r"\) += ").unwrap();
    let clean = |line: &String| {
        let mut line = columns.replace(line, ") = ").into_owned();
        for (pattern, instead) in patterns {
            line = pattern.replace_all(&line, *instead).into_owned();
        }
        let name = |found: &Captures<'_>| match order.iter().position(|task| *task == found[2]) {
            Some(place) => format!("{}TASK{place}", &found[1]),
            None => found[0].to_owned(),
        };
        let line = numbers.replace_all(&line, name);
        // Once more for the result behind an argument.
        numbers.replace_all(&line, name).into_owned()
    };
    let lines_of = |task: &String| {
        let lines = tasks.get(task).into_iter().flatten();
        lines.filter(|line| !is_race(line)).map(clean).collect()
    };
    order.iter().map(lines_of).collect()
}

/// The number after which process ids begin anew (`proc_sys_kernel(5)`).
fn pid_max() -> i32 {
    std::fs::read_to_string("/proc/sys/kernel/pid_max").unwrap().trim().parse().unwrap()
}

/// Which child ends first, and whether before its parent waits for it or after, is a race; what a
/// shell does then is left out.
fn is_race(line: &str) -> bool {
    ["--- SIGCHLD", "rt_sigreturn(", "rt_sigsuspend(", "wait4(-1,"]
        .iter()
        .any(|start| line.contains(start))
}

/// What stands behind `<... call resumed>`.
fn broken_end(line: &str) -> Option<(&str, &str)> {
    let numbered = line.starts_with('[');
    let begin = if numbered { line.split_once("] ")?.1 } else { line };
    begin.strip_prefix("<... ")?.split_once(" resumed>")
}

/// What differs on purpose.
fn differs_on_purpose(theirs: &str, ours: &str) -> bool {
    let both = |call: &str| theirs.contains(call) && ours.contains(call);
    // strace shows the room that there was, not the text that came.
    both("msgrcv(")
        // Limits of time are shown as bytes.
        || both("setsockopt(") && theirs.contains("TIMEO")
        // Shown as a failure that does not exist, `ERESTARTNOHAND (Unknown error 514)`, when raw.
        || theirs.contains("(Unknown error 51")
        // The stack pointer stands in place of an argument.
        || both("rt_sigreturn(")
        // Where memory is allotted next depends on addresses that were given at random.
        || both("brk(")
}

/// Traces a command with options; a folder for what it needs is given.
type Trace<'a> = &'a dyn Fn(&[&str], &[&str], &Path) -> String;

fn compare(words: &[&str], options: &[&str], prepare: impl Fn(&Path)) {
    let patterns: Vec<_> =
        CHANGES.iter().map(|(pattern, instead)| (Regex::new(pattern).unwrap(), *instead)).collect();
    let run = |trace: Trace<'_>| {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let path = folder.path().join("work").display().to_string();
        std::fs::create_dir(&path).unwrap();
        let fill = |list: &[&str]| -> Vec<String> {
            list.iter().map(|word| word.replace("FOLDER", &path)).collect()
        };
        let (words, options) = (fill(words), fill(options));
        // By its whole name, as a shell would try one folder after the other.
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        let program = command(&words).file().unwrap().display().to_string();
        words[0] = &program;
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        by_task(&trace(&words, &options, folder.path()), &patterns)
    };
    // Perl and the allocator ask for memory more or less often, as addresses are given at random.
    // strace shows numbers that it does not know whatever calls it is asked for.
    let is_selected = options.iter().any(|option| option.starts_with("trace="));
    let is_stable =
        |line: &&String| !(line.contains("brk(") || is_selected && line.contains("syscall_0x"));
    let theirs = run(&of_strace);
    let ours = run(&|words, options, _| of_whit(words, options));
    assert_eq!(theirs.len(), ours.len(), "tasks of {words:?}");
    let mut wrong = Vec::new();
    for (theirs, ours) in theirs.iter().zip(&ours) {
        let theirs: Vec<_> = theirs.iter().filter(is_stable).collect();
        let ours: Vec<_> = ours.iter().filter(is_stable).collect();
        for (theirs, ours) in theirs.iter().zip(&ours) {
            let is_same = theirs == ours || differs_on_purpose(theirs, ours);
            if !is_same {
                wrong.push(format!("- {theirs}\n+ {ours}"));
            }
        }
        assert_eq!(theirs.len(), ours.len(), "lines of {words:?} {options:?}");
        assert!(!theirs.is_empty() || !options.is_empty());
    }
    assert!(wrong.is_empty(), "{words:?} {options:?}\n{}", wrong.join("\n"));
}

fn nothing(_: &Path) {}

#[test]
fn small_programs() {
    if !ready(&["ls", "cat"]) {
        return;
    }
    compare(&["ls", "-la", "/etc"], &[], nothing);
    compare(&["cat", "/etc/passwd", "/nothing"], &[], nothing);
    compare(&["sh", "-c", "true; exit 3"], &[], nothing);
    compare(&["sh", "-c", "kill -TERM $$"], &[], nothing);
    compare(&["sh", "-c", "trap : USR1; kill -USR1 $$; kill -SEGV $$"], &[], nothing);
    compare(&["sh", "-c", "for i in 1 2 3; do cat /etc/hostname; done; exec ls /"], &[], nothing);
    // Each reads a pipe twice: what was written at once, and the end.
    compare(&["sh", "-c", "cat /etc/hostname | cat | wc -l"], &[], nothing);
    compare(&["sh", "-c", "(sleep 0.05; exit 2) & wait $!"], &[], nothing);
}

#[test]
fn calls_of_every_subject() {
    if !ready(&["perl"]) {
        return;
    }
    let work = script("work.pl");
    for options in [
        &[][..],
        &["-v"],
        &["-y"],
        &["-z"],
        &["-Z"],
        &["-x", "-s", "8", "-n", "-a", "60"],
        &["-s", "200"],
        &["-e", "raw=%desc,%network"],
        &["-e", "trace=%file"],
        &["-e", "trace=!%desc,%memory", "-e", "signal=!CHLD"],
        &["-e", "status=failed,unfinished"],
        &["-e", "abbrev=!newfstatat", "-e", "quiet=exit"],
        &["-P", "FOLDER/a"],
        &["-X", "raw"],
        &["-X", "verbose", "-v"],
    ] {
        compare(&["perl", &work, "FOLDER"], options, nothing);
    }
}

#[test]
fn messages_of_netlink() {
    if !ready(&["perl"]) {
        return;
    }
    let work = script("netlink.pl");
    let alone = std::process::Command::new("perl").arg(&work).output().unwrap();
    assert!(alone.status.success(), "{alone:?}");
    for options in [&[][..], &["-s", "8"], &["-v", "-x"], &["-X", "verbose"], &["-X", "raw"]] {
        compare(&["perl", &work], options, nothing);
    }
}

#[test]
fn arguments_at_the_edge() {
    if !ready(&["perl"]) {
        return;
    }
    let edges = script("edges.pl");
    // A program that dies early would be the same under both.
    let folder = tempfile::tempdir().unwrap();
    let alone = std::process::Command::new("perl").arg(&edges).arg(folder.path()).output().unwrap();
    assert!(alone.status.success(), "{alone:?}");
    for options in [&[][..], &["-s", "8"], &["-v", "-x"], &["-X", "verbose"], &["-v", "-X", "raw"]]
    {
        compare(&["perl", &edges, "FOLDER"], options, nothing);
    }
}

#[test]
fn structures() {
    if !ready(&["perl"]) {
        return;
    }
    for name in ["structures.pl", "answers.pl"] {
        let program = script(name);
        // A program that dies early would be the same under both.
        let alone = std::process::Command::new("perl").arg(&program).output().unwrap();
        assert!(alone.status.success(), "{alone:?}");
        for options in [&[][..], &["-v"], &["-X", "raw", "-v"], &["-X", "verbose"], &["-y"]] {
            // The filter of the program is shown with -v, and here as its address.
            let options = [options, &["-e", "trace=!prctl"]].concat();
            compare(&["perl", &program], &options, nothing);
        }
    }
}
