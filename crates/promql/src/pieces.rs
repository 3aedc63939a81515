//! A query over a long period, evaluated in pieces of it, so that its samples are not all in memory at
//! once: a month of one series at a sample a second is 41 MB of them.
//!
//! The value of a step depends on the samples of its windows alone, so pieces change no answer.  Most
//! queries are one piece.  One that would load more than [`PIECE_BYTES`] is ended there and asked again in
//! pieces that are as long as that many samples, but several windows long at least: what is within
//! a window of a piece's beginning is loaded twice.  Where the query has no room for several windows,
//! pieces are shorter, down to a single step.

use crate::budget::PIECE_BYTES;
use crate::evaluation::Evaluation;
use crate::growing::{Growing, StepSeries, StepValues};
use crate::plan::Plan;
use crate::{QueryBudget, QueryError, QuerySteps, SeriesStorage};

/// Windows of a piece at least: a quarter of the samples is loaded twice at most.
const WINDOWS: i64 = 4;

/// The first piece of a period that is too long is such a part of it; each further one is so many
/// times longer at most than the one before, whose samples tell how long it may be.
const FIRST_PART: i64 = 32;
const GROWTH: i64 = 8;

/// The values at all steps of a period, of which there is the plan of the whole.
pub(crate) fn over(
    text: &str,
    plan: Plan,
    period: QuerySteps,
    storage: &dyn SeriesStorage,
    budget: &QueryBudget<'_>,
) -> Result<Vec<StepSeries>, QueryError> {
    let mut least = (plan.window_ms(period) / period.step_ms).saturating_mul(WINDOWS).max(1);
    let mut steps = period.steps().cast_signed();
    let mut answer: Growing<StepValues> = Growing::new();
    let mut whole = Some(plan);
    let mut piece = period;
    let begun = budget.taken();
    while piece.start_ms <= period.end_ms {
        let length_ms = (steps - 1).saturating_mul(period.step_ms);
        piece.end_ms = piece.start_ms.saturating_add(length_ms).min(period.end_ms);
        let plan = match whole.take() {
            Some(plan) => plan,
            None => Plan::of_piece(text, piece, period)?,
        };
        let before = budget.taken();
        let unlimited = budget.limit_piece((steps > least).then_some(PIECE_BYTES));
        let evaluation = Evaluation::new(&plan, storage, budget);
        let is_too_long = budget.is_piece_too_long();
        budget.end_piece(unlimited);
        if is_too_long && evaluation.is_err() && steps > 1 {
            budget.give_back(before, 0);
            least = least.min((steps / 2).max(1));
            steps = (steps / FIRST_PART).max(least);
            continue;
        }
        let evaluation = evaluation?;
        let loaded = budget.samples_since(before).max(1);
        evaluation.over(&plan.root, piece, |position, labels, sample| {
            // There are fewer than 2³² steps: see `range`.
            let step = ((sample.time_ms - period.start_ms) / period.step_ms) as u32;
            answer.values_of(position, labels, budget)?.push(step, sample.value);
            Ok(())
        })?;
        drop(evaluation);
        budget.give_back(begun, answer.size_bytes());
        // Three quarters: later ones may have more samples.
        let fitting = PIECE_BYTES as u128 * 3 / 4 * steps.unsigned_abs() as u128 / loaded as u128;
        let fitting = i64::try_from(fitting).unwrap_or(i64::MAX);
        steps = fitting.min(steps.saturating_mul(GROWTH)).max(least);
        piece.start_ms = piece.end_ms.saturating_add(period.step_ms);
    }
    let series = answer.into_series().into_iter();
    Ok(series.map(|(labels, values)| StepSeries { labels, values }).collect())
}
