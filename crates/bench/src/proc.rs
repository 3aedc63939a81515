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

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use procfs::Host;
use sample::{State, Table};
use serde_json::{Value, json};
use source::{CounterMethod, Entry, RecordFilter, Source, SourceContext};

use crate::contest::{Case, Contest, Contestant, Measurement, cpu, take_turns};
use crate::error::Result;
use crate::measure::measure;
use crate::programs::{Programs, run_quietly};
use crate::record::floor::Floor;
use crate::report::{Report, Row};
use crate::table;
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

pub(crate) const FLOOR: &str = "bare read";
pub(crate) const WHIT: &str = "whit";
/// Whit, with the counters of CPUs by a BPF program.
pub(crate) const WHIT_BPF: &str = "whit, BPF";
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

/// Contestants with their CPU time of a reading, in µs.
pub(crate) type Readings = Case<(), Option<f64>>;

/// Runs the benchmark.
///
/// # Errors
/// If a program that takes part, a file or the kernel fails.
pub fn run(plan: &ProcPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let mut notes = Vec::new();
    let mut files = Vec::new();
    for (names, path) in SOURCES {
        progress.show(path);
        let entries: Vec<_> = names.iter().filter_map(|name| source::find(name)).collect();
        match read_files(plan, &entries, path, progress, &mut notes)? {
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
    let with_bpf = OpenedSources::new(&all, CounterMethod::Bpf).is_ok();
    for case in CASES {
        cases.push(record(plan, case, with_bpf, programs, progress)?);
    }
    progress.done();
    Ok(report(plan, machine, [&files, &cases], &notes))
}

/// Sources opened in one way.
struct OpenedSources {
    host: Host,
    sources: Vec<(Box<dyn Source>, Table)>,
}

impl OpenedSources {
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
        Ok(OpenedSources { host, sources })
    }

    /// Takes a reading of all of them; whether they were there.
    fn read(&mut self) -> bool {
        self.host.begin_tick();
        let OpenedSources { host, sources } = self;
        sources.iter_mut().all(|(source, table)| source.read(host, table) == State::Ok)
    }

    fn read_times(&mut self, times: u64) -> std::io::Result<Measurement> {
        Ok(measure(|| (0..times).for_each(|_| _ = self.read())).1)
    }
}

/// Reads sources by all contestants; `None` where the machine lacks them.
pub(crate) fn read_files(
    plan: &ProcPlan,
    entries: &[&'static Entry],
    what: &str,
    progress: &Progress<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Readings>> {
    let Ok(mut by_files) = OpenedSources::new(entries, CounterMethod::Proc) else {
        return Ok(None);
    };
    // The first readings open files and make room.
    if (0..3).any(|_| !by_files.read()) {
        return Ok(None);
    }
    let mut by_bpf = match OpenedSources::new(entries, CounterMethod::Bpf) {
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
        Contestant::new(FLOOR, (), || floor.run_all(plan.readings)),
        Contestant::new(WHIT, (), || by_files.read_times(plan.readings)),
    ];
    if let Some(by_bpf) = &mut by_bpf {
        contestants.push(Contestant::new(WHIT_BPF, (), || by_bpf.read_times(plan.readings)));
    }
    let contests = take_turns(progress, what, plan.rounds, contestants)?;
    let with_cost = |Contest { name, turns, .. }: Contest| {
        let mut contest = Contest { name, turns, facts: None };
        contest.facts = Some(contest.median(cpu) / plan.readings as f64);
        contest
    };
    let contests = contests.into_iter().map(with_cost).collect();
    Ok(Some(Case { name: what.to_owned(), facts: (), contests }))
}

/// Lets the programs record.
fn record(
    plan: &ProcPlan,
    what: &str,
    with_bpf: bool,
    programs: &Programs,
    progress: &Progress<'_>,
) -> Result<Readings> {
    let whit = |way: &str, samples: u64| {
        let mut command = Command::new(&programs.whit);
        command.args(["record", "--no-check", "--cpu-way", way]);
        turn(command, what, samples)
    };
    let collectl = programs.collectl.as_deref();
    let theirs = |program: &Path, samples: u64| turn(Command::new(program), what, samples);
    let (more, long) = (SHORT_SAMPLES + MORE_SAMPLES * plan.samples, SHORT_SAMPLES + plan.samples);
    let mut contestants = vec![
        Contestant::new(WHIT, (), || whit("proc", more)),
        Contestant::new("", (), || whit("proc", SHORT_SAMPLES)),
    ];
    if with_bpf {
        contestants.push(Contestant::new(WHIT_BPF, (), || whit("bpf", more)));
        contestants.push(Contestant::new("", (), || whit("bpf", SHORT_SAMPLES)));
    }
    if let Some(program) = collectl {
        contestants.push(Contestant::new(COLLECTL, (), move || theirs(program, long)));
        contestants.push(Contestant::new("", (), move || theirs(program, SHORT_SAMPLES)));
    }
    let turns = take_turns(progress, what, plan.rounds, contestants)?;
    let pairs = turns.chunks_exact(2).map(|pair| {
        let each = beyond(pair[0].median(cpu), pair[1].median(cpu));
        let more = if pair[0].name == COLLECTL { 1 } else { MORE_SAMPLES };
        let facts = each.map(|us| us / (more * plan.samples) as f64);
        Contest { name: pair[0].name.clone(), turns: pair[0].turns.clone(), facts }
    });
    Ok(Case { name: what.to_owned(), facts: (), contests: pairs.collect() })
}

/// Records into a folder of its own.
fn turn(mut command: Command, what: &str, samples: u64) -> std::io::Result<Measurement> {
    let folder = tempfile::tempdir()?;
    command.args([what, "-i0", &format!("-c{samples}"), "-f"]).arg(folder.path());
    run_quietly(&mut command)
}

fn report(plan: &ProcPlan, machine: Value, tables: [&[Readings]; 2], notes: &[String]) -> Report {
    let ProcPlan { rounds, readings, samples } = *plan;
    let title = format!(
        "Linux {}, {} CPUs: CPU us of a reading, medians of {rounds} rounds\n",
        machine["kernel"].as_str().unwrap_or("?"),
        machine["cpus"]
    );
    let mut report = Report::new("-proc", machine);
    report.say(title);
    report.keep("rounds", rounds);
    report.keep("readings", readings);
    report.keep("samples", samples);
    let table = table::Table::<Row<'_, (), Option<f64>>>::new()
        .shown("", 0, |(case, one)| {
            // The name of a group stands in its first line.
            if case.contests[0].name == one.name { case.name.as_str() } else { "" }
        })
        .column("", "name", 0, |(_, one)| one.name.as_str())
        .column("", "cpu_us", 1, |(_, one)| one.facts)
        .shown("", 2, |(case, one)| Some(one.facts? / case.contests[0].facts?));
    let titles = [
        format!("The file alone, read {readings} times within one process"),
        format!(
            "\nA sample of a program into a file, start taken off: {samples} samples of collectl, \
             {MORE_SAMPLES} times as many of whit"
        ),
    ];
    for ((key, title), rows) in ["files", "programs"].into_iter().zip(titles).zip(tables) {
        report.say(title);
        report.cases(key, &table, rows, |_| (None, None), |row| json!({ "name": row.name }));
        report.turns_of(key, rows);
    }
    report.notes(notes);
    report
}
