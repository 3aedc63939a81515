//! The round-robin databases of folders: which there are, what is in one, its data and its picture.
//!
//! A database is named by its path below its folder; nothing outside the folders is opened.  A file
//! that is no sound database is an error of its own line.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use graph::elements::Consolidation;
use graph::series::{SeriesTable, reduce};
use http_server::{HttpAnswer, answer as answer_of};
use hyper::StatusCode;
use promql::QueryError;
use rrd::fetch::span;
use rrd::header::ConsolidationFunction;
use serde_json::{Value, json};

use super::chart::number;
use super::database_picture;
use super::open_database::{OpenDatabase, sound};
use super::section::{PageSection, SectionQuestion};
use super::table::Csv;
use super::{json_answer, text};
use crate::beneath::FileBeneath;
use crate::parameters::Parameters;

/// Databases of a list, if nobody says how many, and at most: the header of each is read.
const COUNT_USUAL: usize = 100;
const COUNT_MAX: usize = 1000;

/// Rows of an answer, if nobody says how many, and at most.
const POINTS_USUAL: usize = 600;
const POINTS_MAX: usize = 4096;

/// Values of an answer at most, of one function: three times as many numbers are a text of some megabytes.
const VALUES_MAX: usize = 1 << 18;

/// Folders of databases.
pub(super) struct Databases {
    folders: Vec<PathBuf>,
    /// The caching daemon that may hold values of them.
    daemon: Option<String>,
}

/// Data sources of a database in steps: a column for each in every table.
struct Rows<'a> {
    names: Vec<(usize, &'a str)>,
    mean: SeriesTable,
    min: Option<SeriesTable>,
    max: Option<SeriesTable>,
}

impl PageSection for Databases {
    fn name(&self) -> &'static str {
        "databases"
    }

    fn answer(&self, question: &SectionQuestion<'_>) -> Result<HttpAnswer, QueryError> {
        let given = question.parameters;
        match question.path {
            "" => self.list(given, question),
            "file" => {
                given.only(&["folder", "path"])?;
                let database = OpenDatabase::find(&self.folders, self.daemon.as_deref(), given)?;
                Ok(json_answer(StatusCode::OK, facts(&database).to_string()))
            }
            "data" => self.data(given),
            "graph" => self.graph(given),
            other => Err(QueryError::BadData(format!(
                "there is no databases/{other}: there are databases, databases/file, databases/data and databases/graph"
            ))),
        }
    }
}

impl Databases {
    pub(super) fn new(folders: Vec<PathBuf>, daemon: Option<String>) -> Self {
        Databases { folders, daemon }
    }

    /// The databases whose names have every word of `filter`: `count` of them, after the first `skip`.
    fn list(
        &self,
        given: &Parameters,
        question: &SectionQuestion<'_>,
    ) -> Result<HttpAnswer, QueryError> {
        given.only(&["filter", "skip", "count", "format"])?;
        let (count, is_csv) = (given.number("count", COUNT_USUAL, COUNT_MAX)?, given.is_csv()?);
        let skip = given.count("skip")?.unwrap_or(0);
        let filter = given.get("filter").to_lowercase();
        let words: Vec<&str> = filter.split_whitespace().collect();
        let (mut names, mut complaints, mut total) = (Vec::new(), Vec::new(), 0);
        for folder in &self.folders {
            let listed = folder.canonicalize();
            match listed.and_then(|base| rrd::list::list_within(&base, &base, true)) {
                Ok(found) => {
                    total += found.len();
                    let is_wanted = |name: &String| {
                        let name = name.to_lowercase();
                        words.iter().all(|word| name.contains(word))
                    };
                    names.extend(found.into_iter().filter(is_wanted).map(|name| (folder, name)));
                }
                Err(error) => complaints.push(format!("{}: {error}", folder.display())),
            }
        }
        names.sort();
        let mut lines = Vec::new();
        for (folder, name) in names.iter().skip(skip).take(count) {
            if (question.stop)().is_some() {
                return Err(QueryError::Cancelled);
            }
            lines.push(line(folder, name));
        }
        if is_csv {
            return Ok(text(csv_of(&lines)));
        }
        let found = json!({
            "databases": lines,
            "found": names.len(),
            "total": total,
            "complaints": complaints,
        });
        Ok(json_answer(StatusCode::OK, found.to_string()))
    }

    /// Mean, smallest and largest value of data sources in steps.
    fn data(&self, given: &Parameters) -> Result<HttpAnswer, QueryError> {
        given
            .only(&["folder", "path", "source", "from", "thru", "points", "function", "format"])?;
        let database = OpenDatabase::find(&self.folders, self.daemon.as_deref(), given)?;
        let is_csv = given.is_csv()?;
        let points = given.number("points", POINTS_USUAL, POINTS_MAX)?;
        let names = database.chosen(given)?;
        let function = database.function(given.get("function"))?;
        let period = database.period_s(given)?;
        let rows = rows_of(&database, names, function, period, points)?;
        Ok(match is_csv {
            true => text(rows.csv()),
            false => json_answer(StatusCode::OK, rows.json(&database, function)),
        })
    }

    /// A picture: by the definition beside the database, or of all its data sources.
    fn graph(&self, given: &Parameters) -> Result<HttpAnswer, QueryError> {
        given.only(&[
            "folder",
            "path",
            "source",
            "from",
            "thru",
            "format",
            "width",
            "height",
            "theme",
            "zone",
            "definition",
        ])?;
        let database = OpenDatabase::find(&self.folders, self.daemon.as_deref(), given)?;
        let (kind, picture) = database_picture::draw(&database, given)?;
        Ok(answer_of(StatusCode::OK, kind, picture))
    }
}

/// Milliseconds of seconds.
fn ms(seconds: i64) -> i64 {
    seconds.saturating_mul(1000)
}

/// A database of the list.
fn line(folder: &Path, path: &str) -> Value {
    let opened = FileBeneath::find(folder, path).map_err(|error| format!("'{path}': {error}"));
    let mut line = json!({
        "folder": folder.to_string_lossy(),
        "path": path,
        "bytes": null,
        "step_s": null,
        "updated_ms": null,
        "sources": [],
        "error": null,
    });
    match opened.and_then(|found| sound(&found, path)) {
        Ok(file) => {
            let header = file.header();
            let names: Vec<&str> = header.sources.iter().map(|one| one.name.as_str()).collect();
            line["bytes"] = json!(file.file_bytes());
            line["step_s"] = json!(header.step_seconds);
            line["updated_ms"] = json!(ms(header.last_update.seconds));
            line["sources"] = json!(names);
        }
        Err(why) => line["error"] = json!(why),
    }
    line
}

fn csv_of(lines: &[Value]) -> String {
    let columns = ["folder", "path", "bytes", "step_s", "updated_ms", "sources", "error"];
    let mut csv = Csv::new(&columns);
    for line in lines {
        let cell = |column: &&str| match &line[*column] {
            Value::Array(names) => {
                let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
                json!(names.join(" "))
            }
            other => other.clone(),
        };
        csv.line(&columns.iter().map(cell).collect::<Vec<_>>());
    }
    csv.text
}

/// What a database keeps.
fn facts(database: &OpenDatabase) -> Value {
    let header = database.file.header();
    let sources = header.sources.iter().map(|source| {
        let limit = |value: f64| number(Some(value));
        json!({
            "name": source.name,
            "kind": source.kind.name(),
            "heartbeat_s": source.heartbeat_seconds(),
            "min": limit(source.minimum()),
            "max": limit(source.maximum()),
        })
    });
    let archives = header.archives.iter().enumerate().map(|(at, archive)| {
        let (from_s, thru_s) = span(header, at);
        json!({
            "function": archive.function.name(),
            "step_s": header.row_seconds(at),
            "rows": archive.rows,
            "from_ms": ms(from_s),
            "thru_ms": ms(thru_s),
        })
    });
    json!({
        "folder": database.folder.to_string_lossy(),
        "path": database.path,
        "bytes": database.file.file_bytes(),
        "step_s": header.step_seconds,
        "updated_ms": ms(header.last_update.seconds),
        "sources": sources.collect::<Vec<_>>(),
        "archives": archives.collect::<Vec<_>>(),
        "has_definition": database.definition().is_some(),
    })
}

/// Reads rows of a function, and those that say what was least and most of the same times.  Where they
/// would be too many, since no archive has rows as long as `points` asks, several become one.
fn rows_of<'a>(
    database: &'a OpenDatabase,
    names: Vec<(usize, &'a str)>,
    function: ConsolidationFunction,
    period: (i64, i64),
    points: usize,
) -> Result<Rows<'a>, QueryError> {
    let header = database.file.header();
    let length_s = u64::try_from(period.1 - period.0).unwrap_or(0);
    let wanted_s = length_s.div_ceil(points as u64);
    let step_s = database.step_of(function, wanted_s);
    // The last row is the one in which the period ends.
    let period = (period.0, period.1 - 1);
    let rows = usize::try_from(length_s / step_s.max(1)).unwrap_or(usize::MAX);
    let is_too_much = rows.saturating_mul(names.len()) > VALUES_MAX;
    let fetch = |function| chosen_columns(database, &names, function, period, step_s);
    let in_steps =
        |table: &SeriesTable, consolidation: &str| match Consolidation::by_name(consolidation)
            .filter(|_| is_too_much)
        {
            Some(one) => reduce(table, one, wanted_s.cast_signed()).map_err(|e| e.to_string()),
            None => Ok(table.clone()),
        };
    let fetched = fetch(function).map_err(QueryError::Execution)?;
    let mean = in_steps(&fetched, function.name()).map_err(QueryError::Execution)?;
    if mean.values.len() > VALUES_MAX {
        let why = format!(
            "{} values are more than {VALUES_MAX}: ask for fewer points or, with source=, for fewer \
             data sources",
            mean.values.len()
        );
        return Err(QueryError::Execution(why));
    }
    // Of rows of one step each is its own least and most.
    let is_single = step_s == header.step_seconds;
    let extreme = |wanted: ConsolidationFunction| {
        let found = if is_single {
            in_steps(&fetched, wanted.name()).ok()?
        } else {
            let kept = header.archives.iter().any(|archive| archive.function == wanted);
            in_steps(&kept.then(|| fetch(wanted).ok())??, wanted.name()).ok()?
        };
        // Rows of another length are of other times.
        (found.step_s == mean.step_s && found.start_s == mean.start_s).then_some(found)
    };
    let (min, max) =
        (extreme(ConsolidationFunction::Minimum), extreme(ConsolidationFunction::Maximum));
    Ok(Rows { names, mean, min, max })
}

/// Fetches rows, and keeps the columns of some data sources.
fn chosen_columns(
    database: &OpenDatabase,
    names: &[(usize, &str)],
    function: ConsolidationFunction,
    period: (i64, i64),
    step_s: u64,
) -> Result<SeriesTable, String> {
    let fetched = database.fetch(function, period, step_s)?;
    let all = fetched.names.len().max(1);
    let values = match names.len() == all {
        true => fetched.cells,
        false => {
            let rows = fetched.cells.chunks_exact(all);
            rows.flat_map(|row| names.iter().map(|&(place, _)| row[place])).collect()
        }
    };
    Ok(SeriesTable {
        start_s: fetched.start,
        end_s: fetched.end,
        step_s: i64::try_from(fetched.step_seconds).unwrap_or(i64::MAX),
        columns: names.iter().map(|(_, name)| (*name).to_owned()).collect(),
        values,
    })
}

/// Appends the values of a column as a list.
fn push_values(out: &mut String, table: Option<&SeriesTable>, column: usize) {
    let values = table.map_or(&[][..], |table| &table.values);
    let width = table.map_or(1, |table| table.columns.len().max(1));
    out.push('[');
    for (row, value) in values.iter().skip(column).step_by(width).enumerate() {
        out.push_str(if row > 0 { "," } else { "" });
        // Writing to a text cannot fail.
        let _ = write!(out, "{}", number(Some(*value)));
    }
    out.push(']');
}

impl Rows<'_> {
    /// The answer as a text: as a tree of values it would take many times the memory.
    fn json(&self, database: &OpenDatabase, function: ConsolidationFunction) -> String {
        let head = json!({
            "path": database.path,
            "function": function.name(),
            "from_ms": ms(self.mean.start_s),
            "step_ms": ms(self.mean.step_s),
            "unwritten": database.unwritten,
        });
        let mut out = head.to_string();
        out.truncate(out.len() - 1);
        out.push_str(",\"series\":[");
        for (column, (_, name)) in self.names.iter().enumerate() {
            out.push_str(if column > 0 { "," } else { "" });
            let name = json!(name);
            let _ = write!(out, "{{\"id\":{name},\"label\":{name}");
            let lists = [
                ("mean", Some(&self.mean)),
                ("min", self.min.as_ref()),
                ("max", self.max.as_ref()),
            ];
            for (list, table) in lists {
                let _ = write!(out, ",\"{list}\":");
                push_values(&mut out, table, column);
            }
            out.push('}');
        }
        out.push_str("]}");
        out
    }

    /// A line for each row and data source that has a value.
    fn csv(&self) -> String {
        let mut csv = Csv::new(&["time_ms", "source", "mean", "min", "max"]);
        let width = self.names.len().max(1);
        for (row, values) in (0_i64..).zip(self.mean.values.chunks_exact(width)) {
            let time_ms =
                ms(self.mean.start_s.saturating_add(self.mean.step_s.saturating_mul(row)));
            let first = usize::try_from(row).unwrap_or(usize::MAX).saturating_mul(width);
            for (column, (value, (_, name))) in values.iter().zip(&self.names).enumerate() {
                if !value.is_finite() {
                    continue;
                }
                let of = |table: Option<&SeriesTable>| {
                    number(table.and_then(|table| table.values.get(first + column).copied()))
                };
                csv.line(&[
                    json!(time_ms),
                    json!(name),
                    number(Some(*value)),
                    of(self.min.as_ref()),
                    of(self.max.as_ref()),
                ]);
            }
        }
        csv.text
    }
}
