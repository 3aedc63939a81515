//! A real sshd on the loopback, with keys of its own.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use testkit::{Deadline, Running, wait_until};

use crate::run_remote::world::{World, text};

/// Why there is no sshd where it is not installed.
const ABSENT: &str = "not installed";

/// Starts an sshd with keys of its own, `host` and `user`, and some lines of configuration; none, and a skip,
/// where there is none.
pub(crate) fn sshd(folder: &Path, configuration: &str) -> Option<(Running, u16)> {
    match start(folder, configuration) {
        Ok(started) => Some(started),
        Err(why) if why == ABSENT || why.contains("privilege separation directory") => {
            testkit::skip("sshd", &why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

fn start(folder: &Path, more: &str) -> Result<(Running, u16), String> {
    let program = "/usr/sbin/sshd";
    if !Path::new(program).exists() {
        return Err(ABSENT.into());
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
         PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n{more}"
    );
    fs::write(folder.join("config"), configuration).map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["-D", "-e", "-f"]).arg(folder.join("config"));
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(folder.join("sshd.log")).map_err(|error| error.to_string())?);
    let mut sshd = Running::from(command.spawn().map_err(|error| error.to_string())?);
    let deadline = Deadline::default();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        let is_gone = !matches!(sshd.try_wait(), Ok(None));
        if is_gone || !deadline.is_ahead() {
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
    let Some((_sshd, port)) = sshd(&folder, "") else { return };
    let ssh = format!(
        "ssh -F none -oBatchMode=yes -oLogLevel=ERROR -oStrictHostKeyChecking=no \
         -oUserKnownHostsFile=/dev/null -oIdentitiesOnly=yes -i {}",
        folder.join("user").display()
    );
    let login = format!("2/127.0.0.1:{port}");
    let probe = world.whit(&["--ssh", &ssh, "-S", &login, "echo in {}", ":::", "1"]);
    let error = String::from_utf8_lossy(&probe.stderr).into_owned();
    if error.contains("Permission denied") || error.contains("closed by") {
        return testkit::skip("sshd", &format!("lets nobody in: {}", error.trim()));
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

    let shared = ["--ssh", &ssh, "-M", "--filter-hosts", "-k", "-S", &login];
    let output =
        world.whit(&[&shared[..], &["echo $SSH_CLIENT {}", ":::", "1", "2", "3"]].concat());
    let output_text = text(&output);
    let mut clients: Vec<&str> =
        output_text.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    clients.dedup();
    assert_eq!(clients.len(), 1, "all jobs share one connection: {output_text}");

    let pid_file = world.path("pid");
    let job = format!("echo $$ > {}; sleep 1000; :", pid_file.display());
    let line = ["--ssh", &ssh, "-S", &login, "--timeout", "5", &job, ":::", "1"];
    assert_eq!(world.whit(&line).status.code(), Some(1));
    let pid = fs::read_to_string(&pid_file).unwrap();
    let there = PathBuf::from(format!("/proc/{}", pid.trim()));
    wait_until("the job ends with its connection", || !there.exists());
}
