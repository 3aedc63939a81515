//! Numbers as Go writes them.

use std::fmt::{self, Write};

/// Writes a number with as many digits as it needs, and no exponent.
pub(crate) fn write_number(value: f64, out: &mut impl Write) -> fmt::Result {
    match value {
        f64::INFINITY => out.write_str("+Inf"),
        f64::NEG_INFINITY => out.write_str("-Inf"),
        _ => write!(out, "{value}"),
    }
}

/// Writes a number as Go's `%e`: two digits of exponent at least.
pub(crate) fn write_exponent(value: f64, out: &mut impl Write) -> fmt::Result {
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    write!(out, "{digits}e{sign}{exponent:0>2}")
}
