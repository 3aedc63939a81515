//! What a recorder has to say, to somebody whom the caller hands in: this crate prints nothing.

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use sample::Moment;

/// How much a message matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Good to know.
    Information,
    /// Not as asked for.
    Warning,
    /// Something is lost.
    Error,
}

/// Takes messages: shows them, keeps them in a log, or drops them.
pub trait MessageLog {
    /// Takes one message of the time `now`.  Cannot fail: there is nobody left to hear of it.
    fn log(&self, now: Moment, severity: Severity, text: &str);
}

/// A moment in local time.
pub fn local(now: Moment, zone: &TimeZone) -> Zoned {
    let at =
        Timestamp::from_nanosecond(i128::from(now.realtime_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(zone.clone())
}
