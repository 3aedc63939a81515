//! `SeverityNumber` of levels and back: four numbers each for TRACE, DEBUG, INFO, WARN, ERROR and FATAL,
//! and syslog's levels among them as the specification's appendix of examples has them.

use logring::LogLevel;

/// `SeverityNumber` of a level.
#[must_use]
pub fn severity(level: LogLevel) -> i32 {
    match level {
        LogLevel::Trace => 1,
        LogLevel::Delouse => 2,
        LogLevel::Debug => 5,
        LogLevel::Info => 9,
        LogLevel::Notice => 10,
        LogLevel::Warning => 13,
        LogLevel::Error => 17,
        LogLevel::Critical => 18,
        LogLevel::Alert => 19,
        LogLevel::Emergency => 21,
    }
}

/// The level of a `SeverityNumber`: the highest whose own number is not above it.  `None`: unspecified,
/// or no such number.
#[must_use]
pub fn level_of_severity(number: i32) -> Option<LogLevel> {
    let is_below = |level: &LogLevel| severity(*level) <= number;
    LogLevel::ALL.into_iter().rfind(is_below).filter(|_| number <= 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_lead_back_and_what_is_between_belongs_to_the_lower() {
        for level in LogLevel::ALL {
            assert_eq!(level_of_severity(severity(level)), Some(level));
        }
        assert_eq!(level_of_severity(8), Some(LogLevel::Debug));
        assert_eq!(level_of_severity(16), Some(LogLevel::Warning));
        assert_eq!(level_of_severity(24), Some(LogLevel::Emergency));
        for none in [i32::MIN, -1, 0, 25] {
            assert_eq!(level_of_severity(none), None);
        }
    }
}
