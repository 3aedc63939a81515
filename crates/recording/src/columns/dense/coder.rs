//! An adaptive binary range coder: a decision costs as many bits as its probability implies, down
//! to a few hundredths of a bit.
//!
//! The arithmetic is that of LZMA (carry in a cached byte, 32-bit range), with probabilities of
//! sixteen bits.  The n-th decision moves a probability by 1/n, so that a dozen values are enough
//! to learn a column.  Costs about 5 ns a decision.

use varint::Corrupt;

/// Smallest range before another byte is shifted out.
const RANGE_MIN: u32 = 1 << 24;

/// Bytes that a decoder may read after the end: an encoder may omit its last bytes.
const BEHIND_MAX: usize = 8;

/// The minimum distance of a probability from 0 and 1, in 1/65,536.
const EDGE: i32 = 24;

/// Decisions after which the rate of a probability stays the same.
const SLOWEST: usize = 127;

/// For each number of decisions coded, the rate at which the next one moves the probability.
const RATES: [i32; SLOWEST + 1] = {
    let mut rates = [0; SLOWEST + 1];
    let mut seen = 0;
    while seen <= SLOWEST {
        rates[seen] = (2 * 65_536) / (2 * seen as i32 + 3);
        seen += 1;
    }
    rates
};

/// For each number of decisions of a column, the weight of its own probability against the one
/// that all columns share.
const TRUST: [i32; SLOWEST + 1] = {
    let mut trust = [0; SLOWEST + 1];
    let mut seen = 0;
    while seen <= SLOWEST {
        trust[seen] = (65_536 * seen as i64 / (seen as i64 + 3)) as i32;
        seen += 1;
    }
    trust
};

/// The model of a decision: the probability that it is false, and how often it was coded.
/// Without padding: there are dozens for each column that changes.
#[derive(Clone, Copy, Debug)]
#[repr(C, packed)]
pub(super) struct Bit {
    probability: u16,
    seen: u8,
}

impl Default for Bit {
    fn default() -> Self {
        Bit { probability: 1 << 15, seen: 0 }
    }
}

impl Bit {
    #[inline]
    fn learn(&mut self, bit: bool) {
        let target = if bit { 0 } else { 65_535 };
        let old = i32::from(self.probability);
        let seen = usize::from(self.seen);
        let moved = old + ((i64::from(target - old) * i64::from(RATES[seen])) >> 16) as i32;
        self.probability = moved.clamp(EDGE, 65_535 - EDGE) as u16;
        self.seen = (self.seen + 1).min(SLOWEST as u8);
    }
}

/// A stream of decisions, written or read: the models use the same code in both directions.
pub(super) trait Stream {
    /// Codes a decision that is false with `probability` of 65,536.  A writer writes `bit`; a
    /// reader ignores it.  Returns the decision.
    fn code(&mut self, bit: bool, probability: u32) -> bool;

    /// Codes a decision with one context.
    #[inline]
    fn bit(&mut self, bit: bool, context: &mut Bit) -> bool {
        let bit = self.code(bit, u32::from(context.probability));
        context.learn(bit);
        bit
    }

    /// Codes a decision with a context of the column and one that all columns share.
    #[inline]
    fn bit_of(&mut self, bit: bool, own: &mut Bit, shared: &mut Bit) -> bool {
        let (mine, theirs) = (i32::from(own.probability), i32::from(shared.probability));
        let trust = i64::from(TRUST[usize::from(own.seen)]);
        let mixed = theirs + ((i64::from(mine - theirs) * trust) >> 16) as i32;
        let bit = self.code(bit, mixed as u32);
        own.learn(bit);
        shared.learn(bit);
        bit
    }

    /// Codes the `count` low bits of a value without a model.
    #[inline]
    fn raw(&mut self, value: u64, count: u32) -> u64 {
        let mut read = 0;
        for at in (0..count).rev() {
            let bit = self.code(value >> at & 1 == 1, 1 << 15);
            read = read << 1 | u64::from(bit);
        }
        read
    }
}

/// The state of an [`Encoder`] while it does not borrow its output.
#[derive(Clone, Copy, Debug)]
pub(super) struct EncoderState {
    low: u64,
    range: u32,
    cached: u8,
    /// Bytes that a carry may still change, including the cached one.
    waiting: u64,
}

impl Default for EncoderState {
    fn default() -> Self {
        // The first byte is a 0 in front of the first carry.
        EncoderState { low: 0, range: u32::MAX, cached: 0, waiting: 1 }
    }
}

/// Writes decisions.
#[derive(Debug)]
pub(super) struct Encoder<'a> {
    low: u64,
    range: u32,
    cached: u8,
    waiting: u64,
    out: &'a mut Vec<u8>,
}

impl<'a> Encoder<'a> {
    /// Continues after the bytes in `out`.
    pub(super) fn new(state: EncoderState, out: &'a mut Vec<u8>) -> Self {
        let EncoderState { low, range, cached, waiting } = state;
        Encoder { low, range, cached, waiting, out }
    }

    /// The state, to continue later.
    pub(super) fn pause(self) -> EncoderState {
        let Encoder { low, range, cached, waiting, .. } = self;
        EncoderState { low, range, cached, waiting }
    }

    fn shift(&mut self) {
        if self.low < 0xff00_0000 || self.low > u64::from(u32::MAX) {
            let carry = (self.low >> 32) as u8;
            self.out.push(self.cached.wrapping_add(carry));
            for _ in 1..self.waiting {
                self.out.push(0xff_u8.wrapping_add(carry));
            }
            self.waiting = 0;
            self.cached = (self.low >> 24) as u8;
        }
        self.waiting += 1;
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    /// Writes the buffered bytes.
    pub(super) fn finish(mut self) {
        for _ in 0..5 {
            self.shift();
        }
    }
}

impl Stream for Encoder<'_> {
    #[inline]
    fn code(&mut self, bit: bool, probability: u32) -> bool {
        let bound = (self.range >> 16) * probability;
        if bit {
            self.low += u64::from(bound);
            self.range -= bound;
        } else {
            self.range = bound;
        }
        while self.range < RANGE_MIN {
            self.range <<= 8;
            self.shift();
        }
        bit
    }
}

/// The state of a [`Decoder`] while it does not borrow its input.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DecoderState {
    code: u32,
    range: u32,
    at: usize,
}

impl DecoderState {
    /// At the start of `bytes`.
    pub(super) fn new(bytes: &[u8]) -> Self {
        let mut state = DecoderState { code: 0, range: u32::MAX, at: 0 };
        let mut decoder = Decoder { state: &mut state, bytes };
        for _ in 0..5 {
            decoder.shift();
        }
        state
    }
}

/// Reads decisions.
pub(super) struct Decoder<'a> {
    pub(super) state: &'a mut DecoderState,
    pub(super) bytes: &'a [u8],
}

impl Decoder<'_> {
    #[inline]
    fn shift(&mut self) {
        let next = self.bytes.get(self.state.at).copied().unwrap_or(0);
        self.state.code = self.state.code << 8 | u32::from(next);
        self.state.at += 1;
    }

    /// Fails if more was read than the stream has.
    pub(super) fn check(&self) -> Result<(), Corrupt> {
        let end = self.bytes.len() + BEHIND_MAX;
        if self.state.at <= end { Ok(()) } else { Err(Corrupt("it ends early")) }
    }
}

impl Stream for Decoder<'_> {
    #[inline]
    fn code(&mut self, _: bool, probability: u32) -> bool {
        let bound = (self.state.range >> 16) * probability;
        let bit = self.state.code >= bound;
        if bit {
            self.state.code -= bound;
            self.state.range -= bound;
        } else {
            self.state.range = bound;
        }
        while self.state.range < RANGE_MIN {
            self.state.range <<= 8;
            self.shift();
        }
        bit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Codes random decisions, each with its context, and raw bits in between.
    fn code_all(decisions: &[(u8, bool)], stream: &mut impl Stream) -> Vec<bool> {
        let mut contexts = [Bit::default(); 4];
        let mut shared = Bit::default();
        let code = |&(context, bit): &(u8, bool)| match context {
            0 => stream.raw(u64::from(bit) << 40 | 5, 41) == 1 << 40 | 5,
            1 => stream.code(bit, 1),
            2 => stream.code(bit, 65_535),
            3 => stream.bit(bit, &mut shared),
            _ => stream.bit_of(bit, &mut contexts[usize::from(context) % 4], &mut shared),
        };
        decisions.iter().map(code).collect()
    }

    proptest! {
        #[test]
        fn any_decisions_return(decisions in proptest::collection::vec((0_u8..9, any::<bool>()), 0..4_000)) {
            let mut out = Vec::new();
            let mut encoder = Encoder::new(EncoderState::default(), &mut out);
            let first = code_all(&decisions, &mut encoder);
            encoder.finish();
            let mut state = DecoderState::new(&out);
            let mut decoder = Decoder { state: &mut state, bytes: &out };
            prop_assert_eq!(code_all(&decisions, &mut decoder), first);
            prop_assert!(decoder.check().is_ok());
        }
    }

    #[test]
    fn what_is_always_so_costs_nothing() {
        let mut out = Vec::new();
        let mut encoder = Encoder::new(EncoderState::default(), &mut out);
        let mut context = Bit::default();
        assert!((0..8_000).all(|_| !encoder.bit(false, &mut context)));
        encoder.finish();
        assert!(out.len() < 16, "{}", out.len());
    }
}
