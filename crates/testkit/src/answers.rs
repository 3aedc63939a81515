//! Answers of Prometheus's query interface, compared.

use std::collections::BTreeMap;

use serde_json::Value;

/// Compares two answers of Prometheus's interface: labels, times, and numbers to nine digits.
///
/// # Errors
/// Says what differs first.
///
/// # Panics
/// If one is no answer.
pub fn compare_answers(theirs: &str, ours: &str) -> Result<(), String> {
    let [theirs, ours] =
        [theirs, ours].map(|text| serde_json::from_str::<Value>(text).expect("an answer"));
    if theirs["status"] == "error" {
        let same = theirs["errorType"] == ours["errorType"];
        return if same { Ok(()) } else { Err(format!("{theirs}, ours {ours}")) };
    }
    if theirs["data"]["resultType"] != ours["data"]["resultType"] {
        return Err(format!("{}, ours {}", cut(&theirs), cut(&ours)));
    }
    let [theirs, ours] = [&theirs, &ours].map(|answer| series(&answer["data"]["result"]));
    if theirs.keys().ne(ours.keys()) {
        let only = |one: &Points, other: &Points| {
            one.keys().filter(|key| !other.contains_key(*key)).cloned().collect::<Vec<_>>()
        };
        let (theirs, ours) = (only(&theirs, &ours), only(&ours, &theirs));
        return Err(format!("only theirs: {theirs:?}, only ours: {ours:?}"));
    }
    for (labels, points) in &theirs {
        let others = &ours[labels];
        if points.len() != others.len() {
            return Err(format!("{labels}: {} points, ours {}", points.len(), others.len()));
        }
        for ((time, value), (other_time, other)) in points.iter().zip(others) {
            if time != other_time || !is_near(value, other) {
                return Err(format!("{labels}: {time} {value}, ours {other_time} {other}"));
            }
        }
    }
    Ok(())
}

fn cut(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

fn is_near(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let [one, other] = [one, other].map(|text| text.parse::<f64>().unwrap_or(f64::NAN));
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

/// For each set of labels its times and values.
type Points = BTreeMap<String, Vec<(String, String)>>;

fn series(result: &Value) -> Points {
    let point = |pair: &Value| (pair[0].to_string(), pair[1].as_str().unwrap_or("").to_owned());
    let list = result.as_array().expect("an answer");
    if list.first().is_some_and(|first| !first.is_object()) {
        return BTreeMap::from([(String::new(), vec![point(result)])]);
    }
    let entry = |one: &Value| {
        let points = match one["values"].as_array() {
            Some(values) => values.iter().map(point).collect(),
            None => vec![point(&one["value"])],
        };
        (one["metric"].to_string(), points)
    };
    list.iter().map(entry).collect()
}
