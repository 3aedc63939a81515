//! `whit run -S`: jobs on other hosts, which are folders here.  `ssh` is a script that runs the
//! command in such a folder; GNU parallel, where it is installed, is run with the same one.  One
//! test has a real sshd on the loopback.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may end by it, and says why it skips"
)]

mod connections;
mod everywhere;
mod hostgroups;
mod logins;
pub(crate) mod sshd;
pub(crate) mod world;

use std::fs;

use world::{World, text};

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
    world.compare(&lines);
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
    assert_eq!(lines, [":\t1", "a1\t1", "a2\t1", "b\t1"]);
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
        (vec!["-S", "a", "--load", "9", "echo", ":::", "1"], "--load"),
        (vec!["-S", "a", "--limit", "mem 1G", "echo", ":::", "1"], "--limit with load, mem or io"),
        (vec!["-S", "a", "--env", "_", "echo", ":::", "1"], "--env _"),
        (vec!["-S", "me:secret@a", "echo", ":::", "1"], "password"),
        (vec!["-S", "a,@nobody", "echo", ":::", "1"], "hosts is left"),
    ] {
        let output = world.whit(&line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(part), "{line:?}: {error}");
        assert!(!error.contains("secret"));
        assert_eq!(output.status.code(), Some(255), "{line:?}");
        assert_eq!(text(&output), "");
    }
}
