//! Files of an InfiniBand or Omni-Path port, `/sys/class/infiniband/HCA/ports/N` (kernel
//! `Documentation/ABI/stable/sysfs-class-infiniband`): one value each.
//!
//! ```text
//! rate:  100 Gb/sec (4X EDR)
//! state: 4: ACTIVE
//! ```

use crate::scan::take_number;

/// A counter (`18446744073709551615`); `None` for anything else (`N/A (no PMA)`).
pub fn parse_counter(text: &[u8]) -> Option<u64> {
    let mut rest = text;
    let value = take_number(&mut rest)?;
    rest.trim_ascii().is_empty().then_some(value)
}

/// The data rate of a port, in Mbit/s.  Slow links have a digit after the point (`2.5 Gb/sec`).
pub fn parse_rate_mbit(text: &[u8]) -> Option<u64> {
    let mut rest = text;
    let mut mbit = take_number(&mut rest)?.checked_mul(1000)?;
    if let [b'.', tenths @ b'0'..=b'9', after @ ..] = rest {
        mbit = mbit.checked_add(u64::from(tenths - b'0') * 100)?;
        rest = after;
    }
    rest.trim_ascii_start().starts_with(b"Gb/sec").then_some(mbit)
}

/// The word of a state (`ACTIVE` of `4: ACTIVE`).
pub fn parse_state(text: &[u8]) -> &[u8] {
    let word = text.iter().position(|&b| b == b':').map_or(text, |colon| &text[colon + 1..]);
    word.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_values_and_broken_ones() {
        assert_eq!(parse_counter(b"18446744073709551615\n"), Some(u64::MAX));
        assert_eq!(parse_counter(b"N/A (no PMA)\n"), None);
        assert_eq!(parse_counter(b"12 34\n"), None);
        assert_eq!(parse_rate_mbit(b"100 Gb/sec (4X EDR)\n"), Some(100_000));
        assert_eq!(parse_rate_mbit(b"2.5 Gb/sec (1X SDR)\n"), Some(2500));
        assert_eq!(parse_rate_mbit(b"100\n"), None);
        assert_eq!(parse_rate_mbit(b"99999999999999999 Gb/sec"), None);
        assert_eq!(parse_state(b"4: ACTIVE\n"), b"ACTIVE");
        assert_eq!(parse_state(b"\n"), b"");
    }
}
