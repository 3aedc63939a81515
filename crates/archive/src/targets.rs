//! The source of the targets of devices.

use sample::{Field, SourceDef, Unit};

/// The name of the source of a device's targets.
pub(crate) const TARGET: &str = "target";

/// The source of a device's targets: counters, whole gauges, and those that have digits of a fraction.
#[must_use]
pub fn target_source() -> SourceDef {
    SourceDef {
        name: TARGET.into(),
        about: "Targets of a device that is polled".into(),
        instance: vec![TARGET.into()].into(),
        fields: vec![
            Field::counter("in", Unit::Count, "The first value of a target that counts"),
            Field::counter("out", Unit::Count, "The second value of a target that counts"),
            Field::gauge("in_level", Unit::Count, "The first value of a target that is a gauge"),
            Field::gauge("out_level", Unit::Count, "The second value of a target that is a gauge"),
            Field::gauge("in_value", Unit::Hundredths, "The same, with digits after the point"),
            Field::gauge("out_value", Unit::Hundredths, "The same, with digits after the point"),
        ]
        .into(),
        ..SourceDef::EMPTY
    }
}
