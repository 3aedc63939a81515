//! A column while its segment is gathered: most columns seldom change, so all values of a segment
//! would need much more memory than their changes.

use varint::{Bytes, put, unzigzag, zigzag};

/// A token is a varint, by its lowest two bits: a step, zigzagged; so many values without a step; so
/// many missing; a value as a varint follows.
const CHANGE: u64 = 0;
const SAME: u64 = 1;
const MISSING: u64 = 2;
const RAW: u64 = 3;

/// The values of a column, in order, some of them missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    value: u64,
    /// The kind and length of the run that is not in `tokens` yet.
    run: (u64, u64),
    tokens: Vec<u8>,
}

impl Gathered {
    /// Adds the next value.
    pub(super) fn add(&mut self, value: Option<u64>) {
        let Some(value) = value else { return self.repeat(MISSING) };
        let step = zigzag(value.wrapping_sub(self.value));
        self.value = value;
        if step == 0 {
            return self.repeat(SAME);
        }
        self.end_run();
        if step >> 62 == 0 {
            put(&mut self.tokens, step << 2 | CHANGE);
        } else {
            put(&mut self.tokens, RAW);
            put(&mut self.tokens, value);
        }
    }

    fn repeat(&mut self, kind: u64) {
        if self.run.0 != kind {
            self.end_run();
        }
        self.run = (kind, self.run.1 + 1);
    }

    fn end_run(&mut self) {
        if self.run.1 > 0 {
            put(&mut self.tokens, self.run.1 << 2 | self.run.0);
        }
        self.run = (CHANGE, 0);
    }

    /// Appends the values that are there to `values`, and to `runs` how many are missing and how
    /// many follow, in turn.
    pub(super) fn append_to(&mut self, values: &mut Vec<u64>, runs: &mut Vec<(u64, u64)>) {
        self.end_run();
        values.clear();
        runs.clear();
        let (mut bytes, mut value, mut missing) = (Bytes::new(&self.tokens), 0_u64, 0);
        // Its own tokens end where one begins.
        while let Ok(token) = bytes.varint() {
            let mut count = 1;
            match token & 3 {
                CHANGE => value = value.wrapping_add(unzigzag(token >> 2)),
                SAME => count = token >> 2,
                RAW => value = bytes.varint().unwrap_or(value),
                _ => {
                    missing = token >> 2;
                    continue;
                }
            }
            values.resize(values.len() + count as usize, value);
            match runs.last_mut().filter(|_| missing == 0) {
                Some(run) => run.1 += count,
                None => runs.push((std::mem::take(&mut missing), count)),
            }
        }
        if missing > 0 {
            runs.push((missing, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_column_returns(column in proptest::collection::vec(
            prop_oneof![1 => Just(None), 1 => any::<u64>().prop_map(Some),
                4 => (0_u64..3).prop_map(Some), 3 => Just(Some(7))], 0..200)) {
            let mut gathered = Gathered::default();
            column.iter().for_each(|&value| gathered.add(value));
            let (mut values, mut runs) = (Vec::new(), Vec::new());
            gathered.append_to(&mut values, &mut runs);
            let mut values = values.into_iter();
            let mut again = Vec::new();
            for (missing, count) in runs {
                again.resize(again.len() + missing as usize, None);
                again.extend(values.by_ref().take(count as usize).map(Some));
            }
            prop_assert_eq!(again, column);
            prop_assert_eq!(values.next(), None);
        }
    }
}
