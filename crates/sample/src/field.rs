//! Fields: the columns of a source, each with a name, a unit, a kind and a sentence of help.
//!
//! Everything a view prints about a number follows from here: headings, CSV columns, JSON keys,
//! OpenMetrics types, graph axes and the generated reference.

use std::borrow::Cow;

/// How a value behaves over time, and so how two readings of it are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only ever grows, apart from resets.  Views show its rate over the true interval.
    Counter,
    /// A level.  Stored as the bits of an `i64`; views show it as it is.
    Gauge,
    /// Bytes, as an index into the table's text list.  Not shown as a number.
    Text,
}

/// What one step of the stored integer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A bare number of things.
    Count,
    /// Bytes.
    Bytes,
    /// 1,024 bytes, as `/proc/meminfo` counts.
    Kibibytes,
    /// 512 bytes, as `/proc/diskstats` counts whatever the device's real sector size.
    Sectors,
    /// Pages of memory (`Meta::page_size_bytes` each).
    Pages,
    /// Clock ticks of `USER_HZ` (`Meta::ticks_per_second` each second).
    Ticks,
    /// 10⁻⁹ s.
    Nanoseconds,
    /// 10⁻⁶ s.
    Microseconds,
    /// 10⁻³ s.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Hundredths of one, as in a load average of `0.25`.
    Hundredths,
    /// Per cent.
    Percent,
    /// Hundredths of a per cent, as PSI prints its averages.
    PercentHundredths,
    /// 10⁻³ °C, as hwmon and thermal zones count.
    Millicelsius,
    /// 10⁻⁶ W, as hwmon counts.
    Microwatts,
    /// 10⁻³ V, as hwmon counts.
    Millivolts,
    /// Revolutions a minute.
    Rpm,
    /// 10⁶ bits a second.
    Megabits,
    /// Text: no unit.
    Text,
}

impl Unit {
    /// The suffix that OpenMetrics and the reference use, in base units (`bytes`, `seconds`).
    pub const fn base_name(self) -> &'static str {
        match self {
            Unit::Count | Unit::Hundredths | Unit::Text => "",
            Unit::Bytes | Unit::Kibibytes | Unit::Sectors | Unit::Pages => "bytes",
            Unit::Ticks
            | Unit::Nanoseconds
            | Unit::Microseconds
            | Unit::Milliseconds
            | Unit::Seconds => "seconds",
            Unit::Percent | Unit::PercentHundredths => "percent",
            Unit::Millicelsius => "celsius",
            Unit::Microwatts => "watts",
            Unit::Millivolts => "volts",
            Unit::Rpm => "rpm",
            Unit::Megabits => "bits_per_second",
        }
    }

    /// What one stored step is worth in base units, given the machine's page size and tick rate.
    pub fn base_scale(self, page_size_bytes: u64, ticks_per_second: u64) -> f64 {
        match self {
            Unit::Kibibytes => 1024.0,
            Unit::Sectors => 512.0,
            Unit::Pages => page_size_bytes as f64,
            Unit::Ticks => 1.0 / ticks_per_second.max(1) as f64,
            Unit::Nanoseconds => 1e-9,
            Unit::Microseconds | Unit::Microwatts => 1e-6,
            Unit::Milliseconds | Unit::Millicelsius | Unit::Millivolts => 1e-3,
            Unit::Hundredths | Unit::PercentHundredths => 1e-2,
            Unit::Megabits => 1e6,
            Unit::Count | Unit::Bytes | Unit::Seconds | Unit::Percent | Unit::Rpm | Unit::Text => {
                1.0
            }
        }
    }
}

/// One column of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// `[a-z0-9_]+`, unique within its source, the same for ever: recordings find columns by it.
    pub name: Cow<'static, str>,
    /// What one step of the stored integer means.
    pub unit: Unit,
    /// How the value behaves over time.
    pub kind: Kind,
    /// One sentence without a full stop, for the reference and OpenMetrics.
    pub help: Cow<'static, str>,
}

impl Field {
    const fn of(name: &'static str, unit: Unit, kind: Kind, help: &'static str) -> Self {
        Field { name: Cow::Borrowed(name), unit, kind, help: Cow::Borrowed(help) }
    }

    /// The name of a field that is static data of the program; empty for one made at run time.
    /// For `const` functions, which cannot compare a `Cow`.
    pub const fn static_name(&self) -> &'static str {
        match self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(_) => "",
        }
    }

    /// A field that only grows.
    pub const fn counter(name: &'static str, unit: Unit, help: &'static str) -> Self {
        Field::of(name, unit, Kind::Counter, help)
    }

    /// A field whose value can rise and fall.
    pub const fn gauge(name: &'static str, unit: Unit, help: &'static str) -> Self {
        Field::of(name, unit, Kind::Gauge, help)
    }

    /// A field that is text.
    pub const fn text(name: &'static str, help: &'static str) -> Self {
        Field::of(name, Unit::Text, Kind::Text, help)
    }
}

/// Defines the columns of a source in one list: the constant `FIELDS`, and for each field a constant
/// with its index, by which a source sets it and a layout reads it.
///
/// A line is the name in upper case, the kind, the unit (not of a text) and the help.  The field's
/// name is that of the constant in lower case: recordings find columns by it, so it never changes.
/// Where the kernel's file has a line for each field, the line's key can follow; `KEYS` are the keys
/// in the order of the fields.
///
/// ```
/// sample::fields! {
///     READS: counter Count, "Reads finished", from b"rd:";
///     MEMORY: gauge Kibibytes, "Memory in use", from b"mem:";
///     STATE: text, "Whether it works";
/// }
///
/// assert_eq!((READS, MEMORY, STATE), (0, 1, 2));
/// assert_eq!(FIELDS[MEMORY].name, "memory");
/// assert_eq!(KEYS[MEMORY], b"mem:");
/// ```
#[macro_export]
macro_rules! fields {
    ($($name:ident: $kind:ident $($unit:ident)?, $help:literal $(, from $key:literal)?;)*) => {
        #[allow(
            dead_code,
            non_camel_case_types,
            clippy::upper_case_acronyms,
            reason = "it only numbers the constants"
        )]
        enum FieldIndex { $($name,)* }
        $(
            #[allow(dead_code, reason = "a field that no code reads by its index")]
            pub(crate) const $name: usize = FieldIndex::$name as usize;
        )*
        /// The columns.
        pub(crate) const FIELDS: &[$crate::Field] = &[$(
            $crate::Field::$kind(
                {
                    const NAME: [u8; stringify!($name).len()] =
                        $crate::lower_case(stringify!($name));
                    $crate::ascii_text(&NAME)
                },
                $($crate::Unit::$unit,)?
                $help,
            ),
        )*];
        /// The keys of the fields in the kernel's file.
        #[allow(dead_code, reason = "only some sources find their values by a key")]
        pub(crate) const KEYS: &[&[u8]] = &[$($($key,)?)*];
    };
}

/// An ASCII text of that length in lower case, for [`fields!`](crate::fields).
#[doc(hidden)]
pub const fn lower_case<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut lower = [0; LENGTH];
    lower.copy_from_slice(text.as_bytes());
    lower.make_ascii_lowercase();
    lower
}

/// ASCII bytes as text, for [`fields!`](crate::fields).
#[doc(hidden)]
pub const fn ascii_text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("not ASCII"),
    }
}
