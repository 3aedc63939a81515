//! `-l`: the limits above which `-ox` and `-oX` select a disk as an exception.

use layout::{OptionKind, OptionValue, SourceOption};

pub(super) static DISK_LIMITS: SourceOption = SourceOption {
    name: "limits",
    short: Some('l'),
    value_name: "LIMITS",
    help: "Limits from which a disk is an exception for -ox and -oX: SVC:30 milliseconds of service \
           time, IOS:10 reads or writes a second, OR (either) or AND (both), separated by hyphens",
    kind: OptionKind::Custom(|given| Ok(OptionValue::custom(parse(given)?))),
    letters: "D",
    needs: Some(("xX", "-l is for exceptions: -ox or -oX")),
    ..SourceOption::EMPTY
};

/// The limits at which a disk is an exception.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limits {
    /// `SVC`: milliseconds of service time.
    pub(super) service_ms: f64,
    /// `IOS`: reads or writes, per second (`-on`: per interval).
    pub(super) operations: f64,
    /// `AND`: both must be reached, not either.
    pub(super) both: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { service_ms: 30.0, operations: 10.0, both: false }
    }
}

/// An invalid value of `-l`.
#[derive(Debug, thiserror::Error)]
enum LimitsError {
    #[error("-l: '{0}': {1} has no value")]
    Value(String, String),
    #[error("-l: '{0}' needs a number: IOS:10")]
    Number(String),
    #[error("-l: '{0}': Lustre is not supported")]
    Lustre(String),
    #[error("-l: '{0}' is none of SVC:N, IOS:N, AND, OR")]
    Unknown(String),
}

/// Parses `SVC:30-IOS:10-OR`: limits by name, in any order, separated by hyphens.
fn parse(given: &str) -> Result<Limits, LimitsError> {
    let mut limits = Limits::default();
    for part in given.split('-') {
        let (name, value) = part.split_once(':').unwrap_or((part, ""));
        match name {
            "AND" | "OR" if !value.is_empty() => {
                return Err(LimitsError::Value(part.to_owned(), name.to_owned()));
            }
            "AND" | "OR" => limits.both = name == "AND",
            "SVC" => limits.service_ms = number(part, value)?,
            "IOS" => limits.operations = number(part, value)?,
            "LusKBS" | "LusReints" => return Err(LimitsError::Lustre(part.to_owned())),
            _ => return Err(LimitsError::Unknown(part.to_owned())),
        }
    }
    Ok(limits)
}

fn number(part: &str, value: &str) -> Result<f64, LimitsError> {
    let digits = value.parse::<u32>().ok();
    digits.map(f64::from).ok_or_else(|| LimitsError::Number(part.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_name_in_any_order() {
        let limits = parse("IOS:100-SVC:7-AND").unwrap();
        assert_eq!(limits, Limits { service_ms: 7.0, operations: 100.0, both: true });
        assert_eq!(parse("OR-SVC:1").unwrap(), Limits { service_ms: 1.0, ..Limits::default() });
        for (wrong, why) in [
            ("", "none of"),
            ("IOS", "needs a number"),
            ("IOS:x", "needs a number"),
            ("SVC:-1", "needs a number"),
            ("AND:1", "no value"),
            ("LusKBS:1", "Lustre"),
            ("FOO:1", "none of"),
        ] {
            let text = parse(wrong).unwrap_err().to_string();
            assert!(text.contains(why), "{wrong}: {text}");
        }
    }
}
