//! The hash of names with a seed: a few nanoseconds for a path, where the standard library's takes
//! 25.
//!
//! foldhash's own seeds are of the clock and of addresses.  Names are chosen by clients, which must
//! not find ones that collide, so the seed is that of the standard library, which the kernel gives.

use std::hash::{BuildHasher, RandomState};

use foldhash::SharedSeed;
use foldhash::quality::SeedableRandomState;

/// Makes hashers with the seed of this process.
pub(crate) type NameHash = SeedableRandomState;

/// A hash with a new seed.
pub(crate) fn name_hash() -> NameHash {
    NameHash::with_seed(RandomState::new().hash_one(1), SharedSeed::global_random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_spread() {
        let hash = name_hash();
        let mut seen = std::collections::HashSet::new();
        let mut shards = [0u32; 64];
        for number in 0..100_000u32 {
            let name = format!("/var/lib/rrd/host{}/interface-{}.rrd", number / 100, number % 100);
            let own = hash.hash_one(name.as_bytes());
            assert!(seen.insert(own), "{name}");
            shards[(own >> 58) as usize] += 1;
        }
        assert!(shards.iter().all(|count| (1200..1950).contains(count)), "{shards:?}");
        let zeros: Vec<u64> =
            (0..40).map(|length| hash.hash_one(vec![0u8; length].as_slice())).collect();
        assert!(zeros.iter().enumerate().all(|(at, own)| !zeros[..at].contains(own)));
    }
}
