//! From data points to rows: the state of an archive and a source at the end of each step.
//!
//! Every operation is done in RRDtool's order, so that the same readings give the same bits.

use crate::header::{
    Archive, ConsolidationFunction, Values, archive_value, consolidation_value as state,
};
use crate::number::UNKNOWN;

/// What a completed number of steps means for one archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// Steps that are complete now.
    pub(crate) elapsed: u64,
    /// Steps that the current row still lacked before.
    pub(crate) missing: u64,
    /// Rows that are complete now.
    pub(crate) rows: u64,
}

impl Progress {
    /// The place in an archive; `steps_before` is the number of steps since 1970 before these.
    pub(crate) fn of(archive: &Archive, steps_before: u64, elapsed: u64) -> Self {
        let missing = archive.steps_per_row - steps_before % archive.steps_per_row;
        let rows = match missing <= elapsed {
            true => ((elapsed - missing) / archive.steps_per_row + 1).min(archive.rows),
            false => 0,
        };
        Self { elapsed, missing, rows }
    }
}

fn double(values: &Values, index: usize) -> f64 {
    f64::from_bits(values[index])
}

fn set(values: &mut Values, index: usize, value: f64) {
    values[index] = value.to_bits();
}

fn or(value: f64, instead: f64) -> f64 {
    if value.is_nan() { instead } else { value }
}

/// Takes a data point, repeated for all elapsed steps, into the state of a row of several steps.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
pub(crate) fn add_point(archive: &Archive, values: &mut Values, point: f64, progress: Progress) {
    let Progress { elapsed, missing, rows } = progress;
    if rows == 0 {
        match point.is_nan() {
            true => values[state::UNKNOWN] = values[state::UNKNOWN].wrapping_add(elapsed),
            false => add(archive.function, values, point, elapsed),
        }
        return;
    }
    if point.is_nan() {
        values[state::UNKNOWN] = values[state::UNKNOWN].wrapping_add(missing);
        set(values, state::SECONDARY, UNKNOWN);
    } else {
        set(values, state::SECONDARY, point);
    }
    let allowed = archive.steps_per_row as f64 * archive.double(archive_value::XFILES_FACTOR);
    let primary = match values[state::UNKNOWN] as f64 > allowed {
        true => UNKNOWN,
        false => finished(archive, values, point, missing),
    };
    set(values, state::PRIMARY, primary);
    // The steps after the last complete row begin the next one.
    let carried = (elapsed - missing) % archive.steps_per_row;
    let first = match archive.function {
        _ if carried == 0 || point.is_nan() => nothing_yet(archive.function),
        ConsolidationFunction::Average => point * carried as f64,
        _ => point,
    };
    set(values, state::VALUE, first);
    values[state::UNKNOWN] = if point.is_nan() { carried } else { 0 };
}

/// The value of a row that `missing` times `point` completes.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
fn finished(archive: &Archive, values: &Values, point: f64, missing: u64) -> f64 {
    let so_far = double(values, state::VALUE);
    match archive.function {
        ConsolidationFunction::Average => {
            let known = archive.steps_per_row.wrapping_sub(values[state::UNKNOWN]);
            (or(so_far, 0.0) + or(point, 0.0) * missing as f64) / known as f64
        }
        ConsolidationFunction::Maximum => {
            let (so_far, point) = (or(so_far, f64::NEG_INFINITY), or(point, f64::NEG_INFINITY));
            if point > so_far { point } else { so_far }
        }
        ConsolidationFunction::Minimum => {
            let (so_far, point) = (or(so_far, f64::INFINITY), or(point, f64::INFINITY));
            if point < so_far { point } else { so_far }
        }
        _ => point,
    }
}

/// The state of a row without data points.
fn nothing_yet(function: ConsolidationFunction) -> f64 {
    match function {
        ConsolidationFunction::Average => 0.0,
        ConsolidationFunction::Maximum => f64::NEG_INFINITY,
        ConsolidationFunction::Minimum => f64::INFINITY,
        _ => UNKNOWN,
    }
}

/// Takes a known data point into a row that stays incomplete.
#[allow(clippy::cast_precision_loss, reason = "as RRDtool converts them")]
fn add(function: ConsolidationFunction, values: &mut Values, point: f64, elapsed: u64) {
    let so_far = double(values, state::VALUE);
    let value = match function {
        ConsolidationFunction::Average if so_far.is_nan() => point * elapsed as f64,
        ConsolidationFunction::Average => so_far + point * elapsed as f64,
        _ if so_far.is_nan() => point,
        ConsolidationFunction::Minimum => {
            if point < so_far {
                point
            } else {
                so_far
            }
        }
        ConsolidationFunction::Maximum => {
            if point > so_far {
                point
            } else {
                so_far
            }
        }
        _ => point,
    };
    set(values, state::VALUE, value);
}

/// After more than two steps at once, sets the state of an archive of one step per row.
///
/// `season` is the coefficient of the row that is current now, `season_before` that of the row
/// before it.
pub(crate) fn skip(
    archive: &Archive,
    values: &mut Values,
    point: f64,
    elapsed: u64,
    season: f64,
    season_before: f64,
) {
    let (mut primary, mut secondary) = (point, point);
    match archive.function {
        ConsolidationFunction::Seasonal | ConsolidationFunction::DevSeasonal => {
            set(values, state::LAST_SEASONAL, season_before);
            set(values, state::SEASONAL, season);
            return;
        }
        ConsolidationFunction::HwPredict
        | ConsolidationFunction::MhwPredict
        | ConsolidationFunction::DevPredict => {
            if archive.function.is_forecast() {
                let count = &mut values[state::NULL_COUNT];
                *count = count.wrapping_add(elapsed);
                let count = &mut values[state::LAST_NULL_COUNT];
                *count = count.wrapping_add(elapsed - 1);
            }
            (primary, secondary) = (UNKNOWN, UNKNOWN);
        }
        ConsolidationFunction::Failures => {
            (primary, secondary) = (0.0, 0.0);
            set(values, state::PRIMARY, primary);
            set(values, state::SECONDARY, secondary);
            crate::holt_winters::erase_violations(archive, values);
            return;
        }
        _ => {}
    }
    set(values, state::PRIMARY, primary);
    set(values, state::SECONDARY, secondary);
}
