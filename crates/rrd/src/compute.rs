//! Computed data sources: their expression in a file, and its value.

use crate::error::{Result, refuse};
use crate::header::{DataSource, Values};

/// Reads an expression, which may use the sources before it.
pub(crate) fn parse(_text: &str, _known: &[DataSource]) -> Result<Values> {
    Err(refuse!("computed sources are not supported yet"))
}

/// The expression of a source as text.
pub(crate) fn text(_source: &DataSource, _sources: &[DataSource]) -> String {
    String::new()
}

/// The value of a computed source at the end of a step, from the data points before it.
pub(crate) fn evaluate(source: &DataSource, _points: &[f64]) -> Result<f64> {
    Err(refuse!("data source {}: computed sources are not supported yet", source.name))
}
