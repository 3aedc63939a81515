//! Every call with numbers as arguments, and every class: a filter answers the calls with `ENOSYS`, so
//! that strace shows them and nothing happens.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use trace::{Abi, Call, CallId, CallSet, LineOptions, ValueStyle, line_of};

use super::{ready, script};

/// The sixth word of every call, which the filter looks for (see `box.pl`).
const MARK: u64 = 0x7768_6974;

/// Calls that strace 6.1 knows: what came later it shows by number.
const KNOWN_MAX: u64 = 450;

/// Calls that cannot be shown like this: `rt_sigreturn` reads the stack, `restart_syscall` names the
/// call before it, and 335 (`uretprobe`) ends its task.
fn shown() -> Vec<u64> {
    (0..=KNOWN_MAX)
        .filter(|number| ![15, 219].contains(number) && !(335..424).contains(number))
        .collect()
}

/// Lines of strace for these calls.
fn traced(calls: &[(u64, [u64; 5])], options: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines");
    let mut child = Command::new("strace")
        .args(options)
        .arg("-o")
        .arg(&file)
        .args(["perl", &script("box.pl")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for (number, words) in calls {
        let words: Vec<_> = words.iter().map(u64::to_string).collect();
        writeln!(input, "{number} {}", words.join(" ")).unwrap();
    }
    drop(input);
    child.wait().unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    text.lines().filter(|line| is_answered(line)).map(str::to_owned).collect()
}

/// Whether the filter answered a call, whose error has its number with `-X`.
fn is_answered(line: &str) -> bool {
    line.rsplit_once("= -").is_some_and(|(_, end)| end.contains("38") || end.contains("ENOSYS"))
}

/// What differs on purpose.
fn differs_on_purpose(theirs: &str) -> bool {
    // Bits without a name stand before the mode without a bar between them, so that 0x1000 and 002
    // read as 0x1000002.
    theirs.starts_with("semget(") || theirs.starts_with("msgget(")
    // Moving keys has one flag, which is shown as a number.
        || theirs.contains("KEYCTL_MOVE_???")
    // Names of the protocols and options of rare families are left out.
        || theirs.starts_with("socket(") && (theirs.contains("??? */)") || theirs.contains(", 0x1002)"))
        || theirs.starts_with("setsockopt(1, ") && theirs.contains(", 0x1002")
    // A number that is no signal is shown with all its 64 bits.
        || theirs.starts_with("prctl(") && theirs.contains(", 9223372036854775809)")
}

#[test]
fn numbers_are_written_as_strace_writes_them() {
    if !ready(&["perl"]) {
        return;
    }
    let patterns: [[u64; 5]; 6] = [
        [0; 5],
        [1, 2, 3, 4, 5],
        [0x1001, 0x1002, 0x1003, 0x1004, 0x1005],
        [u64::MAX; 5],
        [0xffff_ffff; 5],
        [0x8000_0000_0000_0001; 5],
    ];
    for pattern in patterns {
        let calls: Vec<_> = shown().into_iter().map(|number| (number, pattern)).collect();
        compare(&calls);
    }
}

#[test]
fn calls_with_many_meanings() {
    if !ready(&["perl"]) {
        return;
    }
    let mut calls = Vec::new();
    let mut add = |number: u64, index: usize, values: &mut dyn Iterator<Item = u64>, first: u64| {
        for value in values {
            let mut words = [first, 0x1001, 0x1002, 0x1003, 0x1004];
            words[index] = value;
            calls.push((number, words));
        }
    };
    let bits = |count: u32| (0..count).map(|bit| 1_u64 << bit);
    add(157, 0, &mut (0..80).filter(|option| !PRCTL_OTHERS.contains(option)), 1);
    add(72, 1, &mut (0..45).chain(1024..1045), 1);
    add(202, 1, &mut (0..16).chain(128..142).chain([256, 265, 393]), 1);
    add(250, 0, &mut (0..34).filter(|command| *command != 5 && *command != 14), 1);
    add(312, 2, &mut (0..10), 1);
    add(2, 1, &mut bits(32), 0x1001);
    add(9, 3, &mut bits(32), 0x1001);
    add(56, 0, &mut bits(32), 1);
    add(41, 0, &mut (0..47), 1);
    add(54, 1, &mut (0..300), 1);
    add(54, 2, &mut (0..80), 1);
    add(16, 1, &mut (0x5400..0x5460).chain(0x8900..0x89a0), 1);
    add(28, 2, &mut (0..30), 1);
    add(62, 1, &mut (0..70), 1);
    add(321, 0, &mut (0..36), 1);
    add(332, 2, &mut bits(16), 1);
    add(332, 3, &mut bits(16), 1);
    compare(&calls);
}

/// Options of `prctl` for other machines, whose arguments are shown as numbers.
const PRCTL_OTHERS: &[u64] = &[6, 45, 54, 55, 57, 59, 60, 62, 65, 66, 67];

fn compare(calls: &[(u64, [u64; 5])]) {
    let mut wrong = Vec::new();
    for style in ["abbrev", "raw", "verbose"] {
        wrong.extend(differences(calls, style));
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Lines that differ with a style of `-X`.
fn differences(calls: &[(u64, [u64; 5])], style: &str) -> Vec<String> {
    let theirs = traced(calls, &["-X", style]);
    assert_eq!(theirs.len(), calls.len());
    let mut wrong = Vec::new();
    let style = ValueStyle { constants: style.parse().unwrap(), ..ValueStyle::default() };
    for ((number, words), theirs) in calls.iter().zip(theirs) {
        let mut arguments = [MARK; 6];
        arguments[..5].copy_from_slice(words);
        let call = Call { id: CallId::native(*number), arguments };
        let options = LineOptions { style, ..LineOptions::default() };
        let ours = line_of(call, -i64::from(libc::ENOSYS), &(), options);
        if ours != theirs && !differs_on_purpose(&theirs) {
            wrong.push(format!("- {theirs}\n+ {ours}"));
        }
    }
    wrong
}

#[test]
fn classes_are_those_of_strace() {
    if !ready(&["perl"]) {
        return;
    }
    let calls: Vec<_> = shown().into_iter().map(|number| (number, [1, 2, 3, 4, 5])).collect();
    for class in [
        "%file", "%desc", "%process", "%network", "%net", "%signal", "%ipc", "%memory", "%creds",
        "%stat", "%lstat", "%fstat", "%%stat", "%statfs", "%fstatfs", "%%statfs", "%clock",
        "%pure", "file", "!%desc",
    ] {
        let lines = traced(&calls, &["-e", &format!("trace={class}")]);
        let names = lines.iter().filter_map(|line| line.split('(').next());
        let theirs: BTreeSet<_> = names.map(str::to_owned).collect();
        let set = CallSet::parse(class).unwrap();
        let ours: BTreeSet<_> = CallId::all(Abi::X86_64)
            .filter(|call| set.has(*call) && shown().contains(&call.number))
            .map(|call| call.name().into_owned())
            .collect();
        assert_eq!(ours, theirs, "{class}");
    }
}
