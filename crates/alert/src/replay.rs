//! What rules would have said over a recording.

use std::fmt::Write as _;

use archive::Recordings;
use calendar::CivilZone;
use serde_json::{Value, json};

use crate::book::AlertBook;
use crate::message::{shown, time_text};
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

/// From the begin of the first recording to the end of the last one, in milliseconds since 1970; `now_ms`
/// if that may still grow.
#[must_use]
pub fn recorded_period(recordings: &Recordings, now_ms: i64) -> (i64, i64) {
    let hosts = recordings.hosts();
    let spans: Vec<_> = hosts.iter().flat_map(|host| recordings.spans(host)).collect();
    let ms = |ns: i64| ns.div_euclid(1_000_000);
    let from = spans.iter().map(|span| ms(span.from_ns)).min();
    let thru = spans.iter().map(|span| span.thru_ns.map_or(now_ms, ms)).max();
    (from.unwrap_or(now_ms), thru.unwrap_or(now_ms))
}

/// The answer of [`replay`] for people: a line for each alert, and one for each rule without.
#[must_use]
pub fn replay_text(found: &Value, zone: &CivilZone) -> String {
    let list = |name: &str| found[name].as_array().cloned().unwrap_or_default();
    let time = |at: &Value| at.as_i64().map_or("now".to_owned(), |at_ms| time_text(at_ms, zone));
    let word = |value: &Value| shown(value.as_str().unwrap_or_default());
    let mut text = String::new();
    for one in list("alerts") {
        let labels = one["labels"].as_object().into_iter().flatten();
        let labels = labels.filter(|(name, _)| *name != "__name__" && *name != "job");
        let labels: Vec<String> =
            labels.map(|(name, value)| format!("{name}={}", word(value))).collect();
        let (from, thru) = (time(&one["from_ms"]), time(&one["thru_ms"]));
        let end = if one["has_data"] == false { ", without data" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{}: {from} to {thru}{end}, value {}, {}",
            word(&one["rule"]),
            one["value"],
            labels.join(", ")
        );
    }
    for rule in list("rules") {
        let is_of = |one: &Value| one["rule"] == rule["name"];
        let why = match rule["error"].as_str() {
            Some(error) => format!("cannot be evaluated: {}", shown(error)),
            None if rule["state"] == "no data" => "no data at the end of the period".to_owned(),
            None if list("alerts").iter().any(is_of) => continue,
            None => "does not fire".to_owned(),
        };
        let _ = writeln!(text, "{}: {why}", word(&rule["name"]));
    }
    text
}
