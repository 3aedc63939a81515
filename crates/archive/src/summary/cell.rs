//! What a summary keeps of the values of one column in one window.

use recording::{Corrupt, unzigzag, zigzag};

use super::streams::{Numbers, Stream, Streams};
use crate::FieldValue;
use crate::step_sums::StepSums;

/// The values of a field of an instance in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// How many there are.
    pub(crate) count: u32,
    /// The sum of a gauge's levels, or how much a counter grew.
    pub(crate) sum: i128,
    /// The time in which a counter grew; 0 for a gauge.
    pub(crate) took_ns: u64,
    pub(crate) min: FieldValue,
    pub(crate) max: FieldValue,
    pub(crate) last: FieldValue,
}

/// What most columns of an instance have in a window: only what differs is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Expected {
    /// How many levels of a gauge.
    pub(super) levels: u32,
    /// How many rates of a counter, and the time that they cover.
    pub(super) rates: u32,
    pub(super) took_ns: u64,
    /// The time of the last rate, as [`time_bits`] gives it.
    pub(super) last_time: u64,
}

impl Expected {
    /// Adds a later window.
    pub(super) fn merge(&mut self, later: &Expected) {
        self.levels = self.levels.saturating_add(later.levels);
        self.rates = self.rates.saturating_add(later.rates);
        self.took_ns = self.took_ns.saturating_add(later.took_ns);
        if later.rates > 0 {
            self.last_time = later.last_time;
        }
    }
}

/// What a column had in the windows before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// The last level of a gauge; of a text its number and 1, or 0.
    pub(super) level: u64,
    /// The first level of the instance that has one, or of an instance before.
    pub(super) first: u64,
    /// Whether the instance has a first level.
    pub(super) has_level: bool,
    /// How much a counter grew in the latest window that is written.
    sum: u64,
}

impl Before {
    /// Begins the next instance.
    pub(super) fn begin(&mut self) {
        *self = Before { first: self.first, ..Before::default() };
    }
}

/// How the values of a column are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gauge,
    Counter {
        /// Whether seconds are not those of the recording's clock
        /// ([`sample::Meta::has_single_clock`]).
        single_clock: bool,
    },
    Text,
}

/// The two lowest bits of a token: what it says of its window.  The bits above are a number of
/// windows for the first two, and flags for the others.
pub(super) const SAME: u64 = 0;
pub(super) const MISSING: u64 = 1;
const USUAL: u64 = 2;
const UNUSUAL: u64 = 3;

/// The largest value is the last one; the sum has two varints.
const MAX_IS_LAST: u64 = 1 << 2;
const IS_WIDE: u64 = 1 << 3;

/// Flags of a gauge: the smallest level is the last one, or the last one of the window before; the
/// largest is that.  A level that moved once in a window has no number of its own.
const MIN_IS_LAST: u64 = 1 << 4;
const MIN_IS_BEFORE: u64 = 1 << 5;
const MAX_IS_BEFORE: u64 = 1 << 6;
const IS_FLAT: u64 = MIN_IS_LAST | MAX_IS_LAST;

/// Flags of a counter: the smallest growth is 0, the last one is 0, the time of the last one is the
/// expected one.
const MIN_IS_ZERO: u64 = 1 << 4;
const LAST_IS_ZERO: u64 = 1 << 5;
const LAST_TIME_IS_EXPECTED: u64 = 1 << 6;

/// Codes of a last growth, of which a zero without the expected time says that the counter grew once:
/// the largest growth is the sum.
const LAST: u64 = LAST_IS_ZERO | LAST_TIME_IS_EXPECTED;
const GREW_ONCE: u64 = LAST_IS_ZERO;

impl Cell {
    /// One value.
    pub(crate) fn of(value: FieldValue) -> Self {
        let (sum, took_ns) = match value {
            FieldValue::Level(level) => (i128::from(level), 0),
            FieldValue::Growth { increase, took_ns, .. } => (i128::from(increase), took_ns),
        };
        Cell { count: 1, sum, took_ns, min: value, max: value, last: value }
    }

    /// What a step has of it.
    pub(super) fn sums(&self) -> StepSums {
        StepSums {
            readings: self.count,
            min: self.min.number(),
            max: self.max.number(),
            last: self.last.number(),
            sum: self.sum,
            took_ns: self.took_ns,
        }
    }

    /// Adds a later window.
    pub(crate) fn merge(&mut self, later: &Cell) {
        self.count = self.count.saturating_add(later.count);
        self.sum = self.sum.saturating_add(later.sum);
        self.took_ns = self.took_ns.saturating_add(later.took_ns);
        if later.min.number() < self.min.number() {
            self.min = later.min;
        }
        if later.max.number() > self.max.number() {
            self.max = later.max;
        }
        self.last = later.last;
    }
}

impl Coding {
    /// The window of a column of which nothing is written.
    pub(super) fn same(self, expected: &Expected, level: u64) -> Option<Cell> {
        let (count, took_ns, value) = match self {
            Coding::Gauge => (expected.levels, 0, FieldValue::Level(level.cast_signed())),
            Coding::Counter { .. } => (expected.rates, expected.took_ns, NO_GROWTH),
            Coding::Text => return None,
        };
        let sum = match value {
            FieldValue::Level(level) => i128::from(level) * i128::from(count),
            FieldValue::Growth { .. } => 0,
        };
        let cell = Cell { count, sum, took_ns, min: value, max: value, last: value };
        (count > 0).then_some(cell)
    }

    /// Whether nothing has to be written of a window; `level` is the gauge's last level before it.
    pub(super) fn is_same(self, cell: Option<&Cell>, expected: &Expected, level: u64) -> bool {
        let (Some(cell), Some(same)) = (cell, self.same(expected, level)) else {
            return cell.is_none() && self.same(expected, level).is_none();
        };
        let is_still = match self {
            Coding::Gauge => (cell.min, cell.max) == (same.min, same.max) && cell.last == same.last,
            _ => true,
        };
        (cell.count, cell.took_ns, cell.sum) == (same.count, same.took_ns, same.sum) && is_still
    }

    /// Appends a window of a column to `out`.
    pub(super) fn write(
        self,
        cell: &Cell,
        expected: &Expected,
        before: &mut Before,
        out: &mut Numbers,
    ) {
        match cell.last {
            FieldValue::Level(last) => write_gauge(cell, last, expected, before, out),
            FieldValue::Growth { increase, .. } => {
                let single_clock = self == Coding::Counter { single_clock: true };
                write_counter(cell, increase, expected, (single_clock, before), out);
            }
        }
    }

    /// Reads what [`write`](Self::write) wrote, after its token.
    pub(super) fn read(
        self,
        token: u64,
        expected: &Expected,
        before: &mut Before,
        streams: &mut Streams<'_>,
    ) -> Result<Cell, Corrupt> {
        match self {
            Coding::Gauge => read_gauge(token, expected, before, streams),
            Coding::Counter { single_clock } => {
                read_counter(token, expected, (single_clock, before), streams)
            }
            Coding::Text => Err(Corrupt("a text has no sum")),
        }
    }
}

/// A counter that did not grow, in any time.
const NO_GROWTH: FieldValue = FieldValue::Growth { increase: 0, seconds: 1.0, took_ns: 0 };

fn write_gauge(
    cell: &Cell,
    last: i64,
    expected: &Expected,
    before: &mut Before,
    out: &mut Numbers,
) {
    let is_usual = cell.count == expected.levels;
    let apart = cell.sum - i128::from(last) * i128::from(cell.count);
    let narrow = i64::try_from(apart).ok();
    let mut token = if is_usual { USUAL } else { UNUSUAL };
    token |= if narrow.is_none() { IS_WIDE } else { 0 };
    let level_before = FieldValue::Level(before.level.cast_signed());
    for (end, is_last, is_before) in
        [(cell.min, MIN_IS_LAST, MIN_IS_BEFORE), (cell.max, MAX_IS_LAST, MAX_IS_BEFORE)]
    {
        token |= match end {
            _ if end == cell.last => is_last,
            _ if end == level_before => is_before,
            _ => 0,
        };
    }
    out.put(Stream::Tokens, token);
    if !is_usual {
        out.put(Stream::Counts, u64::from(cell.count));
    }
    let last = last.cast_unsigned();
    if std::mem::replace(&mut before.has_level, true) {
        out.put(Stream::Lasts, zigzag(last.wrapping_sub(before.level)));
    } else {
        before.first = last;
    }
    before.level = last;
    if token & (MIN_IS_LAST | MIN_IS_BEFORE) == 0 {
        out.put(Stream::Smallest, last.wrapping_sub(bits(cell.min)));
    }
    if token & (MAX_IS_LAST | MAX_IS_BEFORE) == 0 {
        out.put(Stream::Largest, bits(cell.max).wrapping_sub(last));
    }
    if token & IS_FLAT != IS_FLAT {
        put_sum(out, apart, narrow, 0);
    }
}

fn read_gauge(
    token: u64,
    expected: &Expected,
    before: &mut Before,
    streams: &mut Streams<'_>,
) -> Result<Cell, Corrupt> {
    let count = match token & 3 {
        UNUSUAL => count(streams)?,
        _ => expected.levels,
    };
    let level_before = before.level;
    if std::mem::replace(&mut before.has_level, true) {
        before.level = before.level.wrapping_add(unzigzag(streams.next(Stream::Lasts)?));
    } else {
        before.first = before.first.wrapping_add(unzigzag(streams.next(Stream::Firsts)?));
        before.level = before.first;
    }
    let last = before.level;
    let min = match token & (MIN_IS_LAST | MIN_IS_BEFORE) {
        0 => last.wrapping_sub(streams.next(Stream::Smallest)?),
        MIN_IS_BEFORE => level_before,
        _ => last,
    };
    let max = match token & (MAX_IS_LAST | MAX_IS_BEFORE) {
        0 => last.wrapping_add(streams.next(Stream::Largest)?),
        MAX_IS_BEFORE => level_before,
        _ => last,
    };
    let apart = if token & IS_FLAT == IS_FLAT { 0 } else { sum(token, streams, 0)? };
    let level = |bits: u64| FieldValue::Level(bits.cast_signed());
    let sum = (i128::from(last.cast_signed()) * i128::from(count)).saturating_add(apart);
    Ok(Cell { count, sum, took_ns: 0, min: level(min), max: level(max), last: level(last) })
}

fn write_counter(
    cell: &Cell,
    last: u64,
    expected: &Expected,
    (single_clock, before): (bool, &mut Before),
    out: &mut Numbers,
) {
    let is_usual = (cell.count, cell.took_ns) == (expected.rates, expected.took_ns);
    let time = |value| time_bits(value, single_clock);
    let grew_once =
        last == 0 && cell.count > 1 && cell.sum > 0 && cell.sum == i128::from(bits(cell.max));
    // Of a last growth of zero the time says nothing.
    let last_is_expected =
        if last == 0 { !grew_once } else { time(cell.last) == expected.last_time };
    let narrow = i64::try_from(cell.sum).ok();
    let mut token = if is_usual { USUAL } else { UNUSUAL };
    let flags = [
        (bits(cell.min) == 0, MIN_IS_ZERO),
        (last == 0, LAST_IS_ZERO),
        (last_is_expected, LAST_TIME_IS_EXPECTED),
        (cell.max.number() == cell.last.number(), MAX_IS_LAST),
        (narrow.is_none(), IS_WIDE),
    ];
    token |= flags.iter().filter(|flag| flag.0).fold(0, |all, flag| all | flag.1);
    out.put(Stream::Tokens, token);
    if !is_usual {
        out.put(Stream::Counts, u64::from(cell.count));
        out.put(Stream::Counts, zigzag(cell.took_ns.wrapping_sub(expected.took_ns)));
    }
    let clock =
        TimeCoding { mean: mean_time(cell.count, cell.took_ns, single_clock), single_clock };
    put_sum(out, cell.sum, narrow, before.sum);
    before.sum = cell.sum as u64;
    if last > 0 {
        // Of a single value the sum is known.
        if cell.count > 1 {
            out.put(Stream::Lasts, last);
        }
        if !last_is_expected {
            out.put(Stream::Times, clock.exact(time(cell.last)));
        }
    }
    if cell.count > 1 {
        let ends =
            [(cell.min, MIN_IS_ZERO, Stream::Smallest), (cell.max, MAX_IS_LAST, Stream::Largest)];
        for (value, _, stream) in ends.into_iter().filter(|end| token & end.1 == 0) {
            // The smallest growth of one that grew once is zero.
            if !grew_once {
                out.put(stream, bits(value));
            }
            out.put(Stream::Times, clock.about(time(value)));
        }
    }
}

fn read_counter(
    token: u64,
    expected: &Expected,
    (single_clock, before): (bool, &mut Before),
    streams: &mut Streams<'_>,
) -> Result<Cell, Corrupt> {
    let (count, took_ns) = match token & 3 {
        UNUSUAL => {
            let count = count(streams)?;
            let apart_ns = unzigzag(streams.next(Stream::Counts)?);
            (count, expected.took_ns.wrapping_add(apart_ns))
        }
        _ => (expected.rates, expected.took_ns),
    };
    let clock = TimeCoding { mean: mean_time(count, took_ns, single_clock), single_clock };
    let growth = |increase: u64, time: u64| {
        let seconds = if single_clock { f64::from_bits(time) } else { time as f64 / 1e9 };
        if increase > 0 && (seconds.is_nan() || seconds <= 0.0) {
            return Err(Corrupt("a rate has no time"));
        }
        Ok(if increase == 0 {
            NO_GROWTH
        } else {
            FieldValue::Growth { increase, seconds, took_ns: if single_clock { 0 } else { time } }
        })
    };
    let sum = sum(token, streams, before.sum)?;
    before.sum = sum as u64;
    let mut last = NO_GROWTH;
    let single = || u64::try_from(sum).map_err(|_| Corrupt("a counter shrinks"));
    if token & LAST_IS_ZERO == 0 {
        let increase = if count > 1 { streams.next(Stream::Lasts)? } else { single()? };
        let time = match token & LAST_TIME_IS_EXPECTED {
            0 => clock.time(streams.next(Stream::Times)?),
            _ => expected.last_time,
        };
        last = growth(increase, time)?;
    }
    let (mut min, mut max) = (last, last);
    if count > 1 {
        let is_sum = token & LAST == GREW_ONCE;
        let mut end = |stream| {
            let increase = if is_sum { single()? } else { streams.next(stream)? };
            growth(increase, clock.time(streams.next(Stream::Times)?))
        };
        min = if token & MIN_IS_ZERO == 0 { end(Stream::Smallest)? } else { NO_GROWTH };
        max = if token & MAX_IS_LAST == 0 { end(Stream::Largest)? } else { last };
        // Times are rounded.
        min = if min.number() > last.number() { last } else { min };
        max = if max.number() < last.number() { last } else { max };
    }
    Ok(Cell { count, sum, took_ns, min, max, last })
}

/// How the time of a rate is written: less the mean time of the rates of its window.
struct TimeCoding {
    /// As [`time_bits`].
    mean: u64,
    single_clock: bool,
}

impl TimeCoding {
    /// Times are rounded to so many bits: the rates of an hour, rounded twice, are wrong by less
    /// than a millionth.
    const BITS: u32 = 21;

    /// What times are rounded to.
    fn quantum(&self) -> u64 {
        if self.single_clock { 1 } else { (self.mean >> Self::BITS).max(1) }
    }

    /// The time as it is.
    fn exact(&self, time: u64) -> u64 {
        // The highest bit makes room for the flag: times of more than a century lose it.
        zigzag(time.wrapping_sub(self.mean)) << 1 | 1
    }

    /// The time rounded, if it is not much shorter than the mean.
    fn about(&self, time: u64) -> u64 {
        let (apart, quantum) = (time.wrapping_sub(self.mean).cast_signed(), self.quantum());
        let half = (quantum / 2).cast_signed();
        let rounded = apart.saturating_add(half).div_euclid(quantum.cast_signed());
        let number = zigzag(rounded.cast_unsigned()) << 1;
        if self.time(number).abs_diff(time) <= time >> Self::BITS {
            number
        } else {
            self.exact(time)
        }
    }

    fn time(&self, number: u64) -> u64 {
        let apart = unzigzag(number >> 1);
        let factor = if number & 1 == 0 { self.quantum() } else { 1 };
        self.mean.wrapping_add(apart.wrapping_mul(factor))
    }
}

/// The bits of a level, or how much a counter grew.
fn bits(value: FieldValue) -> u64 {
    match value {
        FieldValue::Level(level) => level.cast_unsigned(),
        FieldValue::Growth { increase, .. } => increase,
    }
}

/// The time of a rate as an integer that gives the same rate again.
pub(super) fn time_bits(value: FieldValue, single_clock: bool) -> u64 {
    match value {
        FieldValue::Level(_) => 0,
        FieldValue::Growth { seconds, .. } if single_clock => seconds.to_bits(),
        FieldValue::Growth { took_ns, .. } => took_ns,
    }
}

/// The mean time of so many rates, as [`time_bits`].
pub(super) fn mean_time(count: u32, took_ns: u64, single_clock: bool) -> u64 {
    let mean_ns = took_ns / u64::from(count.max(1));
    if single_clock { (mean_ns as f64 / 1e9).to_bits() } else { mean_ns }
}

fn count(streams: &mut Streams<'_>) -> Result<u32, Corrupt> {
    let count = u32::try_from(streams.next(Stream::Counts)?).ok().filter(|&count| count > 0);
    count.ok_or(Corrupt("a window has no values"))
}

/// Writes a sum less the one before as one varint, if it fits as `narrow`, else as it is in two.
fn put_sum(out: &mut Numbers, sum: i128, narrow: Option<i64>, before: u64) {
    match narrow {
        Some(narrow) => {
            out.put(Stream::Sums, zigzag(narrow.cast_unsigned().wrapping_sub(before)));
        }
        None => {
            out.put(Stream::Sums, sum as u64);
            out.put(Stream::Sums, (sum >> 64) as u64);
        }
    }
}

fn sum(token: u64, streams: &mut Streams<'_>, before: u64) -> Result<i128, Corrupt> {
    let low = streams.next(Stream::Sums)?;
    if token & IS_WIDE == 0 {
        return Ok(i128::from(unzigzag(low).wrapping_add(before).cast_signed()));
    }
    let high = streams.next(Stream::Sums)?.cast_signed();
    Ok(i128::from(high) << 64 | i128::from(low))
}
