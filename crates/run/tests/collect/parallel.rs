//! The same jobs through GNU parallel and through the collector: the same bytes, times aside, which
//! are taken from its joblog.
//!
//! It needs `parallel`; without it these tests say so and pass.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

use run::collect::{JobText, Mode, OutputOptions, Results, TableFormat};
use run::joblog::{self, Format, Log};
use run::{JobResult, Outcome};
use template::Record;

use super::support::{Bench, options, write};

/// What each job writes to its standard output and error, and its second value.
const JOBS: [(&[u8], &[u8], &[u8]); 8] = [
    (b"a line\n", b"", b"plain"),
    (b"no line feed", b"an error", b"a b"),
    (b"\n\nempty lines\n\n", b"\n", b"it's \"quoted\""),
    (b"", b"", b"x/y\\z"),
    (b"quoted \"x\", tab\tand\x0bmore\n", b"caf\xc3\xa9 \xff\x7f\x01", b"tab\there"),
    (b"a;b", b"a'b", b"\xc3\xa9"),
    (b"\0nul\0\n", b"carriage\r\n", b"$x;|*"),
    (b"last", b"word\n", b"comma,"),
];

/// Runs the jobs in several ways, and leaves what they gave in this folder; `None` without parallel.
fn oracle(folder: &Path) -> Option<()> {
    if !testkit::is_installed("GNU parallel", "parallel") {
        return None;
    }
    let mut values = Vec::new();
    for (number, (stdout, stderr, value)) in (1..).zip(JOBS) {
        std::fs::write(folder.join(format!("o{number}")), stdout).expect("a file");
        std::fs::write(folder.join(format!("e{number}")), stderr).expect("a file");
        values.push(std::ffi::OsStr::from_bytes(value));
    }
    let ways: [(&str, &[&str]); 7] = [
        ("csv", &["--results", "t.csv"]),
        ("tsv", &["--results", "t.tsv"]),
        ("json", &["--results", "t.json"]),
        ("tree", &["--results", "tree"]),
        ("group", &["-k", "--tagstring", "T{1}", "-v"]),
        ("lines", &["-k", "--lb", "--tagstring", "T{1}", "-v"]),
        ("plain", &["-k"]),
    ];
    let mut running = Vec::new();
    for (name, more) in ways {
        let mut parallel = Command::new("parallel");
        parallel
            .stdin(Stdio::null())
            .current_dir(folder)
            .env("LC_ALL", "C")
            .env("SHELL", "/bin/sh");
        parallel.args(["-0", "-j1", "--joblog", &format!("{name}.log")]).args(more);
        parallel.arg("cat o{1}; cat e{1} >&2; : {2};\nexit {3}");
        parallel.args([":::", "1", "2", "3", "4", "5", "6", "7", "8", ":::+"]).args(&values);
        parallel.args([":::+", "0", "1", "0", "2", "0", "0", "0", "3"]);
        let file = |ending: &str| {
            std::fs::File::create(folder.join(format!("{name}.{ending}"))).expect("a file")
        };
        running.push(parallel.stdout(file("out")).stderr(file("err")).spawn().expect("parallel"));
    }
    for mut parallel in running {
        parallel.wait().expect("parallel");
    }
    Some(())
}

/// Seconds with three decimals, as nanoseconds.
fn nanoseconds(text: &str) -> u64 {
    let (seconds, thousandths) = text.trim().split_once('.').expect("a point");
    let number = |text: &str| text.parse::<u64>().expect("a number");
    number(seconds) * 1_000_000_000 + number(thousandths) * 1_000_000
}

/// The jobs of a joblog of parallel's.
fn past_jobs(path: &Path) -> Vec<JobResult> {
    let text = std::fs::read(path).expect("a joblog");
    let mut jobs = Vec::new();
    for line in text.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
        let columns: Vec<&[u8]> = line.splitn(9, |byte| *byte == b'\t').collect();
        let column = |at: usize| std::str::from_utf8(columns[at]).expect("text");
        let number = |at: usize| column(at).parse::<u64>().expect("a number");
        let seq = number(0);
        let command =
            columns[8].iter().map(|byte| if *byte == 0 { b'\n' } else { *byte }).collect();
        let job = JOBS[seq as usize - 1];
        let values = [seq.to_string().as_bytes(), job.2, column(6).as_bytes()].map(<[u8]>::to_vec);
        jobs.push(JobResult {
            seq,
            slot: 1,
            host: column(1).into(),
            start_ns: nanoseconds(column(2)),
            wall_ns: nanoseconds(column(3)),
            send_bytes: number(4),
            receive_bytes: number(5),
            outcome: Outcome::Exited(number(6) as u8),
            attempt: 1,
            command,
            records: vec![Record { values: values.to_vec() }],
            usage: None,
        });
    }
    jobs
}

/// Line by line, parallel counts twice what comes after a job's last line feed; we do not.
fn without_doubles(name: &str, log: &str) -> String {
    if name != "lines" {
        return log.into();
    }
    let mut out = String::new();
    for (at, line) in log.lines().enumerate() {
        let mut columns: Vec<String> = line.split('\t').map(str::to_owned).collect();
        if let (Some((stdout, stderr, _)), Ok(count)) =
            (JOBS.get(at.wrapping_sub(1)), columns[5].parse::<usize>())
        {
            let rest =
                |text: &[u8]| text.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
            columns[5] = (count - rest(stdout) - rest(stderr)).to_string();
        }
        out += &(columns.join("\t") + "\n");
    }
    out
}

/// Runs the jobs of a joblog through the collector, writing a joblog of our own.
fn replay(folder: &Path, name: &str, bench: &mut Bench, speaks: bool) {
    let ours = folder.join("ours.log");
    let mut log = Log::create(&ours, Format::Columns, false).expect("a log");
    let theirs = folder.join(format!("{name}.log"));
    for job in past_jobs(&theirs) {
        let tag = format!("T{}", job.seq).into_bytes();
        let text = JobText {
            tag: speaks.then_some(&tag[..]),
            heading: speaks.then_some(&job.command[..]),
            records: &job.records,
            ..JobText::default()
        };
        let streams = bench.collector.open(1, job.seq, &text).expect("streams");
        let (stdout, stderr, _) = JOBS[job.seq as usize - 1];
        write(streams.stdout, stdout);
        write(streams.stderr, stderr);
        bench.collector.close(JobResult { receive_bytes: 0, ..job }, false).expect("written");
        while let Some(finished) = bench.collector.next_written().expect("written") {
            log.write(&finished).expect("a line");
        }
    }
    let read =
        |path: &Path| String::from_utf8_lossy(&std::fs::read(path).expect("a log")).into_owned();
    assert_eq!(read(&ours), without_doubles(name, &read(&theirs)), "{name}");
    joblog::read(&ours).and_then(|done| done.strict(&ours)).expect("a joblog");
}

/// All files below a folder with what is in them.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below it").display().to_string();
                found.insert(name, std::fs::read(path).expect("a file"));
            }
        }
    }
    found
}

#[test]
fn the_same_bytes_as_parallel() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    if oracle(folder).is_none() {
        return;
    }
    let same = |ours: &str, theirs: &str| {
        let read = |name: &str| std::fs::read(folder.join(name)).expect("a file");
        let (ours, theirs) = (read(ours), read(theirs));
        assert!(ours == theirs, "{}\n{}", ours.escape_ascii(), theirs.escape_ascii());
    };
    for (name, format) in
        [("csv", TableFormat::Csv), ("tsv", TableFormat::Tsv), ("json", TableFormat::Json)]
    {
        let results = Some(Results::Table(format, Some(folder.join("ours"))));
        let mut bench = Bench::with(|temporary| OutputOptions {
            results,
            ..options(Mode::Group, false, temporary)
        });
        replay(folder, name, &mut bench, false);
        same("ours", &format!("t.{name}"));
    }
    let results = Some(Results::Tree(folder.join("our-tree")));
    let mut bench = Bench::with(|temporary| OutputOptions {
        results,
        ..options(Mode::Group, false, temporary)
    });
    replay(folder, "tree", &mut bench, false);
    assert_eq!(tree(&folder.join("our-tree")), tree(&folder.join("tree")));
    for (name, mode, speaks) in [
        ("group", Mode::Group, true),
        ("lines", Mode::LineBuffer, true),
        ("plain", Mode::Group, false),
    ] {
        let mut bench = Bench::new(mode, true);
        replay(folder, name, &mut bench, speaks);
        for (ours, ending) in [(bench.stdout_bytes(), "out"), (bench.stderr_bytes(), "err")] {
            let theirs = std::fs::read(folder.join(format!("{name}.{ending}"))).expect("a file");
            assert!(
                ours == theirs,
                "{name}.{ending}\n{}\n{}",
                ours.escape_ascii(),
                theirs.escape_ascii()
            );
        }
    }
}
