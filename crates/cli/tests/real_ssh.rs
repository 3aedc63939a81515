//! `record --hosts`, `top --hosts` and `trace --hosts` over a real ssh: two names of this machine, one that
//! nothing listens for, one that lets nobody in.
//!
//! What an sshd starts for these tests has their folder in its environment, and what logs in has it in its
//! command line: so it is seen what is left behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use testkit::{Running, wait_until};

use crate::run_remote::sshd::sshd;
use crate::top::Session;
use crate::whit;

/// An sshd, and a configuration for ssh that leads to it.
struct Network {
    folder: tempfile::TempDir,
    sshd: Running,
}

/// A process: its number, that of its parent, its words.
struct Process {
    pid: i32,
    parent: i32,
    words: String,
    environment: String,
}

fn processes() -> Vec<Process> {
    let folders = fs::read_dir("/proc").unwrap().flatten();
    let read = folders.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let text = |name| {
            Some(String::from_utf8_lossy(&fs::read(entry.path().join(name)).ok()?).into_owned())
        };
        // The name of a program may have blanks and parentheses.
        let parent = text("stat")?.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
        let words = text("cmdline")?.replace('\0', " ");
        Some(Process { pid, parent, words, environment: text("environ").unwrap_or_default() })
    });
    read.collect()
}

impl Network {
    fn new() -> Option<Network> {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().display();
        let own = Path::new(crate::WHIT).parent().unwrap().display();
        let more = format!("SetEnv PATH={own}:/usr/bin:/bin NETWORK={here}\n");
        let (sshd, port) = sshd(folder.path(), &more)?;
        let configuration = format!(
            "Host one two\n Port {port}\n IdentityFile {here}/user\n\
             Host closed\n Port 1\n\
             Host strange\n Port {port}\n IdentityFile {here}/host\n\
             Host *\n HostName 127.0.0.1\n BatchMode yes\n IdentitiesOnly yes\n LogLevel ERROR\n\
             StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n"
        );
        fs::write(folder.path().join("ssh_config"), configuration).unwrap();
        let network = Network { folder, sshd };
        let ssh = network.ssh();
        let mut login = Command::new("ssh");
        login.args(ssh.split(' ').skip(1)).args(["one", "exit 7"]).stdin(Stdio::null());
        let login = login.output().unwrap();
        if login.status.code() != Some(7) {
            let said = String::from_utf8_lossy(&login.stderr);
            testkit::skip("sshd", &format!("lets nobody in: {}", said.trim()));
            return None;
        }
        Some(network)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn ssh(&self) -> String {
        format!("ssh -F {}", self.path("ssh_config").display())
    }

    /// A verb on hosts; a name instead of the hosts' words leads through a script.
    fn on(&self, verb: &str, hosts: &str) -> Command {
        let mut command = whit();
        command.args([verb, "--hosts", hosts, "--ssh", &self.ssh()]).stdin(Stdio::null());
        command
    }

    fn run(&self, (verb, hosts): (&str, &str), words: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.on(verb, hosts).args(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code(), text(stdout), text(stderr))
    }

    /// What was started on the hosts, and what logs in.
    fn started(&self) -> Vec<Process> {
        let here = self.folder.path().to_str().unwrap();
        let (named, marked) = (format!("-F {here}/"), format!("NETWORK={here}"));
        let mut all = processes();
        all.retain(|one| one.words.contains(&named) || one.environment.contains(&marked));
        all.retain(|one| !one.words.contains(" --hosts "));
        all
    }

    /// How many processes of hosts have these words.
    fn count(&self, words: &str) -> usize {
        self.started().iter().filter(|one| one.words.starts_with(words)).count()
    }

    /// Cuts all connections, at the end of the hosts.
    fn cut(&self) {
        let all = processes();
        let below = |parents: &[i32]| -> Vec<i32> {
            let own = all.iter().filter(|one| parents.contains(&one.parent));
            own.filter(|one| one.words.starts_with("sshd")).map(|one| one.pid).collect()
        };
        // Without root's rights a session has two processes.
        let sessions = below(&[self.sshd.pid()]);
        for pid in below(&sessions).into_iter().chain(sessions) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            // It may have ended with the other.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }

    fn nothing_is_left(&self) {
        wait_until("all processes end", || self.started().is_empty());
    }
}

#[test]
fn lines_and_screens_come_from_hosts_and_others_say_why_not() {
    let Some(network) = Network::new() else { return };
    let words = ["-s", "m", "-i", "0.05", "-c", "3", "--hr", "0"];
    let (status, lines, said) = network.run(("record", "one,two"), &words);
    assert_eq!((status, said.as_str()), (Some(0), ""), "{lines}");
    for host in ["one ", "two "] {
        let of_host = lines.lines().filter(|line| line.starts_with(host) && !line.contains('#'));
        assert_eq!(of_host.count(), 3, "{lines}");
    }

    let words = ["-c", "--way", "ptrace", "--by", "host", "true"];
    let (status, _, said) = network.run(("trace", "one,closed,two,strange"), &words);
    assert_eq!(status, Some(255), "{said}");
    // Sentences are broken into lines.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["closed ssh: connect", "refused", "strange ", "Permission denied", "Counted on 2 of 4"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }

    let mut session = network.on("top", "one,closed,two,strange");
    session.args(["-d", "0.1"]).env("NO_COLOR", "1");
    let mut session = Session::of(session);
    session.until("HOST");
    for text in ["4 hosts: 2 send", "refused;", "Permission"] {
        session.shows(text);
    }
    session.type_in("q");
    session.ends(0);
    network.nothing_is_left();
}

#[test]
fn a_recorder_whose_connection_is_cut_ends_and_another_begins() {
    let Some(network) = Network::new() else { return };
    // The next sample is an hour away: nothing that is written tells anybody of the end.
    let words = ["-s", "m", "-i", "3600", "--quiet", "-f"];
    let recordings = network.path("recordings/");
    let mut record = network.on("record", "one,two");
    record.args(words).arg(&recordings).stderr(Stdio::piped());
    let mut record = Running::start(&mut record);
    let said = BufReader::new(record.stderr.take().unwrap());
    let remote = "whit record --stream";
    wait_until("both record", || network.count(remote) == 2);
    let pids = |network: &Network| -> Vec<i32> {
        let recorders = network.started().into_iter().filter(|one| one.words.starts_with(remote));
        recorders.map(|one| one.pid).collect()
    };
    let first = pids(&network);
    network.cut();
    wait_until("both record again", || {
        let now = pids(&network);
        now.len() == 2 && now.iter().all(|pid| !first.contains(pid))
    });
    // A program in the place of ssh gets the signals that whit waits for.
    let ssh = network.started().into_iter().find(|one| one.parent == record.pid()).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", ssh.pid)).unwrap();
    assert!(status.contains("SigBlk:\t0000000000000000\n"), "{status}");
    record.signal(libc::SIGTERM);
    assert!(record.ended().success());
    network.nothing_is_left();
    let said: Vec<String> = said.lines().map(Result::unwrap).collect();
    for host in ["one: ", "two: "] {
        let of_host = |line: &&String| line.contains(host) && line.ends_with("; trying again");
        assert!(said.iter().any(|line| of_host(&line)), "{said:?}");
    }
}

#[test]
fn a_script_that_starts_ssh_ends_with_it() {
    let Some(network) = Network::new() else { return };
    let script = network.path("login");
    testkit::write_program(&script, format!("#!/bin/sh\n{} \"$@\"\n", network.ssh())).unwrap();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut record = whit();
        record.args(["record", "-s", "m", "-i", "3600", "--quiet", "--hosts", "one,two", "--ssh"]);
        record.arg(&script).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut record = Running::start(&mut record);
        wait_until("both record", || network.count("whit record --stream") == 2);
        record.signal(signal);
        assert!(record.ended().success());
        network.nothing_is_left();
        let said = BufReader::new(record.stderr.take().unwrap());
        assert_eq!(said.lines().count(), 0);
    }
}

#[test]
fn what_is_traced_ends_with_its_connection_and_by_a_signal() {
    let Some(network) = Network::new() else { return };
    for is_cut in [true, false] {
        let mut trace = network.on("trace", "one,two");
        trace.args(["-c", "--way", "ptrace", "sh", "-c", "echo on; exec sleep 1000"]);
        let trace = trace.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut trace = Running::start(trace);
        let mut begun = BufReader::new(trace.stdout.take().unwrap()).lines();
        for _ in 0..2 {
            let line = begun.next().unwrap().unwrap();
            assert!(line.ends_with(" on"), "{line}");
        }
        let status = if is_cut {
            network.cut();
            255
        } else {
            trace.signal(libc::SIGINT);
            128 + libc::SIGTERM
        };
        let said = BufReader::new(trace.stderr.take().unwrap()).lines().map(Result::unwrap);
        // Sentences are broken into lines.
        let said = said.collect::<Vec<_>>().join(" ");
        assert_eq!(trace.ended().code(), Some(status), "{said}");
        assert_eq!(said.contains("Counted on 2 of 2"), !is_cut, "{said}");
        network.nothing_is_left();
    }
}
