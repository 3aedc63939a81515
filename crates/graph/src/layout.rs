//! The size of a picture and where its parts stand, in pixels.
//!
//! ```text
//! | name of |            title              | name of |
//! |  axis   | labels |      graph  | labels |  axis   |
//! |         |        | time labels |        |         |
//! |                    legend                         |
//! |                   watermark                       |
//! ```
//!
//! Sums of the lengths that RRDtool reserves for each part, each cut to whole pixels as it does.

use crate::legend::{Legend, RuleLimits, UnknownControl, place};
use crate::plot::Mark;
use crate::settings::{LegendPosition, Settings, TextRole};

/// Empty space around labels, in pixels.
const SPACING: i64 = 15;

/// Where the parts of a picture stand, in pixels from its top left.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Geometry {
    /// The width of the picture.
    pub image_width: i64,
    /// The height of the picture.
    pub image_height: i64,
    /// The left end of the graph.
    pub left: i64,
    /// The bottom of the graph.
    pub bottom: i64,
    /// The width of the graph.
    pub width: i64,
    /// The height of the graph.
    pub height: i64,
    /// The middle of the title.
    pub title_x: i64,
    /// The lines of the title.
    pub title: Vec<String>,
    /// The left end of the name of the left axis, and its middle.
    pub left_name: (i64, i64),
    /// The left end of the name of the right axis, and its middle.
    pub right_name: (i64, i64),
    /// The top left of the legend.
    pub legend_at: (i64, i64),
    /// The legend.
    pub legend: Legend,
}

impl Geometry {
    /// The top of the graph.
    #[must_use]
    pub const fn top(&self) -> i64 {
        self.bottom - self.height
    }

    /// The right end of the graph.
    #[must_use]
    pub const fn right(&self) -> i64 {
        self.left + self.width
    }
}

/// The room of each part, in pixels.
struct Room {
    left_name: i64,
    right_name: i64,
    title: i64,
    value_labels: i64,
    time_labels: i64,
    watermark: i64,
    right_labels: i64,
    tag: i64,
}

fn cut(length: f64) -> i64 {
    length as i64
}

/// The lines of a title: it is split at `<br>`, `<br/>`, `\n` and line ends.
fn title_lines(title: &str) -> Vec<String> {
    if title.is_empty() {
        return Vec::new();
    }
    let title = title.replace("<br>", "\n").replace("<br/>", "\n").replace("\\n", "\n");
    title.split('\n').map(str::to_owned).collect()
}

fn room(settings: &Settings, title_lines: usize) -> Room {
    let size = |role| settings.font(role).points;
    let labels = if settings.has_y_grid() || settings.keep_label_room {
        cut(settings.font(TextRole::Axis).advance('0') * f64::from(settings.units_length))
    } else {
        0
    };
    let name = |text: &str| if text.is_empty() { 0 } else { cut(size(TextRole::Unit) * 2.0) };
    let title = match title_lines {
        0 => SPACING,
        lines => cut(size(TextRole::Title) * 1.6 * (lines + 1) as f64),
    };
    let value_labels = labels + SPACING;
    Room {
        left_name: name(&settings.vertical_label),
        right_name: match name(&settings.right_axis_label) {
            0 => SPACING,
            room => room,
        },
        title,
        value_labels,
        time_labels: if settings.has_x_grid() { cut(size(TextRole::Axis) * 2.5) } else { 0 },
        watermark: if settings.watermark.is_empty() {
            0
        } else {
            cut(size(TextRole::Watermark) * 2.0)
        },
        right_labels: if settings.right_axis.is_some() { value_labels } else { 0 },
        tag: if settings.no_tag { 0 } else { SPACING },
    }
}

/// Works out all positions.
///
/// # Errors
/// A legend ends in a control code that does not exist.
pub fn measure(
    marks: &[Mark],
    settings: &Settings,
    times: (i64, i64),
) -> Result<Geometry, UnknownControl> {
    if settings.only_graph {
        return Ok(only_graph(settings));
    }
    let title = title_lines(&settings.title);
    let room = room(settings, title.len());
    let unknown = f64::NAN;
    let values = (settings.lower_limit.unwrap_or(unknown), settings.upper_limit.unwrap_or(unknown));
    let limits = RuleLimits { values, times };
    let is_beside = matches!(settings.legend_position, LegendPosition::West | LegendPosition::East);
    let mut legend = Legend::default();
    if !settings.no_legend && is_beside {
        let width = place(marks, settings, limits, None)?.width;
        legend = place(marks, settings, limits, Some(width))?;
        legend.width = width;
        // Beside the graph the legend takes no height of its own.
    }
    let beside = if is_beside { legend.width } else { 0 };
    let around = room.value_labels
        + room.tag
        + beside
        + room.right_labels
        + room.left_name
        + room.right_name;
    let (image_width, width) = match settings.full_size {
        true => (settings.width, (settings.width - around).max(1)),
        false => (settings.width + around, settings.width),
    };
    if !settings.no_legend && !is_beside {
        legend = place(marks, settings, limits, Some(image_width))?;
    }
    let below = if is_beside { 0 } else { legend.height };
    let bottom_margin = if settings.no_legend { 0.5 * SPACING as f64 } else { 0.0 };
    let mut around = room.time_labels + below + room.title;
    let (image_height, height) = if settings.full_size {
        let left = cut((settings.height - around) as f64 - bottom_margin) - room.watermark;
        (settings.height, left.max(1))
    } else {
        around = cut(around as f64 + bottom_margin) + room.watermark;
        (settings.height + around, settings.height)
    };
    let mut geometry =
        Geometry { image_width, image_height, width, height, title, ..Geometry::default() };
    stand(&mut geometry, settings, &room, &legend);
    geometry.legend = legend;
    Ok(geometry)
}

fn only_graph(settings: &Settings) -> Geometry {
    let (width, height) = (settings.width, settings.height);
    Geometry {
        image_width: width,
        image_height: height,
        width,
        height,
        bottom: height,
        ..Geometry::default()
    }
}

/// Where the parts stand, once their sizes are known.
fn stand(geometry: &mut Geometry, settings: &Settings, room: &Room, legend: &Legend) {
    let (width, height) = (geometry.width, geometry.height);
    let left_of_graph = room.left_name + room.value_labels;
    let mut x = 0;
    let mut top = room.title;
    match settings.legend_position {
        LegendPosition::North => top += legend.height,
        LegendPosition::West => x = legend.width,
        LegendPosition::East => x = room.tag,
        LegendPosition::South => {}
    }
    geometry.left = x + left_of_graph;
    geometry.bottom = top + height;
    geometry.left_name = (x, top + height / 2);
    geometry.right_name = (x + left_of_graph + width + room.right_labels, top + height / 2);
    geometry.title_x = geometry.image_width / 2;
    geometry.legend_at = (0, room.title);
    match settings.legend_position {
        LegendPosition::North => {
            geometry.left_name.1 += room.time_labels;
            geometry.right_name.1 += room.time_labels;
        }
        LegendPosition::West => geometry.title_x = legend.width + width / 2,
        LegendPosition::South => geometry.legend_at.1 = top + height + room.time_labels,
        LegendPosition::East => {
            geometry.title_x = width / 2 + room.tag;
            let right = left_of_graph + width + room.right_name + room.right_labels;
            geometry.legend_at.0 = x + right;
        }
    }
}
