//! The same commands to this crate and to the installed rrdtool: the same text and the same files.
//!
//! Updates are random; the seed is printed and `WHIT_SEED` sets it.  `RRD_UPDATES` sets their number.

use std::path::{Path, PathBuf};

use testkit::share;

use crate::oracle::{Random, Theirs, assert_same_text, filled, name, ours, setting, shown, words};

/// Definitions of a random file.
fn definitions(random: &mut Random, start: i64) -> (Vec<String>, Vec<&'static str>) {
    let mut all = vec![
        "--start".to_owned(),
        start.to_string(),
        "--step".to_owned(),
        random.one_of(&["1", "5", "10", "60", "300"]).to_owned(),
    ];
    let mut kinds = Vec::new();
    for index in 0..1 + random.below(5) {
        let kind =
            random.one_of(&["GAUGE", "COUNTER", "DERIVE", "DCOUNTER", "DDERIVE", "ABSOLUTE"]);
        kinds.push(kind);
        let heartbeat = random.one_of(&["5", "20", "120", "600", "4000"]);
        let minimum = random.one_of(&["U", "U", "0", "-10.5"]);
        let maximum = random.one_of(&["U", "U", "100", "1e6"]);
        all.push(format!("DS:d{index}:{kind}:{heartbeat}:{minimum}:{maximum}"));
    }
    if random.below(3) == 0 {
        let expression = random.one_of(&["d0,2,*", "d0,UN,0,d0,IF", "d0,d0,+,7,%", "1,d0,/"]);
        all.push(format!("DS:sum:COMPUTE:{expression}"));
    }
    for _ in 0..1 + random.below(6) {
        let function = random.one_of(&["AVERAGE", "MIN", "MAX", "LAST"]);
        let xff = random.one_of(&["0", "0.5", "0.9", "0.25"]);
        let steps = random.one_of(&["1", "1", "2", "3", "7", "12"]);
        let rows = random.one_of(&["1", "3", "10", "37"]);
        all.push(format!("RRA:{function}:{xff}:{steps}:{rows}"));
    }
    if random.below(3) == 0 {
        let function = random.one_of(&["HWPREDICT", "MHWPREDICT"]);
        let period = 4 + random.below(12);
        all.push(format!("RRA:{function}:40:0.2:0.05:{period}"));
    }
    (all, kinds)
}

/// A random reading of a source.
fn reading(random: &mut Random, kind: &str, time: i64) -> String {
    if random.below(12) == 0 {
        return "U".to_owned();
    }
    let whole = random.below(1_000_000);
    match kind {
        "GAUGE" | "ABSOLUTE" => match random.below(6) {
            0 => format!("-{}", random.below(20)),
            1 => format!("{}e-3", random.below(100_000)),
            2 => format!("{whole}"),
            3 => "0".to_owned(),
            _ => format!("{}.{}", random.below(200), random.below(1_000_000)),
        },
        "COUNTER" => match random.below(20) {
            0 => "18446744073709551000".to_owned(),
            1 => "4294967290".to_owned(),
            2 => format!("{}", random.below(100)),
            _ => format!("{}", (time as u64 % 100_000_000) * 20 + random.below(300)),
        },
        "DERIVE" => match random.below(20) {
            0 => format!("-{whole}"),
            _ => format!("{}", (time as u64 % 100_000_000) * 3 + random.below(3000)),
        },
        _ => format!("{}.{}", (time as u64 % 100_000_000) * 2, random.below(10_000)),
    }
}

/// The next time of an update, as text; also later ones, within a second, and past ones.
fn next_time(random: &mut Random, time: &mut f64, step: f64) -> String {
    let ahead = match random.below(20) {
        0 => step * random.below(40) as f64,
        1 => 0.0,
        2 => 0.25,
        3 => step * 2.5,
        4..=6 => step,
        _ => 1.0 + random.below(step as u64 * 2) as f64,
    };
    *time += ahead;
    match random.below(4) {
        0 => format!("{:.3}", *time),
        _ => {
            *time = time.floor();
            format!("{}", *time)
        }
    }
}

/// Compares everything that both programs say about two files.
fn compare(theirs: &mut Theirs, our_file: &Path, their_file: &Path, newest: i64, seed: &str) {
    let same = |theirs: &mut Theirs, line: &str| {
        let run = |file: &Path| words(&line.replace("FILE", &name(file)));
        let expected = theirs.run(&run(their_file)).replace(&name(their_file), "FILE");
        let found = ours(&run(our_file)).replace(&name(our_file), "FILE");
        if expected != found {
            let difference = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
            panic!("{line}: {difference:?}: seed {seed}");
        }
    };
    same(theirs, "dump FILE");
    same(theirs, "info FILE");
    same(theirs, "lastupdate FILE");
    same(theirs, "last FILE");
    same(theirs, "first FILE");
    for function in ["AVERAGE", "MIN", "MAX", "LAST"] {
        for (resolution, length) in [(1, 300), (600, 40_000)] {
            let (start, end) = (newest - length, newest + 100);
            same(theirs, &format!("fetch FILE {function} -r {resolution} -s {start} -e {end}"));
        }
    }
    // The bytes, also those that no command shows.
    let (ours, theirs) = (std::fs::read(our_file), std::fs::read(their_file));
    let (ours, theirs) = (ours.expect("our file"), theirs.expect("their file"));
    let at = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    assert!(ours == theirs, "seed {seed}: the files differ at byte {at:?}");
}

#[test]
fn random_updates_give_the_same_files() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let updates = setting("RRD_UPDATES", share(20_000) as u64);
    let seed = testkit::seed(20_261_123);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |end: &str| -> PathBuf { folder.path().join(end) };
    let mut random = Random::from_seed(seed);
    let mut theirs = Theirs::start();
    let mut done = 0;
    let mut file = 0;
    while done < updates {
        file += 1;
        let (first, second) = (path(&format!("o{file}")), path(&format!("t{file}")));
        let start = 1_000_000_000 + random.below(1_000_000) as i64;
        let (arguments, kinds) = definitions(&mut random, start);
        let step: f64 = arguments[3].parse().expect("a step");
        let mut line = vec!["create".to_owned(), name(&second)];
        line.extend(arguments.clone());
        // Both programs update a copy of the same file, made by each in turn.
        let made = if file % 2 == 0 { ours(&line) } else { theirs.run(&line) };
        assert_eq!(made, "OK\n", "seed {seed}: {line:?}");
        std::fs::copy(&second, &first).expect("a copy");
        let mut time = start as f64;
        for _ in 0..random.below(200).min(updates) {
            let mut given = Vec::new();
            for _ in 0..1 + random.below(3) {
                let mut text = next_time(&mut random, &mut time, step);
                for kind in &kinds {
                    text.push(':');
                    text.push_str(&reading(&mut random, kind, time as i64));
                }
                given.push(text);
            }
            done += given.len() as u64;
            let command = random.one_of(&["update", "update", "updatev"]);
            let line = |file: &Path| {
                let mut line = vec![command.to_owned(), name(file)];
                line.extend(given.iter().cloned());
                line
            };
            std::fs::copy(&first, path("before")).expect("a copy");
            let expected = theirs.run(&line(&second)).replace(&name(&second), "FILE");
            let found = ours(&line(&first)).replace(&name(&first), "FILE");
            if expected != found {
                let before = ours(&words(&format!("info {}", name(&path("before")))));
                let difference = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
                panic!("seed {seed}: {given:?}: {arguments:?}: {difference:?}\n{before}");
            }
            if random.below(40) == 0 || setting("RRD_EVERY", 0) == 1 {
                let seed = format!(
                    "{seed}: {given:?}: {arguments:?}\n{}",
                    ours(&words(&format!("info {}", name(&path("before")))))
                );
                compare(&mut theirs, &first, &second, time as i64, &seed);
            }
        }
        compare(&mut theirs, &first, &second, time as i64, &seed.to_string());
        std::fs::remove_file(&first).expect("removed");
        std::fs::remove_file(&second).expect("removed");
    }
}

#[test]
fn tuning_gives_the_same_files() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |end: &str| -> PathBuf { folder.path().join(end) };
    let mut random = Random::from_seed(testkit::seed(7));
    let mut theirs = Theirs::start();
    filled(&mut theirs, &path("base"), 10, &mut random);
    let lines = [
        "-h a:50",
        "-h zz:5",
        "-h a:x",
        "-i a:5",
        "-i a:U",
        "-i a:x",
        "-a a:50 -i a:-3.5e2",
        "-d a:DERIVE",
        "-d a:FOO",
        "-r a:q",
        "-r zz:q",
        "-r a:abcdefghijklmnopqrstuvw",
        "-p 3",
        "-p -1",
        "-n 4.5",
        "-f 3",
        "-f 30",
        "-w 12",
        "-w 3",
        "-w 99",
        "-x 0.5",
        "-x 2",
        "-y .2",
        "-z .3",
        "-v .3",
        "-s 0.3",
        "-S .3",
        "-b a",
        "-b zz",
        "-Z",
        "--alpha 0.5",
        "DEL:bb",
        "DEL:zz",
        "RRA#0:+5",
        "RRA#1:-5",
        "RRA#0:=7",
        "RRA#2:=50",
        "RRA#0:5",
        "foo",
        "DS:n:GAUGE:600:U:U",
        "DS:a:GAUGE:600:U:U",
        "RRA:FOO:1:2:3",
        "DS:c2:COMPUTE:a,2,*",
    ];
    for line in lines {
        let mut answers = Vec::new();
        for end in ["ours", "theirs"] {
            std::fs::copy(path("base"), path(end)).expect("a copy");
            let line = words(&format!("tune {} {line}", name(&path(end))));
            let answer = if end == "ours" { ours(&line) } else { theirs.run(&line) };
            answers.push(answer.replace(&name(&path(end)), "FILE"));
        }
        assert_eq!(answers[1], answers[0], "{line}");
        let (expected, found) =
            (shown(&mut theirs, &path("theirs")), shown(&mut theirs, &path("ours")));
        assert_same_text(&expected, &found, line);
    }
}

#[test]
fn restored_and_filled_files_are_the_same() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |end: &str| -> PathBuf { folder.path().join(end) };
    let mut random = Random::from_seed(testkit::seed(11));
    let mut theirs = Theirs::start();
    filled(&mut theirs, &path("one"), 10, &mut random);
    filled(&mut theirs, &path("two"), 5, &mut random);
    theirs.run(&words(&format!("dump {} {}", name(&path("one")), name(&path("xml")))));
    let lines = [
        "restore XML FILE",
        "restore -r -f XML FILE",
        "create FILE --source ONE --step 10 DS:a:GAUGE:600:U:U RRA:AVERAGE:0.5:1:60 RRA:MAX:0.5:6:10",
        "create FILE --source ONE --step 20 DS:x=a:GAUGE:600:U:U DS:bb:COUNTER:600:U:U RRA:AVERAGE:0.5:2:30 RRA:LAST:0.5:1:9",
        "create FILE --source ONE --source TWO --step 10 DS:a=a[2]:GAUGE:600:U:U DS:c:DERIVE:600:U:U RRA:MIN:0.2:4:30 RRA:AVERAGE:0.9:1:200",
        "create FILE --source TWO --source ONE --template ONE",
        "create FILE --template TWO --start 1000000500",
    ];
    for line in lines {
        let mut answers = Vec::new();
        for end in ["ours", "theirs"] {
            let _ = std::fs::remove_file(path(end));
            let line = line.replace("FILE", &name(&path(end))).replace("XML", &name(&path("xml")));
            let line = line.replace("ONE", &name(&path("one"))).replace("TWO", &name(&path("two")));
            let line = words(&line);
            answers.push(if end == "ours" { ours(&line) } else { theirs.run(&line) });
        }
        assert_eq!(answers[1], answers[0], "{line}");
        let (expected, found) =
            (shown(&mut theirs, &path("theirs")), shown(&mut theirs, &path("ours")));
        assert_same_text(&expected, &found, line);
    }
}

#[test]
fn dumps_that_were_edited_are_restored_or_refused_alike() {
    if !testkit::is_installed("rrdtool", "rrdtool") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |end: &str| -> PathBuf { folder.path().join(end) };
    let mut random = Random::from_seed(testkit::seed(13));
    let mut theirs = Theirs::start();
    filled(&mut theirs, &path("one"), 10, &mut random);
    theirs.run(&words(&format!("dump {} {}", name(&path("one")), name(&path("xml")))));
    let dump = std::fs::read_to_string(path("xml")).expect("a dump");
    let text = |length: usize| "7".repeat(length);
    let edits = [
        ("<name> a <", format!("<name> {} <", text(19))),
        ("<name> a <", format!("<name> {} <", text(20))),
        ("<minimal_heartbeat>600", "<last_ds>x</last_ds><minimal_heartbeat>60".to_owned()),
        ("<last_ds>", format!("<last_ds>{}", text(24))),
        ("<last_ds>", format!("<last_ds>{}", text(30))),
        ("<type> GAUGE", "<type> FOO".to_owned()),
        ("<cf>MAX", "<cf>MIX".to_owned()),
        ("<max>1.0000000000e+03", "<max>300".to_owned()),
        ("<unknown_sec> 0", "<unknown_sec> -3".to_owned()),
        ("<row>", "<row> <!-- x -->".to_owned()),
        ("<lastupdate>", "<foo>1</foo><lastupdate>".to_owned()),
        ("<history>", "<history>11".to_owned()),
        ("<value>", "<value>inf".to_owned()),
    ];
    for (from, to) in edits {
        let edited = dump.replacen(from, &to, 1);
        assert_ne!(edited, dump, "{from}");
        std::fs::write(path("edited"), edited).expect("written");
        for option in ["-f", "-r"] {
            let mut answers = Vec::new();
            for end in ["ours", "theirs"] {
                let _ = std::fs::remove_file(path(end));
                let line =
                    format!("restore {option} {} {}", name(&path("edited")), name(&path(end)));
                let line = words(&line);
                // A process that was given -r once checks the range of all that follows.
                let answer = if end == "ours" { ours(&line) } else { Theirs::start().run(&line) };
                answers.push(answer);
            }
            assert_eq!(answers[1], answers[0], "{from} {to} {option}");
            if answers[0] == "OK\n" {
                let expected = shown(&mut theirs, &path("theirs"));
                let found = shown(&mut theirs, &path("ours"));
                assert_same_text(&expected, &found, &format!("{from} {to} {option}"));
            }
        }
    }
}
