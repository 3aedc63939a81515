//! `--delay`: the time between two starts.

use std::time::Duration;

use crate::units::{self, UnitError};

/// Most that failures can increase the delay to: a day between two starts must be a mistake.
const DELAY_MAX: Duration = Duration::from_secs(86_400);

/// The time between two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The initial time.
    pub wait: Duration,
    /// `auto`: 30 % longer after each failed job, 10 % shorter after each successful one.
    pub auto: bool,
}

impl Delay {
    /// Parses a duration (`0.5`, `1m30s`), optionally followed by `auto`.
    ///
    /// # Errors
    /// If it is not a duration.
    pub fn parse(text: &str) -> Result<Self, UnitError> {
        let (wait, auto) = match text.strip_suffix("auto") {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        Ok(Delay { wait: units::duration(wait)?, auto })
    }

    /// A job has ended for good.
    pub(super) fn learn(&mut self, good: bool) {
        if self.auto {
            let factor = if good { 0.9 } else { 1.3 };
            self.wait = self.wait.mul_f64(factor).min(DELAY_MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_a_duration_that_may_learn() {
        let parsed =
            |text| Delay::parse(text).ok().map(|delay| (delay.wait.as_millis(), delay.auto));
        assert_eq!(parsed("0.25"), Some((250, false)));
        assert_eq!(parsed("1m3sauto"), Some((63_000, true)));
        assert_eq!(parsed("auto"), None);
        assert_eq!(parsed("soon"), None);
    }

    #[test]
    fn a_delay_that_grows_has_an_end() {
        let mut delay = Delay { wait: Duration::from_secs(1), auto: true };
        for _ in 0..1000 {
            delay.learn(false);
        }
        assert_eq!(delay.wait, DELAY_MAX);
    }
}
