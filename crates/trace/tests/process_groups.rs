//! Process groups get their own counts, their children's among them.  The test says why it skips
//! where programs may not be loaded.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use trace::{Abi, CallId, ProcessGroupCounts};

/// Ends the job however the test ends.
struct Job(Child);

impl Job {
    /// A shell in a group of its own.
    fn start(script: &str) -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Job(shell.spawn().unwrap())
    }

    fn group(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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
    let mut one = Job::start(&format!("{}; sh -c '{}'; true", changes(300), changes(50)));
    let mut other = Job::start(&changes(700));
    assert!(one.0.wait().unwrap().success());
    assert!(other.0.wait().unwrap().success());
    let all = groups.read().unwrap();
    let calls = |job: &Job| all[&job.group()].calls[&chdir].calls;
    assert_eq!((calls(&one), calls(&other)), (350, 700));
    let execve = CallId::by_name(Abi::X86_64, "execve").unwrap();
    assert_eq!(
        all[&other.group()].calls[&execve].errors + 1,
        all[&other.group()].calls[&execve].calls
    );
    assert!(all[&one.group()].total().calls > 350);
    // The group of this process is there too, and never changed its folder.
    let own_group = rustix::process::getpgrp().as_raw_nonzero().get().unsigned_abs();
    assert!(!all[&own_group].calls.contains_key(&chdir));

    let taken = groups.remove_group(one.group()).unwrap();
    assert_eq!(taken, all[&one.group()]);
    let left = groups.read().unwrap();
    assert!(!left.contains_key(&one.group()));
    assert_eq!(left[&other.group()], all[&other.group()]);
    assert_eq!(groups.remove_group(one.group()).unwrap().total().calls, 0);
    assert_eq!(groups.lost().unwrap(), 0);
}
