//! Programs started as fast as the machine can beside a recorder: the recorder's cost, and whether
//! it recorded each of them.
//!
//! `/bin/true` is started and waited for by a thread on each CPU; whit records processes at one
//! sample a second.  Afterwards the recording is read: the exits of our own children in it, and
//! those that it counts as lost, must add up to the number of starts.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Context, Result, ensure};
use recording::{ReadOutcome, Reader};
use sample::{Snapshot, SourceDef, State};
use serde_json::{Value, json};

use crate::Progress;
use crate::programs::{Programs, bytes_in, file_in};
use crate::report::Report;

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
    let (summary, json) = (flood.human(), flood.json(&machine));
    Ok(Report::new("-processes/flood", machine, summary, json, &[]))
}

fn measure(programs: &Programs, seconds: u64, progress: &Progress<'_>) -> Result<Flood> {
    progress.show(&format!("{PROGRAM} as fast as it can be started, {seconds} s"));
    let folder = tempfile::tempdir()?;
    let mut recorder = Recorder::start(&programs.whit, folder.path())?;
    std::thread::sleep(QUIET);
    let (user_before, system_before, _) = recorder.usage()?;
    let begun = Instant::now();
    let started = start_all(Duration::from_secs(seconds))?;
    let took = begun.elapsed();
    let (user, system, resident_kib_max) = recorder.usage()?;
    std::thread::sleep(QUIET);
    recorder.stop()?;
    progress.done();
    let mut flood = Flood {
        seconds: took.as_secs_f64(),
        started,
        recorded: 0,
        lost: 0,
        way: "none".to_owned(),
        user_seconds: user - user_before,
        system_seconds: system - system_before,
        resident_kib_max,
        samples: 0,
        ticks_missed: 0,
        file_bytes: bytes_in(folder.path())?,
    };
    flood.read(&file_in(folder.path(), ".whit")?)?;
    Ok(flood)
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

/// The recorder, which ends when this is dropped.
struct Recorder(Child);

impl Recorder {
    fn start(whit: &Path, folder: &Path) -> Result<Self> {
        let mut command = Command::new(whit);
        command.args(["record", "--no-check", "-sZ", "-i1:1", "-f"]).arg(folder);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(Recorder(command.spawn().context("cannot start the recorder")?))
    }

    /// User and system time in seconds, and the peak of memory in KiB.
    fn usage(&self) -> Result<(f64, f64, u64)> {
        let file = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", self.0.id()));
        let stat = file("stat").context("the recorder is gone")?;
        // utime and stime are the fields 14 and 15; field 2, the name, may contain anything.
        let behind = stat.rsplit_once(')').map_or("", |(_, behind)| behind);
        let mut fields = behind.split_whitespace().skip(11).map(str::parse::<u64>);
        let a_second = rustix::param::clock_ticks_per_second() as f64;
        let mut time = || Some(fields.next()?.ok()? as f64 / a_second);
        let (user, system) = (time().context("no utime")?, time().context("no stime")?);
        let status = file("status")?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        Ok((user, system, peak.unwrap_or(0)))
    }

    fn stop(&mut self) -> Result<()> {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let status = self.0.wait()?;
        ensure!(status.success(), "the recorder ended with {status}");
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
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

    /// The summary for people.
    fn human(&self) -> String {
        format!(
            "{PROGRAM} as fast as it can be started, whit record -sZ -i1:1 beside it\n\n\
             seconds               {:>12.1}\n\
             started               {:>12}  ({:.0} a second)\n\
             ends in the recording {:>12}  (reported by {})\n\
             ends lost             {:>12}\n\
             recorder, CPU s       {:>12.2}  (user {:.2}, system {:.2})\n\
             of one CPU            {:>11.2}%\n\
             us an end             {:>12.2}\n\
             RSS KiB, at most      {:>12}\n\
             samples               {:>12}  (ticks missed: {})\n\
             file, bytes           {:>12}  ({:.1} an end)\n\n\
             {}\n",
            self.seconds,
            self.started,
            self.started as f64 / self.seconds,
            self.recorded,
            self.way,
            self.lost,
            self.user_seconds + self.system_seconds,
            self.user_seconds,
            self.system_seconds,
            self.share() * 100.0,
            (self.user_seconds + self.system_seconds) * 1e6 / self.started.max(1) as f64,
            self.resident_kib_max,
            self.samples,
            self.ticks_missed,
            self.file_bytes,
            self.file_bytes as f64 / self.recorded.max(1) as f64,
            self.verdict(),
        )
    }

    /// The results as a JSON object.
    fn json(&self, machine: &Value) -> Value {
        json!({
            "machine": machine,
            "seconds": self.seconds,
            "started": self.started,
            "told": self.recorded,
            "lost": self.lost,
            "told_by": self.way,
            "user_seconds": self.user_seconds,
            "system_seconds": self.system_seconds,
            "share_of_one_cpu": self.share(),
            "resident_kib_max": self.resident_kib_max,
            "samples": self.samples,
            "ticks_missed": self.ticks_missed,
            "file_bytes": self.file_bytes,
            "verdict": self.verdict(),
        })
    }
}
