//! What the engine tells, written as lines, beside the lines of `strace`.
//!
//! Numbers of three digits and more and random bytes differ from run to run and are taken away;
//! lines that others have broken are put together again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::process::Stdio;

use regex::Regex;
use trace::engine::{
    CallFilter, FollowScope, LiveDescriptors, PtraceEngine, RunResult, TraceEngine as _,
    TracedCommand,
};
use trace::{CallSet, LineOptions, PidPrefix, Printer, ValueStyle};

use super::support::{PATIENCE, command, installed, own};

/// The lines of each task, in the order in which tasks first appear.
fn tasks(text: &str) -> Vec<Vec<String>> {
    let varies = [
        (r"0x[0-9a-f]{5,16}|\b\d{3,}\b", "N"),
        (r#"getrandom\("[^"]*""#, "getrandom(\"R\""),
        (r"\d+(\.\d+)? s \*/|/\* 20\d\d-[^*]*\*/", "T"),
        (r"si_[us]time=\d+( /\* T)?", "T"),
        (r"tv_n?sec=-?\d+|freeram=\d+|sharedram=\d+|bufferram=\d+|procs=\d+|loads=\[.*?\]", "T"),
        // Where a line was broken, it has a comma more or less.
        (r"[, ]+", " "),
    ];
    let varies = varies.map(|(pattern, by)| (Regex::new(pattern).unwrap(), by));
    let mut order = Vec::new();
    let mut of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    for line in text.lines() {
        let (task, line) = line.split_once(' ').unwrap();
        let mut line = line.trim_start().to_owned();
        if !of.contains_key(task) {
            order.push(task);
        }
        let lines = of.entry(task).or_default();
        if let Some(rest) = line.strip_prefix("<... ") {
            let rest = rest.split_once(" resumed>").unwrap().1;
            line = begun.remove(task).unwrap() + rest;
        }
        if let Some(begin) = line.strip_suffix("<unfinished ...>") {
            begun.insert(task, begin.trim_end().to_owned());
            continue;
        }
        for (pattern, by) in &varies {
            line = pattern.replace_all(&line, *by).into_owned();
        }
        lines.push(line);
    }
    order.iter().map(|task| of[task].clone()).collect()
}

fn ours(command: &TracedCommand) -> String {
    ours_with(command, LineOptions::default())
}

fn ours_with(command: &TracedCommand, options: LineOptions) -> String {
    let mut printer =
        Printer::new(LineOptions { pid_prefix: PidPrefix::Always, announce: false, ..options });
    let live = LiveDescriptors { are_stopped: true };
    let mut engine = PtraceEngine::start(command, FollowScope::Tree, CallFilter::all()).unwrap();
    let mut text = Vec::new();
    let progress = engine.run(Some(PATIENCE), &mut |event, memory| {
        printer.event(event, memory, &live, &mut text).unwrap();
        ControlFlow::Continue(())
    });
    assert_eq!(progress.unwrap(), RunResult::Ended);
    text.flush().unwrap();
    String::from_utf8(text).unwrap()
}

fn theirs(options: &[&str], words: &[&str]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-o", file.path().to_str().unwrap()]).args(options).arg("--").args(words);
    strace.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
    std::fs::read_to_string(file.path()).unwrap()
}

#[test]
fn lines_are_those_of_strace() {
    let programs: &[&[&str]] = &[
        &["sh", "-c", "trap : USR1; kill -USR1 $$; kill -TERM $$"],
        &["sh", "-c", "kill -SEGV $$"],
        &["sh", "-c", "exec cat /etc/passwd >/dev/null"],
        &["sh", "-c", "exec ls -l /etc/apt >/dev/null"],
        &["sh", "-c", "exec /no/such/file 2>/dev/null"],
    ];
    for words in programs.iter().filter(|words| installed(words[0])) {
        if !installed("strace") {
            return;
        }
        let (ours, theirs) = (ours(&command(words)), theirs(&[], words));
        let (ours, theirs) = (tasks(&ours), tasks(&theirs));
        for (ours, theirs) in ours.iter().zip(&theirs) {
            for (line, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                assert_eq!(ours, theirs, "line {line} of {words:?}");
            }
            assert_eq!(ours.len(), theirs.len(), "{words:?}");
        }
        assert_eq!(ours.len(), theirs.len(), "{words:?}");
    }
}

#[test]
fn a_thread_that_begins_a_program_takes_the_place_of_the_first() {
    let text = ours(&own("exec"));
    let lines: Vec<&str> = text.lines().collect();
    let place = lines.iter().position(|line| line.contains("+++ superseded by execve in pid "));
    let (before, after) = lines.split_at(place.unwrap());
    // What the first was in is told to have no answer, and the execve comes back as its.
    assert!(before.last().unwrap().ends_with(" = ?"), "{text}");
    let task = after[0].split(' ').next().unwrap();
    assert!(before.last().unwrap().starts_with(task));
    let next = after[1..].iter().find(|line| line.starts_with(task)).unwrap();
    assert!(next.contains("<... execve resumed>") && next.ends_with(" = 0"), "{next}");
}

/// Asks to sync every kind of descriptor, which few of them can.
const DESCRIPTORS: &str = r#"
import os, select, socket, tempfile
def show(*files):
    for file in files:
        try: os.fsync(file)
        except OSError: pass
folder = tempfile.mkdtemp()
server = socket.socket(); show(server); server.bind(("127.0.0.1", 0)); server.listen()
client = socket.socket(); client.connect(server.getsockname()); accepted, _ = server.accept()
show(server, client, accepted)
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); show(datagrams)
datagrams.bind(("127.0.0.1", 0)); show(datagrams)
one, two = socket.socketpair(); show(one, two)
local = socket.socket(socket.AF_UNIX); local.bind(folder + "/a b"); local.listen(); show(local)
client = socket.socket(socket.AF_UNIX); client.connect(folder + "/a b"); accepted, _ = local.accept()
show(client, accepted)
named = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); named.bind("\0whit" + folder); show(named)
bus = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); bus.bind((0, 0)); show(bus)
gone = os.open(folder + "/<gone>", os.O_CREAT | os.O_RDWR); show(gone)
os.unlink(folder + "/<gone>"); show(gone)
show(select.epoll(), os.pidfd_open(os.getpid()), *os.pipe(), os.memfd_create("name"))
show(os.open("/dev/null", 0), os.open("/", 0), 999)
os.unlink(folder + "/a b"); os.rmdir(folder)
"#;

#[test]
fn descriptors_are_shown_as_strace_shows_them() {
    if !installed("strace") || !installed("python3") {
        return;
    }
    let words = ["python3", "-S", "-c", DESCRIPTORS];
    let folder = Regex::new(r"/tmp[a-z0-9_]{8}").unwrap();
    for (option, descriptors) in [("-y", 1), ("-yy", 2)] {
        let style = ValueStyle { descriptors, ..ValueStyle::default() };
        let calls = CallSet::parse("fsync").unwrap();
        let options = LineOptions { calls, style, ..LineOptions::default() };
        let ours = ours_with(&command(&words), options);
        let theirs = theirs(&[option, "-e", "trace=fsync"], &words);
        let pick = |text: &str| -> Vec<String> {
            let text = folder.replace_all(text, "/FOLDER").into_owned();
            let lines = tasks(&text).into_iter().flatten();
            lines.filter(|line| line.starts_with("fsync")).collect()
        };
        assert!(pick(&ours).len() > 20, "{ours}");
        assert_eq!(pick(&ours), pick(&theirs), "{option}");
    }
}
