//! The times at which a query is evaluated.

/// The times at which a query is evaluated: from the start in steps to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuerySteps {
    /// The first time, in milliseconds since 1970.
    pub start_ms: i64,
    /// No time is later.
    pub end_ms: i64,
    /// From one time to the next: more than 0.
    pub step_ms: i64,
}

impl QuerySteps {
    /// The number of its steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        if self.end_ms < self.start_ms {
            return 0;
        }
        (self.end_ms - self.start_ms).unsigned_abs() / self.step_ms.unsigned_abs() + 1
    }

    /// The time of its last step, which may be before its end; the end, if it has none.
    pub(crate) fn last_ms(&self) -> i64 {
        match self.end_ms < self.start_ms {
            true => self.end_ms,
            false => self.end_ms - (self.end_ms - self.start_ms) % self.step_ms,
        }
    }
}
