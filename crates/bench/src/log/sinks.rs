//! How fast records become text: a ring is drained into each format, to nowhere and to a file on the
//! tmpfs of the rings, beside the least that the file can cost: the same bytes by write(2).
//!
//! A turn logs as many records as a burst has, untimed, and measures one round of the drain: what the
//! thread of a local output does.  Each combination is a process of its own.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use log_format::{
    AcsXmlFormat, Drain, FileRotation, FileSink, JsonFormat, LogSink, LogZone, RecordFormat,
    SyslogFormat, TextFormat, WriterSink,
};
use logger::{LogConfig, Logger, log_info};
use serde_json::{Value, json};

use super::scenario::run_load;
use super::timing::quantile;
use crate::contest::median;
use crate::error::{Context, Result, ensure};
use crate::programs::Programs;

/// Bytes of a write(2) of the floor: what whit's sinks write at once.
const WRITE_BYTES: usize = 64 << 10;
/// Bytes of files that are written before the next is begun.
const FILE_BYTES: u64 = 256 << 20;

/// Where text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Nowhere,
    File,
    /// The bytes of the records to a file, by nothing but write(2).
    Floor,
}

impl Target {
    pub(super) const ALL: [Target; 3] = [Target::Nowhere, Target::File, Target::Floor];

    pub(super) fn name(self) -> &'static str {
        match self {
            Target::Nowhere => "nowhere",
            Target::File => "file",
            Target::Floor => "floor",
        }
    }
}

/// Formats, by their names.
pub(super) const FORMATS: [&str; 4] = ["text", "json", "acs", "syslog"];

/// What a format needed.
#[derive(Clone, Debug)]
pub(super) struct SinkRuns {
    pub(super) format: &'static str,
    pub(super) target: Target,
    /// Bytes of a record.
    pub(super) bytes: f64,
    /// For each round the ns of a record: the median of its turns.
    pub(super) rounds: Vec<f64>,
}

impl SinkRuns {
    /// ns of a record.
    pub(super) fn ns(&self) -> f64 {
        median(self.rounds.clone())
    }
}

/// Lets all formats and targets take turns.
pub(super) fn measure(
    programs: &Programs,
    rings: &Path,
    [rounds, calls, turns]: [usize; 3],
    show: impl Fn(&str, usize),
) -> Result<Vec<SinkRuns>> {
    let all = FORMATS.into_iter().flat_map(|format| Target::ALL.map(|target| (format, target)));
    let mut all: Vec<SinkRuns> = all
        .map(|(format, target)| SinkRuns { format, target, bytes: 0.0, rounds: Vec::new() })
        .collect();
    for round in 0..rounds {
        for one in &mut all {
            show(&format!("{} to {}", one.format, one.target.name()), round);
            let folder = tempfile::tempdir_in(rings)?;
            let words = json!({
                "sink": one.format, "target": one.target.name(), "calls": calls, "turns": turns,
                "rings": folder.path().to_string_lossy(),
            });
            let said = run_load(&programs.bench, &words)?;
            let value: Value = serde_json::from_str(&said).map_err(io::Error::other)?;
            let number = |name: &str| value[name].as_f64().context("what a sink says");
            one.bytes = number("bytes")?;
            one.rounds.push(number("ns")?);
        }
    }
    Ok(all)
}

fn format_of(name: &str) -> Option<Box<dyn RecordFormat>> {
    Some(match name {
        "text" => Box::new(TextFormat::new(false, LogZone::default())),
        "json" => Box::new(JsonFormat::default()),
        "acs" => Box::new(AcsXmlFormat::default()),
        "syslog" => Box::new(SyslogFormat::new(1)),
        _ => return None,
    })
}

/// Counts what is written.
struct Counter(u64);

impl io::Write for &mut Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The process of one combination: prints bytes and ns of a record.
pub(super) fn play(value: &Value) -> Result<()> {
    let word = |name: &str| value[name].as_str().with_context(|| format!("no {name}"));
    let number = |name: &str| value[name].as_u64().with_context(|| format!("no number of {name}"));
    let (calls, turns) = (number("calls")?, number("turns")?);
    let rings = PathBuf::from(word("rings")?);
    let format = || format_of(word("sink").unwrap_or_default()).context("no such format");
    let mut source = Source::start(&rings, calls)?;
    let mut counter = Counter(0);
    let mut sink = WriterSink::new(format()?, &mut counter);
    let nowhere = source.turns(&mut sink, turns)?;
    drop(sink);
    let bytes = counter.0 as f64 / (calls * (turns + 1)) as f64;
    let ns = match word("target")? {
        "nowhere" => nowhere,
        "file" => {
            let rotation = FileRotation { bytes_max: Some(FILE_BYTES), keep: 0 };
            let mut sink = FileSink::open(&rings.join("file"), format()?, rotation)?;
            source.turns(&mut sink, turns)?
        }
        _ => floor(&rings.join("file"), (bytes * calls as f64) as usize, turns, calls)?,
    };
    let said = json!({ "bytes": bytes, "ns": ns });
    io::stdout().write_all(said.to_string().as_bytes())?;
    Ok(())
}

/// A ring that is filled and drained.
struct Source {
    drain: Drain,
    log: Logger,
    calls: u64,
}

impl Source {
    fn start(rings: &Path, calls: u64) -> Result<Self> {
        let failed = |error: logger::Error| crate::Error::Failed(error.to_string());
        logger::start(LogConfig::new(rings, "bench-host", "bench-process")).map_err(failed)?;
        let log = Logger::new("CONTROL/bench").map_err(failed)?;
        log_info!(log, "call {} {} {}", 0_u32, 0_u32, 0.5);
        let (process, files) = logring::writer::local_files().map_err(failed)?;
        let mut drain = Drain::new();
        drain.add_process(process);
        for ring in files {
            drain.add_ring(ring);
        }
        Ok(Source { drain, log, calls })
    }

    /// Logs and drains; gives the median of all turns but the first, in ns of a record.
    fn turns(&mut self, sink: &mut dyn LogSink, turns: u64) -> Result<f64> {
        let mut all = Vec::new();
        for turn in 0..=turns {
            for number in 0..self.calls as u32 {
                log_info!(self.log, "call {} {} {}", 3_u32, number, f64::from(number) + 0.5);
            }
            let begin = Instant::now();
            let drained = self.drain.round(sink, u64::MAX);
            let drained = drained.map_err(|error| crate::Error::Failed(error.to_string()))?;
            let ns = begin.elapsed().as_nanos() as f64 / drained.max(1) as f64;
            ensure!(drained >= self.calls, "{drained} records of {}", self.calls);
            if turn > 0 {
                all.push(ns);
            }
        }
        all.sort_by(f64::total_cmp);
        Ok(quantile(&all, 0.5))
    }
}

/// Writes as many bytes as a turn has; ns of a record.
fn floor(path: &Path, bytes: usize, turns: u64, calls: u64) -> Result<f64> {
    let piece = vec![b'x'; WRITE_BYTES];
    let mut file = File::create(path)?;
    let (mut all, mut written) = (Vec::new(), 0);
    for _ in 0..turns {
        if written >= FILE_BYTES {
            file = File::create(path)?;
            written = 0;
        }
        let begin = Instant::now();
        let mut left = bytes;
        while left > 0 {
            let part = &piece[..left.min(WRITE_BYTES)];
            file.write_all(part)?;
            left -= part.len();
        }
        all.push(begin.elapsed().as_nanos() as f64 / calls as f64);
        written += bytes as u64;
    }
    all.sort_by(f64::total_cmp);
    Ok(quantile(&all, 0.5))
}
