//! Numbers as Go writes them.

use std::fmt::Write as _;

/// Adds a number with as many digits as it needs, and no exponent.
pub(crate) fn push_number(value: f64, out: &mut String) {
    let _ = match value {
        f64::INFINITY => write!(out, "+Inf"),
        f64::NEG_INFINITY => write!(out, "-Inf"),
        _ => write!(out, "{value}"),
    };
}

/// Adds a number as Go's `%e`: two digits of exponent at least.
pub(crate) fn push_exponent(value: f64, out: &mut String) {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    let _ = write!(out, "{digits}e{sign}{exponent:0>2}");
}
