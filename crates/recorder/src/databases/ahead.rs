//! A wall clock that was set far ahead.
//!
//! A database cannot go back: a row of next year shifts all rows of this year out of it.  So after a step
//! ahead of more than a day rows are left out for ten minutes, and only a clock that stays ahead for so
//! long is followed.

use sample::Sample;

/// A smaller step shifts little out.
const STEP_NS_MIN: i64 = 86_400_000_000_000;
/// A clock that is ahead for so long is right.
const DOUBT_NS: u64 = 600_000_000_000;

/// Whether rows are left out.
#[derive(Debug, Default)]
pub(super) struct ClockAhead {
    /// Until when, by the clock that never steps.
    until_ns: Option<u64>,
}

impl ClockAhead {
    /// Whether the row of two readings of a source is left out.
    pub(super) fn leaves_out(&mut self, previous: &Sample, current: &Sample) -> bool {
        let passed_ns = current.monotonic_ns.saturating_sub(previous.monotonic_ns);
        let shown_ns = current.realtime_ns.saturating_sub(previous.realtime_ns);
        let step_ns = shown_ns.saturating_sub_unsigned(passed_ns);
        if step_ns > STEP_NS_MIN {
            self.until_ns = Some(current.monotonic_ns.saturating_add(DOUBT_NS));
        } else if step_ns < -STEP_NS_MIN {
            self.until_ns = None;
        }
        self.until_ns = self.until_ns.filter(|until_ns| current.monotonic_ns < *until_ns);
        self.until_ns.is_some()
    }
}
