//! Process groups get their own counts, their children's among them.  The test says why it skips
//! where programs may not be loaded.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use testkit::Running;
use trace::{Abi, CallId, ProcessGroupCounts};

/// A shell in a group of its own.
fn start(script: &str) -> Running {
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).process_group(0);
    Running::start(shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Changes the folder so many times, without a program.
fn changes(times: u32) -> String {
    format!("i=0; while [ $i -lt {times} ]; do cd /; i=$((i+1)); done")
}

#[test]
fn each_group_has_its_own_calls_and_those_of_its_children() {
    let own = std::process::id();
    let mut groups = match ProcessGroupCounts::of_process(own.cast_signed()) {
        Ok(groups) => groups,
        Err(error) => return testkit::skip_refused("BPF programs", &error.to_string()),
    };
    let chdir = CallId::by_name(Abi::X86_64, "chdir").unwrap();
    let mut one = start(&format!("{}; sh -c '{}'; true", changes(300), changes(50)));
    let mut other = start(&changes(700));
    assert!(one.ended().success());
    assert!(other.ended().success());
    let all = groups.read().unwrap();
    let calls = |job: &Running| all[&job.id()].calls[&chdir].calls;
    assert_eq!((calls(&one), calls(&other)), (350, 700));
    let execve = CallId::by_name(Abi::X86_64, "execve").unwrap();
    assert_eq!(all[&other.id()].calls[&execve].errors + 1, all[&other.id()].calls[&execve].calls);
    assert!(all[&one.id()].total().calls > 350);
    // The group of this process is there too, and never changed its folder.
    let own_group = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
    assert!(!all[&own_group].calls.contains_key(&chdir));

    let taken = groups.remove_group(one.id()).unwrap();
    assert_eq!(taken, all[&one.id()]);
    let left = groups.read().unwrap();
    assert!(!left.contains_key(&one.id()));
    assert_eq!(left[&other.id()], all[&other.id()]);
    assert_eq!(groups.remove_group(one.id()).unwrap().total().calls, 0);
    assert_eq!(groups.lost().unwrap(), 0);
}
