//! Tables as data: each column is written once, with its heading, its JSON key, its digits and the
//! value that it takes from a row.
//!
//! The table of the summary, the objects of the JSON and the Markdown table are all made of the
//! columns, so that a number cannot differ between them.  Headings and keys end in their units.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use text::escape::html_text;

/// The content of one cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    /// No value: `-` in a table, `null` in JSON.
    Missing,
    /// A text, aligned to the left.
    Text(String),
    /// A number that is already written, such as `~5`; aligned to the right.
    Written(String),
    Count(u64),
    /// A number that is shown with the digits of its column.
    Number(f64),
    /// A fact: `yes` or `no` in a table.
    Fact(bool),
}

/// Makes cells of plain values.
macro_rules! cells {
    ($($kind:ty: $value:ident => $cell:expr;)+) => {
        $(impl From<$kind> for Cell {
            fn from($value: $kind) -> Self {
                $cell
            }
        })+
    };
}

cells! {
    &str: text => Cell::Text(text.to_owned());
    String: text => Cell::Text(text);
    bool: fact => Cell::Fact(fact);
    f64: number => Cell::Number(number);
    u8: count => Cell::Count(count.into());
    u32: count => Cell::Count(count.into());
    u64: count => Cell::Count(count);
    usize: count => Cell::Count(count as u64);
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Missing, Into::into)
    }
}

impl Cell {
    /// The cell as it stands in a table.
    fn text(&self, digits: usize) -> String {
        match self {
            Cell::Missing => "-".to_owned(),
            Cell::Text(text) | Cell::Written(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(number) => format!("{number:.digits$}"),
            Cell::Fact(fact) => if *fact { "yes" } else { "no" }.to_owned(),
        }
    }

    fn json(self, decimals: Option<i32>) -> Value {
        match (self, decimals) {
            (Cell::Missing, _) => Value::Null,
            (Cell::Text(text) | Cell::Written(text), _) => text.into(),
            (Cell::Count(count), _) => count.into(),
            (Cell::Number(number), None) => number.into(),
            (Cell::Number(number), Some(decimals)) => {
                let shift = 10_f64.powi(decimals);
                ((number * shift).round() / shift).into()
            }
            (Cell::Fact(fact), _) => fact.into(),
        }
    }
}

/// A column of rows of type `R`.
struct Column<'a, R> {
    /// `None` if the column is in JSON alone.
    heading: Option<Cow<'static, str>>,
    /// `None` if the column is in tables alone; `a.b` is the member `b` of the object `a`.
    key: Option<Cow<'static, str>>,
    digits: usize,
    /// Whether tables show a zero as `-`.
    hides_zero: bool,
    value: Box<dyn Fn(R) -> Cell + 'a>,
}

/// The columns of a table, and what they take from a row: from a reference, or several of them.
pub(crate) struct Table<'a, R> {
    columns: Vec<Column<'a, R>>,
    /// Decimals that JSON keeps; `None`: all.
    decimals: Option<i32>,
}

impl<'a, R: Copy> Table<'a, R> {
    /// A table without columns.
    pub(crate) fn new() -> Self {
        Table { columns: Vec::new(), decimals: None }
    }

    /// Adds a column of tables and JSON.
    pub(crate) fn column<V: Into<Cell>>(
        self,
        heading: impl Into<Cow<'static, str>>,
        key: impl Into<Cow<'static, str>>,
        digits: usize,
        value: impl Fn(R) -> V + 'a,
    ) -> Self {
        self.with(Some(heading.into()), Some(key.into()), digits, value)
    }

    /// Adds a column of tables alone.
    pub(crate) fn shown<V: Into<Cell>>(
        self,
        heading: impl Into<Cow<'static, str>>,
        digits: usize,
        value: impl Fn(R) -> V + 'a,
    ) -> Self {
        self.with(Some(heading.into()), None, digits, value)
    }

    /// Adds a column of JSON alone.
    pub(crate) fn kept<V: Into<Cell>>(
        self,
        key: impl Into<Cow<'static, str>>,
        value: impl Fn(R) -> V + 'a,
    ) -> Self {
        self.with(None, Some(key.into()), 0, value)
    }

    fn with<V: Into<Cell>>(
        mut self,
        heading: Option<Cow<'static, str>>,
        key: Option<Cow<'static, str>>,
        digits: usize,
        value: impl Fn(R) -> V + 'a,
    ) -> Self {
        let value = Box::new(move |row| value(row).into());
        self.columns.push(Column { heading, key, digits, hides_zero: false, value });
        self
    }

    /// Lets tables show a zero of the last column as `-`: nothing was measured.
    pub(crate) fn hiding_zero(mut self) -> Self {
        self.columns.iter_mut().last().into_iter().for_each(|column| column.hides_zero = true);
        self
    }

    /// Lets numbers have so many decimals in JSON.
    pub(crate) fn rounded_to(self, decimals: i32) -> Self {
        Table { decimals: Some(decimals), ..self }
    }

    /// The object of a row.
    fn object(&self, row: R) -> Value {
        let mut object = Value::Object(serde_json::Map::new());
        for column in &self.columns {
            let Some(key) = &column.key else { continue };
            let member = key.split('.').fold(&mut object, |object, part| &mut object[part]);
            *member = (column.value)(row).json(self.decimals);
        }
        object
    }

    /// An array with an object for each row.
    pub(crate) fn objects(&self, rows: impl IntoIterator<Item = R>) -> Value {
        rows.into_iter().map(|row| self.object(row)).collect()
    }

    /// The cells of rows without a title.
    pub(crate) fn grid(&self, rows: impl IntoIterator<Item = R>) -> Grid {
        let mut grid = self.empty_grid();
        grid.push(None, rows.into_iter().map(|row| self.cells(row)), None);
        grid
    }

    /// The headings alone, for groups of rows.
    pub(crate) fn empty_grid(&self) -> Grid {
        let headings = self.columns.iter().filter_map(|column| column.heading.as_deref());
        Grid { headings: headings.map(str::to_owned).collect(), groups: Vec::new() }
    }

    /// The cells of a row: the text of each, and whether it is aligned to the right.
    pub(crate) fn cells(&self, row: R) -> Vec<(String, bool)> {
        let shown = self.columns.iter().filter(|column| column.heading.is_some());
        let cell = |column: &Column<'a, R>| {
            let cell = match (column.value)(row) {
                Cell::Number(0.0) if column.hides_zero => Cell::Missing,
                cell => cell,
            };
            (cell.text(column.digits), !matches!(cell, Cell::Text(_) | Cell::Missing))
        };
        shown.map(cell).collect()
    }
}

/// A table whose cells are text.
#[derive(Debug)]
pub(crate) struct Grid {
    headings: Vec<String>,
    groups: Vec<Group>,
}

/// Rows with something in common.
#[derive(Debug)]
struct Group {
    title: Option<String>,
    rows: Vec<Vec<(String, bool)>>,
    /// A conclusion from the rows.
    conclusion: Option<String>,
}

impl Grid {
    /// Adds rows below a title.
    pub(crate) fn push(
        &mut self,
        title: Option<String>,
        rows: impl IntoIterator<Item = Vec<(String, bool)>>,
        conclusion: Option<String>,
    ) {
        self.groups.push(Group { title, rows: rows.into_iter().collect(), conclusion });
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<(String, bool)>> {
        self.groups.iter().flat_map(|group| &group.rows)
    }

    /// Whether a column is aligned to the right: the first one never is, others if a number is in it.
    fn is_right(&self, column: usize) -> bool {
        column > 0 && self.rows().any(|row| row[column].1)
    }

    /// The table in columns of spaces.
    pub(crate) fn text(&self) -> String {
        let is_grouped = self.groups.iter().any(|group| group.title.is_some());
        let indent = if is_grouped { "  " } else { "" };
        let heading_width = |column: usize| {
            // The first heading begins where the titles do.
            let indent = if column == 0 { indent.len() } else { 0 };
            self.headings[column].chars().count().saturating_sub(indent)
        };
        let layout: Vec<(usize, bool)> = (0..self.headings.len())
            .map(|column| {
                let widths = self.rows().map(|row| row[column].0.chars().count());
                (widths.fold(heading_width(column), usize::max), self.is_right(column))
            })
            .collect();
        let mut out = String::new();
        if self.headings.iter().any(|heading| !heading.is_empty()) {
            let mut layout = layout.clone();
            layout[0].0 += indent.len();
            put_line(&mut out, "", self.headings.iter().map(String::as_str), &layout);
        }
        for Group { title, rows, conclusion } in &self.groups {
            let _ = title.iter().try_for_each(|title| writeln!(out, "{title}"));
            for row in rows {
                put_line(&mut out, indent, row.iter().map(|cell| cell.0.as_str()), &layout);
            }
            let _ = conclusion.iter().try_for_each(|text| writeln!(out, "{indent}{text}"));
        }
        out
    }

    /// The table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: Vec<&str>| {
            let cells = cells.into_iter().map(|cell| cell.replace('|', "\\|"));
            format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
        };
        let mut out = row(self.headings.iter().map(String::as_str).collect());
        for column in 0..self.headings.len() {
            out.push_str(if self.is_right(column) { "|---:" } else { "|---" });
        }
        out.push_str("|\n");
        for Group { title, rows, conclusion } in &self.groups {
            let line = |text: &String| {
                let mut cells = vec![""; self.headings.len()];
                let text = format!("**{text}**");
                cells[0] = &text;
                row(cells)
            };
            out.extend(title.iter().map(line));
            out.extend(
                rows.iter().map(|cells| row(cells.iter().map(|one| one.0.as_str()).collect())),
            );
            out.extend(conclusion.iter().map(line));
        }
        out
    }
}

impl Grid {
    /// The table in HTML.
    pub(crate) fn html(&self) -> String {
        let class = |is_right| if is_right { " class=\"number\"" } else { "" };
        let heading = |(column, text): (usize, &String)| {
            format!("<th{}>{}</th>", class(self.is_right(column)), html_text(text))
        };
        let headings: String = self.headings.iter().enumerate().map(heading).collect();
        let mut out = format!("<table>\n<thead><tr>{headings}</tr></thead>\n<tbody>\n");
        for Group { title, rows, conclusion } in &self.groups {
            let line = |text: &String| {
                format!(
                    "<tr><th colspan=\"{}\">{}</th></tr>\n",
                    self.headings.len(),
                    html_text(text)
                )
            };
            out.extend(title.iter().map(line));
            for row in rows {
                let cell = |(column, (text, _)): (usize, &(String, bool))| {
                    format!("<td{}>{}</td>", class(self.is_right(column)), html_text(text))
                };
                let cells: String = row.iter().enumerate().map(cell).collect();
                let _ = writeln!(out, "<tr>{cells}</tr>");
            }
            out.extend(conclusion.iter().map(line));
        }
        out.push_str("</tbody>\n</table>\n");
        out
    }
}

/// Adds a line of cells, each as wide as its column.
fn put_line<'a>(
    out: &mut String,
    indent: &str,
    cells: impl Iterator<Item = &'a str>,
    layout: &[(usize, bool)],
) {
    out.push_str(indent);
    for (number, (cell, (width, is_right))) in cells.zip(layout).enumerate() {
        out.push_str(if number == 0 { "" } else { "  " });
        // Writing to a string cannot fail.
        let _ = match is_right {
            true => write!(out, "{cell:>width$}"),
            false => write!(out, "{cell:<width$}"),
        };
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (&'static str, Option<f64>, f64);

    fn table() -> Table<'static, Row> {
        Table::<Row>::new()
            .column("", "name", 0, |row| row.0)
            .column("wall ms", "cost.wall_ms", 1, |row| row.1)
            .shown("x", 0, |row| row.2)
            .hiding_zero()
            .kept("cost.times", |row| row.2)
    }

    const ROWS: [Row; 2] = [("a floor", None, 0.0), ("whit", Some(12.345), 7.0)];

    #[test]
    fn a_column_is_in_every_form() {
        let text = table().grid(ROWS).text();
        assert_eq!(text, "         wall ms  x\na floor        -  -\nwhit        12.3  7\n");
        let markdown = table().grid(ROWS).markdown();
        assert_eq!(
            markdown,
            "|  | wall ms | x |\n|---|---:|---:|\n| a floor | - | - |\n| whit | 12.3 | 7 |\n"
        );
        let html = table().grid(ROWS).html();
        assert!(html.contains("<th class=\"number\">wall ms</th>"), "{html}");
        assert!(html.contains("<tr><td>a floor</td><td class=\"number\">-</td>"), "{html}");
        let objects = table().rounded_to(2).objects(ROWS);
        assert_eq!(
            objects.to_string(),
            r#"[{"name":"a floor","cost":{"wall_ms":null,"times":0.0}},{"name":"whit","cost":{"wall_ms":12.35,"times":7.0}}]"#
        );
    }

    #[test]
    fn groups_have_titles_and_conclusions() {
        let mut grid = table().empty_grid();
        let rows = ROWS.map(|row| table().cells(row));
        grid.push(Some("both".to_owned()), rows, Some("equal".to_owned()));
        let text = grid.text();
        assert!(text.contains("\nboth\n  a floor        -  -\n  whit "), "{text}");
        assert!(text.ends_with("7\n  equal\n"), "{text}");
        assert!(grid.markdown().contains("| **both** |  |  |\n| a floor |"));
        assert!(grid.html().contains("<tr><th colspan=\"3\">both</th></tr>"));
    }
}
