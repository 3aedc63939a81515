//! What a summary keeps of the values of one column in one window.

use recording::{Bytes, Corrupt, put, unzigzag, zigzag};

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

/// Flags of a gauge: all levels are the last one; the sum has two varints.
const IS_FLAT: u64 = 1 << 2;
const IS_WIDE: u64 = 1 << 3;

/// Flags of a counter: the smallest growth is 0, the last one is 0, the time of the last one is the
/// expected one, the largest is the last one.  `IS_WIDE` as above.
const MIN_IS_ZERO: u64 = 1 << 4;
const LAST_IS_ZERO: u64 = 1 << 5;
const LAST_TIME_IS_EXPECTED: u64 = 1 << 6;
const MAX_IS_LAST: u64 = 1 << 2;

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

    /// Appends a window of a column to `out`; `level` is the gauge's last level before it.
    pub(super) fn write(self, cell: &Cell, expected: &Expected, level: u64, out: &mut Vec<u8>) {
        match cell.last {
            FieldValue::Level(last) => write_gauge(cell, last, expected, level, out),
            FieldValue::Growth { increase, .. } => {
                let single_clock = self == Coding::Counter { single_clock: true };
                write_counter(cell, increase, expected, single_clock, out);
            }
        }
    }

    /// Reads what [`write`](Self::write) wrote, after its token.
    pub(super) fn read(
        self,
        token: u64,
        expected: &Expected,
        level: u64,
        bytes: &mut Bytes<'_>,
    ) -> Result<Cell, Corrupt> {
        match self {
            Coding::Gauge => read_gauge(token, expected, level, bytes),
            Coding::Counter { single_clock } => read_counter(token, expected, single_clock, bytes),
            Coding::Text => Err(Corrupt("a text has no sum")),
        }
    }
}

/// A counter that did not grow, in any time.
const NO_GROWTH: FieldValue = FieldValue::Growth { increase: 0, seconds: 1.0, took_ns: 0 };

fn write_gauge(cell: &Cell, last: i64, expected: &Expected, level: u64, out: &mut Vec<u8>) {
    let is_usual = cell.count == expected.levels;
    let is_flat = (cell.min, cell.max) == (cell.last, cell.last);
    let apart = cell.sum - i128::from(last) * i128::from(cell.count);
    let narrow = narrow(apart);
    let mut token = if is_usual { USUAL } else { UNUSUAL };
    token |= if is_flat { IS_FLAT } else { 0 };
    token |= if narrow.is_none() { IS_WIDE } else { 0 };
    put(out, token);
    if !is_usual {
        put(out, u64::from(cell.count));
    }
    put(out, zigzag(last.cast_unsigned().wrapping_sub(level)));
    if !is_flat {
        put(out, last.cast_unsigned().wrapping_sub(bits(cell.min)));
        put(out, bits(cell.max).wrapping_sub(last.cast_unsigned()));
        put_sum(out, apart, narrow);
    }
}

fn read_gauge(
    token: u64,
    expected: &Expected,
    level: u64,
    bytes: &mut Bytes<'_>,
) -> Result<Cell, Corrupt> {
    let count = match token & 3 {
        UNUSUAL => count(bytes)?,
        _ => expected.levels,
    };
    let last = level.wrapping_add(unzigzag(bytes.varint()?));
    let (mut min, mut max, mut apart) = (last, last, 0);
    if token & IS_FLAT == 0 {
        min = last.wrapping_sub(bytes.varint()?);
        max = last.wrapping_add(bytes.varint()?);
        apart = sum(token, bytes)?;
    }
    let level = |bits: u64| FieldValue::Level(bits.cast_signed());
    let sum = (i128::from(last.cast_signed()) * i128::from(count)).saturating_add(apart);
    Ok(Cell { count, sum, took_ns: 0, min: level(min), max: level(max), last: level(last) })
}

fn write_counter(
    cell: &Cell,
    last: u64,
    expected: &Expected,
    single_clock: bool,
    out: &mut Vec<u8>,
) {
    let is_usual = (cell.count, cell.took_ns) == (expected.rates, expected.took_ns);
    let time = |value| time_bits(value, single_clock);
    let last_is_expected = time(cell.last) == expected.last_time || last == 0;
    let narrow = narrow(cell.sum);
    let mut token = if is_usual { USUAL } else { UNUSUAL };
    let flags = [
        (bits(cell.min) == 0, MIN_IS_ZERO),
        (last == 0, LAST_IS_ZERO),
        (last_is_expected, LAST_TIME_IS_EXPECTED),
        (cell.max.number() == cell.last.number(), MAX_IS_LAST),
        (narrow.is_none(), IS_WIDE),
    ];
    token |= flags.iter().filter(|flag| flag.0).fold(0, |all, flag| all | flag.1);
    put(out, token);
    if !is_usual {
        put(out, u64::from(cell.count));
        put(out, zigzag(cell.took_ns.wrapping_sub(expected.took_ns)));
    }
    let mean = mean_time(cell.count, cell.took_ns, single_clock);
    let put_time = |value, out: &mut Vec<u8>| put(out, zigzag(time(value).wrapping_sub(mean)));
    put_sum(out, cell.sum, narrow);
    if last > 0 {
        // Of a single value the sum is known.
        if cell.count > 1 {
            put(out, last);
        }
        if !last_is_expected {
            put_time(cell.last, out);
        }
    }
    if cell.count > 1 {
        for (value, flag) in [(cell.min, MIN_IS_ZERO), (cell.max, MAX_IS_LAST)] {
            if token & flag == 0 {
                put(out, bits(value));
                put_time(value, out);
            }
        }
    }
}

fn read_counter(
    token: u64,
    expected: &Expected,
    single_clock: bool,
    bytes: &mut Bytes<'_>,
) -> Result<Cell, Corrupt> {
    let (count, took_ns) = match token & 3 {
        UNUSUAL => {
            let count = count(bytes)?;
            (count, expected.took_ns.wrapping_add(unzigzag(bytes.varint()?)))
        }
        _ => (expected.rates, expected.took_ns),
    };
    let mean = mean_time(count, took_ns, single_clock);
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
    let sum = sum(token, bytes)?;
    let mut last = NO_GROWTH;
    if token & LAST_IS_ZERO == 0 {
        let single = || u64::try_from(sum).map_err(|_| Corrupt("a counter shrinks"));
        let increase = if count > 1 { bytes.varint()? } else { single()? };
        let time = match token & LAST_TIME_IS_EXPECTED {
            0 => mean.wrapping_add(unzigzag(bytes.varint()?)),
            _ => expected.last_time,
        };
        last = growth(increase, time)?;
    }
    let (mut min, mut max) = (last, last);
    if count > 1 {
        for (value, flag) in [(&mut min, MIN_IS_ZERO), (&mut max, MAX_IS_LAST)] {
            if token & flag == 0 {
                let increase = bytes.varint()?;
                *value = growth(increase, mean.wrapping_add(unzigzag(bytes.varint()?)))?;
            } else if flag == MIN_IS_ZERO {
                *value = NO_GROWTH;
            }
        }
    }
    Ok(Cell { count, sum, took_ns, min, max, last })
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

fn count(bytes: &mut Bytes<'_>) -> Result<u32, Corrupt> {
    let count = u32::try_from(bytes.varint()?).ok().filter(|&count| count > 0);
    count.ok_or(Corrupt("a window has no values"))
}

/// The sum as one varint, if it fits.
fn narrow(sum: i128) -> Option<u64> {
    i64::try_from(sum).ok().map(|sum| zigzag(sum.cast_unsigned()))
}

fn put_sum(out: &mut Vec<u8>, sum: i128, narrow: Option<u64>) {
    match narrow {
        Some(narrow) => put(out, narrow),
        None => {
            put(out, sum as u64);
            put(out, (sum >> 64) as u64);
        }
    }
}

fn sum(token: u64, bytes: &mut Bytes<'_>) -> Result<i128, Corrupt> {
    let low = bytes.varint()?;
    if token & IS_WIDE == 0 {
        return Ok(i128::from(unzigzag(low).cast_signed()));
    }
    let high = bytes.varint()?.cast_signed();
    Ok(i128::from(high) << 64 | i128::from(low))
}
