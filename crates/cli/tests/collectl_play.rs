//! `whit play` beside `collectl -p`: the same recordings, the same switches, byte for byte.
//!
//! The recordings stand in `testdata/recordings`: `alpha` was made by collectl on a small virtual
//! machine, the others by hand from kernel documentation (a storage server with InfiniBand and
//! NFS; devices and CPUs that come and go; counters that are reset).  Needs collectl; without it
//! the test says so and passes.
//!
//! Cost: collectl needs a quarter of a second for each case.  A long run takes every subsystem in
//! every format, a short one a tenth of that; `WHIT_COLLECTL=all` adds every switch;
//! `WHIT_COLLECTL=dn` takes all cases that show nothing but these letters.  A table of what is
//! equal is printed (`cargo test -p cli --test all -- collectl_play --nocapture`).
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the table is the purpose")]

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::WHIT;
use crate::beside_collectl::{
    BRIEF, PLOT, VERBOSE, Wanted, all_wanted, first_difference, has_collectl,
};

/// Where each difference is explained.
const EXPLAINED: &str = include_str!("../../../docs/differences-collectl.md");

/// One comparison.
#[derive(Clone, Debug)]
struct Case {
    recording: &'static str,
    switches: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Equal,
    /// Differs, but not under `--exact`.
    EqualIfExact(String),
    Differs(String),
}

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings")
}

/// The usual cases: every letter in every format.
fn usual() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |recording, switches: String| cases.push(Case { recording, switches });
    // `alpha` has neither sensors nor InfiniBand.
    let mut add = |recording: &'static str, switches: String| {
        let letter = switches.strip_prefix("-s").unwrap_or_default();
        if recording != "alpha*" || !letter.starts_with(['E', 'x', 'X']) {
            add(recording, switches);
        }
    };
    for recording in ["alpha*", "beta*"] {
        for letter in BRIEF {
            add(recording, format!("-s{letter}"));
        }
        for letter in VERBOSE {
            add(recording, format!("-s{letter} --verbose"));
        }
        for letter in PLOT {
            add(recording, format!("-s{letter} -P"));
        }
        for letters in ["-scj", "-scJ", "-sdj", "-sCj", "-sbcdfijmnst"] {
            add(recording, format!("{letters} -P"));
        }
        add(recording, "-scdnm".to_owned());
        add(recording, "-sbcdfijmnstx -oT".to_owned());
        add(recording, "-scdmn --verbose".to_owned());
    }
    for switches in PROCESSES {
        cases.push(Case { recording: "zeta*", switches: (*switches).to_owned() });
    }
    for switches in ["-sZ", "-sZ -P"] {
        cases.push(Case { recording: "theta*", switches: switches.to_owned() });
    }
    cases
}

/// What processes are worth trying with.
const PROCESSES: &[&str] = &[
    "-sZ",
    "-sZ -P",
    "-scZ",
    "-sZ --procopts i",
    "-sZ --procopts m",
    "-sZ --procopts cfRrsu12w",
    "-sZ --procopts wS",
    "-sZ --procopts k",
    "-sZ --procopts I",
    "-sZ -oT",
    "-sZ -oDm --procopts iu",
    "-sZ -on",
    "-sZ -w",
    "-sZ --full",
    "-sZ --procstate RD",
    "-sZ -P --procopts fR --sep ,",
];

/// Rules for sensors, seen from the tests' folder.
const RULES: &str = "--envrules tests/envrules.txt";

/// Switches by letters: what each is worth trying with.
const SWITCHES: &[(&str, &[&str])] = &[
    ("c", &["--cpufilt 1", "--cpufilt ^0", "-on", "-P -o2", "--stats", "--stats --statopts ai"]),
    ("C", &["--cpufilt 1", "--cpufilt ^0", "--cpuopts z", "-P --cpufilt 0", "-oT", "-P -on"]),
    (
        "d",
        &["--iosize", "--dskfilt sd", "--dskfilt ^sda", "--dskopts i", "-on", "--stats", "-P -o1"],
    ),
    ("d", &["--verbose -oT", "--verbose -w", "--verbose --dskfilt sdb", "--stats --statopts i"]),
    ("D", &["--dskfilt sd", "--dskfilt ^sda", "--dskopts z", "--dskopts f", "--dskopts i"]),
    ("D", &["--dskopts o", "-on", "-w", "-oTm", "-P -o2", "-P --dskfilt sda", "--hr 3"]),
    ("D", &["-ox", "-ox -l IOS:100-SVC:3", "-ox -l SVC:1-IOS:20-AND", "-oxnT -l IOS:200"]),
    ("D", &["--dskremap sd:disk_,dm-:M", "--dskremap ^sda:xx -P", "--dskremap sd:x --dskfilt x"]),
    ("E", &["--envremap /Temp/T/,/Fan/F/", RULES, "-P --envremap /F/x/"]),
    ("E", &["-oT", "--envopts f", "--envopts ptF", "--envopts M", "--envopts T", "-P --envopts t"]),
    ("f", &["--nfsfilt c3", "--nfsfilt s3,s4", "--verbose -on", "-P -o1", "--stats"]),
    ("F", &["--nfsfilt c3", "--nfsopts z", "-oT", "-on", "-P --nfsfilt c3,s3"]),
    ("i", &["--stats", "--verbose -oD", "-P -o1"]),
    ("j", &["--cpufilt 1", "--intfilt eth,nvme", "--stats", "-on"]),
    ("J", &["--intfilt eth,nvme", "--intfilt ^LOC", "-oT", "--cpufilt 0", "-on"]),
    ("m", &["--memopts R", "--memopts p", "--memopts s", "--memopts ps", "--memopts P"]),
    ("m", &["--memopts V", "--memopts PV", "--verbose -w", "-on", "--stats", "-P -o1", "-P -on"]),
    ("M", &["-oT", "--memopts R", "-P -o1"]),
    ("n", &["--iosize", "--netopts e", "--netopts i", "--netfilt eth", "--netfilt ^eth0"]),
    ("n", &["--stats", "-on", "-P -o2", "--verbose -w", "--verbose --netopts e"]),
    ("N", &["--netopts e", "--netopts w12", "--netopts o", "--netfilt eth", "--netfilt ^lo"]),
    ("N", &["-on", "-w", "-oTm", "-P -o1", "-P --netfilt eth0", "--hr 5"]),
    ("s", &["--stats", "--verbose -oT"]),
    ("t", &["--tcpfilt i", "--tcpfilt tu", "--tcpfilt c", "--verbose --tcpfilt it", "-on"]),
    ("t", &["--tcpfilt ituc --verbose", "--tcpfilt T", "--tcpfilt I", "--stats", "-P -o1"]),
    ("x", &["--iosize", "--xopts i", "-on", "--stats", "-P -o1", "--verbose -on"]),
    ("X", &["-oT", "-on", "-P -o1"]),
    ("y", &["-oT", "-P -o1"]),
    ("Y", &["--slabopts s", "--slabopts S", "-oT", "-w"]),
];

/// Switches that concern no subsystem alone.
const GENERAL: &[&str] = &[
    "",
    "-P",
    "-scdnm --stats",
    "-scdnm --stats --statopts ais",
    "-scdnm --hr 4",
    "-scdnm --hr 0",
    "-scdnm --hr 1",
    "-scdnm -oD",
    "-scdnm -odm",
    "-scdnm -w",
    "-scdnm -og",
    "-scdnm -oG",
    "-scdnm --iosize",
    "-scdnm --verbose --hr 2",
    "-scdnm --full",
    "-scdD -ox --verbose",
    "-scdnm -P --sep ,",
    "-scdnm -P --sep 9 -od",
    "-scdnm -P -om",
    "-scdnm -P --utc",
    "-scdnm -P -oUm",
    "-scdnm -P --hr 3",
    "-scdnCDN -P",
    "-sCDN",
    "-scCdD -oT",
    "-s-cCdDnN",
    "-s+b-f",
    "--all",
    "--all --verbose",
    "-sCj",
    "-sc --export lexpr",
    "-scdnm --export lexpr",
    "-scdnmstifxCDNMXYjE --export lexpr",
    "-scdnmD --export lexpr,i=20,avg",
    "-scdnmD --export lexpr,i=20,min",
    "-scdnmD --export lexpr,i=20,max",
    "-scdnmD --export lexpr,i=20,tot",
    "-scdnm --export lexpr,s=cd,co,ttl=3",
    "-sCD --export lexpr",
    "--vmstat",
    "--export vmstat -oTm --hr 3",
];

/// Cases that only a thorough run takes.
fn thorough() -> Vec<Case> {
    let mut cases = usual();
    let mut add = |recording, switches: String| cases.push(Case { recording, switches });
    for recording in ["alpha*", "beta*"] {
        for (letter, all) in SWITCHES {
            // `alpha` has neither sensors nor InfiniBand.
            let here = recording != "alpha*" || !matches!(*letter, "E" | "x" | "X");
            for switches in all.iter().filter(|_| here) {
                add(recording, format!("-s{letter} {switches}"));
            }
        }
        for switches in GENERAL {
            add(recording, (*switches).to_owned());
        }
    }
    for period in ["--from 09:30:13 --thru 09:30:16", "--from 09:30:14", "--thru 09:30:15"] {
        add("alpha*", format!("-scd -oT {period}"));
        add("alpha*", format!("-sC {period} -P"));
    }
    for switches in [
        "-scdn -oT",
        "-sC",
        "-sD -oT",
        "-sN -oT",
        "-sj",
        "-sJ",
        "-sc --verbose -oT",
        "-scdn -P",
        "-scdnCDN -P",
        "-scdn -oT --from 10:00:05 --thru 10:00:10",
        "-scdn --stats",
        "-scdn --stats --statopts s",
        "-scd --export lexpr",
        "-scd --verbose -om",
    ] {
        add("gamma*", switches.to_owned());
    }
    for switches in ["-scdnm -oT", "-sD -oT", "-sN", "-scdnm -P", "-sm --verbose", "-scts -oT"] {
        add("delta*", switches.to_owned());
    }
    cases
}

/// The files that a pattern with a star at its end names.
fn files(pattern: &str) -> Vec<PathBuf> {
    let start = pattern.trim_end_matches('*');
    let entries = std::fs::read_dir(recordings()).expect("testdata/recordings");
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(start)));
    files.sort();
    files
}

fn run(program: &str, before: &[&str], case: &Case, after: &[&str]) -> Output {
    let pattern = format!("{}/{}", recordings().display(), case.recording);
    Command::new(program)
        .args(before)
        .args(["-p", &pattern])
        .args(case.switches.split_whitespace())
        .args(after)
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"))
}

/// What collectl prints, kept below the target folder: it is the same in every run.
fn theirs(case: &Case) -> Vec<u8> {
    let mut hasher = std::hash::DefaultHasher::new();
    case.switches.hash(&mut hasher);
    for file in files(case.recording) {
        std::fs::read(&file).expect("a recording").hash(&mut hasher);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("collectl");
    let kept = folder.join(format!("{:016x}", hasher.finish()));
    if let Ok(text) = std::fs::read(&kept) {
        return text;
    }
    let text = run("collectl", &[], case, &[]).stdout;
    // Without the file the next run only takes longer.
    let _ = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&kept, &text));
    text
}

fn compare(case: &Case) -> Verdict {
    let theirs = theirs(case);
    let ours = run(WHIT, &["play"], case, &[]);
    let Some(difference) = first_difference(&theirs, &ours) else { return Verdict::Equal };
    let exact = run(WHIT, &["play"], case, &["--exact"]);
    match first_difference(&theirs, &exact) {
        None => Verdict::EqualIfExact(difference),
        Some(_) => Verdict::Differs(difference),
    }
}

/// Whether a case shows nothing but the wanted letters.
fn shows_only(case: &Case, letters: &str) -> bool {
    let shown = case.switches.split_whitespace().find_map(|word| word.strip_prefix("-s"));
    shown.is_some_and(|shown| shown.chars().all(|letter| letters.contains(letter)))
}

fn wanted(case: &Case) -> Option<Wanted> {
    all_wanted()
        .find(|wanted| wanted.recording == case.recording && wanted.switches == case.switches)
}

#[test]
fn every_wanted_difference_is_explained() {
    for heading in all_wanted().flat_map(|wanted| wanted.headings.split("; ")) {
        let found = EXPLAINED.lines().any(|text| text.strip_prefix("### ") == Some(heading));
        assert!(found, "docs/differences-collectl.md has no heading '{heading}'");
    }
}

#[test]
fn play_prints_what_collectl_prints() {
    if !has_collectl() {
        return;
    }
    let asked = std::env::var("WHIT_COLLECTL").unwrap_or_default();
    let cases: Vec<Case> = match asked.as_str() {
        "" => testkit::share_of(usual()).collect(),
        "all" => thorough(),
        letters => thorough().into_iter().filter(|case| shows_only(case, letters)).collect(),
    };
    for case in &cases {
        assert!(!files(case.recording).is_empty(), "no recording {}", case.recording);
    }
    let (mut wrong, mut equal, mut different) = (0, 0, 0);
    for (case, verdict) in cases.iter().zip(testkit::side_by_side(&cases, 2, compare)) {
        let name = format!("{:<7}{}", case.recording, case.switches);
        match (verdict, wanted(case)) {
            (Verdict::Equal, None) => equal += 1,
            (Verdict::Equal, Some(_)) => {
                wrong += 1;
                println!("STALE   {name}: is equal; take it out of collectl_differences.txt");
            }
            (Verdict::EqualIfExact(_), Some(wanted)) => {
                different += 1;
                println!("wanted  {name}: {}", wanted.headings);
            }
            (Verdict::Differs(_), Some(wanted)) if !wanted.exact => {
                different += 1;
                println!("wanted  {name}: {}, even under --exact", wanted.headings);
            }
            (Verdict::EqualIfExact(text), None) => {
                wrong += 1;
                println!("EXACT   {name}: equal only under --exact; {text}");
            }
            (Verdict::Differs(text), _) => {
                wrong += 1;
                println!("DIFFERS {name}: {text}");
            }
        }
    }
    println!(
        "{equal} of {} cases are equal, {different} differ as wanted, {wrong} are wrong",
        cases.len()
    );
    assert_eq!(wrong, 0, "see the table above");
}

/// What colmux shows of a recording on two hosts, with a stand-in for ssh that runs the commands here.
fn colmux(collectl: &Path, folder: &Path) -> Option<String> {
    let Ok(program) = std::fs::read_to_string("/usr/bin/colmux") else {
        testkit::skip("colmux over two hosts", "there is no /usr/bin/colmux");
        return None;
    };
    let (ssh, copy) = (folder.join("ssh"), folder.join("colmux"));
    testkit::write_program(
        &ssh,
        "#!/bin/sh\nwhile :; do case $1 in -o) shift 2;; -*) shift;; *) break;; esac; done\n\
         shift\nexec sh -c \"$*\"\n",
    )
    .unwrap();
    let program = program.replace("/usr/bin/ssh", ssh.to_str().unwrap());
    testkit::write_program(&copy, program).unwrap();
    let command = format!("-scd -oT -p {}/*20260101*", folder.display());
    let mut colmux = Command::new(copy);
    colmux.args(["-addr", "127.0.0.2,127.0.0.3", "-cols", "2,3", "-command", &command]);
    colmux.arg("-colbin").arg(collectl).current_dir(folder);
    let output = colmux.stdin(Stdio::null()).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn colmux_takes_whit_for_collectl() {
    if !has_collectl() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "gamma-20260101-100000.raw";
    std::fs::copy(recordings().join(name), folder.path().join(name)).unwrap();
    let link = folder.path().join("collectl");
    std::os::unix::fs::symlink(WHIT, &link).unwrap();
    let version = Command::new(&link).arg("-v").output().unwrap().stdout;
    assert!(version.starts_with(b"collectl V4.3.1 (whit "));
    let Some(ours) = colmux(&link, folder.path()) else { return };
    assert!(ours.contains("10:00:01     47     47 |      16     16\n"), "{ours}");
    assert_eq!(Some(ours), colmux(Path::new("/usr/bin/collectl"), folder.path()));
}

#[test]
fn what_collectl_takes_in_playback_is_taken_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("collectl");
    std::os::unix::fs::symlink(WHIT, &link).unwrap();
    let run = |program: &Path, switches: &str| {
        let mut command = Command::new(program);
        command.arg("-p").arg(recordings().join("gamma-20260101-100000.raw"));
        let output = command.args(switches.split_whitespace()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stdout).unwrap())
    };
    let plain = run(&link, "-scd");
    assert!(plain.0 && plain.1.contains("KBRead"), "{plain:?}");
    let real = Path::new("/usr/bin/collectl");
    let is_here = has_collectl();
    for switches in [
        "-c 2 -scd",
        "-scd -c2",
        "--count 2 -scd",
        "-R 1d -scd",
        "--runtime 1d -scd",
        "--comment x -scd",
        "--nohup -scd",
        "--pname x -scd",
        "--tworaw -scd",
        "--rawdskfilt nothing -scd",
        "--rawdskfilter nothing -scd",
        "--rawdskignore sd -scd",
        "--rawnetfilt nothing -scd",
        "--rawnetfilter nothing -scd",
        "--rawnetignore eth -scd",
        "--umask 022 -scd",
        "--quiet -scd",
        "-N -scd",
        "--nice -scd",
        "-sn -scd",
        "-scd -scd",
    ] {
        assert_eq!(run(&link, switches), plain, "{switches}");
        assert!(!is_here || run(real, switches) == plain, "{switches}");
    }
    let told = run(&link, "-scd -m");
    assert!(told.1.starts_with("\nPlaying back ") && told.1.ends_with(&plain.1), "{told:?}");
    assert!(!is_here || run(real, "-scd -m") == told);
}
