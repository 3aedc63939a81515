//! Levels of records, with the numbers and names that ACS uses.

/// How important a record is.  7 is not defined; numbers 12 to 15 are not either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogLevel {
    /// A function was entered.
    Trace = 1,
    /// Debugging in great detail.
    Delouse = 2,
    /// Debugging.
    Debug = 3,
    /// Normal operation.
    Info = 4,
    /// Normal, and to be noticed.
    Notice = 5,
    /// Could lead to errors.
    Warning = 6,
    /// An error.
    Error = 8,
    /// An alarm for operators.
    Critical = 9,
    /// More important than critical.
    Alert = 10,
    /// The highest.
    Emergency = 11,
}

/// The number that a threshold has when nothing passes.
pub const LEVEL_OFF: u8 = 99;

impl LogLevel {
    /// All, lowest first.
    pub const ALL: [LogLevel; 10] = [
        LogLevel::Trace,
        LogLevel::Delouse,
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Notice,
        LogLevel::Warning,
        LogLevel::Error,
        LogLevel::Critical,
        LogLevel::Alert,
        LogLevel::Emergency,
    ];

    /// The level of a number, if there is one.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => LogLevel::Trace,
            2 => LogLevel::Delouse,
            3 => LogLevel::Debug,
            4 => LogLevel::Info,
            5 => LogLevel::Notice,
            6 => LogLevel::Warning,
            8 => LogLevel::Error,
            9 => LogLevel::Critical,
            10 => LogLevel::Alert,
            11 => LogLevel::Emergency,
            _ => return None,
        })
    }

    /// ACS's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name in capitals, as ACS's levels are named.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LogLevel::Trace => "TRACE",
            LogLevel::Delouse => "DELOUSE",
            LogLevel::Debug => "DEBUG",
            LogLevel::Info => "INFO",
            LogLevel::Notice => "NOTICE",
            LogLevel::Warning => "WARNING",
            LogLevel::Error => "ERROR",
            LogLevel::Critical => "CRITICAL",
            LogLevel::Alert => "ALERT",
            LogLevel::Emergency => "EMERGENCY",
        }
    }

    /// The level of a name, in any case, or of a number.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Ok(number) = text.parse::<u8>() {
            return Self::from_number(number);
        }
        Self::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back() {
        for level in LogLevel::ALL {
            assert_eq!(LogLevel::from_number(level.number()), Some(level));
            assert_eq!(LogLevel::parse(&level.name().to_lowercase()), Some(level));
        }
        assert_eq!(LogLevel::from_number(7), None);
        assert_eq!(LogLevel::parse("11"), Some(LogLevel::Emergency));
        assert_eq!(LogLevel::parse("loud"), None);
    }
}
