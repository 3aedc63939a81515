//! `whit log proxy -i file:FOLDER`: every file of a folder, also new ones, through rotation, removal
//! and kills of the proxy.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use testkit::wait_until;

use crate::log_common::{end, folder, start, whit};
use crate::log_input::{PROXY, append, messages, once, query};

/// The lines of each file, in their order.
fn lines(here: &Path) -> BTreeMap<String, Vec<String>> {
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in query(here, "--logger file") {
        let of = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        lines.entry(of(&record["context"]["Input"])).or_default().push(of(&record["message"]));
    }
    lines
}

fn count(here: &Path, wanted: usize) {
    wait_until("all lines are in the store", || messages(here, "file").len() >= wanted);
}

#[test]
fn files_of_a_folder_are_followed_as_they_come_and_go() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let logs = here.join("logs");
    std::fs::create_dir(&logs).unwrap();
    append(&logs.join("a.log"), b"a1\n");
    append(&logs.join("session.1"), b"no rotation\n");
    append(&logs.join("-\n\x1b[31m$(x)"), b"of a hostile name\n");
    for name in [".hidden", "a.log.3.gz"] {
        append(&logs.join(name), b"not wanted\n");
    }
    std::fs::create_dir(logs.join("below")).unwrap();
    let proxy = start(here, &format!("{PROXY} --idle 1ms -i file:logs"));
    count(here, 3);
    // Rotated, and written to under the old name and the new one.
    std::fs::rename(logs.join("a.log"), logs.join("a.log.1")).unwrap();
    append(&logs.join("a.log.1"), b"a2\n");
    append(&logs.join("a.log"), b"a3\n");
    append(&logs.join("b.log"), b"b1\n");
    count(here, 6);
    // Removed, and made again.
    std::fs::remove_file(logs.join("b.log")).unwrap();
    append(&logs.join("c.log"), b"c1\n");
    count(here, 7);
    append(&logs.join("b.log"), b"b2\n");
    count(here, 8);
    // Renamed to what is no name of rotation, and removed while rotated files are there.
    std::fs::rename(logs.join("c.log"), logs.join("c.log.old")).unwrap();
    append(&logs.join("c.log"), b"c2\n");
    count(here, 9);
    append(&logs.join("r.log"), b"r1\n");
    count(here, 10);
    std::fs::rename(logs.join("r.log"), logs.join("r.log.1")).unwrap();
    append(&logs.join("r.log"), b"r2\n");
    count(here, 11);
    std::fs::remove_file(logs.join("r.log")).unwrap();
    append(&logs.join("d.log"), b"d1\n");
    count(here, 12);
    append(&logs.join("r.log"), b"r3\n");
    count(here, 13);
    end(proxy);
    std::fs::remove_file(logs.join("c.log.old")).unwrap();
    // While nobody looks.
    std::fs::rename(logs.join("a.log"), logs.join("a.log.2")).unwrap();
    append(&logs.join("a.log.2"), b"a4\n");
    once(here, "file:logs");
    let expected = [
        ("logs/-\n\u{1b}[31m$(x)", vec!["of a hostile name"]),
        ("logs/a.log", vec!["a1", "a2", "a3", "a4"]),
        ("logs/b.log", vec!["b1", "b2"]),
        ("logs/c.log", vec!["c1", "c2"]),
        ("logs/d.log", vec!["d1"]),
        ("logs/r.log", vec!["r1", "r2", "r3"]),
        ("logs/session.1", vec!["no rotation"]),
    ];
    let expected = expected.map(|(name, lines)| {
        (name.to_owned(), lines.into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(lines(here), BTreeMap::from(expected));
    end(central);
}

/// Kills the proxy at any moment while files of a folder are written and rotated: each line is in the
/// store once.
#[test]
fn files_of_a_folder_are_whole_after_kills_of_the_proxy() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let logs = here.join("logs");
    std::fs::create_dir(&logs).unwrap();
    // What was rotated before the first start is nobody's.
    once(here, "file:logs");
    let mut random = testkit::Random::from_seed(testkit::seed(20_261_128));
    let mut written: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for round in 0..testkit::share(100) {
        let proxy = start(here, &format!("{PROXY} --idle 1ms -i file:logs"));
        for _ in 0..random.below(8) {
            let name = random.one_of(&["a.log", "b.log", "c", "d.log"]);
            let all = written.entry(format!("logs/{name}")).or_default();
            let begin = all.len();
            all.extend((0..1 + random.below(200)).map(|at| format!("{name} {round} {at}")));
            append(&logs.join(name), (all[begin..].join("\n") + "\n").as_bytes());
            if random.percent(20) {
                let old = format!("{name}.{}", all.len());
                std::fs::rename(logs.join(name), logs.join(old)).unwrap();
                let line = format!("{name} {round} behind");
                append(&logs.join(name), format!("{line}\n").as_bytes());
                all.push(line);
            }
            std::thread::sleep(Duration::from_micros(random.below(30_000)));
        }
        drop(proxy);
    }
    once(here, "file:logs");
    assert_eq!(lines(here), written);
    end(central);
}

#[test]
fn more_files_than_are_followed_at_once_are_read_by_a_pattern_too() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let logs = here.join("logs");
    std::fs::create_dir(&logs).unwrap();
    for number in 0..300 {
        append(&logs.join(format!("{number}.log")), format!("line {number}\n").as_bytes());
    }
    append(&logs.join("other"), b"not wanted\n");
    once(here, "file:logs/*.log");
    once(here, "file:logs/*.log");
    let mut found = messages(here, "file");
    found.sort();
    let mut expected: Vec<String> = (0..300).map(|number| format!("line {number}")).collect();
    expected.sort();
    assert_eq!(found, expected);
    // Of all of them not all are followed at once, which is told; one goes, and another is read.
    let _proxy = start(here, &format!("{PROXY} --idle 1ms -i file:logs"));
    let told = "of 301 files 256 are followed at once";
    wait_until("it is told", || messages(here, "file").iter().any(|one| one.starts_with(told)));
    end(central);
}

#[test]
fn what_is_neither_file_nor_folder_is_refused_at_the_start() {
    let folder = folder();
    let here = folder.path();
    std::fs::create_dir(here.join("logs")).unwrap();
    append(&here.join("logs/a.log"), b"a\n");
    let refused = |inputs: &str, why: &str| {
        let refused = whit(here, &format!("{PROXY} --once {inputs}"));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains(why), "{inputs}: {said}");
    };
    refused("-i file:/dev/null", "neither a file nor a folder");
    refused("-i file:missing/*.log", "missing is no folder");
    refused("-i file:logs -i file:./logs/a.log", "another input follows it");
}
