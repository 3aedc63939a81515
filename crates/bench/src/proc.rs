//! The benchmark of wide machines: what reading the files costs that grow with the number of CPUs.
//!
//! On many CPUs the kernel's text is the cost: `/proc/stat` sums every interrupt of every CPU, and
//! `/proc/interrupts` prints a cell for each.  The first table reads such files within this process,
//! by bare `pread`, by whit's own sources, so it shows what parsing adds, and by whit with the
//! counters of CPUs from a BPF program.  The second runs whole
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
use source::{CounterMethod, Entry, RecordFilter, Source, SourceContext};

use crate::error::Result;
use crate::measure::{Contestant, Measurement, Series, in_turn, measure};
use crate::programs::{Programs, run_quietly};
use crate::record::floor::Floor;
use crate::report::{Report, Turns, optional};
use crate::{Progress, beyond};

/// The sources whose files grow with the CPUs, and the file that stands for each; last those that a
/// BPF program can read, all of them together.
const SOURCES: [(&[&str], &str); 6] = [
    (&["cpu"], "/proc/stat"),
    (&["interrupt"], "/proc/interrupts"),
    (&["numa"], "/sys/devices/system/node"),
    (&["schedstat"], "/proc/schedstat"),
    (&["slab"], "/proc/slabinfo"),
    (&["cpu", "cpu_core", "interrupt", "numa"], "-scCjM"),
];

/// What programs record.
const CASES: [&str; 4] = ["-sc", "-scM", "-scj", "-scCjM"];

const FLOOR: &str = "bare read";
const WHIT: &str = "whit";
/// Whit, with the counters of CPUs by a BPF program.
const WHIT_BPF: &str = "whit, BPF";
const COLLECTL: &str = "collectl";

/// Samples of the short turn that is subtracted from the long one, to exclude start and end.
const SHORT_SAMPLES: u64 = 10;

/// How many more samples than collectl whit takes: loading a BPF program costs as much as hundreds
/// of samples.
const MORE_SAMPLES: u64 = 10;

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
    for (names, path) in SOURCES {
        progress.show(path);
        let entries: Vec<_> = names.iter().filter_map(|name| source::find(name)).collect();
        match read_files(plan, &entries, path, &mut notes)? {
            Some(row) => files.push(row),
            None => notes.push(format!("{path}: this machine has none")),
        }
    }
    if programs.collectl.is_none() {
        notes.push("collectl is not installed: its lines are missing".to_owned());
    }
    let mut cases = Vec::new();
    let all: Vec<_> =
        SOURCES[SOURCES.len() - 1].0.iter().copied().filter_map(source::find).collect();
    let with_bpf = Opened::new(&all, CounterMethod::Bpf).is_ok();
    for case in CASES {
        cases.push(record(plan, case, with_bpf, programs, progress)?);
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

/// Sources opened in one way.
struct Opened {
    host: Host,
    sources: Vec<(Box<dyn Source>, Table)>,
}

impl Opened {
    /// Opens the sources; the error says why not in this way.
    fn new(
        entries: &[&'static Entry],
        counters: CounterMethod,
    ) -> std::result::Result<Self, String> {
        // Only with a selection does the source of interrupts leave out its details.
        let selection = Some("cCjM".into());
        let filter = RecordFilter { counters, selection, ..RecordFilter::default() };
        let context = Arc::new(SourceContext { filter, ..SourceContext::default() });
        let mut host = Host::new("/");
        let open = |entry: &&'static Entry| {
            ((entry.open)(&mut host, &context), Table::new(entry.fields.len()))
        };
        let sources = entries.iter().map(open).collect();
        context.shared.kernel.release();
        if let Some((source, reason)) = context.shared.counters.reasons().first() {
            return Err(format!("{source}: {reason}"));
        }
        if counters == CounterMethod::Bpf && context.shared.counters.sources().is_empty() {
            return Err(String::new());
        }
        Ok(Opened { host, sources })
    }

    /// Takes a reading of all of them; whether they were there.
    fn read(&mut self) -> bool {
        self.host.begin_tick();
        let Opened { host, sources } = self;
        sources.iter_mut().all(|(source, table)| source.read(host, table) == State::Ok)
    }

    fn read_times(&mut self, times: u64) -> std::io::Result<Measurement> {
        Ok(measure(|| (0..times).for_each(|_| _ = self.read())).1)
    }
}

/// Reads sources by all contestants; `None` where the machine lacks them.
fn read_files(
    plan: &ProcPlan,
    entries: &[&'static Entry],
    what: &str,
    notes: &mut Vec<String>,
) -> Result<Option<Row>> {
    let Ok(mut by_files) = Opened::new(entries, CounterMethod::Proc) else { return Ok(None) };
    // The first readings open files and make room.
    if (0..3).any(|_| !by_files.read()) {
        return Ok(None);
    }
    let mut by_bpf = match Opened::new(entries, CounterMethod::Bpf) {
        Ok(opened) => Some(opened),
        Err(reason) => {
            if !reason.is_empty() {
                notes.push(format!("{what}, BPF: {reason}"));
            }
            None
        }
    };
    let mut floor = Floor::open(entries)?;
    let mut contestants = vec![
        Contestant::new(FLOOR, || floor.run_all(plan.readings)),
        Contestant::new(WHIT, || by_files.read_times(plan.readings)),
    ];
    if let Some(by_bpf) = &mut by_bpf {
        contestants.push(Contestant::new(WHIT_BPF, || by_bpf.read_times(plan.readings)));
    }
    let series = in_turn(plan.rounds, &mut contestants, |_, _| {})?;
    let with_cost = |series: Series| {
        let each_us = series.median(cpu_us) / plan.readings as f64;
        (series, Some(each_us))
    };
    let contests = series.into_iter().map(with_cost).collect();
    Ok(Some(Row { name: what.to_owned(), contests }))
}

/// Lets the programs record.
fn record(
    plan: &ProcPlan,
    what: &str,
    with_bpf: bool,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<Row> {
    let whit = |way: &str, samples: u64| {
        let mut command = Command::new(&programs.whit);
        command.args(["record", "--no-check", "--cpu-way", way]);
        turn(command, what, samples)
    };
    let collectl = programs.collectl.as_deref();
    let theirs = |program: &Path, samples: u64| turn(Command::new(program), what, samples);
    let (more, long) = (SHORT_SAMPLES + MORE_SAMPLES * plan.samples, SHORT_SAMPLES + plan.samples);
    let mut contestants = vec![
        Contestant::new(WHIT, || whit("proc", more)),
        Contestant::new("", || whit("proc", SHORT_SAMPLES)),
    ];
    if with_bpf {
        contestants.push(Contestant::new(WHIT_BPF, || whit("bpf", more)));
        contestants.push(Contestant::new("", || whit("bpf", SHORT_SAMPLES)));
    }
    if let Some(program) = collectl {
        contestants.push(Contestant::new(COLLECTL, move || theirs(program, long)));
        contestants.push(Contestant::new("", move || theirs(program, SHORT_SAMPLES)));
    }
    progress.show(what);
    let series = in_turn(plan.rounds, &mut contestants, |_, _| {})?;
    let pairs = series.chunks_exact(2).map(|pair| {
        let each = beyond(pair[0].median(cpu_us), pair[1].median(cpu_us));
        let more = if pair[0].name == COLLECTL { 1 } else { MORE_SAMPLES };
        (pair[0].clone(), each.map(|us| us / (more * plan.samples) as f64))
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
        format!(
            "A sample of a program into a file, start taken off: {samples} samples of collectl, \
             {MORE_SAMPLES} times as many of whit"
        ),
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
