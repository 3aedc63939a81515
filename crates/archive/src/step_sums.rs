//! What some readings of one step have of a field of an instance.

/// A value of a field at one reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FieldValue {
    /// A gauge.
    Level(i64),
    /// A counter.
    Growth {
        /// How much it grew since the reading before.
        increase: u64,
        /// The time between the two readings.
        seconds: f64,
        /// The time between the two readings by the clock of the recording.
        took_ns: u64,
    },
}

impl FieldValue {
    /// The level, or the rate in units a second.
    #[inline]
    pub(crate) fn number(&self) -> f64 {
        match *self {
            FieldValue::Level(level) => level as f64,
            FieldValue::Growth { increase, seconds, .. } => increase as f64 / seconds,
        }
    }
}

/// The values of one or more readings, none of them missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepSums {
    /// How many there are.
    pub(crate) readings: u32,
    /// The smallest, the largest and the latest: levels, or rates a second.
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) last: f64,
    /// The sum of a gauge's levels, or how much a counter grew.
    pub(crate) sum: i128,
    /// The time in which a counter grew; 0 for a gauge.
    pub(crate) took_ns: u64,
}

impl StepSums {
    /// One value.
    pub(crate) fn of(value: FieldValue) -> Self {
        let number = value.number();
        let (sum, took_ns) = match value {
            FieldValue::Level(level) => (i128::from(level), 0),
            FieldValue::Growth { increase, took_ns, .. } => (i128::from(increase), took_ns),
        };
        StepSums { readings: 1, min: number, max: number, last: number, sum, took_ns }
    }

    /// The levels of a gauge; `None` if there are none.
    pub(crate) fn of_levels(raws: &[u64]) -> Option<Self> {
        let last = raws.last()?.cast_signed();
        let (mut min, mut max, mut sum) = (last, last, 0_i128);
        for level in raws.iter().map(|raw| raw.cast_signed()) {
            (min, max) = (min.min(level), max.max(level));
            sum += i128::from(level);
        }
        let [min, max, last] = [min, max, last].map(|level| level as f64);
        Some(StepSums { readings: raws.len() as u32, min, max, last, sum, took_ns: 0 })
    }

    /// The rates of a counter, each over the time since the reading before it; `None` if no reading
    /// can be compared with the one before.  `took_ns` is the time of all of them, if all can.
    #[inline]
    pub(crate) fn of_growths(
        before: Option<u64>,
        raws: &[u64],
        times: &[Time],
        took_ns: Option<u64>,
    ) -> Option<Self> {
        let whole = took_ns
            .zip(before)
            .and_then(|(took_ns, before)| Self::steady_growths(before, raws, times, took_ns));
        if whole.is_some() {
            return whole;
        }
        let (mut before, mut sums) = (before, None::<StepSums>);
        for (&raw, time) in raws.iter().zip(times) {
            let then = before.replace(raw).filter(|_| time.is_known());
            let Some(increase) = then.and_then(|then| sample::increase(then, raw)) else {
                continue;
            };
            let (seconds, took_ns) = (time.seconds, time.took_ns);
            let one = StepSums::of(FieldValue::Growth { increase, seconds, took_ns });
            match &mut sums {
                Some(sums) => sums.add(&one),
                None => sums = Some(one),
            }
        }
        sums
    }

    /// The sums of a counter that is not reset in any of the readings, which all can be compared;
    /// `None` if it is.  Costs 3 ns a value.
    #[inline]
    fn steady_growths(before: u64, raws: &[u64], times: &[Time], took_ns: u64) -> Option<Self> {
        let (mut then, mut signs, mut is_reset) = (before, 0, false);
        let (mut min, mut max, mut last) = (f64::INFINITY, f64::NEG_INFINITY, 0.0);
        for (&raw, time) in raws.iter().zip(times) {
            let increase = raw.wrapping_sub(then);
            is_reset |= raw < then;
            signs |= increase;
            last = increase.cast_signed() as f64 / time.seconds;
            min = if last < min { last } else { min };
            max = if last > max { last } else { max };
            then = raw;
        }
        // What is beyond 63 bits is another number than its signed one.
        let is_steady = !is_reset && signs >> 63 == 0 && !raws.is_empty();
        let sum = i128::from(then.wrapping_sub(before));
        let readings = raws.len() as u32;
        is_steady.then_some(StepSums { readings, min, max, last, sum, took_ns })
    }

    /// Adds later values.
    pub(crate) fn add(&mut self, later: &StepSums) {
        self.readings = self.readings.saturating_add(later.readings);
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.sum = self.sum.saturating_add(later.sum);
        self.took_ns = self.took_ns.saturating_add(later.took_ns);
    }
}

/// The time between a reading and the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Time {
    pub(crate) seconds: f64,
    /// The time between the two readings by the clock of the recording.
    pub(crate) took_ns: u64,
}

impl Time {
    /// The two cannot be compared.
    pub(crate) const UNKNOWN: Time = Time { seconds: 0.0, took_ns: 0 };

    pub(crate) fn is_known(&self) -> bool {
        self.seconds > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Random;

    #[test]
    fn those_of_a_step_are_what_its_values_are_one_by_one() {
        let mut random = Random::from_seed(7);
        for case in 0..2_000_u64 {
            let limit = [3, 1 << 40, u64::MAX][case as usize % 3];
            let count = random.below(9) as usize;
            let mut raw = random.bits() % limit;
            let raws: Vec<u64> = (0..count)
                .map(|_| {
                    let is_reset = random.below(8) == 0;
                    raw = if is_reset {
                        random.bits() % limit
                    } else {
                        raw.saturating_add(random.bits() % limit)
                    };
                    raw
                })
                .collect();
            let times: Vec<Time> = (0..count)
                .map(|_| match random.below(9) {
                    0 => Time::UNKNOWN,
                    _ => Time { seconds: 1.0 + random.below(9) as f64 / 7.0, took_ns: 1 },
                })
                .collect();
            let is_whole = times.iter().all(Time::is_known);
            let took_ns = is_whole.then(|| times.iter().map(|time| time.took_ns).sum());
            let before = (random.below(4) > 0).then(|| random.bits() % limit);
            let fast = StepSums::of_growths(before, &raws, &times, took_ns);
            let slow = StepSums::of_growths(before, &raws, &times, None);
            assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{before:?} {raws:?}");
            let levels = raws.iter().map(|raw| FieldValue::Level(raw.cast_signed()));
            let added = levels.map(StepSums::of).reduce(|mut sums, later| {
                sums.add(&later);
                sums
            });
            let levels = StepSums::of_levels(&raws);
            assert_eq!(format!("{levels:?}"), format!("{added:?}"), "{raws:?}");
        }
    }
}
