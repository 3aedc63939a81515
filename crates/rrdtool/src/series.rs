//! Round-robin databases, as graphs see them.

use graph::elements::Consolidation;
use graph::series::{SeriesRequest, SeriesSource, SeriesTable};
use rrd::command::CommandEnvironment;
use rrd::fetch::FetchRequest;
use rrd::header::ConsolidationFunction;

/// Databases by their path, or by a caching daemon.
pub(crate) struct Databases<'a>(pub(crate) &'a dyn CommandEnvironment);

impl SeriesSource for Databases<'_> {
    fn fetch(&mut self, request: &SeriesRequest<'_>) -> Result<SeriesTable, String> {
        let wanted = FetchRequest {
            function: function(request.consolidation),
            start: request.start_s,
            end: request.end_s,
            step_seconds: u64::try_from(request.step_s).unwrap_or(0),
        };
        let series = match self.0.daemon(request.daemon)? {
            Some(daemon) => daemon.fetch(request.file, &wanted)?,
            None => {
                let series = self.0.fetch(request.file, &wanted);
                series.map_err(|error| error.to_string())?
            }
        };
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
