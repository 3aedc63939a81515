//! Rows of a period: the archive that fits best, and its values.

use std::fmt::Write as _;
use std::path::Path;

use text::c_number::push_exponential;
use text::integer::push_ten_digits;

use crate::codec::TIME_MAX;
use crate::error::{Result, refuse};
use crate::file::{Access, File};
use crate::header::{ConsolidationFunction, RrdHeader};
use crate::number::UNKNOWN;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// The consolidation function.
    pub function: ConsolidationFunction,
    /// Start, in seconds since 1970.
    pub start: i64,
    /// End, in seconds since 1970.
    pub end: i64,
    /// Seconds of a row that would be best.
    pub step_seconds: u64,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchedSeries {
    /// End of the row before the first one, in seconds since 1970.
    pub start: i64,
    /// End of the last row, in seconds since 1970.
    pub end: i64,
    /// Seconds of a row.
    pub step_seconds: u64,
    /// Names of the sources.
    pub names: Vec<String>,
    /// The values: row by row, a value for each source.
    pub cells: Vec<f64>,
}

/// Most values of an answer: 1 GiB.
const CELLS_MAX: i64 = 1 << 27;

/// Reads the rows of a period.
///
/// # Errors
/// If the file cannot be read, or has no archive of the function.
pub fn fetch(path: &Path, request: &FetchRequest) -> Result<FetchedSeries> {
    from_file(&File::open(path, Access::Read)?, request)
}

/// Reads the rows of a period from an open file.
///
/// # Errors
/// As [`fetch`].
pub fn from_file(file: &File, request: &FetchRequest) -> Result<FetchedSeries> {
    from_file_within(file, request, CELLS_MAX)
}

/// As [`from_file`], of `cells_max` values at most.
///
/// # Errors
/// As [`fetch`], and if the period has more values.
pub fn from_file_within(
    file: &File,
    request: &FetchRequest,
    cells_max: i64,
) -> Result<FetchedSeries> {
    let header = file.header();
    let is_bounded = |time: i64| time.unsigned_abs() <= TIME_MAX as u64;
    if !is_bounded(request.start) || !is_bounded(request.end) {
        return Err(refuse!("a period from {} to {} is too long", request.start, request.end));
    }
    let archive = choose(header, request)
        .ok_or_else(|| refuse!("the RRD does not contain an RRA matching the chosen CF"))?;
    let step = i64::try_from(header.row_seconds(archive)).unwrap_or(i64::MAX).max(1);
    let start = request.start - request.start % step;
    let end = request.end + (step - request.end % step);
    let sources = header.sources.len();
    let rows = (end - start) / step;
    if rows.saturating_mul(sources as i64) > cells_max.min(CELLS_MAX) {
        return Err(refuse!("a period of {rows} rows is too long"));
    }
    let count = usize::try_from(rows).unwrap_or(0);
    let mut cells = vec![UNKNOWN; count * sources];
    fill(file, archive, start, end, &mut cells)?;
    let names = header.sources.iter().map(|source| source.name.clone()).collect();
    Ok(FetchedSeries { start, end, step_seconds: step as u64, names, cells })
}

/// Reads the rows of one archive that begin in a period, in seconds since 1970: those that it has, at
/// most so many from the first of them on.
///
/// # Errors
/// If the file cannot be read.
pub fn rows_beginning(
    file: &File,
    archive: usize,
    (from, thru): (i64, i64),
    rows_max: u32,
) -> Result<FetchedSeries> {
    let header = file.header();
    let step = header.row_seconds(archive).clamp(1, TIME_MAX as u64) as i64;
    let (oldest, newest) = span(header, archive);
    let round_up = |time: i64| time.saturating_add(step - 1).div_euclid(step).saturating_mul(step);
    let start = round_up(from).max(oldest).min(newest);
    let most = start.saturating_add(step.saturating_mul(i64::from(rows_max)));
    let end = round_up(thru).clamp(start, newest).min(most);
    let rows = usize::try_from((end - start) / step).unwrap_or(0);
    let mut cells = vec![UNKNOWN; rows * header.sources.len()];
    fill(file, archive, start, end, &mut cells)?;
    let names = header.sources.iter().map(|source| source.name.clone()).collect();
    Ok(FetchedSeries { start, end, step_seconds: step as u64, names, cells })
}

/// The period of an archive, in seconds since 1970: the start of its oldest row and the end of its
/// newest one.
#[must_use]
pub fn span(header: &RrdHeader, archive: usize) -> (i64, i64) {
    let rows = header.archives[archive].rows;
    let length = header.row_seconds(archive).saturating_mul(rows);
    let newest = header.newest_row(archive).clamp(-TIME_MAX, TIME_MAX);
    (newest.saturating_sub(i64::try_from(length).unwrap_or(i64::MAX)).max(-TIME_MAX), newest)
}

/// Copies the rows that the archive has.
fn fill(file: &File, archive: usize, start: i64, end: i64, cells: &mut [f64]) -> Result<()> {
    let header = file.header();
    let sources = header.sources.len();
    let rows = i64::try_from(header.archives[archive].rows).unwrap_or(i64::MAX);
    let step = i64::try_from(header.row_seconds(archive)).unwrap_or(i64::MAX).max(1);
    let newest = header.newest_row(archive);
    let oldest = newest - step * (rows - 1);
    // Rows are counted from the oldest one.  Division rounds to zero, as RRDtool's.
    let first = (start + step - oldest) / step;
    let last = rows - (newest - end) / step;
    let (from, to) = (first.max(0), last.min(rows));
    if from >= to {
        return Ok(());
    }
    let current = i64::try_from(header.current_row[archive]).unwrap_or(0);
    let mut row = from;
    while row < to {
        let place = (current + 1 + row) % rows;
        let count = (to - row).min(rows - place);
        let read = file.read_rows(archive, place as u64, count as u64)?;
        let at = usize::try_from(row - first).unwrap_or(usize::MAX).saturating_mul(sources);
        if let Some(target) = cells.get_mut(at..) {
            let length = target.len().min(read.len());
            target[..length].copy_from_slice(&read[..length]);
        }
        row += count;
    }
    Ok(())
}

/// The archive that fits best: of those that reach back to the start, the one with the nearest
/// resolution; else the one with the largest part of the period.
fn choose(header: &RrdHeader, request: &FetchRequest) -> Option<usize> {
    let mut full: Option<(u64, usize)> = None;
    let mut part: Option<(i64, u64, usize)> = None;
    for (index, archive) in header.archives.iter().enumerate() {
        let is_same = archive.function == request.function;
        let has_points = archive.steps_per_row == 1
            && archive.function.is_plain()
            && request.function.is_plain();
        if !is_same && !has_points {
            continue;
        }
        let row_seconds = header.row_seconds(index);
        let length = i64::try_from(row_seconds.wrapping_mul(archive.rows)).unwrap_or(i64::MAX);
        let oldest = header.newest_row(index).saturating_sub(length);
        let difference = request.step_seconds.abs_diff(row_seconds);
        if oldest <= request.start {
            if full.is_none_or(|(best, _)| best > difference) {
                full = Some((difference, index));
            }
            continue;
        }
        let overlap = (request.end - request.start) - (oldest - request.start);
        let is_better = part.is_none_or(|(best, best_difference, _)| {
            best < overlap || (best == overlap && difference < best_difference)
        });
        if is_better {
            part = Some((overlap, difference, index));
        }
    }
    full.map(|(_, index)| index).or(part.map(|(_, _, index)| index))
}

/// The text that `rrdtool fetch` prints.
#[must_use]
pub fn text(series: &FetchedSeries) -> String {
    let mut out = String::from("           ");
    for name in &series.names {
        out.push_str(&format!("{name:>20}"));
    }
    out.push_str("\n\n");
    let sources = series.names.len().max(1);
    out.reserve(series.cells.len() * 18 + series.cells.len() / sources * 12);
    let mut time = series.start;
    for row in series.cells.chunks_exact(sources) {
        time += series.step_seconds as i64;
        match u64::try_from(time) {
            Ok(number @ 1_000_000_000..10_000_000_000) => push_ten_digits(&mut out, number),
            // Writing to a string cannot fail.
            _ => _ = write!(out, "{time:>10}"),
        }
        out.push(':');
        for cell in row {
            out.push(' ');
            push_exponential(&mut out, *cell, 10, false);
        }
        out.push('\n');
    }
    out
}
