//! `whit send --to whit=…`: recordings to another whit, which has each sample once, whoever is killed.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Random, Running, wait_until};

use crate::whit;

struct Machines {
    folder: tempfile::TempDir,
}

impl Machines {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("own")).unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "a secret\n").unwrap();
        let only_ours = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&secret, only_ours).unwrap();
        Machines { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn record(&self, words: &[&str]) -> Command {
        let mut record = whit();
        record.args(["record", "-i", "0.01"]).args(words).arg("-f").arg(self.path("own"));
        record
    }

    fn central(&self, ack: &str) -> Running {
        let mut central = whit();
        central.args(["log", "central", "--ack", ack, "-l"]).arg(self.path("socket"));
        central.arg("--store").arg(self.path("store")).arg("--recordings").arg(self.path("taken"));
        central.arg("--recordings-keep=90d");
        Running::start(central.arg("--secret-file").arg(self.path("secret")))
    }

    fn send(&self) -> Command {
        let mut send = whit();
        send.arg("send").arg("--to").arg(format!("whit={}", self.path("socket").display()));
        send.args(["--name", "central", "--token-file"]).arg(self.path("secret"));
        send.arg(self.path("own"));
        send
    }

    /// The recordings of a folder.
    fn recordings(&self, folder: &str) -> Vec<PathBuf> {
        let all = std::fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut all: Vec<PathBuf> = all.map(|one| one.unwrap().path()).collect();
        all.retain(|path| path.extension().is_some_and(|end| end == "whit"));
        all.sort();
        all
    }

    /// Every number of the recordings on both sides is the same.
    fn are_equal(&self) {
        let [own, taken] = ["own", "taken"].map(|folder| self.recordings(folder));
        let names = |paths: &[PathBuf]| -> Vec<_> {
            paths.iter().map(|path| path.file_name().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&own), names(&taken));
        for (own, taken) in own.iter().zip(&taken) {
            let [own, taken] = [own, taken].map(|path| csv(path));
            assert!(own.lines().count() > 5 && own == taken, "{own}\n{taken}");
        }
    }
}

/// Ends a program by TERM.
fn end(mut program: Running) {
    program.signal(libc::SIGTERM);
    assert!(program.ended().success());
}

fn csv(recording: &Path) -> String {
    let output = whit().args(["play", "--csv"]).arg(recording).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The lines of a recording that grows: none before it has two samples.
fn lines(recording: &Path) -> usize {
    let output = whit().args(["play", "--csv"]).arg(recording).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().count()
}

#[test]
fn recordings_are_there_once_whoever_is_killed() {
    let machines = Machines::new();
    let mut random = Random::from_seed(testkit::seed(254));
    // One that is whole, one whose recorder was killed, and one that is being written.
    assert!(machines.record(&["-s", "cdmn", "-c", "100"]).status().unwrap().success());
    let mut killed = Running::start(&mut machines.record(&["-s", "cdmn"]));
    wait_until("a second recording", || machines.recordings("own").len() == 2);
    wait_until("some samples", || lines(&machines.recordings("own")[1]) > 20);
    killed.signal(libc::SIGKILL);
    killed.wait().unwrap();
    let live = Running::start(&mut machines.record(&["-s", "cdmn"]));
    wait_until("a third recording", || machines.recordings("own").len() == 3);
    let mut central = machines.central("os");
    for _ in 0..testkit::share(80).max(8) {
        let sender = Running::start(machines.send().arg("--follow"));
        // Anywhere between its start and the end of its work.
        for _ in 0..random.below(60) {
            std::thread::yield_now();
            let _ = std::fs::read_dir(format!("/proc/{}/task", sender.pid())).map(Iterator::count);
        }
        if random.below(2) == 0 {
            central.kill();
            central = machines.central("os");
        } else {
            wait_until("it listens", || machines.path("socket").exists());
        }
        sender.kill();
    }
    let follower = Running::start(machines.send().arg("--follow"));
    let samples = || machines.recordings("taken").last().map_or(0, |path| lines(path));
    wait_until("it comes as it is recorded", || samples() > 20);
    let known = samples();
    wait_until("and goes on to come", || samples() > known);
    end(live);
    end(follower);
    assert!(machines.send().status().unwrap().success());
    machines.are_equal();
    let status = whit().args(["send", "--status", "--json"]).arg(machines.path("own")).output();
    let status: serde_json::Value = serde_json::from_slice(&status.unwrap().stdout).unwrap();
    assert_eq!(status["samples_waiting"], 0, "{status}");
    central.kill();
}

#[test]
fn what_a_server_has_lost_is_sent_again_and_other_senders_are_refused() {
    let machines = Machines::new();
    assert!(machines.record(&["-s", "cm", "-c", "9"]).status().unwrap().success());
    let own = &machines.recordings("own")[0];
    let central = machines.central("disk");
    wait_until("it listens", || machines.path("socket").exists());
    let follower = Running::start(machines.send().arg("--follow"));
    wait_until("all is there", || {
        machines.recordings("taken").first().is_some_and(|taken| csv(taken) == csv(own))
    });
    end(follower);
    central.kill();
    // Its disk is another one; what was acknowledged is behind the cursor, and comes before what is new.
    std::fs::remove_dir_all(machines.path("taken")).unwrap();
    let cursor = machines.path("own/.send-central.json");
    let mut known: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&cursor).unwrap()).unwrap();
    known["recordings"][0]["is_done"] = false.into();
    std::fs::write(&cursor, known.to_string()).unwrap();
    let central = machines.central("disk");
    wait_until("it listens", || machines.send().status().unwrap().success());
    machines.are_equal();
    // A copy of the folder under another number is another sender.
    std::fs::remove_file(machines.path("own/.sender")).unwrap();
    std::fs::remove_file(&cursor).unwrap();
    let mut send = machines.send();
    let mut other = Running::start(send.stderr(std::process::Stdio::piped()));
    let said = std::io::BufReader::new(other.stderr.take().unwrap());
    let line = std::io::BufRead::lines(said).next().unwrap().unwrap();
    assert!(line.contains("come from another folder or machine"), "{line}");
    other.kill();
    central.kill();
    let words = ["--sources", "cpu"];
    let refused = machines.send().args(words).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("whit gets recordings as they are: leave sources"), "{said}");
}
