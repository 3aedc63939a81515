//! `whit rrd` with a caching daemon: by an option, and by the variable, from a pipe.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

#[test]
fn updates_of_a_pipe_go_to_the_daemon() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let Some(daemon) = testkit::Rrdcached::start(folder.path()) else { return };
    let address = format!("unix:{}", socket.display());
    let whit = || {
        let mut command = crate::whit();
        command.arg("rrd").current_dir(folder.path());
        command
    };
    let mut pipe = whit();
    let lines = "create a.rrd -b 1700000000 -s 60 DS:a:GAUGE:120:U:U RRA:LAST:0.5:1:9\n\
                 update a.rrd 1700000060:1\nupdate a.rrd 1700000060:2\nupdate a.rrd 1700000120:3\n";
    let output =
        testkit::run_on(pipe.arg("-").env("RRDCACHED_ADDRESS", &address), lines.as_bytes());
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
    drop(daemon);
    let refused = whit().args(["lastupdate", "a.rrd", "-d", &address]).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(said, "ERROR: Unable to connect to rrdcached: Connection refused\n");
    assert_eq!(refused.status.code(), Some(1));
}
