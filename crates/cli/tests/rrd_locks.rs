//! `whit rrd` and files that another process has locked: `RRD_LOCKING` and `--locking`.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use testkit::Running;

use crate::whit;

/// Makes a database.
fn database(folder: &Path) -> PathBuf {
    let path = folder.join("a.rrd");
    let words = ["--start", "1700000000", "--step", "60", "DS:a:GAUGE:120:U:U", "RRA:LAST:0.5:1:9"];
    let made = command(&["create", path.to_str().unwrap()]).args(words).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    path
}

fn command(words: &[&str]) -> Command {
    let mut command = whit();
    command.arg("rrd").args(words).env_remove("RRD_LOCKING").stdin(Stdio::null());
    command
}

/// Locks a file as another process would: such a lock belongs to the open file and not to this
/// process.  It ends when the file is dropped, and with it the copy that a program just started by another
/// test has for a moment: so this waits.
fn held(path: &Path) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    // SAFETY: flock is plain data.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as i16;
    // SAFETY: F_OFD_SETLKW reads the lock, which is whole, and changes no memory.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    file
}

/// The commands that change a file in its place, with words that change it each time.
fn commands(file: &str) -> [Vec<&str>; 5] {
    [
        vec!["update", file, "1700000060:1"],
        vec!["updatev", file, "1700000120:1"],
        vec!["tune", file, "-h", "a:200"],
        vec!["convert", "--in-place", file, "-s", "30"],
        vec!["repair", "--in-place", file],
    ]
}

fn is_locked(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    !output.status.success() && said.contains("could not lock RRD")
}

#[test]
fn a_locked_file_is_refused_or_changed_nevertheless() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    for words in commands(path.to_str().unwrap()) {
        // convert has put a new file in its place.
        let _lock = held(&path);
        for (variable, is_refused) in [(None, true), (Some("try"), true), (Some("none"), false)] {
            let mut command = command(&words);
            command.envs(variable.map(|word| ("RRD_LOCKING", word)));
            let output = command.output().unwrap();
            assert_eq!(is_locked(&output), is_refused, "{variable:?} {words:?}: {output:?}");
        }
    }
    let _lock = held(&path);
    let file = path.to_str().unwrap();
    for words in [["update", file, "--locking"], ["updatev", file, "--locking"]] {
        let output = command(&words).args(["try", "1700000900:1"]).output().unwrap();
        assert!(is_locked(&output), "{words:?}: {output:?}");
    }
}

/// Starts a command, and returns when it waits for a lock.
fn waiting(words: &[&str]) -> Running {
    let child = Running::start(command(words).env("RRD_LOCKING", "block"));
    let id = format!(" {} ", child.pid());
    testkit::wait_until("it waits for the lock", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.contains(&id))
    });
    child
}

#[test]
fn a_lock_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    for words in commands(path.to_str().unwrap()) {
        let lock = held(&path);
        let mut child = waiting(&words);
        drop(lock);
        assert!(child.ended().success(), "{words:?}");
    }
}

#[test]
fn who_waited_changes_the_file_that_has_the_name_then() {
    let folder = tempfile::tempdir().unwrap();
    let path = database(folder.path());
    let file = path.to_str().unwrap();
    let lock = held(&path);
    let mut child = waiting(&["update", file, "1700000100:5"]);
    let other = folder.path().join("other");
    std::fs::copy(&path, &other).unwrap();
    std::fs::rename(&other, &path).unwrap();
    drop(lock);
    assert!(child.ended().success());
    let last = command(&["last", file]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&last.stdout), "1700000100\n");
}
