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

use varint::{Bytes, Corrupt, put, put_bytes, unzigzag, zigzag};

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

/// Four tokens below this one have at most 56 bits together, which are read at once.
const SHORT: u8 = 32;

/// The bits of four tokens that no one below [`SHORT`] has.
const NOT_SHORT: u32 = u32::from_le_bytes([!(SHORT - 1); 4]);

/// A number of a token below [`SHORT`]: how many bits follow, and the number if they are 0.
#[derive(Clone, Copy)]
struct ShortNumber {
    bits: u8,
    mask: u16,
    base: u16,
}

/// [`NUMBERS`] of short tokens: a table that stays in the cache of level 1, without a shift for each
/// mask.
const SHORT_NUMBERS: [ShortNumber; SHORT as usize] = {
    let mut short = [ShortNumber { bits: 0, mask: 0, base: 0 }; SHORT as usize];
    let mut token = 0;
    while token < SHORT as usize {
        let (bits, base) = NUMBERS[token];
        short[token] = ShortNumber { bits, mask: (1 << bits) - 1, base: base as u16 };
        token += 1;
    }
    short
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
    /// Where they are, and where its bits are.
    tokens_at: usize,
    bits_at: usize,
}

impl<'a> Column<'a> {
    /// The column at `bytes`, whose bits begin at `bits_at`: both go on after it.
    pub(super) fn parse(bytes: &mut Bytes<'a>, bits_at: &mut usize) -> Result<Self, Corrupt> {
        let mut column = Column {
            form: bytes.byte()?,
            gaps: None,
            first: 0,
            unit: 1,
            tokens: &[],
            tokens_at: 0,
            bits_at: 0,
        };
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
                column.tokens_at = bytes.position() - column.tokens.len();
                let length = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
                *bits_at = bits_at.saturating_add(length);
            }
            _ => return Err(Corrupt("a column has an unknown form")),
        }
        Ok(column)
    }

    /// Whether all of its values are the same.
    pub(super) fn is_constant(&self) -> bool {
        matches!(self.form & PREDICTION, NOTHING | CONSTANT)
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

    /// Reads the first `count` values that are not missing.  `bits` has those of all columns, and
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
        let bits = bits.get(self.bits_at..).ok_or(ENDS_EARLY)?;
        let (mut at, mut tokens, mut places) = (0_usize, self.tokens, out);
        while !places.is_empty() {
            while let Some((four, after)) = tokens.split_first_chunk::<4>()
                && places.len() >= four.len()
                && u32::from_le_bytes(*four) & NOT_SHORT == 0
            {
                let (taken, left) = std::mem::take(&mut places).split_at_mut(four.len());
                let mut number = number_at(bits, at, 0)?;
                for (place, &token) in taken.iter_mut().zip(four) {
                    let short = &SHORT_NUMBERS[usize::from(token % SHORT)];
                    *place = value(u64::from(short.base) + (number & u64::from(short.mask)));
                    number >>= short.bits;
                    at += usize::from(short.bits);
                }
                (tokens, places) = (after, left);
            }
            let Some((&token, after)) = tokens.split_first().filter(|_| !places.is_empty()) else {
                break;
            };
            tokens = after;
            let taken = match NUMBERS.get(usize::from(token)) {
                Some(&(count, base)) => {
                    let number = number_at(bits, at, count)?;
                    at += usize::from(count);
                    places.iter_mut().take(1).for_each(|place| {
                        *place = value(base | number & !(u64::MAX << count));
                    });
                    1
                }
                None => {
                    let zeros = (usize::from(token - ZEROS) + ZEROS_MIN).min(places.len());
                    places.iter_mut().take(zeros).for_each(|place| *place = value(0));
                    zeros
                }
            };
            places = std::mem::take(&mut places).get_mut(taken..).unwrap_or_default();
        }
        if places.is_empty() { Ok(()) } else { Err(Corrupt("a column has not all values")) }
    }
}

const ENDS_EARLY: Corrupt = Corrupt("a column ends early");

/// The bits from one on, at least `count` of them.
#[inline]
fn number_at(bits: &[u8], at: usize, count: u8) -> Result<u64, Corrupt> {
    let byte = at / 8;
    let word = bits.get(byte..byte + 8).and_then(|word| word.first_chunk());
    let mut number = u64::from_le_bytes(*word.ok_or(ENDS_EARLY)?) >> (at % 8);
    if count > 56 {
        // A word has 57 bits from any bit on.
        let next = u64::from(*bits.get(byte + 8).ok_or(ENDS_EARLY)?);
        number |= next << 1 << (63 - at % 8);
    }
    Ok(number)
}

/// A column that is read value by value: of each reading that has its instance.
#[derive(Clone, Debug)]
pub(super) struct ColumnStream {
    form: u8,
    first: u64,
    unit: u64,
    has_begun: bool,
    value: u64,
    step: u64,
    /// The tokens that are left, and the next bit.
    tokens: std::ops::Range<usize>,
    bit: usize,
    /// Values that the latest token still stands for.
    zeros: usize,
    /// Runs that are left, where they are; values that are missing and that follow.
    gaps: Option<(usize, usize)>,
    missing: u64,
    with: u64,
}

impl ColumnStream {
    /// The column at a place of a part, which goes on after it.
    pub(super) fn parse(part: &Plain, place: &mut (usize, usize)) -> Result<Self, Corrupt> {
        let mut bytes = Bytes::at(&part.bytes, place.0);
        let column = Column::parse(&mut bytes, &mut place.1)?;
        place.0 = bytes.position();
        Ok(ColumnStream {
            form: column.form,
            first: column.first,
            unit: column.unit,
            has_begun: false,
            value: 0,
            step: 0,
            tokens: column.tokens_at..column.tokens_at + column.tokens.len(),
            bit: column.bits_at.saturating_mul(8),
            zeros: 0,
            gaps: column.gaps.map(|(runs, bytes)| (runs, bytes.position())),
            missing: 0,
            with: 0,
        })
    }

    /// Whether not all readings have the same.
    pub(super) fn changes(&self) -> bool {
        self.gaps.is_some() || !matches!(self.form & PREDICTION, NOTHING | CONSTANT)
    }

    /// The value of the next reading.
    #[inline]
    pub(super) fn next(&mut self, part: &Plain) -> Result<Option<u64>, Corrupt> {
        if self.form == NOTHING || !self.is_there(part)? {
            return Ok(None);
        }
        if !std::mem::replace(&mut self.has_begun, true) {
            self.value = self.first;
            return Ok(Some(self.value));
        }
        if self.form & PREDICTION == CONSTANT {
            return Ok(Some(self.value));
        }
        let number = self.number(part)?;
        let number = if self.form & SIGNED == 0 { number } else { unzigzag(number) };
        let difference = number.wrapping_mul(self.unit);
        self.value = match self.form & PREDICTION {
            STEPS => self.value.wrapping_add(difference),
            SECOND_STEPS => {
                self.step = self.step.wrapping_add(difference);
                self.value.wrapping_add(self.step)
            }
            _ => self.first.wrapping_add(difference),
        };
        Ok(Some(self.value))
    }

    /// Passes over so many readings but the last of them.
    pub(super) fn pass(&mut self, part: &Plain, count: usize) -> Result<(), Corrupt> {
        let mut left = count.saturating_sub(1);
        if left > 0 && !self.has_begun {
            self.next(part)?;
            left -= 1;
        }
        if self.gaps.is_some() {
            return (0..left).try_for_each(|_| self.next(part).map(drop));
        }
        let (first, unit, mut value, mut step) = (self.first, self.unit, self.value, self.step);
        match self.form & PREDICTION {
            NOTHING | CONSTANT => {}
            STEPS => self.pass_numbers(part, left, |number, _| {
                value = value.wrapping_add(number.wrapping_mul(unit));
            })?,
            SECOND_STEPS => self.pass_numbers(part, left, |number, times| {
                step = step.wrapping_add(number.wrapping_mul(unit));
                value = value.wrapping_add(step.wrapping_mul(times));
            })?,
            _ => self.pass_numbers(part, left, |number, _| {
                value = first.wrapping_add(number.wrapping_mul(unit));
            })?,
        }
        (self.value, self.step) = (value, step);
        Ok(())
    }

    /// Gives so many numbers to `each`, with how many of them are equal: more than one if they are 0.
    #[inline]
    fn pass_numbers(
        &mut self,
        part: &Plain,
        mut left: usize,
        mut each: impl FnMut(u64, u64),
    ) -> Result<(), Corrupt> {
        let is_signed = self.form & SIGNED != 0;
        let mut tokens = part.bytes.get(self.tokens.clone()).ok_or(ENDS_EARLY)?.iter();
        let (mut bit, mut zeros) = (self.bit, self.zeros);
        while left > 0 {
            if zeros > 0 {
                let taken = zeros.min(left);
                each(0, taken as u64);
                (zeros, left) = (zeros - taken, left - taken);
                continue;
            }
            let token = *tokens.next().ok_or(ENDS_EARLY)?;
            let Some(&(count, base)) = NUMBERS.get(usize::from(token)) else {
                zeros = usize::from(token - ZEROS) + ZEROS_MIN;
                continue;
            };
            let number = base | number_at(&part.bits, bit, count)? & !(u64::MAX << count);
            bit += usize::from(count);
            left -= 1;
            each(if is_signed { unzigzag(number) } else { number }, 1);
        }
        self.tokens.start = self.tokens.end - tokens.len();
        (self.bit, self.zeros) = (bit, zeros);
        Ok(())
    }

    /// Puts the value of the next reading into the columns of its row, of which the first `words` say
    /// which values there are.
    #[inline]
    pub(super) fn set(
        &mut self,
        part: &Plain,
        field: usize,
        words: usize,
        row: &mut [u64],
    ) -> Result<(), Corrupt> {
        let (word, bit) = (field / 64, 1 << (field % 64));
        match self.next(part)? {
            Some(value) => {
                row[words + field] = value;
                row[word] |= bit;
            }
            None => row[word] &= !bit,
        }
        Ok(())
    }

    /// Whether the next reading has a value.
    #[inline]
    fn is_there(&mut self, part: &Plain) -> Result<bool, Corrupt> {
        let Some((runs, at)) = &mut self.gaps else { return Ok(true) };
        while self.missing == 0 && self.with == 0 {
            if *runs == 0 {
                return Ok(false);
            }
            let mut bytes = Bytes::at(&part.bytes, *at);
            (self.missing, self.with) = (bytes.varint()?, bytes.varint()?);
            (*runs, *at) = (*runs - 1, bytes.position());
        }
        if self.missing > 0 {
            self.missing -= 1;
            return Ok(false);
        }
        self.with -= 1;
        Ok(true)
    }

    #[inline]
    fn number(&mut self, part: &Plain) -> Result<u64, Corrupt> {
        if self.zeros > 0 {
            self.zeros -= 1;
            return Ok(0);
        }
        let at = self.tokens.next().ok_or(ENDS_EARLY)?;
        let token = *part.bytes.get(at).ok_or(ENDS_EARLY)?;
        let Some(&(count, base)) = NUMBERS.get(usize::from(token)) else {
            self.zeros = usize::from(token - ZEROS) + ZEROS_MIN - 1;
            return Ok(0);
        };
        let number = number_at(&part.bits, self.bit, count)?;
        self.bit += usize::from(count);
        Ok(base | number & !(u64::MAX << count))
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
            let mut place = (0, 0);
            for values in expected {
                let column = Column::parse(&mut bytes, &mut bits_at).unwrap();
                let mut count = 0;
                column.runs(values.len() + 3, |_, length| count += length).unwrap();
                let count = if column.gaps.is_some() { count } else { values.len() };
                column.values(count, &plain.bits, &mut out).unwrap();
                prop_assert_eq!(&out, &values);
                let is_constant = values.iter().all(|value| value == &values[0]);
                prop_assert_eq!(column.is_constant(), is_constant);
                let mut stream = ColumnStream::parse(&plain, &mut place).unwrap();
                let mut streamed = Vec::new();
                column.runs(values.len() + 3, |missing, length| {
                    streamed.extend((0..missing).map(|_| None));
                    streamed.extend(out.drain(..length.min(out.len())).map(Some));
                }).unwrap();
                let mut passing = stream.clone();
                for value in &streamed {
                    prop_assert_eq!(stream.next(&plain).unwrap(), *value);
                }
                let half = streamed.len() / 2;
                passing.pass(&plain, half + 1).unwrap();
                for value in &streamed[half..] {
                    prop_assert_eq!(passing.next(&plain).unwrap(), *value);
                }
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
                let plain = Plain { bytes, bits };
                let mut stream = ColumnStream::parse(&plain, &mut (0, 0)).unwrap();
                let _ = stream.clone().pass(&plain, count);
                let _ = (0..count).try_for_each(|_| stream.next(&plain).map(drop));
            }
        }
    }
}
