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

    /// The rates of a counter that grew in none of so many readings, which all can be compared.
    pub(crate) fn at_rest(readings: usize, took_ns: u64) -> Self {
        StepSums { readings: readings as u32, min: 0.0, max: 0.0, last: 0.0, sum: 0, took_ns }
    }

    /// The rates of a counter, each over the time since the reading before it; `None` if no reading
    /// can be compared with the one before.  `took_ns` is the time of all of them, if all can.
    #[inline]
    pub(crate) fn of_growths(
        before: Option<u64>,
        raws: &[u64],
        times: Times<'_>,
        took_ns: Option<u64>,
    ) -> Option<Self> {
        let whole = took_ns.zip(before).and_then(|(took_ns, before)| {
            Self::steady_growths(before, raws, times.seconds, took_ns)
        });
        if whole.is_some() {
            return whole;
        }
        let (mut before, mut sums) = (before, None::<StepSums>);
        for ((&raw, &seconds), &took_ns) in raws.iter().zip(times.seconds).zip(times.took_ns) {
            let then = before.replace(raw).filter(|_| seconds > 0.0);
            let Some(increase) = then.and_then(|then| sample::increase(then, raw)) else {
                continue;
            };
            let one = StepSums::of(FieldValue::Growth { increase, seconds, took_ns });
            match &mut sums {
                Some(sums) => sums.add(&one),
                None => sums = Some(one),
            }
        }
        sums
    }

    /// The sums of a counter that is not reset in any of the readings, which all can be compared;
    /// `None` if it is, or has very large values.
    #[inline]
    fn steady_growths(before: u64, raws: &[u64], seconds: &[f64], took_ns: u64) -> Option<Self> {
        let (&end, &last) = raws.last().zip(seconds.last())?;
        let ((&first, nows), (&time, times)) = raws.split_first().zip(seconds.split_first())?;
        let mut rates = Rates::default();
        rates.add_one((before, first), time);
        let (thens, thens_left) = raws[..nows.len()].as_chunks();
        let (nows, nows_left) = nows.as_chunks();
        let (times, times_left) = times.as_chunks();
        for ((thens, nows), times) in thens.iter().zip(nows).zip(times) {
            rates.add(thens, nows, times);
        }
        for ((&then, &now), &time) in thens_left.iter().zip(nows_left).zip(times_left) {
            rates.add_one((then, now), time);
        }
        if !rates.are_exact() || before > i64::MAX.cast_unsigned() {
            return None;
        }
        let then = raws.len().checked_sub(2).map_or(before, |at| raws[at]);
        Some(StepSums {
            readings: raws.len() as u32,
            min: rates.smallest.into_iter().fold(f64::INFINITY, smaller),
            max: rates.largest.into_iter().fold(f64::NEG_INFINITY, larger),
            last: (end - then) as f64 / last,
            sum: i128::from(end - before),
            took_ns,
        })
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

/// Rates are taken in so many lanes, which are computed at once.
const LANES: usize = 4;

/// The smallest and the largest of some rates, and whether they are exact.
struct Rates {
    smallest: [f64; LANES],
    largest: [f64; LANES],
    /// The bits of all increases, and those of all counters.
    increases: [u64; LANES],
    raws: [u64; LANES],
}

impl Default for Rates {
    fn default() -> Self {
        Rates {
            smallest: [f64::INFINITY; LANES],
            largest: [f64::NEG_INFINITY; LANES],
            increases: [0; LANES],
            raws: [0; LANES],
        }
    }
}

impl Rates {
    /// An increase of so many bits is the mantissa of a floating number: baseline x86-64 has no
    /// instruction that converts several integers at once.
    const MANTISSA_BITS: u32 = f64::MANTISSA_DIGITS - 1;
    const MANTISSAS_FROM: f64 = (1_u64 << Self::MANTISSA_BITS) as f64;

    /// Adds the rates between two readings in each lane.
    #[inline]
    fn add(&mut self, thens: &[u64; LANES], nows: &[u64; LANES], seconds: &[f64; LANES]) {
        for lane in 0..LANES {
            let increase = nows[lane].wrapping_sub(thens[lane]);
            self.increases[lane] |= increase;
            self.raws[lane] |= nows[lane];
            let number = f64::from_bits(increase | Self::MANTISSAS_FROM.to_bits());
            let rate = (number - Self::MANTISSAS_FROM) / seconds[lane];
            self.smallest[lane] = smaller(self.smallest[lane], rate);
            self.largest[lane] = larger(self.largest[lane], rate);
        }
    }

    /// Adds the rate between two readings, in all lanes.
    #[inline]
    fn add_one(&mut self, (then, now): (u64, u64), seconds: f64) {
        self.add(&[then; LANES], &[now; LANES], &[seconds; LANES]);
    }

    /// Whether no increase was too large; a reset is one, unless counters are very large.
    fn are_exact(&self) -> bool {
        let bits = |all: [u64; LANES]| all.into_iter().fold(0, |all, one| all | one);
        bits(self.increases) >> Self::MANTISSA_BITS == 0
            && bits(self.raws) <= i64::MAX.cast_unsigned()
    }
}

#[inline]
fn smaller(one: f64, other: f64) -> f64 {
    if other < one { other } else { one }
}

#[inline]
fn larger(one: f64, other: f64) -> f64 {
    if other > one { other } else { one }
}

/// For each of some readings the time since the one before: in seconds, 0 if the two cannot be
/// compared, and by the clock of the recording.  Seconds are one after the other, as lanes take them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times<'a> {
    pub(crate) seconds: &'a [f64],
    pub(crate) took_ns: &'a [u64],
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Random;

    #[test]
    fn those_of_a_step_are_what_its_values_are_one_by_one() {
        let mut random = Random::from_seed(7);
        for case in 0..2_000_u64 {
            let limit = [3, 1 << 40, 1 << 53, u64::MAX][case as usize % 4];
            let count = random.below(19) as usize;
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
            let known = 1 + random.below(9);
            let seconds: Vec<f64> = (0..count)
                .map(|_| match random.below(9 * known) {
                    0 => 0.0,
                    more => 1.0 + more as f64 / 7.0,
                })
                .collect();
            let took_ns = vec![1; count];
            let times = Times { seconds: &seconds, took_ns: &took_ns };
            let is_whole = seconds.iter().all(|&seconds| seconds > 0.0);
            let took_ns = is_whole.then_some(count as u64);
            let before = (random.below(4) > 0).then(|| random.bits() % limit);
            let fast = StepSums::of_growths(before, &raws, times, took_ns);
            let slow = StepSums::of_growths(before, &raws, times, None);
            assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{before:?} {raws:?}");
            if let Some((took_ns, &first)) = took_ns.zip(raws.first()) {
                let raws = vec![first; count];
                let slow = StepSums::of_growths(Some(first), &raws, times, None);
                let fast = Some(StepSums::at_rest(count, took_ns));
                assert_eq!(format!("{fast:?}"), format!("{slow:?}"), "{first}");
            }
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
