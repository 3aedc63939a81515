//! Updates by a session, while rrdtool changes the same files, replaces them, and more files are
//! updated than may be open: afterwards they are what rrdtool alone makes of the same updates.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rrd::command::CommandEnvironment;
use rrd::header::Time;
use rrd::pipe::{Next, Session};
use rrd::update::Moments;

struct Plain;

impl Moments for Plain {
    fn now(&self) -> Time {
        Time::default()
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(format!("no number: {words}"))
    }
}

impl CommandEnvironment for Plain {
    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }

    fn period(&self, _start: &str, _end: &str) -> Result<(i64, i64), String> {
        Err("no periods".to_owned())
    }
}

/// Gives lines to a session as the command line does; what it answers.
fn ours(session: &mut Session, lines: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut answer = |out: &mut dyn std::io::Write| out.write_all(b"OK\n");
    for line in lines {
        if session.add(line.as_bytes()) {
            continue;
        }
        session.flush(&Plain, &mut out, &mut answer).expect("flushed");
        if session.add(line.as_bytes()) {
            continue;
        }
        match session.run(line, &Plain, &mut out, "", &mut |_, _, _| None) {
            Ok(Next::Line | Next::Quit) => answer(&mut out).expect("written"),
            Err(error) => writeln!(out, "ERROR: {error}").expect("written"),
        }
    }
    session.flush(&Plain, &mut out, &mut answer).expect("flushed");
    String::from_utf8(out).expect("text").lines().map(str::to_owned).collect()
}

/// The same lines to rrdtool.
fn theirs(lines: &[String]) -> Vec<String> {
    let mut child = Command::new("rrdtool")
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("rrdtool");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut input = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(text.as_bytes()).expect("written"));
        let output = child.wait_with_output().expect("its end");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines()
            .map(|line| if line.starts_with("OK u:") { "OK" } else { line }.into())
            .collect()
    })
}

/// A file whose updates change several pages, or with `small` only one.
fn create(path: &Path, small: bool) {
    let mut definitions = vec!["DS:in:COUNTER:600:0:U", "DS:out:GAUGE:600:0:U"];
    definitions.extend(match small {
        true => ["RRA:AVERAGE:0.5:1:20", "RRA:AVERAGE:0.5:6:20"].as_slice(),
        false => &["RRA:AVERAGE:0.5:1:900", "RRA:AVERAGE:0.5:6:900", "RRA:MAX:0.5:1:600"],
    });
    let options = rrd::create::Options { start: Some(1_000_000_000), ..Default::default() };
    rrd::create::create(path, &options, &definitions, 0).expect("a file");
}

/// The update of a file at a step; the last one of a row of five is refused.
fn line(folder: &str, file: u64, step: u64) -> String {
    let time = 1_000_000_000 + 300 * if step % 5 == 4 { step - 2 } else { step };
    format!("update {folder}/f{file} {time}:{}:{}.5", step * 1000 + file, step % 7)
}

fn lines(folder: &str, files: u64, steps: std::ops::Range<u64>) -> Vec<String> {
    steps.flat_map(|step| (0..files).map(move |file| line(folder, file, step))).collect()
}

fn assert_same(ours: &Path, theirs: &Path, files: u64) {
    for file in 0..files {
        let read = |folder: &Path| std::fs::read(folder.join(format!("f{file}"))).expect("a file");
        assert!(read(ours) == read(theirs), "file {file} differs");
    }
}

#[test]
fn files_are_those_of_rrdtool() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    const FILES: u64 = 10;
    // All files stay open, or most are closed in between.
    for (files_max, small) in [(100, false), (3, false), (100, true), (3, true), (1, false)] {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("ours"), folder.path().join("theirs"));
        for path in [&first, &second] {
            std::fs::create_dir(path).expect("a folder");
        }
        for file in 0..FILES {
            create(&first.join(format!("f{file}")), small);
            let copy = |folder: &Path| folder.join(format!("f{file}"));
            std::fs::copy(copy(&first), copy(&second)).expect("a copy");
        }
        let (our_name, their_name) = (first.display().to_string(), second.display().to_string());
        let mut session = Session::new(files_max);
        let mut step = 1;
        // In batches of several steps and of one.
        for batch in [3, 1, 1, 5, 1, 1, 1, 40] {
            let these = step..step + batch;
            step += batch;
            let expected = theirs(&lines(&their_name, FILES, these.clone()));
            let found = ours(&mut session, &lines(&our_name, FILES, these));
            let expected: Vec<String> =
                expected.iter().map(|line| line.replace(&their_name, &our_name)).collect();
            assert_eq!(found, expected, "{files_max} {small}");
            assert_same(&first, &second, FILES);
            // Another program's updates and changes in between, also of a file that is replaced.
            let between = |folder: &str| {
                let mut lines = lines(folder, FILES / 2, step..step + 1);
                lines.push(format!("tune {folder}/f1 -h in:{}", 700 + step));
                lines
            };
            theirs(&between(&our_name));
            theirs(&between(&their_name));
            step += 1;
            let replaced = first.join("f2");
            std::fs::copy(&replaced, first.join("new")).expect("a copy");
            std::fs::rename(first.join("new"), &replaced).expect("renamed");
        }
    }
}
