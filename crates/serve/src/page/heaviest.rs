//! The heaviest processes of a period, alone or by command, user or control group.

use archive::{Ranked, RankingQuery, Recordings};
use promql::QueryError;
use serde_json::{Value, json};

use super::asked::{PageRequest, refused};
use super::chart::{number, shown};
use super::moment::pid_of;
use super::steps::Period;
use super::table::Csv;
use crate::parameters::invalid;

/// Lines that come if nobody says how many.
const COUNT_USUAL: usize = 20;

/// What processes are ranked by.
pub(crate) struct Amount {
    /// The name of the ranking in a request.
    pub(crate) name: &'static str,
    /// The name of the ranking in the archive.
    ranking: &'static str,
    pub(crate) unit: &'static str,
    /// The number of these units in a base unit of the archive.
    scale: f64,
    /// A difference of so much is as remarkable as one of another amount.
    pub(crate) remarkable: f64,
}

pub(crate) const AMOUNTS: &[Amount] = &[
    Amount { name: "cpu", ranking: "cpu", unit: "percent", scale: 100.0, remarkable: 5.0 },
    Amount { name: "memory", ranking: "mem", unit: "bytes", scale: 1.0, remarkable: 256e6 },
    Amount { name: "read", ranking: "read", unit: "bytes/s", scale: 1.0, remarkable: 10e6 },
    Amount { name: "write", ranking: "write", unit: "bytes/s", scale: 1.0, remarkable: 10e6 },
];

/// A line, with its value in the unit of the amount.
pub(crate) struct Heavy {
    pub(crate) line: Ranked,
    pub(crate) value: f64,
}

impl Heavy {
    pub(crate) fn name(&self) -> String {
        self.line.name.as_deref().map_or_else(|| "-".to_owned(), shown)
    }
}

impl Amount {
    /// The heaviest of a period, all of them.
    pub(crate) fn lines(
        &self,
        recordings: &Recordings,
        host: &str,
        by: Option<&str>,
        period: Period,
    ) -> Result<Vec<Heavy>, QueryError> {
        let Period { from_ns, thru_ns } = period;
        let what = self.ranking;
        let query = RankingQuery { host, what, by, from_ns, thru_ns, count: usize::MAX };
        let ranking = recordings.ranking(&query).map_err(refused)?;
        let unknown = sample::Meta::new();
        let metas = (0..).map_while(|file| recordings.meta(file));
        let meta = metas.filter(|meta| meta.host() == host).last().unwrap_or(&unknown);
        let heavy = |line: Ranked| {
            let value = self.scale * view::to_base(ranking.field.unit, line.mean, meta);
            Heavy { value: if value.is_finite() { value } else { 0.0 }, line }
        };
        Ok(ranking.lines.into_iter().map(heavy).collect())
    }
}

/// The answer to `heaviest`.
pub(crate) fn heaviest(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host", "from", "thru", "what", "by", "count", "format"])?;
    let host = asked.host()?;
    let (period, count, is_csv) =
        (asked.period(&host)?, asked.count(COUNT_USUAL)?, asked.is_csv()?);
    let what = match asked.parameters.get("what") {
        "" => "cpu",
        what => what,
    };
    let Some(amount) = AMOUNTS.iter().find(|amount| amount.name == what) else {
        let known: Vec<&str> = AMOUNTS.iter().map(|amount| amount.name).collect();
        return Err(invalid("what", &format!("{what:?}: give one of {}", known.join(", "))));
    };
    let (by_name, by) = match asked.parameters.get("by") {
        "" => ("command", Some("command")),
        "process" => ("process", None),
        by => (by, Some(by)),
    };
    let lines = amount.lines(&asked.recordings, &host, by, period)?;
    let total: f64 = lines.iter().map(|heavy| heavy.value).sum();
    let rows = lines.iter().take(count).map(|heavy| row(heavy, by.is_none()));
    let rows: Vec<Value> = rows.collect();
    if is_csv {
        let columns = ["name", "command", "value", "unit", "share", "processes", "ended"];
        let mut csv = Csv::new(&columns);
        for row in &rows {
            let unit = json!(amount.unit);
            let cell = |name| if name == "unit" { unit.clone() } else { row[name].clone() };
            csv.line(&columns.map(cell));
        }
        return Ok(csv.text);
    }
    let answer = json!({
        "what": what,
        "unit": amount.unit,
        "by": by_name,
        "total": number(Some(total)),
        "rows": rows,
    });
    Ok(answer.to_string())
}

fn row(heavy: &Heavy, is_process: bool) -> Value {
    let line = &heavy.line;
    let pid = line.name.as_deref().filter(|_| is_process).and_then(pid_of);
    let command = line.command.as_deref().map(shown);
    let name = match (is_process, &command) {
        (true, Some(command)) => command.clone(),
        _ => heavy.name(),
    };
    json!({
        "name": name,
        "command": command,
        "pid": pid,
        "value": number((!line.is_unknown()).then_some(heavy.value)),
        "share": number((!line.is_unknown()).then_some(line.share)),
        "processes": line.instances,
        "ended": line.ended,
    })
}
