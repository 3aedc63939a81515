//! Rows and states of archives that `tune` adds or lengthens, from the other archives of the file.
//!
//! The rules are RRDtool's, for the same bits.  For each new row the archives of the same function
//! and those of averages are asked, from fine to coarse: the first that knows something within the
//! row's time gives the value; the files factor is not regarded.  The state of a new archive
//! counts rows of one archive as data points.
//!
//! Costs a pass over the rows that overlap each new row.

use std::cmp::Reverse;
use std::ops::Range;

use crate::consolidate::{self, Progress};
use crate::header::{
    Archive, ConsolidationFunction, RrdHeader, Values, consolidation_value, primary_value,
};
use crate::image::{Image, first_state};
use crate::number::UNKNOWN;
use crate::prefill::{row_at, row_end};

/// For each source of the new database its index in the old one; `None` for one that was added.
pub(crate) type SourceMap = [Option<usize>];

/// The archives of a database that can give values to another, the finest first; of those of the
/// same resolution the longest.
fn candidates(old: &RrdHeader, target: &Archive) -> Vec<usize> {
    let gives = |one: &Archive| {
        one.function == target.function || one.function == ConsolidationFunction::Average
    };
    let mut found: Vec<usize> =
        (0..old.archives.len()).filter(|index| gives(&old.archives[*index])).collect();
    found.sort_by_key(|index| {
        let one = &old.archives[*index];
        (one.steps_per_row, Reverse(one.rows))
    });
    found
}

/// Fills some rows of an archive, which are unknown so far, from the archives that the database had
/// before.
pub(crate) fn fill_rows(
    image: &mut Image,
    old: &Image,
    map: &SourceMap,
    archive: usize,
    rows: Range<u64>,
) {
    let target = image.header.archives[archive].clone();
    if !target.function.is_plain() {
        return;
    }
    let candidates = candidates(&old.header, &target);
    let length = image.header.row_seconds(archive) as i64;
    let sources = image.header.sources.len();
    for row in rows {
        let end = row_end(&image.header, archive, row);
        let at = usize::try_from(row).unwrap_or(0) * sources;
        for candidate in &candidates {
            let Some((first, count)) = overlapping(&old.header, *candidate, end - length + 1, end)
            else {
                continue;
            };
            for (source, from) in map.iter().enumerate() {
                let cell = &mut image.cells[archive][at + source];
                if let Some(from) = from.filter(|_| cell.is_nan()) {
                    let rows = Rows { image: old, archive: *candidate, source: from, first, count };
                    *cell = joined(target.function, &rows);
                }
            }
        }
    }
}

/// The rows of an archive that overlap a time: the first one, and their number.
fn overlapping(header: &RrdHeader, archive: usize, start: i64, end: i64) -> Option<(u64, u64)> {
    let rows = header.archives[archive].rows;
    let current = header.current_row[archive];
    let (first, last) = match (row_at(header, archive, start), row_at(header, archive, end)) {
        (None, None) => return None,
        (None, Some(last)) => (current, last),
        // One row less than there are, in RRDtool's arithmetic.
        (Some(first), None) => (first, current.wrapping_sub(1) % rows),
        (Some(first), Some(last)) => (first, last),
    };
    // All rows in a circle count as none.
    let count = last as i64 - first as i64 + 1;
    Some((first, if count < 0 { count + rows as i64 } else { count } as u64))
}

/// What the rows of an archive and a source say of a time.
pub(crate) fn value_of(
    image: &Image,
    archive: usize,
    source: usize,
    function: ConsolidationFunction,
    start: i64,
    end: i64,
) -> f64 {
    match overlapping(&image.header, archive, start, end) {
        Some((first, count)) => joined(function, &Rows { image, archive, source, first, count }),
        None => UNKNOWN,
    }
}

/// Some rows of an archive and a source.
struct Rows<'a> {
    image: &'a Image,
    archive: usize,
    source: usize,
    first: u64,
    count: u64,
}

impl Rows<'_> {
    /// The known values.
    fn known(&self) -> impl Iterator<Item = f64> {
        let rows = self.image.header.archives[self.archive].rows;
        let rows = (0..self.count).map(move |index| (self.first + index) % rows);
        rows.map(|row| cell(self.image, self.archive, self.source, row))
            .filter(|value| !value.is_nan())
    }
}

fn cell(image: &Image, archive: usize, source: usize, row: u64) -> f64 {
    let at = usize::try_from(row).unwrap_or(0) * image.header.sources.len() + source;
    image.cells[archive].get(at).copied().unwrap_or(UNKNOWN)
}

/// The value of a row that takes the place of others.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
fn joined(function: ConsolidationFunction, rows: &Rows<'_>) -> f64 {
    let known = rows.known();
    match function {
        ConsolidationFunction::Minimum => {
            known.reduce(|least, value| if least < value { least } else { value })
        }
        ConsolidationFunction::Maximum => {
            known.reduce(|most, value| if most > value { most } else { value })
        }
        ConsolidationFunction::Average => {
            let seconds = rows.image.header.row_seconds(rows.archive);
            let mut covered = 0;
            let weighed = known.map(|value| {
                covered += seconds;
                value * seconds as f64
            });
            let sum = weighed.reduce(|sum, value| sum + value);
            sum.map(|sum| sum / covered as f64)
        }
        _ => known.last(),
    }
    .unwrap_or(UNKNOWN)
}

/// Sets the state of an archive that was added, after its rows were filled.
pub(crate) fn take_state(image: &mut Image, old: &Image, map: &SourceMap, archive: usize) {
    let target = image.header.archives[archive].clone();
    let chosen = candidates(&old.header, &target).into_iter().find(|index| {
        let one = &old.header.archives[*index];
        one.steps_per_row == 1 || one.function == ConsolidationFunction::Average
    });
    for (source, from) in map.iter().enumerate() {
        let state = match (chosen, from) {
            (Some(chosen), Some(from)) => {
                let primary = newest_value(image, archive, source);
                state(image, old, archive, Chosen { archive: chosen, source: *from }, primary)
            }
            _ => {
                let unknown = image.header.primary[source].values[primary_value::UNKNOWN_SECONDS];
                first_state(&image.header, archive, unknown)
            }
        };
        *image.header.state_mut(archive, source) = state;
    }
}

/// The value that RRDtool takes for the newest of an archive.  It counts the rows before the
/// archive and not their values, so with several sources it looks into an earlier place.
fn newest_value(image: &Image, archive: usize, source: usize) -> f64 {
    let rows_before: u64 = image.header.archives[..archive].iter().map(|one| one.rows).sum();
    let newest = image.header.current_row[archive] * image.header.sources.len() as u64;
    let mut at = usize::try_from(rows_before + newest).unwrap_or(usize::MAX);
    at = at.saturating_add(source);
    for cells in &image.cells {
        match cells.get(at) {
            Some(value) => return *value,
            None => at -= cells.len(),
        }
    }
    UNKNOWN
}

/// The archive and source of the old database that a state is worked out from.
#[derive(Clone, Copy)]
struct Chosen {
    archive: usize,
    source: usize,
}

fn state(image: &Image, old: &Image, archive: usize, chosen: Chosen, primary: f64) -> Values {
    let target = &image.header.archives[archive];
    let length = image.header.row_seconds(archive) as i64;
    let last = old.header.last_update.seconds;
    // The row that the last update is in, or has just completed.
    let end = last.saturating_add((length - last % length) % length);
    let mut values = Values::default();
    values[consolidation_value::PRIMARY] = primary.to_bits();
    let Some(first) = row_at(&old.header, chosen.archive, end - length + 1) else {
        let own = old.header.state(chosen.archive, chosen.source);
        values[consolidation_value::SECONDARY] = own[consolidation_value::PRIMARY];
        return values;
    };
    let rows = old.header.archives[chosen.archive].rows;
    let newest = old.header.current_row[chosen.archive];
    let value = |row: u64| cell(old, chosen.archive, chosen.source, row % rows);
    values[consolidation_value::SECONDARY] = value(first + rows - 1).to_bits();
    let count = (newest + rows - first) % rows + 1;
    for index in 0..count {
        let progress = Progress { elapsed: 1, missing: 0, rows: 0 };
        consolidate::add_point(target, &mut values, value(first + index), progress);
    }
    values
}
