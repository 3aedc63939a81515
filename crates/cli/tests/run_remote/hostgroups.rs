//! `--hostgroups`.

use crate::run_remote::world::{World, has_parallel, text};

#[test]
fn values_choose_their_hosts_as_with_parallel() {
    let world = World::new();
    let job = "echo {} $PARALLEL_SSHLOGIN $PARALLEL_ARGHOSTGROUPS";
    let lines: &[&[&str]] = &[
        &["-S", "@g1/a,@g2/b", job, ":::", "x@g1", "y@g2", "z@g2+none"],
        &["-S", "@g1/a,@g2/b,me@c", job, ":::", "x@g1", "y@me@c", "z@b"],
        &["-S", "@g1/a,@g2/b", job, ":::", "x@g1", "y@g2", ":::", "z@g2", "w"],
        &["-S", "@g1/a,@g2/b", "-N2", job, ":::", "x@g1", "y@g2", "z@g2", "w"],
        &["-S", "@g1/a", job, ":::", "x@new", "y@new+g1", "z@g1"],
        &["-S", "@g1/a", "--tag", "echo", ":::", "x@", "y@g1+"],
        &["--plus", "-S", "@g1/:,@g2/b", "echo {agrp} {sshlogin}", ":::", "x@g1", "x@g2"],
        &[job, ":::", "x", "y@:"],
    ];
    let expects_parallel = has_parallel();
    for line in lines {
        let line = [&["--hostgroups", "-k", "--joblog", "log"], *line].concat();
        let ours = world.whit(&line);
        let log = world.joblog();
        assert!(!log.is_empty(), "{}", String::from_utf8_lossy(&ours.stderr));
        if !expects_parallel {
            continue;
        }
        let theirs = world.command("parallel").args(&line).output().unwrap();
        assert_eq!(text(&ours), text(&theirs), "{line:?}");
        assert_eq!(ours.status.code(), theirs.status.code(), "{line:?}");
        assert_eq!(log, world.joblog(), "{line:?}");
    }
}

#[test]
fn a_busy_group_holds_up_nobody_else() {
    let world = World::new();
    let job = "[ {} = slow ] && sleep 1; date +%s%N; :";
    let line = ["--hgrp", "-j1", "-k", "-S", "@g1/a,@g2/b", job, ":::"];
    let values = ["slow@g1", "second@g1", "third@g1", "other@g2"];
    let output = world.whit(&[&line[..], &values].concat());
    let ends: Vec<u64> = text(&output).lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(ends.len(), 4, "{}", String::from_utf8_lossy(&output.stderr));
    assert!(ends[0] < ends[1] && ends[1] < ends[2], "in order on their host");
    assert!(ends[3] < ends[0], "the other host does not wait, and -k writes it last");
}

#[test]
fn a_job_that_waits_for_its_group_and_skips_holds_up_no_output() {
    let world = World::new();
    let job = "echo {= if ($_ eq 'second') { skip() } =}";
    let line = ["--hgrp", "-j1", "-k", "-S", "@g1/a,@g2/b", job, ":::"];
    let output = world.whit(&[&line[..], &["first@g1", "second@g1", "other@g2"]].concat());
    assert_eq!(text(&output), "first\nother\n", "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_group_that_is_no_host_ends_the_run() {
    let world = World::new();
    let output = world.whit(&["--hgrp", "-S", "a", "echo", ":::", "1@-oProxyCommand=x"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("cannot begin with a -"), "{error}");
    assert_eq!(output.status.code(), Some(255));
}
