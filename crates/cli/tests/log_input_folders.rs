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

/// A file gets a name that is none of rotation, while a proxy runs and while none does: nothing of it
/// comes again, and what was written to it comes.
#[test]
fn a_file_with_a_new_name_is_known_by_later_proxies() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let logs = here.join("logs");
    std::fs::create_dir(&logs).unwrap();
    append(&logs.join("a.log"), b"a1\n");
    append(&logs.join("c.log"), b"c1\n");
    let proxy = start(here, &format!("{PROXY} --idle 1ms -i file:logs"));
    count(here, 2);
    std::fs::rename(logs.join("a.log"), logs.join("a.2026-11-27.log")).unwrap();
    append(&logs.join("a.log"), b"a2\n");
    count(here, 3);
    drop(proxy);
    for (name, old) in [("a", "a.2026-11-28.log"), ("c", "c.log.old")] {
        let path = logs.join(format!("{name}.log"));
        append(&path, format!("{name}3\n").as_bytes());
        std::fs::rename(&path, logs.join(old)).unwrap();
        append(&path, format!("{name}4\n").as_bytes());
    }
    for _ in 0..3 {
        once(here, "file:logs");
    }
    // What is written to a name that is left behind comes by that name.
    append(&logs.join("c.log.old"), b"c5\n");
    once(here, "file:logs");
    let expected = [
        ("logs/a.log", vec!["a1", "a2", "a3", "a4"]),
        ("logs/c.log", vec!["c1", "c3", "c4"]),
        ("logs/c.log.old", vec!["c5"]),
    ];
    let expected = expected.map(|(name, lines)| {
        (name.to_owned(), lines.into_iter().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_eq!(lines(here), BTreeMap::from(expected));
    end(central);
}

/// The cursors that a killed proxy leaves are completed by the next one, whatever that reads.
#[test]
fn a_proxy_with_other_inputs_loses_no_cursor() {
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    append(&here.join("a.log"), b"a1\n");
    append(&here.join("b.log"), b"b1\n");
    let proxy = start(here, &format!("{PROXY} --idle 1ms -i file:a.log"));
    count(here, 1);
    drop(proxy);
    let proxy = start(here, &format!("{PROXY} --idle 1ms -i file:b.log"));
    count(here, 2);
    let processes = || {
        let names = std::fs::read_dir(here.join("rings")).unwrap().flatten();
        names.filter(|one| one.path().extension().is_some_and(|end| end == "process")).count()
    };
    wait_until("the rings of the first proxy are removed", || processes() == 1);
    end(proxy);
    once(here, "file:a.log");
    let expected = ["a", "b"].map(|name| (format!("{name}.log"), vec![format!("{name}1")]));
    assert_eq!(lines(here), BTreeMap::from(expected));
    end(central);
}

#[test]
fn a_folder_that_comes_later_is_followed_and_names_that_are_no_utf_8_are_told() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = folder();
    let here = folder.path();
    let central = start(here, "central --store store --listen ./socket");
    let inputs = "-i file:logs -i file:other/*.log";
    let proxy = start(here, &format!("{PROXY} --idle 1ms {inputs}"));
    wait_until("a missing folder is told", || {
        messages(here, "file").iter().any(|one| one.starts_with("the folder other is not there"))
    });
    for name in ["logs", "other"] {
        let made = here.join(format!("{name}.new"));
        std::fs::create_dir(&made).unwrap();
        append(&made.join("a.log"), format!("{name} a\n").as_bytes());
        for name in [&b"\xff.log"[..], b"\xff.txt", b".\xff.log"] {
            append(&made.join(std::ffi::OsStr::from_bytes(name)), b"not read\n");
        }
        std::fs::rename(made, here.join(name)).unwrap();
    }
    let has = |what: &str| messages(here, "file").iter().any(|one| one.contains(what));
    wait_until("files are read, and names told", || {
        ["logs a", "other a", "are not followed: 2 here", "are not followed: 1 here"]
            .iter()
            .all(|what| has(what))
    });
    end(proxy);
    once(here, "file:nowhere/*");
    assert!(has("the folder nowhere is not there"), "{:?}", messages(here, "file"));
    assert!(!has("not read"));
    assert_eq!(messages(here, "file").iter().filter(|one| one.ends_with(" a")).count(), 2);
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
    refused("-i file:logs/a.log/*.log", "logs/a.log is no folder");
    refused("-i file:logs -i file:./logs/a.log", "another input follows it");
}
