//! How a value is told when much is known about it: predictors, and what is left over.
//!
//! The same code writes and reads: everything that it goes by has been told before.

use super::coder::{Bit, Stream};

/// Predictors of a step; each column uses the one that has done best of late.
const PREDICTORS: usize = 5;

/// The predictor that goes by another column.
const LINK: usize = PREDICTORS - 1;

/// No column is linked.
pub(super) const UNLINKED: u32 = u32::MAX;

/// What a linked column's other predictors begin with: links are found to hold.
const LINK_LEAD: i32 = 8 * 64;

/// Classes of a column's usual size, by which what all columns share is told apart.
const SIZES: usize = 20;

/// What all columns share.
pub(super) struct Shared {
    zero: [[Bit; 4]; SIZES],
    sign: [Bit; 3],
    exponent: Vec<[Bit; 64]>,
    mantissa: Vec<[Bit; 4]>,
    row: [Bit; 8],
    /// For each column that changes its latest step in units, and the sample that had it.
    steps: Vec<(i64, u32)>,
    sample: u32,
}

impl Default for Shared {
    fn default() -> Self {
        Shared {
            zero: Default::default(),
            sign: Default::default(),
            exponent: vec![[Bit::default(); 64]; SIZES],
            mantissa: vec![Default::default(); 65],
            row: Default::default(),
            steps: Vec::new(),
            sample: 0,
        }
    }
}

impl Shared {
    /// The next sample begins.
    pub(super) fn next_sample(&mut self) {
        self.sample += 1;
    }

    /// Forgets all, for so many columns that change.
    pub(super) fn clear(&mut self, cells: usize) {
        self.steps.clear();
        self.steps.resize(cells, (0, 0));
        self.sample = 0;
        self.zero = Default::default();
        self.sign = Default::default();
        self.exponent.fill([Bit::default(); 64]);
        self.mantissa.fill(Default::default());
        self.row = Default::default();
    }
}

/// A row's flag: whether any of its values differ from the reading before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowModel {
    changed: [Bit; 2],
    before: bool,
}

impl RowModel {
    /// Tells the flag; `above` is that of the row above.
    #[inline]
    pub(super) fn code<S: Stream>(
        &mut self,
        stream: &mut S,
        shared: &mut Shared,
        changed: bool,
        above: bool,
    ) -> bool {
        let context = usize::from(self.before);
        let shared = &mut shared.row[context * 2 + usize::from(above)];
        let changed = stream.bit_of(changed, &mut self.changed[context], shared);
        self.before = changed;
        changed
    }
}

/// A column of one instance that changes in this block.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Which column of the slot.
    pub(super) column: u32,
    /// Presence words are told by exclusive or and never predicted.
    pub(super) is_presence: bool,
    /// What all steps are multiples of.
    pub(super) unit: u64,
    /// Its number among those that change, and that of the one it is linked to.
    id: u32,
    link: u32,
    opposite: bool,
    /// Step before, in units.
    previous: i64,
    /// Mean of the latest steps, in 1/16 units.
    mean: i64,
    /// Where the value is, and where it uses to be, from the first one, in 1/16 units.
    level: i64,
    usual: i64,
    /// For each predictor the bits that it left over of late, in 1/16.
    left: [i32; PREDICTORS],
    /// Bits left over of late by the one in use, in 1/8.
    size: u32,
    zeros: usize,
    sign: usize,
    zero: [Bit; 4],
    signs: [Bit; 3],
    exponent: [Bit; 64],
    mantissa: [Bit; 64],
}

impl Cell {
    /// Of which nothing has been told.
    pub(super) fn new(id: usize, column: u32, is_presence: bool, unit: u64) -> Self {
        Cell {
            column,
            is_presence,
            unit,
            id: id as u32,
            link: UNLINKED,
            opposite: false,
            previous: 0,
            mean: 0,
            level: 0,
            usual: 0,
            left: [0; PREDICTORS],
            size: 0,
            zeros: 0,
            sign: 0,
            zero: Default::default(),
            signs: Default::default(),
            exponent: [Bit::default(); 64],
            mantissa: [Bit::default(); 64],
        }
    }

    /// Links it to one told before it, which uses to make the same steps, or opposite ones.
    pub(super) fn link(&mut self, to: u32, opposite: bool) {
        (self.link, self.opposite) = (to, opposite);
        self.left[..LINK].fill(LINK_LEAD);
    }

    /// Tells a step (a difference; for presence words an exclusive or).
    #[inline]
    pub(super) fn code<S: Stream>(
        &mut self,
        stream: &mut S,
        shared: &mut Shared,
        step: u64,
    ) -> u64 {
        if self.is_presence {
            return self.residual(stream, shared, step.cast_signed()).cast_unsigned();
        }
        let predicted = self.predictions(shared);
        let best = self.best();
        let step = if self.unit == 1 {
            step.cast_signed()
        } else {
            step.cast_signed() / self.unit.cast_signed()
        };
        let residual = step.wrapping_sub(predicted[best]);
        let step = self.residual(stream, shared, residual).wrapping_add(predicted[best]);
        self.learn(step, predicted);
        shared.steps[self.id as usize] = (step, shared.sample);
        step.cast_unsigned().wrapping_mul(self.unit)
    }

    #[inline]
    fn predictions(&self, shared: &Shared) -> [i64; PREDICTORS] {
        let linked = match shared.steps.get(self.link as usize) {
            Some(&(step, sample)) if sample == shared.sample => step,
            _ => 0,
        };
        [
            0,
            self.previous,
            (self.mean + 8) >> 4,
            (self.usual.wrapping_sub(self.level) + 8) >> 4,
            if self.opposite { linked.wrapping_neg() } else { linked },
        ]
    }

    #[inline]
    fn best(&self) -> usize {
        let mut best = 0;
        let count = if self.link == UNLINKED { LINK } else { PREDICTORS };
        for index in 1..count {
            if self.left[index] < self.left[best] {
                best = index;
            }
        }
        best
    }

    #[inline]
    fn learn(&mut self, step: i64, predicted: [i64; PREDICTORS]) {
        for (left, predicted) in self.left.iter_mut().zip(predicted) {
            let bits = bits_of(step.wrapping_sub(predicted)).cast_signed() * 64;
            *left += (bits - *left) >> 4;
        }
        // Values beyond this are no counter's steps; predictions from them may be anything.
        let bounded = step.clamp(-(1 << 50), 1 << 50);
        self.previous = step;
        self.mean += ((bounded << 4) - self.mean) >> 3;
        self.level = self.level.wrapping_add(bounded << 4).clamp(-(1 << 58), 1 << 58);
        self.usual += (self.level - self.usual) >> 4;
    }

    /// Tells what a prediction left over.
    #[inline]
    fn residual<S: Stream>(&mut self, stream: &mut S, shared: &mut Shared, value: i64) -> i64 {
        let size = ((self.size + 2) / 4).min(SIZES as u32 - 1) as usize;
        let zeros = self.zeros;
        let zero = stream.bit_of(value == 0, &mut self.zero[zeros], &mut shared.zero[size][zeros]);
        self.zeros = zeros << 1 & 2 | usize::from(zero);
        if zero {
            self.size -= self.size.div_ceil(8).min(self.size);
            return 0;
        }
        let sign = self.sign;
        let negative = stream.bit_of(value < 0, &mut self.signs[sign], &mut shared.sign[sign]);
        self.sign = 1 + usize::from(negative);
        let magnitude = value.unsigned_abs();
        let exponent = self.exponent(stream, &mut shared.exponent[size], magnitude);
        let magnitude =
            self.mantissa(stream, &mut shared.mantissa[exponent as usize], exponent, magnitude);
        let bits = (exponent + 1) * 8;
        self.size = (self.size * 7 + bits + 4) / 8;
        if negative { magnitude.wrapping_neg().cast_signed() } else { magnitude.cast_signed() }
    }

    /// The place of the highest bit.
    #[inline]
    fn exponent<S: Stream>(
        &mut self,
        stream: &mut S,
        shared: &mut [Bit; 64],
        magnitude: u64,
    ) -> u32 {
        let exponent = (63 - (magnitude | 1).leading_zeros()) as usize;
        let mut node = 1;
        for at in (0..6).rev() {
            let bit = exponent >> at & 1 == 1;
            let bit = stream.bit_of(bit, &mut self.exponent[node], &mut shared[node]);
            node = node << 1 | usize::from(bit);
        }
        (node - 64) as u32
    }

    /// The bits below the highest: the first two by what is known, the others as they are.
    #[inline]
    fn mantissa<S: Stream>(
        &mut self,
        stream: &mut S,
        shared: &mut [Bit; 4],
        exponent: u32,
        magnitude: u64,
    ) -> u64 {
        let mut read = 1_u64;
        let mut left = exponent;
        if left > 0 {
            left -= 1;
            let own = &mut self.mantissa[exponent as usize];
            let bit = stream.bit_of(magnitude >> left & 1 == 1, own, &mut shared[0]);
            read = read << 1 | u64::from(bit);
        }
        if left > 0 {
            left -= 1;
            let context = &mut shared[2 + (read & 1) as usize];
            let bit = stream.bit(magnitude >> left & 1 == 1, context);
            read = read << 1 | u64::from(bit);
        }
        let low = stream.raw(magnitude, left);
        read << left | low
    }
}

/// Significant bits of a signed value.
#[inline]
fn bits_of(value: i64) -> u32 {
    64 - value.unsigned_abs().leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::super::coder::{Decoder, DecoderState, Encoder};
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_steps_return(steps in proptest::collection::vec(
            (0_usize..3, prop_oneof![any::<u64>(), 0_u64..50, Just(0), Just(1 << 63)]), 0..60)) {
            let cells = || {
                let mut linked = Cell::new(2, 0, false, 1);
                linked.link(0, true);
                [Cell::new(0, 0, false, 1), Cell::new(1, 0, true, 1), linked]
            };
            let (mut out, mut shared) = (Vec::new(), Shared::default());
            shared.clear(3);
            let (mut stream, mut own) = (Encoder::new(&mut out), cells());
            for &(cell, step) in &steps {
                shared.next_sample();
                prop_assert_eq!(own[cell].code(&mut stream, &mut shared, step), step);
            }
            stream.finish();
            shared.clear(3);
            let (mut state, mut own) = (DecoderState::new(&out), cells());
            for &(cell, step) in &steps {
                shared.next_sample();
                let mut stream = Decoder { state: &mut state, bytes: &out };
                prop_assert_eq!(own[cell].code(&mut stream, &mut shared, 0), step);
                prop_assert!(stream.check().is_ok());
            }
        }
    }
}
