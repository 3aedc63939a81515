//! Answers as Prometheus's interface writes them.

use std::fmt::{self, Write};

use crate::number::{write_exponent, write_number};
use crate::{Labels, QueryValue, SeriesPoint};

/// Writes the object `data` of an answer: its type and its result.  Each series is freed when it is
/// written, so that the text needs little more memory than the answer did.
///
/// # Errors
/// Those of `out`.
pub fn write_answer(answer: QueryValue, out: &mut impl Write) -> fmt::Result {
    let kind = match answer {
        QueryValue::Scalar(_) => "scalar",
        QueryValue::Text(..) => "string",
        QueryValue::Vector(_) => "vector",
        QueryValue::Matrix(_) => "matrix",
    };
    write!(out, "{{\"resultType\":\"{kind}\",\"result\":")?;
    match answer {
        QueryValue::Scalar(sample) => write_sample(sample, false, out)?,
        QueryValue::Text(time_ms, text) => {
            write!(out, "[{},", time_ms as f64 / 1000.0)?;
            write_text(&text, out)?;
            out.write_char(']')?;
        }
        QueryValue::Vector(elements) => write_list(elements, out, |(labels, sample), out| {
            out.write_str("{\"metric\":")?;
            write_labels(&labels, out)?;
            out.write_str(",\"value\":")?;
            write_sample(sample, true, out)?;
            out.write_char('}')
        })?,
        QueryValue::Matrix(series) => write_list(series, out, |series, out| {
            out.write_str("{\"metric\":")?;
            write_labels(&series.labels, out)?;
            out.write_str(",\"values\":")?;
            write_list(series.samples, out, |sample, out| write_sample(sample, true, out))?;
            out.write_char('}')
        })?,
    }
    out.write_char('}')
}

/// Writes labels as an object.
///
/// # Errors
/// Those of `out`.
pub fn write_labels(labels: &Labels, out: &mut impl Write) -> fmt::Result {
    out.write_char('{')?;
    for (index, (name, value)) in labels.iter().enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        write_text(name, out)?;
        out.write_char(':')?;
        write_text(value, out)?;
    }
    out.write_char('}')
}

/// Writes a text in quotes, escaped as Go does.
///
/// # Errors
/// Those of `out`.
pub fn write_text(text: &str, out: &mut impl Write) -> fmt::Result {
    out.write_char('"')?;
    for letter in text.chars() {
        match letter {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            // A page that contains the answer must not take it for markup or the end of a line.
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(letter))?;
            }
            _ => out.write_char(letter)?,
        }
    }
    out.write_char('"')
}

/// Writes a list, each item by `write`.
///
/// # Errors
/// Those of `out`.
pub fn write_list<T, W: Write>(
    items: impl IntoIterator<Item = T>,
    out: &mut W,
    write: impl Fn(T, &mut W) -> fmt::Result,
) -> fmt::Result {
    out.write_char('[')?;
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        write(item, out)?;
    }
    out.write_char(']')
}

/// Writes a sample; a sample of a series has three digits of milliseconds, and large and small
/// numbers with exponents.
fn write_sample(sample: SeriesPoint, of_series: bool, out: &mut impl Write) -> fmt::Result {
    let SeriesPoint { time_ms, value } = sample;
    let milliseconds = time_ms.unsigned_abs() % 1000;
    match (of_series, milliseconds) {
        (false, _) => write!(out, "[{}", time_ms as f64 / 1000.0)?,
        (true, 0) => write!(out, "[{}", time_ms / 1000)?,
        (true, _) => {
            let sign = if time_ms < 0 { "-" } else { "" };
            write!(out, "[{sign}{}.{milliseconds:03}", time_ms.unsigned_abs() / 1000)?;
        }
    }
    out.write_str(",\"")?;
    let size = value.abs();
    if of_series && size != 0.0 && size.is_finite() && !(1e-6..1e21).contains(&size) {
        write_exponent(value, out)?;
    } else {
        write_number(value, out)?;
    }
    out.write_str("\"]")
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
            write_sample(SeriesPoint { time_ms: -1005, value }, true, &mut out).unwrap();
            assert_eq!(out, format!("[-1.005,\"{text}\"]"));
        }
    }
}
