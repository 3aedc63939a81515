//! Maps by the number of a task, which are used several times for each line.
//!
//! The kernel assigns numbers in sequence, and these maps are bounded, so a multiplication is
//! enough of a hash; the standard hash, which withstands chosen keys, takes ten times as long.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by the number of a task.
pub(crate) type TaskMap<V> = HashMap<i32, V, BuildHasherDefault<TaskHasher>>;

/// Hashes one number.
#[derive(Default)]
pub(crate) struct TaskHasher(u64);

impl Hasher for TaskHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_i32(&mut self, number: i32) {
        // 2^64 divided by the golden ratio: the upper half of the product is well mixed, and the
        // map uses both ends.
        let product = u64::from(number.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ (product >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_i32(i32::from(*byte) ^ (self.0 as i32).rotate_left(8));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    use super::*;

    #[test]
    fn neighbours_are_spread() {
        let hasher = BuildHasherDefault::<TaskHasher>::default();
        for step in [1, 2, 64, 4096] {
            let hashes = (0..1024).map(|number| hasher.hash_one(number * step));
            let (low, high): (HashSet<_>, HashSet<_>) =
                hashes.map(|hash| (hash & 0x3ff, hash >> 57)).unzip();
            assert!(low.len() > 512, "{step}: {} places of 1024", low.len());
            assert!(high.len() > 96, "{step}: {} marks of 128", high.len());
        }
    }
}
