//! A header in memory: what a file keeps, and the state of its consolidation.
//!
//! Parameters and values are kept as the bits of the x86-64 layout, whatever the file's layout is:
//! each is a double or a count, by its index and by the kind of its archive or source.

use crate::layout::{READING_BYTES, VALUES};

/// How the readings of a data source become a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// The reading is the rate.
    Gauge,
    /// Difference of two readings of a growing integer; wraps at 32 or 64 bits.
    Counter,
    /// Difference of two readings of an integer.
    Derive,
    /// As `Counter`, of doubles; a change of direction is unknown.
    DCounter,
    /// As `Derive`, of doubles.
    DDerive,
    /// The reading is what came since the last one.
    Absolute,
    /// Computed from the sources before it.
    Compute,
}

impl SourceKind {
    /// Every kind, with its name in files and arguments.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Gauge, "GAUGE"),
        (Self::Counter, "COUNTER"),
        (Self::Derive, "DERIVE"),
        (Self::DCounter, "DCOUNTER"),
        (Self::DDerive, "DDERIVE"),
        (Self::Absolute, "ABSOLUTE"),
        (Self::Compute, "COMPUTE"),
    ];

    /// The kind of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own)| *own == name).map(|(kind, _)| *kind)
    }

    /// The name that RRDtool has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// How the data points of a row become its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConsolidationFunction {
    /// Mean.
    Average,
    /// Smallest.
    Minimum,
    /// Largest.
    Maximum,
    /// Latest.
    Last,
    /// Forecast (Holt-Winters, additive).
    HwPredict,
    /// Forecast (Holt-Winters, multiplicative).
    MhwPredict,
    /// Seasonal coefficients of a forecast.
    Seasonal,
    /// Seasonal deviations from a forecast.
    DevSeasonal,
    /// Expected deviation from a forecast.
    DevPredict,
    /// 1 where too many of the latest values violated the forecast.
    Failures,
}

impl ConsolidationFunction {
    /// Every function, with its name in files and arguments.
    pub const ALL: [(Self, &'static str); 10] = [
        (Self::Average, "AVERAGE"),
        (Self::Minimum, "MIN"),
        (Self::Maximum, "MAX"),
        (Self::Last, "LAST"),
        (Self::HwPredict, "HWPREDICT"),
        (Self::MhwPredict, "MHWPREDICT"),
        (Self::Seasonal, "SEASONAL"),
        (Self::DevSeasonal, "DEVSEASONAL"),
        (Self::DevPredict, "DEVPREDICT"),
        (Self::Failures, "FAILURES"),
    ];

    /// The function of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own)| *own == name).map(|(function, _)| *function)
    }

    /// The name that RRDtool has for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(function, _)| *function == self).map_or("", |(_, name)| name)
    }

    /// Whether it consolidates data points, and is not of the Holt-Winters family.
    #[must_use]
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Average | Self::Minimum | Self::Maximum | Self::Last)
    }

    /// Whether it is one of the two forecasts.
    #[must_use]
    pub fn is_forecast(self) -> bool {
        matches!(self, Self::HwPredict | Self::MhwPredict)
    }

    /// Whether its rows are a season.
    #[must_use]
    pub fn is_seasonal(self) -> bool {
        matches!(self, Self::Seasonal | Self::DevSeasonal)
    }
}

/// A parameter block: bits of doubles or counts.
pub type Values = [u64; VALUES];

/// Parameters of a data source.
pub mod source_value {
    /// Count: longest time between two readings, in seconds.
    pub const HEARTBEAT: usize = 0;
    /// Double: smallest rate.
    pub const MINIMUM: usize = 1;
    /// Double: largest rate.
    pub const MAXIMUM: usize = 2;
}

/// Parameters of an archive.
pub mod archive_value {
    /// Double: share of unknown data points above which a row is unknown.
    pub const XFILES_FACTOR: usize = 0;
    /// Double (forecasts): adaption of the intercept.
    pub const ALPHA: usize = 1;
    /// Double (forecasts): adaption of the slope.
    pub const BETA: usize = 2;
    /// Double (seasons): adaption.
    pub const GAMMA: usize = 1;
    /// Double (seasons): share of the season that is smoothed over.
    pub const SMOOTHING_WINDOW: usize = 2;
    /// Double (failures): width of the band above the forecast, in deviations.
    pub const DELTA_POSITIVE: usize = 1;
    /// Double (failures): width of the band below the forecast, in deviations.
    pub const DELTA_NEGATIVE: usize = 2;
    /// Count (Holt-Winters): the archive that this one depends on.
    pub const DEPENDENT: usize = 3;
    /// Double (forecasts): length of the season, in rows.
    pub const PERIOD: usize = 4;
    /// Count (seasons): row at which the season is smoothed.
    pub const SMOOTH_ROW: usize = 4;
    /// Count (failures): length of the window, in rows.
    pub const WINDOW: usize = 4;
    /// Count (failures): violations in the window that are a failure.
    pub const THRESHOLD: usize = 5;
}

/// Values of a primary preparation.
pub mod primary_value {
    /// Count: unknown seconds of the current step.
    pub const UNKNOWN_SECONDS: usize = 0;
    /// Double: sum of rate times seconds.
    pub const VALUE: usize = 1;
}

/// Values of a consolidation preparation.
pub mod consolidation_value {
    /// Double: the row so far.
    pub const VALUE: usize = 0;
    /// Count: unknown data points of the row so far.
    pub const UNKNOWN: usize = 1;
    /// Double (forecasts): intercept.
    pub const INTERCEPT: usize = 2;
    /// Double (forecasts): intercept before the latest update.
    pub const LAST_INTERCEPT: usize = 3;
    /// Double (seasons): coefficient or deviation of the current row.
    pub const SEASONAL: usize = 2;
    /// Double (seasons): that of the row before.
    pub const LAST_SEASONAL: usize = 3;
    /// Double (forecasts): slope.
    pub const SLOPE: usize = 4;
    /// Double (forecasts): slope before the latest update.
    pub const LAST_SLOPE: usize = 5;
    /// Count (forecasts): steps since the last known value.
    pub const NULL_COUNT: usize = 6;
    /// Count (forecasts): the same before the latest update.
    pub const LAST_NULL_COUNT: usize = 7;
    /// Count (seasons): seasons seen so far, at first.
    pub const SEASONS: usize = 6;
    /// Double: value of the first row to be written.
    pub const PRIMARY: usize = 8;
    /// Double: value of the following rows to be written.
    pub const SECONDARY: usize = 9;
}

/// Most rows of the window of an archive `FAILURES`.
pub const FAILURES_WINDOW_MAX: u64 = 28;

/// Seconds and microseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Time {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Microseconds within the second.
    pub microseconds: i64,
}

impl Time {
    /// A whole second.
    #[must_use]
    pub fn of_seconds(seconds: i64) -> Self {
        Self { seconds, microseconds: 0 }
    }
}

/// A data source.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredDataSource {
    /// The name of the data source, of 1 to 19 bytes.
    pub name: String,
    /// How readings become rates.
    pub kind: SourceKind,
    /// Parameters ([`source_value`]); of `COMPUTE` its expression, 20 nodes of 4 bytes.
    pub values: Values,
}

impl StoredDataSource {
    /// Longest time between two readings, in seconds.
    #[must_use]
    pub fn heartbeat_seconds(&self) -> u64 {
        self.values[source_value::HEARTBEAT]
    }

    /// Smallest rate; not a number without a limit.
    #[must_use]
    pub fn minimum(&self) -> f64 {
        f64::from_bits(self.values[source_value::MINIMUM])
    }

    /// Largest rate; not a number without a limit.
    #[must_use]
    pub fn maximum(&self) -> f64 {
        f64::from_bits(self.values[source_value::MAXIMUM])
    }
}

/// An archive: rows of one resolution and one function.
#[derive(Debug, Clone, PartialEq)]
pub struct Archive {
    /// How data points become a row.
    pub function: ConsolidationFunction,
    /// Number of rows.
    pub rows: u64,
    /// Steps that a row covers.
    pub steps_per_row: u64,
    /// Parameters ([`archive_value`]).
    pub values: Values,
}

impl Archive {
    /// A parameter as double.
    #[must_use]
    pub fn double(&self, index: usize) -> f64 {
        f64::from_bits(self.values[index])
    }

    /// The archive that this one depends on.
    #[must_use]
    pub fn dependent(&self) -> usize {
        usize::try_from(self.values[archive_value::DEPENDENT]).unwrap_or(usize::MAX)
    }
}

/// What a data source has gathered in the current step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Primary {
    /// Text of the last reading, ended by a zero.
    pub reading: [u8; READING_BYTES],
    /// Values ([`primary_value`]).
    pub values: Values,
}

impl Primary {
    /// The text of the last reading.
    #[must_use]
    pub fn reading(&self) -> &[u8] {
        let end = self.reading.iter().position(|byte| *byte == 0).unwrap_or(READING_BYTES);
        &self.reading[..end]
    }

    /// Sets the text of the last reading; keeps its first 29 bytes.
    pub fn set_reading(&mut self, text: &[u8]) {
        let length = text.len().min(READING_BYTES - 1);
        let length = text[..length].iter().position(|byte| *byte == 0).unwrap_or(length);
        self.reading = [0; READING_BYTES];
        self.reading[..length].copy_from_slice(&text[..length]);
    }
}

/// A header.
#[derive(Debug, Clone, PartialEq)]
pub struct RrdHeader {
    /// Version of the format: 1 to 5.
    pub version: u8,
    /// Seconds of a step.
    pub step_seconds: u64,
    /// Data sources, in the order of the file.
    pub sources: Vec<StoredDataSource>,
    /// Archives, in the order of the file.
    pub archives: Vec<Archive>,
    /// Time of the last update.
    pub last_update: Time,
    /// State of each source.
    pub primary: Vec<Primary>,
    /// State of each archive and source, archive by archive ([`consolidation_value`]).
    pub consolidation: Vec<Values>,
    /// Row written last, of each archive.
    pub current_row: Vec<u64>,
}

impl RrdHeader {
    /// Number of doubles in all rows.
    #[must_use]
    pub fn cells(&self) -> u64 {
        let rows = self.archives.iter().fold(0u64, |sum, one| sum.saturating_add(one.rows));
        rows.saturating_mul(self.sources.len() as u64)
    }

    /// Index of a data source by its name.
    #[must_use]
    pub fn source_index(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    /// State of an archive and a source.
    #[must_use]
    pub fn state(&self, archive: usize, source: usize) -> &Values {
        &self.consolidation[archive * self.sources.len() + source]
    }

    /// State of an archive and a source, to change.
    pub fn state_mut(&mut self, archive: usize, source: usize) -> &mut Values {
        &mut self.consolidation[archive * self.sources.len() + source]
    }

    /// Seconds of a row of an archive.
    #[must_use]
    pub fn row_seconds(&self, archive: usize) -> u64 {
        self.step_seconds.wrapping_mul(self.archives[archive].steps_per_row)
    }

    /// End of the newest row of an archive, in seconds since 1970.
    #[must_use]
    pub fn newest_row(&self, archive: usize) -> i64 {
        let row_seconds = i64::try_from(self.row_seconds(archive)).unwrap_or(i64::MAX).max(1);
        self.last_update.seconds - self.last_update.seconds % row_seconds
    }
}
