//! Whether files are sound, and which cost most.

use std::path::{Path, PathBuf};

use crate::compute;
use crate::error::Result;
use crate::file::{Access, File};
use crate::header::{
    ConsolidationFunction, FAILURES_WINDOW_MAX, RrdHeader, SourceKind, archive_value,
    consolidation_value, primary_value,
};
use crate::holt_winters;
use crate::layout::X86_64;

/// What is unusual about a file that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What, in a sentence.
    pub text: String,
    /// Whether an update would fail or give wrong values.
    pub is_fault: bool,
}

/// Checks a file.  Its header must agree with its size, its state with its definitions, and its
/// last update must not be later than `now` (seconds since 1970).
///
/// # Errors
/// If the file cannot be read at all: the error says what is wrong and where.
pub fn check(path: &Path, now: i64) -> Result<Vec<Finding>> {
    let file = File::open(path, Access::Read)?;
    let header = file.header();
    let mut findings = Vec::new();
    let mut push = |is_fault, text| findings.push(Finding { text, is_fault });
    if file.layout() != X86_64 {
        push(true, format!("written on {}: convert it to update it here", file.layout().name));
    }
    let expected = file.header_bytes() + header.cells() * 8;
    if file.file_bytes() > expected {
        push(false, format!("{} bytes follow the last row", file.file_bytes() - expected));
    }
    for text in faults(header, now) {
        push(true, text);
    }
    Ok(findings)
}

/// What is wrong with a header.
pub(crate) fn faults(header: &RrdHeader, now: i64) -> Vec<String> {
    let partners = holt_winters::check(header).err().map(|error| error.to_string());
    let mut found: Vec<String> = partners.into_iter().collect();
    found.extend(of_sources(header));
    found.extend(of_archives(header));
    found.extend(of_states(header));
    let last = header.last_update;
    if !(0..=now.max(0)).contains(&last.seconds) {
        found.push(format!("the last update was at {}; now it is {now}", last.seconds));
    }
    if !(0..1_000_000).contains(&last.microseconds) {
        found.push(format!("the last update was {} µs after its second", last.microseconds));
    }
    found
}

/// What no update could have left in the state.
fn of_states(header: &RrdHeader) -> Vec<String> {
    let mut found = Vec::new();
    for (source, primary) in header.sources.iter().zip(&header.primary) {
        let unknown = primary.values[primary_value::UNKNOWN_SECONDS];
        if unknown > header.step_seconds {
            let (name, step) = (&source.name, header.step_seconds);
            found.push(format!("data source {name} has {unknown} unknown seconds of {step}"));
        }
    }
    for archive in 0..header.archives.len() {
        for (source, named) in header.sources.iter().enumerate() {
            if let Some(what) = state_fault(header, archive, source) {
                found.push(format!("rra {archive} has {what} for data source {}", named.name));
            }
        }
    }
    found
}

fn of_sources(header: &RrdHeader) -> Vec<String> {
    let mut found = Vec::new();
    for (index, source) in header.sources.iter().enumerate() {
        let is_computed = source.kind == SourceKind::Compute;
        if let Err(error) = is_computed.then(|| compute::check(source, index)).transpose() {
            found.push(error.to_string());
        }
        let name = &source.name;
        if name.is_empty() {
            found.push(format!("data source {index} has no name"));
        }
        if header.sources[..index].iter().any(|other| other.name == *name) {
            found.push(format!("two data sources have the name {name}"));
        }
        if source.kind != SourceKind::Compute && source.heartbeat_seconds() == 0 {
            found.push(format!("data source {name} has a heartbeat of 0 seconds"));
        }
        if !header.primary[index].reading.contains(&0) {
            found.push(format!("the last reading of data source {name} has no end"));
        }
    }
    found
}

fn of_archives(header: &RrdHeader) -> Vec<String> {
    let mut found = Vec::new();
    for (index, archive) in header.archives.iter().enumerate() {
        let function = archive.function.name();
        let factor = archive.double(archive_value::XFILES_FACTOR);
        if archive.function.is_plain() && !(0.0..1.0).contains(&factor) {
            found.push(format!("rra {index} ({function}) has an xff of {factor}"));
        }
        if !archive.function.is_plain() && archive.steps_per_row != 1 {
            let steps = archive.steps_per_row;
            found.push(format!("rra {index} ({function}) has {steps} steps per row, not 1"));
        }
    }
    found
}

/// What no update could have left in the state of an archive and a source.
pub(crate) fn state_fault(header: &RrdHeader, archive: usize, source: usize) -> Option<String> {
    use consolidation_value as at;
    let own = &header.archives[archive];
    let values = header.state(archive, source);
    let is_infinite = |place: &usize| f64::from_bits(values[*place]).is_infinite();
    let is_beyond_count = |place: usize| values[place] > 1 << 40;
    match own.function {
        ConsolidationFunction::Failures => {
            let window = own.values[archive_value::WINDOW].min(FAILURES_WINDOW_MAX) as usize;
            let bytes = holt_winters::violations(values);
            let is_fault = bytes[..window].iter().any(|byte| *byte > 1);
            is_fault.then(|| "violations that are neither 0 nor 1".to_owned())
        }
        function if function.is_forecast() => {
            let places = [at::INTERCEPT, at::LAST_INTERCEPT, at::SLOPE, at::LAST_SLOPE];
            let is_fault = places.iter().any(is_infinite)
                || is_beyond_count(at::NULL_COUNT)
                || is_beyond_count(at::LAST_NULL_COUNT);
            is_fault.then(|| "an infinite forecast".to_owned())
        }
        function if function.is_seasonal() => {
            let is_fault = [at::SEASONAL, at::LAST_SEASONAL].iter().any(is_infinite)
                || is_beyond_count(at::SEASONS);
            is_fault.then(|| "an infinite season".to_owned())
        }
        ConsolidationFunction::DevPredict => None,
        function => {
            let unknown = values[at::UNKNOWN];
            if unknown > own.steps_per_row {
                let steps = own.steps_per_row;
                return Some(format!("{unknown} unknown steps in a row of {steps}"));
            }
            let value = f64::from_bits(values[at::VALUE]);
            let is_nothing_yet = match function {
                ConsolidationFunction::Minimum => value == f64::INFINITY,
                ConsolidationFunction::Maximum => value == f64::NEG_INFINITY,
                _ => false,
            };
            let is_fault = value.is_infinite() && !is_nothing_yet;
            is_fault.then(|| format!("a value so far of {value}"))
        }
    }
}

/// What a file costs.
#[derive(Debug, Clone, PartialEq)]
pub struct FileCost {
    /// The file.
    pub path: PathBuf,
    /// The size of the file, in bytes.
    pub bytes: u64,
    /// Data sources.
    pub sources: usize,
    /// Archives.
    pub archives: usize,
    /// Pages of 4 KiB that an hour of updates, one each step, makes the system write.
    pub pages_per_hour: f64,
}

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// What a file costs.
///
/// # Errors
/// If it cannot be read.
#[allow(clippy::cast_precision_loss, reason = "an estimate")]
pub fn cost(path: &Path) -> Result<FileCost> {
    let file = File::open(path, Access::Read)?;
    let header = file.header();
    let updates = 3600.0 / header.step_seconds as f64;
    let header_pages = file.header_bytes().div_ceil(PAGE_BYTES) as f64;
    let rows: f64 = header.archives.iter().map(|one| updates / one.steps_per_row as f64).sum();
    Ok(FileCost {
        path: path.to_owned(),
        bytes: file.file_bytes(),
        sources: header.sources.len(),
        archives: header.archives.len(),
        pages_per_hour: updates * header_pages + rows,
    })
}
