//! The steps of an answer: a period cut at round times.

use archive::{RangeQuery, Recordings};

/// Steps of less than a second, in milliseconds.
const SHORT_STEPS_MS: [i64; 6] = [10, 20, 50, 100, 200, 500];

/// A period in nanoseconds since the epoch: from its first time up to its second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) from_ns: i64,
    pub(crate) thru_ns: i64,
}

impl Period {
    /// The period of a length that ends where this one begins.
    pub(crate) fn before(self, length_ns: i64) -> Period {
        Period { from_ns: self.from_ns.saturating_sub(length_ns), thru_ns: self.from_ns }
    }
}

/// The steps of an answer, which begin at round times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    pub(crate) from_ns: i64,
    pub(crate) thru_ns: i64,
    pub(crate) step_ns: i64,
    pub(crate) count: usize,
}

impl Steps {
    /// At most so many steps, none of them shorter than the interval of the readings.  Where each
    /// step has one reading, and the readings are at the ends of steps, some would have two and
    /// others none: then they begin half a step later.  `nice_ns` is the step that people read
    /// easily, at least a second; `reading_ns` is the time of a reading.
    pub(crate) fn of(
        period: Period,
        points: usize,
        interval_ns: i64,
        nice_ns: impl FnOnce() -> i64,
        reading_ns: impl FnOnce() -> Option<i64>,
    ) -> Self {
        let Period { from_ns, thru_ns } = period;
        let begin_ns =
            |step_ns: i64, shift_ns: i64| from_ns - (from_ns - shift_ns).rem_euclid(step_ns);
        let count = |step_ns: i64, shift_ns: i64| {
            ((thru_ns - begin_ns(step_ns, shift_ns) - 1) / step_ns + 1).unsigned_abs() as usize
        };
        let short = SHORT_STEPS_MS.iter().map(|step_ms| step_ms * 1_000_000);
        let mut short = short.filter(|&step_ns| 0 < interval_ns && interval_ns <= step_ns);
        let step_ns = short.find(|&step_ns| count(step_ns, 0) <= points).unwrap_or_else(|| {
            let shortest_ns = Recordings::aligned_step(0, interval_ns.max(1), 1);
            nice_ns().max(shortest_ns)
        });
        // A reading is late and never early.
        let is_near = |at_ns: i64| step_ns - at_ns.rem_euclid(step_ns) < step_ns / 10;
        let is_single = step_ns < interval_ns.saturating_mul(2);
        let shifts = is_single && reading_ns().is_some_and(is_near);
        let mut shift_ns = if shifts { step_ns / 2 } else { 0 };
        if count(step_ns, shift_ns) > points {
            shift_ns = 0;
        }
        let from_ns = begin_ns(step_ns, shift_ns);
        Steps { from_ns, thru_ns, step_ns, count: count(step_ns, shift_ns) }
    }

    /// The question to the archive for fields in these steps.
    pub(crate) fn query(
        &self,
        host: &str,
        source: &str,
        fields: &[&str],
        names: &[Vec<u8>],
    ) -> RangeQuery {
        RangeQuery {
            host: host.to_owned(),
            source: source.to_owned(),
            fields: fields.iter().map(|field| (*field).to_owned()).collect(),
            instances: names.to_vec(),
            from_ns: self.from_ns,
            thru_ns: self.thru_ns,
            step_ns: self.step_ns,
        }
    }
}
