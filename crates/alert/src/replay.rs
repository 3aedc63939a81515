//! What rules would have said over a recording.

use serde_json::{Value, json};

use crate::book::AlertBook;
use crate::rule::AlertRule;
use crate::surroundings::AlertSurroundings;

/// The most steps of a replay: a month of them, two a minute.
const STEPS_MAX: i64 = 100_000;

/// Takes steps over a period, in milliseconds since 1970, and sends nothing.  The answer is an object:
/// `alerts`, in the order of their ends, and then those that fire at the end of the period (`thru_ms` is
/// null); `rules`, with the state of each at the end.
///
/// # Errors
/// If there would be too many steps.
pub fn replay(
    rules: Vec<AlertRule>,
    (from_ms, thru_ms, step_ms): (i64, i64, i64),
    around: &AlertSurroundings<'_>,
) -> Result<Value, String> {
    let step_ms = step_ms.max(1);
    if thru_ms.saturating_sub(from_ms) / step_ms > STEPS_MAX {
        return Err(format!(
            "more than {STEPS_MAX} steps: choose a shorter period, or a longer interval"
        ));
    }
    let mute = |rule: AlertRule| AlertRule { to: Vec::new(), ..rule };
    let mut book = AlertBook::new(rules.into_iter().map(mute).collect());
    let mut alerts = Vec::new();
    let mut now_ms = from_ms;
    while now_ms <= thru_ms {
        book.step(now_ms, around);
        alerts.extend(book.history.drain(..));
        now_ms = now_ms.saturating_add(step_ms);
    }
    alerts.extend(book.fire_now());
    let shown = book.value();
    let rules =
        shown["rules"].as_array().into_iter().flatten().map(
            |one| json!({ "name": one["name"], "state": one["state"], "error": one["error"] }),
        );
    Ok(json!({ "alerts": alerts, "rules": rules.collect::<Vec<_>>() }))
}
