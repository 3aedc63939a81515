//! The caching daemon, as commands on databases see it.

use std::path::Path;
use std::sync::Arc;

use rrd::command::{Daemon, InfoEntry};
use rrd::create;
use rrd::fetch::{FetchRequest, FetchedSeries};
use rrd::info::InfoValue;
use rrdclient::{Client, CreateRequest, InfoField};

/// A connected daemon.
pub(crate) struct Connected(pub(crate) Arc<Client>);

/// The rows of a reply.
pub fn fetched_series(reply: rrdclient::FetchReply) -> FetchedSeries {
    FetchedSeries {
        start: reply.start_s,
        end: reply.end_s,
        step_seconds: reply.step_s as u64,
        names: reply.names,
        cells: reply.values,
    }
}

/// What a daemon is asked to make.
pub fn create_request<'a>(
    options: &'a create::Options,
    definitions: &'a [&'a str],
) -> CreateRequest<'a> {
    CreateRequest {
        step_s: options.step_seconds,
        start_s: options.start,
        keeps_existing: options.keeps_existing,
        sources: &options.sources,
        template: options.template.as_deref().map(Path::new),
        definitions,
    }
}

fn text<T>(result: Result<T, rrdclient::ClientError>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

impl Daemon for Connected {
    fn update(&self, file: &str, readings: &[String]) -> Result<(), String> {
        text(self.0.update(file, readings))
    }

    fn flush(&self, file: &str) -> Result<(), String> {
        text(self.0.flush(file))
    }

    fn fetch(&self, file: &str, request: &FetchRequest) -> Result<FetchedSeries, String> {
        let function = request.function.name();
        let reply = text(self.0.fetch(file, function, request.start, request.end))?;
        Ok(fetched_series(reply))
    }

    fn info(&self, file: &str) -> Result<Vec<InfoEntry>, String> {
        let value = |field| match field {
            InfoField::Double(double) => InfoValue::Double(double),
            InfoField::Count(count) => InfoValue::Count(count),
            InfoField::Text(text) => InfoValue::Text(text),
            InfoField::Int(int) => InfoValue::Int(int),
        };
        let fields = text(self.0.info(file))?;
        Ok(fields.into_iter().map(|(key, field)| (key, value(field))).collect())
    }

    fn last(&self, file: &str) -> Result<i64, String> {
        text(self.0.last(file))
    }

    fn first(&self, file: &str, archive: usize) -> Result<i64, String> {
        text(self.0.first(file, archive))
    }

    fn create(
        &self,
        file: &str,
        options: &create::Options,
        definitions: &[&str],
    ) -> Result<(), String> {
        text(self.0.create(file, &create_request(options, definitions)))
    }

    fn list(&self, folder: &str, recursive: bool) -> Result<Vec<String>, String> {
        text(self.0.list(folder, recursive))
    }
}
