//! Exit codes of `whit poll` beside those of MRTG, for each way in which a round can fail.
//!
//! MRTG ends with 0, 17, 91 and 92 as documented; every other failure ends it with the number of
//! whatever system call failed last, which is 2 (`ENOENT`) as often as not.  There ours is always 2.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use testkit::{is_installed, skip};

/// The user and group that may write little.
const NOBODY: u32 = 65_534;

/// A configuration that works; `FOLDER` is the folder of each side.
const GOOD: &str = "WorkDir: FOLDER/data\nLogFormat: rrdtool\nTarget[a]: `echo 1; echo 2`\n\
                    Title[a]: x\nMaxBytes[a]: 100\n";
const OTHER: &str = "Title[b]: x\nMaxBytes[b]: 9\n";
/// Nothing listens on the port discard.
const GONE: &str = "Target[b]: 2:public@127.0.0.1:9:0.1:1:1\n";

struct Case {
    what: &'static str,
    expected: i32,
    /// Changes the configuration.
    config: fn(&str) -> String,
    prepare: fn(&Path),
    words: &'static [&'static str],
    is_nobody: bool,
}

const PLAIN: Case = Case {
    what: "a round",
    expected: 0,
    config: str::to_owned,
    prepare: |_| {},
    words: &[],
    is_nobody: false,
};

fn mode(path: &Path, bits: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(bits)).expect("changed");
}

/// A lock with a second link, as a holder has it, that says who that is.
fn lock(folder: &Path, pid: &str) {
    let own = folder.join("a.cfg_l_1");
    std::fs::write(&own, pid).expect("written");
    std::fs::hard_link(&own, folder.join("a.cfg_l")).expect("linked");
}

fn cases() -> Vec<Case> {
    let is_read_only = |folder: &Path| mode(&folder.join("data"), 0o555);
    vec![
        Case { ..PLAIN },
        Case { what: "a check", words: &["--check"], ..PLAIN },
        Case { what: "log files", config: |good| good.replace("rrdtool", "rateup"), ..PLAIN },
        Case {
            what: "no configuration",
            expected: 2,
            prepare: |folder| std::fs::remove_file(folder.join("a.cfg")).expect("removed"),
            ..PLAIN
        },
        Case {
            what: "a folder as configuration",
            expected: 2,
            prepare: |folder| {
                std::fs::remove_file(folder.join("a.cfg")).expect("removed");
                std::fs::create_dir(folder.join("a.cfg")).expect("made");
            },
            ..PLAIN
        },
        Case {
            what: "a secret configuration",
            expected: 2,
            prepare: |folder| mode(&folder.join("a.cfg"), 0),
            is_nobody: true,
            ..PLAIN
        },
        Case { what: "an empty configuration", expected: 2, config: |_| String::new(), ..PLAIN },
        Case {
            what: "a typo",
            expected: 2,
            config: |good| good.replace("Title", "Tittle"),
            ..PLAIN
        },
        Case {
            what: "a typo that is checked",
            expected: 2,
            config: |good| good.replace("Title", "Tittle"),
            words: &["--check"],
            ..PLAIN
        },
        Case {
            what: "no work folder",
            expected: 2,
            config: |good| good.replace("/data", "/none"),
            ..PLAIN
        },
        Case {
            what: "an included file that is not there",
            expected: 2,
            config: |good| format!("{good}Include: FOLDER/none\n"),
            ..PLAIN
        },
        Case {
            what: "conversion code that is wrong",
            expected: 2,
            config: |good| format!("{good}ConversionCode: FOLDER/code\n"),
            prepare: |folder| std::fs::write(folder.join("code"), "sub x { ").expect("written"),
            ..PLAIN
        },
        Case {
            what: "an interval that is too short",
            expected: 2,
            config: |good| format!("{good}Interval: 0:10\n").replace("rrdtool", "rateup"),
            ..PLAIN
        },
        Case {
            what: "AbsMax below MaxBytes",
            expected: 2,
            config: |good| format!("{good}AbsMax[a]: 3\n"),
            ..PLAIN
        },
        Case { what: "an option that is none", expected: 2, words: &["--nonsense"], ..PLAIN },
        Case { what: "a user that is none", expected: 2, words: &["--user=nosuchuser"], ..PLAIN },
        Case { what: "a group that is none", expected: 2, words: &["--group=nosuchone"], ..PLAIN },
        Case { what: "a lock that is held", expected: 17, prepare: |f| lock(f, "1"), ..PLAIN },
        Case { what: "a lock of nobody", expected: 17, prepare: |f| lock(f, ""), ..PLAIN },
        Case { what: "a stale lock", prepare: |f| lock(f, "4194999"), ..PLAIN },
        Case {
            what: "a lock without its second link",
            prepare: |folder| std::fs::write(folder.join("a.cfg_l"), "1").expect("written"),
            ..PLAIN
        },
        Case {
            what: "a lock that cannot be made",
            expected: 2,
            words: &["--lock-file=FOLDER/none/lock"],
            ..PLAIN
        },
        Case {
            what: "a folder in which no lock can be made",
            expected: 2,
            prepare: |folder| mode(folder, 0o555),
            is_nobody: true,
            ..PLAIN
        },
        Case {
            what: "a work folder that cannot be written",
            expected: 2,
            prepare: is_read_only,
            is_nobody: true,
            ..PLAIN
        },
        Case {
            what: "a work folder that cannot be written, for log files",
            config: |good| good.replace("rrdtool", "rateup"),
            prepare: is_read_only,
            is_nobody: true,
            ..PLAIN
        },
        Case {
            what: "a folder of a target that cannot be made",
            expected: 2,
            config: |good| format!("{good}Directory[a]: sub\n"),
            prepare: is_read_only,
            is_nobody: true,
            ..PLAIN
        },
        Case {
            what: "a database that is none",
            prepare: |folder| std::fs::write(folder.join("data/a.rrd"), "x").expect("written"),
            ..PLAIN
        },
        Case {
            what: "a log that cannot be written",
            words: &["--logging=FOLDER/none/log"],
            ..PLAIN
        },
        Case {
            what: "a caching daemon that is not there",
            config: |good| format!("{good}RRDCached: unix:FOLDER/none\n"),
            ..PLAIN
        },
        Case {
            what: "a device that does not answer, and a program",
            expected: 91,
            config: |good| format!("{good}{GONE}{OTHER}"),
            ..PLAIN
        },
        Case {
            what: "a device that does not answer",
            expected: 92,
            config: |good| good.replace("Target[a]: `echo 1; echo 2`", GONE).replace("[b]", "[a]"),
            ..PLAIN
        },
        Case {
            what: "a program that says one number",
            expected: 91,
            config: |good| format!("{good}Target[b]: `echo 1`\n{OTHER}"),
            ..PLAIN
        },
        Case {
            what: "a target that is no expression",
            expected: 91,
            config: |good| format!("{good}Target[b]: 2:public@\n{OTHER}"),
            ..PLAIN
        },
        Case {
            what: "a division by zero",
            expected: 91,
            config: |good| format!("{good}Target[b]: `echo 1; echo 1` / `echo 0; echo 0`\n{OTHER}"),
            ..PLAIN
        },
    ]
}

/// The exit code and the messages of one side, in a folder of its own.
fn run(case: &Case, program: &[&str]) -> (i32, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let text = |text: &str| text.replace("FOLDER", &folder.path().display().to_string());
    std::fs::create_dir(folder.path().join("data")).expect("made");
    std::fs::write(folder.path().join("a.cfg"), text(&(case.config)(GOOD))).expect("written");
    for path in [folder.path().to_owned(), folder.path().join("data")] {
        mode(&path, 0o777);
    }
    (case.prepare)(folder.path());
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(case.words.iter().map(|word| text(word)));
    command.arg(folder.path().join("a.cfg")).env("LANG", "C").env("LC_ALL", "C");
    command.env_remove("RRDCACHED_ADDRESS").current_dir("/");
    if case.is_nobody {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("it runs");
    // So that the folder can be removed.
    mode(folder.path(), 0o777);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), said)
}

#[test]
fn exit_codes_are_those_of_mrtg() {
    let is_root = rustix::process::getuid().is_root();
    let has_mrtg = is_installed("exit codes of mrtg", "mrtg");
    let mut wrong = Vec::new();
    for case in cases() {
        if case.is_nobody && !is_root {
            skip("poll as nobody", "only root can");
            continue;
        }
        let (ours, said) = run(&case, &[crate::WHIT, "poll"]);
        if ours != case.expected {
            wrong.push(format!("{}: {ours}, not {}: {said}", case.what, case.expected));
        }
        if has_mrtg {
            let (theirs, said) = run(&case, &["mrtg"]);
            let is_documented = [0, 17, 91, 92].contains(&theirs);
            if if is_documented { theirs != ours } else { ours != 2 } {
                wrong.push(format!("{}: {ours}, MRTG's is {theirs}: {said}", case.what));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
