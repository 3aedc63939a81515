//! `--export rrd`: this machine's history in round-robin databases, live and from a recording.
#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::history_common::{databases, recording_in, run, whit};
use testkit::Running;

/// Rows of a fetch that have values: by their times, a value for each data source.
type Rows = BTreeMap<i64, Vec<Option<f64>>>;

/// What a program fetches: the data sources, and the rows in which anything is known.
fn fetch(program: &mut Command, file: &Path, function: &str, from: i64) -> (Vec<String>, Rows) {
    let from = from.to_string();
    let output = run(program.arg("fetch").arg(file).args([function, "--start", &from]));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let names = lines.next().unwrap().split_whitespace().map(str::to_owned).collect();
    let mut rows = Rows::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let (time, values) = line.split_once(':').unwrap();
        let value = |text: &str| text.parse::<f64>().ok().filter(|value| !value.is_nan());
        let values: Vec<Option<f64>> = values.split_whitespace().map(value).collect();
        if values.iter().any(Option::is_some) {
            rows.insert(time.parse().unwrap(), values);
        }
    }
    (names, rows)
}

fn rrd(file: &Path, function: &str, from: i64) -> (Vec<String>, Rows) {
    fetch(whit().arg("rrd"), file, function, from)
}

fn close(one: f64, other: f64) -> bool {
    // A recording has times in microseconds.
    (one - other).abs() <= 1e-5 * one.abs().max(other.abs()).max(1e-3)
}

/// What `whit play --json` says, by source and instance: a field's values in their order.
fn played(recording: &Path) -> BTreeMap<String, Vec<serde_json::Value>> {
    let output = run(whit().arg("play").arg(recording).args(["--json", "-s", "cdmnCDN"]));
    let mut samples: BTreeMap<String, Vec<serde_json::Value>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        for (source, value) in line["sources"].as_object().unwrap() {
            match value.as_array() {
                None => samples.entry(format!("{source}.rrd")).or_default().push(value.clone()),
                Some(rows) => {
                    for row in rows {
                        let label = ["cpu", "disk", "interface"].map(|label| row[label].as_str());
                        let label = label.into_iter().flatten().next().unwrap();
                        let name = format!("{source}/{label}.rrd");
                        samples.entry(name).or_default().push(row.clone());
                    }
                }
            }
        }
    }
    samples
}

#[test]
fn files_hold_what_play_shows_and_a_play_makes_the_same_files() {
    const INTERVALS: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live");
    let count = format!("-c{INTERVALS}");
    run(whit()
        .args(["record", "-i1", &count, "--rawtoo", "--export"])
        .arg(format!("rrd,{}", live.display()))
        .arg("-f")
        .arg(folder.path().join("x")));
    let recording = recording_in(folder.path());
    let again = folder.path().join("again");
    run(whit().arg("play").arg(&recording).arg("--export").arg(format!("rrd,{}", again.display())));
    let (live, again) = (databases(&live), databases(&again));
    assert_eq!(live.keys().collect::<Vec<_>>(), again.keys().collect::<Vec<_>>());
    let samples = played(&recording);
    let mut compared = 0;
    for (name, path) in &live {
        let (names, rows) = rrd(path, "AVERAGE", -60);
        // Ticks can be late on a machine with much else to do: a row of several seconds.
        assert!((INTERVALS - 1..=INTERVALS + 5).contains(&rows.len()), "{name}: {rows:?}");
        let (same_names, same_rows) = rrd(&again[name], "AVERAGE", -60);
        assert_eq!((names.len(), rows.len()), (same_names.len(), same_rows.len()), "{name}");
        for ((time, one), (same_time, other)) in rows.iter().zip(&same_rows) {
            assert_eq!(time, same_time, "{name}");
            for (one, other) in one.iter().zip(other) {
                assert!(close(one.unwrap(), other.unwrap()), "{name}: {one:?} {other:?}");
            }
        }
        let Some(samples) = samples.get(name).filter(|samples| samples.len() == rows.len()) else {
            continue;
        };
        for (row, sample) in rows.values().zip(samples) {
            for (field, value) in names.iter().zip(row) {
                let wanted = sample[field].as_f64().unwrap();
                assert!(close(value.unwrap(), wanted), "{name} {field}: {value:?} {wanted}");
                compared += 1;
            }
        }
    }
    assert!(live.contains_key("cpu.rrd") && live.contains_key("cpu_core/0.rrd"), "{live:?}");
    assert!(compared > 50, "{compared}");
    sums_are_those_of_plot_files(&recording, &live);
    programs_read_and_draw(&live);
}

/// The files of sources as a whole hold what `-P` shows.
fn sums_are_those_of_plot_files(recording: &Path, live: &BTreeMap<String, PathBuf>) {
    let output = run(whit().arg("play").arg(recording).args(["-P", "-sdn", "-o2"]));
    let text = String::from_utf8(output.stdout).unwrap();
    let heading = text.lines().rfind(|line| line.starts_with('#')).unwrap();
    let column = |name: &str| heading.split(' ').position(|column| column == name).unwrap();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|l| l.split(' ').collect())
        .collect();
    for (file, field, name, factor) in [
        ("disk.rrd", "writes", "[DSK]WriteTot", 1.0),
        ("disk.rrd", "write_sectors", "[DSK]WriteKBTot", 1_024.0),
        ("network.rrd", "rx_bytes", "[NET]RxKBTot", 1_024.0),
    ] {
        let (names, rows) = rrd(&live[file], "AVERAGE", -60);
        let at = names.iter().position(|own| own == field).unwrap();
        if rows.len() != lines.len() {
            continue;
        }
        for (row, line) in rows.values().zip(&lines) {
            let shown: f64 = line[column(name)].parse().unwrap();
            let value = row[at].unwrap() / factor;
            assert!((value - shown).abs() <= 0.0051 + 1e-5 * shown, "{name}: {value} {shown}");
        }
    }
}

/// RRDtool reads the files, and `whit rrd graph` draws them.
fn programs_read_and_draw(live: &BTreeMap<String, PathBuf>) {
    let cpu = &live["cpu.rrd"];
    let picture = cpu.with_extension("png");
    let printed = run(whit()
        .args(["rrd", "graph"])
        .arg(&picture)
        .args(["--start", "-2min", &format!("DEF:u={}:user:AVERAGE", cpu.display())])
        .args(["AREA:u#4477AA:user", "PRINT:u:MAX:%lf"]));
    assert_eq!(std::fs::read(&picture).unwrap()[..4], *b"\x89PNG");
    let highest = String::from_utf8(printed.stdout).unwrap();
    let highest: f64 = highest.lines().last().unwrap().parse().unwrap();
    assert!(highest >= 0.0 && highest.is_finite(), "{highest}");
    if !testkit::is_installed("a history read by rrdtool", "rrdtool") {
        return;
    }
    for (name, path) in live {
        let theirs = fetch(&mut Command::new("rrdtool"), path, "AVERAGE", -60);
        assert_eq!(theirs, rrd(path, "AVERAGE", -60), "{name}");
    }
}

#[test]
fn killed_and_begun_again_it_continues_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = folder.path().join("cpu.rrd");
    let export = format!("rrd,{},batch=1", folder.path().display());
    let record = || whit().args(["record", "-sc", "-i1", "--export", &export]).spawn().unwrap();
    let mut first = record();
    testkit::wait_until("two rows", || cpu.exists() && rrd(&cpu, "AVERAGE", -60).1.len() >= 2);
    first.kill().unwrap();
    first.wait().unwrap();
    let before = rrd(&cpu, "AVERAGE", -60).1;
    let mut second = record();
    testkit::wait_until("two more", || rrd(&cpu, "AVERAGE", -60).1.len() >= before.len() + 2);
    // TERM writes what waits.
    let pid = rustix::process::Pid::from_child(&second);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(second.wait().unwrap().success());
    let after = rrd(&cpu, "AVERAGE", -60).1;
    let times: Vec<i64> = after.keys().copied().collect();
    assert!(before.keys().all(|time| times.contains(time)), "{before:?} {after:?}");
    let gap = times.windows(2).any(|pair| pair[1] - pair[0] > 1);
    assert!(gap, "the time in between is unknown: {times:?}");
    let output = run(whit().arg("rrd").arg("check").arg(&cpu));
    assert!(output.stderr.is_empty(), "{output:?}");
}

/// USR1 writes what waits.
#[test]
fn a_signal_writes_what_waits() {
    let folder = tempfile::tempdir().unwrap();
    let cpu = folder.path().join("cpu.rrd");
    let export = format!("rrd,{},batch=3600", folder.path().display());
    let mut recorder = Running::start(whit().args(["record", "-sc", "--export", &export]));
    testkit::wait_until("it takes the signal", || recorder.takes_signal(libc::SIGUSR1));
    // Time to write in; however slow the machine is, nothing is written.
    std::thread::sleep(Duration::from_secs(3));
    assert!(!cpu.exists());
    // The first two readings make the first row; a slow machine has not taken them yet.
    testkit::wait_until("a row in the file", || {
        recorder.signal(libc::SIGUSR1);
        cpu.exists() && !rrd(&cpu, "AVERAGE", -60).1.is_empty()
    });
    recorder.kill();
}

#[test]
fn a_locked_file_is_reported_and_the_rest_recorded() {
    if !testkit::is_installed("a database that another program has locked", "python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cpu = folder.path().join("cpu.rrd");
    let export = format!("rrd,{},batch=1", folder.path().display());
    run(whit().args(["record", "-sc", "-c2", "--export", &export]));
    let held = rrd(&cpu, "AVERAGE", -60).1.len();
    let program = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); \
                   print('locked', flush=True); sys.stdin.read()";
    let mut holder = Command::new("python3")
        .args(["-c", program])
        .arg(&cpu)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = holder.stdout.as_mut().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    assert_eq!(line, "locked\n");
    let output = run(whit().args(["record", "-scm", "-c3", "--export", &export]));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("could not lock RRD").count(), 1, "{said}");
    assert!(said.contains("cpu.rrd") && said.contains("rows could not be written"), "{said}");
    assert!(rrd(&folder.path().join("memory.rrd"), "AVERAGE", -60).1.len() >= 2);
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(rrd(&cpu, "AVERAGE", -60).1.len(), held);
}

/// A limit of the file size is met as a full disk is: in the middle of a new file.
#[test]
fn a_full_disk_is_reported_and_leaves_no_part_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let export = format!("rrd,{},batch=1", folder.path().display());
    let script = "ulimit -f 2000; exec \"$0\" \"$@\"";
    let output = run(Command::new("sh")
        .args(["-c", script, crate::WHIT])
        .args(["record", "-scC", "-c3", "--export", &export])
        .stdin(Stdio::null()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("trying again with each batch").count(), 1, "{said}");
    assert!(said.contains("cpu.rrd': File too large"), "{said}");
    assert!(said.contains("3 rows could not be written"), "{said}");
    let found = databases(folder.path());
    assert!(found.keys().all(|name| name.starts_with("cpu_core/")), "{found:?}");
    assert!(rrd(&found["cpu_core/0.rrd"], "AVERAGE", -60).1.len() >= 2);
}

#[test]
fn a_table_chooses_sources_and_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("table");
    let record = |text: &str, more: &[&str]| {
        std::fs::write(&table, text).unwrap();
        let export =
            format!("rrd,{},table={}", folder.path().join("db").display(), table.display());
        let output =
            whit().args(["record", "-c1", "--export", &export]).args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    // Without -s the table says what is read.
    assert_eq!(record("pressure[*] some_total 1s/1h\nmemory * 1s/1h\n", &[]).0, Some(0));
    let found = databases(&folder.path().join("db"));
    assert!(found.contains_key("memory.rrd") && !found.contains_key("cpu.rrd"), "{found:?}");
    for (text, more, said) in [
        ("# nothing\n", &[][..], "line 1: the table keeps nothing"),
        ("\ndsk * 1s/1h\n", &[], "line 2: there is no source 'dsk'"),
        ("cpu_core * 1s/1h\n", &[], "line 1: only its instances can be kept: cpu_core[*]"),
        ("memory[*] * 1s/1h\n", &[], "line 1: memory has no instances"),
        ("memory used 1s/1h\n", &[], "line 1: memory has no field 'used'"),
        ("memory * 1s/1h\n", &["-sc"], "the table keeps nothing of what -s selects"),
        ("cpu * 1s/1h\n", &["--exact"], "--exact puts 0 where a value is missing"),
    ] {
        let (code, stderr) = record(text, more);
        assert_eq!(code, Some(2), "{text}: {stderr}");
        assert!(stderr.contains(said), "{text}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
    let help = run(whit().args(["record", "--export", "rrd,h"]));
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("limit=SIZE") && help.contains("1s/1h 10s/1d 5m/1y"), "{help}");
}
