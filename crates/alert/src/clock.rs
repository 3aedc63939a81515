//! The clock of deliveries, whose waits are bounded, and of the steps of a running book.

use std::time::{Duration, Instant, SystemTime};

/// Less is no step of the clock, but that it is made to run faster or slower.
const STEP_MS_MIN: i64 = 1000;

/// A time from now.
pub(crate) fn after(wait: Duration) -> Instant {
    Instant::now() + wait
}

/// Whether a time has passed.
pub(crate) fn has_passed(until: Instant) -> bool {
    Instant::now() >= until
}

/// Milliseconds since 1970.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Tells by how much the wall clock was set between two looks.
#[derive(Debug, Default)]
pub(crate) struct ClockSteps {
    /// The wall clock minus the time since the machine was started, at the latest look.
    offset_ms: Option<i64>,
}

impl ClockSteps {
    /// By how many milliseconds it was set since the latest look; 0 for less than a second.
    pub(crate) fn look(&mut self) -> i64 {
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let boot_ms = boot.tv_sec.saturating_mul(1000).saturating_add(boot.tv_nsec / 1_000_000);
        self.step_ms(now_ms(), boot_ms)
    }

    fn step_ms(&mut self, now_ms: i64, boot_ms: i64) -> i64 {
        let offset_ms = now_ms.saturating_sub(boot_ms);
        let before_ms = self.offset_ms.replace(offset_ms).unwrap_or(offset_ms);
        let step_ms = offset_ms.saturating_sub(before_ms);
        if step_ms.abs() < STEP_MS_MIN { 0 } else { step_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_told_once_and_a_drift_never() {
        let mut steps = ClockSteps::default();
        let seen =
            [(5_000, 10), (6_000, 1_010), (7_900, 2_011), (3_608_901, 3_012), (9_902, 4_013)];
        let steps = seen.map(|(now_ms, boot_ms)| steps.step_ms(now_ms, boot_ms));
        assert_eq!(steps, [0, 0, 0, 3_600_000, -3_600_000]);
    }
}
