//! When the kernel measures its programs, and when an interval ends.

use std::time::Duration;

/// How long the kernel measures its programs at a time.
const WINDOW: Duration = Duration::from_millis(10);
/// How often it does.
const PERIOD: Duration = Duration::from_secs(1);

/// The times at which measuring starts and stops and at which intervals end.
pub(super) struct Schedule {
    measuring: bool,
    toggle: Duration,
    interval: Option<Duration>,
    show: Duration,
}

impl Schedule {
    pub(super) fn begin(start: Duration, interval: Option<Duration>) -> Self {
        let show = start + interval.unwrap_or(Duration::from_secs(3_600));
        Schedule { measuring: true, toggle: start + WINDOW, interval, show }
    }

    /// Whether to start or to stop measuring now.
    pub(super) fn measure(&mut self, now: Duration) -> Option<bool> {
        if now < self.toggle {
            return None;
        }
        self.measuring = !self.measuring;
        self.toggle = now + if self.measuring { WINDOW } else { PERIOD - WINDOW };
        Some(self.measuring)
    }

    /// Whether an interval has ended.  Intervals that were missed are skipped.
    pub(super) fn interval(&mut self, now: Duration) -> bool {
        let Some(interval) = self.interval.filter(|_| now >= self.show) else { return false };
        while self.show <= now {
            self.show += interval;
        }
        true
    }

    pub(super) fn next(&self) -> Duration {
        match self.interval {
            Some(_) => self.toggle.min(self.show),
            None => self.toggle,
        }
    }
}
