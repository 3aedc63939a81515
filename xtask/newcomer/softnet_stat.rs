//! `/proc/net/softnet_stat` (no manual page; `net/core/net-procfs.c`): a line for each CPU that is
//! online, words of eight hexadecimal digits:
//! `000011a3 00000000 00000002 00000000 … 00000001 00000000 00000000`.
//!
//! The 13th word is the number of the CPU, since Linux 5.10; before, lines are numbered as they come.

/// What one CPU did with packets that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftnetCpu {
    /// Which CPU.
    pub cpu: u64,
    /// Packets processed.
    pub processed: u64,
    /// Packets dropped, as the queue was full.
    pub dropped: u64,
    /// Times that work was left when the budget or the time was used up.
    pub squeezed: u64,
}

/// The CPUs of the file; lines that are not of this form are passed over.
pub fn parse_softnet_stat(text: &[u8]) -> impl Iterator<Item = SoftnetCpu> {
    text.split(|byte| *byte == b'\n').enumerate().filter_map(|(number, line)| {
        let mut words = line.split(|byte| *byte == b' ').map(hexadecimal);
        let (processed, dropped, squeezed) = (words.next()??, words.next()??, words.next()??);
        let cpu = words.nth(9).flatten().unwrap_or(number as u64);
        Some(SoftnetCpu { cpu, processed, dropped, squeezed })
    })
}

/// A word of up to 16 hexadecimal digits.
fn hexadecimal(word: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(word).ok().filter(|word| !word.starts_with('+'))?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_file_and_broken_ones() {
        let text = b"0000027b 00000000 00000003 00000000 00000000 00000000 00000000 00000000 \
            00000000 00000000 00000000 00000000 00000000 00000000 00000000\n\
            000011a3 00000002 00000000 00000000 00000000 00000000 00000000 00000000 \
            00000000 00000000 00000000 00000000 00000005 00000000 00000000\n";
        let cpus: Vec<SoftnetCpu> = parse_softnet_stat(text).collect();
        assert_eq!(cpus[0], SoftnetCpu { cpu: 0, processed: 0x27b, dropped: 0, squeezed: 3 });
        assert_eq!(cpus[1], SoftnetCpu { cpu: 5, processed: 0x11a3, dropped: 2, squeezed: 0 });
        assert_eq!(cpus.len(), 2);
        assert_eq!(parse_softnet_stat(b"1 2 3\n").next().map(|cpu| cpu.cpu), Some(0));
        for broken in ["", "\n", "1 2", "x 2 3", "1  2 3", "+1 2 3", "11112222333344445 0 0"] {
            assert_eq!(parse_softnet_stat(broken.as_bytes()).next(), None, "{broken:?}");
        }
    }
}
