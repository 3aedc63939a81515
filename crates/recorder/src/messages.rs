//! Messages of a recorder, for a log that the caller passes: this crate prints nothing.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use sample::Moment;

/// How important a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// For information.
    Information,
    /// Something is not as requested.
    Warning,
    /// Data is lost.
    Error,
}

/// Takes messages: shows them, keeps them in a log, or drops them.
pub trait MessageLog {
    /// Takes one message of the time `now`.  Cannot fail: the error could not be reported.
    fn log(&self, now: Moment, severity: Severity, text: &str);
}

/// Receives sentences that the user should see at once.
pub type Notify = Box<dyn FnMut(&str)>;

/// A moment in local time.
pub fn local(now: Moment, zone: &TimeZone) -> Zoned {
    let at =
        Timestamp::from_nanosecond(i128::from(now.realtime_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(zone.clone())
}
