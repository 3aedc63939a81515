//! The history of a target from its round-robin database, for pages that MRTG itself does not make.
//!
//! Means are those of the archives of `AVERAGE`, finest first; where a finer one ends, the next goes
//! on.  Maxima are those of the archive of `MAX` with the same rows.  What is unknown is 0, which
//! the pages leave out of their means.

use std::path::Path;

use rrd::header::ConsolidationFunction;
use rrd::{Access, File};

use crate::log_file::{LogHistory, LogLine};

/// Reads the history of a database: the first source is in, the second out.
///
/// # Errors
/// If the file cannot be read, or is no database.
pub fn rrd_history(path: &Path) -> rrd::Result<LogHistory> {
    let file = File::open(path, Access::Read)?;
    let header = file.header();
    let sources = header.sources.len().max(1);
    let of = |function: ConsolidationFunction| {
        let mut all: Vec<usize> = (0..header.archives.len())
            .filter(|&archive| header.archives[archive].function == function)
            .collect();
        all.sort_by_key(|&archive| header.row_seconds(archive));
        all
    };
    let maxima = of(ConsolidationFunction::Maximum);
    let mut lines: Vec<LogLine> = Vec::new();
    for archive in of(ConsolidationFunction::Average) {
        let step = header.row_seconds(archive);
        let cells = file.read_in_order(archive)?;
        let same = maxima.iter().find(|&&other| header.row_seconds(other) == step);
        let largest = match same {
            Some(&other) => file.read_in_order(other)?,
            None => Vec::new(),
        };
        let step = i64::try_from(step).unwrap_or(i64::MAX).max(1);
        let rows = cells.len() / sources;
        // Rows of the maxima end with the same newest row, but may be fewer.
        let largest_rows = largest.len() / sources;
        for back in 0..rows {
            let time = header.newest_row(archive).saturating_sub(step.saturating_mul(back as i64));
            if lines.last().is_some_and(|last| time >= last.time) {
                continue;
            }
            let value = |side: usize| known(cells.get((rows - 1 - back) * sources + side));
            let most = |side: usize| {
                let row = largest_rows.checked_sub(back + 1)?;
                Some(known(largest.get(row * sources + side)))
            };
            let (input, output) = (value(0), value(1.min(sources - 1)));
            let input_max = most(0).unwrap_or(0.0).max(input);
            let output_max = most(1.min(sources - 1)).unwrap_or(0.0).max(output);
            lines.push(LogLine { time, input, output, input_max, output_max });
        }
    }
    Ok(LogHistory::of(lines))
}

fn known(cell: Option<&f64>) -> f64 {
    cell.copied().filter(|value| value.is_finite()).unwrap_or(0.0)
}
