//! Commands that ask a caching daemon, beside the installed rrdtool: the same output and errors.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use calendar::CivilZone;
use rrd::header::Time;
use rrdtool::{Tool, ToolEnvironment};
use testkit::Rrdcached;

fn now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    Time { seconds: now.as_secs() as i64, microseconds: i64::from(now.subsec_micros()) }
}

/// `@` is the folder of a side, `%` its daemon.
const COMMANDS: &[&str] = &[
    "create @/a.rrd -d % -b 1700000000 -s 60 DS:a:GAUGE:120:U:U DS:b:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:5:20",
    "create @/a.rrd -d % -O DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20",
    "create @/b.rrd -d % -b 1700000000 -t @/a.rrd",
    "create @/c.rrd -d % DS:a:NONE:120:U:U RRA:AVERAGE:0.5:1:20",
    "update @/a.rrd --daemon % 1700000060:1:2 1700000120:2:3",
    "update @/a.rrd --daemon % -t b:a 1700000180:4:5",
    "update @/a.rrd --daemon % -t b 1700000240:6",
    "update @/a.rrd --daemon % 1700000240:6:7",
    "update @/a.rrd --daemon % noon@6:7",
    "update @/no.rrd --daemon % 1700000240:6:7",
    "fetch @/a.rrd AVERAGE -d % -s 1700000000 -e 1700000300",
    "fetch @/a.rrd MAX -d % -s 1700000000 -e 1700000300 -r 300",
    "fetch @/no.rrd MAX -d % -s 1700000000 -e 1700000300",
    "fetch @/a.rrd LAST -d % -s 1700000000 -e 1700000300",
    "last @/a.rrd -d %",
    "last @/no.rrd -d %",
    "first @/a.rrd -d %",
    "first @/a.rrd -d % --rraindex 1",
    "first @/a.rrd -d % --rraindex 7",
    "lastupdate @/a.rrd -d %",
    "lastupdate @/no.rrd -d %",
    "info @/no.rrd -d %",
    "dump @/a.rrd -d %",
    "dump @/no.rrd -d %",
    "list -d % /",
    "list -d % x",
    "flushcached -d % @/a.rrd @/b.rrd",
    "flushcached -d %",
    "flushcached @/a.rrd",
    "flushcached -d unix:/nonexistent @/a.rrd",
    "update @/a.rrd -d unix:/nonexistent 1700000600:1:2",
    "create @/d.rrd -d unix:/nonexistent DS:a:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20",
    "tune @/a.rrd -D unix:/nonexistent -h a:300",
    "tune @/a.rrd -D % -h a:300",
    "updatev @/a.rrd -d % 1700000600:1:2",
    "xport -d % -s 1700000000 -e 1700000300 DEF:a=@/a.rrd:a:AVERAGE XPORT:a",
    "xport -d unix:/nonexistent -s 1700000000 -e 1700000300 DEF:a=@/a.rrd:a:AVERAGE XPORT:a",
    "graph @/a.png -d % -s 1700000000 -e 1700000300 DEF:a=@/a.rrd:a:AVERAGE LINE1:a#ff0000 PRINT:a:MAX:%lf",
    "graph @/a.png -d % -s 1700000000 -e 1700000300 DEF:a=@/no.rrd:a:AVERAGE LINE1:a#ff0000",
];

#[test]
fn commands_ask_the_daemon_as_rrdtool_does() {
    let folder = tempfile::tempdir().unwrap();
    let sides = ["ours", "them"].map(|name| folder.path().join(name));
    let mut daemons = Vec::new();
    for side in &sides {
        std::fs::create_dir(side).unwrap();
        let Some(daemon) = Rrdcached::start(side) else { return };
        daemons.push(daemon);
    }
    let tool = Tool::new(ToolEnvironment::new(now, CivilZone::utc()));
    for command in COMMANDS {
        let words_of = |side: &Path| -> Vec<String> {
            let word = |word: &str| match word {
                "%" => format!("unix:{}", side.join("socket").display()),
                word => word.replace('@', &side.display().to_string()),
            };
            // A time in words keeps its `@`.
            command
                .split(' ')
                .map(|one| if one.starts_with("noon@") { one.to_owned() } else { word(one) })
                .collect()
        };
        let words = words_of(&sides[0]);
        let mut out = Vec::new();
        let done = tool.run(&words[0], &words[1..], &mut out).unwrap();
        let mut ours = String::from_utf8(out).unwrap();
        if let Err(error) = done {
            ours.push_str(&format!("ERROR: {error}\n"));
        }
        let run = Command::new("rrdtool").args(words_of(&sides[1])).env("TZ", "UTC").output();
        let Ok(output) = run else {
            testkit::skip("rrdtool", "it is not installed");
            return;
        };
        let theirs = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let same = |text: &str| {
            let text = text.replace("/ours/", "/them/");
            let mut lines: Vec<&str> = text.lines().collect();
            if command.starts_with("list") {
                lines.sort_unstable();
            }
            lines.join("\n")
        };
        assert_eq!(same(&ours), same(&theirs), "{command}");
    }
}

/// Answers every line of a client, and gives them at its end.
fn listen(answers: [&'static str; 4]) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = move || {
        let (stream, _) = listener.accept().unwrap();
        let mut input = BufReader::new(stream);
        let mut lines = Vec::new();
        for answer in answers {
            let mut line = String::new();
            input.read_line(&mut line).unwrap();
            input.get_mut().write_all(answer.as_bytes()).unwrap();
            lines.push(line.trim_end().to_owned());
        }
        lines
    };
    (address, std::thread::spawn(serve))
}

/// Sources and templates are files of the daemon, which writes what it holds of them first.
#[test]
fn a_file_is_made_of_files_that_only_the_daemon_has() {
    let tool = Tool::new(ToolEnvironment::new(now, CivilZone::utc()));
    // It may not flush, but create.
    let refused = "-1 Permission denied.\n";
    for answers in [["0 done\n"; 4], ["0 done\n", refused, refused, "0 done\n"]] {
        let (address, server) = listen(answers);
        let line = format!("-d {address} new.rrd -b 1700000000 -r there/a.rrd -r b.rrd -t t.rrd");
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        tool.run("create", &words, &mut Vec::new()).unwrap().unwrap();
        let expected = [
            "flush there/a.rrd",
            "flush b.rrd",
            "flush t.rrd",
            "create new.rrd -b 1700000000 -r there/a.rrd -r b.rrd -t t.rrd",
        ];
        assert_eq!(server.join().unwrap(), expected);
    }
    let words = ["new.rrd", "-r", "there/a.rrd"].map(str::to_owned);
    let error = tool.run("create", &words, &mut Vec::new()).unwrap().unwrap_err().to_string();
    let expected = "error checking for source RRD there/a.rrd: No such file or directory";
    assert_eq!(error, expected, "without a daemon they are looked for here");
}
