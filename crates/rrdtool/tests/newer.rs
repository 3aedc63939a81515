//! Options that RRDtool has since 1.8 and 1.9, and which the installed one may not know.

#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::path::Path;

use calendar::{CivilZone, zone_of_tz};
use rrd::header::Time;
use rrdtool::{Tool, ToolEnvironment};

fn now() -> Time {
    Time { seconds: 1_700_003_600, microseconds: 0 }
}

fn run(tool: &Tool, words: &[&str]) -> Result<String, String> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut out = Vec::new();
    let done = tool.run(&words[0], &words[1..], &mut out).unwrap();
    done.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// A file with an hour of readings from 1700000000 on; gives its name.
fn file(tool: &Tool, folder: &Path) -> String {
    let file = folder.join("a.rrd").to_str().unwrap().to_owned();
    let start = ["create", &file, "-b", "1700000000", "-s", "60"];
    let definitions = ["DS:a:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:100"];
    run(tool, &[&start[..], &definitions].concat()).unwrap();
    for minute in 1..60 {
        let reading = format!("{}:{minute}", 1_700_000_000 + minute * 60);
        run(tool, &["update", &file, &reading]).unwrap();
    }
    file
}

#[test]
fn a_graph_of_utc_has_no_local_times() {
    let folder = tempfile::tempdir().unwrap();
    let tool = |zone: CivilZone| Tool::new(ToolEnvironment::new(now, zone));
    let utc = tool(CivilZone::utc());
    let local = tool(CivilZone::new(zone_of_tz(Some("EAST-5"), false).unwrap()));
    let def = format!("DEF:a={}:a:AVERAGE", file(&utc, folder.path()));
    // Times in words, texts, and the labels of the picture.
    let words = ["-s", "20231114 22:15", "-e", "start+30min", &def, "VDEF:v=a,FIRST"];
    let text = ["PRINT:v:%H\\:%M:strftime", "LINE1:a#ff0000"];
    for name in ["-", "/dev/null"] {
        let graph = |tool, options: &[&str]| {
            run(tool, &[&["graph", name], options, &words, &text].concat()).unwrap()
        };
        let picture = ["-a", "SVG"];
        assert_eq!(graph(&local, &["-a", "SVG", "--utc"]), graph(&utc, &picture), "{name}");
        assert_ne!(graph(&local, &picture), graph(&utc, &picture), "{name}");
    }
}

#[test]
fn rows_of_json_have_a_time_if_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool::new(ToolEnvironment::new(now, CivilZone::utc()));
    let def = format!("DEF:a={}:a:AVERAGE", file(&tool, folder.path()));
    let words = ["-s", "1700000000", "-e", "1700000300", &def];
    let graph = |options: &[&str]| {
        let last = ["LINE1:a#ff0000:leg"];
        run(&tool, &[&["graph", "-"], options, &words, &last].concat()).unwrap()
    };
    let with_times = graph(&["-a", "JSON", "--add-jsontime"]);
    assert!(with_times.contains("[ \"1700000100\",1.6666666667e+00 ]"), "{with_times}");
    assert_eq!(with_times, graph(&["-a", "JSONTIME"]));
    assert_ne!(with_times, graph(&["-a", "JSON"]));
    let xport = |options: &[&str]| {
        run(&tool, &[&["xport"], options, &words, &["XPORT:a:leg"]].concat()).unwrap()
    };
    assert_eq!(xport(&["--json", "--add-jsontime"]), xport(&["--json", "--showtime"]));
    assert_ne!(xport(&["--json", "--add-jsontime"]), xport(&["--json"]));
    assert_eq!(xport(&["--add-jsontime"]), xport(&[]), "it is of JSON");
}

#[test]
fn a_word_for_locks_is_taken_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Tool::new(ToolEnvironment::new(now, CivilZone::utc()));
    let file = file(&tool, folder.path());
    for (minute, word) in ["try", "block", "none"].iter().enumerate() {
        let reading = format!("{}:1", 1_700_003_600 + 60 * minute);
        run(&tool, &["update", &file, "--locking", word, &reading]).unwrap();
        let reading = format!("{}:1", 1_700_003_630 + 60 * minute);
        run(&tool, &["updatev", &file, "-L", word, &reading]).unwrap();
        run(&tool, &["tune", &file, "--locking", word, "-h", "a:300"]).unwrap();
    }
    let refused = "--locking: 'maybe' is none of 'try', 'block' and 'none'";
    for words in [
        ["update", &file, "-L", "maybe", "1700009000:1"],
        ["updatev", &file, "-L", "maybe", "1700009000:1"],
        ["tune", &file, "-L", "maybe", "-ha:300"],
        ["update", &file, "-Lmaybe", "-dunix:/nonexistent", "1700009000:1"],
    ] {
        assert_eq!(run(&tool, &words).unwrap_err(), refused, "{words:?}");
    }
}
