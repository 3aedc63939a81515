//! Temperatures, fans, power and voltages.
//!
//! Reads `/sys/class/hwmon` and `/sys/class/thermal`: one `pread` a sensor.  A sensor can take
//! milliseconds, so the source is read at the third interval.  Sensors that only `ipmitool` can
//! read are not recorded, since whit starts no program; those in a collectl recording are shown.

use std::sync::Arc;

use procfs::hwmon::{SensorKind, parse_sensor_file, parse_value};
use procfs::{FileId, Host, ReadMode};
use sample::{Cadence, State, Table, fields};

use crate::rename::SENSOR_NAMES;
use crate::{Entry, SensorRules, Source};

mod ipmi;
mod layout;

fields! {
    FAN_RPM: gauge Rpm, "Speed of a fan";
    POWER_UW: gauge Microwatts, "Electrical power";
    TEMPERATURE_MC: gauge Millicelsius, "Temperature";
    VOLTAGE_MV: gauge Millivolts, "Voltage";
    READING: gauge Hundredths, "Reading as ipmitool prints it";
    KIND: text, "What it measures: fan, power, temperature, voltage";
    LABEL: text, "Label of the sensor, if the driver has one";
    READING_DIGITS: gauge Count, "Decimal places of the reading";
}

/// Readings between two searches for sensors that appeared or disappeared.
const SEARCH_READS: u64 = 16;

/// The most sensors: each keeps a file open.  Large servers have about 100.
const SENSORS_MAX: usize = 512;

const CHIPS: &str = "/sys/class/hwmon";
const ZONES: &str = "/sys/class/thermal";

/// The file with the sensors of a collectl recording, made by the import.
const IPMI: &str = "/collectl/ipmi";

struct Environment {
    /// Sorted by kind.
    sensors: Vec<Sensor>,
    reads: u64,
    ipmi: Option<FileId>,
    /// Rules for the names of a recording's sensors.
    rules: Option<Arc<SensorRules>>,
}

struct Sensor {
    /// `coretemp:temp1`.
    name: Vec<u8>,
    kind: SensorKind,
    /// The driver's label; empty without one.
    label: Vec<u8>,
    file: FileId,
}

impl Source for Environment {
    fn read(&mut self, host: &mut Host, table: &mut Table) -> State {
        table.begin();
        if let Some(file) = self.ipmi
            && let Ok(text) = host.read(file)
        {
            ipmi::fill(text, self.rules.as_deref(), table);
            return State::Ok;
        }
        if self.reads.is_multiple_of(SEARCH_READS) {
            self.look_for_sensors(host);
        }
        self.reads += 1;
        for sensor in &self.sensors {
            let value = host.read(sensor.file).ok().and_then(parse_value);
            let mut row = table.row(&sensor.name);
            let (field, kind) = field_of(sensor.kind);
            if let Some(value) = value {
                row.set_signed(field, value);
            }
            row.set_text(KIND, kind);
            if !sensor.label.is_empty() {
                row.set_text(LABEL, &sensor.label);
            }
        }
        if self.sensors.is_empty() { State::Absent } else { State::Ok }
    }
}

/// The field of a kind, and the word for it.
fn field_of(kind: SensorKind) -> (usize, &'static [u8]) {
    match kind {
        SensorKind::Fan => (FAN_RPM, b"fan"),
        SensorKind::Power => (POWER_UW, b"power"),
        SensorKind::Temperature => (TEMPERATURE_MC, b"temperature"),
        SensorKind::Voltage => (VOLTAGE_MV, b"voltage"),
    }
}

impl Environment {
    fn look_for_sensors(&mut self, host: &mut Host) {
        for sensor in self.sensors.drain(..) {
            host.close(sensor.file);
        }
        let mut names = Vec::new();
        for chip in names_in(host, CHIPS) {
            let directory = format!("{CHIPS}/{chip}");
            let chip = host.read_once(&format!("{directory}/name")).unwrap_or(chip.into_bytes());
            let chip = distinct(&mut names, chip.trim_ascii());
            // Old drivers have their sensors in the directory of the device.
            self.look_at_chip(host, &chip, &directory);
            self.look_at_chip(host, &chip, &format!("{directory}/device"));
        }
        for zone in names_in(host, ZONES) {
            let directory = format!("{ZONES}/{zone}");
            if !zone.starts_with("thermal_zone") || self.sensors.len() >= SENSORS_MAX {
                continue;
            }
            let label = host.read_once(&format!("{directory}/type")).unwrap_or_default();
            let file = host.file(&format!("{directory}/temp"), ReadMode::Whole);
            self.sensors.push(Sensor {
                name: zone.into_bytes(),
                kind: SensorKind::Temperature,
                label: label.trim_ascii().to_vec(),
                file,
            });
        }
        self.sensors.sort_by_key(|sensor| sensor.kind);
    }

    fn look_at_chip(&mut self, host: &mut Host, chip: &[u8], directory: &str) {
        let files = names_in(host, directory);
        for file_name in &files {
            let Some(found) = parse_sensor_file(file_name) else { continue };
            let input = format!("{}_input", found.sensor);
            let is_spare = *file_name != input && files.contains(&input);
            if is_spare || self.sensors.len() >= SENSORS_MAX {
                continue;
            }
            let label = host.read_once(&format!("{directory}/{}_label", found.sensor));
            let file = host.file(&format!("{directory}/{file_name}"), ReadMode::Whole);
            self.sensors.push(Sensor {
                name: [chip, b":", found.sensor.as_bytes()].concat(),
                kind: found.kind,
                label: label.unwrap_or_default().trim_ascii().to_vec(),
                file,
            });
        }
    }
}

/// The names in a directory that are UTF-8; sysfs has no others.
fn names_in(host: &mut Host, directory: &str) -> Vec<String> {
    let names = host.list(directory).unwrap_or_default();
    names.into_iter().filter_map(|name| String::from_utf8(name).ok()).collect()
}

/// A unique name for a chip: with two processors the second `coretemp` becomes `coretemp.2`.
fn distinct(names: &mut Vec<Vec<u8>>, name: &[u8]) -> Vec<u8> {
    names.push(name.to_vec());
    let same = names.iter().filter(|other| other.as_slice() == name).count();
    if same == 1 { name.to_vec() } else { [name, format!(".{same}").as_bytes()].concat() }
}

pub(crate) static ENTRY: Entry = Entry {
    name: "environment",
    about: "Temperatures, fans, power and voltages",
    letters: "E",
    reads: &["/sys/class/hwmon/*/*", "/sys/class/thermal/*/temp"],
    instance: &["sensor"],
    fields: FIELDS,
    cadence: Cadence::Third,
    layouts: &[layout::DETAIL],
    options: &[&layout::SENSOR_FILTER, &layout::SENSOR_OPTIONS, &SENSOR_NAMES],
    open: |host, context| {
        // Only a recording has this file.
        let ipmi = host.root().is_none().then(|| host.file(IPMI, ReadMode::Whole));
        let rules = context.sensors.clone();
        Box::new(Environment { sensors: Vec::new(), reads: 0, ipmi, rules })
    },
    hardware: Some("sensors"),
    ..Entry::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &Table) -> Vec<(String, String, Option<i64>)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let values = |row| (FAN_RPM..=READING).find_map(|field| table.get(row, field));
        let row = |row| {
            let kind = text(table.text(row, KIND).unwrap());
            (text(table.name(row)), kind, values(row).map(u64::cast_signed))
        };
        (0..table.rows()).map(row).collect()
    }

    #[test]
    fn chips_and_zones() {
        let mut host = Host::in_memory();
        for (path, text) in [
            ("/sys/class/hwmon/hwmon0/name", "coretemp\n"),
            ("/sys/class/hwmon/hwmon0/temp1_input", "45000\n"),
            ("/sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n"),
            ("/sys/class/hwmon/hwmon1/name", "coretemp\n"),
            ("/sys/class/hwmon/hwmon1/temp1_input", "-3000\n"),
            ("/sys/class/hwmon/hwmon2/device/fan1_input", "1180\n"),
            ("/sys/class/hwmon/hwmon2/power1_input", "23000000\n"),
            ("/sys/class/hwmon/hwmon2/power1_average", "99\n"),
            ("/sys/class/hwmon/hwmon2/power2_average", "5\n"),
            ("/sys/class/hwmon/hwmon2/in0_input", "broken\n"),
            ("/sys/class/thermal/thermal_zone0/temp", "27800\n"),
            ("/sys/class/thermal/thermal_zone0/type", "acpitz\n"),
            ("/sys/class/thermal/cooling_device0/type", "Fan\n"),
        ] {
            host.put(path, Some(text.as_bytes()));
        }
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let expected = [
            ("hwmon2:fan1", "fan", Some(1180)),
            ("hwmon2:power1", "power", Some(23_000_000)),
            ("hwmon2:power2", "power", Some(5)),
            ("coretemp:temp1", "temperature", Some(45_000)),
            ("coretemp.2:temp1", "temperature", Some(-3000)),
            ("thermal_zone0", "temperature", Some(27_800)),
            ("hwmon2:in0", "voltage", None),
        ];
        let expected = expected.map(|(name, kind, value)| (name.into(), kind.into(), value));
        assert_eq!(rows(&table), expected);
        assert_eq!(table.text(3, LABEL), Some(&b"Package id 0"[..]));
    }

    #[test]
    fn no_sensors_is_absent() {
        let mut host = Host::in_memory();
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Absent);
    }

    #[test]
    fn sensors_of_a_collectl_recording() {
        let mut host = Host::in_memory();
        host.put(IPMI, Some(b"Fan 1,35.28,percent,ok\nTemp 2,23,degrees C,ok\n"));
        let mut source = (ENTRY.open)(&mut host, &Arc::default());
        let mut table = Table::new(ENTRY.fields.len());
        assert_eq!(source.read(&mut host, &mut table), State::Ok);
        let expected = [
            ("Fan1".into(), "fan".into(), Some(3528)),
            ("Temp2".into(), "temperature".into(), Some(2300)),
        ];
        assert_eq!(rows(&table), expected);
    }
}
