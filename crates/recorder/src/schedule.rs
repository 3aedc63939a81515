//! When the next sample is due.
//!
//! Ticks are at whole multiples of the interval on the wall clock, counted from a whole second
//! (or, aligned, from the epoch, so that all machines sample at the same time).  The recorder
//! sleeps until an absolute time of the monotonic clock, so errors do not accumulate.  When the
//! wall clock is set, the ticks move with it at once; when the machine was suspended or too busy,
//! the missed ticks are counted and the next one is at its regular time.
//!
//! Cost: a few integer operations a tick, no system call.

use sample::{Cadence, Moment};

use crate::intervals::Intervals;

/// The smallest change of the difference between the clocks that counts as a step of the wall
/// clock: far longer than reading both takes, far shorter than visible in a plot.
const STEP_NS_MIN: u64 = 2_000_000;

const SECOND_NS: i64 = 1_000_000_000;

/// A tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Missed ticks since the previous one.
    pub missed: u64,
    /// The step of the wall clock since the previous tick; 0 if there was none.
    pub step_ns: i64,
    /// Whether sources of the second cadence are due.
    second: bool,
    /// Whether sources of the third cadence are due.
    third: bool,
}

impl Tick {
    /// A reading of all sources beside the regular ticks.
    pub(crate) const OF_ALL: Tick = Tick::of(0, 0);

    /// A tick of a caller that has times of its own and reads what it likes at each.
    #[must_use]
    pub const fn of(missed: u64, step_ns: i64) -> Self {
        Tick { missed, step_ns, second: true, third: true }
    }

    /// Whether sources of a cadence are due.
    #[must_use]
    pub fn is_due(&self, cadence: Cadence) -> bool {
        match cadence {
            Cadence::First => true,
            Cadence::Second => self.second,
            Cadence::Third => self.third,
        }
    }
}

/// The ticks of a recorder.
#[derive(Debug)]
pub struct TickSchedule {
    intervals: Intervals,
    /// The first tick is a multiple of this time since the epoch.
    align_ns: i64,
    /// The wall-clock time of tick 0.
    base_wall_ns: i64,
    /// The wall clock minus the monotonic clock.
    offset_ns: i64,
    /// The number of the next tick.
    number: i64,
    /// The latest multiples of the second and third interval that were read.
    last_second: Option<i64>,
    last_third: Option<i64>,
    last_tick_ns: u64,
}

impl TickSchedule {
    /// The ticks of `intervals` from `now` on.  With `align` ticks are multiples of the interval
    /// since the epoch, and the first one is a multiple of the second interval if `has_second`
    /// says that a source uses it.
    pub fn start(intervals: Intervals, align: bool, has_second: bool, now: Moment) -> Self {
        let interval = i64::try_from(intervals.first_ns).unwrap_or(i64::MAX);
        let second = i64::try_from(intervals.second_ns()).unwrap_or(i64::MAX);
        let align_ns = match (align, has_second) {
            (true, true) => second,
            (true, false) => interval,
            (false, _) => interval.min(SECOND_NS),
        };
        let mut schedule = TickSchedule {
            intervals,
            align_ns: align_ns.max(1),
            base_wall_ns: 0,
            offset_ns: offset(now),
            number: 0,
            last_second: None,
            last_third: None,
            last_tick_ns: now.monotonic_ns,
        };
        let first = next_multiple(now.realtime_ns, schedule.align_ns);
        if align {
            schedule.number = if interval == 0 { 0 } else { first / interval };
        } else {
            schedule.base_wall_ns = first;
        }
        schedule
    }

    /// Whether ticks follow each other without a pause.
    #[must_use]
    pub fn is_endless(&self) -> bool {
        self.intervals.first_ns == 0
    }

    /// When the next tick is due, on the monotonic clock.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        if self.is_endless() {
            return 0;
        }
        let wall = self.base_wall_ns.saturating_add(self.number.saturating_mul(self.interval()));
        u64::try_from(wall.saturating_sub(self.offset_ns)).unwrap_or(0)
    }

    /// Begins a tick at `now` and computes the next one.
    pub fn tick(&mut self, now: Moment) -> Tick {
        let step_ns = offset(now).saturating_sub(self.offset_ns);
        let stepped = step_ns.unsigned_abs() >= STEP_NS_MIN;
        if self.is_endless() {
            if stepped {
                self.offset_ns = offset(now);
            }
            let number = self.number;
            self.number += 1;
            return self.due(number, 0, if stepped { step_ns } else { 0 });
        }
        let late_ns = now.monotonic_ns.saturating_sub(self.next_ns());
        let missed = late_ns / self.intervals.first_ns;
        let mut number = self.number + i64::try_from(missed).unwrap_or(0);
        if stepped {
            self.offset_ns = offset(now);
            number = (now.realtime_ns - self.base_wall_ns).div_euclid(self.interval());
        }
        self.number = number + 1;
        // After a step the next multiple may be almost now, which would be one tick too many.
        if stepped && self.next_ns() < now.monotonic_ns + self.intervals.first_ns / 2 {
            self.number += 1;
        }
        self.last_tick_ns = now.monotonic_ns;
        self.due(number, missed, if stepped { step_ns } else { 0 })
    }

    /// The cadences that are due at a tick: those whose multiple differs from the previous tick's.
    fn due(&mut self, number: i64, missed: u64, step_ns: i64) -> Tick {
        let multiple = |every: u64| number.div_euclid(i64::try_from(every).unwrap_or(i64::MAX));
        let second = Some(multiple(self.intervals.second_every));
        let third = Some(multiple(self.intervals.third_every));
        let tick = Tick {
            missed,
            step_ns,
            second: second != self.last_second,
            third: third != self.last_third,
        };
        (self.last_second, self.last_third) = (second, third);
        tick
    }

    fn interval(&self) -> i64 {
        i64::try_from(self.intervals.first_ns).unwrap_or(i64::MAX)
    }
}

fn offset(now: Moment) -> i64 {
    now.realtime_ns.saturating_sub(i64::try_from(now.monotonic_ns).unwrap_or(i64::MAX))
}

fn next_multiple(value: i64, of: i64) -> i64 {
    value.div_euclid(of).saturating_add(i64::from(value.rem_euclid(of) != 0)).saturating_mul(of)
}
