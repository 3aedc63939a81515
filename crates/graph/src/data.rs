//! Series: what a database is asked for, what it gives, and what expressions are made of.

use rpn::UNKNOWN;

use crate::elements::Consolidation;

/// What is asked of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesRequest<'a> {
    /// The database, as the description names it.
    pub file: &'a str,
    /// Which archives.
    pub consolidation: Consolidation,
    /// First time, in seconds since 1970.
    pub start_s: i64,
    /// Last time, in seconds since 1970.
    pub end_s: i64,
    /// The wanted step, in seconds; 0 is the smallest.
    pub step_s: i64,
    /// Address of a caching daemon.
    pub daemon: Option<&'a str>,
}

/// What a database gives: rows of all its data sources.
///
/// Row `i` ends at `start_s + (i + 1) * step_s`; the last one ends at `end_s`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesTable {
    /// Start of the first row, in seconds since 1970.
    pub start_s: i64,
    /// End of the last row, in seconds since 1970.
    pub end_s: i64,
    /// Seconds between rows.
    pub step_s: i64,
    /// The names of the data sources.
    pub columns: Vec<String>,
    /// Row by row; unknown is NaN.
    pub values: Vec<f64>,
}

/// Where series come from.
pub trait SeriesSource {
    /// The rows of a database, as `rrdtool fetch` gives them.
    ///
    /// # Errors
    /// A text for the user: no such file, no such archive.
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String>;
}

/// A series of one value for each step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegularSeries {
    /// Start of the first value, in seconds since 1970.
    pub start_s: i64,
    /// End of the last value, in seconds since 1970.
    pub end_s: i64,
    /// Seconds of a value.
    pub step_s: i64,
    /// Unknown is NaN.
    pub values: Vec<f64>,
    /// Seconds that the series is drawn later than it was.
    pub shift_s: i64,
}

/// A value and its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Unknown is NaN.
    pub value: f64,
    /// The time in seconds since 1970; `None` for a value of the whole series.
    pub time_s: Option<i64>,
}

impl Default for Point {
    fn default() -> Self {
        Point { value: UNKNOWN, time_s: None }
    }
}
