//! Tables as lines of values with commas between them (RFC 4180).

use serde_json::Value;

/// A table while it is written.
pub(crate) struct Csv {
    pub(crate) text: String,
}

impl Csv {
    /// A table with these columns.
    pub(crate) fn new(columns: &[&str]) -> Self {
        Csv { text: columns.join(",") + "\n" }
    }

    /// Adds a line; a missing value is empty.
    pub(crate) fn line(&mut self, cells: &[Value]) {
        self.text.push_str(&csv_line(cells));
    }
}

/// A line of a table, with its end; a missing value is empty.
pub(crate) fn csv_line(cells: &[Value]) -> String {
    let mut out = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match cell {
            Value::Null => {}
            Value::String(text) => layout::text::push_csv_field(&mut out, text.as_bytes()),
            other => out.extend_from_slice(other.to_string().as_bytes()),
        }
    }
    out.push(b'\n');
    String::from_utf8_lossy(&out).into_owned()
}
