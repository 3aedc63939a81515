//! Numbers in columns.

use std::fmt::Write as _;

/// How numbers are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Digits after the point.
    pub(crate) decimals: usize,
    /// With units (`--human`).
    pub(crate) is_human: bool,
}

impl Default for Style {
    fn default() -> Self {
        Style { decimals: 2, is_human: false }
    }
}

/// What a number counts, as far as `--human` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nothing that is scaled.
    Plain,
    /// A whole number that is not scaled.
    Whole,
    /// Per cent.
    Percent,
    /// Kibibytes.
    Kibibytes,
    /// Kibibytes that `--human` shows from bytes on.
    KibibytesOfBytes,
    /// Kibibytes that are written as whole numbers without `--human`.
    WholeKibibytes,
    /// Mebibytes that are written as whole numbers without `--human`.
    WholeMebibytes,
}

/// What stands for a number that is missing, which is not 0.
const MISSING: &str = "-";

impl Style {
    /// Appends a number in a column of a width, with a blank before it.
    pub(crate) fn put(self, out: &mut String, width: usize, value: Option<f64>, unit: Unit) {
        let text = value.map_or_else(|| MISSING.to_owned(), |value| self.text(value, unit));
        let _ = write!(out, " {text:>width$}", width = width.saturating_sub(1));
    }

    /// A number as it is written, without blanks.
    pub(crate) fn text(self, value: f64, unit: Unit) -> String {
        let decimals = self.decimals;
        match unit {
            Unit::Percent if self.is_human => format!("{value:.*}%", decimals.min(1)),
            Unit::Kibibytes | Unit::WholeKibibytes if self.is_human => scaled(value, 1, decimals),
            Unit::KibibytesOfBytes if self.is_human => scaled(value * 1024.0, 0, decimals),
            Unit::WholeMebibytes if self.is_human => scaled(value, 2, decimals),
            Unit::Whole | Unit::WholeKibibytes | Unit::WholeMebibytes => format!("{value:.0}"),
            _ => format!("{value:.decimals$}"),
        }
    }
}

/// A number with the letter of its power of 1024; `power` is that of the number as it is.
fn scaled(mut value: f64, mut power: usize, decimals: usize) -> String {
    const LETTERS: [char; 6] = ['B', 'k', 'M', 'G', 'T', 'P'];
    while value >= 1024.0 && power + 1 < LETTERS.len() {
        value /= 1024.0;
        power += 1;
    }
    format!("{value:.*}{}", decimals.min(1), LETTERS[power])
}

/// A share in per cent; 0 of nothing.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole * 100.0 } else { 0.0 }
}

/// A quotient; 0 if the divisor is.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
