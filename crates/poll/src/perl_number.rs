//! Numbers as Perl reads them in text, and writes them.

/// The number at the beginning of a text; 0 if there is none.
pub(crate) fn leading(text: &str) -> f64 {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let count = digits((end + 1 + sign).min(bytes.len()));
        if count > 0 {
            end += 1 + sign + count;
        }
    }
    text[..end].parse().unwrap_or(0.0)
}

/// A number with at most 15 digits, as Perl prints it.
pub(crate) fn written(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.14e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..15).contains(&exponent) {
        return trimmed(&format!("{value:.*}", (14 - exponent).max(0) as usize));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_perl() {
        for (value, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (1.0 / 3.0, "0.333333333333333"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e15, "1e+15"),
            (1e-5, "1e-05"),
            (-2.5, "-2.5"),
            (41.666_666_666_666_664, "41.6666666666667"),
        ] {
            assert_eq!(written(value), text);
        }
        for (text, value) in
            [("12", 12.0), (" -1.5x", -1.5), ("1e3", 1000.0), ("1e", 1.0), ("x", 0.0), ("5 %", 5.0)]
        {
            assert_eq!(leading(text), value, "{text}");
        }
    }
}
