//! `whit trace --hosts`: the place of ssh has a program that runs the command here.

use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::record_hosts::ssh;
use crate::whit;

fn trace(ssh: &Path, words: &[&str]) -> Output {
    let mut trace = whit();
    trace.args(["trace", "--way", "ptrace", "--ssh"]).arg(ssh).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Whether a text has a sentence, wherever its lines are broken.
fn says(text: &str, sentence: &str) -> bool {
    text.split_whitespace().collect::<Vec<_>>().join(" ").contains(sentence)
}

#[test]
fn lines_have_the_host_in_front_and_the_status_is_the_highest() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(folder.path(), "export host");
    let command = "printf 'out %s\\nend' $host; printf begun >&2; exit ${host#s}";
    let words = ["-f", "-e", "trace=exit_group", "--hosts", "s3,s7,s0", "sh", "-c", command];
    let output = trace(&ssh, &words);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let mut lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["s0 end", "s0 out s0", "s3 end", "s3 out s3", "s7 end", "s7 out s7"]);
    let said = text(&output.stderr);
    for (host, status) in [("s0", 0), ("s3", 3), ("s7", 7)] {
        // What the command has begun to say is its own line.
        assert!(said.lines().any(|line| line == format!("{host} begun")), "{said}");
        let call = format!("{host} exit_group({status})");
        assert!(said.lines().any(|line| line.starts_with(&call)), "{said}");
    }
    // To a file: the trace alone.
    let file = folder.path().join("trace");
    let output = trace(&ssh, &[&["-o", file.to_str().unwrap()], &words[..]].concat());
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let traced = std::fs::read_to_string(&file).unwrap();
    assert_eq!(traced.matches("exit_group(").count(), 3, "{traced}");
    assert!(!text(&output.stderr).contains("exit_group") && !traced.contains("begun"), "{traced}");
    // As JSON, with the host as a key.
    let to = ["--json", "-o", file.to_str().unwrap(), "--hosts", "s0,s1", "true"];
    assert!(trace(&ssh, &to).status.success());
    let said = std::fs::read_to_string(&file).unwrap();
    let calls = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let hosts = calls.filter(|one| one["syscall"] == "exit_group");
    let mut hosts: Vec<_> = hosts.map(|one| one["host"].as_str().unwrap().to_owned()).collect();
    hosts.sort();
    assert_eq!(hosts, ["s0", "s1"], "{said}");
}

fn of_unit(unit: &Value) -> u64 {
    unit["total"]["calls"].as_u64().unwrap()
}

#[test]
fn counts_of_hosts_are_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(folder.path(), "export host");
    // A host as many calls as its number.
    let command = "for one in $(seq ${host#s}); do true < /nowhere; done 2>/dev/null; true";
    let words = |hosts: &'static str| {
        ["-c", "-f", "--by", "host", "--json", "--hosts", hosts, "sh", "-c", command]
    };
    let count = |hosts| -> Value {
        let output = trace(&ssh, &words(hosts));
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stderr).unwrap()
    };
    let of = |table: &Value| -> (u64, u64) {
        let errors = table["errors"].as_array().unwrap().iter();
        let missing = errors.filter(|one| one["error"] == "ENOENT" && one["syscall"] == "openat");
        (
            table["total"]["calls"].as_u64().unwrap(),
            missing.map(|one| one["count"].as_u64().unwrap()).sum(),
        )
    };
    let (one, other, both) = (count("s5"), count("s9"), count("s5,s9"));
    // The loader looks in vain for as many on each.
    assert_eq!(of(&other).1 - of(&one).1, 4);
    assert_eq!(of(&both).1, of(&one).1 + of(&other).1);
    let units = both["units"].as_array().unwrap().iter();
    let units: Vec<_> = units.map(|unit| (unit["host"].as_str().unwrap(), of_unit(unit))).collect();
    assert_eq!(units.iter().map(|(host, _)| *host).collect::<Vec<_>>(), ["s5", "s9"]);
    assert_eq!(units.iter().map(|(_, calls)| calls).sum::<u64>(), of(&both).0);
    let output = trace(&ssh, &["-c", "--by", "host", "--hosts", "s1,s2", "true"]);
    let said = text(&output.stderr);
    assert!(says(&said, "Counted on 2 of 2 hosts: ") && said.contains(" execve\n"), "{said}");
    assert!(said.lines().any(|line| line.contains("  host ")), "{said}");
    // What a host says.
    let mut of_host = whit();
    of_host.args(["trace", "-c", "--way", "ptrace", "--report-mark", "mark ", "true"]);
    let of_host = of_host.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = of_host.spawn().unwrap();
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let said = text(&output.stderr);
    let mut counts = said.lines().filter(|line| line.starts_with("mark "));
    assert_eq!(counts.next_back(), Some("mark end 0"), "{said}");
    assert!(counts.any(|line| line.starts_with("mark call 64 59 1 0 ")), "{said}");
}

#[test]
fn a_host_that_fails_is_told_and_is_not_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(
        folder.path(),
        "if [ $host = b ]; then printf 'no \\033[31mroute\\n' >&2; exit 255; fi",
    );
    let output = trace(&ssh, &["-c", "--hosts", "a,b", "true"]);
    assert_eq!(output.status.code(), Some(255), "{output:?}");
    let said = text(&output.stderr);
    assert!(said.contains("b no ") && says(&said, "Counted on 1 of 2 hosts: "), "{said}");
    for words in [
        &["--hosts", "a", "-p", "1"][..],
        &["--hosts", "a", "-c", "-i", "1", "true"],
        &["--hosts", "a", "-c", "--by", "thread", "true"],
        &["--hosts", "a", "-ff", "-o", "x", "true"],
        &["--hosts", "a"],
        &["--hosts", ":", "true"],
        &["-c", "--by", "host", "true"],
    ] {
        let mut refused = whit();
        let output = refused.arg("trace").args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
    }
}

#[test]
fn a_signal_ends_the_traces_and_what_they_have_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(folder.path(), "");
    let mut traced = whit();
    let words = ["trace", "-c", "--way", "ptrace", "--hosts", "a,b", "--ssh"];
    traced.args(words).arg(&ssh).args(["sh", "-c", "echo on; exec sleep 1000"]);
    let mut child = traced.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut begun = std::io::BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut begun, &mut line).unwrap();
        assert!(line.ends_with(" on\n"), "{line}");
    }
    let own = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert!(says(&said, "Counted on 2 of 2 hosts: "), "{said}");
    assert_eq!(output.status.code(), Some(128 + 15), "{said}");
}

#[test]
fn a_signal_ends_what_still_logs_in() {
    let folder = tempfile::tempdir().unwrap();
    // One that connects reads no stdin, and says something of it.
    let script = "if [ $host = b ]; then echo connecting >&2; exec sleep 1000; fi";
    let ssh = ssh(folder.path(), script);
    let mut traced = whit();
    let words = ["trace", "-c", "--way", "ptrace", "--hosts", "a,b", "--ssh"];
    traced.args(words).arg(&ssh).args(["sh", "-c", "echo on; exec sleep 1000"]);
    let traced = traced.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = traced.spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    for (from, wanted) in [
        (&mut stderr as &mut dyn std::io::BufRead, "b connecting\n"),
        (&mut std::io::BufReader::new(child.stdout.take().unwrap()), "a on\n"),
    ] {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        assert_eq!(line, wanted);
    }
    let own = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(own, rustix::process::Signal::TERM).unwrap();
    let said = std::io::read_to_string(stderr).unwrap();
    assert!(says(&said, "Counted on 1 of 2 hosts: "), "{said}");
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15), "{said}");
}
