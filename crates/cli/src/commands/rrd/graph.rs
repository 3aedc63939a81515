//! `graph`, `graphv` and `xport`: pictures and tables by the crate `graph`, of files that the crate
//! `rrd` reads.

use std::fs::{self, File};
use std::io::{Read as _, Write};
use std::path::Path;
use std::time::UNIX_EPOCH;

use graph::command::{GraphCommand, GraphError};
use graph::elements::Consolidation;
use graph::series::{SeriesRequest, SeriesSource, SeriesTable, WallClock};
use rrd::command::Failure;
use rrd::header::ConsolidationFunction;
use rrd::update::Moments as _;

use super::Here;

/// Bytes of a file that say whether it is a picture.
const HEAD_BYTES: u64 = 24;

/// Runs a command; `None` if it is none of these.
pub(super) fn run(
    command: &str,
    arguments: &[String],
    world: &Here,
    out: &mut dyn Write,
) -> Option<Result<(), Failure>> {
    let clock = WallClock { now_s: world.now().seconds, zone: &world.zone };
    let text = match command {
        "graph" | "graphv" => draw(arguments, command == "graphv", &clock),
        "xport" => graph::command::xport(arguments, &mut Files, &clock).map(String::into_bytes),
        _ => return None,
    };
    Some(match text {
        Ok(text) => out.write_all(&text).map_err(Failure::from),
        Err(error) => Err(rrd::Error::Argument(error.to_string()).into()),
    })
}

/// Writes the picture, and gives what is said about it.
fn draw(arguments: &[String], verbose: bool, clock: &WallClock<'_>) -> Result<Vec<u8>, GraphError> {
    let font = std::env::var("RRD_DEFAULT_FONT").ok();
    let command = GraphCommand::parse(arguments, font.as_deref(), clock)?;
    let is_current = command.settings.lazy && is_current(&command, clock.now_s);
    let result = command.run(&mut Files, clock, is_current)?;
    if let Some(file) = result.file.as_deref().filter(|_| command.file_name != "-") {
        fs::write(&command.file_name, file)
            .map_err(|_| GraphError::NotWritten(command.file_name.clone()))?;
    }
    Ok(command.output(&result, verbose))
}

/// Whether there is a picture that is young enough for `--lazy`.
fn is_current(command: &GraphCommand, now_s: i64) -> bool {
    let Ok(file) = File::open(&command.file_name) else { return false };
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let age = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut head = Vec::new();
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    match (age, read) {
        (Some(age), Ok(_)) => command.is_current(age.as_secs() as i64, &head, now_s),
        _ => false,
    }
}

/// Round-robin databases by their path.
struct Files;

impl SeriesSource for Files {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let wanted = rrd::fetch::FetchRequest {
            function: function(request.consolidation),
            start: request.start_s,
            end: request.end_s,
            step_seconds: u64::try_from(request.step_s).unwrap_or(0),
        };
        let series = rrd::fetch::fetch(Path::new(request.file), &wanted);
        let series = series.map_err(|error| error.to_string())?;
        Ok(SeriesTable {
            start_s: series.start,
            end_s: series.end,
            step_s: i64::try_from(series.step_seconds).unwrap_or(i64::MAX),
            columns: series.names,
            values: series.cells,
        })
    }
}

fn function(consolidation: Consolidation) -> ConsolidationFunction {
    match consolidation {
        Consolidation::Average => ConsolidationFunction::Average,
        Consolidation::Minimum => ConsolidationFunction::Minimum,
        Consolidation::Maximum => ConsolidationFunction::Maximum,
        Consolidation::Last => ConsolidationFunction::Last,
        Consolidation::HwPredict => ConsolidationFunction::HwPredict,
        Consolidation::MhwPredict => ConsolidationFunction::MhwPredict,
        Consolidation::Seasonal => ConsolidationFunction::Seasonal,
        Consolidation::DevSeasonal => ConsolidationFunction::DevSeasonal,
        Consolidation::DevPredict => ConsolidationFunction::DevPredict,
        Consolidation::Failures => ConsolidationFunction::Failures,
    }
}
