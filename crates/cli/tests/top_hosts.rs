//! `whit top --hosts` on a terminal of its own: the place of ssh has a program that runs the command here.

use std::path::Path;

use crate::record_hosts::ssh;
use crate::top::Session;
use crate::whit;

/// The screen of some hosts, ten samples a second.
fn session(ssh: &Path, hosts: &str, options: &[&str]) -> Session {
    let mut command = whit();
    command.args(["top", "-d", "0.1", "--hosts", hosts, "--ssh"]).arg(ssh).args(options);
    command.env("NO_COLOR", "1");
    let mut session = Session::of(command);
    session.until("HOST");
    session
}

#[test]
fn a_line_for_each_host_and_the_processes_of_one() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(folder.path(), "");
    let mut session = session(&ssh, "one,me@two", &[]);
    session.shows("2 hosts: 2 send");
    session.shows("all 2");
    // The second line is selected, and its processes come by a second login.
    session.type_in("N\x1b[B\x1b[B\r");
    session.shows("COMMAND");
    session.shows("one  ");
    // A signal would reach a process of this machine: no question for one takes the keys.
    session.type_in("\x1b[Bk");
    session.shows("q hosts");
    session.type_in("q");
    session.shows("2 hosts: 2 send");
    session.type_in("q");
    session.ends(0);
}

#[test]
fn hosts_that_fail_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let script = "case $host in b) echo 'whit: not found' >&2; exit 127;; \
                  c) printf 'no \\033[31mroute\\n' >&2; exit 255;; esac";
    let ssh = ssh(folder.path(), script);
    let mut session = session(&ssh, "a,b,c", &["--host-sort", "load"]);
    for text in ["3 hosts: 1 send", "failed", "LOAD", "found", "\\x1b[31mroute;"] {
        session.shows(text);
    }
    session.type_in("q");
    session.ends(0);

    // With a count it ends by itself, also when no host sends.
    for hosts in ["a,b", "b"] {
        let mut session = self::session(&ssh, hosts, &["-n", "3"]);
        session.ends(0);
    }
}

#[test]
fn what_is_no_host_is_refused() {
    for words in [&["--hosts", ":"][..], &["--hosts", "a", "x.whit"], &["--ssh", "x"]] {
        let output = whit().arg("top").args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}
