//! What configurations mean: every setting, query and result is that of MRTG's own library, on random
//! configurations of every form: files that include files, continued lines, defaults, prefixes and
//! postfixes, targets with selectors, escapes, methods, arithmetic and conversions.
//!
//! Perl loads `MRTG_lib` once and prints all that it has read; ours is printed in the same lines.

#![allow(clippy::unwrap_used, reason = "all of it is tests, helpers too")]

mod print;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use poll::{Config, LoadEnvironment};
use testkit::{Random, is_long, seed, share, skip};

use write::Writer;

const SEED: u64 = 15;
/// In a long run; a short one has a tenth of them.
const CASES: usize = 400;

/// What is printed of each file by MRTG's library.
fn theirs(folder: &Path, names: &[String]) -> Vec<String> {
    let list = folder.join("list");
    std::fs::write(&list, names.join("\n")).unwrap();
    let output = Command::new("perl")
        .args(["-e", include_str!("meaning/read.pl")])
        .stdin(std::fs::File::open(&list).unwrap())
        .env("LANG", "C")
        .env("LC_ALL", "C")
        .env_remove("RRDCACHED_ADDRESS")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_terminator("--\n").map(str::to_owned).collect()
}

/// Lines by what they are about, which the first two words say.  A target without a result may ask
/// anything.
fn by_subject(text: &str) -> HashMap<String, Vec<&str>> {
    let mut lines: HashMap<String, Vec<&str>> = HashMap::new();
    for line in text.lines() {
        let subject: Vec<&str> = line.splitn(3, ' ').take(2).collect();
        lines.entry(subject.join(" ")).or_default().push(line);
    }
    let none = text.lines().filter(|line| line.ends_with(" result 'wrong'") || is_unknown(line));
    for line in none {
        let name = line.split(' ').next().unwrap_or_default();
        lines.remove(&format!("{name} asks"));
        lines.remove(&format!("{name} result"));
    }
    lines
}

fn is_unknown(line: &str) -> bool {
    line.ends_with(" result 'unknown'")
}

/// The first difference.
fn difference(path: &Path, theirs: &str) -> Option<String> {
    let loading = Config::load(path, &LoadEnvironment::default());
    let errors: Vec<String> =
        loading.problems.iter().filter(|one| one.is_error).map(ToString::to_string).collect();
    let Some(config) = &loading.config else {
        let why = errors.join("; ");
        // What is Perl, and gives something, is refused by name.
        let is_perl =
            theirs.lines().any(|line| line.contains(" result ") && !line.ends_with("'wrong'"));
        let is_by_name = errors.iter().all(|error| error.contains("cannot be used in a target"));
        let is_stricter = errors.iter().all(|error| is_refused_by_ours_alone(error));
        let is_meant = theirs.starts_with("no ") || is_perl && is_by_name || is_stricter;
        return (!is_meant).then(|| format!("ours is refused: {why}"));
    };
    if theirs.starts_with("no ") {
        return Some(format!("theirs is refused: {theirs}"));
    }
    let printed = print::config(config);
    let (ours, theirs) = (by_subject(&printed), by_subject(theirs));
    let all = theirs.keys().chain(ours.keys());
    let mut different: Vec<String> = all
        .filter(|subject| ours.get(*subject) != theirs.get(*subject))
        .map(|subject| format!("theirs {:?}\nours   {:?}", theirs.get(subject), ours.get(subject)))
        .collect();
    different.sort();
    (!different.is_empty()).then(|| different.join("\n"))
}

/// Whether an error is about a part of a device's text that MRTG takes for another one.
fn is_refused_by_ours_alone(error: &str) -> bool {
    const PARTS: [&str; 6] = [
        "is no port",
        "is no local address",
        "is no number",
        "is no whole number",
        "there is no version",
        "has no meaning",
    ];
    PARTS.iter().any(|part| error.contains(part))
}

/// Compares so many configurations; `odd` of them may differ.
fn compare(seed: u64, cases: usize, odd: usize, write: impl Fn(&mut Writer)) {
    let has_library = Command::new("perl").args(["-e", "use MRTG_lib; use RRDs;"]).output();
    if !has_library.is_ok_and(|output| output.status.success()) {
        skip("mrtg", "its library for Perl is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::from_seed(seed);
    let mut names = Vec::new();
    for case in 0..cases {
        let own = folder.path().join(case.to_string());
        std::fs::create_dir(&own).unwrap();
        let mut writer = Writer::new(random, own.clone());
        write(&mut writer);
        random = writer.finish();
        names.push(own.join("mrtg.cfg").display().to_string());
    }
    let theirs = theirs(folder.path(), &names);
    assert_eq!(theirs.len(), cases, "seed {seed}");
    let taken = theirs.iter().filter(|text| !text.starts_with("no ")).count();
    let wrong: Vec<String> = names
        .iter()
        .zip(&theirs)
        .filter_map(|(name, theirs)| {
            let text = std::fs::read_to_string(name).unwrap();
            difference(Path::new(name), theirs).map(|what| format!("--- {name}\n{text}{what}\n"))
        })
        .collect();
    let shown = wrong.iter().take(8).cloned().collect::<String>();
    assert!(wrong.len() <= odd, "seed {seed}: {} of {cases} differ:\n{shown}", wrong.len());
    // The test means something only if most are taken.
    assert!(taken > cases / 2, "seed {seed}: {taken} of {cases} are taken");
}

/// How many may differ: one in 25 of all; the first fifth has a few more of them.
fn odd() -> usize {
    share(CASES) / 25 + if is_long() { 0 } else { 2 }
}

#[test]
fn targets_mean_what_they_mean_to_mrtg() {
    // Arithmetic of texts differs in a few: `x`, `xor`, and comparisons that are false.
    compare(seed(SEED), share(CASES), odd(), Writer::targets);
}

#[test]
fn lines_mean_what_they_mean_to_mrtg() {
    compare(seed(SEED) + 1, share(CASES), 0, Writer::lines);
}

#[test]
fn targets_with_typos_mean_what_they_mean_to_mrtg() {
    // What Perl makes of some texts is odd: `1.3.` before a query is a text.
    compare(seed(SEED) + 2, share(CASES), odd(), Writer::mistyped_targets);
}

/// Names of objects that MRTG knows without `LoadMIBs` are known, with the same numbers.
#[test]
fn objects_have_the_numbers_of_mrtg() {
    let code = "use SNMP_util; print qq{$_ $SNMP_util::OIDS{$_}\\n} for sort keys %SNMP_util::OIDS";
    let output = Command::new("perl").args(["-e", code]).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        skip("mrtg", "its library for SNMP is not installed");
        return;
    };
    let names = poll::target::ObjectNames::default();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong: Vec<String> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(name, id)| {
            let ours = names.id(name).map(|id| print::numbers(&id));
            ours.as_deref() != Some(*id)
        })
        .map(|(name, id)| format!("{name} is {id}, ours {:?}", names.id(name)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(text.lines().count() > 200);
}
