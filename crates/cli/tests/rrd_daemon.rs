//! `whit rrd` with a caching daemon: by an option, and by the variable, from a pipe.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn updates_of_a_pipe_go_to_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let mut daemon = Command::new("rrdcached");
    daemon.arg("-g").arg("-l").arg(&socket).arg("-p").arg(folder.path().join("pid"));
    daemon.arg("-b").arg(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut daemon) = daemon.spawn() else {
        testkit::skip("rrdcached", "it is not installed");
        return;
    };
    let begun = Instant::now();
    while UnixStream::connect(&socket).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "rrdcached does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    let address = format!("unix:{}", socket.display());
    let whit = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whit"));
        command.arg("rrd").current_dir(folder.path()).env_remove("RRDCACHED_ADDRESS");
        command
    };
    let mut pipe = whit();
    pipe.arg("-").env("RRDCACHED_ADDRESS", &address).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut pipe = pipe.spawn().unwrap();
    let lines = "create a.rrd -b 1700000000 -s 60 DS:a:GAUGE:120:U:U RRA:LAST:0.5:1:9\n\
                 update a.rrd 1700000060:1\nupdate a.rrd 1700000060:2\nupdate a.rrd 1700000120:3\n";
    pipe.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = pipe.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<bool> = text.lines().map(|line| line.starts_with("OK u:")).collect();
    assert_eq!(answers, [true, true, false, true], "{text}");
    assert!(text.contains(&format!("ERROR: rrdcached@{address}: illegal attempt")), "{text}");

    // The file does not have the updates yet; the daemon does.
    let last = |option: &[&str]| {
        let output = whit().args(["lastupdate", "a.rrd"]).args(option).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(last(&[]).contains("1700000000: U"), "{}", last(&[]));
    assert!(last(&["--daemon", &address]).contains("1700000120: 3"));
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let refused = whit().args(["lastupdate", "a.rrd", "-d", &address]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(said, "ERROR: Unable to connect to rrdcached: Connection refused\n");
    assert_eq!(refused.status.code(), Some(1));
}
