//! Tables: `xport`, and the formats of `graph` that are no picture (XML, JSON, CSV, TSV, SSV).
//!
//! All columns get the same step, the greatest common divisor of theirs.  The text is RRDtool's to
//! the byte, where it is no valid JSON or XML too: programs read it by its lines.

use std::fmt::Write as _;

use crate::description::Description;
use crate::elements::{Alignment, Element, Operand};
use crate::number::table_number;
use crate::series::{Data, Span, VALUES_MAX, greatest_common_divisor};

/// A table that cannot be made.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum XportError {
    /// No column.
    #[error("no XPORT found, nothing to do")]
    Nothing,
    /// A `LINE` or `AREA` of a number or a `VDEF`, which RRDtool crashes on.
    #[error("a table has columns of DEF and CDEF only, not of a number or a VDEF")]
    NoSeries,
    /// More than [`VALUES_MAX`] values.
    #[error("the table has {0} rows, too many")]
    TooLong(i64),
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum XportFormat {
    /// `xport`; with numbers in the names of the values if `enumerates`.
    Xml {
        /// `<v0>` instead of `<v>`.
        enumerates: bool,
        /// A time in each row.
        shows_time: bool,
    },
    /// JSON.
    Json {
        /// A time in each row.
        shows_time: bool,
    },
    /// Columns separated by a character: `,`, a tabulator or `;`.
    Separated(char),
}

/// Rows of several columns at equal steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// A step before the first row, in seconds since 1970.
    pub start_s: i64,
    /// The last row, in seconds since 1970.
    pub end_s: i64,
    /// Seconds between rows.
    pub step_s: i64,
    /// The legends of the columns.
    pub legends: Vec<String>,
    /// Row by row.
    pub values: Vec<f64>,
    /// `LINE`s and `AREA`s are columns: the table is of `graph`, not of `xport`.
    pub has_shapes: bool,
}

/// The rows of a description: of its `XPORT`s, and with `has_shapes` of its `LINE`s and `AREA`s.
///
/// # Errors
/// No column; a column that is no series; too many rows.
pub fn rows(
    description: &Description,
    data: &Data,
    span: Span,
    has_shapes: bool,
) -> Result<Rows, XportError> {
    let mut columns = Vec::new();
    for element in &description.elements {
        let (value, legend) = match element {
            Element::XPort { variable, legend } => (Operand::Variable(*variable), legend),
            Element::Line(line) if has_shapes => (line.value, &line.legend),
            Element::Area(area) if has_shapes => (area.value, &area.legend),
            _ => continue,
        };
        let Operand::Variable(variable) = value else { return Err(XportError::NoSeries) };
        let series = data.series(variable).ok_or(XportError::NoSeries)?;
        columns.push((series, legend.clone()));
    }
    let step_s = columns.iter().map(|(series, _)| series.step_s).fold(0, greatest_common_divisor);
    if step_s <= 0 {
        return Err(XportError::Nothing);
    }
    let start_s = span.start_s.div_euclid(step_s) * step_s;
    let end_s = span.end_s.saturating_add(step_s - 1).div_euclid(step_s) * step_s;
    let count = (end_s - start_s) / step_s;
    let total = usize::try_from(count).ok().and_then(|rows| rows.checked_mul(columns.len()));
    let total = total.filter(|total| *total <= VALUES_MAX).ok_or(XportError::TooLong(count))?;
    let mut values = Vec::with_capacity(total);
    for row in 1..=count {
        let begin_s = start_s + (row - 1) * step_s;
        for (series, _) in &columns {
            // Rounds towards zero: a series that begins within the row has a value for it.
            let at = (begin_s - series.start_s) / series.step_s;
            let value = usize::try_from(at).ok().and_then(|at| series.values.get(at));
            values.push(value.copied().unwrap_or(rpn::UNKNOWN));
        }
    }
    let legends = columns.into_iter().map(|(_, legend)| legend).collect();
    Ok(Rows { start_s, end_s, step_s, legends, values, has_shapes })
}

/// The text of a table.  `texts` are those of `PRINT` and `GPRINT`, one for each element.
pub fn write(
    description: &Description,
    rows: &Rows,
    texts: &[Option<String>],
    format: XportFormat,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match format {
        XportFormat::Xml { enumerates, shows_time } => {
            xml(&mut text, description, rows, texts, enumerates, shows_time)
        }
        XportFormat::Json { shows_time } => json(&mut text, description, rows, texts, shows_time),
        XportFormat::Separated(separator) => separated(&mut text, rows, separator),
    };
    text
}

fn separated(text: &mut String, rows: &Rows, separator: char) -> std::fmt::Result {
    text.push_str("\"time\"");
    for legend in &rows.legends {
        write!(text, "{separator}\"{legend}\"")?;
    }
    text.push_str("\r\n");
    for (time_s, values) in timed(rows) {
        write!(text, "{time_s}")?;
        for value in values {
            write!(text, "{separator}\"{}\"", number(*value))?;
        }
        text.push_str("\r\n");
    }
    Ok(())
}

fn timed(rows: &Rows) -> impl Iterator<Item = (i64, &[f64])> {
    let times = (1..).map(|row| rows.start_s + row * rows.step_s);
    times.zip(rows.values.chunks(rows.legends.len().max(1)))
}

fn number(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { table_number(value) }
}

fn xml(
    text: &mut String,
    description: &Description,
    rows: &Rows,
    texts: &[Option<String>],
    enumerates: bool,
    shows_time: bool,
) -> std::fmt::Result {
    text.push_str("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n\n<xport>\n  <meta>\n");
    let Rows { start_s, end_s, step_s, .. } = rows;
    let (count, columns) = (timed(rows).count(), rows.legends.len());
    writeln!(text, "    <start>{}</start>\n    <end>{end_s}</end>", start_s + step_s)?;
    writeln!(text, "    <step>{step_s}</step>\n    <rows>{count}</rows>")?;
    writeln!(text, "    <columns>{columns}</columns>\n    <legend>")?;
    for legend in &rows.legends {
        writeln!(text, "      <entry>{legend}</entry>")?;
    }
    text.push_str("    </legend>\n");
    for (name, entries) in sections(description, texts) {
        writeln!(text, "    <{name}>")?;
        for Entry { name, text: entry, .. } in entries {
            writeln!(text, "        <{name}>{entry}</{name}>")?;
        }
        writeln!(text, "    </{name}>")?;
    }
    text.push_str("  </meta>\n  <data>\n");
    for (time_s, values) in timed(rows) {
        text.push_str("    <row>");
        if shows_time {
            write!(text, "<t>{time_s}</t>")?;
        }
        for (column, value) in values.iter().enumerate() {
            let name = if enumerates { format!("v{column}") } else { "v".to_owned() };
            write!(text, "<{name}>{}</{name}>", number(*value))?;
        }
        text.push_str("</row>\n");
    }
    text.push_str("  </data>\n</xport>\n");
    Ok(())
}

fn json(
    text: &mut String,
    description: &Description,
    rows: &Rows,
    texts: &[Option<String>],
    shows_time: bool,
) -> std::fmt::Result {
    text.push_str("{ \"about\": \"RRDtool graph JSON output\",\n  \"meta\": {\n");
    let Rows { start_s, end_s, step_s, .. } = rows;
    writeln!(text, "    \"start\": {},\n    \"end\": {end_s},", start_s + step_s)?;
    writeln!(text, "    \"step\": {step_s},\n    \"legend\": [")?;
    let legends: Vec<String> =
        rows.legends.iter().map(|legend| format!("      \"{legend}\"")).collect();
    writeln!(text, "{}\n          ]", legends.join(",\n"))?;
    let sections = sections(description, texts);
    for (name, entries) in &sections {
        // The commas are where RRDtool has them.
        let (before, after) = match *name {
            "prints" if rows.has_shapes && sections.len() == 1 => ("", ""),
            "prints" => ("", ","),
            _ => (",", ""),
        };
        writeln!(text, "    {before}\"{name}\": [")?;
        let entries: Vec<String> = entries
            .iter()
            .map(|entry| format!("        {{ \"{}\": \"{}\" }}", entry.name, entry.escaped()))
            .collect();
        writeln!(text, "{}\n        ]{after}", entries.join(",\n"))?;
    }
    text.push_str("     },\n  \"data\": [\n");
    let mut lines = Vec::new();
    for (time_s, values) in timed(rows) {
        let time = if shows_time { format!("\"{time_s}\",") } else { String::new() };
        let values: Vec<String> = values
            .iter()
            .map(|value| if value.is_finite() { table_number(*value) } else { "null".to_owned() })
            .collect();
        lines.push(format!("    [ {time}{} ]", values.join(", ")));
    }
    writeln!(text, "{}\n  ]\n}}", lines.join(",\n"))?;
    Ok(())
}

/// A text of the description, as tables repeat it.
struct Entry {
    name: &'static str,
    text: String,
    is_escaped: bool,
}

impl Entry {
    fn new(name: &'static str, text: &str, is_escaped: bool) -> Self {
        Entry { name, text: text.to_owned(), is_escaped }
    }

    fn escaped(&self) -> String {
        if self.is_escaped {
            self.text.replace('\\', "\\\\").replace('"', "\\\"")
        } else {
            self.text.clone()
        }
    }
}

/// `PRINT`s, then the legend, then the rules; what there is none of is left out.
fn sections(
    description: &Description,
    texts: &[Option<String>],
) -> Vec<(&'static str, Vec<Entry>)> {
    let (mut prints, mut legend, mut rules) = (Vec::new(), Vec::new(), Vec::new());
    for (element, text) in description.elements.iter().zip(texts) {
        let text = text.as_deref().unwrap_or_default();
        match element {
            Element::Print(print) if print.is_in_graph => {
                legend.push(Entry::new("gprint", text, true));
            }
            Element::Print(_) => prints.push(Entry::new("print", text, true)),
            Element::Comment(comment) => legend.push(Entry::new("comment", comment, true)),
            Element::Line(line) => legend.push(Entry::new("line", &line.legend, false)),
            Element::Area(area) => {
                let indent = if area.legend.is_empty() { "" } else { "  " };
                let text = format!("{indent}{}", area.legend);
                legend.push(Entry::new("area", &text, false));
            }
            Element::TextAlign(alignment) => {
                let text = match alignment {
                    Alignment::Left => "left",
                    Alignment::Right => "right",
                    Alignment::Justified => "justified",
                    Alignment::Center => "center",
                };
                legend.push(Entry::new("align", text, false));
            }
            // RRDtool writes a field here that it never sets.
            Element::HorizontalRule(_) => {
                rules.push(Entry::new("hrule", &table_number(0.0), false));
            }
            Element::VerticalRule(_) => rules.push(Entry::new("vrule", "0", false)),
            _ => {}
        }
    }
    let sections = [("prints", prints), ("gprints", legend), ("rules", rules)];
    sections.into_iter().filter(|(_, entries)| !entries.is_empty()).collect()
}
