//! `whit trace`, called as strace, beside strace: random command lines have the same lines or table,
//! output and exit code.
//!
//! Each is some options and a small program.  A long run tries 300, a short one 15, always the same
//! ones.  What changes from run to run (addresses, times, numbers of processes) is replaced on both
//! sides.  Skips, and says so, without strace 6.1 or the permission to trace.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::process::{Command, Stdio};

use regex::{Captures, Regex};
use testkit::Random;

/// Command lines of a long and of a short run, and their seed.
const LINES: [usize; 2] = [300, 15];
const SEED: u64 = 26;

/// Seconds after which a command line is ended: it hangs.
const LIMIT: &str = "60";

/// The options, of which each line has one to four.
const OPTIONS: &[&[&str]] = &[
    &["-f"],
    &["-f"],
    &["--follow-forks"],
    &["-F"],
    &["-i"],
    &["-n"],
    &["-t"],
    &["-tt"],
    &["-ttt"],
    &["-r"],
    &["-T"],
    &["-y"],
    &["-yy"],
    &["-v"],
    &["--no-abbrev"],
    &["-x"],
    &["-xx"],
    &["-s", "5"],
    &["-s", "200"],
    &["--string-limit=9"],
    &["-a", "0"],
    &["-a", "70"],
    &["--columns=50"],
    &["-z"],
    &["-Z"],
    &["--successful-only"],
    &["-q"],
    &["-qq"],
    &["-qqq"],
    &["-X", "abbrev"],
    &["-X", "raw"],
    &["-X", "verbose"],
    &["--const-print-style=verbose", "-v"],
    &["--const-print-style=abbrev"],
    &["--relative-timestamps=us"],
    &["--syscall-times=ms"],
    &["--absolute-timestamps=format:unix,precision:ms"],
    &["-e", "decode-fds=path"],
    &["-e", "decode-pids=comm"],
    &["--quiet=attach,exit"],
    &["-e", "quiet=all"],
    &["-e", "trace=?nosuch,read"],
    &["-e", "trace=%net,%signal"],
    &["-e", "trace=%memory"],
    &["-e", "trace=%stat,%fstat"],
    &["-e", "inject=close:retval=7:delay_exit=10"],
    &["-A"],
    &["-N"],
    &["-e", "trace=%file"],
    &["-e", "trace=%desc,%process"],
    &["-e", "trace=!mmap,brk"],
    &["-e", "openat,read"],
    &["-e", "trace=/^(open|clos)"],
    &["-e", "trace=write"],
    &["--trace=read"],
    &["-e", "trace=none"],
    &["-e", "inject=openat:error=ENOENT:when=3"],
    &["-e", "inject=read:retval=0:when=2+"],
    &["-e", "inject=close:delay_enter=100"],
    &["-e", "inject=openat:signal=USR1:when=3"],
    &["--inject=close:error=5:when=2..4+2"],
    &["-e", "inject=close:retval=0:syscall=getpid"],
    &["-e", "inject=newfstatat:error=EIO:syscall=gettid:when=2"],
    &["-D"],
    &["-DD"],
    &["-DDD"],
    &["--daemonize=pgroup"],
    &["--daemonize=session"],
    &["-e", "fault=write:error=EIO"],
    &["-e", "fault=newfstatat"],
    &["-e", "read=3"],
    &["-e", "read=!3"],
    &["-e", "read=all"],
    &["-e", "write=1"],
    &["-e", "write=all"],
    &["-e", "raw=openat"],
    &["-e", "raw=all"],
    &["-e", "abbrev=none"],
    &["-e", "verbose=none"],
    &["-e", "verbose=execve"],
    &["-e", "signal=none"],
    &["-e", "signal=!CHLD"],
    &["-e", "status=failed"],
    &["-e", "status=successful"],
    &["-e", "status=unfinished"],
    &["-e", "quiet=exit"],
    &["-P", "/etc/hostname"],
    &["-P", "/etc/ld.so.cache"],
    &["-E", "A=b"],
    &["-E", "PATH"],
    &["-Y"],
    &["-b", "execve"],
    &["-I", "1"],
    &["-I", "2"],
    &["-I", "never"],
    &["-I", "4"],
    &["--strings-in-hex"],
    &["--strings-in-hex=non-ascii"],
    &["--strings-in-hex=non-ascii-chars"],
    &["--strings-in-hex=none"],
    &["--seccomp-bpf"],
    &["-O", "1us"],
    &["-c", "-U", "name,calls,errors", "-S", "name"],
    &["-c", "-w", "-U", "calls,name", "-S", "calls"],
    &["-c", "-U", "name,errors", "-S", "errors"],
    &["-C", "-U", "name,calls", "-S", "name"],
    &["--summary-only", "--summary-columns=name,calls", "--summary-sort-by=nothing"],
];

/// The programs that are traced.
const PROGRAMS: &[&[&str]] = &[
    &["true"],
    &["cat", "/etc/hostname"],
    &["cat", "/etc/hostname", "/nothing"],
    &["sh", "-c", "exit 3"],
    &["sh", "-c", "kill -USR1 $$"],
    &["sh", "-c", "trap : USR1; kill -USR1 $$; echo hello"],
    &["sh", "-c", "cat /etc/hostname; true"],
    &["sh", "-c", "exec cat /etc/hostname"],
    &["sh", "-c", "printf 'a\\377\\tb\\001\\n'; read x </etc/passwd; exit 5"],
    &["/nowhere"],
];

/// What changes from run to run.
const CHANGES: &[(&str, &str)] = &[
    (r"0x[0-9a-f]{9,16}", "ADDRESS"),
    // Numbers below 10,000 are padded before a name.
    (r"(?m)^(\d{1,4}) +<([^.])", "$1<$2"),
    (r"\[[0-9a-f]{16}\]", "[POINTER]"),
    (r"(?m)^(\d+ +)?\d\d:\d\d:\d\d(\.\d+)? ", "${1}TIME "),
    (r"(?m)^(\d+ +)?[12]\d{9}\.\d+ ", "${1}TIME "),
    (r"\(\+ +\d+\.\d+\) ", "SINCE "),
    (r"(?m)^(\d+ +|TIME )? +\d+\.\d{6} ", "${1}SINCE "),
    (r"(?m)<\d+\.\d{3}(\d{3})?>$", "<TIME>"),
    (r" /\* \d{4}-\d\d-\d\dT[^*]+ \*/", ""),
    (r"(st_(?:[acm]time(?:_nsec)?|ino|blocks|size|dev))=[^,}]*", "$1=N"),
    (r"(pipe|socket):\[\d+\]", "$1:[N]"),
    // The same in hexadecimal.
    (r"(\\x(?:70\\x69\\x70\\x65|73\\x6f\\x63\\x6b\\x65\\x74)\\x3a\\x5b)(?:\\x3\d)+", "${1}N"),
    (r"(si_[us]time)=\d+( /\*[^*]*\*/)?", "$1=T"),
    (r#"getrandom\("[^"]*""#, "getrandom(RANDOM"),
    (r"\) += ", ") = "),
    // Numbers of processes, raw.
    (r"((?:set_tid_address|getp?pid|v?fork|wait4)\(.*\)) = 0x[0-9a-f]+", "$1 = N"),
    (r"kill\(0x[0-9a-f]+", "kill(N"),
];

/// What a command line did.
#[derive(PartialEq, Eq)]
struct Answer {
    code: Option<i32>,
    output: Vec<u8>,
    /// The lines of each task, or the table.
    lines: BTreeMap<String, Vec<String>>,
    /// It refuses a letter beside the long form of the same, of which whit takes the last one.
    refuses_pair: bool,
}

/// Whether a child ends before its parent waits for it or after is a race.
fn is_race(line: &str) -> bool {
    ["--- SIGCHLD", "rt_sigreturn(", "wait4(-1,"].iter().any(|text| line.contains(text))
}

/// The number of a task, without its name.
fn number_of(task: &str) -> &str {
    task.split('<').next().unwrap_or(task)
}

/// Names of processes by their order instead of their numbers, and what changes replaced.
struct Changes {
    rules: Vec<(Regex, &'static str)>,
    numbers: Regex,
    broken: Regex,
}

impl Changes {
    fn new() -> Self {
        let rule = |(pattern, with): &(&str, &'static str)| (Regex::new(pattern).unwrap(), *with);
        Changes {
            rules: CHANGES.iter().map(rule).collect(),
            numbers: Regex::new(concat!(
                r"(?m)(^|\[pid +|kill\(|si_pid=|wait4\(|",
                r"\b(?:v?fork|clone|set_tid_address|getp?pid|gettid|wait4|rt_sigreturn)",
                r"(?:\(.*| resumed>.*)\) = )(\d{2,7})\b"
            ))
            .unwrap(),
            broken: Regex::new(
                r"^((?:TIME |SINCE |\[ *\d+\] |\[POINTER\] )*)<\.\.\. \w+ resumed>(.*)$",
            )
            .unwrap(),
        }
    }

    /// The lines of each task, broken lines joined.
    fn by_task(&self, text: &str) -> BTreeMap<String, Vec<String>> {
        let mut text = text.to_owned();
        for (rule, with) in &self.rules {
            text = rule.replace_all(&text, *with).into_owned();
        }
        let mut names: HashMap<String, usize> = HashMap::new();
        for _ in 0..2 {
            // Once more for the result behind an argument.
            let named = self.numbers.replace_all(&text, |found: &Captures<'_>| {
                let next = names.len();
                format!("{}P{}", &found[1], names.entry(found[2].to_owned()).or_insert(next))
            });
            text = named.into_owned();
        }
        let mut tasks: BTreeMap<String, Vec<String>> = BTreeMap::new();
        // By the number alone: an execve changes the name behind it.
        let mut broken: HashMap<&str, (&str, &str)> = HashMap::new();
        for line in text.lines() {
            let (task, rest) = match line.split_once(' ') {
                Some((task, rest)) if task.starts_with('P') => (task, rest.trim_start()),
                _ => ("", line),
            };
            if let Some(begin) = rest.strip_suffix(" <unfinished ...>") {
                broken.insert(number_of(task), (task, begin));
                continue;
            }
            let (task, whole) = match self.broken.captures(rest) {
                Some(found) => {
                    let (task, begin) = broken.remove(number_of(task)).unwrap_or((task, ""));
                    (task, begin.to_owned() + &found[2])
                }
                None => (task, rest.to_owned()),
            };
            if !is_race(&whole) {
                tasks.entry(task.to_owned()).or_default().push(whole);
            }
        }
        tasks
    }
}

/// A random command line: its options and its program.
fn line(random: &mut Random) -> (Vec<&'static str>, &'static [&'static str]) {
    let count = random.one_of(&[1, 1, 2, 2, 3, 4]);
    let options = (0..count).flat_map(|_| random.one_of(OPTIONS)).copied().collect();
    (options, random.one_of(PROGRAMS))
}

fn answer(program: &Path, options: &[&str], words: &[&str], changes: &Changes) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    let output = Command::new("timeout")
        .args(["--foreground", "-k", "1", LIMIT])
        .arg(program)
        .args(options)
        .arg("-o")
        .arg(&file)
        .args(words)
        .current_dir("/")
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = std::fs::read(file).unwrap_or_default();
    Answer {
        code: output.status.code(),
        refuses_pair: String::from_utf8_lossy(&output.stderr)
            .contains("cannot be provided simultaneously"),
        output: output.stdout,
        lines: changes.by_task(&String::from_utf8_lossy(&text)),
    }
}

/// What differs on purpose (docs/differences-strace.md).
fn differs_on_purpose(options: &[&str], theirs: &str, ours: &str) -> bool {
    let has = |name: &str| options.contains(&name);
    let both = |text: &str| theirs.contains(text) && ours.contains(text);
    // The stack pointer stands in place of an argument when raw.
    both("rt_sigreturn(")
        // Where memory is allotted next depends on addresses that were given at random.
        || both("brk(")
        // A failure that does not exist is shown when raw.
        || has("raw=all") && theirs.contains("(Unknown error 51")
        // The name of a child changes while vfork returns: the kernel lets the parent go on before.
        || has("decode-pids=comm") && both("vfork() = ")
        // The number of the latest call before what is no call.
        || has("-n") && (both("+++ ") || both("--- "))
}

fn difference(options: &[&str], theirs: &Answer, ours: &Answer) -> Option<String> {
    if theirs.refuses_pair {
        return None;
    }
    if theirs.code != ours.code || theirs.output != ours.output {
        return Some(format!("exit codes {:?}, {:?}, or outputs", theirs.code, ours.code));
    }
    if theirs.lines.len() != ours.lines.len() {
        return Some(format!("{} tasks, {} tasks", theirs.lines.len(), ours.lines.len()));
    }
    for (theirs, ours) in theirs.lines.values().zip(ours.lines.values()) {
        for (theirs, ours) in theirs.iter().zip(ours) {
            if theirs != ours && !differs_on_purpose(options, theirs, ours) {
                return Some(format!("- {theirs}\n+ {ours}"));
            }
        }
        if theirs.len() != ours.len() {
            let shorter = theirs.len().min(ours.len());
            let next = |lines: &[String]| lines.get(shorter).cloned().unwrap_or_default();
            return Some(format!("- {}\n+ {}", next(theirs), next(ours)));
        }
    }
    None
}

#[test]
fn random_command_lines_answer_as_strace_does() {
    if !testkit::is_installed("strace 6.1", "strace") {
        return;
    }
    let version = Command::new("strace").arg("-V").output().unwrap();
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    if !version.contains("version 6.1\n") {
        let version = version.lines().next().unwrap_or_default();
        return testkit::skip("strace 6.1", &format!("{version} writes other lines"));
    }
    let can = Command::new("strace").args(["-qqq", "-e", "trace=none", "true"]).output().unwrap();
    if !can.status.success() {
        return testkit::skip_refused("strace", &String::from_utf8_lossy(&can.stderr));
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(crate::whit().arg("link").arg(folder.path()).status().unwrap().success());
    let link = folder.path().join("strace");
    let mut random = Random::from_seed(testkit::seed(SEED));
    let count = LINES[usize::from(!testkit::is_long())];
    let lines: Vec<_> = (0..count).map(|_| line(&mut random)).collect();
    let changes = Changes::new();
    let found = testkit::side_by_side(&lines, 2, |(options, words)| {
        let theirs = answer(Path::new("strace"), options, words, &changes);
        let ours = answer(&link, options, words, &changes);
        let found = difference(options, &theirs, &ours)?;
        Some(format!("strace {} {}\n{found}", options.join(" "), words.join(" ")))
    });
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{} of {count} differ:\n{}", found.len(), found.join("\n"));
}
