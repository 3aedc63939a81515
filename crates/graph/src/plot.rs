//! What is drawn: marks in their order, each with its values by time.
//!
//! A description's elements and their data become marks; the layout knows neither files nor
//! expressions.

use crate::elements::{Alignment, Dashes};
use crate::picture::Rgba;

/// What a mark is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MarkKind {
    /// A line through the values.
    Line {
        /// The width in pixels.
        width: f64,
    },
    /// The area below the values.
    Area {
        /// The second colour of a gradient.
        color2: Option<Rgba>,
        /// How far the gradient reaches, in pixels: from the values down, or, if negative, from
        /// the axis
        /// up; 0 from the values to the axis.
        gradient_height: f64,
    },
    /// A tick at each value that is neither 0 nor unknown.
    Tick {
        /// The length as a part of the height; negative from the top.
        fraction: f64,
    },
    /// A horizontal line.
    HorizontalRule {
        /// The value at which the line lies.
        value: f64,
    },
    /// A vertical line.
    VerticalRule {
        /// The time of the line, in seconds since 1970.
        time: i64,
    },
    /// A comment of the legend.
    Text,
    /// A value printed in the legend.
    Printed,
    /// Texts after it stand so.
    Align(Alignment),
}

/// The values of a mark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MarkValues<'a> {
    /// None.
    Absent,
    /// One value for all times.
    Constant(f64),
    /// The value of row `i` holds from `start + i * step` to `start + (i + 1) * step`.
    Series {
        /// The start in seconds since 1970.
        start: i64,
        /// The end of the last row, in seconds since the epoch.
        end: i64,
        /// The length of a row, in seconds.
        step: i64,
        /// One value a row; NaN is unknown.
        values: &'a [f64],
    },
}

impl MarkValues<'_> {
    /// The value at a time; NaN where there is none.
    #[must_use]
    pub fn at(&self, time: i64) -> f64 {
        match *self {
            Self::Absent => f64::NAN,
            Self::Constant(value) => value,
            Self::Series { start, end, step, values } => {
                if time < start || time >= end || step <= 0 {
                    return f64::NAN;
                }
                let row = usize::try_from((time - start) / step);
                row.ok().and_then(|row| values.get(row)).copied().unwrap_or(f64::NAN)
            }
        }
    }
}

/// An element of a graph or its legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark<'a> {
    /// What it is.
    pub kind: MarkKind,
    /// The values of the mark.
    pub values: MarkValues<'a>,
    /// The text of the legend, control code included; empty for none.
    pub legend: String,
    /// The colour of the mark; opacity 0 if it is not drawn.
    pub color: Rgba,
    /// The dashes of the line.
    pub dashes: Option<Dashes>,
    /// Whether its values are added to those of the mark before.
    pub stack: bool,
    /// Whether the y axis ignores it.
    pub skip_scale: bool,
}

impl Mark<'_> {
    /// Whether it has values to draw.
    #[must_use]
    pub fn is_series(&self) -> bool {
        matches!(self.kind, MarkKind::Line { .. } | MarkKind::Area { .. } | MarkKind::Tick { .. })
    }

    /// Whether a picture is drawn because of it.
    #[must_use]
    pub fn is_graphic(&self) -> bool {
        !matches!(self.kind, MarkKind::Text | MarkKind::Align(_))
    }
}

/// One value for each pixel of the graph's width.
///
/// Stacked values are sums; an unknown value is NaN, and the stack goes on above it.
#[must_use]
pub fn per_pixel(marks: &[Mark], start: i64, end: i64, width: usize) -> Vec<Vec<f64>> {
    let mut values: Vec<Vec<f64>> = marks.iter().map(|_| Vec::new()).collect();
    for (mark, values) in marks.iter().zip(&mut values) {
        if mark.is_series() {
            values.reserve_exact(width);
        }
    }
    let seconds_per_pixel = (end - start) as f64 / width as f64;
    for pixel in 0..width {
        let time = (start as f64 + seconds_per_pixel * pixel as f64) as i64;
        let mut sum = 0.0;
        for (mark, values) in marks.iter().zip(&mut values) {
            if !mark.is_series() {
                continue;
            }
            if !mark.stack {
                sum = 0.0;
            }
            let value = mark.values.at(time);
            if value.is_nan() {
                values.push(f64::NAN);
            } else {
                sum += value;
                values.push(sum);
            }
        }
    }
    values
}
