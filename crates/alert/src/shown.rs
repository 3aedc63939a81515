//! The states of a folder as they are shown to people: without what only a restart needs, and without
//! the secrets in addresses of web hooks.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::message::{short, shown};
use crate::receiver::AlertReceiver;
use crate::state::{FILE_BYTES_MAX, STATE_FILE};

/// What is shown of the states in a folder: `rules`, `alerts` (what fires, and what has ended, the latest
/// first), `messages` (those that wait and the latest that do not, the latest first) and counts.  `None`
/// if there are none yet.
///
/// # Errors
/// If the file cannot be read, or is none of states.
pub fn shown_alerts(folder: &Path) -> io::Result<Option<Value>> {
    let file = match File::open(folder.join(STATE_FILE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    let value: Value = serde_json::from_str(&text).map_err(io::Error::other)?;
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    let mut alerts = Vec::new();
    for rule in list("rules") {
        let firing = rule["instances"].as_array().into_iter().flatten();
        alerts.extend(firing.filter(|one| one["fired_ms"].is_i64()).map(|one| {
            let is_known = one["missing_since_ms"].is_null();
            alert(&rule["name"], one, &one["fired_ms"], is_known, one["told_ms"].is_i64())
        }));
    }
    alerts.extend(list("history").iter().rev().map(|one| {
        let (is_known, is_told) = (one["has_data"] != false, one["told"] == true);
        alert(&one["rule"], one, &one["from_ms"], is_known, is_told)
    }));
    let messages = list("waiting").into_iter().rev().chain(list("sent").into_iter().rev());
    Ok(Some(json!({
        "at_ms": value["at_ms"],
        "firing": value["firing"],
        "delivered": value["delivered"],
        "dropped": value["dropped"],
        "silenced": value["silenced"],
        "rules": list("rules").iter().map(rule).collect::<Vec<_>>(),
        "alerts": alerts,
        "messages": messages.map(|one| message(&one)).collect::<Vec<_>>(),
    })))
}

/// The alerts that fire, by the states in a folder: `rule`, `host`, `labels`, `value`, `from_ms`,
/// `has_data`, `told` of each.
///
/// # Errors
/// If the file cannot be read, or is none of states.
pub fn firing_alerts(folder: &Path) -> io::Result<Vec<Value>> {
    let mut all = shown_alerts(folder)?.unwrap_or_default();
    let alerts = all["alerts"].as_array_mut().map(std::mem::take).unwrap_or_default();
    Ok(alerts.into_iter().filter(|one| one["thru_ms"].is_null()).collect())
}

/// An alert that fires as people read it: `disk full: value 0.98, device=sda1`.
#[must_use]
pub fn firing_text(one: &Value) -> String {
    let text = |name: &str| shown(one[name].as_str().unwrap_or_default());
    let value = one["value"].as_f64().map_or_else(|| text("value"), short);
    let labels = match text("labels") {
        labels if labels.is_empty() => labels,
        labels => format!(", {labels}"),
    };
    let data = if one["has_data"] == false { ", without data" } else { "" };
    format!("{}: value {value}{labels}{data}", text("rule"))
}

fn rule(one: &Value) -> Value {
    let since = one["instances"].as_array().into_iter().flatten();
    let since = since.filter_map(|one| one["since_ms"].as_i64()).min();
    let to = one["to"].as_array().into_iter().flatten().map(label).collect::<Vec<_>>();
    json!({
        "name": one["name"],
        "when": one["when"],
        "for_ms": one["for_ms"],
        "state": one["state"],
        "firing": one["firing"],
        "since_ms": since.map_or(one["missing_since_ms"].clone(), Value::from),
        "error": one["error"],
        "to": to.join(", "),
    })
}

fn alert(rule: &Value, one: &Value, from_ms: &Value, is_known: bool, is_told: bool) -> Value {
    let labels = one["labels"].as_object();
    let others = labels.into_iter().flatten();
    let others =
        others.filter(|(name, _)| !["__name__", "instance", "job"].contains(&name.as_str()));
    let text =
        |(name, value): (&String, &Value)| format!("{name}={}", value.as_str().unwrap_or_default());
    json!({
        "rule": rule,
        "host": one["labels"]["instance"],
        "labels": others.map(text).collect::<Vec<_>>().join(", "),
        "value": one["value"],
        "from_ms": from_ms,
        "thru_ms": one["thru_ms"],
        "has_data": is_known,
        "told": is_told,
    })
}

fn message(one: &Value) -> Value {
    json!({
        "at_ms": one["at_ms"],
        "rule": one["rule"],
        "state": one["state"],
        "subject": one["subject"],
        "to": label(&one["to"]),
        "tries": one["tries"],
        "taken_ms": one["taken_ms"],
        "error": one["error"],
    })
}

/// A receiver without its secret.
fn label(to: &Value) -> String {
    AlertReceiver::parse(to.as_str().unwrap_or_default())
        .map_or_else(|_| "unknown".to_owned(), |to| to.label())
}
