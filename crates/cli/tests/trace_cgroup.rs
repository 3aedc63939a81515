//! `whit trace --cgroup`: tasks of a control group and of groups below it, and no others.
//!
//! Makes a group of its own and takes it away again; skips, and says so, where it may not.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{Deadline, Running};

use crate::whit;

/// A control group with one below it, gone at the end.
struct Group(PathBuf);

impl Group {
    /// `None` where there can be none.
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let Some(mount) = mounts.find(|words| words[2] == "cgroup2") else {
            testkit::skip("the unified hierarchy", "not mounted");
            return None;
        };
        let group = Group(Path::new(mount[1]).join(format!("whit-test-{}", std::process::id())));
        if let Err(error) = std::fs::create_dir_all(group.below()) {
            testkit::skip_refused("a control group", &format!("cannot be made: {error}"));
            return None;
        }
        // Below a group of threads there can be no group of processes.
        let kind = std::fs::read_to_string(group.below().join("cgroup.type")).unwrap();
        if kind.trim() != "domain" {
            testkit::skip("a control group", &format!("a new one is {}", kind.trim()));
            return None;
        }
        let output = group.ask(&group.below(), ":");
        if !output.status.success() {
            testkit::skip_refused("a control group", &String::from_utf8_lossy(&output.stderr));
            return None;
        }
        Some(group)
    }

    fn below(&self) -> PathBuf {
        self.0.join("below")
    }

    /// Runs a script in a group.
    fn ask(&self, folder: &Path, script: &str) -> std::process::Output {
        let script = format!("echo $$ > {}/cgroup.procs || exit 3; {script}", folder.display());
        Command::new("sh").args(["-c", &script]).output().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(self.below());
        let _ = std::fs::remove_dir(&self.0);
    }
}

fn is_allowed() -> bool {
    let arguments = ["trace", "--way", "kernel", "-qq", "-o", "/dev/null", "true"];
    let out = whit().args(arguments).output().unwrap();
    if !out.status.success() {
        testkit::skip_refused("BPF programs", &String::from_utf8_lossy(&out.stderr));
    }
    out.status.success()
}

/// What whit tells while files of these names are looked for in vain, by a process of the group and
/// by one of nobody's, again and again until the first is told.
fn told(group: &Group, more: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("told");
    let mut command = whit();
    command.args(["trace", "-q", "-o"]).arg(&file).args(more).arg("--cgroup").arg(&group.0);
    let mut traced = Running::start(&mut command);
    let deadline = Deadline::default();
    loop {
        Command::new("cat").arg("/nowhere/outside").stderr(Stdio::null()).status().unwrap();
        group.ask(&group.below(), "cat /nowhere/below; echo told > /dev/null");
        let told = std::fs::read_to_string(&file).unwrap_or_default();
        if told.contains("/nowhere/below") {
            break;
        }
        assert!(deadline.is_ahead(), "{told}");
        assert!(traced.try_wait().unwrap().is_none(), "whit has ended");
    }
    traced.signal(libc::SIGINT);
    traced.ended();
    std::fs::read_to_string(&file).unwrap()
}

/// `--cgroup`.
#[test]
fn tasks_of_a_group_and_below_it_are_told_and_no_others() {
    let (true, Some(group)) = (is_allowed(), Group::new()) else { return };
    let lines = told(&group, &[]);
    // A shell that went there itself, and the program that it began there.
    assert!(
        lines.contains("openat(AT_FDCWD, \"/nowhere/below\", O_RDONLY) = -1 ENOENT"),
        "{lines}"
    );
    assert!(lines.contains(" +++ exited with 1 +++"), "{lines}");
    assert!(!lines.contains("/nowhere/outside"), "{lines}");
    let objects = told(&group, &["--json", "-e", "trace=openat"]);
    for object in objects.lines() {
        let object: serde_json::Value = serde_json::from_str(object).unwrap();
        assert!(object["syscall"].is_null() || object["syscall"] == "openat", "{object}");
        assert_ne!(object["arguments"][1], "\"/nowhere/outside\"");
    }
}

#[test]
fn a_group_that_is_none_is_named() {
    let out =
        whit().args(["trace", "--cgroup", "/nowhere/at/all", "-o", "/dev/null"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("--cgroup") && said.lines().count() == 1, "{said}");
}
