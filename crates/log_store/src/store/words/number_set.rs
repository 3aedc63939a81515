//! Sets of numbers in few bytes, of which a question reads a small part: what a block has of words that
//! are numbers, and of words that are known by their hashes alone.
//!
//! Numbers ascend.  Each 128 of them are a piece: its first number, and gaps in Rice's code, which takes
//! what the entropy of random gaps is and half a bit more.  A question passes over pieces by their heads.
//! `docs/format-log-store.md` defines every byte.

use varint::Bytes;

/// Numbers of a piece.
const PIECE_NUMBERS: usize = 128;
/// Instead of the bits of a gap: each number of the piece is one more than that before.
const ALL_FOLLOW: u8 = 0xFF;
/// Most bits of a gap that are stored as they are.
const LOW_BITS_MAX: u8 = 40;
/// So many ones stand for a gap that follows as 64 bits.
const ONES_MAX: u32 = 20;

/// Bits that are written, the lowest of each byte first.
#[derive(Default)]
struct BitWriter {
    word: u64,
    count: u32,
}

impl BitWriter {
    /// Appends up to 32 bits.
    fn put(&mut self, bits: u64, count: u32, out: &mut Vec<u8>) {
        self.word |= bits << self.count;
        self.count += count;
        if self.count >= 32 {
            out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.count -= 32;
        }
    }

    fn end(mut self, out: &mut Vec<u8>) {
        while self.count > 0 {
            out.push(self.word as u8);
            self.word >>= 8;
            self.count = self.count.saturating_sub(8);
        }
    }
}

/// Bits that are read; behind the end are zeros.
struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl BitReader<'_> {
    /// The next 57 bits at least.
    fn peek(&self) -> u64 {
        let from = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match from.first_chunk() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => from.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        word >> (self.at % 8)
    }

    fn read_bits(&mut self, count: u32) -> u64 {
        let bits = self.peek() & ((1 << count) - 1);
        self.at += count as usize;
        bits
    }

    /// A gap less one.
    fn gap(&mut self, low_bits: u8) -> u64 {
        let ones = self.peek().trailing_ones().min(ONES_MAX);
        if ones == ONES_MAX {
            self.at += ONES_MAX as usize;
            return self.read_bits(32) | self.read_bits(32) << 32;
        }
        self.at += ones as usize + 1;
        u64::from(ones) << low_bits | self.read_bits(low_bits.into())
    }
}

/// Bits for a gap (less one) with so many low bits.
fn gap_bits(gap: u64, low_bits: u8) -> u64 {
    match gap >> low_bits {
        ones if ones < ONES_MAX.into() => ones + 1 + u64::from(low_bits),
        _ => u64::from(ONES_MAX) + 64,
    }
}

/// The number of low bits with which gaps are shortest.
fn best_low_bits(gaps: &[u64]) -> u8 {
    let mut sorted = [0; PIECE_NUMBERS];
    let sorted = &mut sorted[..gaps.len()];
    sorted.copy_from_slice(gaps);
    let middle = sorted.len() / 2;
    // One large gap among many small ones does not count.
    let (_, median, _) = sorted.select_nth_unstable(middle);
    let near = (u64::BITS - median.leading_zeros()) as u8;
    let choices = near.saturating_sub(1)..=(near + 1).min(LOW_BITS_MAX);
    let bits = |low: &u8| gaps.iter().map(|gap| gap_bits(*gap, *low)).sum::<u64>();
    choices.min_by_key(bits).unwrap_or(LOW_BITS_MAX)
}

/// Appends a set of numbers, which ascend.
pub(super) fn encode(numbers: &[u64], out: &mut Vec<u8>) {
    varint::put(out, numbers.len() as u64);
    let (mut before, mut body, mut gaps) = (0, Vec::new(), Vec::new());
    for piece in numbers.chunks(PIECE_NUMBERS) {
        varint::put(out, piece[0] - before);
        before = piece[0];
        gaps.clear();
        gaps.extend(piece.windows(2).map(|pair| pair[1] - pair[0] - 1));
        if gaps.iter().all(|gap| *gap == 0) {
            out.push(ALL_FOLLOW);
            continue;
        }
        let low_bits = best_low_bits(&gaps);
        let mut bits = BitWriter::default();
        body.clear();
        for gap in &gaps {
            match gap >> low_bits {
                ones if ones < ONES_MAX.into() => {
                    bits.put((1 << ones) - 1, ones as u32 + 1, &mut body);
                    let (low, count) = (gap & ((1 << low_bits) - 1), u32::from(low_bits));
                    bits.put(low & 0xFFFF_FFFF, count.min(32), &mut body);
                    bits.put(low >> 32, count.saturating_sub(32), &mut body);
                }
                _ => {
                    bits.put((1 << ONES_MAX) - 1, ONES_MAX, &mut body);
                    bits.put(gap & 0xFFFF_FFFF, 32, &mut body);
                    bits.put(gap >> 32, 32, &mut body);
                }
            }
        }
        bits.end(&mut body);
        out.push(low_bits);
        varint::put_bytes(out, &body);
    }
}

/// A set of numbers as it is stored; what is damaged is `None`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NumberSet<'a> {
    count: u64,
    bytes: Bytes<'a>,
}

/// Some numbers of a set, which follow each other.
struct NumberPiece<'a> {
    first: u64,
    count: usize,
    low_bits: u8,
    bytes: &'a [u8],
}

impl NumberPiece<'_> {
    /// Visits the numbers until the visitor has enough; whether it had.
    fn visit(&self, visit: &mut dyn FnMut(u64) -> bool) -> Option<bool> {
        let (mut number, mut bits) = (self.first, BitReader { bytes: self.bytes, at: 0 });
        for left in (0..self.count).rev() {
            if visit(number) {
                return Some(true);
            }
            if left > 0 {
                let gap = if self.low_bits == ALL_FOLLOW { 0 } else { bits.gap(self.low_bits) };
                number = number.checked_add(gap)?.checked_add(1)?;
            }
        }
        Some(false)
    }
}

impl<'a> NumberSet<'a> {
    /// A set that takes all of these bytes.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut bytes = Bytes::new(bytes);
        let count = bytes.varint().ok()?;
        Some(NumberSet { count, bytes })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The next piece of what is left; `None` at the end, and where it is damaged.
    fn take_piece(&mut self, before: u64) -> Option<NumberPiece<'a>> {
        let count = self.count.min(PIECE_NUMBERS as u64) as usize;
        if count == 0 {
            return None;
        }
        let first = before.checked_add(self.bytes.varint().ok()?)?;
        let low_bits = self.bytes.byte().ok()?;
        let bytes = match low_bits {
            ALL_FOLLOW => &[],
            ..=LOW_BITS_MAX => self.bytes.prefixed().ok()?,
            _ => return None,
        };
        self.count -= count as u64;
        Some(NumberPiece { first, count, low_bits, bytes })
    }

    /// Whether it has one of the numbers from a first to a last.
    pub(super) fn has_within(mut self, first: u64, last: u64) -> Option<bool> {
        let (mut before, mut near) = (0, None::<NumberPiece<'_>>);
        while !self.is_empty() {
            let piece = self.take_piece(before)?;
            before = piece.first;
            if piece.first > last {
                break;
            }
            if piece.first >= first {
                return Some(true);
            }
            near = Some(piece);
        }
        let Some(near) = near else { return Some(false) };
        let mut found = false;
        near.visit(&mut |number| {
            found = number >= first && number <= last;
            number >= first
        })?;
        Some(found)
    }

    /// Whether a number of it is one that fits.
    pub(super) fn has_such(mut self, fits: &mut dyn FnMut(u64) -> bool) -> Option<bool> {
        let mut before = 0;
        while !self.is_empty() {
            let piece = self.take_piece(before)?;
            before = piece.first;
            if piece.visit(fits)? {
                return Some(true);
            }
        }
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use testkit::Random;

    use super::*;

    fn kinds_of_sets(random: &mut Random) -> Vec<Vec<u64>> {
        let mut sets: Vec<Vec<u64>> = vec![vec![], vec![0], vec![u64::MAX], vec![0, u64::MAX]];
        sets.push((1_000_000..1_001_000).collect());
        for limit in [300, 20_000, 1 << 33, u64::MAX] {
            sets.push((0..500).map(|_| random.below(limit)).collect());
        }
        // Runs, and gaps of all sizes between them.
        let mut number = 0_u64;
        let run = (0..700).map(|_| {
            let shift = if random.below(9) == 0 { random.below(50) } else { 0 };
            number = number.saturating_add(1 + random.below(1 << shift));
            number
        });
        sets.push(run.collect());
        for set in &mut sets {
            set.sort_unstable();
            set.dedup();
        }
        sets
    }

    #[test]
    fn a_set_has_its_numbers_and_no_others() {
        let mut random = Random::from_seed(3);
        for set in kinds_of_sets(&mut random) {
            let mut bytes = Vec::new();
            encode(&set, &mut bytes);
            let read = NumberSet::read(&bytes).unwrap();
            let mut all = Vec::new();
            let visited = read.has_such(&mut |number| {
                all.push(number);
                false
            });
            assert_eq!((visited, &all), (Some(false), &set));
            for number in set.iter().flat_map(|n| [n.saturating_sub(1), *n, n.saturating_add(1)]) {
                let is_in = set.binary_search(&number).is_ok();
                assert_eq!(read.has_within(number, number), Some(is_in), "{number}");
                let end = number.saturating_add(random.below(40));
                let from = set.partition_point(|one| *one < number);
                let is_in = set.get(from).is_some_and(|one| *one <= end);
                assert_eq!(read.has_within(number, end), Some(is_in), "{number} to {end}");
            }
        }
    }

    /// 1,000 numbers that follow each other take 3 bytes for each 128; random ones little more than their
    /// entropy, which is 8.1 bits for 10,000 of a million.
    #[test]
    fn a_set_has_few_bytes() {
        let bytes = |set: &[u64]| {
            let mut out = Vec::new();
            encode(set, &mut out);
            out.len()
        };
        let following: Vec<u64> = (5_000_000..5_001_000).collect();
        assert!(bytes(&following) < 40, "{}", bytes(&following));
        let mut random = Random::from_seed(4);
        let mut some: Vec<u64> = (0..10_000).map(|_| random.below(1_000_000)).collect();
        some.sort_unstable();
        some.dedup();
        assert!(bytes(&some) * 8 < some.len() * 9, "{} of {}", bytes(&some), some.len());
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut random = Random::from_seed(5);
        let mut bytes = Vec::new();
        encode(&(0..1000).map(|n| n * n).collect::<Vec<_>>(), &mut bytes);
        for _ in 0..2000 {
            let mut damaged = bytes.clone();
            let at = random.index(damaged.len());
            damaged[at] = random.below(256) as u8;
            damaged.truncate(random.index(damaged.len()) + 1);
            if let Some(set) = NumberSet::read(&damaged) {
                let _ = set.has_within(77, 78);
                let _ = set.has_such(&mut |number| number == 5);
            }
        }
    }
}
