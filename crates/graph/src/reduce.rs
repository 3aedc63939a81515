//! Consolidation of a table to a larger step, as RRDtool does it for a graph.

use rpn::UNKNOWN;

use crate::data::SeriesTable;
use crate::elements::Consolidation;

/// A table that cannot be reduced.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReduceError {
    /// The rows inside the wanted steps are no multiple of a step.
    #[error("SANITY CHECK: {rows} rows cannot be reduced by {factor} \n")]
    Rows {
        /// Rows of the table.
        rows: i64,
        /// Rows of a wanted step.
        factor: i64,
    },
    /// The table has fewer rows than its times say.
    #[error("a table of {0} rows is too short")]
    Short(i64),
}

/// A table of the least step that is a multiple of the table's and at least `wanted_s`.
///
/// A step that begins before the first row or ends after the last is unknown.
pub fn reduce(
    table: &SeriesTable,
    consolidation: Consolidation,
    wanted_s: i64,
) -> Result<SeriesTable, ReduceError> {
    let factor = (wanted_s as f64 / table.step_s as f64).ceil() as i64;
    let step_s = table.step_s.saturating_mul(factor);
    let mut rows = (table.end_s - table.start_s) / table.step_s;
    let columns = table.columns.len();
    let (before_s, after_s) = (table.start_s % step_s, table.end_s % step_s);
    let mut values = Vec::new();
    let (mut start_s, mut end_s, mut first) = (table.start_s, table.end_s, 0);
    if before_s != 0 {
        start_s -= before_s;
        first = factor - before_s / table.step_s;
        rows -= first;
        values.resize(columns, UNKNOWN);
    }
    if after_s != 0 {
        end_s += step_s - after_s;
        rows -= after_s / table.step_s;
    }
    if rows % factor != 0 {
        return Err(ReduceError::Rows { rows, factor });
    }
    let length = usize::try_from(rows).unwrap_or(0) * columns;
    let first = usize::try_from(first).unwrap_or(0) * columns;
    let source = table.values.get(first..).and_then(|values| values.get(..length));
    let source = source.ok_or(ReduceError::Short(rows))?;
    let rows_of_step = usize::try_from(factor).unwrap_or(1) * columns;
    for step in source.chunks(rows_of_step.max(1)) {
        for column in 0..columns {
            let known = step.iter().skip(column).step_by(columns).copied();
            values.push(consolidate(known.filter(|value| !value.is_nan()), consolidation));
        }
    }
    if after_s != 0 {
        values.resize(values.len() + columns, UNKNOWN);
    }
    Ok(SeriesTable { start_s, end_s, step_s, columns: table.columns.clone(), values })
}

/// One value of several known ones; unknown, if there is none.
pub(crate) fn consolidate(values: impl Iterator<Item = f64>, consolidation: Consolidation) -> f64 {
    use Consolidation as C;
    let mut count = 0_u32;
    let mut result = UNKNOWN;
    for value in values {
        count += 1;
        result = match consolidation {
            _ if count == 1 => value,
            C::Minimum => {
                if value < result {
                    value
                } else {
                    result
                }
            }
            C::Maximum | C::Failures => {
                if value > result {
                    value
                } else {
                    result
                }
            }
            C::Last => value,
            _ => result + value,
        };
    }
    match consolidation {
        C::Minimum | C::Maximum | C::Failures | C::Last => result,
        _ if count > 0 => result / f64::from(count),
        _ => result,
    }
}
