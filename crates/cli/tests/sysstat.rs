//! The reports of `whit sysstat` beside those of the programs, over the same kernel files.
//!
//! The files that both read are copied and mounted over `/proc` in a namespace of their own, so that
//! nothing moves between the two.  Reports since boot show what each counter is for; numbers may
//! differ by the time between the two programs' starts.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const WHIT: &str = env!("CARGO_BIN_EXE_whit");

/// Kernel files that move.
const FILES: &[&str] = &[
    "stat",
    "meminfo",
    "vmstat",
    "diskstats",
    "loadavg",
    "interrupts",
    "softirqs",
    "slabinfo",
    "pressure/cpu",
    "pressure/io",
    "pressure/memory",
    "sys/fs/dentry-state",
    "sys/fs/file-nr",
    "sys/fs/inode-state",
];

/// Command lines of which both must say the same.
const CASES: &[&str] = &[
    "free",
    "free -b",
    "free -k",
    "free -m",
    "free -g",
    "free --kilo",
    "free --mega",
    "free --giga",
    "free -h",
    "free -h --si",
    "free -w",
    "free -t",
    "free -l",
    "free -v",
    "free -ltvw",
    "free -wh",
    "uptime -s",
    "uptime -p",
    "vmstat",
    "vmstat -w",
    "vmstat -a",
    "vmstat -aw",
    "vmstat -S M",
    "vmstat -S m",
    "vmstat -S k",
    "vmstat -f",
    "vmstat -s",
    "vmstat -d",
    "vmstat -dw",
    "vmstat -D",
    "vmstat -m",
    "vmstat -n",
    "iostat",
    "iostat -c",
    "iostat -d",
    "iostat -x",
    "iostat -xd",
    "iostat -k",
    "iostat -m",
    "iostat -xm",
    "iostat -s",
    "iostat -xs",
    "iostat -h",
    "iostat -xh",
    "iostat -xhs",
    "iostat -z",
    "iostat --human",
    "iostat -m --human",
    "iostat -xm --human",
    "iostat --pretty",
    "iostat --pretty -x",
    "iostat --dec=0",
    "iostat --dec=1 -x",
    "iostat -p",
    "iostat -p ALL",
    "iostat -N -d",
    "iostat -d ALL",
    "iostat -g all -d",
    "iostat -H -g all -d",
    "iostat -g a -g b -d",
    "iostat -d -g a vda -g b loop0",
    "iostat -d -p vda -g a vda loop0",
    "iostat -d vda -g a vda",
    "iostat -dx vda -g a vda",
    "iostat -dxH vda -g a vda -g b loop0",
    "iostat -d -p ALL vda",
    "iostat -y",
    "iostat -dx --compact -h",
    "mpstat",
    "mpstat -P ALL",
    "mpstat -P 0",
    "mpstat -P all,0",
    "mpstat -I SUM",
    "mpstat -I CPU",
    "mpstat -I SCPU",
    "mpstat -I SUM -P ALL",
    "mpstat -I ALL",
    "mpstat -u -I SUM",
    "mpstat --dec=1",
    "sar 0",
    "sar -u ALL 0",
    "sar -P ALL 0",
    "sar -P 0 0",
    "sar -P 0 1 1",
    "sar -P 0,1 1 1",
    "sar -P 0,99 1 1",
    "sar -P 99 1 1",
    "sar -r 0",
    "sar -r ALL 0",
    "sar -S 0",
    "sar -B 0",
    "sar -W 0",
    "sar -w 0",
    "sar -b 0",
    "sar -d 0",
    "sar -dp 0",
    "sar -dz 0",
    "sar -H 0",
    "sar -q 0",
    "sar -q LOAD 0",
    "sar -q CPU,IO 0",
    "sar -q ALL 0",
    "sar -I SUM 0",
    "sar -n DEV 0",
    "sar -n DEV --human 0",
    "sar -n DEV --iface=lo --iface=eth0 0",
    "sar -d --dev=loop0 --dev=vda 0",
    "sar -I --int=RES --int=LOC,24 0",
    "sar -n EDEV 0",
    "sar -n SOCK 0",
    "sar -n SOCK6 0",
    "sar -n IP,EIP 0",
    "sar -n TCP,ETCP 0",
    "sar -n UDP 0",
    "sar -n ICMP,EICMP 0",
    "sar -ur 0",
    "sar --human -r 0",
    "sar --dec=1 -B 0",
    "sar -u -r -b -q 0",
];

/// Columns that the programs reckon otherwise: sysstat counts a page that was reclaimed twice, as one
/// of kswapd or of a task, and as anonymous or of a file.
const DIFFERENT: &[(&str, &[&str])] = &[("sar -B", &["pgsteal/s", "%vmeff"])];

/// Runs a command line in a namespace where the copies lie over `/proc`.
fn in_namespace(copies: &Path, command: &str) -> Output {
    let mut script = String::new();
    for file in FILES.iter().filter(|file| copies.join(file).exists()) {
        script += &format!("mount --bind {}/{file} /proc/{file} && ", copies.display());
    }
    script += command;
    let mut unshare = Command::new("unshare");
    unshare.args(["-mn", "sh", "-c", &script]).env("LC_ALL", "C").env("TZ", "UTC");
    unshare.env_remove("COLUMNS").output().unwrap()
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// A number with the unit that follows it.
fn number(word: &str) -> (f64, &str) {
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    (word[..end].parse().unwrap_or(f64::NAN), &word[end..])
}

/// Whether two words say the same: times of day may differ, and numbers a little.
fn is_same(ours: &str, theirs: &str) -> bool {
    let is_time = |word: &str| word.len() >= 8 && word.matches(':').count() == 2;
    if ours == theirs || (is_time(ours) && is_time(theirs)) {
        return true;
    }
    if !is_number(ours) || !is_number(theirs) {
        return false;
    }
    let ((ours, our_unit), (theirs, their_unit)) = (number(ours), number(theirs));
    our_unit == their_unit && (ours - theirs).abs() <= 1.01 + 0.03 * theirs.abs()
}

/// The first line that differs.
fn difference(case: &str, ours: &str, theirs: &str) -> Option<String> {
    let is_case =
        |(start, _): &&(&str, &[&str])| case.contains(&start[4..]) && case.starts_with("sar");
    let differing = DIFFERENT.iter().find(is_case).map_or(&[][..], |(_, columns)| columns);
    let (our_lines, their_lines): (Vec<&str>, Vec<&str>) =
        (ours.lines().collect(), theirs.lines().collect());
    if our_lines.len() != their_lines.len() {
        return Some(format!("{} lines and {}", our_lines.len(), their_lines.len()));
    }
    let mut headings: Vec<String> = Vec::new();
    for (ours, theirs) in our_lines.iter().zip(&their_lines) {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let (our_words, their_words) = (words(ours), words(theirs));
        if differing.iter().any(|column| their_words.iter().any(|word| word == column)) {
            headings.clone_from(&their_words);
        }
        headings.resize(their_words.len().max(headings.len()), String::new());
        let same_words = our_words.len() == their_words.len()
            && our_words.iter().zip(&their_words).zip(&headings).all(
                |((ours, theirs), heading)| {
                    is_same(ours, theirs) || differing.contains(&heading.as_str())
                },
            );
        // Columns stand at the same place unless a number has another length.
        let has_same_lengths = our_words.iter().zip(&their_words).all(|(a, b)| a.len() == b.len());
        if !same_words || (has_same_lengths && ours.len() != theirs.len()) {
            return Some(format!("{ours:?}\n    not {theirs:?}"));
        }
    }
    None
}

#[test]
fn reports_since_boot_are_those_of_the_programs() {
    let what = "sysstat: reports beside the programs";
    for program in ["unshare", "sar", "iostat", "mpstat", "vmstat", "free", "uptime"] {
        if !testkit::is_installed(what, program) {
            return;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for file in FILES {
        let copy = folder.path().join(file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        if let Ok(text) = fs::read(Path::new("/proc").join(file)) {
            fs::write(copy, text).unwrap();
        }
    }
    let can = in_namespace(folder.path(), "true");
    if !can.status.success() {
        return testkit::skip_refused(what, &String::from_utf8_lossy(&can.stderr));
    }
    let mut failures = Vec::new();
    for case in CASES {
        let theirs = in_namespace(folder.path(), case);
        let ours = in_namespace(folder.path(), &format!("{WHIT} sysstat {case}"));
        let text = |output: &Output| {
            String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr)
        };
        if let Some(difference) = difference(case, &text(&ours), &text(&theirs)) {
            failures.push(format!("{case}:\n    {difference}"));
        }
    }
    let (failed, all) = (failures.len(), CASES.len());
    assert!(failures.is_empty(), "{failed} of {all}:\n{}", failures.join("\n"));
}

/// Processes that sleep have what they had in both programs.
#[test]
fn a_process_is_reported_as_pidstat_does() {
    let what = "sysstat: a process beside pidstat";
    if !testkit::is_installed(what, "pidstat") {
        return;
    }
    let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
    let pid = sleeper.id();
    // It has executed the program, and then nothing of it moves.
    testkit::wait_until("it sleeps", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("(sleep) S")
    });
    let run = |program: &str, line: &str| {
        let mut command = Command::new(program);
        command.args(line.split(' ')).env("LC_ALL", "C").env("TZ", "UTC");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let mut failures = Vec::new();
    for options in ["", " -r", " -w", " -R", " -U", " -l", " -rR -h", " -G sle", " -C ^sle.*p$"] {
        let theirs = run("pidstat", &format!("-p {pid}{options}"));
        let ours = run(WHIT, &format!("sysstat pidstat -p {pid}{options}"));
        // The time of guests is not recorded.
        if let Some(difference) = difference("", &ours, &theirs) {
            let is_guest = options.is_empty() || options.contains(['U', 'l', 'G', 'C']);
            if !(is_guest && ours.matches(" - ").count() == 1) {
                failures.push(format!("{options}:\n    {difference}"));
            }
        }
    }
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A process with three threads that wait: each has its line, as in pidstat, and so have its stack and
/// what its children have done.
#[test]
fn threads_stacks_and_children_are_those_of_pidstat() {
    let what = "sysstat: threads beside pidstat";
    if !testkit::is_installed(what, "pidstat") || !testkit::is_installed(what, "python3") {
        return;
    }
    let program = "import threading,time,subprocess,sys\n\
                   subprocess.run(['sh','-c','i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'])\n\
                   [threading.Thread(target=time.sleep,args=(1000,),daemon=True).start() for _ in 'ab']\n\
                   print('up',flush=True)\nsys.stdin.read()";
    let mut threads = Command::new("python3")
        .args(["-c", program])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut output = std::io::BufReader::new(threads.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut said).unwrap();
    let pid = threads.id();
    let status = |task: &str| {
        fs::read_to_string(format!("/proc/{pid}/task/{task}/stat")).unwrap_or_default()
    };
    testkit::wait_until("all threads sleep", || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        let states: Vec<String> =
            tasks.map(|task| status(task.file_name().to_str().unwrap())).collect();
        states.len() == 3 && states.iter().all(|stat| stat.contains(") S"))
    });
    let run = |program: &str, line: &str| {
        let mut command = Command::new(program);
        command.args(line.split(' ')).env("LC_ALL", "C").env("TZ", "UTC");
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    };
    let mut failures = Vec::new();
    // Of CPU time the columns only: the two count ticks of short runs by other means.
    let heading = |text: &str| {
        text.lines()
            .filter(|line| line.contains("UID"))
            .map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    for options in ["-u -T CHILD", "-ru -T ALL -h", "-t -u", "-ur -T ALL 1 1"] {
        let theirs = run("pidstat", &format!("-p {pid} {options}"));
        let ours = run(WHIT, &format!("sysstat pidstat -p {pid} {options}"));
        assert_eq!(heading(&ours), heading(&theirs), "{options}");
        assert_eq!(ours.lines().count(), theirs.lines().count(), "{options}: {ours}");
    }
    for options in ["-t -r", "-t -R", "-t -w 1 1", "-s", "-t -s", "-r -T CHILD"] {
        let theirs = run("pidstat", &format!("-p {pid} {options}"));
        let ours = run(WHIT, &format!("sysstat pidstat -p {pid} {options}"));
        if let Some(difference) = difference("", &ours, &theirs) {
            failures.push(format!("{options}:\n    {difference}"));
        }
    }
    let ours = run(WHIT, &format!("sysstat pidstat -H -p {pid}"));
    let is_epoch = |line: &str| line.split(' ').next().unwrap().parse::<u64>().is_ok();
    assert!(ours.lines().skip(2).all(is_epoch), "{ours}");
    threads.kill().unwrap();
    threads.wait().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_recording_is_reported_as_the_host_is() {
    let folder = tempfile::tempdir().unwrap();
    let whit = |line: &str| {
        let words = line.split(' ');
        let output = Command::new(WHIT).args(words).current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.success(), text + &String::from_utf8_lossy(&output.stderr))
    };
    for name in ["a", "b"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        let (done, said) = whit(&format!("record -scCmdn -i 0.05 -c 4 -f {name}/"));
        assert!(done, "{said}");
    }
    let rows = |path: &str| {
        let (done, text) = whit(&format!("sysstat sar -u -f {path}"));
        assert!(done, "{text}");
        let averages = text.matches("Average:").count();
        (text.matches(" all ").count() - averages, averages, text.matches("RESTART").count())
    };
    let ((first, 1, 0), (second, 1, 0)) = (rows("a"), rows("b")) else { panic!() };
    assert!(first >= 2 && second >= 2);
    for file in fs::read_dir(folder.path().join("b")).unwrap().flatten() {
        let to = folder.path().join("a").join(file.file_name());
        // Recordings that began in the same second have the same name.
        fs::rename(file.path(), to.with_extension("b.whit")).unwrap();
    }
    // What is between two recorders is an interval if they follow each other at once, and else none.
    let apart = (first + second, 2, 1);
    assert!([apart, (first + second + 1, 1, 0)].contains(&rows("a")), "{:?}", rows("a"));
    let (first, averages, _) = rows("a");
    // A damaged file of a folder is told, and does not hide the others.
    fs::write(folder.path().join("a/x.whit"), "no recording").unwrap();
    let (done, text) = whit("sysstat sar -f a");
    assert!(done && text.contains("x.whit") && text.contains("left out"), "{text}");
    fs::remove_file(folder.path().join("a/x.whit")).unwrap();
    let (done, text) = whit("sysstat mpstat -P ALL --recording a");
    assert!(done, "{text}");
    assert_eq!(text.matches("%idle").count(), first + averages, "{text}");
    let (done, text) = whit("sysstat iostat -xd --recording a");
    assert!(done && text.matches("%util").count() == first, "{text}");
    let (done, text) = whit("sysstat vmstat --recording a");
    assert!(done && text.lines().count() == first + 2, "{text}");
    let (done, text) = whit("sysstat sar -A -f a");
    assert!(
        done && text.contains("kbmemfree") && !text.contains("INTR") && !text.contains("active/s"),
        "{text}"
    );
    let (done, text) = whit("sysstat sar -n TCP -f a");
    assert!(!done && text.contains("needs the source tcp"), "{text}");
    let (done, text) = whit("sysstat sar -f a -s 00:00 -e 23:59:59");
    assert!(done, "{text}");
    let (done, text) = whit("sysstat sar -f a -s 23:59:58 -e 23:59:59");
    assert!(!done && text.contains("no two readings"), "{text}");
}
