//! `-l`: the limits from which `-ox` and `-oX` take a disk for an exception.

use anyhow::{Context, bail, ensure};
use layout::Limits;

/// Reads `SVC:30-IOS:10-OR`: limits by name, in any order, hyphens between.
///
/// # Errors
/// One line that names the part that is wrong.
pub(super) fn parse(given: &str) -> anyhow::Result<Limits> {
    let mut limits = Limits::default();
    for part in given.split('-') {
        let (name, value) = part.split_once(':').unwrap_or((part, ""));
        match name {
            "AND" | "OR" => {
                ensure!(value.is_empty(), "-l: '{part}': {name} has no value");
                limits.both = name == "AND";
            }
            "SVC" => limits.service_ms = number(part, value)?,
            "IOS" => limits.operations = number(part, value)?,
            "LusKBS" | "LusReints" => bail!("-l: '{part}': Lustre is not supported"),
            _ => bail!("-l: '{part}' is none of SVC:N, IOS:N, AND, OR"),
        }
    }
    Ok(limits)
}

fn number(part: &str, value: &str) -> anyhow::Result<f64> {
    let digits = value.parse::<u32>().ok();
    digits.map(f64::from).with_context(|| format!("-l: '{part}' needs a number: IOS:10"))
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
