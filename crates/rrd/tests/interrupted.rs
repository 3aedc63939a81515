//! An update that is killed, or refused by the system, leaves the state before or after it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rrd::create::{Options, create};

/// The program that updates, which cargo builds beside the tests.
fn program() -> PathBuf {
    let own = std::env::current_exe().expect("this program");
    let folder = own.parent().and_then(Path::parent).expect("a folder");
    folder.join("examples/update")
}

/// A file whose update changes the header and a row of each of eight archives.
fn file(path: &Path) {
    let definitions = [
        "DS:in:COUNTER:600:0:U",
        "DS:out:GAUGE:600:0:U",
        "RRA:AVERAGE:0.5:1:600",
        "RRA:AVERAGE:0.5:2:700",
        "RRA:MAX:0.5:1:600",
        "RRA:MAX:0.5:2:700",
        "RRA:HWPREDICT:300:0.1:0.0035:40",
    ];
    let options = Options { start: Some(1_000_000_000), ..Options::default() };
    create(path, &options, &definitions, 0).expect("a file");
    assert!(run(&[], path, "1000000500:5:7").status.success());
}

fn run(tracer: &[&str], path: &Path, argument: &str) -> Output {
    let mut words: Vec<String> = tracer.iter().map(|&word| word.to_owned()).collect();
    words.push(program().display().to_string());
    words.push(path.display().to_string());
    words.push(argument.to_owned());
    Command::new(&words[0]).args(&words[1..]).output().expect("a program")
}

/// The system calls of one update, with their numbers of use.
const CALLS: &[(&str, usize)] = &[
    ("openat", 8),
    ("fcntl", 3),
    ("statx,fstat,newfstatat", 4),
    ("pread64", 6),
    ("mmap", 20),
    ("memfd_create", 1),
    ("pwritev", 2),
    ("pwrite64", 2),
    ("preadv", 2),
    ("munmap", 4),
    ("close", 6),
];

/// Injects a fault at each system call and checks the file afterwards.
fn at_every_call(fault: &str) {
    if !testkit::is_installed("strace", "strace") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f.rrd");
    file(&path);
    let before = std::fs::read(&path).expect("the file");
    // Completes two steps, so that all archives get a row.
    let argument = "1000000900:17:8";
    assert!(run(&[], &path, argument).status.success());
    let after = std::fs::read(&path).expect("the file");
    assert_ne!(before, after);
    let (mut injected, mut kept) = (0, 0);
    for (calls, count) in CALLS {
        for number in 1..=*count {
            std::fs::write(&path, &before).expect("the file again");
            let inject = format!("inject={calls}:{fault}:when={number}");
            let output = run(&["strace", "-qq", "-o", "/dev/null", "-e", &inject], &path, argument);
            let found = std::fs::read(&path).expect("the file");
            let (is_before, is_after) = (found == before, found == after);
            assert!(is_before || is_after, "{inject}: neither before nor after");
            if !output.status.success() {
                injected += 1;
                kept += usize::from(is_before);
            }
            let is_done = output.status.success();
            assert!(!is_done || is_after, "{inject}: it said that the update is done");
        }
    }
    assert!(injected > 10 && kept > 5, "{injected} {kept}");
}

#[test]
fn killed_at_every_system_call() {
    at_every_call("signal=KILL");
}

#[test]
fn a_full_disk_at_every_system_call() {
    at_every_call("error=ENOSPC");
}
