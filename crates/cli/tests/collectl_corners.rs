//! Corners of collectl's behaviour that no kept recording reaches: `--stats` of a recording with
//! processes, recordings of versions before 3.6.4, names of plot files in other time zones, counts of
//! running processes.  What collectl itself does is looked up here; without it those parts are
//! skipped.
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail; a skipped one says why"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::beside_collectl::has_collectl;

use crate::WHIT;

fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recordings").join(name)
}

fn run(program: &str, zone: &str, words: &[&str]) -> Output {
    let verb: &[&str] = if program == WHIT { &["play"] } else { &[] };
    let mut command = Command::new(program);
    command.args(verb).args(words).env("TZ", zone).stdin(Stdio::null());
    command.output().unwrap_or_else(|error| panic!("{program}: {error}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What whit prints; it must succeed.
fn whit(path: &Path, switches: &str) -> String {
    let words: Vec<&str> =
        [path.to_str().unwrap()].into_iter().chain(switches.split_whitespace()).collect();
    let done = run(WHIT, "UTC", &words);
    assert!(done.status.success(), "{switches}: {}", text(&done.stderr));
    text(&done.stdout)
}

/// What collectl prints, without its messages.
fn collectl(path: &Path, switches: &str) -> String {
    let words: Vec<&str> =
        ["-p", path.to_str().unwrap()].into_iter().chain(switches.split_whitespace()).collect();
    let shown = text(&run("collectl", "UTC", &words).stdout);
    shown.split_inclusive('\n').filter(|line| !line.starts_with("--stats")).collect()
}

#[test]
fn totals_leave_processes_and_slabs_out() {
    let (zeta, alpha) =
        (recording("zeta-20261121-131413.raw.gz"), recording("alpha-20261121-093009.raw.gz"));
    let cases = [
        (&zeta, "--stats", true),
        (&zeta, "--stats --statopts ais", true),
        // collectl refuses letters that are given, and shows no totals beside other details.
        (&zeta, "-scZ --stats", false),
        (&alpha, "-scdmnYZ --stats", false),
        (&alpha, "--stats", false),
    ];
    for (path, switches, is_collectls) in cases {
        let words = [&[path.to_str().unwrap()], &*switches.split(' ').collect::<Vec<_>>()].concat();
        let done = run(WHIT, "UTC", &words);
        let (shown, note) = (text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "{switches}: {note}");
        assert!(shown.lines().any(|line| line.starts_with('T')), "{switches}: {shown}");
        assert!(note.contains("is left out"), "{switches}: {note}");
        if is_collectls && has_collectl() {
            let exact = whit(path, &format!("{switches} --exact"));
            assert_eq!(exact, collectl(path, switches), "{switches}");
        }
    }
    let done = run(WHIT, "UTC", &[zeta.to_str().unwrap(), "-sZ", "--stats"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
    assert!(text(&done.stderr).contains("-s Z has none"), "{}", text(&done.stderr));
    let done = run(WHIT, "UTC", &[alpha.to_str().unwrap(), "-sm", "--memopts", "p", "--stats"]);
    assert_eq!(done.status.code(), Some(2), "{}", text(&done.stdout));
}

/// A recording of five intervals as collectl before 3.6.4 made it: of the TCP/IP stack the values of
/// `TcpExt` without names.  One reading does not count its reader among the running processes.
fn old_recording(folder: &Path) -> PathBuf {
    let rule = "#".repeat(80);
    let mut lines = format!(
        "{rule}\n\
         # Collectl:   V3.6.3-1  HiRes: 1  Options: -sct -i1 -f /tmp\n\
         # Host:       old  DaemonOpts: \n\
         # Date:       20120101-100000  Secs: 1325412000 TZ: +0000\n\
         # SubSys:     ctm Options:  Interval: 1 NumCPUs: 1  NumBud: 0 Flags: i\n\
         # Filters:    NfsFilt:  EnvFilt: \n\
         # HZ:         100  Arch: x86_64-linux-thread-multi PageSize: 4096\n\
         # Cpu:        X Speed(MHz): 2100 Cores: 1  Siblings: 1\n\
         # Kernel:     2.6.32  Memory: 1000000 kB  Swap: 0 kB\n\
         # NumDisks:   0 DiskNames: \n\
         # NumNets:    1 NetNames: lo:??\n{rule}\n"
    );
    for tick in 0..5 {
        let running = u8::from(tick != 2);
        let values: Vec<String> = (1..=65).map(|column| (tick * column).to_string()).collect();
        lines += &format!(
            ">>> {}.000 <<<\nload 0.00 0.00 0.00 {running}/100 1\n\
             cpu  {u} 0 {s} {i} 0 0 0 0 0 0\ncpu0 {u} 0 {s} {i} 0 0 0 0 0 0\n\
             intr {u}\nctxt {u}\nprocesses {tick}\nprocs_running {running}\nprocs_blocked 0\n\
             MemTotal: 1000000 kB\nMemFree: 500000 kB\nBuffers: 100 kB\nCached: 100 kB\n\
             TcpExt: {}\n",
            1_325_412_000 + tick,
            values.join(" "),
            u = tick * 10,
            s = tick * 5,
            i = tick * 85,
        );
    }
    lines += ">>> 1325412005.000 <<<\n";
    let path = folder.join("old-20120101-100000.raw");
    std::fs::write(&path, lines).unwrap();
    path
}

#[test]
fn what_an_old_recording_lacks_of_the_stack_is_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_recording(folder.path());
    if has_collectl() {
        for switches in
            ["-st", "-sct", "-st --verbose", "-st -P", "-st --stats", "-st --export lexpr"]
        {
            let exact = whit(&path, &format!("{switches} --exact"));
            assert_eq!(exact, collectl(&path, switches), "{switches}");
        }
    }
    let brief = whit(&path, "-st");
    assert!(brief.starts_with("#<TCP>\n#TcpX \n   87 \n"), "{brief}");
    let verbose = whit(&path, "-st --verbose");
    assert!(!verbose.contains("IpPkts") && verbose.contains("TcpExt"), "{verbose}");
    assert!(verbose.lines().last().unwrap().trim_start().starts_with("-  "), "{verbose}");
    let plot = whit(&path, "-st -P --sep ,");
    assert_eq!(plot.lines().nth(1), Some("20120101,10:00:01,,,,,41,46"), "{plot}");
    for switches in ["-st --csv", "-st --json", "-st --openmetrics", "-st --export lexpr"] {
        let text = whit(&path, switches);
        for lacking in ["ip_in", "tcp_in", "udp_in", "icmp_in", "iperrs", "udperrs"] {
            assert!(!text.contains(lacking), "{switches}: {text}");
        }
        assert!(text.contains("tcpext_loss") || text.contains("tcpxerrs"), "{switches}: {text}");
    }
    let asked = whit(&path, "-st --tcpfilt itc");
    assert!(asked.ends_with("    -    -    - \n"), "{asked}");
}

#[test]
fn no_count_of_running_processes_is_negative() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_recording(folder.path());
    let running = |switches: &str, column: usize| -> Vec<String> {
        let shown = whit(&path, switches);
        let lines = shown.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        lines.map(|line| line.split_whitespace().nth(column).unwrap().to_owned()).collect()
    };
    for (switches, column) in
        [("--vmstat", 0), ("-sc --verbose", 15), ("-sc --verbose", 19), ("-sc -P", 17)]
    {
        assert_eq!(running(switches, column), ["0"; 4], "{switches}");
        let exact = format!("{switches} --exact");
        assert_eq!(running(&exact, column), ["0", "-1", "0", "0"], "{switches}");
    }
    if has_collectl() {
        assert_eq!(whit(&path, "--vmstat --exact"), collectl(&path, "--vmstat"));
    }
}

/// The names of the plot files that a program makes, and their lines without those about the
/// programs.
fn plot_files(program: &str, zone: &str, path: &Path, switches: &str, to: &Path) -> Vec<String> {
    std::fs::create_dir_all(to).unwrap();
    let given = ["-p", path.to_str().unwrap(), "-P", "-f", to.to_str().unwrap()];
    let words: Vec<&str> = given.into_iter().chain(switches.split(' ')).collect();
    let done = run(program, zone, &words);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(to).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let lines = files.iter().flat_map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let kept = |line: &&str| !line.starts_with("# ") || line.starts_with("# Date:");
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<String> = text.lines().filter(kept).map(str::to_owned).collect();
        [name].into_iter().chain(lines)
    });
    lines.collect()
}

#[test]
fn plot_files_have_the_date_and_the_prefix_of_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let beta = recording("beta-20260301-235950.raw.gz");
    let prefixed = folder.path().join("web-beta-20260301-235950.raw.gz");
    std::fs::copy(&beta, &prefixed).unwrap();
    for (index, zone) in ["UTC", "Asia/Tokyo", "America/New_York"].into_iter().enumerate() {
        for (path, switches, name) in [
            (&beta, "-sm -oz", "beta-20260301.tab"),
            (&beta, "-smN -ozu", "beta-20260301-235950.net"),
            (&prefixed, "-sm -oz", "web-beta-20260301.tab"),
        ] {
            let to = |who: &str| folder.path().join(format!("{who}{index}{name}"));
            let ours = plot_files(WHIT, zone, path, switches, &to("ours"));
            assert_eq!(ours[0], name, "{zone} {switches}");
            let exact = format!("{switches} --exact");
            let exact = plot_files(WHIT, zone, path, &exact, &to("exact"));
            assert_eq!(exact[0], name, "{zone} {switches} --exact");
            assert!(exact.iter().any(|line| line.contains("20260301-235950  Secs: 1772405990")));
            if has_collectl() {
                let theirs = plot_files("collectl", zone, path, switches, &to("theirs"));
                assert_eq!(exact, theirs, "{zone} {switches}");
            }
        }
    }
}

#[test]
fn what_was_not_recorded_is_zero_as_in_collectl_or_not_shown() {
    let gamma = recording("gamma-20260101-100000.raw");
    assert!(!whit(&gamma, "--all").contains("Log"), "collectl knows no such source");
    assert!(!whit(&gamma, "--all --exact").contains("Log"));
    assert!(!whit(&gamma, "-scm --verbose").contains("MEMORY"));
    // Memory that was not recorded does not hide what was.
    let zeta = recording("zeta-20261121-131413.raw.gz");
    assert!(whit(&zeta, "-smZ -P").lines().count() > 1);
    if !has_collectl() {
        return;
    }
    let unrecorded = ["b", "f", "i", "m", "s", "t"];
    let verbose = unrecorded.map(|letter| format!("-sc{letter} --verbose"));
    let plot = unrecorded.map(|letter| format!("-sc{letter} -P"));
    // What no machine of the recording has makes lines of several columns, and record lines; slabs
    // that were not recorded are not asked for.
    let others = ["--all", "-scF", "-scy", "-scX", "-scY", "-scx --verbose", "--export vmstat"];
    let others = others.map(str::to_owned);
    for switches in verbose.iter().chain(&plot).chain(&others) {
        let exact = whit(&gamma, &format!("{switches} --exact"));
        assert_eq!(exact, collectl(&gamma, switches), "{switches}");
    }
}

#[test]
fn nothing_that_was_asked_for_is_an_error_that_names_it() {
    let delta = recording("delta-20260201-120000.raw.gz");
    for (letters, named) in [("M", "'M'"), ("X", "'X'"), ("y", "'y'"), ("xy", "'xy'")] {
        let done = run(WHIT, "UTC", &[delta.to_str().unwrap(), "-s", letters]);
        assert_eq!(done.status.code(), Some(2), "{letters}: {done:?}");
        let wanted = format!("none of {named} is recorded (recorded: 'cdDnNm')");
        assert!(text(&done.stderr).contains(&wanted), "{letters}: {}", text(&done.stderr));
    }
}

#[test]
fn tasks_that_were_not_recorded_are_none_and_not_one_less() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_recording(folder.path());
    let memory =
        std::fs::read_to_string(&path).unwrap().replace("SubSys:     ctm", "SubSys:     m");
    std::fs::write(&path, memory).unwrap();
    let shown = whit(&path, "--export vmstat --exact");
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.starts_with("  0  0 ")), "{shown}");
}

#[test]
fn periods_are_of_the_times_that_are_shown() {
    let gamma = recording("gamma-20260101-100000.raw");
    let hour = ["-sc -oT --offsettime 3600", "--from 11:00:02 --thru 11:00:04"].join(" ");
    let shown = whit(&gamma, &hour);
    let times: Vec<&str> = shown.lines().filter(|line| line.starts_with("11:")).collect();
    assert_eq!(times.len(), 3, "{shown}");
    let words = [gamma.to_str().unwrap(), "--grep", "^cpu ", "--offsettime", "3600"];
    let found =
        run(WHIT, "UTC", &[&words[..], &["--from", "11:00:02", "--thru", "11:00:02"]].concat());
    assert!(text(&found.stdout).contains("11:00:02 cpu "), "{found:?}");
    if has_collectl() {
        assert_eq!(whit(&gamma, &format!("{hour} --exact")), collectl(&gamma, &hour));
    }
}

#[test]
fn slabs_as_a_whole_and_changes_of_memory_are_collectls() {
    if !has_collectl() {
        return;
    }
    let alpha = recording("alpha-20261121-093009.raw.gz");
    for switches in ["-sy", "-sy -oT", "-scy", "-sm --memopts R --verbose"] {
        let exact = whit(&alpha, &format!("{switches} --exact"));
        assert_eq!(exact, collectl(&alpha, switches), "{switches}");
    }
}

#[test]
fn a_disk_of_which_the_weighted_time_alone_moves_did_nothing() {
    let text = std::fs::read_to_string(recording("gamma-20260101-100000.raw")).unwrap();
    let mut lines: Vec<&str> = text.lines().take(75).collect();
    let is_sdb = |line: &&str| line.starts_with("disk    8      16 sdb ");
    let readings: Vec<usize> = (0..lines.len()).filter(|&at| is_sdb(&lines[at])).collect();
    let weighted = lines[readings[1]].replace(" 61896", " 61899");
    lines[readings[2]] = &weighted;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gamma-20260101-100000.raw");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let shown = whit(&path, "-sD --dskopts z");
    assert_eq!((shown.matches("sda ").count(), shown.matches("sdb ").count()), (2, 1), "{shown}");
    if has_collectl() {
        assert_eq!(shown, collectl(&path, "-sD --dskopts z"));
    }
}

#[test]
fn switches_of_processes_go_with_any_selection() {
    let gamma = recording("gamma-20260101-100000.raw");
    let plain = whit(&gamma, "-sc");
    for switches in ["--procopts w", "--procstate R", "--passwd /etc/passwd"] {
        assert_eq!(whit(&gamma, &format!("-sc {switches}")), plain, "{switches}");
        if has_collectl() {
            assert_eq!(collectl(&gamma, &format!("-sc {switches}")), plain, "{switches}");
        }
    }
}
