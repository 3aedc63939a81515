//! What is new, has grown or is gone is seen, at the cost of what has changed; gaps are what the times
//! of all samples give.

use std::path::{Path, PathBuf};
use std::process::Command;

use archive::{RangeQuery, RecordedGap, Recordings};
use feed::{Feed, WhitFeed};
use jiff::{ToSpan, Zoned};
use recording::{Writer, WriterOptions};
use sample::Snapshot;
use testkit::Random;

use crate::machine::{self, Machine, SECOND_NS};

fn open(folder: &Path) -> Recordings {
    Recordings::open(&[folder.to_owned()], &Zoned::now()).unwrap()
}

/// When no change can have the time of an earlier one.
pub(crate) fn later() -> Zoned {
    &Zoned::now() + 1.hour()
}

/// All that is known of the recordings, and the mean of each source's first field.
fn known(recordings: &Recordings) -> Vec<String> {
    let mut known = Vec::new();
    for host in recordings.hosts() {
        known.push(format!("{host} {:?}", recordings.spans(host)));
        for def in recordings.sources(host) {
            let from_ns = machine::STARTED_NS;
            let answer = recordings.range(&RangeQuery {
                host: host.to_owned(),
                source: def.name.to_string(),
                fields: vec![def.fields[1].name.to_string()],
                from_ns,
                thru_ns: i64::MAX / 2,
                step_ns: i64::MAX / 2 - from_ns,
                ..RangeQuery::default()
            });
            known.push(format!("{} {:?}", def.name, answer.unwrap().series));
        }
    }
    known.extend(recordings.complaints().into_iter().map(str::to_owned));
    known
}

/// Waits until nobody holds the lock of a recording: what another test of this process starts at that
/// moment holds it, too, until it becomes another program.
fn until_free(recording: &Path) {
    testkit::wait_until("nobody writes it", || !recording::is_being_written(recording).unwrap());
}

/// Does one thing to a folder that recorders do, or somebody who tidies up.
fn change(
    folder: &Path,
    random: &mut Random,
    machines: &mut [Machine],
    writers: &mut Vec<(usize, Writer)>,
) -> &'static str {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let some = |random: &mut Random, count: usize| random.below(count as u64) as usize;
    match random.below(7) {
        0 if writers.len() < 3 => {
            let of = some(random, machines.len());
            machines[of].pass(1);
            let (writer, _) = machines[of].begin(folder, WriterOptions::default(), SECOND_NS);
            writers.push((of, writer));
            "a recording begins"
        }
        1 if !writers.is_empty() => {
            let (_, writer) = writers.remove(some(random, writers.len()));
            let path = writer.path().to_owned();
            writer.close().unwrap();
            until_free(&path);
            "a recording is closed"
        }
        2 if !writers.is_empty() => {
            let (_, writer) = writers.remove(some(random, writers.len()));
            let path = writer.path().to_owned();
            drop(writer);
            until_free(&path);
            "a recorder is killed"
        }
        3 if files.len() > 3 => {
            std::fs::remove_file(&files[some(random, files.len())]).unwrap();
            "a file is removed"
        }
        4 if files.len() > 3 => {
            let path = &files[some(random, files.len())];
            if path.extension().is_some_and(|name| name == "whit") {
                std::fs::write(path.with_extension("new"), "no recording").unwrap();
                std::fs::rename(path.with_extension("new"), path).unwrap();
            }
            "a file is replaced"
        }
        5 => {
            assert!(open(folder).write_side_files().is_empty());
            "side files are made"
        }
        _ => {
            for (of, writer) in writers {
                machines[*of].record(writer, 1 + random.below(40));
            }
            "recordings grow"
        }
    }
}

#[test]
fn what_is_seen_again_is_what_is_found_anew() {
    let mut random = Random::from_seed(testkit::seed(51));
    for round in 0..testkit::share(20) as u64 {
        let (folder, machine, writer, _) = machine::folder(100 + round);
        let mut machines = vec![machine, Machine::new("delta", round)];
        machines[1].pass(5_000);
        let mut writers = vec![(0, writer)];
        let mut recordings = open(folder.path());
        for step in 0..30 {
            let what = change(folder.path(), &mut random, &mut machines, &mut writers);
            recordings.refresh(&Zoned::now()).unwrap();
            let anew = open(folder.path());
            assert_eq!(known(&recordings), known(&anew), "{round} {step} {what}");
        }
    }
}

#[test]
fn a_folder_that_is_gone_is_an_error_and_an_empty_one_is_not() {
    let (folder, ..) = machine::folder(3);
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap().map(Result::unwrap) {
        if entry.path().is_file() {
            std::fs::rename(entry.path(), inner.join(entry.file_name())).unwrap();
        }
    }
    let mut recordings = open(&inner);
    let hosts = recordings.hosts().len();
    let away = folder.path().join("away");
    std::fs::rename(&inner, &away).unwrap();
    let error = recordings.refresh(&Zoned::now()).unwrap_err().to_string();
    assert!(error.contains("inner"), "{error}");
    assert_eq!(recordings.hosts().len(), hosts);
    std::fs::create_dir(&inner).unwrap();
    assert!(recordings.refresh(&Zoned::now()).unwrap());
    assert!(recordings.hosts().is_empty());
    assert!(!recordings.refresh(&Zoned::now()).unwrap());
}

/// Opens the folder and looks again so often, and lets one recording grow each time; all of it by
/// variables.  Run by the test below, which counts.
#[test]
#[ignore = "a part of the test that counts system calls"]
fn looks_to_be_counted() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (folder, mut machine, mut writer, _) = machine::folder(7);
    let mut recordings = Recordings::open(&[folder.path().to_owned()], &later()).unwrap();
    let grows = variable("GROWS") == "1";
    machine.record(&mut writer, u64::from(grows));
    for _ in 0..variable("LOOKS").parse().unwrap() {
        if grows {
            machine.record(&mut writer, 1);
        }
        assert!(!recordings.refresh(&later()).unwrap());
    }
}

/// System calls of so many looks of a test.
fn calls(test: &str, looks: u32, grows: bool) -> i64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls");
    let counted = testkit::own_test(test);
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-U", "calls", "-o"]).arg(&path);
    command.arg(counted.get_program()).args(counted.get_args()).arg("--ignored");
    command.env("LOOKS", looks.to_string()).env("GROWS", u8::from(grows).to_string());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = std::fs::read_to_string(&path).unwrap();
    text.lines().last().unwrap().split_whitespace().next().unwrap().parse().unwrap()
}

/// System calls of each look of a test; `None` if they cannot be counted here.
pub(crate) fn looks(test: &str, grows: bool) -> Option<i64> {
    if !testkit::is_installed("strace", "strace") {
        return None;
    }
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output().unwrap();
    if !traced.status.success() {
        testkit::skip_refused("strace", &String::from_utf8_lossy(&traced.stderr));
        return None;
    }
    Some((calls(test, 2000, grows) - calls(test, 1000, grows) + 500) / 1000)
}

#[test]
fn a_look_costs_a_stat_of_each_folder_and_of_what_may_grow() {
    let each = |grows| looks("folders::looks_to_be_counted", grows);
    let (Some(idle), Some(growing)) = (each(false), each(true)) else { return };
    // The folder, and the latest recordings of three hosts.
    assert_eq!(idle, 1 + 3);
    // And open, fcntl and close of the one that has grown, which its own writer writes meanwhile; a
    // debug build looks at a descriptor before it closes it.
    assert!(growing <= 1 + 3 + 4 + 2, "{growing}");
}

/// The times of the samples of each recording of a host, after its start, and its longest interval.
fn times(recordings: &Recordings, host: &str) -> Vec<(Vec<i64>, i64)> {
    let mut all = Vec::new();
    for span in recordings.spans(host) {
        let mut feed = WhitFeed::open(&span.path, i64::MIN, false).unwrap();
        let mut snapshot = Snapshot::new(&feed.defs());
        let mut times = vec![span.from_ns];
        while feed.next(&mut snapshot).unwrap() {
            times.push(snapshot.realtime_ns);
        }
        let meta = feed::meta_of(&span.path, feed::Origin::Whit).unwrap();
        all.push((times, 3 * meta.interval_ns().cast_signed()));
    }
    all
}

/// The gaps by the times of all samples: times between two of them over which no recording goes.
fn expected(all: &[(Vec<i64>, i64)]) -> Vec<RecordedGap> {
    let mut instants: Vec<(i64, i64)> = all
        .iter()
        .flat_map(|(times, longest_ns)| times.iter().map(|&time| (time, *longest_ns)))
        .collect();
    instants.sort_unstable();
    let goes_over = |after_ns, until_ns| {
        all.iter().any(|(times, longest_ns)| {
            let next = times.partition_point(|&time| time < until_ns);
            let before = times.partition_point(|&time| time <= after_ns).checked_sub(1);
            let ends = before.map(|before| times[before]).zip(times.get(next).copied());
            ends.is_some_and(|(before_ns, next_ns)| next_ns - before_ns <= *longest_ns)
        })
    };
    let pairs = instants.windows(2).map(|pair| (pair[0], pair[1]));
    pairs
        .filter(|(after, until)| until.0 - after.0 > after.1.max(until.1))
        .filter(|(after, until)| !goes_over(after.0, until.0))
        .map(|(after, until)| RecordedGap { after_ns: after.0, until_ns: until.0 })
        .collect()
}

#[test]
fn gaps_are_what_the_times_of_all_samples_give() {
    let mut count = 0;
    let mut random = Random::from_seed(testkit::seed(52));
    for seed in 0..testkit::share(30) as u64 {
        let (folder, mut machine, mut writer, _) = machine::folder(200 + seed);
        let mut recordings = open(folder.path());
        for _ in 0..2 {
            for host in recordings.hosts() {
                let expected = expected(&times(&recordings, host));
                count += expected.len();
                assert_eq!(
                    recordings.gaps(host, i64::MIN, i64::MAX).unwrap(),
                    expected,
                    "{seed} {host}"
                );
                let Some(gap) = expected.get(random.below(expected.len().max(1) as u64) as usize)
                else {
                    continue;
                };
                let inside = (gap.after_ns + 1, gap.after_ns + 2);
                assert_eq!(recordings.gaps(host, inside.0, inside.1).unwrap(), [*gap]);
                assert_eq!(recordings.gaps(host, gap.until_ns, gap.until_ns).unwrap(), []);
            }
            machine.pass(20);
            machine.record(&mut writer, 30);
            recordings.refresh(&Zoned::now()).unwrap();
        }
    }
    assert!(count > 20, "{count}");
}
