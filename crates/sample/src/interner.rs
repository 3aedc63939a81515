//! Numbers byte strings: instance names and texts of a table or of a block of a recording.
//!
//! Numbers count up from 0 in the order of first appearance.  All bytes are in one buffer, so
//! that clearing it frees nothing and the next strings allocate nothing.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// An empty entry of the hash table.
const EMPTY: u32 = u32::MAX;

/// Byte strings by number, and their numbers by content.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    bytes: Vec<u8>,
    spans: Vec<Range<u32>>,
    /// Open addressing, a power of two long, at most half full.
    table: Vec<u32>,
    /// With random keys, since an attacker may choose instance names.
    hasher: RandomState,
}

impl Interner {
    /// Removes all strings, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.table.fill(EMPTY);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The string with that number.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        let span = self.spans.get(number)?;
        self.bytes.get(span.start as usize..span.end as usize)
    }

    /// Adds a string under the next number, even if there is an equal one.
    pub fn push(&mut self, string: &[u8]) -> usize {
        if self.table.len() <= 2 * self.spans.len() {
            self.grow();
        }
        let number = self.spans.len();
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(string);
        self.spans.push(start..self.bytes.len() as u32);
        self.place(number);
        number
    }

    /// The first number of an equal string for which `usable` returns true.
    pub fn find(&self, string: &[u8], usable: impl Fn(usize) -> bool) -> Option<usize> {
        let mask = self.table.len().checked_sub(1)?;
        let mut at = self.hasher.hash_one(string) as usize & mask;
        while self.table[at] != EMPTY {
            let number = self.table[at] as usize;
            if self.get(number) == Some(string) && usable(number) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
        None
    }

    fn place(&mut self, number: usize) {
        let mask = self.table.len() - 1;
        let span = &self.spans[number];
        let string = &self.bytes[span.start as usize..span.end as usize];
        let mut at = self.hasher.hash_one(string) as usize & mask;
        while self.table[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.table[at] = number as u32;
    }

    fn grow(&mut self) {
        let length = (self.table.len() * 2).max(16);
        self.table.clear();
        self.table.resize(length, EMPTY);
        for number in 0..self.spans.len() {
            self.place(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_up_and_twins_are_apart() {
        let mut names = Interner::default();
        for number in 0..100 {
            assert_eq!(names.push(format!("eth{number}").as_bytes()), number);
        }
        assert_eq!(names.find(b"eth42", |_| true), Some(42));
        assert_eq!(names.push(b"eth42"), 100);
        assert_eq!(names.find(b"eth42", |number| number != 42), Some(100));
        assert_eq!(names.find(b"eth42", |number| number < 42), None);
        names.clear();
        assert_eq!(names.find(b"eth42", |_| true), None);
        assert_eq!(names.push(b""), 0);
        assert_eq!(names.get(0), Some(b"".as_slice()));
        assert_eq!(names.find(b"", |_| true), Some(0));
    }
}
