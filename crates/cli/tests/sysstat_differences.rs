//! Random command lines of sysstat and procps, and those of `typed.txt`, which people type, beside the
//! installed programs: the same lines, columns and values, or a refusal by name.
//!
//! Both read the same files: a folder with copies of kernel files lies over `/proc` in a namespace, and
//! copies over the `stat` files of `/sys/block`, so that nothing moves between the two; `sar -f` and `sadf` read a daily file of `testdata/sysstat`
//! that has every activity, and are compared byte for byte.
//!
//! ```text
//! WHIT_DIFFERENCES=300         so many command lines
//! WHIT_DIFFERENCES_SEED=17     those from this seed on: one each, counted up
//! WHIT_DIFFERENCES_LINES=FILE  the lines of this file in place of typed.txt
//! WHIT_DIFFERENCES_TO=FILE     the whole list of differences
//! ```
#![allow(clippy::print_stderr, reason = "all of it is tests, helpers too")]

mod generate;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use generate::{Case, DAILY, PID};

/// Command lines of a long and of a short run.
const FEW: [u64; 2] = [200, 20];
const FEW_SEED: u64 = 7_000;
/// Differences that a failure shows.
const SHOWN: usize = 40;

/// Kernel files of which copies lie over `/proc`.
const COPIED: &[&str] = &[
    "cpuinfo",
    "diskstats",
    "interrupts",
    "loadavg",
    "meminfo",
    "net/dev",
    "net/netstat",
    "net/snmp",
    "net/snmp6",
    "net/sockstat",
    "net/sockstat6",
    "net/softnet_stat",
    "pressure/cpu",
    "pressure/io",
    "pressure/memory",
    "self/mountinfo",
    "self/mounts",
    "slabinfo",
    "softirqs",
    "stat",
    "sys/fs/dentry-state",
    "sys/fs/file-nr",
    "sys/fs/inode-nr",
    "sys/fs/inode-state",
    "sys/kernel/osrelease",
    "sys/kernel/pty/nr",
    "tty/driver/serial",
    "vmstat",
];

/// Disks with names by `/dev/disk`, some of them two, some none.
const LINKS: &str = "mkdir device\nmount --bind /dev device && mount -t tmpfs none /dev || exit 9\n\
    touch /dev/null && mount --bind device/null /dev/null || exit 9\n\
    touch /dev/vda /dev/vdb /dev/loop0\n\
    mkdir -p /dev/disk/by-id /dev/disk/by-label\n\
    ln -s ../../vda /dev/disk/by-id/one\nln -s ../../loop0 /dev/disk/by-id/virtio-three\n\
    ln -s ../../vdb /dev/disk/by-label/data\n";

/// Columns that are other numbers, by their titles, and why: see docs/from-sysstat.md.
const OTHER: &[&str] = &[
    "pgsteal/s",
    "%vmeff",
    "%guest",
    "iodelay",
    "fd-nr",
    "guest-ms",
    // Of kernels that count messages over the limit of all.
    "odstunr/s",
    "otmex/s",
    "oparmpb/s",
    "osrcq/s",
    "oredir/s",
    "oech/s",
    "oechr/s",
    "otm/s",
    "otmr/s",
    "oadrmk/s",
    "oadrmkr/s",
];

fn copy_kernel_files(folder: &Path) {
    for file in COPIED {
        let copy = folder.join("proc").join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        if let Ok(text) = fs::read(Path::new("/proc").join(file)) {
            fs::write(copy, text).unwrap();
        }
    }
    fs::write(folder.join("proc/uptime"), "").unwrap();
    fs::write(folder.join("proc/sys/kernel/hostname"), "host\n").unwrap();
    fs::create_dir(folder.join("real")).unwrap();
    write_disks(&folder.join("disks"));
}

/// A folder for `iostat -f`: two disks, one with a partition, and one more in `diskstats`.
fn write_disks(folder: &Path) {
    let whole = "100 10 2000 50 60 6 1200 30 1 40 90 5 0 400 3 2 1";
    let part = "10 1 200 5 6 0 120 3 0 4 9 0 0 0 0 0 0";
    for (disk, numbers) in [("u2", whole), ("u10", part), ("u2/u2p1", part)] {
        let stat = folder.join("block").join(disk);
        fs::create_dir_all(&stat).unwrap();
        fs::write(stat.join("stat"), format!("{numbers}\n")).unwrap();
    }
    let list = [("u2", whole), ("u2p1", part), ("u10", part), ("u3", part)];
    let lines = list.map(|(name, numbers)| format!("259 0 {name} {numbers}\n"));
    fs::write(folder.join("diskstats"), lines.concat()).unwrap();
}

/// The script that runs the cases, eight at a time: those that read processes first, then those that
/// read copies.
fn script(cases: &[(u64, Case)], folder: &Path, pid: u32) -> String {
    let daily = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/sysstat").join(DAILY);
    let mut parts = [String::new(), String::new()];
    for (place, (number, case)) in cases.iter().enumerate() {
        let text = case.words.join(" ").replace(PID, &pid.to_string());
        let text = text.replace(DAILY, daily.to_str().unwrap());
        let part = &mut parts[usize::from(case.tool != "pidstat")];
        for (who, program) in [("theirs", ""), ("ours", crate::WHIT)] {
            let verb = if program.is_empty() { "" } else { "sysstat" };
            let _ = writeln!(
                part,
                "(timeout 60 {program} {verb} {tool} {text}; echo \"exit $?\") >{number}.{who} 2>&1 </dev/null &",
                tool = case.tool
            );
        }
        if place % 4 == 3 {
            part.push_str("wait\n");
        }
    }
    let [processes, copies] = parts;
    format!(
        "cd {}\nhostname host\n{LINKS}{processes}\nwait\n\
         for stat in /sys/block/*/stat /sys/block/*/*/stat; do\n\
         [ -f $stat ] || continue\n\
         name=${{stat%/stat}}; mkdir -p .${{stat%/stat}}\n\
         awk -v n=${{name##*/}} '$3 == n {{ $1 = $2 = $3 = \"\"; print }}' proc/diskstats > .$stat\n\
         mount --bind .$stat $stat\n\
         done\n\
         mount --rbind /proc real && mount --bind proc /proc && \
         mount --bind real/uptime /proc/uptime || exit 9\n{copies}\nwait\n",
        folder.display()
    )
}

/// A word or a number of a line.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Text(&'a str),
    Number(&'a str),
}

/// The parts of a line: numbers, and what is between them.
fn parts(line: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        let is_digit = |c: char| c.is_ascii_digit();
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        if rest.starts_with(is_digit) {
            parts.push(Part::Number(&rest[..number]));
            rest = &rest[number..];
        } else {
            let text = rest.find(is_digit).unwrap_or(rest.len());
            parts.push(Part::Text(&rest[..text]));
            rest = &rest[text..];
        }
    }
    parts
}

/// Whether two numbers are the same up to what the time between two starts makes: the last digit, and
/// a thousandth.
fn is_near(ours: &str, theirs: &str) -> bool {
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let (Ok(a), Ok(b)) = (ours.parse::<f64>(), theirs.parse::<f64>()) else { return false };
    decimals(ours) == decimals(theirs)
        && (a - b).abs() <= 1.01 * 10_f64.powi(-(decimals(theirs) as i32)) + 0.001 * b.abs()
}

/// Whether two lines say the same: times may differ, numbers a little.  Where numbers have the same
/// lengths, everything stands at the same place.
fn is_same_line(ours: &str, theirs: &str, is_exact: bool) -> bool {
    if ours == theirs || is_exact {
        return ours == theirs;
    }
    let (a, b) = (parts(ours), parts(theirs));
    if a.len() != b.len() {
        return false;
    }
    let is_time = |text: &Part<'_>| matches!(text, Part::Text(text) if text.starts_with(':'));
    let mut shift = 0_i64;
    for (place, pair) in a.iter().zip(&b).enumerate() {
        match pair {
            (Part::Number(ours), Part::Number(theirs)) => {
                let in_time = [place.wrapping_sub(1), place + 1];
                let in_time = in_time.iter().any(|at| a.get(*at).is_some_and(is_time));
                if !in_time && !is_near(ours, theirs) {
                    return false;
                }
                shift += ours.len() as i64 - theirs.len() as i64;
            }
            (Part::Text(ours), Part::Text(theirs)) => {
                // A longer number takes a blank before it.
                let blanks = |text: &str| text.len() - text.trim_end_matches(' ').len();
                let same = ours.trim_end_matches(' ') == theirs.trim_end_matches(' ');
                if !same || (blanks(ours) as i64 - blanks(theirs) as i64).abs() > 1 + shift.abs() {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

/// Puts `-` where a column of [`OTHER`] stands, in both.
fn without_others(ours: &str, theirs: &str) -> (Vec<String>, Vec<String>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let mut columns: Vec<usize> = Vec::new();
    let mut theirs = theirs.lines();
    for ours in ours.lines() {
        let their = theirs.next().unwrap_or_default();
        let words: Vec<&str> = their.split_whitespace().collect();
        if words.is_empty() {
            columns.clear();
        } else if words.iter().any(|word| OTHER.contains(word)) {
            let found = words.iter().enumerate().filter(|(_, word)| OTHER.contains(word));
            // Commands have several words; a comment mark stands in the heading alone.
            let mark = usize::from(words[0] == "#");
            columns = found.map(|(place, _)| place - mark).collect();
        } else if !columns.is_empty() {
            let masked = |line: &str| {
                let mut words: Vec<&str> = line.split_whitespace().collect();
                for place in &columns {
                    if let Some(word) = words.get_mut(*place) {
                        *word = "~";
                    }
                }
                words.join(" ")
            };
            first.push(masked(ours));
            second.push(masked(their));
            continue;
        }
        first.push(ours.to_owned());
        second.push(their.to_owned());
    }
    second.extend(theirs.map(str::to_owned));
    (first, second)
}

/// Whether a line ends with the name of a group of disks: iostat shows sums in the first one of several
/// tables only.
fn is_sum_of_disks(line: &str) -> bool {
    ["  grp", "  more"].iter().any(|name| line.ends_with(name))
}

fn is_all_zero(line: &str) -> bool {
    line.bytes().all(|byte| !(b'1'..=b'9').contains(&byte))
}

/// What a case came to.
enum Outcome {
    Same,
    Refused(String),
    Different(String),
}

fn compare(case: &Case, ours: &str, theirs: &str) -> Outcome {
    let is_done = |text: &str| text.ends_with("exit 0\n");
    if let Some(refusal) = ours.lines().find(|line| line.contains("is not supported")) {
        return Outcome::Refused(refusal.to_owned());
    }
    if !is_done(ours) && !is_done(theirs) {
        return Outcome::Same;
    }
    let is_exact = case.words.iter().any(|word| word == DAILY);
    let (our_lines, their_lines) = match is_exact {
        true => {
            let lines = |text: &str| text.lines().map(str::to_owned).collect();
            (lines(ours), lines(theirs))
        }
        false => without_others(ours, theirs),
    };
    for (place, ours) in our_lines.iter().enumerate() {
        let theirs = their_lines.get(place).map_or("(no line)", String::as_str);
        let is_shown_once = is_sum_of_disks(ours) && is_all_zero(theirs);
        if !is_shown_once && !is_same_line(ours, theirs, is_exact) {
            return Outcome::Different(format!("{}: {ours:?}\n    not {theirs:?}", place + 1));
        }
    }
    match their_lines.get(our_lines.len()) {
        Some(line) => Outcome::Different(format!("ends before {line:?}")),
        None => Outcome::Same,
    }
}

/// The programs that whit is compared with.
const TOOLS: &[&str] = &["sar", "sadf", "iostat", "mpstat", "pidstat", "vmstat", "free"];

#[test]
fn random_command_lines_say_the_same() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number("WHIT_DIFFERENCES_SEED").unwrap_or(FEW_SEED);
    let few = if testkit::is_long() { FEW[0] } else { FEW[1] };
    let count = number("WHIT_DIFFERENCES").unwrap_or(few);
    eprintln!("{count} command lines from seed {seed}");
    let cases = (seed..seed + count).map(|seed| (seed, generate::case(seed)));
    say_the_same("sysstat: random command lines", &cases.collect::<Vec<_>>());
}

#[test]
fn typed_command_lines_say_the_same() {
    let given = std::env::var_os("WHIT_DIFFERENCES_LINES");
    let lines = match &given {
        Some(file) => fs::read_to_string(file).unwrap(),
        None => include_str!("sysstat_differences/typed.txt").to_owned(),
    };
    let case = |(number, line): (usize, &str)| {
        let (name, words) = line.split_once(' ').unwrap_or((line, ""));
        let tool = TOOLS.iter().find(|tool| **tool == name).unwrap();
        (number as u64 + 1, Case { tool, words: words.split(' ').map(str::to_owned).collect() })
    };
    let cases: Vec<_> = lines.lines().enumerate().map(case).collect();
    let cases = if given.is_some() { cases } else { testkit::share_of(cases).collect() };
    say_the_same("sysstat: typed command lines", &cases);
}

/// Runs both programs with each command line and compares what they say.
fn say_the_same(what: &str, cases: &[(u64, Case)]) {
    for program in TOOLS.iter().chain(&["unshare"]) {
        if !testkit::is_installed(what, program) {
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    copy_kernel_files(folder.path());
    let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
    testkit::wait_until("it sleeps", || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", sleeper.id())).unwrap_or_default();
        stat.contains("(sleep) S")
    });
    let script = script(cases, folder.path(), sleeper.id());
    let mut unshare = Command::new("unshare");
    unshare.args(["-umn", "bash", "-c", &script]).env("LC_ALL", "C").env("TZ", "UTC");
    let Output { status, stderr, .. } = unshare.env_remove("COLUMNS").output().unwrap();
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    if !status.success() {
        return testkit::skip_refused(what, &String::from_utf8_lossy(&stderr));
    }
    let (mut refused, mut different) = (BTreeMap::<String, u32>::new(), Vec::new());
    for (number, case) in cases {
        let read = |who: &str| {
            let bytes = fs::read(folder.path().join(format!("{number}.{who}"))).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        match compare(case, &read("ours"), &read("theirs")) {
            Outcome::Same => {}
            Outcome::Refused(text) => *refused.entry(text).or_default() += 1,
            Outcome::Different(text) => {
                different.push(format!("{number}: {}:\n    {text}", case.typed()));
            }
        }
    }
    let count = cases.len();
    eprintln!("{} of {count} refused", refused.values().sum::<u32>());
    refused.iter().for_each(|(text, number)| eprintln!("  {number}: {text}"));
    if let Some(all) = std::env::var_os("WHIT_DIFFERENCES_TO") {
        fs::write(all, different.join("\n")).unwrap();
    }
    let shown = different[..different.len().min(SHOWN)].join("\n");
    assert!(different.is_empty(), "{} of {count} differ:\n{shown}", different.len());
}

/// The options that a text names: a letter or a word after hyphens.
fn options(text: &str) -> std::collections::BTreeSet<String> {
    let words = text.split(|c: char| c.is_whitespace() || "[]{}|,`=;".contains(c));
    let is_option = |word: &&str| {
        let name = word.trim_start_matches('-');
        let dashes = word.len() - name.len();
        (dashes == 1 && name.len() == 1 || dashes == 2 && name.len() > 1)
            && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
    };
    words.filter(is_option).map(str::to_owned).collect()
}

#[test]
fn the_page_has_every_option() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/from-sysstat.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("## Every option").nth(1).unwrap();
    for tool in ["sar", "sadf", "iostat", "mpstat", "pidstat", "vmstat", "free", "uptime"] {
        if !testkit::is_installed("sysstat: options of the programs", tool) {
            continue;
        }
        let row = table.lines().find(|line| line.starts_with(&format!("| `{tool}`"))).unwrap();
        let columns: Vec<&str> = row.split('|').collect();
        let (same, refused) = (options(columns[2]), options(columns[3]));
        let help = Command::new(tool).arg("--help").output().unwrap();
        let help = [help.stdout, help.stderr].concat();
        for option in options(&String::from_utf8_lossy(&help)) {
            let is_there = same.contains(&option) || refused.contains(&option);
            assert!(is_there, "{tool} {option} is not in docs/from-sysstat.md");
        }
        for (option, is_refused) in same
            .iter()
            .map(|option| (option, false))
            .chain(refused.iter().map(|option| (option, true)))
        {
            // A value, if it takes one, that no option takes; what is known says something else.
            let output = Command::new(crate::WHIT)
                .args(["sysstat", tool, option, "\u{1}", "\u{1}"])
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            // Some keywords of these are refused, and others not.
            if !(tool == "sar" && ["-n", "-m"].contains(&option.as_str())) {
                assert_eq!(
                    said.contains("is not supported"),
                    is_refused,
                    "{tool} {option}: {said}"
                );
            }
            assert!(!said.contains("unknown option"), "{tool} {option}: {said}");
        }
    }
}
