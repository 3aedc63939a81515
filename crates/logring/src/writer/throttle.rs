//! A limit of records in a second for the whole process: ACS's `maxLogsPerSecond`.
//!
//! A process with a limit takes the slow path for every record, so one without pays nothing.  What is
//! suppressed is counted by level in the process file, where it survives the process, and said in the
//! stream with the first record of the next second, at the end of a thread and at the end of the
//! process.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::abi::LEVEL_MASK;

/// The interval of the limit.
const SECOND_NS: u64 = 1_000_000_000;

/// What becomes of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is written.
    Yes,
    /// It is written, after what was suppressed before.
    AfterReport,
    /// It is suppressed.
    No,
}

/// What was suppressed of a level and is not said yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SuppressedLevel {
    pub(super) level: u8,
    pub(super) count: u64,
    /// `CLOCK_BOOTTIME` of the first and the last, of all levels.
    pub(super) times_ns: [u64; 2],
}

/// The limit.
#[derive(Debug)]
pub(super) struct Throttle {
    most: u32,
    /// Number of the second, and records in it: one word, so that each counts once.
    window: AtomicU64,
    first_ns: AtomicU64,
    last_ns: AtomicU64,
    reported: [AtomicU64; 16],
}

impl Throttle {
    /// At most so many records in a second; 0: none.
    pub(super) fn new(most: u32) -> Self {
        Throttle {
            most,
            window: AtomicU64::new(0),
            first_ns: AtomicU64::new(0),
            last_ns: AtomicU64::new(0),
            reported: [const { AtomicU64::new(0) }; 16],
        }
    }

    /// Forgets everything: in a child of `fork`, whose counts begin anew.
    pub(super) fn reset(&self) {
        let words = [&self.window, &self.first_ns, &self.last_ns];
        words.into_iter().chain(&self.reported).for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Counts a record of a level at a `CLOCK_BOOTTIME`; `suppressed` has the counts by level.
    pub(super) fn admit(&self, level: u8, now_ns: u64, suppressed: &[AtomicU64; 16]) -> Admission {
        let second = (now_ns / SECOND_NS) << 32;
        let most = u64::from(self.most);
        let counted = self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            let is_new = word >> 32 != second >> 32;
            let count = if is_new { 0 } else { word & u64::from(u32::MAX) };
            (count < most).then_some(second | (count + 1))
        });
        match counted {
            Ok(before) if before >> 32 != second >> 32 => Admission::AfterReport,
            Ok(_) => Admission::Yes,
            Err(_) => {
                // Not kept if another did it meanwhile: it is as early.
                let first = &self.first_ns;
                let _ = first.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
                self.last_ns.store(now_ns, Ordering::Relaxed);
                suppressed[usize::from(level & LEVEL_MASK)].fetch_add(1, Ordering::Release);
                Admission::No
            }
        }
    }

    /// What was suppressed and is not said yet: each is given once, whatever thread asks.
    pub(super) fn take_suppressed<'a>(
        &'a self,
        suppressed: &'a [AtomicU64; 16],
    ) -> impl Iterator<Item = SuppressedLevel> + 'a {
        let first_ns = self.first_ns.swap(0, Ordering::Relaxed);
        let last_ns = self.last_ns.load(Ordering::Relaxed);
        let times_ns = [if first_ns == 0 { last_ns } else { first_ns }, last_ns];
        (0..).zip(suppressed.iter().zip(&self.reported)).filter_map(move |(level, counts)| {
            let total = counts.0.load(Ordering::Acquire);
            let count = total.saturating_sub(counts.1.fetch_max(total, Ordering::Relaxed));
            (count > 0).then_some(SuppressedLevel { level, count, times_ns })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_admits_as_many_and_the_rest_is_said_once() {
        let (throttle, counts) = (Throttle::new(3), [const { AtomicU64::new(0) }; 16]);
        let mut admitted = Vec::new();
        for tick in 0..20 {
            let level = if tick % 2 == 0 { 4 } else { 8 };
            admitted.push(throttle.admit(level, 5 * SECOND_NS + tick * SECOND_NS / 10, &counts));
        }
        let kept = |range: std::ops::Range<usize>| {
            admitted[range].iter().filter(|one| **one != Admission::No).count()
        };
        assert_eq!((kept(0..10), kept(10..20)), (3, 3));
        assert_eq!(admitted[0], Admission::AfterReport);
        assert_eq!(admitted[10], Admission::AfterReport);
        let said: Vec<_> =
            throttle.take_suppressed(&counts).map(|one| (one.level, one.count)).collect();
        assert_eq!(said, [(4, 6), (8, 8)]);
        assert_eq!(throttle.take_suppressed(&counts).count(), 0);
        throttle.reset();
        assert_eq!(throttle.admit(4, 0, &counts), Admission::Yes);
        let none = Throttle::new(0);
        assert_eq!(none.admit(11, 7 * SECOND_NS, &counts), Admission::No);
    }

    #[test]
    fn threads_at_once_are_counted_exactly() {
        let (throttle, counts) = (Throttle::new(500), [const { AtomicU64::new(0) }; 16]);
        let said = AtomicU64::new(0);
        let admitted: usize = std::thread::scope(|scope| {
            let each = || {
                let mut admitted = 0;
                for _ in 0..400 {
                    admitted += usize::from(throttle.admit(4, 1, &counts) != Admission::No);
                    let sum: u64 = throttle.take_suppressed(&counts).map(|one| one.count).sum();
                    said.fetch_add(sum, Ordering::Relaxed);
                }
                admitted
            };
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(each)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!((admitted, counts[4].load(Ordering::Relaxed)), (500, 700));
        assert_eq!(said.load(Ordering::Relaxed), 700);
    }
}
