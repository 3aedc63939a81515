//! The clock of connections, whose waits are bounded.

use std::time::{Duration, Instant};

/// Now, for waiting.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How long it is until then; zero if it has passed.
pub(crate) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(now())
}
