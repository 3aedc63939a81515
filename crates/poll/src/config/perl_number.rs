//! Numbers as Perl reads them from text: the digits at its beginning, 0 if there are none.

/// The number at the beginning of a text.
pub(super) fn number(text: &str) -> f64 {
    let text = text.trim_ascii_start();
    let bytes = text.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let begins_with = |word: &[u8]| {
        bytes.get(end..end + word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    };
    if begins_with(b"inf") {
        return sign * f64::INFINITY;
    }
    if begins_with(b"nan") {
        return f64::NAN;
    }
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(end);
    end += whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
        }
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    text[..end].parse().unwrap_or(0.0)
}

/// Its whole part.
pub(super) fn integer(text: &str) -> i64 {
    // Casts saturate, and no limit that is compared is near the ends.
    number(text) as i64
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_beginning_counts() {
        for (text, expected) in [
            ("300", 300.0),
            (" 30x", 30.0),
            ("-1.5e2y", -150.0),
            ("abc", 0.0),
            ("", 0.0),
            (".5", 0.5),
            ("5e", 5.0),
            ("1.", 1.0),
            (".", 0.0),
            ("inf", f64::INFINITY),
        ] {
            assert_eq!(super::number(text), expected, "{text}");
        }
    }
}
