//! The file of a book: what a restart must not lose, and what is shown to people.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use promql::Labels;
use serde_json::{Value, json};
use whole_file::Replacement;

use crate::book::{AlertBook, AlertDelivery, HISTORY_MAX};
use crate::message::{AlertMessage, InstanceReport, labels_value, number};
use crate::picture::AlertPicture;
use crate::rule_state::{INSTANCES_MAX, Instance, RuleState};

/// The name of the file in its folder.
pub const STATE_FILE: &str = "alerts.json";
/// Most bytes of a file that is read.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;

impl AlertBook {
    /// The book as it stands in its file, and as the page's interface tells it.
    #[must_use]
    pub fn value(&self) -> Value {
        json!({
            "at_ms": self.stepped_ms,
            "firing": self.firing(),
            "rules": self.rules.iter().map(rule_value).collect::<Vec<_>>(),
            "waiting": self.waiting.iter().map(delivery_value).collect::<Vec<_>>(),
            "next_id": self.next_id,
            "delivered": self.delivered,
            "dropped": self.dropped,
            "silenced": self.silenced,
            "history": self.history,
            "sent": self.sent,
        })
    }

    /// Writes the file: all of it or nothing; if `is_durable` so that a power cut does not lose it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, folder: &Path, is_durable: bool) -> io::Result<()> {
        let replacement = Replacement::default().mode(0o640).durable(is_durable);
        replacement.write(&folder.join(STATE_FILE), self.value().to_string().as_bytes())
    }

    /// Takes over what a file says of the same rules; without a file there is nothing to take over.
    ///
    /// # Errors
    /// If the file cannot be read, or is none of a book.
    pub fn load(&mut self, folder: &Path) -> io::Result<()> {
        let file = match File::open(folder.join(STATE_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
        let value: Value = serde_json::from_str(&text).map_err(io::Error::other)?;
        self.take_over(&value);
        Ok(())
    }

    /// The alerts that fire, as those that have ended are shown, without an end.
    pub(crate) fn fire_now(&self) -> Vec<Value> {
        let mut firing = Vec::new();
        for state in &self.rules {
            for one in state.instances.values().filter(|one| one.fired_ms.is_some()) {
                firing.push(json!({
                    "rule": state.rule.name,
                    "labels": labels_value(&one.labels),
                    "value": number(one.value),
                    "since_ms": one.since_ms,
                    "from_ms": one.fired_ms,
                    "thru_ms": null,
                    "has_data": one.missing_since_ms.is_none(),
                    "told": one.told_ms.is_some(),
                }));
            }
        }
        firing
    }

    fn take_over(&mut self, value: &Value) {
        let count = |name: &str| value[name].as_u64().unwrap_or(0);
        self.next_id = count("next_id");
        self.delivered = count("delivered");
        self.dropped = count("dropped");
        self.silenced = count("silenced");
        let latest = |name: &str| list(&value[name]).iter().take(HISTORY_MAX).cloned().collect();
        (self.history, self.sent) = (latest("history"), latest("sent"));
        self.waiting = list(&value["waiting"]).iter().filter_map(delivery_of).collect();
        for state in &mut self.rules {
            let same = |one: &&Value| {
                one["name"] == state.rule.name.as_str() && one["when"] == state.rule.when.as_str()
            };
            let Some(before) = list(&value["rules"]).iter().find(same) else { continue };
            state.message_ms = before["message_ms"].as_i64();
            state.end_message_ms = before["end_message_ms"].as_i64();
            state.missing_since_ms = before["missing_since_ms"].as_i64();
            state.left_out = before["left_out"].as_u64().unwrap_or(0);
            let ended = list(&before["ended"]).iter().map(|one| InstanceReport {
                labels: labels_of(&one["labels"]),
                value: number_of(&one["value"]),
                since_ms: one["since_ms"].as_i64().unwrap_or(0),
                has_data: one["has_data"] != false,
            });
            state.ended = ended.take(INSTANCES_MAX).collect();
            let instances = list(&before["instances"]).iter().map(instance_of);
            state.instances =
                instances.take(INSTANCES_MAX).map(|one| (one.labels.clone(), one)).collect();
        }
        self.drop_strangers();
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn rule_value(state: &RuleState) -> Value {
    let firing = state.firing();
    let word = match () {
        () if state.error.is_some() => "error",
        () if state.missing_since_ms.is_some() => "no data",
        () if firing > 0 => "fires",
        () if !state.instances.is_empty() => "waits",
        () => "quiet",
    };
    let ended = state.ended.iter().map(|one| {
        json!({ "labels": labels_value(&one.labels), "value": number(one.value), "since_ms": one.since_ms,
            "has_data": one.has_data })
    });
    json!({
        "name": state.rule.name,
        "when": state.rule.when,
        "for_ms": state.rule.for_ms,
        "state": word,
        "firing": firing,
        "error": state.error,
        "missing_since_ms": state.missing_since_ms,
        "message_ms": state.message_ms,
        "end_message_ms": state.end_message_ms,
        "left_out": state.left_out,
        "instances": state.instances.values().map(instance_value).collect::<Vec<_>>(),
        "ended": ended.collect::<Vec<_>>(),
        "to": state.rule.to.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn instance_value(one: &Instance) -> Value {
    json!({
        "labels": labels_value(&one.labels),
        "value": number(one.value),
        "since_ms": one.since_ms,
        "seen_ms": one.seen_ms,
        "fired_ms": one.fired_ms,
        "told_ms": one.told_ms,
        "missing_since_ms": one.missing_since_ms,
    })
}

fn instance_of(value: &Value) -> Instance {
    Instance {
        labels: labels_of(&value["labels"]),
        value: number_of(&value["value"]),
        since_ms: value["since_ms"].as_i64().unwrap_or(0),
        seen_ms: value["seen_ms"].as_i64().unwrap_or(0),
        fired_ms: value["fired_ms"].as_i64(),
        told_ms: value["told_ms"].as_i64(),
        missing_since_ms: value["missing_since_ms"].as_i64(),
    }
}

fn labels_of(value: &Value) -> Labels {
    let pairs = value.as_object().into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// A number, or the name of one that is not finite.
fn number_of(value: &Value) -> f64 {
    let named = || value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or_else(named).unwrap_or(f64::NAN)
}

/// A message that waits, with all that a restart needs.
fn delivery_value(one: &AlertDelivery) -> Value {
    let mut value = one.record(None, one.error.as_deref());
    let message = &one.message;
    value["next_ms"] = one.next_ms.into();
    value["text"] = message.text.as_str().into();
    value["details"] = message.details.clone();
    value["picture"] = message.picture.as_ref().map_or(Value::Null, AlertPicture::value);
    value
}

impl AlertDelivery {
    /// What is shown of it.
    pub(crate) fn record(&self, taken_ms: Option<i64>, error: Option<&str>) -> Value {
        json!({
            "id": self.id,
            "to": self.to,
            "tries": self.tries,
            "rule": self.message.rule,
            "state": self.message.state,
            "at_ms": self.message.at_ms,
            "subject": self.message.subject,
            "taken_ms": taken_ms,
            "error": error,
        })
    }
}

fn delivery_of(value: &Value) -> Option<AlertDelivery> {
    let text = |name: &str| Some(value[name].as_str()?.to_owned());
    let message = AlertMessage {
        rule: text("rule")?,
        state: text("state")?,
        at_ms: value["at_ms"].as_i64()?,
        subject: text("subject")?,
        text: text("text")?,
        details: value["details"].clone(),
        picture: AlertPicture::of(&value["picture"]),
    };
    Some(AlertDelivery {
        id: value["id"].as_u64()?,
        to: text("to")?,
        message: Arc::new(message),
        tries: u32::try_from(value["tries"].as_u64()?).unwrap_or(u32::MAX),
        next_ms: value["next_ms"].as_i64()?,
        error: text("error"),
        clock_ms: 0,
    })
}
