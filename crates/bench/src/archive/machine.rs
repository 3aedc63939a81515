//! The machine whose values all stores get: CPU times at random, and processes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use recording::{Writer, WriterOptions};
use sample::{Meta, Snapshot, State};

use crate::error::{Context, Result};

/// CPUs of the recording of a day.
pub(super) const CPUS: usize = 16;

/// The fields that have values.
pub(super) const MODES: [&str; 8] =
    ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// When recordings begin, since the epoch: 2026-01-01.
pub(super) const STARTED_S: u64 = 1_767_225_600;

/// Different commands of processes.
const COMMANDS: u32 = 40;

const SECOND_NS: u64 = 1_000_000_000;

/// The time of a second, as `--from` takes it.
pub(super) fn clock(second: u64) -> String {
    format!("{:02}:{:02}:{:02}", second / 3600 % 24, second / 60 % 60, second % 60)
}

/// The date and the time of a second, as `--from` takes them.
pub(super) fn date(second: u64) -> String {
    let at = jiff::Timestamp::from_second((STARTED_S + second).cast_signed()).unwrap_or_default();
    at.strftime("%Y%m%d:%H:%M:%S").to_string()
}

/// Numbers that are the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A machine with some CPUs, second by second.
pub(super) struct CpuMachine {
    numbers: Numbers,
    ticks: Vec<[u64; MODES.len()]>,
}

impl CpuMachine {
    pub(super) fn new(cpus: usize) -> Self {
        CpuMachine { numbers: Numbers(1), ticks: vec![[0; MODES.len()]; cpus] }
    }

    /// A second passes: each CPU has a hundred ticks more, few of them in rare modes.
    fn step(&mut self) {
        for cpu in &mut self.ticks {
            let user = self.numbers.below(60);
            let system = self.numbers.below(20);
            let rare = self.numbers.below(40);
            let other = if rare < 8 { 1 } else { 0 };
            cpu[0] += user;
            cpu[2] += system;
            cpu[3] += 100 - user - system - other;
            cpu[[1, 4, 5, 6, 7][rare as usize % 5]] += other;
        }
    }

    /// Records so many seconds.
    pub(super) fn record(&mut self, path: &Path, seconds: u64) -> Result<()> {
        let def = source::find("cpu_core").context("the source cpu_core")?.def().shared();
        let places = MODES.map(|mode| def.field(mode));
        let mut writer =
            Writer::create(path, &meta("C"), std::slice::from_ref(&def), WriterOptions::default())?;
        let mut snapshot = Snapshot::new(std::slice::from_ref(&def));
        for second in 0..seconds {
            self.step();
            begin(&mut snapshot, second);
            for (number, cpu) in self.ticks.iter().enumerate() {
                let mut row = snapshot.samples[0].table.row(number.to_string().as_bytes());
                for (place, ticks) in places.iter().zip(cpu) {
                    if let Some(place) = place {
                        row.set(*place, *ticks);
                    }
                }
            }
            writer.append(&snapshot)?;
        }
        Ok(writer.close()?)
    }

    /// Writes the same values as OpenMetrics, with so many units of time in a second: OpenMetrics has
    /// seconds, Prometheus's own text milliseconds.
    pub(super) fn write_text(&mut self, path: &Path, seconds: u64, units: u64) -> Result<()> {
        let mut out = BufWriter::new(File::create(path)?);
        writeln!(out, "# TYPE cpu_seconds counter")?;
        for second in 0..seconds {
            self.step();
            for (number, cpu) in self.ticks.iter().enumerate() {
                for (mode, ticks) in MODES.iter().zip(cpu) {
                    let value = *ticks as f64 / 100.0;
                    let at = (STARTED_S + second) * units;
                    writeln!(
                        out,
                        "cpu_seconds_total{{cpu=\"{number}\",mode=\"{mode}\"}} {value} {at}"
                    )?;
                }
            }
        }
        writeln!(out, "# EOF")?;
        Ok(out.flush()?)
    }
}

/// Records processes for so many seconds, each with its CPU time and its memory; returns how many
/// values that are.
pub(super) fn record_processes(path: &Path, processes: u32, seconds: u64) -> Result<u64> {
    let def = source::find("process").context("the source process")?.def().shared();
    let field = |name: &str| def.field(name).with_context(|| format!("process.{name}"));
    let (command, run_time, resident) = (field("command")?, field("run_time")?, field("resident")?);
    let mut writer =
        Writer::create(path, &meta("Z"), std::slice::from_ref(&def), WriterOptions::default())?;
    let mut snapshot = Snapshot::new(std::slice::from_ref(&def));
    let mut numbers = Numbers(2);
    let mut state: Vec<(u64, u64)> = vec![(0, 4_096); processes as usize];
    let names: Vec<Vec<u8>> =
        (0..processes).map(|pid| format!("{}\x1f{}", pid + 100, pid * 7).into_bytes()).collect();
    let commands: Vec<String> =
        (0..processes).map(|pid| format!("command{}", pid % COMMANDS)).collect();
    for second in 0..seconds {
        begin(&mut snapshot, second);
        for (at, (ran_ns, kib)) in state.iter_mut().enumerate() {
            // One of ten runs in a second.
            if numbers.below(10) == 0 {
                *ran_ns += numbers.below(50_000_000);
                *kib += numbers.below(64);
            }
            let mut row = snapshot.samples[0].table.row(&names[at]);
            row.set_text(command, commands[at].as_bytes());
            row.set(run_time, *ran_ns);
            row.set(resident, *kib);
        }
        writer.append(&snapshot)?;
    }
    writer.close()?;
    Ok(seconds * u64::from(processes) * 2)
}

fn meta(subsystems: &str) -> Meta {
    let mut meta = Meta::new();
    for (key, value) in [
        ("host", "machine".to_owned()),
        ("boot_id", "one".to_owned()),
        ("subsystems", subsystems.to_owned()),
        ("interval_ns", SECOND_NS.to_string()),
        ("interval2_ns", SECOND_NS.to_string()),
        ("ticks_per_second", "100".to_owned()),
        ("timezone", "+00:00".to_owned()),
        ("started_ns", (STARTED_S * SECOND_NS).to_string()),
    ] {
        meta.set(key, value);
    }
    meta
}

/// Begins the sample of a second.
fn begin(snapshot: &mut Snapshot, second: u64) {
    snapshot.monotonic_ns = (second + 1) * SECOND_NS;
    snapshot.realtime_ns = ((STARTED_S + second) * SECOND_NS).cast_signed();
    snapshot.fresh[0] = true;
    let sample = &mut snapshot.samples[0];
    (sample.monotonic_ns, sample.realtime_ns) = (snapshot.monotonic_ns, snapshot.realtime_ns);
    sample.state = State::Ok;
    sample.table.begin();
}
