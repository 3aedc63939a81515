//! The model of a value: predictors, and the coding of the residual.
//!
//! The same code writes and reads: it depends only on values that were coded before.

use super::coder::{Bit, Stream};

/// Predictors of a step; each column uses the one with the smallest recent residuals.
const PREDICTORS: usize = 5;

/// The predictor that uses a linked column.
const LINK: usize = PREDICTORS - 1;

/// No column is linked.
pub(super) const UNLINKED: u32 = u32::MAX;

/// The initial handicap of a linked column's other predictors, since links are usually right.
const LINK_LEAD: i32 = 8 * 64;

/// Classes of residual sizes; the shared contexts are separate for each class.
const SIZES: usize = 20;

/// The state that all columns share.
pub(super) struct Shared {
    zero: [[Bit; 4]; SIZES],
    sign: [Bit; 3],
    exponent: Vec<[Bit; 64]>,
    mantissa: Vec<[Bit; 4]>,
    row: [Bit; 8],
    /// Additional bands of columns that use more than one.
    bands: Vec<Band>,
    /// For each column that changes its latest step in units, and the sample of that step.
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
            bands: Vec::new(),
            steps: Vec::new(),
            sample: 0,
        }
    }
}

impl Shared {
    /// Begins the next sample.
    pub(super) fn next_sample(&mut self) {
        self.sample += 1;
    }

    /// Allocates memory for this many columns that change.
    pub(super) fn reserve(&mut self, cells: usize) {
        self.steps.reserve(cells);
        self.bands.reserve(cells);
    }

    /// Clears the state, for this many columns that change.
    pub(super) fn clear(&mut self, cells: usize) {
        self.steps.clear();
        self.steps.resize(cells, (0, 0));
        self.sample = 0;
        self.bands.clear();
        self.zero = Default::default();
        self.sign = Default::default();
        self.exponent.fill([Bit::default(); 64]);
        self.mantissa.fill(Default::default());
        self.row = Default::default();
    }
}

/// A row's flag: whether any of its values differs from the previous reading.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowModel {
    changed: [Bit; 2],
    before: bool,
}

impl RowModel {
    /// Codes the flag; `above` is that of the previous row.
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
    /// The column of the slot.
    pub(super) column: u32,
    /// Presence words are coded by exclusive or and never predicted.
    pub(super) is_presence: bool,
    /// All steps are multiples of this.
    pub(super) unit: u64,
    /// The number among the columns that change, and that of the column it is linked to.
    id: u32,
    link: u32,
    opposite: bool,
    /// The previous step, in units.
    previous: i64,
    /// Mean of the latest steps, in 1/16 units.
    mean: i64,
    /// The value and its usual level, relative to the first value, in 1/16 units.
    level: i64,
    usual: i64,
    /// For each predictor the average size of its recent residuals, in 1/64 bits.
    left: [i32; PREDICTORS],
    /// The average size of recent residuals of the chosen predictors, in 1/8 bits.
    size: u32,
    zeros: u8,
    sign: u8,
    zero: [Bit; 4],
    signs: [Bit; 3],
    /// The upper two levels of the tree of exponents.
    top: [Bit; 3],
    bands: Bands,
    band: Band,
}

/// Bands of exponents, sixteen in each.
const BANDS: usize = 4;

/// A band: the fifteen nodes of its part of the tree of exponents, then for each of its exponents
/// the first bit of the mantissa.
type Band = [Bit; 31];

/// The bands of a column.  Most columns use one or two, so a column contains the first one that it
/// uses, and further ones are in a shared list: this takes a third of the memory of four per column.
#[derive(Clone, Copy, Debug)]
struct Bands {
    /// The band that the column contains.
    own: Option<u8>,
    /// 1 + the index of another band in the shared list, or 0.
    others: [u32; BANDS],
}

impl Bands {
    #[inline]
    fn get<'a>(
        &mut self,
        band: usize,
        own: &'a mut Band,
        others: &'a mut Vec<Band>,
    ) -> &'a mut Band {
        if usize::from(*self.own.get_or_insert(band as u8)) == band {
            return own;
        }
        if self.others[band] == 0 {
            others.push([Bit::default(); 31]);
            self.others[band] = others.len() as u32;
        }
        &mut others[self.others[band] as usize - 1]
    }
}

impl Cell {
    /// A column of which nothing was coded yet.
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
            top: Default::default(),
            bands: Bands { own: None, others: [0; BANDS] },
            band: [Bit::default(); 31],
        }
    }

    /// Links it to an earlier column that usually has the same steps, or opposite ones.
    pub(super) fn link(&mut self, to: u32, opposite: bool) {
        (self.link, self.opposite) = (to, opposite);
        self.left[..LINK].fill(LINK_LEAD);
    }

    /// Codes a step (a difference; for presence words an exclusive or), and returns it.
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
        // No counter has larger steps; predictions after one need not be good.
        let bounded = step.clamp(-(1 << 50), 1 << 50);
        self.previous = step;
        self.mean += ((bounded << 4) - self.mean) >> 3;
        self.level = self.level.wrapping_add(bounded << 4).clamp(-(1 << 58), 1 << 58);
        self.usual += (self.level - self.usual) >> 4;
    }

    /// Codes the residual of a prediction, and returns it.
    #[inline]
    fn residual<S: Stream>(&mut self, stream: &mut S, shared: &mut Shared, value: i64) -> i64 {
        let size = ((self.size + 2) / 4).min(SIZES as u32 - 1) as usize;
        let zeros = usize::from(self.zeros);
        let zero = stream.bit_of(value == 0, &mut self.zero[zeros], &mut shared.zero[size][zeros]);
        self.zeros = self.zeros << 1 & 2 | u8::from(zero);
        if zero {
            self.size -= self.size.div_ceil(8).min(self.size);
            return 0;
        }
        let sign = usize::from(self.sign);
        let negative = stream.bit_of(value < 0, &mut self.signs[sign], &mut shared.sign[sign]);
        self.sign = 1 + u8::from(negative);
        let magnitude = value.unsigned_abs();
        let (exponent, magnitude) = self.magnitude(stream, shared, size, magnitude);
        let bits = (exponent + 1) * 8;
        self.size = (self.size * 7 + bits + 4) / 8;
        if negative { magnitude.wrapping_neg().cast_signed() } else { magnitude.cast_signed() }
    }

    /// Codes the position of the highest bit, then the bits below it: the first two with contexts,
    /// the others raw.  Returns the position and the magnitude.
    #[inline]
    fn magnitude<S: Stream>(
        &mut self,
        stream: &mut S,
        shared: &mut Shared,
        size: usize,
        magnitude: u64,
    ) -> (u32, u64) {
        let Shared { exponent: exponents, mantissa: mantissas, bands, .. } = shared;
        let shared = &mut exponents[size];
        let exponent = (63 - (magnitude | 1).leading_zeros()) as usize;
        let mut node = 1;
        for at in [5, 4] {
            let bit = exponent >> at & 1 == 1;
            let bit = stream.bit_of(bit, &mut self.top[node - 1], &mut shared[node]);
            node = node << 1 | usize::from(bit);
        }
        let own = self.bands.get(node - BANDS, &mut self.band, bands);
        let mut own_node = 1;
        for at in (0..4).rev() {
            let bit = exponent >> at & 1 == 1;
            let bit = stream.bit_of(bit, &mut own[own_node - 1], &mut shared[node]);
            own_node = own_node << 1 | usize::from(bit);
            node = node << 1 | usize::from(bit);
        }
        let exponent = node - 64;
        let shared = &mut mantissas[exponent];
        let (mut read, mut left) = (1_u64, exponent as u32);
        if left > 0 {
            left -= 1;
            // After the fifteen nodes, one context for each exponent of the band.
            let own = &mut own[own_node - 1];
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
        (exponent as u32, read << left | low)
    }
}

/// Significant bits of a signed value.
#[inline]
fn bits_of(value: i64) -> u32 {
    64 - value.unsigned_abs().leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::super::coder::{Decoder, DecoderState, Encoder, EncoderState};
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
            let (mut stream, mut own) = (Encoder::new(EncoderState::default(), &mut out), cells());
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
