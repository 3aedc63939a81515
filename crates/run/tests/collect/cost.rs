//! What the collector costs, by system calls: those of a run of many jobs less those of a run of
//! few.
//!
//! `MEASURE=1 cargo test --release -p run --test collect cost -- --nocapture` prints the bytes a
//! second of a loud job too.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use run::collect::Mode;

use super::support::{Bench, collector, device, finished, options, write};

/// Jobs for the test below, run by the program that counts; so many are in the variable JOBS.
#[test]
#[ignore = "a part of the tests that count system calls"]
fn jobs_to_be_counted() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let count: u64 = variable("JOBS").parse().unwrap_or(1);
    let loud = variable("OUTPUT");
    let mode = if variable("MODE") == "lines" { Mode::LineBuffer } else { Mode::Group };
    let mut bench = Bench::new(mode, variable("ORDER") == "keep");
    for seq in 1..=count {
        let streams = bench.open(1 + (seq % 2) as u32, seq, None);
        if !loud.is_empty() {
            let descriptor = super::support::borrowed(streams.stdout);
            rustix::io::write(descriptor, loud.as_bytes()).expect("written");
        }
        bench.close(1 + (seq % 2) as u32, seq);
    }
    assert_eq!(bench.written().len() as u64, count);
}

/// Whether strace(1) is installed and may trace.
fn can_trace() -> bool {
    if !testkit::is_installed("strace", "strace") {
        return false;
    }
    let traced = Command::new("strace").args(["-c", "-o", "/dev/null", "true"]).output();
    let traced = traced.expect("strace starts");
    if !traced.status.success() {
        testkit::skip_refused("strace", &String::from_utf8_lossy(&traced.stderr));
    }
    traced.status.success()
}

/// System calls by name of a run of `jobs` jobs.
fn calls(jobs: u64, settings: &[(&str, &str)]) -> BTreeMap<String, i64> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("calls");
    let counted = testkit::own_test("cost::jobs_to_be_counted");
    let mut command = Command::new("strace");
    command.args(["-f", "-c", "-U", "name,calls", "-o"]).arg(&path);
    command.arg(counted.get_program()).args(counted.get_args()).arg("--ignored");
    command.env("JOBS", jobs.to_string()).envs(settings.iter().copied());
    let output = command.output().expect("strace");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = std::fs::read_to_string(&path).expect("counts");
    let count = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    };
    text.lines().filter_map(count).collect()
}

/// System calls of one job, by name.  Rounding drops those that the harness makes now and then.
fn calls_each(settings: &[(&str, &str)]) -> BTreeMap<String, i64> {
    let (few, many) = (calls(1000, settings), calls(3000, settings));
    let each = |(name, count): (String, i64)| {
        let more = count - few.get(&name).copied().unwrap_or(0);
        ((more + 1000) / 2000 != 0).then_some((name, (more + 1000) / 2000))
    };
    many.into_iter().filter(|(name, _)| name != "total").filter_map(each).collect()
}

fn check(settings: &[(&str, &str)], expected: &[(&str, i64)]) {
    if !can_trace() {
        return;
    }
    let calls = calls_each(settings);
    let expected = expected.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
    assert_eq!(calls, expected, "{settings:?}");
}

#[test]
fn a_job_that_writes_nothing_costs_two_calls() {
    check(&[], &[("lseek", 2)]);
    check(&[("ORDER", "keep")], &[("lseek", 2)]);
    check(&[("MODE", "lines")], &[("read", 2)]);
}

/// One of the writes is the job's own.
#[test]
fn a_job_that_writes_a_line_costs_five_calls() {
    check(
        &[("OUTPUT", "a line\n")],
        &[("ftruncate", 1), ("lseek", 2), ("pread64", 1), ("write", 2)],
    );
    check(&[("OUTPUT", "a line\n"), ("MODE", "lines")], &[("read", 2), ("write", 2)]);
}

#[test]
fn how_many_bytes_a_second() {
    let measure = std::env::var_os("MEASURE").is_some();
    let bytes = if measure { 1 << 30 } else { 1 << 22 };
    let block = b"a line of thirty-two characters\n".repeat(1 << 15);
    let folder = tempfile::tempdir().expect("a folder");
    for (to, tag) in [("null", None), ("null", Some(&b"tag"[..])), ("file", None), ("pipe", None)] {
        let (stdout, reader) = match to {
            "null" => (device("/dev/null"), None),
            "file" => (tempfile::tempfile().expect("a file").into(), None),
            _ => {
                let (reading, writing) = super::support::pipe();
                let copy =
                    move || std::io::copy(&mut std::fs::File::from(reading), &mut std::io::sink());
                (writing, Some(std::thread::spawn(copy)))
            }
        };
        let mut collector =
            collector(options(Mode::Group, false, folder.path()), stdout, device("/dev/null"));
        let text = run::collect::JobText { tag, ..Default::default() };
        let streams = collector.open(1, 1, &text).expect("streams");
        for _ in 0..bytes / block.len() {
            write(streams.stdout, &block);
        }
        let begin = Instant::now();
        collector.close(finished(1, 1), false).expect("written");
        drop(collector);
        if let Some(reader) = reader {
            assert_eq!(reader.join().expect("a reader").expect("read"), bytes as u64);
        }
        let seconds = begin.elapsed().as_secs_f64();
        if measure {
            let tagged = if tag.is_some() { " with tags" } else { "" };
            println!("to {to}{tagged}: {:.2} GB/s", bytes as f64 / seconds / 1e9);
        }
    }
}
