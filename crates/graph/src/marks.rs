//! From a description and its data to the marks of a graph: variables become values.
//!
//! Marks borrow the series, so nothing is copied.

use crate::description::Description;
use crate::elements::{Color, Dashes, Element, Operand};
use crate::picture::Rgba;
use crate::plot::{Mark, MarkKind, MarkValues};
use crate::series::Data;

impl From<Color> for Rgba {
    fn from(color: Color) -> Self {
        Self::from_hex(u32::from_be_bytes([color.red, color.green, color.blue, color.alpha]))
    }
}

/// The marks of a description.  `printed` has the text of each `GPRINT`, at the index of its element.
#[must_use]
pub fn marks<'a>(
    description: &Description,
    data: &'a Data,
    printed: &[Option<String>],
) -> Vec<Mark<'a>> {
    let elements = description.elements.iter().enumerate();
    elements.filter_map(|(index, element)| mark(element, index, data, printed)).collect()
}

fn mark<'a>(
    element: &Element,
    index: usize,
    data: &'a Data,
    printed: &[Option<String>],
) -> Option<Mark<'a>> {
    let mark = match element {
        // A column of a table stands in the legend of a graph too.
        Element::Comment(text) | Element::XPort { legend: text, .. } => {
            plain(MarkKind::Text, text.clone())
        }
        Element::Print(print) if print.is_in_graph => {
            plain(MarkKind::Printed, printed.get(index).cloned().flatten().unwrap_or_default())
        }
        Element::TextAlign(alignment) => plain(MarkKind::Align(*alignment), String::new()),
        Element::Line(line) => Mark {
            values: values(line.value, data),
            dashes: line.dashes.clone(),
            stack: line.is_stacked,
            skip_scale: line.skips_scale,
            ..colored(MarkKind::Line { width: line.width }, line.color, &line.legend)
        },
        Element::Area(area) => {
            let color2 = area.color2.map(Rgba::from);
            let kind = MarkKind::Area { color2, gradient_height: area.gradient_height };
            Mark {
                values: values(area.value, data),
                stack: area.is_stacked,
                skip_scale: area.skips_scale,
                ..colored(kind, area.color, &area.legend)
            }
        }
        Element::Tick(tick) => {
            let fraction = tick.fraction.unwrap_or(f64::NAN);
            Mark {
                values: values(tick.value, data),
                // RRDtool leaves no room for the colour here.
                legend: tick.legend.clone(),
                ..colored(MarkKind::Tick { fraction }, tick.color, "")
            }
        }
        Element::HorizontalRule(rule) => {
            let value = data.number(rule.at).unwrap_or(f64::NAN);
            let kind = MarkKind::HorizontalRule { value };
            Mark { dashes: rule.dashes.clone(), ..colored(kind, rule.color, &rule.legend) }
        }
        Element::VerticalRule(rule) => {
            let time = match rule.at {
                Operand::Number(time) => time as i64,
                Operand::Variable(index) => {
                    data.point(index).and_then(|point| point.time_s).unwrap_or(0)
                }
            };
            let kind = MarkKind::VerticalRule { time };
            Mark { dashes: rule.dashes.clone(), ..colored(kind, rule.color, &rule.legend) }
        }
        _ => return None,
    };
    Some(mark)
}

fn plain<'a>(kind: MarkKind, legend: String) -> Mark<'a> {
    let color = Rgba::new(0.0, 0.0, 0.0, 0.0);
    let dashes: Option<Dashes> = None;
    Mark {
        kind,
        values: MarkValues::Absent,
        legend,
        color,
        dashes,
        stack: false,
        skip_scale: false,
    }
}

/// A mark whose legend leaves room for its colour.
fn colored<'a>(kind: MarkKind, color: Option<Color>, legend: &str) -> Mark<'a> {
    let legend = if legend.is_empty() { String::new() } else { format!("  {legend}") };
    let mark = plain(kind, legend);
    Mark { color: color.map_or(mark.color, Rgba::from), ..mark }
}

fn values(value: Operand, data: &Data) -> MarkValues<'_> {
    match value {
        Operand::Number(number) => MarkValues::Constant(number),
        Operand::Variable(index) => match (data.series(index), data.point(index)) {
            (Some(series), _) => MarkValues::Series {
                start: series.start_s,
                end: series.end_s,
                step: series.step_s,
                values: &series.values,
            },
            (None, Some(point)) => MarkValues::Constant(point.value),
            (None, None) => MarkValues::Absent,
        },
    }
}
