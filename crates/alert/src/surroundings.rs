//! What a step needs beside rules: samples, the zone, the names of the machine and of the page.

use calendar::CivilZone;
use promql::{QueryContext, QueryLimits, SeriesStorage};

/// What a step needs beside rules.
pub struct AlertSurroundings<'a> {
    /// The samples, and what an evaluation may use.
    pub query: QueryContext<'a>,
    /// The zone of silence times and of times in messages.
    pub zone: &'a CivilZone,
    /// The name of this machine: of alerts whose labels name none.
    pub host: &'a str,
    /// The address of the page; nothing for none.
    pub page: &'a str,
    /// The heaviest processes: of a host, by an amount, at a time.
    pub heaviest: &'a dyn Fn(&str, &str, i64) -> Vec<String>,
    /// The log records of a period in milliseconds, as lines.
    pub log: &'a dyn Fn((i64, i64)) -> Vec<String>,
}

impl<'a> AlertSurroundings<'a> {
    /// Samples, with the usual limits, and nothing else.
    #[must_use]
    pub fn of(storage: &'a dyn SeriesStorage, zone: &'a CivilZone) -> Self {
        let limits = QueryLimits::default();
        let query = QueryContext { storage, limits, control: &|| None };
        let (heaviest, log) = (&|_: &str, _: &str, _| Vec::new(), &|_| Vec::new());
        AlertSurroundings { query, zone, host: "", page: "", heaviest, log }
    }
}
