//! Intervals over kernel files that the test changes between two readings: no clock, no machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use jiff::tz::TimeZone;
use sample::{Meta, Snapshot, State};
use sysstat::{ReportSession, SysstatError, run, tool};

/// A machine with two CPUs: `step` says how long it has run, in seconds.
fn write_machine(root: &Path, step: u64) {
    let busy = step * 25;
    let idle = step * 75;
    let cpu = |name: &str, count: u64| {
        let (user, idle) = (count * busy, count * idle);
        format!("{name} {user} 0 0 {idle} 0 0 0 0 0 0\n")
    };
    let stat = cpu("cpu ", 2)
        + &cpu("cpu0", 1)
        + &cpu("cpu1", 1)
        + &format!(
            "intr {0}\nctxt {0}\nbtime 0\nprocesses {0}\nprocs_running 1\nprocs_blocked 0\n",
            step * 10
        );
    let proc = root.join("proc");
    fs::create_dir_all(&proc).unwrap();
    fs::write(proc.join("stat"), stat).unwrap();
    fs::write(proc.join("loadavg"), "0.10 0.20 0.30 2/64 100\n").unwrap();
    let free = 1000 * step;
    let memory = format!(
        "MemTotal: 10000 kB\nMemFree: {free} kB\nMemAvailable: {free} kB\nBuffers: 0 kB\nCached: 0 kB\nSlab: 0 kB\n"
    );
    fs::write(proc.join("meminfo"), memory).unwrap();
    // The last one does not tell its frequency.
    let cpuinfo = format!(
        "processor\t: 0\ncpu MHz\t\t: {step}000.129\n\nprocessor\t: 1\ncpu MHz\t\t: 500.500\n\n\
         processor\t: 2\ncpu MHz\t\t: unknown\n"
    );
    fs::write(proc.join("cpuinfo"), cpuinfo).unwrap();
}

fn meta() -> Meta {
    let mut meta = Meta::new();
    for (key, value) in
        [("host", "h"), ("kernel", "6.1"), ("architecture", "x86_64"), ("cpus", "2")]
    {
        meta.set(key, value);
    }
    meta
}

/// What a tool prints while the machine goes on by a second at each wait, until the user ends after
/// `waits` of them.
fn report(line: &str, waits: u64) -> Result<String, SysstatError> {
    report_at(jiff::Timestamp::UNIX_EPOCH, line, waits)
}

/// The same at that time.
fn report_at(now: jiff::Timestamp, line: &str, waits: u64) -> Result<String, SysstatError> {
    let folder = tempfile::tempdir().unwrap();
    write_machine(folder.path(), 1);
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let (mut out, mut step) = (Vec::new(), 1);
    let mut session = ReportSession {
        root: folder.path(),
        meta: meta(),
        now: now.to_zoned(TimeZone::UTC),
        iso_dates: false,
        screen_lines: None,
        users: None,
        out: &mut out,
        wait: &mut |_: Duration| {
            step += 1;
            write_machine(folder.path(), step);
            step <= waits + 1
        },
        note: &mut |text| panic!("{text}"),
        start: &mut |_| Err("nothing is started".to_owned()),
        service_folder: &|| Err("no service".to_owned()),
    };
    run(tool(&words[0]).unwrap(), &words[1..], &mut session)?;
    Ok(String::from_utf8(out).unwrap())
}

/// The words of the lines after the banner, without times.
fn lines(text: &str) -> Vec<String> {
    let words = |line: &str| {
        let words = line.split_whitespace().filter(|word| word.matches(':').count() != 2);
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().skip(1).map(words).filter(|line| !line.is_empty()).collect()
}

#[test]
fn intervals_and_their_average() {
    let text = report("sar 1 3", 9).unwrap();
    let row = "all 25.00 0.00 0.00 0.00 0.00 75.00";
    let heading = "CPU %user %nice %system %iowait %steal %idle";
    let average = format!("Average: {row}");
    assert_eq!(lines(&text), [heading, row, row, row, &average], "{text}");
}

#[test]
fn a_number_of_days_shows_that_day_of_a_recording() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/sysstat/sa20261127");
    let now = "2026-11-29T05:00:00Z".parse().unwrap();
    let sar = |options: &str| report_at(now, &format!("sar {options} -f {file}"), 0);
    let whole = sar("-u").unwrap();
    assert!(whole.lines().count() > 5, "{whole}");
    assert_eq!(sar("-2").unwrap(), whole);
    let part = sar("-2 -s 22:06:24").unwrap();
    assert!((3..whole.lines().count()).contains(&part.lines().count()), "{part}");
    let sadf = |days: &str| report_at(now, &format!("sadf {days} -d {file} -- -u"), 0);
    assert_eq!(sadf("-2").unwrap(), sadf("-P all").unwrap());
    assert!(sadf("-1").is_err());
    for other in ["-1", "-0", "-65535", "-2 -s 23:59:59"] {
        let report = sar(other);
        assert!(
            report.as_ref().is_err_and(|error| error.to_string().contains("readings")),
            "{report:?}"
        );
    }
    for (refused, why) in [("-65536", "too many days"), ("-2 -s -1h", "-1h")] {
        let error = sar(refused).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = report("vmstat -12", 0).unwrap_err().to_string();
    assert!(error.contains("unknown option -12"), "{error}");
}

#[test]
fn gauges_are_averaged_over_the_ends_of_intervals() {
    let text = report("sar -r 1 2", 9).unwrap();
    let lines = lines(&text);
    assert!(lines[1].starts_with("2000 2000 8000 80.00 "), "{text}");
    assert!(lines[2].starts_with("3000 3000 7000 70.00 "), "{text}");
    assert!(lines[3].starts_with("Average: 2500 2500 7500 75.00 "), "{text}");
}

#[test]
fn frequencies_of_cpus_and_their_mean() {
    let text = report("sar -m CPU,ALL -P ALL 1 2", 9).unwrap();
    let lines = lines(&text);
    let each = ["CPU MHz", "all 1250.31", "0 2000.12", "1 500.50"];
    assert_eq!(lines[..4], each, "{text}");
    let mean = ["all 1500.31", "0 2500.12", "1 500.50"].map(|line| format!("Average: {line}"));
    assert_eq!(lines[lines.len() - 3..], mean, "{text}");
}

#[test]
fn each_cpu_and_a_heading_for_each_interval() {
    let text = report("mpstat -P 1,all 1 1", 9).unwrap();
    let lines = lines(&text);
    assert_eq!(lines.iter().filter(|line| line.contains("%usr")).count(), 2, "{text}");
    assert_eq!(lines[1], "all 25.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 75.00");
    assert_eq!(lines[2], "1 25.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 75.00");
    assert_eq!(lines.len(), 6, "{text}");
}

#[test]
fn the_user_ends_it_and_gets_the_average() {
    let text = report("sar 1", 2).unwrap();
    assert_eq!(text.matches("all ").count(), 3, "{text}");
    assert_eq!(text.matches("Average:").count(), 1, "{text}");
}

#[test]
fn vmstat_begins_with_the_time_since_boot() {
    let text = report("vmstat 1 3", 9).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| !line.contains(['r', '-'])).collect();
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows.iter().all(|row| row.ends_with("25  0 75  0  0")), "{text}");
    let without = report("vmstat -y 1 3", 9).unwrap();
    assert_eq!(without.lines().count(), 5, "{without}");
}

/// Records four samples of the CPU and of memory, the last one of memory alone.
fn record(path: &Path) {
    let defs = ["cpu", "memory"].map(|name| source::find(name).unwrap().def().shared());
    let mut meta = meta();
    meta.set("interval_ns", "1000000000");
    let options = recording::WriterOptions::default();
    let mut writer = recording::Writer::create(path, &meta, &defs, options).unwrap();
    let mut snapshot = Snapshot::new(&defs);
    let [user, idle] = ["user", "idle"].map(|name| defs[0].field(name).unwrap());
    for second in 1..5 {
        snapshot.monotonic_ns = second * 1_000_000_000;
        snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
        snapshot.fresh = vec![second < 4, true];
        for sample in &mut snapshot.samples {
            (sample.monotonic_ns, sample.realtime_ns) =
                (snapshot.monotonic_ns, snapshot.realtime_ns);
            sample.state = State::Ok;
            sample.table.begin();
            sample.table.row(b"");
        }
        let mut row = snapshot.samples[0].table.row_mut(0);
        row.set(user, 25 * second);
        row.set(idle, 75 * second);
        writer.append(&snapshot).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn a_sample_of_other_sources_has_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.whit");
    record(&path);
    let text = report(&format!("sar -f {} -u", path.display()), 0).unwrap();
    assert_eq!(text.matches(" 25.00 ").count(), 3, "{text}");
    assert!(!text.contains("RESTART") && !text.contains("100.00"), "{text}");
}

#[test]
fn what_is_not_there_is_missing_or_refused_not_zero() {
    // This machine has no disks and no swap columns.
    let error = report("sar -n TCP 1 1", 9).unwrap_err().to_string();
    assert!(error.contains("not available: TCP"), "{error}");
    let text = report("sar -B 1 1", 9).unwrap();
    assert!(lines(&text)[1].starts_with("- - -"), "{text}");
}

#[test]
fn json_has_an_object_for_each_interval() {
    let text = report("iostat -c -o JSON 1 2", 9).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let host = &json["sysstat"]["hosts"][0];
    assert_eq!((&host["nodename"], &host["number-of-cpus"]), (&"h".into(), &2.into()));
    let intervals = host["statistics"].as_array().unwrap();
    assert_eq!(intervals.len(), 2, "{text}");
    assert!(intervals.iter().all(|each| each["avg-cpu"]["user"] == 25.0), "{text}");
    let text = report("mpstat -P ALL -o JSON 1 3", 9).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let intervals = json["sysstat"]["hosts"][0]["statistics"].as_array().unwrap().clone();
    assert_eq!(intervals.len(), 3, "{text}");
    let names = intervals[2]["cpu-load"].as_array().unwrap().iter().map(|cpu| cpu["cpu"].clone());
    assert_eq!(names.collect::<Vec<_>>(), ["all", "0", "1"], "{text}");
}

#[test]
fn cpus_are_summed_by_node() {
    // This machine has no folder of nodes: there are none to sum.
    let text = report("mpstat -N ALL 1 1", 9).unwrap();
    let lines = lines(&text);
    assert_eq!(lines[1], "all 25.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 75.00", "{text}");
    assert_eq!(lines.len(), 4, "{text}");
}

#[test]
fn options_are_taken_or_refused_by_name() {
    for (line, said) in [
        ("sar -j ID -d 1 1", "there is no folder /dev/disk/by-id"),
        ("sar -j SID -d 1 1", "-j SID is not supported"),
        ("sar -j ../x -d 1 1", "-j takes ID"),
        ("sar -o x", "-o needs an interval"),
        ("sar -o x -f y 1", "-f and -o: give one of them"),
        ("sar -D 1 1", "-D is of the file that -o writes"),
        ("sar -n FC 1", "-n FC is not supported"),
        ("sar -m CPU,TEMP 1", "-m TEMP is not supported"),
        ("sar -m FREQ 1", "use -m CPU"),
        ("sar -m NIX 1", "unknown keyword NIX"),
        ("sar -m", "option -m needs a value"),
        ("sar -i 2 -f x 1 2", "-i and an interval: give one"),
        ("sadf -r", "-r is not supported"),
        ("sadf -j -x", "-j, -p and -x: give one of them"),
        ("sadf -O packed", "-O is of the pictures"),
        ("sadf -j -H x", "-H beside -c, -g, -j and -x is not supported"),
        ("sadf -l", "-l is not supported"),
        ("sadf -t -U", "-t, -T and -U: give one of them"),
        ("sadf -- x", "not an option of sar: 'x'"),
        ("sar -n NIX 1", "unknown keyword NIX"),
        ("sar --nix", "unknown option --nix"),
        ("sar -P 3-1 1", "not a list of CPUs"),
        ("sar 1 2 3", "failed to parse argument: '3'"),
        ("sar -o x -1 1", "-o and a number of days: give one of them"),
        ("sar --dec=7 1", "--dec takes 0, 1 or 2"),
        ("sar", "no service"),
        ("iostat -o XML", "-o takes JSON, not XML"),
        ("iostat -j ID", "there is no folder /dev/disk/by-id"),
        ("iostat -k -m", "-k and -m: give one of them"),
        ("vmstat -d -s", "-d, -D, -m, -p and -s: give one of them"),
        ("pidstat -T NIX", "-T takes TASK, CHILD or ALL, not NIX"),
        ("pidstat -T CHILD -d", "only -u and -r have children"),
        ("pidstat -e true", "-e needs an interval"),
        ("pidstat 1 -e true", "nothing is started"),
        ("pidstat -e", "option -e needs a value"),
        ("mpstat -P 0,2", "there is no CPU 2 (-P)"),
        ("mpstat -P 1-7 1", "there is no CPU 7 (-P)"),
        ("mpstat -I NIX", "-I takes SUM, CPU, SCPU or ALL"),
        ("mpstat -N x", "not a list of nodes: x"),
        ("vmstat 0", "delay must be positive integer"),
        ("free -k -m", "several units"),
        ("vmstat -S q", "-S requires"),
        ("vmstat a", "failed to parse argument: 'a'"),
        ("vmstat -p nix", "disk/partition nix not found"),
        ("free -c", "option -c needs a value"),
        ("free -s 0", "seconds argument failed"),
        ("uptime now", "takes no argument"),
        ("free now", "takes no argument"),
        ("iostat +f /nix", "/nix: there is no such folder"),
        ("iostat -f /proc -f /sys", "-f and +f: give one folder"),
        ("iostat -f /proc --recording x", "-f and --recording: give one of them"),
        ("iostat 0 5", "failed to parse argument: '5'"),
        ("sar -f x 0", "an interval of 0 is the time since boot of this host"),
        ("sar -P 8192 1", "not a list of CPUs: 8192"),
        ("sadf -d -d x", "give one of them, once"),
        ("sadf 0 x", "an interval of 0 is none of a recording"),
        ("sadf x -- --dec=0", "not an option of sar that sadf takes: dec"),
        ("mpstat -N 7", "there is no node 7 (-N)"),
        ("pidstat -p 0", "not a list of processes: 0"),
        ("sar -s 10:00 1 1", "-s and -e are of a recording"),
        ("sar -e 10:00 0", "-s and -e are of a recording"),
        ("pidstat -G ( 1", "not a pattern: ("),
    ] {
        match report(line, 3) {
            Ok(text) => panic!("{line}: {text}"),
            Err(error) => assert!(error.to_string().contains(said), "{line}: {error}"),
        }
    }
}

#[test]
fn disks_of_a_folder_are_shown_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let part = "10 1 200 5 6 0 120 3 0 4 9";
    for (disk, numbers) in [("u2", part), ("u10", "2 0 8 1"), ("u2/u2p1", part), ("u3", "none")] {
        let stat = folder.path().join("block").join(disk);
        fs::create_dir_all(&stat).unwrap();
        fs::write(stat.join("stat"), numbers).unwrap();
    }
    fs::write(folder.path().join("diskstats"), format!("8 0 u9 {part}\n8 0 u2 {part}\n")).unwrap();
    let disks = |options: &str| {
        let path = folder.path().display();
        let text = report(format!("iostat -d -f {path} {options}").trim_end(), 9).unwrap();
        let lines = text.lines().skip(3).filter(|line| !line.is_empty());
        lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(disks(""), "u10 u2");
    assert_eq!(disks("ALL"), "u10 u2 u3");
    assert_eq!(disks("-p"), "u9 u2");
    assert_eq!(disks("-p u2"), "u2 u2p1");
    assert_eq!(disks("u9"), "");
    let many: String = (0..9_000).map(|number| format!("8 0 d{number} {part}\n")).collect();
    fs::write(folder.path().join("diskstats"), many).unwrap();
    let error = report(&format!("iostat -p -f {}", folder.path().display()), 9).unwrap_err();
    assert!(error.to_string().contains("more than 8192 disks"), "{error}");
}

#[test]
fn each_tool_has_help_and_a_version() {
    for tool in sysstat::TOOLS {
        for word in ["--help", "--version"] {
            let error = report(&format!("{} {word}", tool.name), 1).unwrap_err();
            assert!(matches!(error, SysstatError::Help(_)), "{}: {error}", tool.name);
        }
    }
}
