//! `whit rrd` beside rrdtool, command by command: the same answers, the same output, the same errors.
//!
//! The commands are in `rrd_cases/`, a file for each class of cases that RRDtool's own tests have.
//! A line is a command; both programs get it from a pipe, or for `command_lines.txt` as words, each
//! in a folder of its own.  Other lines:
//!
//! - `zone NAME`: the time zone, on the first line that is no comment;
//! - `let NAME = TEXT`: `$NAME` stands for the text from here on;
//! - `copy FILE`: ours becomes a copy of theirs, as new files begin at a random row;
//! - `~ COMMAND`: only the last line is compared: RRDtool prints something before its error.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]
#![allow(clippy::panic, reason = "all of it is tests")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use testkit::Running;

/// Both programs draw with this font only, so that sizes are the same.
const FONTS: &str = "<fontconfig><dir>/usr/share/fonts/truetype/dejavu</dir>\
    <cachedir>/tmp/whit-test-fonts</cachedir>\
    <include ignore_missing=\"yes\">/etc/fonts/conf.d</include></fontconfig>";

/// The two programs, and their folders.
struct Pair {
    folder: tempfile::TempDir,
}

impl Pair {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("ours")).unwrap();
        fs::create_dir(folder.path().join("theirs")).unwrap();
        fs::write(folder.path().join("fonts.conf"), FONTS).unwrap();
        Self { folder }
    }

    fn path(&self, which: &str) -> PathBuf {
        self.folder.path().join(which)
    }

    fn command(&self, which: &str, zone: &str) -> Command {
        let mut command = match which {
            "ours" => crate::whit(),
            _ => Command::new("rrdtool"),
        };
        if which == "ours" {
            command.arg("rrd");
        }
        command.current_dir(self.path(which)).env("TZ", zone).env("LC_ALL", "C");
        command.env("FONTCONFIG_FILE", self.path("fonts.conf"));
        command.env_remove("RRDCACHED_ADDRESS").env_remove("RRD_DEFAULT_FONT");
        command
    }
}

/// A program that reads commands from a pipe.
struct Pipe {
    _child: Running,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Pipe {
    fn start(mut command: Command) -> Self {
        let command = command.arg("-").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Running::start(command.stderr(Stdio::null()));
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { _child: child, input, output }
    }

    fn run(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        let mut text = Vec::new();
        loop {
            let start = text.len();
            assert_ne!(self.output.read_until(b'\n', &mut text).unwrap(), 0, "died of {line}");
            if text[start..].starts_with(b"OK u:") {
                text.truncate(start);
                text.extend(b"OK\n");
                break;
            }
            if text[start..].starts_with(b"ERROR") {
                break;
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// What a line of a file of cases asks for.
enum Line {
    Copy(String),
    Run { command: String, only_last: bool },
}

/// The zone and the lines of a file.
fn lines(cases: &str) -> (String, Vec<Line>) {
    let mut zone = "UTC".to_owned();
    let mut names: Vec<(String, String)> = Vec::new();
    let mut lines = Vec::new();
    for line in cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("zone ") {
            zone = name.to_owned();
        } else if let Some((name, text)) =
            line.strip_prefix("let ").and_then(|rest| rest.split_once(" = "))
        {
            names.push((format!("${name}"), text.to_owned()));
        } else if let Some(file) = line.strip_prefix("copy ") {
            lines.push(Line::Copy(file.to_owned()));
        } else {
            let only_last = line.starts_with("~ ");
            let mut command = line.trim_start_matches("~ ").to_owned();
            for (name, text) in &names {
                command = command.replace(name, text);
            }
            lines.push(Line::Run { command, only_last });
        }
    }
    (zone, lines)
}

/// What is compared: new archives begin at a random row, and pictures differ in their bytes.
fn compared(command: &str, text: &str, only_last: bool) -> String {
    let is_kept = |line: &&str| match command.split(' ').next() {
        Some("info") => !line.contains("cur_row"),
        Some("graphv") => !line.contains("BLOB_SIZE"),
        _ => true,
    };
    let mut kept = text.lines().filter(is_kept);
    match only_last {
        true => kept.next_back().unwrap_or_default().to_owned(),
        false => kept.collect::<Vec<_>>().join("\n"),
    }
}

/// Says where two texts differ.
fn difference(ours: &str, theirs: &str) -> String {
    let mut lines = ours.lines().zip(theirs.lines()).enumerate();
    match lines.find(|(_, (ours, theirs))| ours != theirs) {
        Some((at, (ours, theirs))) => format!("line {at}\n  ours   {ours}\n  theirs {theirs}"),
        None => format!("one is longer\n  ours   {ours}\n  theirs {theirs}"),
    }
}

/// How often a file of cases is tried: where a command reads the clock, a second may have begun between
/// both programs.
const TRIES: usize = 4;

/// Where the answers of both programs to a command differ.
fn answers_differ(command: &str, [ours, theirs]: [String; 2]) -> Option<String> {
    (ours != theirs).then(|| format!("{command}: {}", difference(&ours, &theirs)))
}

/// Holds that a try has no differences.
fn assert_none_once(mut differences: impl FnMut() -> Vec<String>) {
    let mut found = differences();
    for _ in 1..TRIES {
        if !found.is_empty() {
            found = differences();
        }
    }
    assert_none(&found);
}

fn assert_none(differences: &[String]) {
    let count = differences.len();
    assert!(count == 0, "{count} commands differ:\n{}", differences.join("\n"));
}

/// Gives the commands of a file to both programs.
fn compare(cases: &str) {
    if testkit::is_installed("rrdtool", "rrdtool") {
        assert_none_once(|| differences(cases));
    }
}

/// Where the answers of both programs to the commands of a file differ.
fn differences(cases: &str) -> Vec<String> {
    let pair = Pair::new();
    let (zone, lines) = lines(cases);
    let mut ours = Pipe::start(pair.command("ours", &zone));
    let mut theirs = Pipe::start(pair.command("theirs", &zone));
    let mut differences = Vec::new();
    for line in lines {
        match line {
            Line::Copy(file) => {
                fs::copy(pair.path("theirs").join(&file), pair.path("ours").join(&file)).unwrap();
            }
            Line::Run { command, only_last } => {
                let both = [&mut ours, &mut theirs];
                let both =
                    both.map(|program| compared(&command, &program.run(&command), only_last));
                differences.extend(answers_differ(&command, both));
            }
        }
    }
    differences
}

#[test]
fn dcounter_and_dderive() {
    compare(include_str!("rrd_cases/dcounter.txt"));
}

#[test]
fn steps() {
    compare(include_str!("rrd_cases/pdp.txt"));
}

#[test]
fn formats_of_values() {
    compare(include_str!("rrd_cases/vformatter.txt"));
}

#[test]
fn operators() {
    compare(include_str!("rrd_cases/rpn.txt"));
}

#[test]
fn graphs_and_tables() {
    compare(include_str!("rrd_cases/graph.txt"));
}

#[test]
fn dump_and_restore() {
    compare(include_str!("rrd_cases/dump.txt"));
}

#[test]
fn lists() {
    compare(include_str!("rrd_cases/list.txt"));
}

#[test]
fn files_from_others() {
    compare(include_str!("rrd_cases/source.txt"));
}

#[test]
fn tuned_files() {
    compare(include_str!("rrd_cases/tune.txt"));
}

/// Exit code, output and errors of a command line.
fn ended(mut command: Command, words: &[String], only_last: bool) -> String {
    let output = command.args(words).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let out = match only_last {
        true => String::new(),
        false => compared(&words[0], &text(&output.stdout), false),
    };
    format!("exit {:?}\n{out}\n{}", output.status.code(), text(&output.stderr))
}

/// The words of a command line: blanks separate them, `'` and `"` quote.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(own), _) if own == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[test]
fn command_lines() {
    if testkit::is_installed("rrdtool", "rrdtool") {
        assert_none_once(differences_of_command_lines);
    }
}

fn differences_of_command_lines() -> Vec<String> {
    let pair = Pair::new();
    let (zone, lines) = lines(include_str!("rrd_cases/command_lines.txt"));
    let mut differences = Vec::new();
    for line in lines {
        match line {
            Line::Copy(file) => {
                fs::copy(pair.path("theirs").join(&file), pair.path("ours").join(&file)).unwrap();
            }
            Line::Run { command, only_last } => {
                let words = words(&command);
                let both = ["ours", "theirs"];
                let both = both.map(|name| ended(pair.command(name, &zone), &words, only_last));
                differences.extend(answers_differ(&command, both));
            }
        }
    }
    differences
}

/// A folder with what `list` may meet.
fn fill(folder: &Path) {
    for name in ["sub", "sub/deep", "dir", "dir/empty"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let files = ["sub/with blank.rrd", "sub/b.rrd", "sub/.h.rrd", "sub/X.RRD", "sub/deep/c.rrd"];
    for name in files.iter().chain(&["dir/a.rrd", "dir/.rrd", "dir/x.rrd.bak", "dir/new.rrd "]) {
        fs::write(folder.join(name), "").unwrap();
    }
    symlink("../sub/b.rrd", folder.join("dir/link.rrd")).unwrap();
    symlink("../sub", folder.join("dir/sublink")).unwrap();
    symlink("nowhere", folder.join("dir/dead.rrd")).unwrap();
    drop(UnixListener::bind(folder.join("dir/socket.rrd")).unwrap());
    drop(UnixListener::bind(folder.join("dir/socket")).unwrap());
}

#[test]
fn lists_of_links_and_sockets() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let pair = Pair::new();
    fill(&pair.path("ours"));
    fill(&pair.path("theirs"));
    let lines = [
        "list dir",
        "list -r dir",
        "list .",
        "list -r .",
        "list sub//",
        "list dir/sublink",
        "list dir/*",
        "list dir/*.rrd",
        "list dir/l*",
        "list ./*",
        "list ./[a-e]*",
        "list s*/b*",
        "list su?/?.rrd",
        "list sub/.h*",
        "list -x dir",
        "list dir sub",
        "list dir/a.rrd",
        "list -d unix:/nonexistent dir",
    ];
    // The order within a folder is the file system's.
    let sorted = |text: String| {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.sort_unstable();
        lines.retain(|line| !line.starts_with("Error connecting"));
        lines.join("\n")
    };
    let mut differences = Vec::new();
    for line in lines {
        let words = words(line);
        let found = sorted(ended(pair.command("ours", "UTC"), &words, false));
        let expected = sorted(ended(pair.command("theirs", "UTC"), &words, false));
        if found != expected {
            differences.push(format!("{line}: {}", difference(&found, &expected)));
        }
    }
    assert_none(&differences);
}

/// Programs look for RRDtool's version in the first line.
#[test]
fn help_names_the_version() {
    for line in ["-v", "--version", "help", "help create", "create"] {
        let pair = Pair::new();
        let text = ended(pair.command("ours", "UTC"), &words(line), false);
        assert!(text.starts_with("exit Some(0)\nRRDtool 1.7.2  "), "{line}: {text}");
    }
}
