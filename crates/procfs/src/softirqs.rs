//! `/proc/softirqs` (proc(5), kernel `fs/proc/softirqs.c`): one line for each kind of soft
//! interrupt, one column for each possible CPU:
//!
//! ```text
//!                     CPU0       CPU1
//!           HI:          0          0
//!        TIMER:      12333      15583
//! ```

use crate::scan::{Lines, lines, take_number, take_word};

/// The CPUs of the heading, and the lines below it.
pub struct Softirqs<'a> {
    heading: &'a [u8],
    lines: Lines<'a>,
}

/// Splits the file into heading and lines; `None` if there is no heading.
pub fn parse_softirqs(text: &[u8]) -> Option<Softirqs<'_>> {
    let mut lines = lines(text);
    let heading = lines.next()?;
    take_word(&mut &*heading).starts_with(b"CPU").then_some(Softirqs { heading, lines })
}

impl<'a> Softirqs<'a> {
    /// The CPUs' numbers, as text, in the order of the columns.
    pub fn cpus(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.heading;
        std::iter::from_fn(move || take_word(&mut rest).strip_prefix(b"CPU"))
    }

    /// Each kind with its counts, one for each CPU; a truncated line has fewer.
    pub fn kinds(self) -> impl Iterator<Item = (&'a [u8], Counts<'a>)> {
        self.lines.filter_map(|mut line| {
            let kind = take_word(&mut line).strip_suffix(b":")?;
            Some((kind, Counts(line)))
        })
    }
}

/// Counts in columns.
pub struct Counts<'a>(&'a [u8]);

impl Iterator for Counts<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        take_number(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file_and_broken_ones() {
        let text =
            b"                    CPU0       CPU12      \n          HI:          0          1\n\
            \x20      TIMER:      12333\nrubbish\n";
        let softirqs = parse_softirqs(text).unwrap();
        assert_eq!(softirqs.cpus().collect::<Vec<_>>(), [&b"0"[..], b"12"]);
        let kinds: Vec<(&[u8], Vec<u64>)> =
            softirqs.kinds().map(|(kind, counts)| (kind, counts.collect())).collect();
        assert_eq!(kinds, [(&b"HI"[..], vec![0, 1]), (b"TIMER", vec![12_333])]);
        assert!(parse_softirqs(b"").is_none());
        assert!(parse_softirqs(b"HI: 1 2\n").is_none());
    }
}
