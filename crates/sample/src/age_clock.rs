//! The time by which data are old enough to be deleted: the wall clock, unless it was set far ahead.
//!
//! A clock that is wrong for a moment (a dead battery, a wrong time server) must not delete what is kept
//! for a month.  So a step ahead of more than an hour counts only when it has lasted for a day; a step
//! back counts at once, since by an earlier time less is old.  What starts may compare with its newest
//! data ([`AgeClock::start`]): after a pause it deletes by age a day later.
//!
//! Cost: a few integer operations each time that something may be deleted.

use crate::Moment;

/// A clock that is ahead by no more is believed at once: less than any age that is kept.
const AHEAD_NS_MAX: i64 = 3_600_000_000_000;
/// A clock that has been ahead for so long is believed.
const BELIEVED_NS: u64 = 86_400_000_000_000;

/// The clock of ages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgeClock {
    /// The wall clock minus the monotonic one, as far as it is believed; none before the first look.
    offset_ns: Option<i64>,
    /// Since when the wall clock is ahead of that, and by which difference.
    ahead: Option<(u64, i64)>,
}

impl AgeClock {
    /// The clock of one that starts now; `newest_ns` is the time of the newest data, of which none is no
    /// reason for doubt.
    #[must_use]
    pub fn start(newest_ns: Option<i64>, now: Moment) -> Self {
        let newest_ns = newest_ns.unwrap_or(now.realtime_ns).min(now.realtime_ns);
        let newest = Moment { realtime_ns: newest_ns, ..now };
        let mut clock = AgeClock { offset_ns: Some(offset(newest)), ahead: None };
        clock.look(now);
        clock
    }

    /// The time by which data are old at `now`, in nanoseconds since 1970.  A step of the clock should be
    /// looked at when it happens.
    pub fn look(&mut self, now: Moment) -> i64 {
        let offset_ns = offset(now);
        let believed_ns = self.offset_ns.unwrap_or(offset_ns);
        if offset_ns.saturating_sub(believed_ns) <= AHEAD_NS_MAX {
            (self.offset_ns, self.ahead) = (Some(offset_ns), None);
            return now.realtime_ns;
        }
        let is_other = |ahead_ns: i64| offset_ns.saturating_sub(ahead_ns) > AHEAD_NS_MAX;
        let (since_ns, _) = match self.ahead {
            Some(known) if !is_other(known.1) => known,
            _ => *self.ahead.insert((now.monotonic_ns, offset_ns)),
        };
        if now.monotonic_ns.saturating_sub(since_ns) >= BELIEVED_NS {
            (self.offset_ns, self.ahead) = (Some(offset_ns), None);
            return now.realtime_ns;
        }
        believed_ns.saturating_add_unsigned(now.monotonic_ns)
    }
}

fn offset(now: Moment) -> i64 {
    now.realtime_ns.saturating_sub(i64::try_from(now.monotonic_ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;
    const START: i64 = 1_795_000_000_000_000_000;

    /// The hour after the start, with a wall clock that is ahead by some hours.
    fn at(hour: i64, ahead: i64) -> Moment {
        Moment {
            monotonic_ns: (hour * HOUR).unsigned_abs(),
            realtime_ns: START + (hour + ahead) * HOUR,
        }
    }

    fn hours(clock: &mut AgeClock, now: Moment) -> i64 {
        (clock.look(now) - START) / HOUR
    }

    #[test]
    fn a_clock_that_is_ahead_for_a_moment_makes_nothing_old() {
        let mut clock = AgeClock::default();
        assert_eq!(hours(&mut clock, at(0, 0)), 0);
        // Ten years ahead for two hours.
        assert_eq!(hours(&mut clock, at(5, 87_600)), 5);
        assert_eq!(hours(&mut clock, at(7, 87_600)), 7);
        assert_eq!(hours(&mut clock, at(8, 0)), 8);
        // Again, and for longer than a day: it was the time before that was wrong.
        assert_eq!(hours(&mut clock, at(9, 87_600)), 9);
        assert_eq!(hours(&mut clock, at(32, 87_600)), 32);
        assert_eq!(hours(&mut clock, at(33, 87_600)), 33 + 87_600);
    }

    #[test]
    fn small_steps_and_steps_back_count_at_once() {
        let mut clock = AgeClock::default();
        clock.look(at(0, 0));
        assert_eq!(hours(&mut clock, at(1, 1)), 2);
        assert_eq!(hours(&mut clock, at(2, -24)), -22);
        // Set right again it is believed a day later.
        assert_eq!(hours(&mut clock, at(3, 0)), -21);
        assert_eq!(hours(&mut clock, at(27, 0)), 27);
    }

    #[test]
    fn a_step_further_ahead_begins_the_day_anew() {
        let mut clock = AgeClock::default();
        clock.look(at(0, 0));
        clock.look(at(1, 10));
        assert_eq!(hours(&mut clock, at(24, 1000)), 24);
        assert_eq!(hours(&mut clock, at(26, 1000)), 26);
        assert_eq!(hours(&mut clock, at(48, 1000)), 1048);
    }

    #[test]
    fn one_that_starts_compares_with_its_newest_data() {
        let newest = |hours: i64| Some(START + hours * HOUR);
        assert_eq!(hours(&mut AgeClock::start(None, at(9, 5)), at(9, 5)), 14);
        assert_eq!(hours(&mut AgeClock::start(newest(8), at(9, 0)), at(10, 0)), 10);
        assert_eq!(hours(&mut AgeClock::start(newest(100), at(9, 0)), at(9, 0)), 9);
        let mut clock = AgeClock::start(newest(9), at(9, 500));
        assert_eq!(hours(&mut clock, at(10, 500)), 10);
        assert_eq!(hours(&mut clock, at(33, 500)), 533);
    }
}
