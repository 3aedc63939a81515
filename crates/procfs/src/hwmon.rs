//! `/sys/class/hwmon/hwmonN` (kernel `Documentation/hwmon/sysfs-interface.rst`) and
//! `/sys/class/thermal/thermal_zoneN` (`Documentation/driver-api/thermal/sysfs-api.rst`): one
//! value a file, in fixed units.
//!
//! ```text
//! temp1_input:  45000     (10⁻³ °C)
//! fan1_input:   1180      (revolutions a minute)
//! power1_input: 23000000  (10⁻⁶ W)
//! in0_input:    12096     (10⁻³ V)
//! ```

use crate::scan::{take_number, take_signed};

/// What a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SensorKind {
    /// Revolutions a minute.
    Fan,
    /// 10⁻⁶ W.
    Power,
    /// 10⁻³ °C.
    Temperature,
    /// 10⁻³ V.
    Voltage,
}

/// A file that holds a sensor's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SensorFile<'a> {
    /// The sensor's name (`temp1`).
    pub sensor: &'a str,
    /// What it measures.
    pub kind: SensorKind,
}

/// Parses the name of a file in a chip's directory; `None` if the file is not the value of a known
/// kind of sensor.  `power1_average` counts as the value of a power sensor, as `power1_input` does.
pub fn parse_sensor_file(name: &str) -> Option<SensorFile<'_>> {
    let (sensor, what) = name.split_once('_')?;
    let stem = sensor.trim_end_matches(|c: char| c.is_ascii_digit());
    let mut number = &sensor.as_bytes()[stem.len()..];
    take_number(&mut number)?;
    let kind = match (stem, what) {
        ("fan", "input") => SensorKind::Fan,
        ("power", "input" | "average") => SensorKind::Power,
        ("temp", "input") => SensorKind::Temperature,
        ("in", "input") => SensorKind::Voltage,
        _ => return None,
    };
    Some(SensorFile { sensor, kind })
}

/// Parses a value, in the file's unit; `None` if the text is not a number.
pub fn parse_value(text: &[u8]) -> Option<i64> {
    let mut rest = text;
    let value = take_signed(&mut rest)?;
    rest.trim_ascii().is_empty().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_values() {
        let check = |name: &str, expected: Option<(&str, SensorKind)>| {
            let found = parse_sensor_file(name).map(|file| (file.sensor, file.kind));
            assert_eq!(found, expected, "{name}");
        };
        check("temp1_input", Some(("temp1", SensorKind::Temperature)));
        check("fan12_input", Some(("fan12", SensorKind::Fan)));
        check("power1_average", Some(("power1", SensorKind::Power)));
        check("in0_input", Some(("in0", SensorKind::Voltage)));
        check("temp1_label", None);
        check("temp_input", None);
        check("intrusion0_alarm", None);
        check("name", None);
        assert_eq!(parse_value(b"-5000\n"), Some(-5000));
        assert_eq!(parse_value(b"45000"), Some(45_000));
        assert_eq!(parse_value(b"45.0\n"), None);
        assert_eq!(parse_value(b"\n"), None);
    }
}
