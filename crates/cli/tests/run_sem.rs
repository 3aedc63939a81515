//! `sem`: beside GNU parallel's, together with it, and by itself when holders are killed.
//!
//! Every command here ends by itself within seconds; what is started in front is ended when its
//! test is over.  Skips, and says so, what needs parallel where that is missing.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "all of it is tests, helpers too")]

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::{Running, wait_for, wait_until};

use crate::WHIT;

/// Debian's place for parallel's own.
const THEIRS: &str = "/usr/bin/sem";

/// A folder with `sem` and `hold FILE`, which waits for a file, in `bin/`, and the users' folder
/// `home/`.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("bin")).unwrap();
        fs::create_dir(place.path("home")).unwrap();
        let hold = place.path("bin/hold");
        let script = "#!/bin/sh\nuntil [ -e \"$1\" ]; do sleep 0.05; done\n";
        testkit::write_program(&hold, script).unwrap();
        // parallel tells nobody to cite it then.
        fs::write(place.path("home/will-cite"), "").unwrap();
        place
    }

    fn with(program: &Path) -> Self {
        let place = Self::new();
        std::os::unix::fs::symlink(program, place.path("bin/sem")).unwrap();
        place
    }

    fn ours() -> Self {
        Self::with(Path::new(WHIT))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A shell's command line, in this folder.
    fn shell(&self, text: &str) -> Command {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("timeout");
        command.args(["-k1", "300", "sh", "-c", text]);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        for name in ["PARALLEL", "PARALLEL_SHELL", "PARALLEL_ENV"] {
            command.env_remove(name);
        }
        command.env("PARALLEL_HOME", self.path("home")).env("LC_ALL", "C");
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command
    }

    /// What a shell's command line wrote on standard output.
    fn said(&self, text: &str) -> String {
        let output = self.shell(text).stderr(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// Our `sem` in a process group of its own.
    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(self.path("bin/sem"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("PARALLEL_HOME", self.path("home")).env_remove("PARALLEL");
        Running::start(command.process_group(0))
    }

    /// The process number that a command has written into a file.
    fn pid(&self, name: &str) -> Orphan {
        let path = self.path(name);
        let pid = || fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
        Orphan(wait_for("a process number", pid))
    }
}

/// A command whose holder was killed; ended when dropped.
struct Orphan(i32);

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.0) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Whether a process sleeps until a semaphore's folder changes: it has an inotify descriptor, and
/// waits in a system call.
fn waits_for_a_slot(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_asleep = stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'));
    let is_inotify = |entry: std::io::Result<fs::DirEntry>| {
        let target = entry.ok().and_then(|entry| fs::read_link(entry.path()).ok());
        target.is_some_and(|target| target.as_os_str() == "anon_inode:inotify")
    };
    is_asleep && fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut fds| fds.any(is_inotify))
}

fn lacks_theirs() -> bool {
    let lacks = !Path::new(THEIRS).exists();
    if lacks {
        testkit::skip("GNU sem", &format!("no {THEIRS} to compare with"));
    }
    lacks
}

/// Exit codes, output, what is inherited; `--wait` and timeouts; `-j`: each for itself, for much of
/// it is waiting.
const SCRIPTS: [&str; 3] = [
    r#"
sem --id a --fg 'exit 3'; echo $?
sem --id a --fg 'echo out; kill -9 $$'; echo $?
sem --id a --fg 'kill -TERM $$'; echo $?
sem --id a --fg true; echo $?
sem --id a no-such-command; echo $?; sem --id a --wait; echo $?
sem --id e --fg 'echo {} {1} {#} {%}'; sem --fg --id e echo 'a  b'; sem --fg --id e -q echo 'a  b'
sem --fg --id e -v echo shown; sem --fg --id e --dry-run echo dry; sem --fg --id e --tag echo tag
echo line | sem --fg --id e cat; echo line | sem --id e cat; sem --id e --wait
echo line | sem --pipe --fg --id e cat
sem --fg --bg --id e 'exit 4'; echo $?; sem --semaphorename e --fg 'exit 5'; echo $?
sem --fg --joblog log --id e 'exit 6'; cut -f 1,2,5- log
sem --fg --id e --timeout 0.5 'sleep 5'; echo $?
"#,
    r#"
sem --id never --wait; echo $?
sem --id b 'hold b; echo first'; echo started $?
sem --id b --st -1 echo no; echo gave up $?
sem --id b --wait --st -1; echo no longer waited $?
touch b; sem --id b 'sleep 2; echo second'; echo $?
sem --id b --wait; echo $?
"#,
    r#"
sem --id c 'hold c; echo slow'; sem --id c --fg --st 1 echo anyway; echo $?
touch c; sem --wait --id c
sem -j2 --id d 'hold d'; sem -j2 --id d 'hold d'; sem -j1 --st -1 --id d true; echo $?
sem -j3 --st -60 --fg --id d echo third; echo $?; touch d
sem --id 'we/ird Na.me' 'hold w'; ls home/semaphores | grep ^id-we
touch w; sem --id 'we/ird Na.me' --wait
"#,
];

#[test]
fn it_does_what_parallels_does() {
    if lacks_theirs() {
        return;
    }
    let beside = |script: &'static str| {
        let theirs = std::thread::spawn(|| Place::with(Path::new(THEIRS)).said(script));
        assert_eq!(Place::ours().said(script), theirs.join().unwrap());
    };
    std::thread::scope(|scope| {
        for script in SCRIPTS {
            scope.spawn(move || beside(script));
        }
    });
}

#[test]
fn parallels_and_ours_count_each_other() {
    if lacks_theirs() {
        return;
    }
    let place = Place::ours();
    let said = place.said(
        "/usr/bin/sem --id x 'hold a; echo theirs'; sem --id x --st -1 echo no; echo $?; touch a
        sem --id x --fg echo ours; sem --id x 'hold b; echo ours'
        /usr/bin/sem --id x --st -1 echo no; echo $?; touch b
        /usr/bin/sem --id x --fg echo theirs",
    );
    assert_eq!(said, "1\ntheirs\nours\n1\nours\ntheirs\n");
}

#[test]
fn never_more_than_so_many_run_at_once() {
    let place = Place::ours();
    fs::create_dir(place.path("in")).unwrap();
    let said = place.said(
        "for i in $(seq 40); do
            sem -j3 --fg --id x 'echo > in/$$; ls in | wc -l >> counts; sleep 0.02; rm in/$$' &
        done; wait; sort -n counts | uniq",
    );
    let counts: Vec<u32> = said.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!(fs::read_to_string(place.path("counts")).unwrap().lines().count(), 40);
    assert!(counts.iter().all(|count| (1..=3).contains(count)), "{counts:?}");
    let left: Vec<_> = fs::read_dir(place.path("home/semaphores")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_killed_holder_gives_its_slot_back() {
    let place = Place::ours();
    let holder = place.start(&["--fg", "--id", "x", "echo $$ > pid; exec sleep 1000"]);
    let _command = place.pid("pid");
    let mut waiter = place.start(&["--fg", "--id", "x", "exit 7"]);
    wait_until("it waits", || waits_for_a_slot(waiter.pid()));
    assert!(waiter.try_wait().unwrap().is_none(), "two at once");

    // It sleeps in the kernel and does not wake up to look again.
    let switches = || {
        let status = fs::read_to_string(format!("/proc/{}/status", waiter.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
        line.unwrap().to_owned()
    };
    // The time to look for wake-ups; however slow the machine is, there are none.
    let before = switches();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(switches(), before);

    holder.kill();
    assert_eq!(waiter.ended().code(), Some(7));
    assert!(!place.path("home/semaphores/id-x").exists());
}

#[test]
fn a_waiter_that_is_killed_runs_nothing() {
    let place = Place::ours();
    let until_go = "echo $$ > pid; until [ -e go ]; do sleep 0.02; done";
    let holder = place.start(&["--fg", "--id", "x", until_go]);
    let _command = place.pid("pid");
    let waiter = place.start(&["--id", "x", "echo > ran"]);
    // In the background it is a child that waits for the slot.
    let child = wait_for("a child that waits", || {
        let path = format!("/proc/{0}/task/{0}/children", waiter.pid());
        let children = fs::read_to_string(path).unwrap_or_default();
        let child = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
        child.filter(|child| waits_for_a_slot(*child))
    });
    waiter.kill();
    // It notices that nobody waits for it any more, and ends.
    wait_until("it ends", || !waits_for_a_slot(child));
    fs::write(place.path("go"), "").unwrap();
    drop(place.shell("sem --id x --wait").output().unwrap());
    let second = place.shell("sem --id x --fg true").status().unwrap();
    assert!(second.success() && !place.path("ran").exists());
    drop(holder);
}

#[test]
fn values_are_refused() {
    let place = Place::ours();
    for line in ["sem --fg echo ::: a", "sem -a list echo", "sem --fg echo :::+ b"] {
        let output = place.shell(line).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(255), "{line}");
        assert!(said.contains("takes a command and no values"), "{line}: {said}");
    }
}
