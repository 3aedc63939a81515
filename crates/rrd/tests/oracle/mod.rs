//! What the tests that compare with the installed rrdtool share: both programs, a generator, and
//! files with data.

#![allow(dead_code, reason = "each test program uses a part")]

use std::path::Path;
use std::process::{Command, Stdio};

use rrd::command::{self, CommandEnvironment};
use rrd::header::Time;
use rrd::update::Moments;

/// Times are seconds, and the zone is UTC.
pub(crate) struct Plain;

impl Moments for Plain {
    fn now(&self) -> Time {
        Time { seconds: 1_700_000_000, microseconds: 250_000 }
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        words.parse().map_err(|_| format!("no number: {words}"))
    }
}

impl CommandEnvironment for Plain {
    fn zone(&self) -> &calendar::CivilZone {
        &calendar::UTC
    }

    fn period(&self, start: &str, end: &str) -> Result<(i64, i64), String> {
        Ok((self.parse(start)?, self.parse(end)?))
    }
}

pub(crate) use testkit::{Random, setting};

/// Runs one of our commands: what RRDtool would print, and its error.
pub(crate) fn ours(words: &[String]) -> String {
    let mut out = Vec::new();
    let done = command::run(&words[0], &words[1..], &Plain, &mut out).expect("a command");
    let mut text = String::from_utf8(out).expect("text");
    match done {
        Ok(()) => text.push_str("OK\n"),
        Err(error) => text.push_str(&format!("ERROR: {error}\n")),
    }
    text
}

/// An rrdtool that reads commands from a pipe.
pub(crate) struct Theirs {
    child: testkit::Running,
    output: std::io::BufReader<std::process::ChildStdout>,
}

impl Theirs {
    pub(crate) fn start() -> Self {
        let mut command = Command::new("rrdtool");
        command.arg("-").env("TZ", "UTC").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = testkit::Running::start(&mut command);
        let output = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, output }
    }

    pub(crate) fn run(&mut self, words: &[String]) -> String {
        use std::io::{BufRead as _, Write as _};
        let line = words.join(" ") + "\n";
        self.child.stdin.as_mut().expect("a pipe").write_all(line.as_bytes()).expect("written");
        let mut text = String::new();
        loop {
            let start = text.len();
            assert_ne!(self.output.read_line(&mut text).expect("read"), 0, "{text}");
            if text[start..].starts_with("OK u:") {
                text.truncate(start);
                text.push_str("OK\n");
                return text;
            }
            if text[start..].starts_with("ERROR") {
                return text;
            }
        }
    }
}

pub(crate) fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

pub(crate) fn name(path: &Path) -> String {
    path.display().to_string()
}

/// A file with some data, made by rrdtool.
pub(crate) fn filled(theirs: &mut Theirs, path: &Path, step: i64, random: &mut Random) {
    let step_text = step.to_string();
    let mut line = words("create");
    line.push(name(path));
    line.extend(["--start", "1000000000", "--step", &step_text].map(str::to_owned));
    let definitions = "DS:a:GAUGE:600:0:1000 DS:bb:COUNTER:600:U:U DS:c:DERIVE:600:U:U \
        RRA:AVERAGE:0.5:1:60 RRA:AVERAGE:0.5:4:40 RRA:MAX:0.5:3:20 RRA:MIN:0.1:1:30 \
        RRA:LAST:0.5:2:25 RRA:HWPREDICT:40:0.1:0.0035:10";
    line.extend(definitions.split_whitespace().map(str::to_owned));
    assert_eq!(theirs.run(&line), "OK\n");
    let mut time = 1_000_000_000;
    for _ in 0..150 {
        time += 1 + random.below(step as u64) as i64;
        let (a, b) = (random.below(1000), time as u64 * 7 % 100_000_000);
        let line = format!("update {} {time}:{a}.{}:{b}:{}", name(path), random.below(99), b * 2);
        assert_eq!(theirs.run(&words(&line)), "OK\n");
    }
}

/// What rrdtool says of a file; rows that are random at first are left out.
pub(crate) fn shown(theirs: &mut Theirs, path: &Path) -> String {
    let mut text = theirs.run(&words(&format!("dump {}", name(path))));
    let info = theirs.run(&words(&format!("info {}", name(path)))).replace(&name(path), "FILE");
    let lines = info.lines().filter(|line| !line.contains("cur_row"));
    lines.for_each(|line| text.push_str(&format!("{line}\n")));
    text
}

pub(crate) fn assert_same_text(expected: &str, found: &str, what: &str) {
    let difference = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(expected == found, "{what}: {difference:?}");
}
