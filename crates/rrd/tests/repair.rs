//! Damaged files are mended: never a panic, the result is sound, and what was not damaged is kept.
//!
//! Damages are random; the seed is printed and `WHIT_SEED` sets it.  `RRD_CASES` sets their number.

#![allow(clippy::print_stdout, reason = "the seed")]

use std::path::Path;

use rrd::check;
use rrd::create::{Options, create};
use rrd::dump::{Heading, dump};
use rrd::header::{Time, archive_value, primary_value};
use rrd::image::Image;
use rrd::repair::{self, Repaired, repair_bytes};
use rrd::tune;
use rrd::update::{Moments, update};
use rrd::{Access, File};

use testkit::share;

use crate::oracle::{Random, name, ours, setting, words};

/// Later than all updates.
const NOW: i64 = 1_700_000_000;

struct Unknown;

impl Moments for Unknown {
    fn now(&self) -> Time {
        Time::of_seconds(NOW)
    }

    fn parse(&self, words: &str) -> Result<i64, String> {
        Err(words.to_owned())
    }
}

fn options() -> repair::Options {
    repair::Options { now: NOW, step_seconds: None, bytes_max: 1 << 24, locking: rrd::Locking::Try }
}

/// A file with readings in all of its rows.
fn file(random: &mut Random, path: &Path) -> Image {
    let mut definitions = vec![
        "DS:in:COUNTER:600:0:U",
        "DS:out:GAUGE:600:U:U",
        "DS:sum:COMPUTE:out,2,*",
        "RRA:AVERAGE:0.5:1:40",
        "RRA:MAX:0.25:3:20",
        "RRA:AVERAGE:0.5:4:12",
    ];
    if random.below(2) == 0 {
        definitions.push("RRA:HWPREDICT:30:0.1:0.0035:6");
    }
    let made = Options { start: Some(1_000_000_000), step_seconds: Some(10), ..Options::default() };
    create(path, &made, &definitions, 0).expect("a file");
    let mut time = 1_000_000_000;
    let mut counter = 0;
    for _ in 0..100 + random.below(60) {
        time += 5 + random.below(8);
        counter += random.below(5000);
        let text = format!("{time}:{counter}:{}.{}", random.below(90_000), random.below(100));
        let arguments = [text.as_bytes()];
        update(path, &rrd::update::Options::default(), &arguments, &Unknown, None).expect("done");
    }
    Image::read(path).expect("a file")
}

fn mended(bytes: &[u8]) -> Result<Repaired, rrd::Error> {
    repair_bytes(bytes.to_vec(), NOW - 1000, &options())
}

/// The result is sound, opens, and takes an update.
fn assert_sound(repaired: &Repaired, path: &Path, what: &str) {
    repaired.image.write(path).expect("written");
    let findings = check::check(path, NOW).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(findings.is_empty(), "{what}: {findings:?}");
    let text = ours(&words(&format!("dump {}", name(path))));
    assert!(text.ends_with("OK\n"), "{what}");
    let sources = repaired.image.header.sources.iter();
    let given = sources.filter(|source| source.kind != rrd::header::SourceKind::Compute).count();
    let line = format!("{}{}", NOW, ":1".repeat(given));
    let done = update(path, &rrd::update::Options::default(), &[line.as_bytes()], &Unknown, None);
    if let Err(error) = done {
        panic!("{what}: {error}");
    }
}

fn same_rows(image: &Image, repaired: &Image, archive: usize) -> bool {
    let bits = |image: &Image| image.cells[archive].iter().map(|cell| cell.to_bits()).collect();
    let (one, other): (Vec<u64>, Vec<u64>) = (bits(image), bits(repaired));
    one == other && image.header.current_row[archive] == repaired.header.current_row[archive]
}

fn run(default: usize, mut test: impl FnMut(&mut Random, &Path, u64)) {
    let seed = testkit::seed(20_261_123);
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    for case in 0..setting("RRD_CASES", share(default) as u64) {
        let path = folder.path().join("file.rrd");
        test(&mut random, &path, case);
    }
}

#[test]
fn a_sound_file_is_not_changed() {
    run(20, |random, path, _| {
        let image = file(random, path);
        let repaired = repair::repair(path, &options()).expect("mended");
        assert_eq!(repaired.changes, Vec::<String>::new());
        assert_eq!(repaired.image.to_bytes(), image.to_bytes());
    });
}

#[test]
fn a_cut_file_keeps_the_rows_that_are_there() {
    run(60, |random, path, case| {
        let image = file(random, path);
        let bytes = image.to_bytes();
        let cells: usize = image.cells.iter().map(Vec::len).sum();
        let header = bytes.len() - cells * 8;
        let length = random.below(bytes.len() as u64) as usize;
        let what = format!("case {case}: {length} of {} bytes", bytes.len());
        let repaired = match mended(&bytes[..length]) {
            Ok(repaired) => repaired,
            Err(error) => {
                // Only what is cut within its definitions is lost.
                assert!(length < header, "{what}: {error}");
                return;
            }
        };
        assert!(!repaired.changes.is_empty(), "{what}");
        assert_sound(&repaired, path, &what);
        if length >= header {
            let there = (length - header) / 8;
            let bits = |image: &Image| -> Vec<u64> {
                image.cells.iter().flatten().take(there).map(|cell| cell.to_bits()).collect()
            };
            assert_eq!(bits(&image), bits(&repaired.image), "{what}");
            assert_eq!(image.header.current_row, repaired.image.header.current_row, "{what}");
        }
    });
}

/// One damage.
fn damage(random: &mut Random, image: &Image, bytes: &mut Vec<u8>) -> String {
    let sources = image.header.sources.len();
    let archives = image.header.archives.len();
    let archive = random.below(archives as u64) as usize;
    let source_at = 128 + 120 * random.below(sources as u64) as usize;
    let archive_at = 128 + 120 * sources + 120 * archive;
    let live = 128 + 120 * (sources + archives);
    let primary = live + 16 + 112 * random.below(sources as u64) as usize;
    let state = live + 16 + 112 * sources + 80 * archive * sources;
    let pointer = live + 16 + 112 * sources + 80 * archives * sources + 8 * archive;
    let mut put = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    let huge = random.bits() | 1 << 60;
    match random.below(17) {
        0 => bytes[..4].fill(0),
        1 => bytes[4..9].copy_from_slice(b"\xff003\0"),
        2 => put(16, huge),
        3 => put(24, huge),
        4 => put(32, 0),
        5 => bytes[source_at] = 0xff,
        6 => bytes[source_at + 20 + random.below(4) as usize] ^= 0x10,
        7 => bytes[archive_at] ^= 0x20,
        8 => put(archive_at + 24, [0, huge][random.below(2) as usize]),
        9 => put(live, (NOW + 5_000_000) as u64),
        10 => put(primary + 32, huge),
        11 => put(primary + 40, f64::INFINITY.to_bits()),
        12 if archive < 3 => put(state + 8, huge),
        13 if archive < 3 => put(pointer, huge),
        14 => bytes.extend_from_slice(&vec![7; 1 + random.below(5000) as usize]),
        15 => bytes[primary..primary + 30].fill(b'x'),
        // Of the last archive, and where nothing is known behind, a file that is cut off looks the
        // same.
        _ if archive == 0 => {
            put(archive_at + 24, image.header.archives[archive].rows + 1 + random.below(9));
        }
        _ => put(24, 1),
    }
    format!("archive {archive}")
}

#[test]
fn one_damage_in_the_header_loses_no_row() {
    run(300, |random, path, case| {
        let image = file(random, path);
        let mut bytes = image.to_bytes();
        let what = damage(random, &image, &mut bytes);
        let at = image.to_bytes().iter().zip(&bytes).position(|(a, b)| a != b);
        let what = format!("case {case}: {what}, byte {at:?}");
        let repaired = mended(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_sound(&repaired, path, &what);
        let is_harmless = bytes == image.to_bytes();
        assert!(is_harmless || !repaired.changes.is_empty(), "{what}: nothing was said");
        let found = &repaired.image;
        assert_eq!(image.header.archives.len(), found.header.archives.len(), "{what}");
        for (index, archive) in image.header.archives.iter().enumerate() {
            let other = &found.header.archives[index];
            assert_eq!(archive.function, other.function, "{what}");
            assert_eq!((archive.rows, archive.steps_per_row), (other.rows, other.steps_per_row));
            let is_all_unknown = image.cells[index].iter().all(|cell| cell.is_nan());
            let said = &repaired.changes;
            assert!(is_all_unknown || same_rows(&image, found, index), "{what}: {index} {said:?}");
        }
    });
}

#[test]
fn any_damage_ends_in_a_sound_file_or_an_error() {
    run(1500, |random, path, case| {
        if case % 100 == 0 {
            file(random, path);
            std::fs::copy(path, path.with_extension("base")).expect("a copy");
        }
        let mut bytes = std::fs::read(path.with_extension("base")).expect("a file");
        for _ in 0..1 + random.below(6) {
            let at = random.below(bytes.len().min(4000) as u64) as usize;
            let length = (random.below(24) as usize).min(bytes.len() - at);
            match random.below(5) {
                0 => bytes[at] = random.bits() as u8,
                1 => bytes[at] ^= 1 << random.below(8),
                2 => bytes[at..at + length].fill(random.one_of(&[0, 0xff])),
                3 => drop(bytes.drain(at..at + length)),
                _ => bytes.truncate(bytes.len() - random.below(bytes.len() as u64) as usize / 4),
            }
        }
        let what = format!("case {case}");
        if let Ok(repaired) = mended(&bytes) {
            assert_sound(&repaired, path, &what);
        }
    });
}

#[test]
fn what_is_mended_is_named() {
    run(1, |random, path, _| {
        let image = file(random, path);
        let mut broken = image.clone();
        broken.header.last_update = Time::of_seconds(NOW + 10);
        broken.header.primary[1].values[primary_value::UNKNOWN_SECONDS] = 11;
        broken.header.archives[1].values[archive_value::XFILES_FACTOR] = f64::NAN.to_bits();
        broken.header.sources[2].name = "in".to_owned();
        broken.write(path).expect("written");
        let run = |line: &str| ours(&words(&line.replace("FILE", &name(path))));
        assert!(run("check FILE").ends_with("ERROR: 4 faults\n"), "{}", run("check FILE"));
        let before = std::fs::read(path).expect("the file");
        let _ = std::fs::remove_file(format!("{}.new", name(path)));
        let text = run("repair FILE FILE.new");
        assert!(text.contains("a second data source in is named ds2 now"), "{text}");
        assert!(text.contains("rra 1 had an xff of NaN: it is 0.5 now"), "{text}");
        assert!(text.contains("the last update was at 1700000010"), "{text}");
        assert_eq!(std::fs::read(path).expect("the file"), before, "the original stays");
        assert!(run("check FILE.new").contains("sound"));
        assert!(run("repair FILE FILE.new").contains("File exists"));
        assert!(run("repair --in-place FILE").ends_with("OK\n"));
        assert!(run("check FILE").contains("sound"));
    });
}

#[test]
fn a_lost_step_has_to_be_given() {
    run(1, |random, path, _| {
        let mut bytes = file(random, path).to_bytes();
        bytes[40..48].fill(0);
        let error = mended(&bytes).expect_err("no step").to_string();
        assert!(error.contains("--step"), "{error}");
        let given = repair::Options { step_seconds: Some(10), ..options() };
        let repaired = repair_bytes(bytes, NOW, &given).expect("mended");
        assert_sound(&repaired, path, "a given step");
    });
}

/// RRDtool walks over the memory behind the state of such a window.
#[test]
fn a_window_without_room_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("window.rrd");
    let options = Options { start: Some(1_000_000_000), ..Options::default() };
    create(&path, &options, &["DS:x:GAUGE:600:U:U", "RRA:HWPREDICT:60:0.1:0.003:12"], NOW).unwrap();
    let mut image = Image::of(&File::open(&path, Access::Read).unwrap()).unwrap();
    let failures = image.header.archives.len() - 1;
    for (window, fits) in [(80, true), (81, false), (50_000, false), (u64::MAX, false)] {
        image.header.archives[failures].values[archive_value::WINDOW] = window;
        image.write(&path).unwrap();
        let file = File::open(&path, Access::Read).unwrap();
        let dumped = dump::<rrd::Error>(&file, Heading::None, &calendar::UTC, |_| Ok(()));
        assert_eq!(dumped.is_ok(), fits, "{window}");
        for (letter, value) in [('b', "x"), ('f', "3")] {
            let changed = tune::change(&mut image.clone(), letter, value);
            assert_eq!(changed.is_ok(), fits, "{letter} {window}");
        }
        // A new length mends it.
        tune::change(&mut image.clone(), 'w', "9").unwrap();
    }
}

#[test]
fn a_file_that_could_not_be_read_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.rrd");
    for (step_seconds, archive) in [
        (u64::MAX, "RRA:AVERAGE:0.5:1:10"),
        (1, "RRA:AVERAGE:0.5:99999999999999999999:10"),
        (1 << 50, "RRA:AVERAGE:0.5:1:100000"),
    ] {
        let options = Options { step_seconds: Some(step_seconds), ..Options::default() };
        let made = create(&path, &options, &["DS:x:GAUGE:600:U:U", archive], NOW);
        let text = made.unwrap_err().to_string();
        assert!(text.ends_with("are too long a time"), "{text}");
        assert!(!path.exists());
    }
}
