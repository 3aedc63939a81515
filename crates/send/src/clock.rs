//! The clock by which a sender that follows knows how old the newest sample is.

use std::time::{Duration, SystemTime};

/// How long ago a file was written; nothing if that is to come by the clock.
pub(crate) fn age(written: SystemTime) -> Option<Duration> {
    written.elapsed().ok()
}
