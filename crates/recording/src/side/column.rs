//! The coding of a column: each value as its difference from a prediction, split into a token, which
//! is compressed with those of all other instances, and into bits that are noise.
//!
//! ```text
//! column = byte form; nothing more if it is 0
//!          form: prediction (1 none: the value never changes, 2 the value before, 3 the step
//!          before, 4 the first value), 8 differences are zigzagged, 16 a unit, 32 gaps
//!          with gaps: varint runs, for each: varint values missing, varint values
//!          varint first value
//!          with a unit: varint, a common divisor of all differences
//!          if the value changes: varint length, tokens of all values after the first;
//!            varint length of its bits
//! token  = below 128 a number: 0, 1, else 2 * e + m for a number of e binary digits after the first,
//!          of which m is the highest and the others, lowest first, are the next ones of the bits;
//!          above, 128 + n: n + 3 zeros
//! ```

use crate::varint::{Bytes, Corrupt, put, put_bytes, unzigzag, zigzag};

const NOTHING: u8 = 0;
const CONSTANT: u8 = 1;
const STEPS: u8 = 2;
const SECOND_STEPS: u8 = 3;
const FROM_FIRST: u8 = 4;
const PREDICTION: u8 = 7;
const SIGNED: u8 = 8;
const UNIT: u8 = 16;
const GAPS: u8 = 32;

/// The first token that stands for zeros, and for how many.
const ZEROS: u8 = 128;
const ZEROS_MIN: usize = 3;
const ZEROS_MAX: usize = ZEROS_MIN + (u8::MAX - ZEROS) as usize;

/// Bytes of 0 after the bits of a part, so that the last ones are read as all others.
pub(super) const BITS_PADDING: usize = 16;

/// For each token of a number how many bits follow, and the number if they are 0.
const NUMBERS: [(u8, u64); ZEROS as usize] = {
    let mut numbers = [(0, 0); ZEROS as usize];
    numbers[1] = (0, 1);
    let mut token = 2;
    while token < ZEROS as usize {
        let bits = token / 2 - 1;
        numbers[token] = (bits as u8, (2 | token as u64 & 1) << bits);
        token += 1;
    }
    numbers
};

/// What is written of columns: bytes that are compressed, and bits that are not.
#[derive(Clone, Debug, Default)]
pub(super) struct Plain {
    pub(super) bytes: Vec<u8>,
    pub(super) bits: Vec<u8>,
}

/// Writes columns, keeping its memory between them.
#[derive(Debug, Default)]
pub(super) struct ColumnEncoder {
    coded: Vec<u64>,
    best: Vec<u64>,
    tokens: Vec<u8>,
}

impl ColumnEncoder {
    /// Appends a column of values without gaps.
    pub(super) fn write_whole(&mut self, values: &[u64], out: &mut Plain) {
        self.write(values, &[(0, values.len() as u64)], out);
    }

    /// Appends a column: its values, and how many are missing and how many follow, in turn.
    pub(super) fn write(&mut self, values: &[u64], runs: &[(u64, u64)], out: &mut Plain) {
        let Some((&first, rest)) = values.split_first() else { return out.bytes.push(NOTHING) };
        let unit = unit_of(values);
        let form = if rest.iter().all(|&value| value == first) {
            CONSTANT
        } else {
            self.choose(values, unit)
        };
        let gaps = runs.len() > 1 || runs.first().is_some_and(|run| run.0 > 0);
        let (unit_flag, gaps_flag) = (if unit > 1 { UNIT } else { 0 }, if gaps { GAPS } else { 0 });
        out.bytes.push(form | unit_flag | gaps_flag);
        if gaps {
            put(&mut out.bytes, runs.len() as u64);
            for &(missing, count) in runs {
                put(&mut out.bytes, missing);
                put(&mut out.bytes, count);
            }
        }
        put(&mut out.bytes, first);
        if unit > 1 {
            put(&mut out.bytes, unit);
        }
        if form != CONSTANT {
            let before = out.bits.len();
            self.split(&mut out.bits);
            put_bytes(&mut out.bytes, &self.tokens);
            put(&mut out.bytes, (out.bits.len() - before) as u64);
        }
    }

    /// Chooses the prediction with the smallest differences, and leaves these in `best`.
    fn choose(&mut self, values: &[u64], unit: u64) -> u8 {
        let mut least = (u64::MAX, STEPS);
        for prediction in [STEPS, SECOND_STEPS, FROM_FIRST] {
            let Some(flag) = differences(values, prediction, unit, &mut self.coded) else {
                continue;
            };
            let size = |&coded: &u64| u64::from(u64::BITS - coded.leading_zeros());
            let bits = self.coded.iter().map(size).sum();
            if bits < least.0 {
                least = (bits, prediction | flag);
                std::mem::swap(&mut self.coded, &mut self.best);
            }
        }
        least.1
    }

    /// Makes tokens and bits of `best`.
    fn split(&mut self, bits: &mut Vec<u8>) {
        self.tokens.clear();
        let (mut word, mut filled) = (0_u128, 0);
        let mut left = self.best.as_slice();
        while let Some((&number, rest)) = left.split_first() {
            let zeros = left.iter().take(ZEROS_MAX).take_while(|&&number| number == 0).count();
            if zeros >= ZEROS_MIN {
                self.tokens.push(ZEROS + (zeros - ZEROS_MIN) as u8);
                left = &left[zeros..];
                continue;
            }
            left = rest;
            if number < 2 {
                self.tokens.push(number as u8);
                continue;
            }
            let count = number.ilog2() - 1;
            self.tokens.push((2 * (count + 1) + (number >> count & 1) as u32) as u8);
            word |= u128::from(number & ((1 << count) - 1)) << filled;
            filled += count;
            while filled >= 8 {
                bits.push(word as u8);
                word >>= 8;
                filled -= 8;
            }
        }
        if filled > 0 {
            bits.push(word as u8);
        }
    }
}

/// The greatest common divisor of all steps, 0 if there are none; 1 if it is beyond 63 bits.
fn unit_of(values: &[u64]) -> u64 {
    let mut unit = 0;
    for pair in values.windows(2) {
        let (mut large, mut small) =
            (pair[1].wrapping_sub(pair[0]).cast_signed().unsigned_abs(), unit);
        while small != 0 {
            (large, small) = (small, large % small);
        }
        unit = large;
        if unit == 1 {
            break;
        }
    }
    if unit >> 63 == 0 { unit } else { 1 }
}

/// Codes the differences of all values after the first from their prediction, in units.  Returns the
/// flag of zigzagged ones; `None` if they are not multiples of the unit, as beyond 63 bits.
fn differences(values: &[u64], prediction: u8, unit: u64, out: &mut Vec<u64>) -> Option<u8> {
    out.clear();
    let (first, mut step_before) = (values[0], 0_u64);
    let (mut any_bit, unit) = (0, i64::try_from(unit).ok()?);
    for pair in values.windows(2) {
        let step = pair[1].wrapping_sub(pair[0]);
        let difference = match prediction {
            STEPS => step,
            SECOND_STEPS => step.wrapping_sub(std::mem::replace(&mut step_before, step)),
            _ => pair[1].wrapping_sub(first),
        };
        let difference = difference.cast_signed();
        if unit > 1 && difference % unit != 0 {
            return None;
        }
        let count = if unit > 1 { difference / unit } else { difference }.cast_unsigned();
        any_bit |= count;
        out.push(count);
    }
    if any_bit >> 63 == 0 {
        return Some(0);
    }
    out.iter_mut().for_each(|count| *count = zigzag(*count));
    Some(SIGNED)
}

/// A column being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<'a> {
    form: u8,
    gaps: Option<(usize, Bytes<'a>)>,
    first: u64,
    unit: u64,
    tokens: &'a [u8],
    /// Where its bits are.
    bits_at: usize,
}

impl<'a> Column<'a> {
    /// The column at `bytes`, whose bits begin at `bits_at`: both go on after it.
    pub(super) fn parse(bytes: &mut Bytes<'a>, bits_at: &mut usize) -> Result<Self, Corrupt> {
        let mut column =
            Column { form: bytes.byte()?, gaps: None, first: 0, unit: 1, tokens: &[], bits_at: 0 };
        if column.form == NOTHING {
            return Ok(column);
        }
        if column.form & GAPS != 0 {
            let runs = bytes.count()?;
            column.gaps = Some((runs, *bytes));
            bytes.skip_varints(runs.saturating_mul(2))?;
        }
        column.first = bytes.varint()?;
        if column.form & UNIT != 0 {
            column.unit = bytes.varint()?;
        }
        column.bits_at = *bits_at;
        match column.form & PREDICTION {
            CONSTANT => {}
            STEPS | SECOND_STEPS | FROM_FIRST => {
                column.tokens = bytes.prefixed()?;
                let length = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
                *bits_at = bits_at.saturating_add(length);
            }
            _ => return Err(Corrupt("a column has an unknown form")),
        }
        Ok(column)
    }

    /// Calls `each` with how many values are missing and how many follow, in turn, of a column for
    /// `count` readings.
    pub(super) fn runs(
        &self,
        count: usize,
        mut each: impl FnMut(usize, usize),
    ) -> Result<(), Corrupt> {
        let Some((runs, mut bytes)) = self.gaps else {
            each(0, if self.form == NOTHING { 0 } else { count });
            return Ok(());
        };
        let mut left = count as u64;
        for _ in 0..runs {
            let (missing, length) = (bytes.varint()?, bytes.varint()?);
            let taken = missing.checked_add(length).and_then(|taken| left.checked_sub(taken));
            left = taken.ok_or(Corrupt("a column has too many values"))?;
            each(missing as usize, length as usize);
        }
        Ok(())
    }

    /// Reads `count` values: all that are not missing.  `bits` has those of all columns, and
    /// [`BITS_PADDING`] bytes after them.
    pub(super) fn values(
        &self,
        count: usize,
        bits: &[u8],
        out: &mut Vec<u64>,
    ) -> Result<(), Corrupt> {
        out.clear();
        if count == 0 {
            return Ok(());
        }
        let (first, unit) = (self.first, self.unit);
        out.resize(count, first);
        let Some((_, rest)) = out.split_first_mut() else { return Ok(()) };
        let (mut value, mut step) = (first, 0_u64);
        match self.form & PREDICTION {
            CONSTANT => Ok(()),
            STEPS => self.restore(bits, rest, |number| {
                value = value.wrapping_add(number.wrapping_mul(unit));
                value
            }),
            SECOND_STEPS => self.restore(bits, rest, |number| {
                step = step.wrapping_add(number.wrapping_mul(unit));
                value = value.wrapping_add(step);
                value
            }),
            _ => self.restore(bits, rest, |number| first.wrapping_add(number.wrapping_mul(unit))),
        }
    }

    /// Makes values of the numbers of all tokens.
    #[inline]
    fn restore(
        &self,
        bits: &[u8],
        out: &mut [u64],
        mut value: impl FnMut(u64) -> u64,
    ) -> Result<(), Corrupt> {
        match self.form & SIGNED {
            0 => self.numbers(bits, out, value),
            _ => self.numbers(bits, out, |number| value(unzigzag(number))),
        }
    }

    /// Reads the numbers of all tokens, and what `value` makes of them into `out`.
    #[inline]
    fn numbers(
        &self,
        bits: &[u8],
        out: &mut [u64],
        mut value: impl FnMut(u64) -> u64,
    ) -> Result<(), Corrupt> {
        const ENDS_EARLY: Corrupt = Corrupt("a column ends early");
        let bits = bits.get(self.bits_at..).ok_or(ENDS_EARLY)?;
        let (mut at, mut places) = (0_usize, out.iter_mut());
        for &token in self.tokens {
            let Some(&(count, base)) = NUMBERS.get(usize::from(token)) else {
                let zeros = usize::from(token - ZEROS) + ZEROS_MIN;
                places.by_ref().take(zeros).for_each(|place| *place = value(0));
                continue;
            };
            let byte = at / 8;
            let word = bits.get(byte..byte + 8).and_then(|word| word.first_chunk());
            let mut number = u64::from_le_bytes(*word.ok_or(ENDS_EARLY)?) >> (at % 8);
            if count > 56 {
                // A word has 57 bits from any bit on.
                let next = u64::from(*bits.get(byte + 8).ok_or(ENDS_EARLY)?);
                number |= next << 1 << (63 - at % 8);
            }
            let place = places.next().ok_or(Corrupt("a column has too many values"))?;
            *place = value(base | number & !(u64::MAX << count));
            at += usize::from(count);
        }
        if places.len() == 0 { Ok(()) } else { Err(Corrupt("a column has not all values")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let number = prop_oneof![
            1 => any::<u64>(), 4 => 0_u64..3, 3 => Just(7), 1 => (0_u64..9).prop_map(|n| n << 60),
            2 => (0_u64..1_000).prop_map(|n| 4_096 * n), 1 => (0..64).prop_map(|n| 1_u64 << n)];
        proptest::collection::vec(number, 0..300)
    }

    proptest! {
        #[test]
        fn any_columns_return(columns in proptest::collection::vec(
            (numbers(), any::<bool>(), any::<bool>()), 0..4)) {
            let (mut encoder, mut plain) = (ColumnEncoder::default(), Plain::default());
            let mut expected = Vec::new();
            for (mut values, sums, gaps) in columns {
                if sums {
                    let mut sum = 0_u64;
                    values.iter_mut().for_each(|value| { sum = sum.wrapping_add(*value); *value = sum });
                }
                let half = values.len() as u64 / 2;
                let runs = [(u64::from(gaps), half), (2, values.len() as u64 - half)];
                if gaps { encoder.write(&values, &runs, &mut plain) }
                else { encoder.write_whole(&values, &mut plain) }
                expected.push(values);
            }
            let whole = plain.bits.len();
            plain.bits.resize(whole + BITS_PADDING, 0);
            let (mut bytes, mut bits_at, mut out) = (Bytes::new(&plain.bytes), 0, Vec::new());
            for values in expected {
                let column = Column::parse(&mut bytes, &mut bits_at).unwrap();
                let mut count = 0;
                column.runs(values.len() + 3, |_, length| count += length).unwrap();
                let count = if column.gaps.is_some() { count } else { values.len() };
                column.values(count, &plain.bits, &mut out).unwrap();
                prop_assert_eq!(&out, &values);
            }
            prop_assert_eq!((bytes.left(), bits_at), (0, whole));
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            mut bytes: Vec<u8>, form in 0_u8..64, mut bits: Vec<u8>, count in 0_usize..500) {
            bytes.insert(0, form);
            bits.resize(bits.len() + BITS_PADDING, 0);
            let mut bits_at = 0;
            if let Ok(column) = Column::parse(&mut Bytes::new(&bytes), &mut bits_at) {
                let mut covered = 0;
                let _ = column.runs(count, |missing, length| covered += missing + length);
                prop_assert!(covered <= count);
                let mut out = Vec::new();
                let _ = column.values(count, &bits, &mut out);
                prop_assert!(out.len() <= count);
            }
        }
    }
}
