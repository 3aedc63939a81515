//! The picture of a database: by the definition beside it, or of its data sources.
//!
//! A definition is `NAME.graph` beside `NAME.rrd`: the arguments of `whit rrd graph` without the name
//! of the picture, on any number of lines.  The databases that it names are files below the same
//! folder, by their path from the definition's own; nothing else is opened.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use calendar::CivilZone;
use graph::command::GraphCommand;
use graph::curves::{COLOURS, legend_text, push_band, push_sums};
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, WallClock};
use jiff::tz::TimeZone;
use promql::QueryError;
use rrd::header::ConsolidationFunction;

use super::open_database::OpenDatabase;
use crate::beneath::FileBeneath;
use crate::clock::now;
use crate::parameters::{Parameters, invalid};

/// Data sources of a picture that are shown if none is named.
const SOURCES_MAX: usize = 16;

/// The most bytes of a definition.
const DEFINITION_BYTES_MAX: u64 = 1 << 20;

/// The colours of a dark page.
const DARK: [&str; 7] = [
    "BACK#16191DFF",
    "CANVAS#16191DFF",
    "FONT#E6E6E6FF",
    "GRID#FFFFFF26",
    "MGRID#FFFFFF40",
    "AXIS#9AA0A6FF",
    "ARROW#9AA0A6FF",
];

/// Databases below a folder.
struct Folder<'a> {
    database: &'a OpenDatabase,
    /// The folder of the definition below it.
    within: PathBuf,
}

impl SeriesSource for Folder<'_> {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        if request.daemon.is_some() {
            return Err("a definition of a page names no daemon".to_owned());
        }
        let function = ConsolidationFunction::of(request.consolidation.name());
        let function = function.ok_or("no such function")?;
        let period = (request.start_s, request.end_s);
        let step_s = u64::try_from(request.step_s).unwrap_or(0);
        let own = self.database;
        let mut series = match request.file {
            "" => own.fetch(function, period, step_s)?,
            other => own.beside(&self.within, other)?.fetch(function, period, step_s)?,
        };
        if request.file.is_empty() {
            series.names = (0..series.names.len()).map(|place| format!("s{place}")).collect();
        }
        Ok(SeriesTable {
            start_s: series.start,
            end_s: series.end,
            step_s: i64::try_from(series.step_seconds).unwrap_or(i64::MAX),
            columns: series.names,
            values: series.cells,
        })
    }
}

/// Draws the picture that is asked for: its type, and its bytes.
pub(super) fn draw(
    database: &OpenDatabase,
    given: &Parameters,
) -> Result<(&'static str, Vec<u8>), QueryError> {
    let (format, kind) = match given.get("format") {
        "" | "svg" => ("SVG", "image/svg+xml"),
        "png" => ("PNG", "image/png"),
        other => return Err(invalid("format", &format!("{other:?}: give svg or png"))),
    };
    let zone = match given.get("zone") {
        "" => now().time_zone().clone(),
        name => TimeZone::get(name).map_err(|error| invalid("zone", &error.to_string()))?,
    };
    let mut words = match (database.definition(), given.get("definition")) {
        (_, "none") | (None, "") => of_sources(database, given)?,
        (Some(file), "") => definition(&file).map_err(QueryError::Execution)?,
        (None, _) | (_, _) => {
            return Err(invalid("definition", "give none, or leave it out"));
        }
    };
    let (from_s, thru_s) = database.period_s(given)?;
    let (width, height) = (given.number("width", 800, 4000)?, given.number("height", 240, 2000)?);
    words.extend([
        format!("--start={from_s}"),
        format!("--end={thru_s}"),
        format!("--imgformat={format}"),
        "--border=0".to_owned(),
        format!("--width={}", width.max(100)),
        format!("--height={}", height.max(50)),
    ]);
    match given.get("theme") {
        "" | "light" => {}
        "dark" => words.extend(DARK.iter().map(|colour| format!("--color={colour}"))),
        other => return Err(invalid("theme", &format!("{other:?}: give light or dark"))),
    }
    words.insert(0, "-".to_owned());
    let zone = CivilZone::new(zone);
    let clock = WallClock { now_s: now().timestamp().as_second(), zone: &zone };
    let within = Path::new(&database.path).parent().map(Path::to_owned).unwrap_or_default();
    let drawn = GraphCommand::parse(&words, None, &clock)
        .and_then(|command| command.run(&mut Folder { database, within }, &clock, false));
    let drawn = drawn.map_err(|error| QueryError::Execution(error.to_string()))?;
    match drawn.file {
        Some(picture) => Ok((kind, picture)),
        None => Err(QueryError::Execution("the definition draws nothing".to_owned())),
    }
}

/// The words of a definition.
fn definition(file: &FileBeneath) -> Result<Vec<String>, String> {
    let mut text = String::new();
    let read =
        file.open().and_then(|file| file.take(DEFINITION_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| format!("the definition of the picture: {error}"))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let lines: Vec<&str> = lines.map(|line| line.strip_suffix('\\').unwrap_or(line)).collect();
    let mut words = Vec::new();
    rrd::pipe::split(&lines.join(" "), &mut words).map_err(|error| error.to_string())?;
    Ok(words)
}

/// The description of a picture of data sources: a line each, in a band from the smallest to the
/// largest value where the database keeps them.
fn of_sources(database: &OpenDatabase, given: &Parameters) -> Result<Vec<String>, QueryError> {
    let mut chosen = database.chosen(given)?;
    if given.get("source").is_empty() {
        chosen.truncate(SOURCES_MAX);
    }
    let function = database.function("")?.name();
    let archives = &database.file.header().archives;
    let keeps = |wanted| archives.iter().any(|archive| archive.function == wanted);
    let has_band = keeps(ConsolidationFunction::Minimum) && keeps(ConsolidationFunction::Maximum);
    // What data sources are called may mean something to a description; their places do not.
    let mut words = vec!["--slope-mode".to_owned(), format!("--title={}", database.path)];
    let widest = chosen.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
    for (at, (place, name)) in chosen.into_iter().enumerate() {
        let colour = COLOURS[at % COLOURS.len()];
        let legend = legend_text(&format!("{name:widest$}"));
        words.push(format!("DEF:v{at}=:s{place}:{function}"));
        if has_band {
            push_band(&mut words, (at, place), colour);
        }
        words.push(format!("LINE1.5:v{at}#{colour}:{legend}"));
        push_sums(&mut words, at);
    }
    Ok(words)
}
