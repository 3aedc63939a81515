//! What people are told: when it began or ended, the values, the heaviest processes, where to look.

use std::fmt::Write as _;

use calendar::CivilZone;
use promql::Labels;
use serde_json::{Value, json};
use text::encoding::push_percent_encoded;

use crate::picture::AlertPicture;
use crate::rule::AlertRule;

/// Instances that a message shows.
const SHOWN_MAX: usize = 20;
/// Longest label and line that is shown.
const CHARS_MAX: usize = 200;

/// What a message says of an instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InstanceReport {
    pub(crate) labels: Labels,
    pub(crate) value: f64,
    pub(crate) since_ms: i64,
    /// Whether it is still known; otherwise it ends because there is no data.
    pub(crate) has_data: bool,
}

/// A message.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertMessage {
    /// The name of the rule.
    pub rule: String,
    /// `begins`, `lasts` or `ends`.
    pub state: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// One line.
    pub subject: String,
    /// The text.
    pub text: String,
    /// What the message says, for programs: an object of JSON.
    pub details: Value,
    /// The value over the last hour.
    pub picture: Option<AlertPicture>,
}

/// What a message is made from.
pub(crate) struct MessageParts<'a> {
    pub(crate) rule: &'a AlertRule,
    pub(crate) state: &'static str,
    pub(crate) at_ms: i64,
    /// The host; nothing if it is not known.
    pub(crate) host: &'a str,
    pub(crate) told: &'a [InstanceReport],
    pub(crate) heaviest: &'a [String],
    pub(crate) log: &'a [String],
    pub(crate) picture: Option<AlertPicture>,
    /// The address of the page; nothing for none.
    pub(crate) page: &'a str,
    pub(crate) zone: &'a CivilZone,
}

impl AlertMessage {
    pub(crate) fn new(parts: MessageParts<'_>) -> Self {
        let MessageParts { rule, state, at_ms, host, told, heaviest, log, picture, page, zone } =
            parts;
        let name = shown(&rule.name);
        let on = if host.is_empty() { String::new() } else { format!(" on {}", shown(host)) };
        let count =
            if told.len() > 1 { format!(" ({} instances)", told.len()) } else { String::new() };
        let subject = format!("{name} {state}{on}{count}");
        let mut text = format!("{subject}, {}\n", time_text(at_ms, zone));
        if !rule.message.is_empty() {
            text.push_str(&format!("{}\n", shown(&rule.message)));
        }
        text.push('\n');
        for one in told.iter().take(SHOWN_MAX) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", line(one, zone));
        }
        let more = told.len().saturating_sub(SHOWN_MAX);
        if more > 0 {
            let _ = writeln!(text, "and {more} more");
        }
        let _ = writeln!(text, "\nrule: {}", escaped(&rule.when));
        if !heaviest.is_empty() {
            let _ = writeln!(text, "\nheaviest processes by {}:", rule.heaviest);
            heaviest.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        if !log.is_empty() {
            text.push_str("\nlog, newest warnings and above:\n");
            log.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
        let link = link(page, host, at_ms);
        if let Some(link) = &link {
            let _ = writeln!(text, "\n{link}");
        }
        let instance = |one: &InstanceReport| {
            json!({
                "labels": labels_value(&one.labels),
                "value": number(one.value),
                "since_ms": one.since_ms,
                "has_data": one.has_data,
            })
        };
        let details = json!({
            "alert": rule.name,
            "state": state,
            "at_ms": at_ms,
            "host": host,
            "when": rule.when,
            "message": rule.message,
            "instances": told.iter().take(SHOWN_MAX).map(instance).collect::<Vec<_>>(),
            "more": more,
            "heaviest_by": rule.heaviest,
            "heaviest": heaviest,
            "log": log,
            "link": link,
            "text": text,
        });
        AlertMessage {
            rule: rule.name.clone(),
            state: state.to_owned(),
            at_ms,
            subject,
            text,
            details,
            picture,
        }
    }
}

fn line(one: &InstanceReport, zone: &CivilZone) -> String {
    let mut line = format!("value {}, since {}", short(one.value), time_text(one.since_ms, zone));
    let labels = labels_text(&one.labels);
    if !labels.is_empty() {
        let _ = write!(line, ", {labels}");
    }
    if !one.has_data {
        line.push_str(": no data for an hour");
    }
    line
}

/// The labels that tell alerts of a rule apart: `device=sda, mode=idle`.
pub(crate) fn labels_text(labels: &Labels) -> String {
    let own = |(name, _): &(&str, &str)| !["__name__", "instance", "job"].contains(name);
    let pair = |(name, value): (&str, &str)| format!("{name}={}", shown(value));
    labels.iter().filter(own).map(pair).collect::<Vec<_>>().join(", ")
}

/// The moment on the page.
fn link(page: &str, host: &str, at_ms: i64) -> Option<String> {
    if page.is_empty() {
        return None;
    }
    let (from_ms, thru_ms) = (at_ms - 1_800_000, at_ms + 1_800_000);
    let mut link = format!("{}/?host=", page.trim_end_matches('/'));
    push_percent_encoded(&mut link, host);
    link.push_str(&format!("&from={from_ms}&thru={thru_ms}&at={at_ms}"));
    Some(link)
}

/// A text from outside as it is shown: without control characters, and not too long.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    escaped(&short)
}

/// A text that cannot end its line, reorder it, or tell a terminal what to do.
fn escaped(text: &str) -> String {
    let mut out = Vec::new();
    text::escape::push_visible(&mut out, text.as_bytes());
    String::from_utf8_lossy(&out).into_owned()
}

pub(crate) fn labels_value(labels: &Labels) -> Value {
    Value::Object(labels.iter().map(|(name, value)| (name.to_owned(), value.into())).collect())
}

/// A number; JSON has no other than finite ones.
pub(crate) fn number(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

/// A value with four digits.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    match () {
        () if !value.is_finite() || size == 0.0 => value.to_string(),
        () if (0.001..1e6).contains(&size) => {
            let text = format!("{value:.4}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        () => format!("{value:.4e}"),
    }
}

/// `2026-11-26 12:00:00 CET`.
pub(crate) fn time_text(at_ms: i64, zone: &CivilZone) -> String {
    calendar::strftime("%Y-%m-%d %H:%M:%S %Z", at_ms.div_euclid(1000), Some(zone))
}
