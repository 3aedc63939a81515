//! Numbers of log files: decimal text as 64-bit integers, as the C library reads them.
//!
//! A file has 12,700 numbers, so nothing here allocates or goes through `str`.

/// Reads one integer at `*at`: spaces, a sign, digits.  A number that does not fit becomes the
/// nearest that does.  None, with `*at` anywhere, if there is no digit.
pub(super) fn read(text: &[u8], at: &mut usize) -> Option<i64> {
    while text.get(*at).is_some_and(|&byte| is_space(byte)) {
        *at += 1;
    }
    let negative = match text.get(*at) {
        Some(b'-') => true,
        Some(b'+') => false,
        _ => {
            *at = at.wrapping_sub(1);
            false
        }
    };
    *at = at.wrapping_add(1);
    let begin = *at;
    let mut value: u64 = 0;
    let mut overflow = false;
    while let Some(&byte) = text.get(*at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        if value > (u64::MAX - 9) / 10 {
            overflow = true;
        } else {
            value = value * 10 + u64::from(digit);
        }
        *at += 1;
    }
    if *at == begin {
        return None;
    }
    let limit = i64::MAX as u64 + u64::from(negative);
    let value = if overflow { limit } else { value.min(limit) };
    Some(if negative { (value as i64).wrapping_neg() } else { value as i64 })
}

/// What C's `isspace` takes for a space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use text::integer::push_i64;

    use super::*;

    #[test]
    fn numbers_are_read_as_by_strtoll() {
        let all = [
            ("0", Some(0)),
            (" \t-12x", Some(-12)),
            ("+7", Some(7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("-99999999999999999999999", Some(i64::MIN)),
            ("18446744073709551615", Some(i64::MAX)),
            ("18446744073709551616", Some(i64::MAX)),
            ("-", None),
            ("x", None),
            ("", None),
        ];
        for (text, expected) in all {
            assert_eq!(read(text.as_bytes(), &mut 0), expected, "{text}");
        }
    }

    #[test]
    fn a_pushed_number_reads_back() {
        for value in [0, 1, 9, 10, -1, 12_345, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            push_i64(&mut out, value);
            assert_eq!(String::from_utf8_lossy(&out), value.to_string());
            assert_eq!(read(&out, &mut 0), Some(value));
        }
    }
}
