//! How times are written: in which format and with how many digits.

/// Digits behind the point of a time.
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
    /// The precision of a name: `s`, `ms`, `us` or `ns`, with `precision:` before it if wanted.
    ///
    /// # Errors
    /// Another name.
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

/// How the time of a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// `15:34:20.666579` (`-t`, `-tt`).
    OfDay(Precision),
    /// Seconds since 1970: `1795275260.686480` (`-ttt`).
    Unix(Precision),
}

impl Stamp {
    /// What `--absolute-timestamps` names: a format and a precision, in any order, each with its
    /// kind before it if wanted; `None` for the format `none`.
    ///
    /// # Errors
    /// Another word.
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

/// What is wrong with the name of a format of times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeFormatError {
    /// No precision has this name.
    #[error("{0:?} is no precision: s, ms, us and ns are")]
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
