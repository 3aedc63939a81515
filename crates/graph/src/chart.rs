//! From marks and settings to a picture, and what `graphv` says of it.

use calendar::CivilZone;

use crate::axis_value::ValueAxis;
use crate::drawing;
use crate::layout::{self, Geometry};
use crate::legend::UnknownControl;
use crate::number::Conversion;
use crate::picture::Picture;
use crate::plot::{Mark, per_pixel};
use crate::settings::{ImageFormat, Settings, TextRole};

/// A value of the description of a picture.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// A number of pixels or seconds.
    Count(i64),
    /// A value.
    Number(f64),
    /// A text.
    Text(String),
}

/// `%0.10e`.
const SCIENTIFIC: Conversion =
    Conversion { flag: Some('0'), width: 0, precision: Some(10), kind: 'e' };

impl std::fmt::Display for Fact {
    /// As `rrdtool graphv` prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Number(number) if number.is_nan() => f.write_str("NaN"),
            Self::Number(number) => f.write_str(&SCIENTIFIC.write(*number)),
            Self::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

/// A picture with its description.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Names and values, in the order of `rrdtool graphv`.
    pub facts: Vec<(String, Fact)>,
    /// The picture.
    pub picture: Picture,
    /// Where its parts stand.
    pub geometry: Geometry,
    /// The value axis.
    pub axis: ValueAxis,
}

/// Why no picture can be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// A legend is wrong.
    #[error(transparent)]
    Legend(#[from] UnknownControl),
    /// The limits have no scale: one of them is infinite.  RRDtool draws nothing and says nothing.
    #[error("the value axis has no scale: one of its limits is infinite")]
    NoScale,
    /// `--graph-type xy`.
    #[error("XY diagram not implemented")]
    NotImplemented,
    /// The picture is too large.
    #[error("malloc data_proc")]
    TooLarge,
}

/// The largest width and height, in pixels.
const PIXELS_MAX: i64 = 32_767;

/// Draws a graph of `marks` from `start` to `end`, in seconds since the epoch.
///
/// # Errors
/// See [`ChartError`].
pub fn draw(
    marks: &[Mark],
    settings: &Settings,
    (start, end): (i64, i64),
    zone: &CivilZone,
) -> Result<Chart, ChartError> {
    if settings.is_xy {
        return Err(ChartError::NotImplemented);
    }
    if settings.width > PIXELS_MAX || settings.height > PIXELS_MAX {
        return Err(ChartError::TooLarge);
    }
    let geometry = layout::measure(marks, settings, (start, end))?;
    if geometry.image_width > 2 * PIXELS_MAX || geometry.image_height > 2 * PIXELS_MAX {
        return Err(ChartError::TooLarge);
    }
    let values = per_pixel(marks, start, end, geometry.width as usize);
    let axis =
        ValueAxis::new(marks, &values, settings, geometry.height).ok_or(ChartError::NoScale)?;
    let mut facts = geometry_facts(&geometry, (start, end));
    facts.push(("value_min".to_owned(), Fact::Number(axis.min)));
    facts.push(("value_max".to_owned(), Fact::Number(axis.max)));
    facts.extend(legend_facts(&geometry, settings));
    let picture = drawing::draw(settings, &geometry, &axis, marks, values, (start, end), zone);
    Ok(Chart { facts, picture, geometry, axis })
}

/// What is known before the data are drawn.
pub(crate) fn geometry_facts(geometry: &Geometry, times: (i64, i64)) -> Vec<(String, Fact)> {
    let counts = [
        ("graph_left", geometry.left),
        ("graph_top", geometry.top()),
        ("graph_width", geometry.width),
        ("graph_height", geometry.height),
        ("image_width", geometry.image_width),
        ("image_height", geometry.image_height),
        ("graph_start", times.0),
        ("graph_end", times.1),
    ];
    counts.into_iter().map(|(name, count)| (name.to_owned(), Fact::Count(count))).collect()
}

/// The texts of the legend, and the rectangle of each: left, top, right, bottom.
fn legend_facts(geometry: &Geometry, settings: &Settings) -> Vec<(String, Fact)> {
    if settings.no_legend || settings.only_graph {
        return Vec::new();
    }
    let font = settings.font(TextRole::Legend);
    let (left, top) = geometry.legend_at;
    let shown = geometry.legend.texts.iter().filter(|text| !text.text.is_empty());
    let mut facts = Vec::new();
    for (index, text) in shown.enumerate() {
        let (x, bottom) = (left as f64 + text.x, top as f64 + text.y);
        let width = crate::markup::lay_out(&text.text, font, settings, settings.zoom).width;
        let corners = [x, bottom - font.height(), x + width, bottom];
        let corners = corners.map(|corner| format!("{corner:.0}")).join(",");
        facts.push((format!("legend[{index}]"), Fact::Text(text.text.clone())));
        facts.push((format!("coords[{index}]"), Fact::Text(corners)));
    }
    facts
}

impl Chart {
    /// The file of the picture in a format; `None` if the format is for data or the picture is too
    /// large.
    #[must_use]
    pub fn file(&self, format: ImageFormat) -> Option<Vec<u8>> {
        match format {
            ImageFormat::Png => crate::png::write(&self.picture),
            ImageFormat::Svg => Some(crate::svg::write(&self.picture).into_bytes()),
            ImageFormat::Pdf => Some(crate::pdf::write(&self.picture)),
            ImageFormat::Eps => Some(crate::eps::write(&self.picture).into_bytes()),
            _ => None,
        }
    }
}

/// Whether any mark makes a picture; without one only `PRINT` has a result.
#[must_use]
pub fn is_graphic(marks: &[Mark]) -> bool {
    marks.iter().any(Mark::is_graphic)
}
