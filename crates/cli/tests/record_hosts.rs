//! `whit record --hosts`: the place of ssh has a program that runs the command here.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::whit;

/// A program in the place of ssh: `SCRIPT` with `$host`, then the command.
pub(crate) fn ssh(folder: &Path, script: &str) -> PathBuf {
    let path = folder.join("ssh");
    let program = whit().get_program().to_owned();
    let own = Path::new(&program).parent().unwrap();
    let text = format!(
        "#!/bin/sh\nwhile [ \"$1\" != -- ]; do host=$1; shift; done\nshift\n{script}\n\
         PATH='{}':$PATH\nexec sh -c \"$*\"\n",
        own.display()
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn record(ssh: &Path, words: &[&str]) -> Output {
    let mut record = whit();
    record.args(["record", "-i", "0.01", "-s", "m", "--ssh"]).arg(format!("{} -q", ssh.display()));
    record.args(words).output().unwrap()
}

#[test]
fn lines_have_the_host_in_front() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(folder.path(), "");
    let output = record(&ssh, &["-c", "5", "--hosts", "a,me@web[1-2]:22", "--hr", "0"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for host in ["a          ", "me@web1:22 ", "me@web2:22 "] {
        let lines = text.lines().filter(|line| line.starts_with(host) && !line.contains('#'));
        assert_eq!(lines.count(), 5, "{host}: {text}");
    }
}

#[test]
fn a_host_that_fails_is_told_and_tried_again_and_has_recordings_here() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = folder.path().join("recordings/");
    let script =
        "if mkdir \"$0.tried\" 2>/dev/null; then printf 'no \\033[31mroute\\n' >&2; exit 255; fi";
    let ssh = ssh(folder.path(), script);
    let words = ["-c", "20", "--hosts", "a", "-f", recordings.to_str().unwrap()];
    let output = record(&ssh, &words);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("a: no \\x1b[31mroute; trying again"), "{said}");
    let own = std::fs::read_dir(&recordings).unwrap().map(|one| one.unwrap().path());
    let [recording] = own.collect::<Vec<_>>().try_into().unwrap();
    let output = whit().args(["play", "--csv", "--fields", "memory.free"]).arg(recording).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 21);
}

#[test]
fn a_stream_is_shown_as_that_of_a_host() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = whit();
    record.args(["record", "--stream", "-i", "0.01", "-s", "m", "-c", "3"]);
    let output = record.output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let kept = folder.path().join("kept");
    std::fs::write(&kept, output.stdout).unwrap();
    let ssh = ssh(folder.path(), &format!("exec cat '{}'", kept.display()));
    let output = self::record(&ssh, &["-c", "3", "--hosts", "a", "--hr", "0"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("a ") && !line.contains('#'));
    assert_eq!(lines.count(), 3, "{text}");
}

#[test]
fn a_host_without_whit_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = ssh(folder.path(), "if [ $host = b ]; then echo 'whit: not found' >&2; exit 127; fi");
    let output = record(&ssh, &["-c", "2", "--hosts", "a,b"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "whit: b: whit: not found\n");
    // What a host sends that is no stream.
    let ssh = self::ssh(folder.path(), "if [ $host = b ]; then yes | head -c 999; exit 2; fi");
    let output = record(&ssh, &["-c", "2", "--hosts", "a,b"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("b: it sends no samples"));
    for words in [["--hosts", "a", "--csv"], ["--hosts", "a", "--home"], ["--hosts", ":", "-q"]] {
        assert_eq!(
            record(&ssh, &words[..2 + usize::from(words[2] != "-q")]).status.code(),
            Some(2)
        );
    }
}
