//! Log files beside MRTG's own program for them, `rateup`: the same readings, the same bytes, also
//! after damage.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use poll::log_file::{Counting, Error, LogFiles, LogProblem, LogReading};
use testkit::Random;

/// The letter by which `rateup` knows a way of counting.
fn letter(counting: Counting) -> &'static str {
    match counting {
        Counting::PerSecond | Counting::Derive => "u",
        Counting::PerMinute => "m",
        Counting::PerHour => "h",
        Counting::Absolute => "a",
        Counting::Gauge => "g",
    }
}

fn rateup(folder: &Path, reading: &LogReading) {
    let value = |value: Option<i128>| value.unwrap_or(-1).to_string();
    let output = Command::new("rateup")
        .arg(folder)
        .args(["device", &reading.time.to_string()])
        .arg(if reading.unknown_as_zero { "-z" } else { "-Z" })
        .arg(letter(reading.counting))
        .args([value(reading.input), value(reading.output), reading.rate_max.to_string()])
        .output();
    output.expect("rateup");
}

struct Pair {
    theirs: tempfile::TempDir,
    ours: tempfile::TempDir,
    files: LogFiles,
}

impl Pair {
    fn new() -> Self {
        let folder = || tempfile::tempdir().expect("a folder");
        Pair { theirs: folder(), ours: folder(), files: LogFiles::new() }
    }

    fn ours(&self) -> PathBuf {
        self.ours.path().join("device.log")
    }

    fn update(&mut self, reading: &LogReading) -> Result<Option<LogProblem>, Error> {
        rateup(self.theirs.path(), reading);
        let path = self.ours();
        self.files.update(&path, reading).map(|updated| updated.problem)
    }

    /// Changes both copies in the same way.
    fn damage(&self, name: &str, change: impl Fn(&mut Vec<u8>)) {
        for folder in [&self.theirs, &self.ours] {
            let path = folder.path().join(name);
            if let Ok(mut text) = fs::read(&path) {
                change(&mut text);
                fs::write(&path, text).expect("written");
            }
        }
    }

    fn remove(&self, name: &str) {
        for folder in [&self.theirs, &self.ours] {
            let _ = fs::remove_file(folder.path().join(name));
        }
    }

    fn assert_equal(&self, case: &str) {
        for name in ["device.log", "device.old"] {
            let read = |folder: &Path| fs::read(folder.join(name)).unwrap_or_default();
            let (theirs, ours) = (read(self.theirs.path()), read(self.ours.path()));
            if theirs == ours {
                continue;
            }
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (theirs, ours) = (text(&theirs), text(&ours));
            let different = theirs.lines().zip(ours.lines()).enumerate().find(|(_, (a, b))| a != b);
            panic!(
                "{case}: {name} differs: {} and {} lines, first difference (theirs, ours): \
                 {different:?}",
                theirs.lines().count(),
                ours.lines().count()
            );
        }
        let rest: Vec<_> = fs::read_dir(self.ours.path())
            .expect("a folder")
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .filter(|name| name != "device.log" && name != "device.old")
            .collect();
        assert!(rest.is_empty(), "{case}: left behind: {rest:?}");
    }
}

/// A counter that a device could show, and what disturbs it.
struct Counter {
    value: i128,
    bits: u32,
}

impl Counter {
    fn new(random: &mut Random) -> Self {
        let bits = if random.below(2) == 0 { 32 } else { 64 };
        let mut value = i128::from(random.below(1 << 31)) << (bits - 32);
        if random.below(3) == 0 {
            value = (1_i128 << bits) - 1 - i128::from(random.below(100_000_000));
        }
        Counter { value, bits }
    }

    fn next(&mut self, random: &mut Random, seconds: i64) -> Option<i128> {
        let rate = match random.below(4) {
            0 => 0,
            1 => random.below(1_000),
            2 => random.below(10_000_000),
            _ => random.below(1 << 31),
        };
        self.value += i128::from(rate) * i128::from(seconds.max(1)) / 3;
        self.value %= 1_i128 << self.bits;
        match random.below(25) {
            0 => self.value = i128::from(random.below(1_000)),
            1 => return None,
            2 => return Some(-self.value),
            _ => {}
        }
        Some(self.value)
    }
}

fn seconds_to_next(random: &mut Random) -> i64 {
    let part = random.below(1_000) as i64;
    match random.below(20) {
        0..12 => 300,
        12..15 => 295 + part % 11,
        15 => 1 + part * 4,
        16 => 3_600 * (1 + part % 40),
        17 => 86_400 * (1 + part % 40) + part,
        18 => 60,
        _ => part % 3 - 1,
    }
}

const COUNTINGS: [Counting; 6] = [
    Counting::PerSecond,
    Counting::PerSecond,
    Counting::PerMinute,
    Counting::PerHour,
    Counting::Absolute,
    Counting::Gauge,
];

fn run(seed: u64, updates: usize, is_damaged: bool) {
    let mut random = Random::from_seed(seed);
    let mut pair = Pair::new();
    let mut time = 1_600_000_000 + random.below(200_000_000) as i64;
    let mut counters = [Counter::new(&mut random), Counter::new(&mut random)];
    let counting = COUNTINGS[random.below(6) as usize];
    let rate_max = [1_250_000, 125_000_000, i64::MAX, 0][random.below(4) as usize];
    let unknown_as_zero = random.below(2) == 0;
    for number in 0..updates {
        let seconds = seconds_to_next(&mut random);
        time += seconds;
        let [input, output] = counters.each_mut().map(|one| one.next(&mut random, seconds));
        let reading = LogReading {
            time,
            input,
            output,
            rate_max,
            counting,
            unknown_as_zero,
            was_reset: false,
            up_s: None,
        };
        if is_damaged && random.below(4) == 0 {
            damage_files(&pair, &mut random);
        }
        let done = pair.update(&reading);
        pair.assert_equal(&format!("seed {seed}, update {number}, {reading:?}: {done:?}"));
    }
}

fn lines_of(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn damage_files(pair: &Pair, random: &mut Random) {
    let (place, kind) = (random.below(60_000) as usize, random.below(9));
    let name = if random.below(3) == 0 { "device.old" } else { "device.log" };
    match kind {
        0 => pair.damage(name, |text| text.truncate(place)),
        1 => pair.damage(name, Vec::clear),
        2 => pair.remove(name),
        3 => pair.damage(name, |text| {
            // An older line before a newer one.
            let mut lines = lines_of(text);
            let at = (place % lines.len().max(1)).max(1);
            if at + 1 < lines.len() {
                lines.swap(at, at + 1);
            }
            *text = lines.concat();
        }),
        4 => pair.damage(name, |text| {
            // A line of an old version: without maxima.
            let mut lines = lines_of(text);
            let at = (place % lines.len().max(1)).max(1);
            if let Some(line) = lines.get_mut(at) {
                let whole = String::from_utf8_lossy(line).into_owned();
                let words: Vec<&str> = whole.split_whitespace().take(3).collect();
                *line = format!("{}\n", words.join(" ")).into_bytes();
            }
            *text = lines.concat();
        }),
        5 => pair.damage(name, |text| {
            let mut lines = lines_of(text);
            lines.insert((place % lines.len().max(1)).min(lines.len()), b"\n".to_vec());
            *text = lines.concat();
        }),
        6 => pair.damage(name, |text| {
            // Lines missing in the middle.
            let mut lines = lines_of(text);
            let at = (place % lines.len().max(1)).max(1).min(lines.len());
            lines.drain(at..(at + place % 7).min(lines.len()));
            *text = lines.concat();
        }),
        7 => pair.damage(name, |text| {
            if let Some(byte) = text.get_mut(place) {
                *byte = b'x';
            }
        }),
        _ => pair.damage(name, |text| text.extend_from_slice(b"0 0 0 0 0\n\n12")),
    }
}

#[test]
fn files_equal_those_of_rateup() {
    if !testkit::is_installed("log files beside rateup", "rateup") {
        return;
    }
    for seed in testkit::share_of((0..12).collect()) {
        run(seed, 30, false);
    }
}

#[test]
fn files_that_were_damaged_equal_those_of_rateup() {
    if !testkit::is_installed("log files beside rateup", "rateup") {
        return;
    }
    for seed in testkit::share_of((100..112).collect()) {
        run(seed, 30, true);
    }
}

fn reading(time: i64, value: i128) -> LogReading {
    LogReading {
        time,
        input: Some(value),
        output: Some(value),
        rate_max: 1_000_000,
        counting: Counting::PerSecond,
        unknown_as_zero: false,
        was_reset: false,
        up_s: None,
    }
}

#[test]
fn a_file_that_cannot_be_written_stays_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("none").join("device.log");
    let error = LogFiles::new().update(&path, &reading(1_700_000_000, 1)).expect_err("no folder");
    assert!(matches!(error, Error::Write { .. }), "{error}");
    assert!(error.to_string().contains("device.log"));
}

#[test]
fn an_earlier_time_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("device.log");
    let mut files = LogFiles::new();
    let first = files.update(&path, &reading(1_700_000_000, 1)).expect("begun");
    assert_eq!(first.problem, Some(LogProblem::Created));
    let before = fs::read(&path).expect("a file");
    let error = files.update(&path, &reading(1_699_999_999, 1)).expect_err("too early");
    assert!(matches!(error, Error::TimeWentBack { last: 1_700_000_000, .. }));
    assert_eq!(fs::read(&path).expect("a file"), before);
}

#[test]
fn the_backup_is_read_when_the_file_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("device.log");
    let mut files = LogFiles::new();
    for number in 0..3 {
        let reading = reading(1_700_000_000 + 300 * number, 3_000 * i128::from(number));
        files.update(&path, &reading).expect("updated");
    }
    fs::write(&path, "").expect("emptied");
    assert_eq!(files.read(&path).expect("the backup").at(0).time, 1_700_000_300);
    let updated = files.update(&path, &reading(1_700_000_900, 9_000)).expect("updated");
    assert_eq!((updated.problem, updated.rates), (Some(LogProblem::BackupUsed), (10, 10)));
}
