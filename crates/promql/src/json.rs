//! Answers as Prometheus's interface writes them.

use std::fmt::Write as _;

use crate::number::{push_exponent, push_number};
use crate::{Labels, QueryValue, SeriesPoint};

/// Adds the object `data` of an answer: its type and its result.
pub fn write_answer(answer: &QueryValue, out: &mut String) {
    let kind = match answer {
        QueryValue::Scalar(_) => "scalar",
        QueryValue::Text(..) => "string",
        QueryValue::Vector(_) => "vector",
        QueryValue::Matrix(_) => "matrix",
    };
    let _ = write!(out, "{{\"resultType\":\"{kind}\",\"result\":");
    match answer {
        QueryValue::Scalar(sample) => push_sample(*sample, false, out),
        QueryValue::Text(time_ms, text) => {
            let _ = write!(out, "[{},", *time_ms as f64 / 1000.0);
            push_text(text, out);
            out.push(']');
        }
        QueryValue::Vector(elements) => push_list(elements, out, |(labels, sample), out| {
            out.push_str("{\"metric\":");
            push_labels(labels, out);
            out.push_str(",\"value\":");
            push_sample(*sample, true, out);
            out.push('}');
        }),
        QueryValue::Matrix(series) => push_list(series, out, |series, out| {
            out.push_str("{\"metric\":");
            push_labels(&series.labels, out);
            out.push_str(",\"values\":");
            push_list(&series.samples, out, |sample, out| push_sample(*sample, true, out));
            out.push('}');
        }),
    }
    out.push('}');
}

/// Adds labels as an object.
pub fn push_labels(labels: &Labels, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in labels.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_text(name, out);
        out.push(':');
        push_text(value, out);
    }
    out.push('}');
}

/// Adds a text in quotes, escaped as Go does.
pub fn push_text(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // A page that contains the answer must not take it for markup or the end of a line.
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

fn push_list<T>(items: &[T], out: &mut String, push: impl Fn(&T, &mut String)) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(item, out);
    }
    out.push(']');
}

/// Adds a sample; a sample of a series has three digits of milliseconds, and large and small numbers
/// with exponents.
fn push_sample(sample: SeriesPoint, of_series: bool, out: &mut String) {
    let SeriesPoint { time_ms, value } = sample;
    let milliseconds = time_ms.unsigned_abs() % 1000;
    let _ = match (of_series, milliseconds) {
        (false, _) => write!(out, "[{}", time_ms as f64 / 1000.0),
        (true, 0) => write!(out, "[{}", time_ms / 1000),
        (true, _) => {
            let sign = if time_ms < 0 { "-" } else { "" };
            write!(out, "[{sign}{}.{milliseconds:03}", time_ms.unsigned_abs() / 1000)
        }
    };
    out.push_str(",\"");
    let size = value.abs();
    if of_series && size != 0.0 && size.is_finite() && !(1e-6..1e21).contains(&size) {
        push_exponent(value, out);
    } else {
        push_number(value, out);
    }
    out.push_str("\"]");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_go_writes_them() {
        let cases = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e-7, "1.5e-07"),
            (-2.25e300, "-2.25e+300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Inf"),
        ];
        for (value, text) in cases {
            let mut out = String::new();
            push_sample(SeriesPoint { time_ms: -1005, value }, true, &mut out);
            assert_eq!(out, format!("[-1.005,\"{text}\"]"));
        }
    }
}
