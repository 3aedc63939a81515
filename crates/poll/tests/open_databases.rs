//! Databases that stay open between rounds: the same rows as in those that are opened in each, also
//! when a file is removed, replaced, changed, or cut in between.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

use std::cell::Cell;
use std::fs;
use std::path::Path;

use poll::round::{Asker, RoundSettings, Rounds};
use poll::{Config, LoadEnvironment, QueryAnswer};

/// Leaves every answer to the programs.
struct NoDevices;

impl Asker for NoDevices {
    fn ask(
        &mut self,
        config: &Config,
        _: &dyn Fn() -> i64,
        _: &mut dyn FnMut(String),
    ) -> Vec<QueryAnswer> {
        vec![QueryAnswer::default(); config.queries.len()]
    }
}

fn settings() -> RoundSettings {
    RoundSettings {
        environment: vec![b"PATH=/usr/bin:/bin".to_vec()],
        config_name: "mrtg.cfg".into(),
        is_log_only: true,
        time_zone: jiff::tz::TimeZone::UTC,
        own_name: "here".into(),
    }
}

/// How files stay open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// So many between rounds.
    Kept(usize),
    /// Each round is the last of its process.
    LastRound,
}

/// The time of a round, in seconds since 1970.
fn time(round: i64) -> i64 {
    1_700_000_000 + round * 300
}

/// Makes rounds in a folder; `between` is called before each.  Returns what was said.
fn make_rounds(folder: &Path, way: Way, between: &dyn Fn(&Path, i64)) -> Vec<String> {
    let mut text = format!("WorkDir: {}\nLogFormat: rrdtool\n", folder.display());
    for name in ["a", "b", "c"] {
        text.push_str(&format!(
            "Target[{name}]: `cat {}/number; echo 7`\nMaxBytes[{name}]: 1000\nTitle[{name}]: t\n\
             PageTop[{name}]: t\nOptions[{name}]: gauge\n",
            folder.display()
        ));
    }
    let path = folder.join("mrtg.cfg");
    fs::write(&path, text).unwrap();
    let loading = Config::load(&path, &LoadEnvironment::default());
    let config = loading.config.unwrap_or_else(|| panic!("{:?}", loading.problems));
    let mut rounds = Rounds::new(settings());
    let now = Cell::new(0);
    let mut said = Vec::new();
    for round in 0..ROUNDS {
        if way == Way::LastRound {
            rounds = Rounds::new(settings());
        }
        match way {
            Way::Kept(most) => rounds.keep_open(most, false),
            Way::LastRound => rounds.keep_open(2, true),
        }
        now.set(time(round));
        fs::write(folder.join("number"), format!("{}\n", round * 10)).unwrap();
        between(folder, round);
        let say = &mut |line: String| said.push(line.replace(&folder.display().to_string(), ""));
        let report = rounds.round(&config, &mut NoDevices, &|| now.get() * 1_000_000_000, say);
        assert_eq!(report.known_count, 3);
    }
    said
}

/// Rounds of a test.
const ROUNDS: i64 = 14;

/// What other programs do before a round.
fn others(folder: &Path, round: i64) {
    let path = |name: &str| folder.join(name);
    match round {
        1 => fs::copy(path("a.rrd"), path("first")).map(drop).unwrap(),
        3 => fs::remove_file(path("b.rrd")).unwrap(),
        // Another file by the same name, with a limit that has to be set again.
        4 => {
            let mut image = rrd::image::Image::read(&path("first")).unwrap();
            rrd::tune::change(&mut image, 'a', "ds0:5").unwrap();
            image.write(&path("first")).unwrap();
            fs::rename(path("first"), path("a.rrd")).unwrap();
        }
        // An update of the same file, and one that is later than the round's.
        6 => update(&path("c.rrd"), time(round) - 100),
        8 => update(&path("c.rrd"), time(round) + 100),
        // Other bytes in the same file.
        9 => fs::write(path("a.rrd"), fs::read(path("b.rrd")).unwrap()).unwrap(),
        10 => {
            let file = fs::OpenOptions::new().write(true).open(path("b.rrd")).unwrap();
            file.set_len(file.metadata().unwrap().len() - 8).unwrap();
        }
        11 => fs::remove_file(path("b.rrd")).unwrap(),
        // More rows in the same file.
        12 => {
            let definitions = ["DS:ds0:GAUGE:600:0:1000", "DS:ds1:GAUGE:600:0:1000", ROWS];
            let options = rrd::create::Options { start: Some(time(10)), ..Default::default() };
            rrd::create::create(&path("large"), &options, &definitions, time(10)).unwrap();
            fs::write(path("c.rrd"), fs::read(path("large")).unwrap()).unwrap();
        }
        _ => {}
    }
}

/// An archive that is larger than all of a target.
const ROWS: &str = "RRA:AVERAGE:0.5:1:20000";

/// The time of an update is always in numbers.
struct NoWords;

impl rrd::update::Moments for NoWords {
    fn now(&self) -> rrd::header::Time {
        rrd::header::Time::of_seconds(0)
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(words.to_owned())
    }
}

fn update(path: &Path, time_s: i64) {
    let argument = format!("{time_s}:500:600");
    let options = rrd::update::Options::default();
    rrd::update::update(path, &options, &[argument.as_bytes()], &NoWords, None).unwrap();
}

#[test]
fn files_that_stay_open_are_as_those_that_do_not() {
    let ways = [Way::Kept(0), Way::Kept(2), Way::Kept(10), Way::LastRound];
    let runs = ways.map(|way| {
        let folder = tempfile::tempdir().unwrap();
        let said = make_rounds(folder.path(), way, &others);
        (folder, way, said)
    });
    // Where the rows of a new file begin is random, so they are compared in the order of time.
    let rows = |folder: &Path, name: &str| {
        let file = rrd::File::open(&folder.join(name), rrd::Access::Read).unwrap();
        let mut values = Vec::new();
        for archive in 0..file.header().archives.len() {
            let cells = file.read_in_order(archive).unwrap();
            values.extend(cells.iter().map(|value| value.to_bits()));
        }
        let limits: Vec<u64> =
            file.header().sources.iter().map(|source| source.maximum().to_bits()).collect();
        (file.header().last_update, limits, values)
    };
    let first = &runs[0];
    assert_eq!(first.2.len(), 2, "{:?}", first.2);
    assert!(first.2[0].contains("minimum one second step"), "{}", first.2[0]);
    assert!(first.2[1].contains("too small"), "{}", first.2[1]);
    for (folder, way, said) in &runs {
        assert_eq!(*said, first.2, "{way:?}");
        for name in ["a.rrd", "b.rrd", "c.rrd"] {
            let expected = rows(first.0.path(), name);
            assert!(expected.2.iter().any(|bits| f64::from_bits(*bits) == 7.0), "{name} is empty");
            // The others do not look at the limits of a file again.
            let (last_update, limits, values) = rows(folder.path(), name);
            assert_eq!((last_update, values), (expected.0, expected.2), "{name}, {way:?}");
            assert!(limits.iter().all(|limit| f64::from_bits(*limit) == 1000.0), "{name}");
        }
    }
}
