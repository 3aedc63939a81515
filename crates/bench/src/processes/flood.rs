//! Programs started as fast as the machine can beside a recorder: the recorder's cost, and whether
//! it recorded each of them.
//!
//! `/bin/true` is started and waited for by a thread on each CPU; whit records processes at one
//! sample a second.  Afterwards the recording is read: the exits of our own children in it, and
//! those that it counts as lost, must add up to the number of starts.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use recording::{ReadOutcome, Reader};
use sample::{Snapshot, SourceDef, State};
use serde_json::Value;

use crate::Progress;
use crate::error::{Context, Result, ensure};
use crate::folder::{bytes_in, file_in};
use crate::process::{self, BackgroundProgram};
use crate::programs::Programs;
use crate::report::Report;
use crate::table::{Cell, Table};

/// The program that is started.
const PROGRAM: &str = "/bin/true";

/// Pause before the first start and after the last end, so that the recorder has taken its first
/// sample, and writes the last exits.
const QUIET: Duration = Duration::from_millis(2_500);

/// The result of a flood.
#[derive(Debug)]
struct Flood {
    seconds: f64,
    /// Programs started, all of which ended.
    started: u64,
    /// Exits of these that are in the recording.
    recorded: u64,
    /// Exits of all processes that the recording counts as lost.
    lost: u64,
    /// The recorder's way to learn of exits.
    way: String,
    /// CPU time of the recorder during the flood.
    user_seconds: f64,
    system_seconds: f64,
    resident_kib_max: u64,
    samples: u64,
    ticks_missed: u64,
    file_bytes: u64,
}

/// Starts programs as fast as the machine can for `seconds`, and counts those whose exits are in
/// the recording.
///
/// # Errors
/// If the recorder cannot be started or its recording cannot be read.
pub fn run(programs: &Programs, seconds: u64, progress: &Progress<'_>) -> Result<Report> {
    let machine = crate::report::machine(programs);
    let flood = measure(programs, seconds, progress)?;
    Ok(flood.report(machine))
}

fn measure(programs: &Programs, seconds: u64, progress: &Progress<'_>) -> Result<Flood> {
    progress.show(&format!("{PROGRAM} as fast as it can be started, {seconds} s"));
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(&programs.whit);
    command.args(["record", "--no-check", "-sZ", "-i1:1", "-f"]).arg(folder.path());
    let recorder = BackgroundProgram::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
    let spent = || process::spent(recorder.id()).context("the recorder is gone");
    std::thread::sleep(QUIET);
    let before = spent()?;
    let begun = Instant::now();
    let started = start_all(Duration::from_secs(seconds))?;
    let took = begun.elapsed();
    let after = spent()?;
    std::thread::sleep(QUIET);
    recorder.stop_well()?;
    progress.done();
    let mut flood = Flood {
        seconds: took.as_secs_f64(),
        started,
        recorded: 0,
        lost: 0,
        way: "none".to_owned(),
        user_seconds: after.user_us.saturating_sub(before.user_us) as f64 / 1e6,
        system_seconds: after.system_us.saturating_sub(before.system_us) as f64 / 1e6,
        resident_kib_max: after.resident_kib_max,
        samples: 0,
        ticks_missed: 0,
        file_bytes: bytes_in(folder.path())?,
    };
    flood.read(&file_in(folder.path(), ".whit")?)?;
    Ok(flood)
}

/// Gives the name of every process whose exit is in a recording.
///
/// # Errors
/// If it cannot be read, or has no exits.
pub(crate) fn each_exit(path: &Path, mut give: impl FnMut(&[u8])) -> Result<()> {
    let mut reader = Reader::open(path, &source::definitions())?;
    let defs = reader.defs();
    let exit = defs.iter().position(|def| def.name == "exit");
    let exit = exit.context("the recording has no ends")?;
    let name = defs[exit].fields.iter().position(|field| field.name == "command");
    let name = name.context("the recording has no names of ended processes")?;
    let mut snapshot = Snapshot::new(&defs);
    while reader.next(&mut snapshot)? == ReadOutcome::Sample {
        let sample = &snapshot.samples[exit];
        if !snapshot.fresh[exit] || sample.state != State::Ok {
            continue;
        }
        let names = (0..sample.table.rows()).filter_map(|row| sample.table.text(row, name));
        names.for_each(&mut give);
    }
    Ok(())
}

/// Starts programs on every CPU and waits for each; returns their number.
fn start_all(duration: Duration) -> Result<u64> {
    let started = AtomicU64::new(0);
    let failed = AtomicBool::new(false);
    let until = Instant::now() + duration;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cpus {
            scope.spawn(|| {
                while Instant::now() < until {
                    match Command::new(PROGRAM).stdin(Stdio::null()).spawn() {
                        Ok(mut child) => {
                            started.fetch_add(1, Ordering::Relaxed);
                            failed.fetch_or(child.wait().is_err(), Ordering::Relaxed);
                        }
                        Err(_) => return failed.store(true, Ordering::Relaxed),
                    }
                }
            });
        }
    });
    ensure!(!failed.into_inner(), "cannot start {PROGRAM}, or wait for it");
    Ok(started.into_inner())
}

impl Flood {
    /// Counts the exits in the recording.
    fn read(&mut self, path: &Path) -> Result<()> {
        let known: Vec<Arc<SourceDef>> = source::definitions();
        let mut reader = Reader::open(path, &known)?;
        let defs = reader.defs();
        let place = |name: &str| defs.iter().position(|def| def.name == name);
        let exit = place("exit").context("the recording has no ends")?;
        let total = place("process_total").context("the recording has no totals")?;
        let field = |source: usize, name: &str| {
            defs[source].fields.iter().position(|field| field.name == name).unwrap_or(usize::MAX)
        };
        let (parent, lost) = (field(exit, "parent"), field(total, "exits_lost"));
        let way = field(total, "exit_way");
        let mut snapshot = Snapshot::new(&defs);
        let own = u64::from(std::process::id());
        while reader.next(&mut snapshot)? == ReadOutcome::Sample {
            self.samples += 1;
            self.ticks_missed += snapshot.gap.ticks_missed;
            let table = |source: usize| {
                let sample = &snapshot.samples[source];
                (snapshot.fresh[source] && sample.state == State::Ok).then_some(&sample.table)
            };
            if let Some(table) = table(exit) {
                let ours = |&row: &usize| table.get(row, parent) == Some(own);
                self.recorded += (0..table.rows()).filter(ours).count() as u64;
            }
            if let Some(table) = table(total) {
                self.lost = table.get(0, lost).unwrap_or(0);
                let recorded_by = table.text(0, way).unwrap_or(b"none");
                self.way = String::from_utf8_lossy(recorded_by).into_owned();
            }
        }
        Ok(())
    }

    /// CPU time of the recorder as a part of one CPU.
    fn share(&self) -> f64 {
        (self.user_seconds + self.system_seconds) / self.seconds
    }

    /// The result in words: the exits recorded and lost must add up to the starts.
    fn verdict(&self) -> &'static str {
        match self.started.checked_sub(self.recorded) {
            Some(0) if self.lost == 0 => "every one is in the recording",
            Some(missing) if missing <= self.lost => "those in the recording and those lost add up",
            _ => "WRONG: they do not add up",
        }
    }

    /// The report: a line for each number.
    fn report(&self, machine: Value) -> Report {
        let mut report = Report::new("-processes/flood", machine);
        let cpu_seconds = self.user_seconds + self.system_seconds;
        for (key, value) in [
            ("seconds", self.seconds.into()),
            ("started", self.started.into()),
            ("told", self.recorded.into()),
            ("lost", self.lost.into()),
            ("told_by", self.way.as_str().into()),
            ("user_seconds", self.user_seconds.into()),
            ("system_seconds", self.system_seconds.into()),
            ("share_of_one_cpu", self.share().into()),
            ("resident_kib_max", self.resident_kib_max.into()),
            ("samples", self.samples.into()),
            ("ticks_missed", self.ticks_missed.into()),
            ("file_bytes", self.file_bytes.into()),
            ("verdict", Value::from(self.verdict())),
        ] {
            report.keep(key, value);
        }
        let each = |number: f64, count: u64| number / count.max(1) as f64;
        let (user, system) = (self.user_seconds, self.system_seconds);
        let lines = [
            ("seconds", format!("{:.1}", self.seconds), String::new()),
            (
                "started",
                self.started.to_string(),
                format!("({:.0} a second)", self.started as f64 / self.seconds),
            ),
            (
                "ends in the recording",
                self.recorded.to_string(),
                format!("(reported by {})", self.way),
            ),
            ("ends lost", self.lost.to_string(), String::new()),
            (
                "recorder, CPU s",
                format!("{cpu_seconds:.2}"),
                format!("(user {user:.2}, system {system:.2})"),
            ),
            ("of one CPU", format!("{:.2}%", self.share() * 100.0), String::new()),
            ("us an end", format!("{:.2}", each(cpu_seconds * 1e6, self.started)), String::new()),
            ("RSS KiB, at most", self.resident_kib_max.to_string(), String::new()),
            ("samples", self.samples.to_string(), format!("(ticks missed: {})", self.ticks_missed)),
            (
                "file, bytes",
                self.file_bytes.to_string(),
                format!("({:.1} an end)", each(self.file_bytes as f64, self.recorded)),
            ),
        ];
        type Line = (&'static str, String, String);
        let table = Table::<&Line>::new()
            .shown("", 0, |line| line.0)
            .shown("", 0, |line| Cell::Written(line.1.clone()))
            .shown("", 0, |line| line.2.clone());
        report.say(format!(
            "{PROGRAM} as fast as it can be started, whit record -sZ -i1:1 beside it\n"
        ));
        report.show(&table.grid(&lines));
        report.say(format!("\n{}", self.verdict()));
        report
    }
}
