//! One column of a block: chooses its coding and writes its stream.

use super::{CONSTANT, DIFFERENCES, FROM_FIRST, SECOND_DIFFERENCES, SPARSE};
use varint::{put_at, unzigzag, zigzag};

/// A column is sparse if less than one in this many steps is not 0.
const SPARSE_SHARE: u64 = 6;

/// A column while it is measured and written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Column {
    /// First value, as a difference from 0.
    pub(super) first: u64,
    /// Value less the first.
    offset: u64,
    /// Step before.
    previous: u64,
    /// Step (1 is the slot's second reading) of the last one that was not 0.
    pub(super) last: u32,
    /// Steps that are not 0.
    steps: u32,
    /// Bytes of a sparse stream, without its count.
    sparse_bytes: u32,
    /// Significant bits in codings 1, 3 and 4.
    bits: [u32; 3],
    /// Bytes beyond one a step in the same.
    extra_bytes: [u32; 3],
    /// The coding.
    pub(super) coding: u8,
    /// Where the next byte goes.
    pub(super) at: u32,
}

impl Column {
    /// Adds the size of `count` values in one of the codings 1, 3 and 4.
    #[inline]
    fn add(&mut self, coding: usize, value: u64, count: u32) {
        let bits = 64 - value.leading_zeros();
        self.bits[coding] += bits * count;
        self.extra_bytes[coding] += (bits.saturating_sub(1) / 7) * count;
    }

    /// Measures a step that is not 0.
    #[inline]
    pub(super) fn measure(&mut self, step: u32, difference: u64, is_presence: bool) {
        let zeros = step - self.last - 1;
        self.add(0, difference, 1);
        self.sparse_bytes += varint_bytes(u64::from(zeros)) + varint_bytes(difference);
        self.steps += 1;
        self.last = step;
        if is_presence {
            return;
        }
        let difference = unzigzag(difference);
        if zeros > 0 {
            self.add(1, zigzag(self.previous.wrapping_neg()), 1);
            self.add(2, zigzag(self.offset), zeros);
            self.previous = 0;
        }
        self.add(1, zigzag(difference.wrapping_sub(self.previous)), 1);
        self.previous = difference;
        self.offset = self.offset.wrapping_add(difference);
        self.add(2, zigzag(self.offset), 1);
    }

    /// Chooses the coding after all `steps` are measured; returns the stream's length in bytes.
    pub(super) fn decide(&mut self, steps: u32, is_presence: bool) -> u32 {
        if self.steps == 0 {
            self.coding = CONSTANT;
            return 0;
        }
        let zeros = steps - self.last;
        if zeros > 0 && !is_presence {
            self.add(1, zigzag(self.previous.wrapping_neg()), 1);
            self.add(2, zigzag(self.offset), zeros);
        }
        let [plain, second, from_first] = self.bits;
        let (coding, index) = if is_presence || (plain <= second && plain <= from_first) {
            (DIFFERENCES, 0)
        } else if second <= from_first {
            (SECOND_DIFFERENCES, 1)
        } else {
            (FROM_FIRST, 2)
        };
        self.coding = coding;
        if coding == DIFFERENCES && u64::from(self.steps) * SPARSE_SHARE < u64::from(steps) {
            self.coding = SPARSE;
            return self.sparse_bytes + varint_bytes(u64::from(self.steps));
        }
        steps + self.extra_bytes[index]
    }

    /// Begins the second walk, with the stream at `at`.
    pub(super) fn rewind(&mut self, at: u32, plain: &mut [u8]) {
        self.at = at;
        (self.offset, self.previous, self.last) = (0, 0, 0);
        if self.coding == SPARSE {
            self.put(plain, u64::from(self.steps));
        }
    }

    #[inline]
    fn put(&mut self, plain: &mut [u8], value: u64) {
        self.at = put_at(plain, self.at as usize, value) as u32;
    }

    fn put_times(&mut self, plain: &mut [u8], value: u64, count: u32) {
        for _ in 0..count {
            self.put(plain, value);
        }
    }

    /// Writes the steps since the last that was not 0, all of them 0.
    pub(super) fn write_zeros(&mut self, plain: &mut [u8], zeros: u32) {
        if zeros == 0 {
            return;
        }
        match self.coding {
            SECOND_DIFFERENCES => {
                self.put(plain, zigzag(self.previous.wrapping_neg()));
                self.previous = 0;
                self.put_times(plain, 0, zeros - 1);
            }
            FROM_FIRST => self.put_times(plain, zigzag(self.offset), zeros),
            DIFFERENCES => self.put_times(plain, 0, zeros),
            _ => {}
        }
    }

    /// Writes a step that is not 0.
    #[inline]
    pub(super) fn write(&mut self, plain: &mut [u8], step: u32, difference: u64) {
        let zeros = step - self.last - 1;
        self.last = step;
        self.write_zeros(plain, zeros);
        match self.coding {
            DIFFERENCES => self.put(plain, difference),
            SPARSE => {
                self.put(plain, u64::from(zeros));
                self.put(plain, difference);
            }
            SECOND_DIFFERENCES => {
                let difference = unzigzag(difference);
                self.put(plain, zigzag(difference.wrapping_sub(self.previous)));
                self.previous = difference;
            }
            _ => {
                self.offset = self.offset.wrapping_add(unzigzag(difference));
                self.put(plain, zigzag(self.offset));
            }
        }
    }
}

fn varint_bytes(value: u64) -> u32 {
    (64 - value.leading_zeros()).saturating_sub(1) / 7 + 1
}
