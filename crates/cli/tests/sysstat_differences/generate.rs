//! Random command lines of sysstat and procps: every option of their manual pages, combined, repeated
//! and in the forms that people type.

use testkit::Random;

/// A command line, and where it is run.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// The program.
    pub(super) tool: &'static str,
    /// What follows it.
    pub(super) words: Vec<String>,
}

impl Case {
    /// As one types it.
    pub(super) fn typed(&self) -> String {
        format!("{} {}", self.tool, self.words.join(" "))
    }
}

/// The daily file of `testdata/sysstat` that has every activity.
pub(super) const DAILY: &str = "sa20261127";

/// What takes the place of [`PID`]: a process that sleeps.
pub(super) const PID: &str = "$PID";

/// The command line of a seed.
pub(super) fn case(seed: u64) -> Case {
    let mut random = Random::from_seed(seed);
    let random = &mut random;
    let (tool, mut words) = match random.index(14) {
        0..=2 => ("sar", of_daily_file(random)),
        3..=4 => ("sar", sar_live(random)),
        5..=7 => ("iostat", iostat(random)),
        8..=9 => ("mpstat", mpstat(random)),
        10 => ("vmstat", vmstat(random)),
        11 => ("free", free(random)),
        12 => ("sadf", sadf(random)),
        _ => ("pidstat", pidstat(random)),
    };
    words.retain(|word| !word.is_empty());
    Case { tool, words }
}

/// Draws one of these options, whose words have blanks between.
fn one(random: &mut Random, all: &[&str], words: &mut Vec<String>) {
    words.extend(random.one_of(all).split(' ').map(str::to_owned));
}

/// Draws so many of these options, some more than once.
fn some(random: &mut Random, most: usize, all: &[&str], words: &mut Vec<String>) {
    for _ in 0..random.index(most + 1) {
        one(random, all, words);
    }
}

fn keywords(random: &mut Random, all: &[&str]) -> String {
    let count = 1 + random.index(3);
    let list: Vec<&str> = (0..count).map(|_| random.one_of(all)).collect();
    list.join(",")
}

/// Keywords of `-n`.  Of a host without NFS `sar` shows zeros and whit nothing: the last three are of
/// the daily file only.
const NETWORK: &[&str] = &[
    "DEV", "EDEV", "SOCK", "IP", "EIP", "ICMP", "EICMP", "TCP", "ETCP", "UDP", "SOCK6", "IP6",
    "EIP6", "ICMP6", "EICMP6", "UDP6", "SOFT", "NFS", "NFSD", "ALL",
];

/// Activities of `sar`, of a file or of this host.
fn activities(random: &mut Random, is_file: bool, words: &mut Vec<String>) {
    let network = &NETWORK[..NETWORK.len() - if is_file { 0 } else { 3 }];
    const ALL: &[&str] = &[
        "-u", "-u ALL", "-u", "-r", "-r ALL", "-S", "-H", "-B", "-W", "-b", "-d", "-w", "-v", "-q",
        "-q", "-I SUM", "-I", "-I ALL", "-y", "-n", "-n", "-n", "-n", "-q ALL", "-m CPU", "-ur",
        "-bd", "-Bw",
    ];
    for _ in 0..1 + random.index(3) {
        match random.one_of(ALL) {
            "-n" => words.extend(["-n".to_owned(), keywords(random, network)]),
            "-q" if random.percent(50) => {
                let keys = ["LOAD", "CPU", "IO", "MEM", "PSI"];
                words.extend(["-q".to_owned(), keywords(random, &keys)]);
            }
            other => words.extend(other.split(' ').map(str::to_owned)),
        }
    }
}

const SAR: &[&str] = &[
    "-P ALL",
    "-P 0",
    "-P 0,1",
    "-P all",
    "-P all,1",
    "-P 1-",
    "-z",
    "-p",
    "--pretty",
    "--human",
    "-h",
    "--dec=0",
    "--dec=1",
    "--dec=2",
    "--dev=vda",
    "--dev=loop0,vda",
    "--iface=eth0",
    "--iface=lo,eth0",
    "--fs=/",
    "--int=SUM",
    "--int=24-31,LOC",
    "--int=sum,RES",
    "-j ID",
    "-j LABEL",
];

fn of_daily_file(random: &mut Random) -> Vec<String> {
    let mut words = Vec::new();
    activities(random, true, &mut words);
    let of_files =
        ["-t", "-C", "-i 1", "-i 2", "-s 21:00:00", "-e 23:00", "-s 21:00 -e 23:59:59", "-t"];
    let all: Vec<&str> = SAR.iter().chain(&of_files).copied().collect();
    some(random, 3, &all, &mut words);
    words.extend(["-f".to_owned(), DAILY.to_owned()]);
    if random.percent(15) {
        one(random, &["1", "1 2", "2 2", "3"], &mut words);
    }
    words.iter().flat_map(|word| word.split(' ')).map(str::to_owned).collect()
}

fn sar_live(random: &mut Random) -> Vec<String> {
    let mut words = Vec::new();
    activities(random, false, &mut words);
    some(random, 3, SAR, &mut words);
    one(random, &["0", "0", "0", "1 1", "1 2"], &mut words);
    words
}

fn pace(random: &mut Random, words: &mut Vec<String>) {
    one(random, &["", "", "", "1 1", "1 2", "0"], words);
}

/// Without `-j`, with which iostat takes the names and shows the kernel's.
fn iostat(random: &mut Random) -> Vec<String> {
    const ALL: &[&str] = &[
        "-c",
        "-d",
        "-x",
        "-x",
        "-s",
        "-k",
        "-m",
        "-h",
        "-t",
        "-y",
        "-z",
        "-p",
        "-p ALL",
        "-p vda",
        "-p vda,loop0",
        "-N",
        "-o JSON",
        "-o JSON",
        "--compact",
        "--dec=0",
        "--dec=1",
        "--human",
        "--pretty",
        "-xz",
        "-dx",
        "-xm",
        "-g grp vda loop0",
        "-H -g grp vda loop0",
        "-g more loop1 loop0",
        "vda",
        "/dev/vda",
        "loop0 vda",
    ];
    let mut words = Vec::new();
    some(random, 4, ALL, &mut words);
    pace(random, &mut words);
    words
}

/// Without `-I CPU` (`ALL`, `-A`) and `-I SUM,SCPU`: beside single interrupts mpstat leaves interrupts out of the sums of CPUs.
fn mpstat(random: &mut Random) -> Vec<String> {
    const ALL: &[&str] = &[
        "-u", "-n", "-T", "-I SUM", "-I SCPU", "-N ALL", "-N 0", "-P ALL", "-P 0", "-P 0,1",
        "-P all", "-P all,1", "-P 0-1", "-P 1-", "-o JSON", "-o JSON", "--dec=0", "--dec=1",
        "--dec=2",
    ];
    let mut words = Vec::new();
    some(random, 3, ALL, &mut words);
    // Between two readings that are the same, its JSON ends a list after the first CPU.
    let has = |words: &[String], wanted: &[&str]| {
        words.iter().any(|word| wanted.contains(&word.as_str()))
    };
    if !has(&words, &["JSON"]) {
        pace(random, &mut words);
    }
    words
}

fn vmstat(random: &mut Random) -> Vec<String> {
    const ALL: &[&str] = &[
        "-a",
        "-f",
        "-m",
        "-n",
        "-s",
        "-d",
        "-D",
        "-p vda",
        "-S k",
        "-S K",
        "-S m",
        "-S M",
        "-w",
        "-t",
        "-y",
        "--active",
        "--wide",
        "--unit M",
        "--unit=k",
        "--one-header",
        "--stats",
        "--disk",
        "--disk-sum",
        "--slabs",
        "--forks",
        "--no-first",
        "-wt",
        "-Sm",
    ];
    let mut words = Vec::new();
    some(random, 3, ALL, &mut words);
    pace(random, &mut words);
    words
}

fn free(random: &mut Random) -> Vec<String> {
    const ALL: &[&str] = &[
        "-b",
        "-k",
        "-m",
        "-g",
        "-h",
        "--si",
        "-l",
        "-t",
        "-v",
        "-w",
        "--bytes",
        "--kilo",
        "--mega",
        "--giga",
        "--tera",
        "--peta",
        "--kibi",
        "--mebi",
        "--gibi",
        "--tebi",
        "--pebi",
        "--human",
        "--lohi",
        "--total",
        "--committed",
        "--wide",
        "-c 1",
        "-s 1 -c 1",
        "-s1 -c1",
        "-wh",
        "--count=1",
    ];
    let mut words = Vec::new();
    some(random, 3, ALL, &mut words);
    words
}

fn sadf(random: &mut Random) -> Vec<String> {
    let form = random.one_of(&["-d", "-p", "-j", "-j", "-x", ""]);
    let mut words = vec![form.to_owned()];
    some(
        random,
        2,
        &["-h", "-t", "-T", "-U", "-P ALL", "-P 0", "-H", "-s 21:00", "-s 22:06:24", "-C"],
        &mut words,
    );
    words.extend([DAILY.to_owned(), "--".to_owned()]);
    activities(random, true, &mut words);
    words
}

fn pidstat(random: &mut Random) -> Vec<String> {
    const ALL: &[&str] = &[
        "-u", "-r", "-d", "-w", "-v", "-R", "-s", "-t", "-H", "-h", "-I", "-l", "-U", "-U root",
        "-T TASK", "-T CHILD", "-T ALL", "-C sleep", "-G sl", "--dec=0", "--dec=1", "--human",
        "-urd", "-rw",
    ];
    let mut words = vec!["-p".to_owned(), PID.to_owned()];
    some(random, 4, ALL, &mut words);
    one(random, &["", "", "1 1", "1 2"], &mut words);
    words
}
