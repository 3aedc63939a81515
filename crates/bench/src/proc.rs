//! The benchmark of wide machines: what reading the files costs that grow with the number of CPUs.
//!
//! On many CPUs the kernel's text is the cost: `/proc/stat` sums every interrupt of every CPU, and
//! `/proc/interrupts` prints a cell for each.  The first table reads such files within this process,
//! by bare `pread` and by whit's own sources, so it shows what parsing adds.  The second runs whole
//! programs, with their start taken off.
//!
//! `cargo xtask vm --cpus 48 --nodes 8 --release --rivals -- whit bench proc` runs it on a machine
//! that is not there.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use procfs::Host;
use sample::{State, Table};
use serde_json::{Value, json};
use source::Entry;

use crate::error::Result;
use crate::measure::{Contestant, Measurement, Series, in_turn, measure};
use crate::programs::{Programs, run_quietly};
use crate::record::floor::Floor;
use crate::report::{Report, Turns, optional};
use crate::{Progress, beyond};

/// The sources whose files grow with the CPUs, and the file that stands for each.
const SOURCES: [(&str, &str); 5] = [
    ("cpu", "/proc/stat"),
    ("interrupt", "/proc/interrupts"),
    ("numa", "/sys/devices/system/node"),
    ("schedstat", "/proc/schedstat"),
    ("slab", "/proc/slabinfo"),
];

/// What programs record.
const CASES: [&str; 3] = ["-sc", "-scM", "-scj"];

const FLOOR: &str = "bare read";
const WHIT: &str = "whit";
const COLLECTL: &str = "collectl";

/// Samples of the short turn that is subtracted from the long one, to exclude start and end.
const SHORT_SAMPLES: u64 = 10;

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct ProcPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// Readings of a file in a turn.
    pub readings: u64,
    /// Samples of a program in a turn.
    pub samples: u64,
}

/// A row of a table: its name, and what each contestant cost, in µs of CPU time a reading.
struct Row {
    name: String,
    contests: Vec<(Series, Option<f64>)>,
}

/// Runs the benchmark.
///
/// # Errors
/// Those of the programs that take part, of files, and of the kernel.
pub fn run(plan: &ProcPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let mut notes = Vec::new();
    let mut files = Vec::new();
    for (name, path) in SOURCES {
        progress.show(path);
        match source::find(name).map(|entry| read_file(plan, entry, path)) {
            Some(row) => match row? {
                Some(row) => files.push(row),
                None => notes.push(format!("{path}: this machine has none")),
            },
            None => notes.push(format!("{path}: no source")),
        }
    }
    if programs.collectl.is_none() {
        notes.push("collectl is not installed: its lines are missing".to_owned());
    }
    let mut cases = Vec::new();
    for case in CASES {
        cases.push(record(plan, case, programs, progress)?);
    }
    progress.done();
    let summary = human(plan, &machine, [&files, &cases], &notes);
    let json = json(plan, &machine, [&files, &cases], &notes);
    let all: Vec<Turns<'_>> = [("files", &files), ("programs", &cases)]
        .into_iter()
        .flat_map(|(table, rows)| {
            rows.iter().flat_map(move |row| {
                row.contests.iter().map(move |(series, _)| Turns {
                    table,
                    case: &row.name,
                    series: Cow::Borrowed(series),
                })
            })
        })
        .collect();
    Ok(Report::new("-proc", machine, summary, json, &all))
}

/// Reads the files of a source by both contestants; `None` where the machine lacks them.
fn read_file(plan: &ProcPlan, entry: &'static Entry, path: &str) -> Result<Option<Row>> {
    let mut host = Host::new("/");
    let mut source = (entry.open)(&mut host, &Arc::default());
    let mut table = Table::new(entry.fields.len());
    let mut read = || {
        host.begin_tick();
        source.read(&mut host, &mut table)
    };
    // The first readings open files and make room.
    if (0..3).any(|_| read() != State::Ok) {
        return Ok(None);
    }
    let mut floor = Floor::open(&[entry])?;
    let series = in_turn(
        plan.rounds,
        &mut [
            Contestant::new(FLOOR, || floor.run_all(plan.readings)),
            Contestant::new(WHIT, || Ok(measure(|| (0..plan.readings).for_each(|_| _ = read())).1)),
        ],
        |_, _| {},
    )?;
    let with_cost = |series: Series| {
        let each_us = series.median(cpu_us) / plan.readings as f64;
        (series, Some(each_us))
    };
    let contests = series.into_iter().map(with_cost).collect();
    Ok(Some(Row { name: path.to_owned(), contests }))
}

/// Lets the programs record.
fn record(
    plan: &ProcPlan,
    what: &str,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<Row> {
    let whit = |samples: u64| {
        let mut command = Command::new(&programs.whit);
        command.args(["record", "--no-check"]);
        turn(command, what, samples)
    };
    let collectl = programs.collectl.as_deref();
    let theirs = |program: &Path, samples: u64| turn(Command::new(program), what, samples);
    let long = SHORT_SAMPLES + plan.samples;
    let mut contestants =
        vec![Contestant::new(WHIT, || whit(long)), Contestant::new("", || whit(SHORT_SAMPLES))];
    if let Some(program) = collectl {
        contestants.push(Contestant::new(COLLECTL, move || theirs(program, long)));
        contestants.push(Contestant::new("", move || theirs(program, SHORT_SAMPLES)));
    }
    progress.show(what);
    let series = in_turn(plan.rounds, &mut contestants, |_, _| {})?;
    let pairs = series.chunks_exact(2).map(|pair| {
        let each = beyond(pair[0].median(cpu_us), pair[1].median(cpu_us));
        (pair[0].clone(), each.map(|us| us / plan.samples as f64))
    });
    Ok(Row { name: what.to_owned(), contests: pairs.collect() })
}

/// Records into a folder of its own.
fn turn(mut command: Command, what: &str, samples: u64) -> std::io::Result<Measurement> {
    let folder = tempfile::tempdir()?;
    command.args([what, "-i0", &format!("-c{samples}"), "-f"]).arg(folder.path());
    run_quietly(&mut command)
}

fn cpu_us(turn: &Measurement) -> f64 {
    turn.cpu_us() as f64
}

/// The tables as text.  Writing to a string cannot fail.
fn human(plan: &ProcPlan, machine: &Value, tables: [&Vec<Row>; 2], notes: &[String]) -> String {
    let mut out = String::new();
    let ProcPlan { rounds, readings, samples } = plan;
    let _ = writeln!(
        out,
        "Linux {}, {} CPUs: CPU us of a reading, medians of {rounds} rounds\n",
        machine["kernel"].as_str().unwrap_or("?"),
        machine["cpus"]
    );
    let titles = [
        format!("The file alone, read {readings} times within one process"),
        format!("A sample of a program, {samples} samples into a file, start taken off"),
    ];
    for (title, rows) in titles.iter().zip(tables) {
        let _ = writeln!(out, "{title}");
        for row in rows {
            let base = row.contests.first().and_then(|(_, us)| *us);
            for (place, (series, us)) in row.contests.iter().enumerate() {
                let name = if place == 0 { row.name.as_str() } else { "" };
                let times = us.zip(base).map(|(us, base)| us / base);
                let (us, times) = (optional(*us, 1), optional(times, 2));
                let _ = writeln!(out, "  {name:<26} {:<10} {us:>10} {times:>8}", series.name);
            }
        }
        out.push('\n');
    }
    for note in notes {
        let _ = writeln!(out, "Note: {note}.");
    }
    out
}

/// The tables as a JSON object.
fn json(plan: &ProcPlan, machine: &Value, tables: [&Vec<Row>; 2], notes: &[String]) -> Value {
    let row = |row: &Row| {
        let contests = row.contests.iter();
        let contests: Vec<Value> =
            contests.map(|(series, us)| json!({ "name": series.name, "cpu_us": us })).collect();
        json!({ "name": row.name, "contestants": contests })
    };
    let rows = |rows: &Vec<Row>| rows.iter().map(row).collect::<Vec<_>>();
    json!({
        "machine": machine,
        "rounds": plan.rounds,
        "readings": plan.readings,
        "samples": plan.samples,
        "files": rows(tables[0]),
        "programs": rows(tables[1]),
        "notes": notes,
    })
}
