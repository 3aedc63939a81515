//! Sums of processes against what is known of them, and lists and digests beside collectl.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "all of it is tests, helpers too")]

use std::collections::HashMap;
use std::io::ErrorKind::{NotFound, PermissionDenied};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Deadline, Running};

use crate::whit;

/// Runs a program to its end; the CPU seconds that the kernel says it took.
fn burn(program: &Path, rounds: u32) -> f64 {
    let script = format!("i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done");
    #[allow(clippy::zombie_processes, reason = "wait4 below waits for it")]
    let child = Command::new(program).arg("-c").arg(script).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: all zero is a valid `rusage`, which is numbers alone.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let mut status = 0;
    // SAFETY: both places outlive the call; the process is a child that nobody else waits for.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!((waited, status), (pid, 0));
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Burns for a while; CPU seconds and processes.
fn burn_for(program: &Path, rounds: u32, time: Duration) -> (f64, u64) {
    let start = Instant::now();
    let (mut seconds, mut count) = (0.0, 0);
    while start.elapsed() < time {
        seconds += burn(program, rounds);
        count += 1;
    }
    (seconds, count)
}

/// How many ends of the burners are told or counted as lost; `None` where they cannot be told.
fn ends(intervals: &[Value]) -> Option<u64> {
    let of = |interval: &Value| -> Option<u64> {
        let groups = interval["groups"].as_array().unwrap().iter();
        let burners = groups.filter(|group| {
            group["command"].as_str().is_some_and(|name| name.starts_with("whit-burn-"))
        });
        let ends: u64 = burners.filter_map(|group| group["ends"].as_u64()).sum();
        Some(ends + interval["total"]["ends_lost"].as_f64()? as u64)
    };
    intervals.iter().map(of).sum()
}

#[test]
fn short_lives_are_in_the_sums_of_their_command() {
    let folder = tempfile::tempdir().unwrap();
    let programs = ["whit-burn-a", "whit-burn-b"].map(|name| folder.path().join(name));
    for program in &programs {
        std::os::unix::fs::symlink("/bin/sh", program).unwrap();
    }
    let mut command = whit();
    command.args(["record", "--by", "command", "--json", "-i1"]);
    let mut recorder = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let output = BufReader::new(recorder.stdout.take().unwrap());
    let mut lines =
        output.lines().map(|line| -> Value { serde_json::from_str(&line.unwrap()).unwrap() });
    let mut intervals = vec![lines.next().unwrap()];
    let time = Duration::from_millis(2_500);
    let known: Vec<(f64, u64)> = std::thread::scope(|scope| {
        let burners: Vec<_> = programs
            .iter()
            .zip([3_000, 40_000])
            .map(|(program, rounds)| scope.spawn(move || burn_for(program, rounds, time)))
            .collect();
        burners.into_iter().map(|burner| burner.join().unwrap()).collect()
    });
    // Until all ends are told, however late they come.
    let deadline = Deadline::default();
    let all: u64 = known.iter().map(|(_, count)| count).sum();
    while ends(&intervals).is_some_and(|ends| ends < all) {
        assert!(deadline.is_ahead(), "{:?} ends of {all}", ends(&intervals));
        intervals.extend(lines.next());
    }
    recorder.signal(libc::SIGTERM);
    intervals.extend(lines);
    assert!(recorder.ended().success());
    if intervals.iter().any(|interval| interval["total"]["ends_lost"].is_null()) {
        let trial = source::Trial::new();
        let (Err(ring), Err(taskstats)) = (trial.ring, trial.taskstats) else {
            panic!("exit events can be had, and are not recorded")
        };
        return testkit::skip_refused("exit events", &format!("{ring}; {taskstats}"));
    }
    let mut found: HashMap<String, (f64, u64)> = HashMap::new();
    for interval in &intervals {
        let seconds = interval["seconds"].as_f64().unwrap();
        for group in interval["groups"].as_array().unwrap() {
            let name = group["command"].as_str().unwrap_or("-").to_owned();
            let sums = found.entry(name).or_default();
            sums.0 += group["cpu"].as_f64().unwrap_or(0.0) * seconds;
            sums.1 += group["ends"].as_u64().unwrap();
        }
    }
    let lost: f64 = intervals.iter().map(|i| i["total"]["ends_lost"].as_f64().unwrap()).sum();
    for (name, (seconds, count)) in ["whit-burn-a", "whit-burn-b"].iter().zip(known) {
        let (sum, ends) = found.get(*name).copied().unwrap_or_default();
        eprintln!("{name}: {sum:.3} s of {seconds:.3} s, {ends} ends of {count}, {lost} lost");
        assert!((sum - seconds).abs() <= 0.05 * seconds + 0.02, "{name}: {sum} of {seconds}");
        assert!(ends <= count && ends + lost as u64 >= count, "{name}: {ends} of {count}");
    }
    let sum = |name: &str| -> f64 {
        let of = |i: &Value| i["total"][name].as_f64().unwrap() * i["seconds"].as_f64().unwrap();
        intervals.iter().map(of).sum()
    };
    let (total, rest, busy) = (sum("cpu"), sum("unattributed"), sum("busy"));
    eprintln!("total {total:.3} s + unattributed {rest:.3} s, busy {busy:.3} s");
    // What runs between the readings of a sample counts in one of them: no longer than a sample is
    // late.
    let late = intervals.iter().map(|i| i["seconds"].as_f64().unwrap() - 1.0).fold(0.0, f64::max);
    let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    let allowed = 0.03 * busy + 0.05 + 2.0 * cpus * late;
    assert!((total + rest - busy).abs() <= allowed, "{total} + {rest} of {busy}, {late} s late");
}

/// A recording that collectl itself makes; `None` if it is not installed.
fn recorded_by_collectl(folder: &Path, letters: &str) -> Option<std::path::PathBuf> {
    if !testkit::is_installed("collectl", "collectl") {
        return None;
    }
    let made = Command::new("collectl")
        .args([letters, "-i1:1", "-c4", "-f"])
        .arg(folder.join("raw"))
        .output();
    let made = made.unwrap();
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let file = files.into_iter().find(|path| path.to_string_lossy().ends_with(".raw.gz"));
    assert!(file.is_some(), "collectl records nothing: {}", String::from_utf8_lossy(&made.stderr));
    file
}

fn output(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn slab_lists_and_digests_are_collectls() {
    // Without slabs collectl prints other headers than for a list.
    match std::fs::File::open("/proc/slabinfo") {
        Ok(_) => {}
        Err(error) if error.kind() == PermissionDenied => {
            return testkit::skip("/proc/slabinfo", "only root may read it");
        }
        Err(error) if error.kind() == NotFound => {
            return testkit::skip("/proc/slabinfo", "this kernel has none");
        }
        Err(error) => panic!("/proc/slabinfo: {error}"),
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(file) = recorded_by_collectl(folder.path(), "-scY") else { return };
    let all = "totsize,5 numobj,30 actobj objsize numslab objslab totchg totpct,7 name,4";
    let mut shown = 0;
    for list in testkit::share_of(all.split_whitespace().collect()) {
        for more in [&[][..], &["-sc"]] {
            let theirs = output(
                Command::new("collectl").arg("-p").arg(&file).args(["--top", list]).args(more),
            );
            let ours =
                output(whit().arg("play").arg("-p").arg(&file).args(["--top", list]).args(more));
            assert_eq!(ours, theirs, "{list} {more:?}");
            shown += theirs.matches("TOP SLABS").count();
        }
    }
    assert!(shown > 0, "no list of slabs");
    let digest = |command: &mut Command, name: &str| {
        let to = folder.path().join(name);
        std::fs::create_dir(&to).unwrap();
        let to = format!("{}/", to.display());
        output(command.arg("-p").arg(&file).args(["--slabanalyze", "-oz", "-f", &to]));
        let mut files = std::fs::read_dir(to).unwrap().flatten();
        let path = files.next().expect("a digest").path();
        std::fs::read_to_string(path).unwrap()
    };
    let theirs = digest(&mut Command::new("collectl"), "theirs");
    assert_eq!(digest(whit().arg("play"), "ours"), theirs);
}

/// Every order of `--top` that is for processes.
const ORDERS: &str = "vsz rss syst usrt time accum rkb wkb iokb rkbc wkbc iokbc ioall rsys wsys \
                      iosys iocncl majf minf flt vctx nctx cpu pid thread";

#[test]
fn process_lists_and_digests_are_collectls() {
    if !testkit::is_installed("collectl", "collectl") {
        return;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/recordings/zeta-20261121-131413.raw.gz");
    let run = |mut command: Command, more: &[&str]| {
        output(command.env("TZ", "UTC").arg("-p").arg(&file).args(more))
    };
    let play = |more: &[&str]| {
        let mut command = whit();
        command.args(["play", "--exact"]);
        run(command, more)
    };
    for list in testkit::share_of(ORDERS.split_whitespace().collect()) {
        let theirs = run(Command::new("collectl"), &["--top", list]);
        assert!(theirs.contains("TOP PROCESSES"), "{list}: {theirs}");
        assert_eq!(play(&["--top", list]), theirs, "{list}");
    }
    let folder = tempfile::tempdir().unwrap();
    let to = |name: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        format!("{}/", path.display())
    };
    let digest = |folder: String| -> Vec<String> {
        let mut files = std::fs::read_dir(folder).unwrap().flatten();
        let text = std::fs::read_to_string(files.next().expect("a digest").path()).unwrap();
        // collectl's order is that of a hash.
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (theirs, ours) = (to("theirs"), to("ours"));
    run(Command::new("collectl"), &["--procanalyze", "-oz", "-f", &theirs]);
    play(&["--procanalyze", "-oz", "-f", &ours]);
    let (theirs, ours) = (digest(theirs), digest(ours));
    assert!(theirs.len() > 5, "{theirs:?}");
    // What was seen once has no accumulated time in collectl, but a bare zero.
    let seen_once = |line: &&String| line.contains("  0.00 0 0 0 ");
    assert_eq!(theirs.iter().filter(seen_once).count(), 1);
    let mended = theirs.iter().map(|line| line.replace("  0.00 0 0 0 ", "  0.00 0:00:00 0 0 "));
    assert_eq!(ours, mended.collect::<Vec<_>>());

    // With -s there are plot files, too, with -P or without; -P alone is refused by both.
    let files = |folder: &str| {
        let mut files: Vec<(String, String)> = Vec::new();
        for file in std::fs::read_dir(folder).unwrap().flatten() {
            let name = file.file_name().into_string().unwrap();
            let mut lines: Vec<String> = std::fs::read_to_string(file.path())
                .unwrap()
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect();
            lines.retain(|line| !line.starts_with('#') || line.starts_with("#Date"));
            match name.ends_with("prcs") {
                true => files.push((name, lines.len().to_string())),
                false => files.push((name, lines.join("\n"))),
            }
        }
        files.sort();
        files
    };
    for (name, more) in [("one", &["-sc"][..]), ("two", &["-P", "-scZ", "--procanalyze"])] {
        let (theirs, ours) = (to(&format!("their-{name}")), to(&format!("our-{name}")));
        run(Command::new("collectl"), &[more, &["--procanalyze", "-oz", "-f", &theirs]].concat());
        play(&[more, &["--procanalyze", "-oz", "-f", &ours]].concat());
        let (theirs, ours) = (files(&theirs), files(&ours));
        assert!(theirs.len() > 1, "{theirs:?}");
        assert_eq!(ours, theirs, "{more:?}");
    }
    let mut command = whit();
    let refused = command.arg("play").arg(&file).args(["-P", "--procanalyze", "-f", "."]);
    let refused = refused.output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}
