//! `--filter-hosts`, `--ssh-delay`, `--controlmaster`.

use std::fs;
use std::path::Path;

use crate::run_remote::world::{World, has_parallel, text};

#[test]
fn hosts_that_let_nobody_in_are_left_out() {
    let world = World::new();
    let line = ["--filter-hosts", "-k", "-S", "a,broken,:", "-j1", "echo {}", ":::", "1", "2", "3"];
    let output = world.whit(&line);
    assert_eq!((text(&output).as_str(), output.status.code()), ("1\n2\n3\n", Some(0)));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("broken is left out"), "{error}");
    let none = ["--filter-hosts", "-S", "broken", "echo", ":::", "1"];
    let output = world.whit(&none);
    assert_eq!((text(&output).as_str(), output.status.code()), ("", Some(255)));
    if has_parallel() {
        let theirs = world.command("parallel").args(none).output().unwrap();
        assert_eq!(theirs.status.code(), Some(255));
    }
}

#[test]
fn starts_on_other_hosts_are_apart_and_those_here_need_not_wait() {
    let world = World::new();
    let starts = |hosts: &str| {
        let line = ["--ssh-delay", "0.3", "-k", "-S", hosts, "date +%s%N; :", ":::"];
        let output = world.whit(&[&line[..], &["1", "2", "3"]].concat());
        let mut starts: Vec<u64> =
            text(&output).lines().map(|line| line.parse().unwrap()).collect();
        starts.sort_unstable();
        assert_eq!(starts.len(), 3, "{}", String::from_utf8_lossy(&output.stderr));
        starts[2] - starts[0]
    };
    // The jobs' own start takes its time too, which may make the gaps between them smaller.
    assert!(starts("4/a") >= 400_000_000);
    let mixed =
        world.whit(&["--ssh-delay", "60", "-S", "1/a,4/:", "echo {}", ":::", "1", "2", "3"]);
    assert_eq!(text(&mixed).lines().count(), 3, "it would take two minutes to wait");
}

#[test]
fn jobs_share_a_connection_that_is_ended() {
    let world = World::new();
    let output = world.whit(&["-M", "-k", "-S", "2/a", "echo {}", ":::", "1", "2", "3"]);
    assert_eq!(text(&output), "1\n2\n3\n", "{}", String::from_utf8_lossy(&output.stderr));
    let options = fs::read_to_string(world.path("options")).unwrap();
    let count = |option: &str| options.lines().filter(|line| *line == option).count();
    assert_eq!(count("-oControlMaster=yes"), 1, "{options}");
    assert_eq!(count("-oControlMaster=no"), 3, "{options}");
    assert_eq!(count("-Oexit"), 1, "{options}");
    let path = options.lines().find_map(|line| line.strip_prefix("-oControlPath=")).unwrap();
    assert!(!Path::new(path).parent().unwrap().exists(), "the folder of sockets is left: {path}");
}

#[test]
fn another_program_than_openssh_gets_no_options() {
    let world = World::new();
    fs::hard_link(world.path("ssh"), world.path("rsh")).unwrap();
    let program = world.path("rsh");
    let line = ["-M", "--ssh", program.to_str().unwrap(), "-S", "a", "echo {}", ":::", "1"];
    assert_eq!(text(&world.whit(&line)), "1\n");
    assert!(!world.path("options").exists());
}
