//! How times are formatted.

/// Digits after the decimal point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// None.
    Seconds,
    /// Three.
    Milliseconds,
    /// Six.
    Microseconds,
    /// Nine.
    Nanoseconds,
}

impl Precision {
    /// Parses `s`, `ms`, `us` or `ns`, optionally after `precision:`.
    ///
    /// # Errors
    /// If it is another word.
    pub fn parse(text: &str) -> Result<Self, TimeFormatError> {
        Ok(match text.strip_prefix("precision:").unwrap_or(text) {
            "s" => Precision::Seconds,
            "ms" => Precision::Milliseconds,
            "us" => Precision::Microseconds,
            "ns" => Precision::Nanoseconds,
            name => return Err(TimeFormatError::Precision(name.to_owned())),
        })
    }

    pub(super) const fn digits(self) -> usize {
        match self {
            Precision::Seconds => 0,
            Precision::Milliseconds => 3,
            Precision::Microseconds => 6,
            Precision::Nanoseconds => 9,
        }
    }
}

/// How the time of a line is formatted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// `15:34:20.666579` (`-t`, `-tt`).
    OfDay(Precision),
    /// Seconds since 1970: `1795275260.686480` (`-ttt`).
    Unix(Precision),
}

impl Stamp {
    /// Parses the argument of `--absolute-timestamps`: a format and a precision in any order, each
    /// optionally after its kind (`format:`, `precision:`); `None` for the format `none`.
    ///
    /// # Errors
    /// If a word is neither.
    pub fn parse(text: &str) -> Result<Option<Self>, TimeFormatError> {
        let mut format = "time";
        let mut precision = Precision::Seconds;
        for word in text.split(',') {
            let (kind, value) = match word.split_once(':') {
                Some((kind, value)) => (Some(kind), value),
                None => (None, word),
            };
            match (kind, value) {
                (None | Some("format"), "none" | "time" | "unix") => format = value,
                (None | Some("precision"), _) => precision = Precision::parse(value)?,
                _ => return Err(TimeFormatError::Word),
            }
        }
        Ok(match format {
            "none" => None,
            "unix" => Some(Stamp::Unix(precision)),
            _ => Some(Stamp::OfDay(precision)),
        })
    }
}

/// Why a time format cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeFormatError {
    /// No precision has this name.
    #[error("{0:?} is not a precision: give s, ms, us or ns")]
    Precision(String),
    /// A word is neither a format nor a precision.
    #[error("give a format (time, unix, none) and a precision (s, ms, us, ns)")]
    Word,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn times_are_asked_for_as_of_strace() {
        let stamp = |text| Stamp::parse(text).unwrap();
        assert_eq!(stamp("time"), Some(Stamp::OfDay(Precision::Seconds)));
        assert_eq!(stamp("ns"), Some(Stamp::OfDay(Precision::Nanoseconds)));
        assert_eq!(stamp("unix,ms"), Some(Stamp::Unix(Precision::Milliseconds)));
        let full = "precision:us,format:unix";
        assert_eq!(stamp(full), Some(Stamp::Unix(Precision::Microseconds)));
        assert_eq!(stamp("none"), None);
        for wrong in ["", "day", "format:us", "unix,x", "time;us"] {
            assert!(Stamp::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Precision::parse("precision:ns"), Ok(Precision::Nanoseconds));
        assert!(Precision::parse("").is_err());
    }
}
