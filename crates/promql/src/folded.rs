//! The window of a single step, read in pieces of its time: of each series only what its function keeps of the
//! samples is in memory, so that the growth of a counter over a month takes no more than over an hour.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::budget::PIECE_BYTES;
use crate::plan::{PlannedFold, Selection};
use crate::windows::Fold;
use crate::{Labels, QueryBudget, QueryError, SeriesPoint, SeriesStorage, is_stale};

/// A piece that is too long becomes so many times shorter, and after one with few samples twice as long.
const SHORTER: i64 = 8;

/// What a function makes of the series of a selector, and the last sample of each.
pub(crate) fn load(
    selection: &Selection,
    planned: &PlannedFold,
    storage: &dyn SeriesStorage,
    budget: &QueryBudget<'_>,
) -> Result<BTreeMap<Arc<Labels>, (Fold, SeriesPoint)>, QueryError> {
    let mut found: BTreeMap<Arc<Labels>, (Fold, SeriesPoint)> = BTreeMap::new();
    let begun = budget.taken();
    let (mut from_ms, mut length_ms) = (selection.from_ms, selection.to_ms - selection.from_ms);
    while from_ms <= selection.to_ms {
        let to_ms = from_ms.saturating_add(length_ms).min(selection.to_ms);
        let before = budget.taken();
        let outer = budget.limit_piece((length_ms > 0).then_some(PIECE_BYTES));
        let read = storage.select(&selection.matchers, from_ms, to_ms, budget);
        let is_too_long = budget.is_piece_too_long();
        budget.end_piece(outer);
        if is_too_long && read.is_err() && length_ms > 0 {
            budget.give_back(before, 0);
            length_ms /= SHORTER;
            continue;
        }
        let read = read?;
        if budget.samples_since(before) < PIECE_BYTES / 4 {
            length_ms = length_ms.saturating_mul(2);
        }
        for mut one in read {
            budget.turn()?;
            one.samples.retain(|sample| !is_stale(sample.value));
            let Some(&latest) = one.samples.last() else { continue };
            let (fold, last) = found.entry(one.labels).or_insert_with(|| (planned.begin(), latest));
            fold.add_samples(&one.samples);
            *last = latest;
        }
        budget.give_back(begun, 0);
        for (labels, (fold, _)) in &found {
            budget.take_series(labels)?;
            budget.hold(fold.size_bytes())?;
        }
        from_ms = to_ms.saturating_add(1);
    }
    Ok(found)
}
