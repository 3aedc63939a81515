//! Fewer records than calls: rate limits and repeat guards.  Both say what they suppressed.

use std::sync::Mutex;

use logring::LogLevel;
use logring::clock::boottime_ns;
use logring::writer::{self, ArgumentList};

use crate::logger::Logger;
use crate::site::{CallSite, emit};

/// What was suppressed: how many calls, and when the first and the last were.
#[derive(Clone, Copy, Debug, Default)]
struct Suppressed {
    count: u64,
    first_ns: u64,
    last_ns: u64,
}

impl Suppressed {
    fn add(&mut self, now_ns: u64) {
        if self.count == 0 {
            self.first_ns = now_ns;
        }
        (self.count, self.last_ns) = (self.count + 1, now_ns);
    }

    /// Says it in the stream, and begins anew.
    fn report(&mut self, level: LogLevel, site: u32, logger: &Logger) {
        if self.count > 0 && site != 0 {
            let stamps = [self.first_ns, self.last_ns].map(writer::stamp_of_boottime);
            writer::write_suppressed(
                logger.head(level),
                site,
                logger.context(),
                self.count,
                stamps,
            );
            *self = Suppressed::default();
        }
    }
}

/// At most so many records of one call site in an interval.
#[derive(Debug)]
pub struct RateLimit {
    count_max: u64,
    interval_ns: u64,
    state: Mutex<LimitState>,
}

#[derive(Debug)]
struct LimitState {
    begin_ns: u64,
    count: u64,
    suppressed: Suppressed,
}

impl RateLimit {
    /// At most `count_max` in `interval_ms` milliseconds.
    #[must_use]
    pub const fn new(count_max: u64, interval_ms: u64) -> Self {
        let suppressed = Suppressed { count: 0, first_ns: 0, last_ns: 0 };
        let state = Mutex::new(LimitState { begin_ns: 0, count: 0, suppressed });
        RateLimit { count_max, interval_ns: interval_ms * 1_000_000, state }
    }

    /// Writes the record, or counts it as suppressed.
    pub fn emit<A: ArgumentList>(
        &self,
        level: LogLevel,
        site: &CallSite,
        logger: &Logger,
        arguments: &A,
    ) {
        let now_ns = boottime_ns();
        // In use by what a signal handler interrupted, or by another thread: then it is let through.
        if let Ok(mut state) = self.state.try_lock() {
            if now_ns.saturating_sub(state.begin_ns) >= self.interval_ns {
                (state.begin_ns, state.count) = (now_ns, 0);
                state.suppressed.report(level, site.number::<A>(), logger);
            }
            if state.count >= self.count_max {
                state.suppressed.add(now_ns);
                return;
            }
            state.count += 1;
        }
        emit(level, site, logger, arguments);
    }
}

/// When a repeat guard lets a record through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Count,
    Interval,
    Both,
    Either,
}

/// ACS's repeat guard: of calls that repeat, the first, and then one after so many calls, after so
/// much time, after both or after either.
#[derive(Debug)]
pub struct RepeatGuard {
    every: u64,
    interval_ns: u64,
    rule: Rule,
    state: Mutex<GuardState>,
}

#[derive(Debug, Default)]
struct GuardState {
    last_ns: Option<u64>,
    calls: u64,
}

impl RepeatGuard {
    const fn with(every: u64, interval_ms: u64, rule: Rule) -> Self {
        let state = Mutex::new(GuardState { last_ns: None, calls: 0 });
        RepeatGuard { every, interval_ns: interval_ms * 1_000_000, rule, state }
    }

    /// One of `every` calls.
    #[must_use]
    pub const fn count(every: u64) -> Self {
        Self::with(every, 0, Rule::Count)
    }

    /// One in `interval_ms` milliseconds.
    #[must_use]
    pub const fn interval(interval_ms: u64) -> Self {
        Self::with(0, interval_ms, Rule::Interval)
    }

    /// One after both so many calls and so much time.
    #[must_use]
    pub const fn both(every: u64, interval_ms: u64) -> Self {
        Self::with(every, interval_ms, Rule::Both)
    }

    /// One after either so many calls or so much time.
    #[must_use]
    pub const fn either(every: u64, interval_ms: u64) -> Self {
        Self::with(every, interval_ms, Rule::Either)
    }

    /// Counts a call.  `Some(n)`: log, and say that `n` calls before this one were suppressed.
    #[must_use]
    pub fn check(&self) -> Option<u64> {
        self.check_at(boottime_ns())
    }

    fn check_at(&self, now_ns: u64) -> Option<u64> {
        let Ok(mut state) = self.state.try_lock() else { return Some(0) };
        state.calls += 1;
        let is_due = match state.last_ns {
            None => true,
            Some(last_ns) => {
                let has_count = state.calls >= self.every;
                let has_time = now_ns.saturating_sub(last_ns) >= self.interval_ns;
                match self.rule {
                    Rule::Count => has_count,
                    Rule::Interval => has_time,
                    Rule::Both => has_count && has_time,
                    Rule::Either => has_count || has_time,
                }
            }
        };
        if !is_due {
            return None;
        }
        let suppressed = state.calls - 1;
        (state.last_ns, state.calls) = (Some(now_ns), 0);
        Some(suppressed)
    }

    /// Begins anew, as if there had been no call.
    pub fn reset(&self) {
        if let Ok(mut state) = self.state.lock() {
            *state = GuardState::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn let_through(guard: &RepeatGuard, times_ms: &[u64]) -> Vec<Option<u64>> {
        times_ms.iter().map(|ms| guard.check_at(ms * 1_000_000)).collect()
    }

    #[test]
    fn guards_let_one_through_by_count_and_time() {
        let guard = RepeatGuard::count(3);
        assert_eq!(
            let_through(&guard, &[0; 7]),
            [Some(0), None, None, Some(2), None, None, Some(2)]
        );
        let guard = RepeatGuard::interval(10);
        assert_eq!(
            let_through(&guard, &[0, 5, 9, 10, 25]),
            [Some(0), None, None, Some(2), Some(0)]
        );
        let guard = RepeatGuard::both(2, 10);
        assert_eq!(let_through(&guard, &[0, 1, 2, 12, 30]), [Some(0), None, None, Some(2), None]);
        let guard = RepeatGuard::either(3, 10);
        assert_eq!(let_through(&guard, &[0, 1, 2, 3, 14]), [Some(0), None, None, Some(2), Some(0)]);
        guard.reset();
        assert_eq!(guard.check_at(0), Some(0));
    }
}
