//! Raw logs of atop: every value as `atop -P ALL` prints it.
//!
//! `testdata/atop/atop_20261127` is a log of atop 2.8.1: two runs in a process namespace with a few
//! processes.  Host, kernel and command lines were changed; swap, an array, a logical volume and the
//! end of a process were added.  `atop.txt` is what atop prints of it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WHIT: &str = env!("CARGO_BIN_EXE_whit");
const SELECTION: &str = "-scCdmntspZ";
const PAGE: f64 = 4096.0;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/atop")
}

fn whit(words: &[&str], folder: &Path) -> String {
    let mut command = Command::new(WHIT);
    command.args(words).current_dir(folder).env("LC_ALL", "C").env("TZ", "UTC");
    let output = command.output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What whit has of a log: time, source, instance and field, and the value in base units.  Processes
/// are named by their id alone.
fn ours(path: &str, folder: &Path) -> HashMap<String, String> {
    let csv = whit(&["play", path, "--csv", SELECTION], folder);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("time,host,source,instance,field,value"), "{csv}");
    let values = lines.map(|line| {
        let parts: Vec<&str> = line.splitn(6, ',').collect();
        let [time, _, source, instance, field, value] = parts[..] else { panic!("{line}") };
        let instance = match source {
            "process" | "exit" => instance.split(':').next().unwrap(),
            _ => instance,
        };
        (format!("{} {source} {instance} {field}", &time[..19]), value.to_owned())
    });
    values.collect()
}

/// A line of `atop -P` without its first six words; the name of a task, which may contain blanks,
/// stands in brackets.
fn words(line: &str) -> Vec<String> {
    let Some((before, rest)) = line.split_once(" (") else {
        return line.split(' ').map(str::to_owned).collect();
    };
    // The name ends before the state, which is one letter.
    let mut ends = rest.match_indices(") ").map(|(end, _)| end);
    let end = ends.find(|end| rest.as_bytes().get(end + 3) == Some(&b' ')).unwrap();
    let mut words: Vec<String> = before.split(' ').map(str::to_owned).collect();
    words.push(rest[..end].to_owned());
    words.extend(rest[end + 2..].split(' ').map(str::to_owned));
    words
}

/// How atop prints a number, and what whit has of it.
#[derive(Clone, Copy)]
enum As {
    /// A level of which one step is so much.
    Level(f64),
    /// The same, printed with so large an error.
    Rounded(f64),
    /// How much it grew, of which one step is so much.
    Grown(f64),
    /// The same; -1 is missing.
    GrownOrNone(f64),
}
use As::{Grown, GrownOrNone, Level, Rounded};

/// The numbers of a line: the word's place behind the first six, the field, and its form.
type Columns = &'static [(usize, &'static str, As)];

const CPU: Columns = &[
    (2, "system", Grown(0.01)),
    (3, "user", Grown(0.01)),
    (4, "nice", Grown(0.01)),
    (5, "idle", Grown(0.01)),
    (6, "iowait", Grown(0.01)),
    (7, "irq", Grown(0.01)),
    (8, "softirq", Grown(0.01)),
    (9, "steal", Grown(0.01)),
    (10, "guest", Grown(0.01)),
];
const LOAD: Columns = &[
    (0, "cpus_online", Level(1.0)),
    (1, "load_1m", Level(1.0)),
    (2, "load_5m", Level(1.0)),
    (3, "load_15m", Level(1.0)),
    (4, "context_switches", Grown(1.0)),
    (5, "interrupts", Grown(1.0)),
];
const MEMORY: Columns = &[
    (1, "total", Level(PAGE)),
    (2, "free", Level(PAGE)),
    (3, "cached", Level(PAGE)),
    (4, "buffers", Level(PAGE)),
    (5, "slab", Level(PAGE)),
    (6, "dirty", Level(PAGE)),
    (7, "slab_reclaimable", Level(PAGE)),
    (9, "shared", Level(PAGE)),
    (12, "huge_size", Level(1.0)),
    (13, "huge_total", Level(1.0)),
    (14, "huge_free", Level(1.0)),
    (20, "page_tables", Level(PAGE)),
];
const SOCKETS: Columns = &[(18, "tcp_memory", Level(PAGE)), (19, "udp_memory", Level(PAGE))];
const SWAP: Columns = &[
    (1, "swap_total", Level(PAGE)),
    (2, "swap_free", Level(PAGE)),
    (3, "swap_cached", Level(PAGE)),
    (4, "committed", Level(PAGE)),
    (5, "commit_limit", Level(PAGE)),
    (7, "zswapped", Level(PAGE)),
    (8, "zswap", Level(PAGE)),
];
const PAGING: Columns = &[
    (1, "scanned_all", Grown(PAGE)),
    (2, "stalls", Grown(1.0)),
    (4, "swap_in", Grown(PAGE)),
    (5, "swap_out", Grown(PAGE)),
    (6, "oom_kills", GrownOrNone(1.0)),
    (7, "compact_stalls", Grown(1.0)),
    (8, "migrated", Grown(PAGE)),
    (10, "page_in", Grown(PAGE)),
    (11, "page_out", Grown(PAGE)),
];
const SOME: Columns = &[
    (0, "some_avg10", Rounded(0.051)),
    (1, "some_avg60", Rounded(0.051)),
    (2, "some_avg300", Rounded(0.051)),
    (3, "some_total", Grown(1e-6)),
];
const FULL: Columns = &[
    (0, "full_avg10", Rounded(0.051)),
    (1, "full_avg60", Rounded(0.051)),
    (2, "full_avg300", Rounded(0.051)),
    (3, "full_total", Grown(1e-6)),
];
const DISK: Columns = &[
    (1, "busy_ms", Grown(1e-3)),
    (2, "reads", Grown(1.0)),
    (3, "read_sectors", Grown(512.0)),
    (4, "writes", Grown(1.0)),
    (5, "write_sectors", Grown(512.0)),
    (6, "discards", GrownOrNone(1.0)),
    (8, "in_flight", Level(1.0)),
];
const UPPER: Columns = &[
    (1, "tcp_in_segs", Grown(1.0)),
    (2, "tcp_out_segs", Grown(1.0)),
    (3, "udp_in_datagrams", Grown(1.0)),
    (4, "udp_out_datagrams", Grown(1.0)),
    (9, "udp_in_errors", Grown(1.0)),
    (10, "udp_no_ports", Grown(1.0)),
    (11, "tcp_active_opens", Grown(1.0)),
    (12, "tcp_passive_opens", Grown(1.0)),
    (13, "tcp_curr_estab", Level(1.0)),
    (14, "tcp_retrans_segs", Grown(1.0)),
    (15, "tcp_in_errs", Grown(1.0)),
    (16, "tcp_out_rsts", Grown(1.0)),
];
const INTERFACE: Columns = &[
    (1, "rx_packets", Grown(1.0)),
    (2, "rx_bytes", Grown(1.0)),
    (3, "tx_packets", Grown(1.0)),
    (4, "tx_bytes", Grown(1.0)),
];
const TASK: Columns =
    &[(3, "uid", Level(1.0)), (5, "tgid", Level(1.0)), (6, "threads", Level(1.0))];
const TASK_CPU: Columns = &[
    (4, "user_time", Grown(0.01)),
    (5, "system_time", Grown(0.01)),
    (6, "nice", Level(1.0)),
    (8, "realtime_priority", Level(1.0)),
    (9, "policy", Level(1.0)),
    (10, "processor", Level(1.0)),
    (14, "run_delay", Grown(1e-9)),
];
const TASK_MEMORY: Columns = &[
    (4, "virtual", Level(1024.0)),
    (5, "resident", Level(1024.0)),
    (6, "code", Level(1024.0)),
    (9, "minor_faults", Grown(1.0)),
    (10, "major_faults", Grown(1.0)),
    (11, "libraries", Level(1024.0)),
    (12, "data", Level(1024.0)),
    (13, "stack", Level(1024.0)),
    (14, "swap", Level(1024.0)),
    (18, "locked", Level(1024.0)),
];
const TASK_DISK: Columns = &[
    (6, "read_bytes", Grown(512.0)),
    (8, "write_bytes", Grown(512.0)),
    (9, "cancelled_write_bytes", Grown(512.0)),
];

/// The source, the instance and the numbers of a line, and the place of its first number.
fn parts<'a>(label: &str, words: &'a [String]) -> Vec<(&'static str, &'a str, Columns, usize)> {
    let process = |columns: Columns, is_process: bool| match is_process && words[2] != "E" {
        true => vec![("process", words[0].as_str(), columns, 0)],
        false => vec![],
    };
    match label {
        "CPU" => vec![("cpu", "", CPU, 0)],
        "cpu" => vec![("cpu_core", &words[1], CPU, 0)],
        "CPL" => vec![("cpu", "", LOAD, 0)],
        "MEM" => vec![("memory", "", MEMORY, 0), ("socket", "", SOCKETS, 0)],
        "SWP" => vec![("memory", "", SWAP, 0)],
        "PAG" => vec![("memory", "", PAGING, 0)],
        "PSI" if words[0] == "y" => vec![
            ("pressure", "cpu", SOME, 1),
            ("pressure", "memory", SOME, 5),
            ("pressure", "memory", FULL, 9),
            ("pressure", "io", SOME, 13),
            ("pressure", "io", FULL, 17),
        ],
        "DSK" | "LVM" | "MDD" => vec![("disk", &words[0], DISK, 0)],
        "NET" if words[0] == "upper" => vec![("tcp", "", UPPER, 0)],
        "NET" => vec![("network", &words[0], INTERFACE, 0)],
        "PRG" => process(TASK, words[words.len() - 6] == "y"),
        "PRC" => process(TASK_CPU, words[13] == "y"),
        "PRM" => process(TASK_MEMORY, words[16] == "y"),
        "PRD" => process(TASK_DISK, words[words.len() - 1] == "y"),
        _ => vec![],
    }
}

/// Compares what atop printed with what whit has; returns how many numbers were compared.
fn compare(printed: &str, ours: &HashMap<String, String>) -> usize {
    let (mut compared, mut is_since_boot, mut wrong) = (0, false, Vec::new());
    let mut new = HashSet::new();
    for line in printed.lines() {
        match line {
            "RESET" => is_since_boot = true,
            "SEP" => is_since_boot = false,
            // There are no rates since boot.
            _ if is_since_boot => {}
            _ => {
                let mut head = line.splitn(7, ' ');
                let label = head.next().unwrap();
                let [_, _, date, time, seconds, rest] = [(); 6].map(|()| head.next().unwrap());
                let when = format!("{}T{time}", date.replace('/', "-"));
                let seconds: f64 = seconds.parse().unwrap();
                let words = words(rest);
                // Processes that began in this interval have no rates.
                if label == "PRG" && words[words.len() - 2] == "N" {
                    new.insert(format!("{when} process {}", words[0]));
                }
                for (source, instance, columns, first) in parts(label, &words) {
                    let is_new = new.contains(&format!("{when} {source} {instance}"));
                    for (place, field, form) in columns {
                        if is_new && matches!(form, Grown(_)) {
                            continue;
                        }
                        let key = format!("{when} {source} {instance} {field}");
                        let theirs: f64 = words[first + place].parse().unwrap();
                        if let Err(text) = check(theirs, *form, seconds, ours.get(&key)) {
                            wrong.push(format!("{key}: {text}: {line}"));
                        }
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    compared
}

fn check(theirs: f64, form: As, seconds: f64, ours: Option<&String>) -> Result<(), String> {
    let (theirs, error) = match form {
        GrownOrNone(_) if theirs == -1.0 => {
            return ours.map_or(Ok(()), |ours| Err(format!("{ours}, not missing")));
        }
        Level(_) if theirs < 0.0 && ours.is_none() => return Ok(()),
        Level(step) => (theirs * step, 0.0),
        Rounded(error) => (theirs, error),
        Grown(step) | GrownOrNone(step) => (theirs * step / seconds, 0.0),
    };
    let Some(ours) = ours else { return Err("missing".to_owned()) };
    let ours: f64 = ours.parse().unwrap();
    match (ours - theirs).abs() <= error + theirs.abs() * 1e-9 {
        true => Ok(()),
        false => Err(format!("{ours}, not {theirs}")),
    }
}

#[test]
fn every_value_is_what_atop_printed() {
    let printed = fs::read_to_string(data().join("atop.txt")).unwrap();
    let ours = ours("atop_20261127", &data());
    assert_eq!(compare(&printed, &ours), 1258);
    let of = |key: &str| ours[&format!("2026-11-27T06:07:10 {key}")].clone();
    assert_eq!(of("disk md0 kind"), "md");
    assert_eq!(of("disk vg-root kind"), "lvm");
    assert!(!ours.contains_key("2026-11-27T06:07:10 disk md0 discard_sectors"));
    assert_eq!(of("process 4 command"), "perl");
    assert_eq!(of("process 4 command_line"), "perl worker.pl --write");
    assert_eq!(of("process 4 cgroup"), "/system.slice/work.service");
    assert_eq!(of("process 4 parent"), "1");
    assert_eq!(of("process 13 priority"), "0");
    // Once it has ended, all that it used: before the second run 8 ticks, and 8 in it.
    assert_eq!(of("exit 12 user_time"), "0.16");
    assert_eq!(of("exit 12 exit_code"), "3");
    assert_eq!(of("exit 12 lifetime"), "3.5");
    assert!(!ours.contains_key("2026-11-27T06:07:10 process 12 user_time"));
}

#[test]
fn a_log_of_the_installed_atop_is_shown_as_by_itself() {
    let Some(atop) = testkit::atop("atop: its raw log", "atop") else { return };
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(&atop);
        command.args(words).current_dir(folder.path()).env("TZ", "UTC").env("LC_ALL", "C");
        command.output().unwrap()
    };
    run(&["-w", "log", "1", "2"]);
    let printed = run(&["-r", "log", "-P", "ALL"]);
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    let compared = compare(&printed, &ours("log", folder.path()));
    assert!(compared > 60, "{compared}: {printed}");
}

#[test]
fn a_raw_log_is_a_recording_like_others() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("atop_20261127");
    fs::copy(data().join("atop_20261127"), &copy).unwrap();
    let play = |line: &str| whit(&line.split(' ').collect::<Vec<_>>(), folder.path());
    // Seven records, of which two have no rates.
    let text = play("play . -sc");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 5, "{text}");
    let heaviest = play("play . --heaviest cpu,1");
    assert!(heaviest.contains("0.860") && heaviest.contains("perl"), "{heaviest}");
    let json = play("play atop_20261127 -sm --json");
    assert!(json.contains("\"memory\""), "{json}");
    // As a recording of whit it has the same values, but for what only atop adds up.
    let csv = play("play atop_20261127 --csv -scdmZ");
    play("play atop_20261127 --extract copy.whit");
    let known: Vec<&str> = csv
        .lines()
        .filter(|line| !line.contains(",scanned_all,") && !line.contains(",stolen_all,"))
        .collect();
    let copied = play("play copy.whit --csv -scdmZ");
    assert_eq!(copied.lines().collect::<Vec<_>>(), known);
    let said = play("play atop_20261127 --follow");
    assert!(said.contains("only recordings of whit and collectl can be followed"), "{said}");
    let bytes = fs::read(&copy).unwrap();
    fs::write(&copy, &bytes[..bytes.len() - 100]).unwrap();
    let said = play("play atop_20261127 -sc");
    assert!(said.contains("the last record is not complete"), "{said}");
    // Versions that are not known, and structures that are not those of the version.
    for (at, byte, expected) in [
        (4, 2, "atopconvert"),
        (4, 12, "atop 2.12"),
        (28, 1, "as on no 64-bit machine"),
        (3, 0, "no raw log"),
    ] {
        let mut other = bytes.clone();
        other[at] = byte;
        fs::write(&copy, &other).unwrap();
        let said = play("play atop_20261127 -sc");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
