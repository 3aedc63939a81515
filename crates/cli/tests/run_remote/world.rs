//! A folder for here, one for each host, and the script that leads there in the place of ssh.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Finds the host among the words that whit and parallel log in with; the rest is the command.
const SSH: &str = r#"#!/bin/bash
for word; do case $word in -o*|-O*) echo "$word" >> FOLDER/options;; esac; done
while :; do case $1 in -p|-l) shift 2;; -Oexit) exit 0;; -o*) shift;; *) break;; esac; done
host=$1; shift
[ "$1" = -- ] && shift
[ "$host" = broken ] && { echo "$host" >> FOLDER/tried; exit 255; }
mkdir -p FOLDER/hosts/$host; cd FOLDER/hosts/$host
export HOME=$PWD SHELL=/bin/bash
exec bash -c "$*"
"#;

/// A folder for here, and a script that leads to the others.
pub(crate) struct World(TempDir);

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("here")).unwrap();
        let program = folder.path().join("ssh");
        let script = SSH.replace("FOLDER", folder.path().to_str().unwrap());
        testkit::write_program(&program, script).unwrap();
        World(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.path("here")).stdin(Stdio::null()).env("LC_ALL", "C");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PARALLEL") {
                command.env_remove(name);
            }
        }
        command.env("PARALLEL_SSH", self.path("ssh")).env("HOME", self.path("here"));
        command
    }

    pub(crate) fn whit(&self, words: &[&str]) -> Output {
        let mut command = self.command(crate::WHIT);
        command.arg("run").args(words).output().unwrap()
    }

    /// Runs each command line, which writes a joblog `log`, by whit and by GNU parallel where that
    /// is installed: output, exit code and joblog are the same.
    pub(crate) fn compare(&self, lines: &[Vec<&str>]) {
        let expects_parallel = has_parallel();
        for line in lines {
            let ours = self.whit(line);
            let log = self.joblog();
            assert!(!log.is_empty(), "{}", String::from_utf8_lossy(&ours.stderr));
            if !expects_parallel {
                continue;
            }
            let theirs = self.command("parallel").args(line).output().unwrap();
            assert_eq!(text(&ours), text(&theirs), "{line:?}");
            assert_eq!(ours.status.code(), theirs.status.code(), "{line:?}");
            assert_eq!(log, self.joblog(), "{line:?}");
        }
    }

    /// Seq, host, bytes sent and received, exit code, signal and command of each line.
    pub(crate) fn joblog(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("here/log")).unwrap();
        let mut lines: Vec<String> = text
            .lines()
            .skip(1)
            .map(|line| {
                let columns: Vec<&str> = line.split('\t').collect();
                [&columns[..2], &columns[4..]].concat().join("|")
            })
            .collect();
        lines.sort();
        lines
    }
}

pub(crate) fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) use testkit::has_parallel;
