//! Is the kernel slow at reading `/proc`? The test of `/proc/stat` on this machine, by the program
//! itself, as text and by a BPF program.
//!
//! Linux 2.6.32 made the file fifty times dearer on 48 processors.  The answer then was to time the
//! read at start, and to warn.

use std::process::Command;

use serde_json::Value;

use super::collectl::NO_COLLECTL;
use super::row::{Figure, SeedRow};
use super::{Bench, Part, Seed, SeedsPlan, guests, kept};
use crate::contest::cpu;
use crate::error::{Context, Result};
use crate::proc::{self, FLOOR, ProcPlan, WHIT, WHIT_BPF};
use crate::programs::run_quietly;
use crate::record::floor::Floor;
use crate::record::suite::{self, Case};
use crate::record::{self, COLLECTL, RecordPlan};

/// The file that is read.
const FILE: &str = "/proc/stat";

/// A read that takes so long is slow: a sample a second would be a thousandth of a processor.
const SLOW_US: f64 = 1_000.0;

const CATS: &str = "reads of `cat /proc/stat`, as a tracer sees them";

pub(super) fn parts(plan: &SeedsPlan) -> Vec<Part> {
    let seed = Seed::ProcStat;
    let mut parts = vec![
        Part::new(seed, "strace -c cat", 2.0, traced),
        Part::new(seed, "read", 2.0, read),
        Part::new(seed, "-sc", plan.size(3.0, 1.5), |bench| sampled(bench, "proc")),
        Part::new(seed, "-sc by BPF", plan.size(3.0, 1.5), |bench| sampled(bench, "bpf")),
    ];
    parts.extend(guests::parts(plan));
    parts.push(Part::new(seed, "kept runs", 0.1, |_| Ok(kept::rows(published_sample))));
    parts
}

/// The time of all `read`s in strace's table, in µs.
fn reads_us(table: &str) -> Option<f64> {
    let line = table.lines().find(|line| line.split_whitespace().next_back() == Some("read"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? * 1e6)
}

/// The time of all `read`s in whit's table, in µs.
fn reads_of_json_us(text: &str) -> Option<f64> {
    let object: Value = serde_json::from_str(text).ok()?;
    let mut calls = object["calls"].as_array()?.iter();
    let read = calls.find(|call| call["syscall"] == "read")?;
    Some(read["wall_ns"].as_f64()? / 1e3)
}

fn traced(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let cat = bench.programs.path.find("cat").context("cat is not installed")?;
    let mut row = SeedRow::new(Seed::ProcStat, CATS, "us")
        .published(14_997.0, "15 ms: 4,999 us a call, 3 calls; 48 cores, Linux 2.6.32");
    let run = |program: &std::path::Path, words: &[&str]| -> Result<String> {
        let answer = tempfile::NamedTempFile::new()?;
        let mut command = Command::new(program);
        command.args(words).arg("-o").arg(answer.path()).arg(&cat).arg(FILE);
        run_quietly(&mut command)?;
        Ok(std::fs::read_to_string(answer.path())?)
    };
    let (mut theirs, mut ours, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.plan.rounds {
        bench.progress.show(&format!("round {}", round + 1));
        if let Some(strace) = &bench.programs.strace {
            let table = run(strace, &["-c", "-w"])?;
            theirs.push(reads_us(&table).with_context(|| format!("strace said '{table}'"))?);
        }
        let table = run(&bench.programs.whit, &["trace", "-c", "--json"])?;
        ours.push(reads_of_json_us(&table).with_context(|| format!("whit said '{table}'"))?);
        let entries: Vec<_> = source::find("cpu").into_iter().collect();
        floor.push(Floor::open(&entries)?.run(READINGS)?.wall_us as f64 / READINGS as f64);
    }
    row.incumbent = Figure::new("strace -c -w", theirs);
    row.note_missing(row.incumbent.is_some(), || "strace is not installed".to_owned());
    row.whit = Figure::new("whit trace -c", ours);
    let floor = Figure::new("read without a tracer", floor);
    let us = floor.as_ref().map_or(0.0, Figure::median);
    row.notes.push(match us >= SLOW_US {
        true => format!("this kernel is slow: a read takes {us:.0} us; whit can read by BPF"),
        false => format!("this kernel is not slow: a read takes {us:.0} us"),
    });
    row.floor = floor;
    row.command = "strace -c -w cat /proc/stat".to_owned();
    Ok(vec![row])
}

/// Readings of a file in a turn.
const READINGS: u64 = 200;

fn read(bench: &Bench<'_>) -> Result<Vec<SeedRow>> {
    let plan = ProcPlan { rounds: bench.plan.rounds, readings: READINGS, samples: 0 };
    let entries: Vec<_> = source::find("cpu").into_iter().collect();
    let mut notes = Vec::new();
    let case = proc::read_files(&plan, &entries, FILE, bench.progress, &mut notes)?;
    let case = case.context("this machine has no /proc/stat")?;
    let figure = |who: &str| Figure::of(case.find(who)?, |turn| cpu(turn) / READINGS as f64);
    let row = |name: &'static str, who: &str| {
        let mut row = SeedRow::new(Seed::ProcStat, name, "CPU us a read");
        (row.whit, row.floor) = (figure(who), figure(FLOOR));
        row.command = "whit bench proc".to_owned();
        row
    };
    let mut by_bpf = row("/proc/stat, counters by BPF", WHIT_BPF);
    by_bpf.notes.extend(notes);
    let is_told = by_bpf.whit.is_some() || !by_bpf.notes.is_empty();
    by_bpf.note_missing(is_told, || "no BPF program can be loaded here".to_owned());
    Ok(vec![row("/proc/stat, read and parsed", WHIT), by_bpf])
}

/// Samples of `-sc`, with whit's counters by a way.
fn sampled(bench: &Bench<'_>, way: &str) -> Result<Vec<SeedRow>> {
    let plan = RecordPlan {
        cases: Vec::new(),
        rounds: bench.plan.rounds,
        samples: bench.plan.size(8_640, 2_160),
        slow_samples: 0,
        traced_samples: 0,
        long_seconds: 0,
        play_rounds: 0,
        quick: true,
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let case = Case {
        name: "-sc",
        whit: words(&format!("-sc --cpu-way {way}")),
        collectl: Some(words("-sc")),
        letters: "c".to_owned(),
    };
    let measured = suite::run_case(&case, &plan, bench.programs, bench.progress)?;
    let each = |turn: &_| cpu(turn) / plan.samples as f64;
    let name = format!("-sc, whit's counters by {way}");
    let mut row = published_sample(SeedRow::new(Seed::ProcStat, name, "CPU us a sample"));
    let figure = |who: &str| Figure::of(measured.find(who)?, each);
    row.incumbent = figure(COLLECTL);
    row.whit = figure(record::WHIT);
    row.floor = figure(record::FLOOR);
    row.note_missing(row.incumbent.is_some(), || NO_COLLECTL.to_owned());
    row.command = format!("collectl -sc -i0 -c{} -f DIR", plan.samples);
    Ok(vec![row])
}

/// What a sample of `-sc` was published to cost.
fn published_sample(row: SeedRow) -> SeedRow {
    row.published(19_425.0, "864 samples in 16.783 s on 48 cores; 8,640 in 2.879 s on 4")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_are_read() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
            ------ ----------- ----------- --------- --------- ----------------\n\
            \x20 0.10    0.000001           7         1         1 readlink\n\
            \x2099.90    0.014997        4999         3           read\n\
            100.00    0.015998           0        29         2 total\n";
        assert_eq!(reads_us(table), Some(14_997.0));
        assert_eq!(reads_us("strace: no\n"), None);
        let json =
            r#"{"calls":[{"syscall":"pread64","wall_ns":7},{"syscall":"read","wall_ns":2500}]}"#;
        assert_eq!(reads_of_json_us(json), Some(2.5));
        assert_eq!(reads_of_json_us("whit: no"), None);
    }
}
