//! `--delay`: how long to wait between two starts.

use std::time::Duration;

/// A delay grown by failures stays below this: a day between two starts is an error of the user's.
const DELAY_MAX: Duration = Duration::from_secs(86_400);

/// How long to wait between two starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// How long, at first.
    pub wait: Duration,
    /// `auto`: 30 % more after each job that failed, 10 % less after each that did not.
    pub auto: bool,
}

impl Delay {
    /// Takes the word `auto` off a text: what is left is a duration.
    pub fn split_auto(text: &str) -> (&str, bool) {
        match text.strip_suffix("auto") {
            Some(rest) => (rest, true),
            None => (text, false),
        }
    }

    /// A job has ended for good.
    pub(super) fn learn(&mut self, good: bool) {
        if self.auto {
            let factor = if good { 0.9 } else { 1.3 };
            self.wait = self.wait.mul_f64(factor).min(DELAY_MAX);
        }
    }
}
