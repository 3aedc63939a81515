//! The clock of waits for a server, which are bounded.

use std::time::Instant;

/// Now, for waiting.
pub(crate) fn now() -> Instant {
    Instant::now()
}
