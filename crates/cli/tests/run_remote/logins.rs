//! `--sshloginfile`: its forms, and hosts that come and go while jobs run.

use std::fs;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::run_remote::world::{World, has_parallel, text};

#[test]
fn files_of_logins_are_found_as_with_parallel() {
    let world = World::new();
    fs::create_dir(world.path("here/.parallel")).unwrap();
    for (name, login) in [("sshloginfile", "1/user"), ("named", "1/home"), ("both", "1/home")] {
        fs::write(world.path("here/.parallel").join(name), login).unwrap();
    }
    fs::write(world.path("here/both"), "# a comment\n\n1/here\n").unwrap();
    let expects_parallel = has_parallel();
    for words in [["--slf", ".."], ["-S", ".."], ["--slf", "named"], ["--slf", "both"]] {
        let line = [&words[..], &["echo {} $PARALLEL_SSHLOGIN", ":::", "1"]].concat();
        let ours = text(&world.whit(&line));
        assert!(ours.starts_with("1 "), "{words:?}: {ours}");
        if expects_parallel {
            let theirs = world.command("parallel").args(&line).output().unwrap();
            assert_eq!(ours, text(&theirs), "{words:?}");
        }
    }
    for words in [["--slf", "-"], ["-S", "-"]] {
        let mut command = world.command(crate::WHIT);
        command.arg("run").args(words).args(["echo {} $PARALLEL_SSHLOGIN", ":::", "1"]);
        let output = testkit::run_on(&mut command, b"1/piped\n");
        assert_eq!(text(&output), "1 piped\n", "{words:?}");
    }
}

#[test]
fn hosts_come_and_go_with_the_file() {
    let world = World::new();
    let file = world.path("here/live");
    fs::write(&file, "1/a\n").unwrap();
    // The first job empties the file; nothing can run until there is another host.
    let job = format!("[ {{}} = 1 ] && : > {}; sleep 1.1; :", file.display());
    let later = thread::spawn({
        let file = file.clone();
        move || {
            thread::sleep(Duration::from_secs(5));
            fs::write(file, "1/b\n1/a\n").unwrap();
            SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
        }
    });
    let values = ["1", "2", "3", "4", "5"];
    let line = ["--slf", "live", "--filter-hosts", "--joblog", "log", &job, ":::"];
    let output = world.whit(&[&line[..], &values].concat());
    let written_s = later.join().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let log = fs::read_to_string(world.path("here/log")).unwrap();
    let starts: Vec<(String, f64)> = log
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            (columns[1].to_owned(), columns[2].trim().parse().unwrap())
        })
        .collect();
    assert_eq!(starts.len(), 5, "{log}");
    assert!(starts.iter().any(|(host, _)| host == "b"), "{log}");
    let before = starts.iter().filter(|(_, start)| *start < written_s).count();
    assert!(before <= 2, "a host that is gone gets no more jobs: {log}");
}

#[test]
fn a_file_that_cannot_be_read_changes_nothing() {
    let world = World::new();
    let file = world.path("here/live");
    fs::write(&file, "1/a\n").unwrap();
    let job = format!("echo 0/a > {}; sleep 1.1; :", file.display());
    let output = world.whit(&["--slf", "live", &job, ":::", "1", "2", "3"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert!(error.contains("hosts stay as they are"), "{error}");
}
