//! `whit run -S`: jobs on other hosts, which are folders here.  `ssh` is a script that runs the
//! command in such a folder; GNU parallel, where it is installed, is run with the same one.  One
//! test has a real sshd on the loopback.

#![allow(clippy::unwrap_used, reason = "a test may end by it")]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Finds the host among the words that whit and parallel log in with; the rest is the command.
const SSH: &str = r#"#!/bin/bash
while :; do case $1 in -p|-l) shift 2;; *) break;; esac; done
host=$1; shift
[ "$1" = -- ] && shift
[ "$host" = broken ] && { echo "$host" >> FOLDER/tried; exit 255; }
mkdir -p FOLDER/hosts/$host; cd FOLDER/hosts/$host
export HOME=$PWD SHELL=/bin/bash
exec bash -c "$*"
"#;

/// A folder for here, and a script that leads to the others.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("here")).unwrap();
        let program = folder.path().join("ssh");
        fs::write(&program, SSH.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        World(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("here")).stdin(Stdio::null()).env("LC_ALL", "C");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PARALLEL") {
                command.env_remove(name);
            }
        }
        command.env("PARALLEL_SSH", self.path("ssh")).env("HOME", self.path("here"));
        command
    }

    fn whit(&self, words: &[&str]) -> Output {
        let mut command = self.command(env!("CARGO_BIN_EXE_whit"));
        command.arg("run").args(words).output().unwrap()
    }

    /// Seq, host, bytes sent and received, exit code, signal and command of each line.
    fn joblog(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("here/log")).unwrap();
        let mut lines: Vec<String> = text
            .lines()
            .skip(1)
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                [&columns[..2], &columns[4..]].concat().join("|")
            })
            .collect();
        lines.sort();
        lines
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_host_is_as_with_parallel() {
    let world = World::new();
    let lines = [
        vec![
            "-k",
            "-j2",
            "--joblog",
            "log",
            "-S",
            "me@a:22",
            "echo {} $PARALLEL_SSHLOGIN $PARALLEL_SSHHOST $PARALLEL_SEQ; pwd; (exit {})",
            ":::",
            "0",
            "3",
            "0",
        ],
        vec![
            "-k",
            "--joblog",
            "log",
            "-S",
            "1/a,1/a",
            "echo {} it\\'s {#}",
            ":::",
            "a b",
            "'",
            "$x",
        ],
        vec!["--joblog", "log", "-S", ":", "echo $PARALLEL_SSHLOGIN {}; pwd", ":::", "1"],
        vec!["--joblog", "log", "--plus", "-S", "2/a", "echo {host} {sshlogin} {}", ":::", "1"],
    ];
    let expects_parallel = Command::new("parallel").arg("--version").output().is_ok();
    if !expects_parallel {
        println!("skipped beside parallel: it is not installed");
    }
    for line in &lines {
        let ours = world.whit(line);
        let log = world.joblog();
        assert!(!log.is_empty(), "{}", String::from_utf8_lossy(&ours.stderr));
        if !expects_parallel {
            continue;
        }
        let theirs = world.command("parallel").args(line).output().unwrap();
        assert_eq!(text(&ours), text(&theirs), "{line:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{line:?}");
        assert_eq!(log, world.joblog(), "{line:?}");
    }
}

#[test]
fn jobs_are_shared_out_and_here_is_one_of_the_hosts() {
    let world = World::new();
    let line = ["-k", "--joblog", "log", "-S", "2/a,1/b,1/:", "sleep 0.3; pwd; :", ":::"];
    let output = world.whit(&[&line[..], &["1", "2", "3", "4"]].concat());
    let mut folders: Vec<String> =
        text(&output).lines().map(|line| line.rsplit('/').next().unwrap().to_owned()).collect();
    folders.sort();
    assert_eq!(folders, ["a", "a", "b", "here"]);
    let hosts: Vec<String> =
        world.joblog().iter().map(|line| line.split('|').nth(1).unwrap().to_owned()).collect();
    assert_eq!(hosts.iter().filter(|host| *host == "a").count(), 2);
    assert!(hosts.contains(&":".to_owned()));
}

#[test]
fn a_job_that_fails_is_tried_on_another_host() {
    let world = World::new();
    let line = ["--retries", "2", "--joblog", "log", "-S", "1/broken,1/good", "echo {}", ":::"];
    let output = world.whit(&[&line[..], &["1", "2", "3"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(world.path("tried").exists());
    assert!(world.joblog().iter().all(|line| line.contains("|good|")));
    let output = world.whit(&["-S", "1/broken", "echo", ":::", "1"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn files_go_there_and_come_back() {
    let world = World::new();
    for (name, what) in [("base", "b\n"), ("x.in", "one\n"), ("y.in", "other\n")] {
        fs::write(world.path("here").join(name), what).unwrap();
    }
    let line = [
        "--basefile",
        "base",
        "--transferfile",
        "{}.in",
        "--return",
        "{}.out",
        "--cleanup",
        "--workdir",
        "deep/er",
        "-S",
        "2/a",
        "--joblog",
        "log",
        "cat base {}.in > {}.out",
        ":::",
        "x",
        "y",
    ];
    let output = world.whit(&line);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(world.path("here/x.out")).unwrap(), "b\none\n");
    assert_eq!(fs::read_to_string(world.path("here/y.out")).unwrap(), "b\nother\n");
    assert_eq!(fs::read_dir(world.path("hosts/a/deep/er")).unwrap().count(), 0);
    assert!(world.joblog()[0].starts_with("1|a|4|6|0|0|"), "{:?}", world.joblog());
    let output =
        world.whit(&["-S", "2/a", "--trc", "{.}.up", "tr a-z A-Z < {} > {.}.up", ":::", "x.in"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_to_string(world.path("here/x.up")).unwrap(), "ONE\n");
    assert!(!world.path("hosts/a/x.in").exists() && !world.path("hosts/a/x.up").exists());
    let output = world.whit(&["-S", "2/a", "--transfer", "echo ran {}", ":::", "none"]);
    assert_ne!(output.status.code(), Some(0), "what cannot be sent fails its job");
    assert_eq!(text(&output), "");
}

#[test]
fn once_on_each_host_from_a_file() {
    let world = World::new();
    fs::write(world.path("here/logins"), "# all\na[1-2]\n@g/8/b\n:\n").unwrap();
    let output =
        world.whit(&["--nonall", "--tag", "--slf", "logins", "echo $PARALLEL_SEQ; exit 2"]);
    let output_text = text(&output);
    let mut lines: Vec<&str> = output_text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, [":\t4", "a1\t1", "a2\t2", "b\t3"]);
    assert_eq!(output.status.code(), Some(4));
    let output =
        world.whit(&["--slf", "logins", "-S", "@g", "echo $PARALLEL_SSHLOGIN {}", ":::", "1"]);
    assert_eq!(text(&output), "b 1\n");
}

#[test]
fn what_cannot_be_had_is_refused() {
    let world = World::new();
    for (line, part) in [
        (vec!["-S", "a", "--nice", "5", "echo", ":::", "1"], "--nice"),
        (vec!["-S", "a", "--memfree", "1G", "echo", ":::", "1"], "--memfree"),
        (vec!["-S", "a", "--env", "_", "echo", ":::", "1"], "--env _"),
        (vec!["-S", "me:secret@a", "echo", ":::", "1"], "password"),
        (vec!["--nonall", "echo"], "needs hosts"),
        (vec!["-S", "a,:", "--wd", "...", "echo", ":::", "1"], "--workdir ..."),
        (vec!["-S", "a,@nobody", "echo", ":::", "1"], "no host is left"),
    ] {
        let output = world.whit(&line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(part), "{line:?}: {error}");
        assert!(!error.contains("secret"));
        assert_eq!(output.status.code(), Some(255), "{line:?}");
        assert_eq!(text(&output), "");
    }
}

/// An sshd that ends with the test.
struct Sshd(Child);

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts an sshd with keys of its own; why there is none.
fn sshd(folder: &Path) -> Result<(Sshd, u16), String> {
    let program = "/usr/sbin/sshd";
    if !Path::new(program).exists() {
        return Err("there is no sshd".into());
    }
    for name in ["host", "user"] {
        let file = folder.join(name);
        let mut command = Command::new("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&file);
        if !command.status().is_ok_and(|status| status.success()) {
            return Err("ssh-keygen makes no key".into());
        }
    }
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let port = port.map_err(|error| error.to_string())?.port();
    let base = folder.display();
    let configuration = format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {base}/host\nAuthorizedKeysFile {base}/user.pub\n\
         PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
    );
    fs::write(folder.join("config"), configuration).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["-D", "-e", "-f"]).arg(folder.join("config"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(folder.join("sshd.log")).map_err(|error| error.to_string())?);
    let mut sshd = Sshd(command.spawn().map_err(|error| error.to_string())?);
    let until = Instant::now() + Duration::from_secs(5);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let is_gone = !matches!(sshd.0.try_wait(), Ok(None));
        if is_gone || Instant::now() > until {
            let log = fs::read_to_string(folder.join("sshd.log")).unwrap_or_default();
            return Err(format!("sshd does not run: {}", log.trim()));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok((sshd, port))
}

#[test]
fn a_real_sshd_runs_jobs_and_ends_them_with_their_connection() {
    let world = World::new();
    let folder = world.path("here");
    let (_sshd, port) = match sshd(&folder) {
        Ok(started) => started,
        Err(why) => return println!("skipped: {why}"),
    };
    let ssh = format!(
        "ssh -F none -oBatchMode=yes -oLogLevel=ERROR -oStrictHostKeyChecking=no \
         -oUserKnownHostsFile=/dev/null -oIdentitiesOnly=yes -i {}",
        folder.join("user").display()
    );
    let login = format!("2/127.0.0.1:{port}");
    let probe = world.whit(&["--ssh", &ssh, "-S", &login, "echo in {}", ":::", "1"]);
    let error = String::from_utf8_lossy(&probe.stderr).into_owned();
    if error.contains("Permission denied") || error.contains("closed by") {
        return println!("skipped: sshd lets nobody in: {}", error.trim());
    }
    assert_eq!(text(&probe), "in 1\n", "{error}");

    let work = world.path("there");
    let work = work.to_str().unwrap();
    fs::write(folder.join("file"), "sent\n").unwrap();
    let line = ["--ssh", &ssh, "-S", &login, "--wd", work, "--trc", "{}.up", "--joblog", "log"];
    let job = ["tr a-z A-Z < {} > {}.up; echo \"it's $PARALLEL_SSHHOST\"; exit 3", ":::", "file"];
    let output = world.whit(&[&line[..], &job].concat());
    assert_eq!(text(&output), "it's 127.0.0.1\n", "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(folder.join("file.up")).unwrap(), "SENT\n");
    assert!(world.joblog()[0].starts_with(&format!("1|127.0.0.1:{port}|5|20|3|0|")));

    let pid_file = world.path("pid");
    let job = format!("echo $$ > {}; sleep 60; :", pid_file.display());
    let line = ["--ssh", &ssh, "-S", &login, "--timeout", "2", &job, ":::", "1"];
    assert_eq!(world.whit(&line).status.code(), Some(1));
    let pid = fs::read_to_string(&pid_file).unwrap();
    let there = PathBuf::from(format!("/proc/{}", pid.trim()));
    let until = Instant::now() + Duration::from_secs(5);
    while there.exists() {
        assert!(Instant::now() < until, "the job outlives its connection");
        thread::sleep(Duration::from_millis(20));
    }
}
