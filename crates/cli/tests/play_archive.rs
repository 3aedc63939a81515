//! `whit play --step` and `--heaviest`: what they say is what the samples say.
#![allow(clippy::unwrap_used, reason = "a test that cannot run must fail")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Plays a recording of `testdata`; fails unless that exits with `code`.
fn play(code: i32, recording: &str, words: &[&str]) -> (String, String) {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let path = recordings.join(recording);
    let output = crate::whit().arg("play").arg(path).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (out, error) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{words:?}: {out}{error}");
    (out, error)
}

const GAMMA: &str = "gamma-20260101-100000.raw";
const ZETA: &str = "zeta-20261121-131413.raw.gz";

/// The objects of each line.
fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Source, instance and field: each value of a line.
fn numbers(line: &Value, of: &str) -> BTreeMap<String, f64> {
    let mut numbers = BTreeMap::new();
    for (source, rows) in line[of].as_object().unwrap() {
        let rows = rows.as_array().cloned().unwrap_or_else(|| vec![rows.clone()]);
        for row in &rows {
            let row = row.as_object().unwrap();
            let labels = row.iter().filter(|(name, _)| *name != "kind");
            let names: Vec<&str> = labels.filter_map(|(_, value)| value.as_str()).collect();
            for (field, value) in row {
                if let Some(value) = value.as_f64() {
                    numbers.insert(format!("{source} {names:?} {field}"), value);
                }
            }
        }
    }
    numbers
}

/// The seconds from midnight to the time of a line.
fn second_of(line: &Value) -> u32 {
    let time = line["time"].as_str().unwrap();
    let part = |at: usize| time[at..at + 2].parse::<u32>().unwrap();
    part(11) * 3600 + part(14) * 60 + part(17)
}

#[test]
fn a_step_has_the_mean_and_the_spread_of_its_samples() {
    let words = ["-scdnCDN", "--json", "--from", "10:00:02-10:00:05"];
    let samples = objects(&play(0, GAMMA, &words).0);
    let stepped = [&words[..], &["--step", "2s", "--spread"]].concat();
    let steps = objects(&play(0, GAMMA, &stepped).0);
    assert_eq!(steps.iter().map(|step| second_of(step) % 60).collect::<Vec<_>>(), [2, 4]);
    for step in &steps {
        let of = samples.iter().filter(|sample| second_of(sample) / 2 == second_of(step) / 2);
        let of: Vec<BTreeMap<String, f64>> = of.map(|sample| numbers(sample, "sources")).collect();
        assert_eq!((of.len(), &step["readings"]["cpu"]), (2, &serde_json::json!(2)), "{step}");
        let [means, smallest, largest] = ["sources", "min", "max"].map(|of| numbers(step, of));
        assert!(
            means.len() > 50 && means.keys().eq(smallest.keys()) && means.keys().eq(largest.keys())
        );
        for (name, mean) in &means {
            let values = of.iter().filter_map(|sample| sample.get(name).copied());
            let values: Vec<f64> = values.collect();
            let [min, max] =
                [f64::min, f64::max].map(|of| values.iter().copied().reduce(of).unwrap());
            assert_eq!((smallest[name], largest[name]), (min, max), "{name}");
            // Samples are a second apart, but for some microseconds.
            let of_samples = values.iter().sum::<f64>() / values.len() as f64;
            assert!(
                (mean - of_samples).abs() <= of_samples.abs() * 1e-3 + 1e-9,
                "{name}: {mean} {values:?}"
            );
        }
    }
}

#[test]
fn every_view_has_steps_and_says_on_how_many_readings_they_stand() {
    let step = ["--step", "2s", "--from", "10:00:02-10:00:05"];
    let lines = |words: &[&str]| -> Vec<String> {
        let (text, _) = play(0, GAMMA, &[&step[..], words].concat());
        text.lines().map(str::to_owned).collect()
    };
    let brief = lines(&["-scdn", "-oT"]);
    assert!(brief[0].ends_with("<-step-->"), "{brief:?}");
    assert!(brief[2].starts_with("10:00:02 ") && brief[3].starts_with("10:00:04 "), "{brief:?}");
    assert!(brief[2..].iter().all(|line| line.trim_end().ends_with(" 2")), "{brief:?}");
    let plot = lines(&["-sc", "-P"]);
    assert!(plot[0].ends_with(" [STEP]readings") && plot[1].ends_with(" 2"), "{plot:?}");
    let verbose = lines(&["-sD"]);
    assert_eq!(verbose.iter().filter(|line| line.starts_with("# DISK STATISTICS")).count(), 2);
    assert_eq!(verbose.iter().filter(|line| line.starts_with("# STEP SUMMARY")).count(), 2);
    let long = lines(&["-sc", "--csv"]);
    assert_eq!(long[0], "time,host,source,instance,field,value,readings,origin,resolution");
    assert!(
        long[1].starts_with("2026-01-01T10:00:02.000Z,gamma,cpu,,user,")
            && long[1].ends_with(",2,recording,1")
    );
    let wide = lines(&["--csv", "--fields", "cpu.user,disk[none].reads", "--spread"]);
    let names = "cpu.user,cpu.user.min,cpu.user.max,disk[none].reads,disk[none].reads.min,\
                 disk[none].reads.max";
    assert_eq!(wide[0], format!("time,host,{names},readings,origin,resolution"));
    assert!(wide.len() == 3 && wide[1].ends_with(",,,,2,recording,1"), "{wide:?}");
    let table = lines(&["-sc", "--spread"]);
    assert_eq!(table[0], "# 20260101 10:00:02, 2 s: 2 readings");
    let user: Vec<&str> = table[2].split_whitespace().collect();
    assert_eq!((user[0], user[4], user[5]), ("cpu.user", "2", "seconds"), "{table:?}");
}

#[test]
fn steps_follow_the_shown_clock_and_the_period() {
    let times = |words: &[&str]| -> Vec<String> {
        let (text, _) = play(0, GAMMA, &[&["-sc", "-oT", "--hr", "-1"], words].concat());
        let readings = |line: &str| line.split_whitespace().last().unwrap().to_owned();
        text.lines().map(|line| format!("{} {}", &line[..8], readings(line))).collect()
    };
    // The first step has the sample that is only a base: its levels count.
    let all = times(&["--step", "4s"]);
    assert_eq!(all[1], "10:00:04 3");
    assert_eq!(times(&["--step", "1m", "--offsettime", "3600"]).len(), 1);
    assert!(times(&["--step", "1h", "--offsettime", "3600"])[0].starts_with("11:00:00 "));
    assert!(times(&["--step", "1d"])[0].starts_with("00:00:00 "));
    assert_eq!(times(&["--step", "1h", "--from", "10:00:02-10:00:04"]), ["10:00:00 3"]);
    play(1, GAMMA, &["-sc", "--step", "1h", "--from", "11:00-12:00"]);
    let empty = ["--step", "30m", "--from", "10:00-11:00", "--empty-steps"];
    let empty = times(&empty);
    assert_eq!(empty.len(), 3, "{empty:?}");
    assert_eq!(&empty[1], "10:30:00 0");
}

#[test]
fn what_has_no_steps_is_refused_by_name() {
    for (words, part) in [
        (&["--step", "7m"][..], "--step: a step of 420 s: give seconds that divide a day"),
        (&["--step", "0s"], "a step of 0 s"),
        (&["--step", "soon"], "--step"),
        (&["--step", "1m", "-sZ"], "--heaviest"),
        (&["--step", "1m", "--export", "lexpr"], "--export lexpr needs the samples"),
        (&["--step", "1m", "--openmetrics"], "--openmetrics needs the samples"),
        (&["--step", "1m", "--stats"], "--stats"),
        (&["--step", "1m", "--follow"], "--follow"),
        (&["--step", "1m", "--exact"], "--exact"),
        (&["--step", "1m", "--top"], "--top"),
        (&["--step", "1m", "-P", "-f", "plots/"], "--filename"),
        (&["--step", "1m", "--spread", "-P"], "--spread makes a table"),
        (&["--step", "1m", "--spread", "--csv", "-on"], "-on"),
        (&["--spread"], "--step"),
        (&["--empty-steps"], "--step"),
        (&["--heaviest", "cpux"], "give one of cpu, mem"),
        (&["--heaviest", "cpu,0"], "give WHAT,N"),
        (&["--heaviest", "cpu", "--by", "shell"], "not gathered by shell"),
        (&["--heaviest", "cpu", "-P"], "--heaviest makes a table"),
        (&["--heaviest", "cpu", "-sc"], "leave -s out"),
        (&["--heaviest", "cpu", "--procfilt", "p1"], "leave --procfilt out"),
        (&["--heaviest", "cpu", "--top"], "leave --top out"),
        (&["--heaviest", "none.none"], "has the source none"),
        (&["--heaviest", "process.none"], "has no field none"),
    ] {
        let (_, error) = play(2, ZETA, words);
        assert!(error.contains(part), "{words:?}: {error}");
    }
}

#[test]
fn the_heaviest_are_those_with_most_of_what_the_samples_say() {
    let samples = objects(&play(0, ZETA, &["-sZ", "--json"]).0);
    let mut used: BTreeMap<String, f64> = BTreeMap::new();
    let mut seconds = 0.0;
    for sample in &samples {
        let Some(rows) = sample["sources"]["process"].as_array() else { continue };
        seconds += 1.0;
        for row in rows {
            let of = |field: &str| row[field].as_f64().unwrap_or(0.0);
            let command = row["command"].as_str().unwrap().to_owned();
            *used.entry(command).or_default() += of("user_time") + of("system_time");
        }
    }
    assert!(seconds > 0.0);
    let heaviest = objects(&play(0, ZETA, &["--heaviest", "cpu,3", "--json"]).0);
    assert_eq!(heaviest.len(), 3);
    let most = used.iter().max_by(|one, other| one.1.total_cmp(other.1)).unwrap();
    assert_eq!(heaviest[0]["name"], most.0.as_str(), "{heaviest:?}");
    let shares: f64 = heaviest.iter().map(|line| line["share"].as_f64().unwrap()).sum();
    assert!(shares > 0.9 && shares < 1.000_001, "{heaviest:?}");
    assert!(heaviest[0].get("ended").is_none(), "collectl does not say what ended");
    let (csv, _) = play(0, ZETA, &["--heaviest", "mem,1", "--by", "process", "--csv"]);
    assert!(
        csv.starts_with("from,thru,host,what,by,name,command,value,mean,share,instances,ended\n")
    );
    assert!(csv.lines().nth(1).unwrap().contains(",mem,pid,"), "{csv}");
    let (text, _) = play(0, GAMMA, &["--heaviest", "disk.writes,1"]);
    assert!(text.contains("instances") && text.lines().count() >= 3, "{text}");
}

#[test]
fn processes_that_no_reading_has_count_among_the_heaviest() {
    let folder = tempfile::tempdir().unwrap();
    let to = format!("{}/", folder.path().display());
    let words = ["record", "-sZ", "-i0.1:0.1", "-c20", "--quiet", "-f", &to];
    let mut recorder = crate::whit().args(words).spawn().unwrap();
    // From before its first sample until after its last.
    let ended = loop {
        assert!(Command::new("true").status().unwrap().success());
        if let Some(ended) = recorder.try_wait().unwrap() {
            break ended;
        }
    };
    assert!(ended.success());
    let output =
        crate::whit().args(["play", &to, "--heaviest", "cpu,9999", "--json"]).output().unwrap();
    let lines = objects(std::str::from_utf8(&output.stdout).unwrap());
    if lines.iter().all(|line| line.get("ended").is_none()) {
        return testkit::skip("the heaviest with ended processes", "no exit events here");
    }
    let line = lines.iter().find(|line| line["name"] == "true");
    let line = line.unwrap_or_else(|| panic!("nothing of true: {lines:?}"));
    assert!(line["ended"].as_u64().unwrap() > 0, "{line}");
    assert!(line["value"].as_f64().unwrap() > 0.0, "{line}");
}

/// Runs a command, which must not fail.
fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_is_older_than_the_recordings_is_shown_from_databases_and_says_so() {
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(recordings.join(GAMMA), folder.path().join(GAMMA)).unwrap();
    let database = folder.path().join("history/cpu.rrd");
    std::fs::create_dir(folder.path().join("history")).unwrap();
    // Ten minutes until two seconds after the start of the recording, at 2026-01-01 10:00:00 UTC.
    let end_s = 1_767_261_600 + 2;
    let rrd = |words: &[&str]| done(crate::whit().arg("rrd").args(words));
    let (path, start) = (database.to_str().unwrap(), (end_s - 600).to_string());
    let archives = ["RRA:AVERAGE:0.5:1:700", "RRA:MAX:0.5:60:20", "RRA:AVERAGE:0.5:60:20"];
    let fields = ["DS:user:GAUGE:10:U:U", "DS:idle:GAUGE:10:U:U"];
    let create = ["create", path, "--step", "1", "--start", &start];
    rrd(&[&create[..], &fields, &archives].concat());
    let rows: Vec<String> =
        (1..=600).map(|row| format!("{}:0.{}:1", end_s - 600 + row, row % 10)).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    rrd(&[&["update", path][..], &rows].concat());
    let play = |words: &[&str]| {
        let words = [&["-sc", "--step", "1m"][..], words].concat();
        done(crate::whit().arg("play").arg(folder.path()).args(words))
    };
    let steps = objects(&play(&["--json", "--spread"]));
    assert_eq!(steps.len(), 11, "{steps:?}");
    let (last, older) = steps.split_last().unwrap();
    assert_eq!(last["origin"]["cpu"], "recording");
    assert!(last["readings"]["cpu"].as_u64().unwrap() > 3);
    for step in older {
        assert_eq!(step["origin"]["cpu"], "history", "{step}");
        assert!(step["readings"]["cpu"].is_null());
        assert_eq!(step["resolution"]["cpu"].as_f64(), Some(60.0), "{step}");
        let user = step["sources"]["cpu"]["user"].as_f64().unwrap();
        assert!((user - 0.45).abs() < 0.02, "{step}");
        assert_eq!(step["max"]["cpu"]["user"].as_f64(), Some(0.9), "{step}");
    }
    let csv = play(&["--csv", "--fields", "cpu.user"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "time,host,cpu.user,readings,origin,resolution");
    assert!(lines[2].ends_with(",,history,60"), "{csv}");
    assert!(lines[11].ends_with(",recording,1"), "{csv}");
    let table = play(&["--spread"]);
    assert!(table.contains(": 0 readings, history of 60 s"), "{table}");
    // A period of the recording alone is not longer than it was.
    assert_eq!(objects(&play(&["--json", "--from", "10:00-10:05"])).len(), 1);
    let brief = play(&["-oT"]);
    assert_eq!(brief.lines().count(), 13, "{brief}");
}
