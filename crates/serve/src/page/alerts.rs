//! Alerts: the rules of `whit alert`, what fires and has fired, and whether each receiver took its
//! messages; from the file that it keeps.

use std::path::PathBuf;

use http_server::HttpAnswer;
use hyper::StatusCode;
use promql::QueryError;
use serde_json::{Value, json};

use super::section::{PageSection, SectionQuestion};
use super::table::Csv;
use super::{json_answer, text};
use crate::parameters::invalid;

/// The tables, and their columns.
const TABLES: [(&str, &[&str]); 3] = [
    ("rules", &["name", "when", "for_ms", "state", "firing", "since_ms", "error", "to"]),
    ("alerts", &["rule", "host", "labels", "value", "from_ms", "thru_ms", "has_data", "told"]),
    ("messages", &["at_ms", "rule", "state", "subject", "to", "tries", "taken_ms", "error"]),
];

/// The alerts whose states are in a folder.
pub(super) struct Alerts {
    pub(super) folder: PathBuf,
}

impl PageSection for Alerts {
    fn name(&self) -> &'static str {
        "alerts"
    }

    fn answer(&self, question: &SectionQuestion<'_>) -> Result<HttpAnswer, QueryError> {
        if !question.path.is_empty() {
            return Err(QueryError::BadData("alerts has nothing below it".to_owned()));
        }
        question.parameters.only(&["table", "format"])?;
        let found = alert::shown_alerts(&self.folder).map_err(|error| {
            QueryError::Execution(format!("the states of alerts cannot be read: {error}"))
        })?;
        let none =
            || json!({ "at_ms": null, "firing": 0, "rules": [], "alerts": [], "messages": [] });
        let found = found.unwrap_or_else(none);
        if !question.parameters.is_csv()? {
            return Ok(json_answer(StatusCode::OK, found.to_string()));
        }
        let asked = match question.parameters.get("table") {
            "" => "alerts",
            name => name,
        };
        let known = TABLES.iter().find(|(name, _)| *name == asked);
        let (name, columns) =
            known.ok_or_else(|| invalid("table", "there are rules, alerts and messages"))?;
        let mut csv = Csv::new(columns);
        for row in found[name].as_array().into_iter().flatten() {
            let cells: Vec<Value> = columns.iter().map(|column| row[column].clone()).collect();
            csv.line(&cells);
        }
        Ok(text(csv.text))
    }
}
