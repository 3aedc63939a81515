//! How a description becomes data.

use crate::elements::Consolidation;

/// What is asked of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<'a> {
    /// The database, as the description names it.
    pub file: &'a str,
    /// Which archives.
    pub consolidation: Consolidation,
    /// First time, in seconds since 1970.
    pub start_s: i64,
    /// Last time, in seconds since 1970.
    pub end_s: i64,
    /// The wanted step, in seconds.
    pub step_s: i64,
    /// Address of a caching daemon.
    pub daemon: Option<&'a str>,
}

/// What a database gives: rows of all its data sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A step before the end of the first row, in seconds since 1970.
    pub start_s: i64,
    /// The end of the last row, in seconds since 1970.
    pub end_s: i64,
    /// Seconds between rows.
    pub step_s: i64,
    /// The names of the data sources.
    pub columns: Vec<String>,
    /// Row by row; unknown is NaN.
    pub values: Vec<f64>,
}

/// Where series come from.
pub trait DataSource {
    /// The rows of a database, as `rrdtool fetch` gives them.
    ///
    /// # Errors
    /// A text for the user: no such file, no such archive.
    fn fetch(&mut self, request: &Request<'_>) -> Result<Table, String>;
}
