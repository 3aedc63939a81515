//! Sources and archives added and removed, rows added and taken away, files made from others:
//! the same words to this crate and to the installed rrdtool, the same bytes afterwards.
//!
//! Cases are random; the seed is printed and `WHIT_SEED` sets it.  `RRD_CASES` sets their number.

#![allow(clippy::print_stdout, reason = "the seed")]

use std::path::{Path, PathBuf};

use rrd::image::Image;

use testkit::share;

use crate::oracle::{Random, Theirs, name, ours, setting, words};

/// The first update of every file.
const START: i64 = 1_000_000_000;

/// Sources and archives of a random file.
struct Made {
    step: u64,
    sources: Vec<String>,
    archives: Vec<String>,
}

fn archive(random: &mut Random) -> String {
    let function = random.one_of(&["AVERAGE", "AVERAGE", "MIN", "MAX", "LAST"]);
    let xff = random.one_of(&["0", "0.5", "0.9"]);
    let steps = random.one_of(&["1", "1", "2", "3", "4", "6", "7"]);
    let rows = random.one_of(&["1", "2", "5", "8", "12", "20"]);
    format!("RRA:{function}:{xff}:{steps}:{rows}")
}

fn source(random: &mut Random, name: &str) -> String {
    let kind = random.one_of(&["GAUGE", "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER"]);
    format!("DS:{name}:{kind}:{}:U:U", random.one_of(&["20", "60", "600"]))
}

fn make(random: &mut Random, theirs: &mut Theirs, path: &Path) -> Made {
    let step = random.one_of(&[1, 5, 10, 60]);
    let names = ["a", "b", "c", "d"];
    let sources: Vec<String> =
        names[..1 + random.below(4) as usize].iter().map(|name| source(random, name)).collect();
    let mut archives: Vec<String> = (0..1 + random.below(4)).map(|_| archive(random)).collect();
    if random.below(5) == 0 {
        archives.push("RRA:HWPREDICT:12:0.1:0.0035:4".to_owned());
    }
    let mut line = words(&format!("create {} --start {START} --step {step}", name(path)));
    line.extend(sources.iter().chain(&archives).cloned());
    assert_eq!(theirs.run(&line), "OK\n", "{line:?}");
    let made = Made { step, sources, archives };
    update(random, theirs, path, &made, START);
    made
}

/// Some updates, from a time on; most files end within a row.
fn update(random: &mut Random, theirs: &mut Theirs, path: &Path, made: &Made, from: i64) -> i64 {
    let mut time = from;
    for number in 0..random.below(60) {
        time += match random.below(12) {
            0 => made.step as i64 * random.below(9) as i64 + 1,
            _ => 1 + random.below(made.step * 3 / 2) as i64,
        };
        let mut line = format!("update {} {time}", name(path));
        for source in &made.sources {
            let value = match random.below(10) {
                0 => "U".to_owned(),
                _ if source.contains("GAUGE") || source.contains("ABSOLUTE") => {
                    format!("{}.{}", random.below(500), random.below(100))
                }
                _ => format!("{}", number * 100 + random.below(90)),
            };
            line.push_str(&format!(":{value}"));
        }
        assert_eq!(theirs.run(&words(&line)), "OK\n", "{line}");
    }
    time
}

/// Words of `tune` that change the structure.
fn changes(random: &mut Random, made: &Made) -> Vec<String> {
    let mut all = Vec::new();
    for _ in 0..1 + random.below(3) {
        let archives = made.archives.len() as u64;
        match random.below(10) {
            0 => all.push(source(random, "n")),
            1 if made.sources.len() > 1 => all.push("DEL:a".to_owned()),
            2 => {
                let index = random.below(archives);
                let change = random.one_of(&["+3", "+1", "-1", "=7", "=4", "+20"]);
                // RRDtool mixes up the rows of the archives behind one that is removed.
                if change != "-1" || !made.archives[index as usize].ends_with(":1") {
                    all.push(format!("RRA#{index}:{change}"));
                }
            }
            3 => all.push(source(random, "m")),
            4 => all.push("RRA:HWPREDICT:10:0.1:0.0035:5".to_owned()),
            5 if archives > 1 && !made.archives[archives as usize - 1].contains("HW") => {
                all.push(format!("DELRRA:{}", archives - 1));
            }
            _ => all.push(archive(random)),
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Compares two files: all that is shown of them, and the bits of states and rows.  Unused
/// parameters of what rrdtool adds are left out: they are whatever lay in its memory.
fn assert_same_file(expected: &Path, found: &Path, what: &str) {
    let dump = |path: &Path| ours(&words(&format!("dump {}", name(path))));
    let info =
        |path: &Path| ours(&words(&format!("info {}", name(path)))).replace(&name(path), "FILE");
    for (expected, found) in [(dump(expected), dump(found)), (info(expected), info(found))] {
        let differs = expected.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(expected == found, "{what}: line {differs:?}");
    }
    let read = |path: &Path| Image::read(path).expect("a file");
    let (expected, found) = (read(expected), read(found));
    assert_eq!(expected.header.version, found.header.version, "{what}: version");
    assert_eq!(expected.header.primary, found.header.primary, "{what}: primary");
    assert_eq!(expected.header.current_row, found.header.current_row, "{what}: rows");
    let bits = |image: &Image| -> Vec<u64> {
        image.cells.iter().flatten().map(|cell| cell.to_bits()).collect()
    };
    assert_eq!(bits(&expected), bits(&found), "{what}: values");
    let states = expected.header.consolidation.iter().zip(&found.header.consolidation);
    for (index, (expected, found)) in states.enumerate() {
        assert_eq!(expected, found, "{what}: state {index}");
    }
}

struct Case {
    folder: tempfile::TempDir,
    random: Random,
    theirs: Theirs,
}

fn case(default: usize) -> Option<(Case, u64)> {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return None;
    }
    let seed = testkit::seed(20_261_123);
    let random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    Some((
        Case { folder, random, theirs: Theirs::start() },
        setting("RRD_CASES", share(default) as u64),
    ))
}

impl Case {
    fn path(&self, end: &str) -> PathBuf {
        self.folder.path().join(end)
    }
}

#[test]
fn structural_changes_give_the_same_bytes() {
    let Some((mut case, cases)) = case(300) else { return };
    for number in 0..cases {
        let (base, first, second) = (case.path("base"), case.path("ours"), case.path("theirs"));
        let _ = std::fs::remove_file(&base);
        let made = make(&mut case.random, &mut case.theirs, &base);
        let words = changes(&mut case.random, &made);
        let what = format!("case {number}: {:?} {:?}: {words:?}", made.sources, made.archives);
        // Both write to the same name, as the name decides where seasons are smoothed.
        let file = case.path("file");
        let mut line = vec!["tune".to_owned(), name(&file)];
        line.extend(words);
        std::fs::copy(&base, &file).expect("a copy");
        let expected = case.theirs.run(&line);
        std::fs::rename(&file, &second).expect("renamed");
        std::fs::copy(&base, &file).expect("a copy");
        let found = ours(&line);
        std::fs::rename(&file, &first).expect("renamed");
        assert_eq!(expected, found, "{what}");
        assert_same_file(&second, &first, &what);
    }
}

/// A source that may take its values from another one, of any or of one file.
fn mapped_source(random: &mut Random, index: u64, files: u64) -> String {
    let name = random.one_of(&["a", "b", "c", "x", "y"]);
    let from = match random.below(4) {
        0 => format!("={}", random.one_of(&["a", "b", "c", "d"])),
        1 => format!("={}[{}]", random.one_of(&["a", "b", "c"]), 1 + random.below(files)),
        _ => String::new(),
    };
    let source = source(random, &format!("{name}{index}{from}"));
    match from.is_empty() {
        true => source.replacen(&format!("{name}{index}"), name, 1),
        false => source,
    }
}

#[test]
fn files_made_from_others_are_the_same() {
    let Some((mut case, cases)) = case(200) else { return };
    for number in 0..cases {
        let files = 1 + case.random.below(2);
        let mut made = Vec::new();
        let mut line = vec!["create".to_owned(), "FILE".to_owned()];
        for file in 1..=files {
            let path = case.path(&format!("source{file}"));
            let _ = std::fs::remove_file(&path);
            made.push(make(&mut case.random, &mut case.theirs, &path));
            line.extend(["--source".to_owned(), name(&path)]);
        }
        if case.random.below(4) == 0 {
            line.extend(["--template".to_owned(), name(&case.path("source1"))]);
        } else {
            let step = case.random.one_of(&[1, 3, 5, 7, 10, 20, 60, 100]);
            line.extend(["--step".to_owned(), step.to_string()]);
            let mut names = Vec::new();
            for index in 0..1 + case.random.below(3) {
                let source = mapped_source(&mut case.random, index, files);
                let own = source[3..].split([':', '=']).next().expect("a name").to_owned();
                if !names.contains(&own) {
                    line.push(source);
                    names.push(own);
                }
            }
            for _ in 0..1 + case.random.below(3) {
                line.push(archive(&mut case.random));
            }
        }
        if case.random.below(4) == 0 {
            line.extend(["--start".to_owned(), (START + 50).to_string()]);
        }
        let (first, second) = (case.path("ours"), case.path("theirs"));
        let run = |path: &Path| -> Vec<String> {
            line.iter().map(|word| word.replace("FILE", &name(path))).collect()
        };
        let what = format!(
            "case {number}: {:?} {line:?}",
            made.iter().map(|one| (&one.step, &one.sources, &one.archives)).collect::<Vec<_>>()
        );
        let expected = case.theirs.run(&run(&second));
        assert_eq!(expected, ours(&run(&first)), "{what}");
        if expected == "OK\n" {
            assert_same_rows(&second, &first, &what);
        }
    }
}

/// Compares two files whose rows begin anywhere.
fn assert_same_rows(expected: &Path, found: &Path, what: &str) {
    let dump = |path: &Path| ours(&words(&format!("dump {}", name(path))));
    let (text, other) = (dump(expected), dump(found));
    let differs = text.lines().zip(other.lines()).enumerate().find(|(_, (a, b))| a != b);
    assert!(text == other, "{what}: line {differs:?}");
    let read = |path: &Path| Image::read(path).expect("a file");
    let (expected, found) = (read(expected), read(found));
    assert_eq!(expected.header.primary, found.header.primary, "{what}: primary");
    assert_eq!(expected.header.consolidation, found.header.consolidation, "{what}: states");
}
