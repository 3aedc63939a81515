//! The same commands to this daemon and to the installed rrdcached: answers and files must be the
//! same to the byte, except where `docs/rrdcached.md` says otherwise.

use std::path::Path;
use std::process::Command;

use crate::common::{Client, Incumbent, folder, seed, settings, start};
use rrdcached::Acknowledge;
use testkit::Random;

/// Files of both daemons: copies, because new files begin at a random row.
fn make_files(folders: [&Path; 2]) {
    let make = |name: &str, words: &[&str]| {
        let path = folders[0].join("base").join(name);
        let done = Command::new("rrdtool").arg("create").arg(&path).args(words).status();
        assert!(done.expect("rrdtool").success());
        std::fs::copy(&path, folders[1].join("base").join(name)).expect("copy");
    };
    for folder in folders {
        std::fs::create_dir(folder.join("base/sub")).expect("folder");
    }
    let gauge = "DS:x:GAUGE:600:U:U";
    let average = "RRA:AVERAGE:0.5:1:10";
    make("a.rrd", &["-b", "1600000000", "-s", "300", gauge, average]);
    make("sub/c.rrd", &["-b", "1600000000", "-s", "300", gauge, average]);
    let two = ["DS:x:COUNTER:600:U:U", "DS:y:DERIVE:600:0:U", average, "RRA:MAX:0.5:5:10"];
    make("b.rrd", &[&["-b", "1600000000", "-s", "60"], &two[..]].concat());
}

/// Both daemons with the same files, and a client of each.
fn both(run: impl FnOnce([&Path; 2], [&mut Client; 2])) {
    if !testkit::is_installed("rrdcached", "rrdcached") {
        return;
    }
    let (_one, ours) = folder();
    let (_two, theirs) = folder();
    make_files([&ours, &theirs]);
    let incumbent = Incumbent::start(&theirs, &["-B", "-R"]);
    let server = start(&ours, settings(&ours), Acknowledge::Os);
    run([&ours, &theirs], [&mut Client::connect(&ours), &mut Client::connect(&theirs)]);
    incumbent.end();
    server.stop(true);
}

/// Asks both and compares, with the names of the folders taken out.
fn same(folders: [&Path; 2], clients: &mut [&mut Client; 2], line: &str) -> String {
    let [ours, theirs] = [0, 1].map(|which| {
        let answer = clients[which].ask(line);
        answer.replace(&folders[which].display().to_string(), "FOLDER")
    });
    assert_eq!(ours, theirs, "{line}");
    ours
}

fn same_lines(script: &str) {
    both(|folders, mut clients| {
        for line in script.lines().filter(|line| !line.starts_with('#')) {
            same(folders, &mut clients, line);
        }
    });
}

#[test]
fn updates_are_answered_alike() {
    same_lines(
        "PING\nping\nPiNg x\n PING\n\nnosuch\n\
         UPDATE\nUPDATE \nUPDATE a.rrd\nUPDATE a.rrd \nUPDATE  1:2\n\
         UPDATE nofile.rrd 1:2\nUPDATE a.rrd N:1\nUPDATE a.rrd abc:1\nUPDATE a.rrd 1600000100\n\
         UPDATE a.rrd 1600000100:1\nUPDATE a.rrd 1600000100:1\nUPDATE a.rrd 1600000050:1\n\
         UPDATE a.rrd 1600000200:1 1600000300:2\n\
         UPDATE a.rrd 1600000400:1 1600000400:2 1600000500:1\n\
         UPDATE a.rrd 1600000600.5:1 1600000600.7:4\nUPDATE a.rrd -5:1\n\
         UPDATE a.rrd 1600000900@1\nUPDATE a.rrd  1600001000:1\nUPDATE a.rrd 1600001100:1 \n\
         UPDATE a.rrd 1600001200:U\nUPDATE a.rrd nan:1\nUPDATE a.rrd inf:1\n\
         UPDATE a.rrd 0x6fffffff:1\nUPDATE a.rrd :1\nUPDATE a.rrd 1600001250.5.5:1\n\
         UPDATE a.rrd +1600001260:1\nUPDATE a.rrd 1.60000127e9:1\nUPDATE a.rrd \\ 1600001280:1\n\
         UPDATE a\\.rrd 1600001290:1\nUPDATE a.rrd 1600001300\\:1\nUPDATE a.rrd\\\n\
         UPDATE sub/../a.rrd 1600001400:1\nUPDATE sub/c.rrd 1600001400:1\n\
         UPDATE /etc/passwd 1600001400:1\nUPDATE sub 1600001400:1\n\
         UPDATE ../base/a.rrd 1600001400:1\n\
         PENDING a.rrd\nPENDING nofile.rrd\nPENDING\nPENDING sub/c.rrd\nPENDING b.rrd\n\
         QUEUE\nWROTE a.rrd\n.\nFLUSH\nFLUSH nofile.rrd\nFLUSH a.rrd\nFLUSH a.rrd\nFLUSH b.rrd\n\
         PENDING a.rrd\nFORGET a.rrd\nFORGET a.rrd\nFORGET nofile.rrd\nFORGET\n\
         UPDATE sub/c.rrd 1600001400:1\nFORGET sub/c.rrd\nUPDATE sub/c.rrd 1600001400:1\n\
         FLUSHALL\nFLUSHALL x\nBATCH x\n.\n.",
    );
}

#[test]
fn batches_are_answered_alike() {
    same_lines(
        "BATCH\nUPDATE a.rrd 1600002000:1\nUPDATE nofile.rrd 1600002000:1\nPING\nFLUSH a.rrd\n\
         nosuch\nBATCH\nFETCH a.rrd AVERAGE\nQUEUE\nSTATS\nFORGET nofile.rrd\nPENDING a.rrd\n\
         \n \nHELP\nUPDATE\nINFO b.rrd\nLAST b.rrd\nSUSPENDALL\nRESUMEALL\n.\n\
         BATCH\n.\nPENDING a.rrd",
    );
}

#[test]
fn files_are_shown_alike() {
    same_lines(
        "INFO\nINFO nofile.rrd\nINFO b.rrd\nFIRST b.rrd\nFIRST b.rrd 0\nFIRST b.rrd 1\n\
         FIRST b.rrd 7\nFIRST b.rrd -1\nFIRST b.rrd x\nFIRST nofile.rrd 0\nFIRST\n\
         LAST b.rrd\nLAST\nLAST nofile.rrd\nLAST b.rrd x\n\
         UPDATE b.rrd 1600000060:100:100 1600000120:160:170 1600000190:1000:900\nLAST b.rrd\n\
         FETCH b.rrd AVERAGE 1600000000 1600000300\nINFO b.rrd\nFIRST b.rrd 0\nLAST b.rrd\n\
         FETCH b.rrd AVERAGE 1600000000 1600000300 y\n\
         FETCH b.rrd AVERAGE 1600000000 1600000300 y x\n\
         FETCH b.rrd AVERAGE 1600000000 1600000300 y y\nFETCH b.rrd MAX 1600000000 1600000300\n\
         FETCH b.rrd MIN 1600000000 1600000300\nFETCH b.rrd NOSUCH 1600000000 1600000300\n\
         FETCH b.rrd average 1600000000 1600000300\nFETCH b.rrd\nFETCH\nFETCH nofile.rrd AVERAGE\n\
         FETCH b.rrd AVERAGE x y\nFETCH b.rrd AVERAGE 1600000000 y\n\
         FETCH b.rrd AVERAGE 1600000300 1600000000\nFETCH b.rrd AVERAGE now-600\n\
         FETCH b.rrd AVERAGE 1600000000 1600000300x\n\
         FETCHBIN b.rrd AVERAGE 1600000000 1600000300 y\n\
         FETCHBIN b.rrd AVERAGE 1600000000 1600000300\nFETCHBIN b.rrd\n\
         LIST\nLIST /sub\nLIST sub\nLIST /nosuch\nLIST RECURSIVE\nLIST recursive /\nLIST /a.rrd\n\
         LIST /..\nLIST FOO /",
    );
}

#[test]
fn files_are_made_and_held_alike() {
    let gauge = "DS:x:GAUGE:600:U:U RRA:AVERAGE:0.5:1:10";
    let mut script = String::from(
        "UPDATE b.rrd 1600000060:1:1\nSUSPEND b.rrd\nFLUSH b.rrd\nPENDING b.rrd\nRESUME b.rrd\n\
         RESUME b.rrd\nSUSPENDALL\nSUSPENDALL x\nUPDATE b.rrd 1600000260:100:100\n\
         FLUSH b.rrd\nPENDING b.rrd\nRESUMEALL\nRESUMEALL\nFLUSH b.rrd\nPENDING b.rrd\n\
         CREATE new.rrd\nCREATE new.rrd DS:x:GAUGE:600:U:U\nCREATE\n",
    );
    for words in [
        "new.rrd",
        "new.rrd -O",
        "new.rrd -s 60 -b 1600000000",
        "new.rrd -s 1m -b 1600000000",
        "new.rrd -b 100",
        "new.rrd -b now",
        "new.rrd -q 1",
        "p/q/r.rrd",
        "/etc/x.rrd",
        "new.rrd FOO",
    ] {
        script.push_str(&format!("CREATE {words} {gauge}\n"));
    }
    script.push_str("CREATE new.rrd -s\nCREATE new.rrd -b\nINFO p/q/r.rrd x\nLAST p/q/nofile.rrd");
    let script = script.replace("INFO p/q/r.rrd x\n", "");
    same_lines(&script);
}

#[test]
fn counters_are_those_of_rrdcached() {
    both(|folders, mut clients| {
        for line in ["UPDATE a.rrd 1600000400:1", "UPDATE b.rrd 1600000400:1:1", "UPDATE x 1:1"] {
            same(folders, &mut clients, line);
        }
        for line in ["FLUSH a.rrd", "FLUSH b.rrd", "FLUSH x", "PENDING a.rrd", "UPDATE"] {
            same(folders, &mut clients, line);
        }
        let without_journal = |text: String| {
            let lines = text.lines().filter(|line| !line.starts_with("JournalBytes"));
            lines.collect::<Vec<_>>().join("\n")
        };
        let [ours, theirs] = clients;
        let ours = without_journal(ours.ask("STATS"));
        // rrdcached counts a write after it has answered.
        testkit::wait_until(&ours, || without_journal(theirs.ask("STATS")) == ours);
    });
}

/// Random sessions of 600 lines, of 3000 in a long run; then the files are the same to the bit.
#[test]
fn random_sessions_leave_the_same_files() {
    let seed = seed();
    both(|folders, mut clients| {
        let mut chance = Random::from_seed(seed);
        let mut times = [1_600_000_000u64; 3];
        let mut in_batch = false;
        for _ in 0..testkit::share(3000) {
            let which = chance.below(3) as usize;
            let name = ["a.rrd", "b.rrd", "sub/c.rrd"][which];
            let line = match chance.below(20) {
                0 if !in_batch => "BATCH".to_owned(),
                1 | 2 if in_batch => ".".to_owned(),
                3 => format!("FLUSH {name}"),
                4 if !in_batch => format!("PENDING {name}"),
                5 if !in_batch => {
                    format!("FETCH {name} AVERAGE {} {}", times[which] - 900, times[which])
                }
                6 if !in_batch => format!("LAST {name}"),
                _ => {
                    let mut line = format!("UPDATE {name}");
                    for _ in 0..1 + chance.below(4) {
                        // A few times are not newer, a few have fractions.
                        times[which] += chance.below(400);
                        let fraction = ["", "", ".25", ".5"][chance.below(4) as usize];
                        line.push_str(&format!(" {}{fraction}", times[which]));
                        for _ in 0..if which == 1 { 2 } else { 1 } {
                            match chance.below(12) {
                                0 => line.push_str(":U"),
                                _ => line.push_str(&format!(":{}", (chance.bits() >> 24))),
                            }
                        }
                    }
                    line
                }
            };
            in_batch = match line.as_str() {
                "BATCH" => true,
                "." => false,
                _ => in_batch,
            };
            same(folders, &mut clients, &line);
            if line.starts_with("FETCH") {
                // rrdcached has written the file.
                same(folders, &mut clients, &format!("FLUSH {name}"));
            }
        }
        if in_batch {
            same(folders, &mut clients, ".");
        }
        for name in ["a.rrd", "b.rrd", "sub/c.rrd"] {
            same(folders, &mut clients, &format!("FLUSH {name}"));
            let [ours, theirs] =
                folders.map(|folder| std::fs::read(folder.join("base").join(name)).expect("file"));
            assert!(ours == theirs, "{name} differs");
        }
    });
}
