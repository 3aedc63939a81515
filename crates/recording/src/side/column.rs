//! The tokens of one column.

use crate::varint::{Bytes, Corrupt, put, unzigzag, zigzag};

const CHANGE: u64 = 0;
const SAME: u64 = 1;
const MISSING: u64 = 2;
const RAW: u64 = 3;

/// A column being written.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnTokens {
    /// Whether a value is expected to change as the one before did.
    second: bool,
    value: u64,
    step: u64,
    /// The kind and length of the run that is not written yet.
    run: (u64, u64),
    out: Vec<u8>,
}

impl ColumnTokens {
    /// A column coded by differences of differences.
    pub(super) fn second() -> Self {
        ColumnTokens { second: true, ..ColumnTokens::default() }
    }

    /// Adds the next value.
    pub(super) fn add(&mut self, value: Option<u64>) {
        let Some(value) = value else { return self.go_on(MISSING) };
        let expected = self.value.wrapping_add(if self.second { self.step } else { 0 });
        self.step = value.wrapping_sub(self.value);
        self.value = value;
        if value == expected {
            return self.go_on(SAME);
        }
        self.end_run();
        let change = zigzag(value.wrapping_sub(expected));
        if change >> 62 == 0 {
            put(&mut self.out, change << 2 | CHANGE);
        } else {
            put(&mut self.out, RAW);
            put(&mut self.out, value);
        }
    }

    fn go_on(&mut self, kind: u64) {
        if self.run.0 != kind {
            self.end_run();
        }
        self.run = (kind, self.run.1 + 1);
    }

    fn end_run(&mut self) {
        if self.run.1 > 0 {
            put(&mut self.out, self.run.1 << 2 | self.run.0);
        }
        self.run = (CHANGE, 0);
    }

    /// Appends the column.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) {
        self.end_run();
        put(out, self.out.len() as u64);
        out.extend_from_slice(&self.out);
    }
}

/// A column being read.
pub(super) struct ColumnValues<'a> {
    bytes: Bytes<'a>,
    second: bool,
    value: u64,
    step: u64,
    run: (u64, u64),
}

impl<'a> ColumnValues<'a> {
    /// The values of a column, which [`ColumnTokens::write`] wrote without its length.
    pub(super) fn new(column: &'a [u8], second: bool) -> Self {
        ColumnValues { bytes: Bytes::new(column), second, value: 0, step: 0, run: (SAME, 0) }
    }

    /// The next value.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<u64>, Corrupt> {
        if self.run.1 == 0 {
            let token = self.bytes.varint()?;
            match token & 3 {
                CHANGE => {
                    let change = unzigzag(token >> 2);
                    self.step = if self.second { self.step } else { 0 }.wrapping_add(change);
                    self.value = self.value.wrapping_add(self.step);
                    return Ok(Some(self.value));
                }
                RAW => {
                    let value = self.bytes.varint()?;
                    self.step = value.wrapping_sub(self.value);
                    self.value = value;
                    return Ok(Some(value));
                }
                kind if token >> 2 > 0 => self.run = (kind, token >> 2),
                _ => return Err(Corrupt("an empty run")),
            }
        }
        self.run.1 -= 1;
        if self.run.0 == MISSING {
            return Ok(None);
        }
        self.step = if self.second { self.step } else { 0 };
        self.value = self.value.wrapping_add(self.step);
        Ok(Some(self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_column_returns(second: bool, values in proptest::collection::vec(
            prop_oneof![1 => Just(None), 1 => any::<u64>().prop_map(Some),
                4 => (0_u64..3).prop_map(Some), 3 => Just(Some(7))], 0..200)) {
            let mut column = if second { ColumnTokens::second() } else { ColumnTokens::default() };
            values.iter().for_each(|&value| column.add(value));
            let mut out = Vec::new();
            column.write(&mut out);
            let mut bytes = Bytes::new(&out);
            let mut read = ColumnValues::new(bytes.prefixed().unwrap(), second);
            for &value in &values {
                prop_assert_eq!(read.next(), Ok(value));
            }
            prop_assert!(read.next().is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused(column: Vec<u8>, second: bool) {
            let mut read = ColumnValues::new(&column, second);
            for _ in 0..1_000 {
                if read.next().is_err() {
                    break;
                }
            }
        }
    }
}
