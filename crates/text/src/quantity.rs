//! Sizes and spans of time as options and configuration files have them: `10G`, `90d`.
//!
//! `whit run` does not read its own by these: GNU parallel has other units.

use std::time::Duration;

/// Why a size or a span is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Not a whole number and a unit of bytes.
    #[error("give a size as 100M or 2G")]
    NotASize,
    /// Not a whole number and a unit of time.
    #[error("give a span as 5ms, 10s, 30m, 12h, 90d or 4w")]
    NotASpan,
    /// More bytes than 64 bits count.
    #[error("that is too large")]
    TooLarge,
    /// More milliseconds than 64 bits count.
    #[error("that is too long")]
    TooLong,
}

/// Reads a size in bytes: `4096`, `100M`, `2GiB`; K, M, G and T are powers of 1,024.
///
/// # Errors
/// If the text is no size, or too large a one.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = parts(text).ok_or(QuantityError::NotASize)?;
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        "T" | "TIB" => 40,
        _ => return Err(QuantityError::NotASize),
    };
    number.checked_mul(1 << shift).ok_or(QuantityError::TooLarge)
}

/// Reads a span of time: `5ms`, `10s`, `30m`, `12h`, `90d`, `4w`; a number alone counts seconds.
///
/// # Errors
/// If the text is no span of time, or too long a one.
pub fn parse_span(text: &str) -> Result<Duration, QuantityError> {
    let (number, unit) = parts(text).ok_or(QuantityError::NotASpan)?;
    let unit_ms = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 604_800_000,
        _ => return Err(QuantityError::NotASpan),
    };
    number.checked_mul(unit_ms).map(Duration::from_millis).ok_or(QuantityError::TooLong)
}

/// Reads a span of time that has its unit, in nanoseconds: at most half of what 64 bits count, so that
/// sums with the clock do not overflow.  collectl's `-R` refuses a number alone, too.
///
/// # Errors
/// If the text is no span of time, has no unit, or is too long a one.
pub fn parse_span_ns(text: &str) -> Result<u64, QuantityError> {
    if text.ends_with(|last: char| last.is_ascii_digit()) {
        return Err(QuantityError::NotASpan);
    }
    let ns = u64::try_from(parse_span(text)?.as_nanos()).ok();
    ns.filter(|&ns| ns < u64::MAX / 2).ok_or(QuantityError::TooLong)
}

/// A whole number and the letters behind it.
fn parts(text: &str) -> Option<(u64, &str)> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    // `parse` would take a sign.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| is_number)?, &text[digits.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let sizes = [("3", 3), ("2KiB", 2048), ("100m", 100 << 20), ("1T", 1 << 40)];
        for (text, size) in sizes {
            assert_eq!(parse_size(text), Ok(size), "{text}");
        }
        for text in ["", "M", "3Q", "-3", "+3", "1.5G"] {
            assert_eq!(parse_size(text), Err(QuantityError::NotASize), "{text}");
        }
        assert_eq!(parse_size("9999999999999T"), Err(QuantityError::TooLarge));
    }

    #[test]
    fn spans() {
        let spans = [("5ms", 5), ("90s", 90_000), ("7", 7_000), ("2h", 7_200_000)];
        for (text, ms) in spans {
            assert_eq!(parse_span(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(parse_span("2w"), parse_span("14d"));
        for text in ["", "ms", "5us", "1.5h", "5x", "-1s", "+1s", "99999999999999999999s"] {
            assert_eq!(parse_span(text), Err(QuantityError::NotASpan), "{text}");
        }
        assert_eq!(parse_span("99999999999999999d"), Err(QuantityError::TooLong));
        assert_eq!(parse_span_ns("2w"), Ok(14 * 86_400_000_000_000));
        assert_eq!(parse_span_ns("20000w"), Err(QuantityError::TooLong));
        assert_eq!(parse_span_ns("5"), Err(QuantityError::NotASpan));
    }
}
