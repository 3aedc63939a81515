//! The caching daemon, which writes the files for us.
//!
//! A file is asked for once: the daemon makes it if it is not there, and says which sources it has
//! and until when.  After that only rows go to it, those of many files in one batch.  Nothing waits
//! longer than `PATIENCE` for a daemon that does not answer; its rows stay for the next try.

use std::path::Path;
use std::time::Duration;

use rrdclient::{Client, ClientError, CreateRequest, InfoField, RefusedUpdate, TlsFiles};
use view::export::DatabaseDaemon;

use super::file::SeriesFile;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Files of a batch.
pub(super) const FILES_AT_ONCE: usize = 64;

/// A daemon, connected when it is needed.
#[derive(Debug)]
pub(super) struct DaemonWriter {
    settings: DatabaseDaemon,
    client: Option<Client>,
}

/// What a file needs before rows are sent.
pub(super) enum Prepared {
    /// Nothing more; so many rows are not newer than what it has, and for these fields, asked for
    /// now, it has no data source.
    Ready { past: u64, missing: Vec<String> },
    /// It would make the folder larger than its limit.
    BeyondLimit,
}

impl DaemonWriter {
    pub(super) fn new(settings: DatabaseDaemon) -> Self {
        Self { settings, client: None }
    }

    /// Whether its files are on this machine, where folders can be made for them.
    pub(super) fn is_here(&self) -> bool {
        let address = &self.settings.address;
        address.starts_with('/') || address.starts_with("unix:")
    }

    fn client(&mut self) -> Result<&Client, ClientError> {
        let client = match self.client.take() {
            Some(client) => client,
            None => {
                let [authority, certificate, key] = self.settings.tls.clone();
                let tls = TlsFiles { authority, certificate, key };
                let stripped = self.settings.stripped_folder.as_deref();
                let client = Client::connect(&self.settings.address, stripped, &tls)?;
                client.set_timeout(PATIENCE)?;
                client
            }
        };
        Ok(self.client.insert(client))
    }

    /// Sees to it that a file is there, and learns its sources.
    pub(super) fn prepare(
        &mut self,
        series: &mut SeriesFile,
        folder_bytes: &mut u64,
        limit_bytes: u64,
    ) -> Result<Prepared, String> {
        if series.sources.is_some() {
            return Ok(Prepared::Ready { past: 0, missing: Vec::new() });
        }
        let path = series.path.clone();
        let named = |error: ClientError| format!("{}: {error}", path.display());
        let name = path.to_str().ok_or_else(|| format!("{}: no UTF-8", path.display()))?;
        let is_here = self.is_here();
        let client = self.client().map_err(named)?;
        // So that what waits there counts; a file that is not there is made below.
        if let Err(error) = client.flush(name)
            && !matches!(error, ClientError::Refused { .. })
        {
            return Err(named(error));
        }
        let info = match client.info(name) {
            Ok(info) => info,
            Err(ClientError::Refused { .. }) => {
                let bytes = file_bytes(series)?;
                if folder_bytes.saturating_add(bytes) > limit_bytes {
                    return Ok(Prepared::BeyondLimit);
                }
                if is_here && let Some(folder) = path.parent() {
                    let failed = |error| format!("cannot make {}: {error}", folder.display());
                    std::fs::create_dir_all(folder).map_err(failed)?;
                }
                create(client, name, series).map_err(named)?;
                *folder_bytes += bytes;
                client.info(name).map_err(named)?
            }
            Err(error) => return Err(named(error)),
        };
        let (sources, missing) = sources(&path, &series.plan.names, &info)?;
        series.sources = Some(sources);
        let number = info.iter().find(|(key, _)| key == "last_update");
        let past = match number {
            Some((_, InfoField::Count(time))) => i64::try_from(*time).unwrap_or(i64::MAX),
            _ => return Err(format!("{}: the daemon knows no last update", path.display())),
        };
        Ok(Prepared::Ready { past: series.drop_until(past), missing })
    }

    /// Hands over readings of files; gives what the daemon has refused.
    pub(super) fn send(
        &mut self,
        updates: &[(&str, &[String])],
    ) -> Result<Vec<RefusedUpdate>, String> {
        let sent = self.client().and_then(|client| client.update_batch(updates));
        sent.map_err(|error| error.to_string())
    }
}

/// Bytes of the file that would be made.
fn file_bytes(series: &SeriesFile) -> Result<u64, String> {
    let definitions = series.plan.definitions();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let options = rrd::create::Options {
        start: Some(series.start_s()),
        step_seconds: Some(series.plan.step_seconds),
        ..rrd::create::Options::default()
    };
    let image = rrd::create::image(&series.path, &options, &definitions, 0);
    Ok(image.map_err(|error| error.to_string())?.to_bytes().len() as u64)
}

fn create(client: &Client, name: &str, series: &SeriesFile) -> Result<(), ClientError> {
    let definitions = series.plan.definitions();
    let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
    let request = CreateRequest {
        step_s: Some(series.plan.step_seconds),
        start_s: Some(series.start_s()),
        keeps_existing: true,
        definitions: &definitions,
        ..CreateRequest::default()
    };
    client.create(name, &request)
}

/// The field of each source of a file, and the fields for which it has none: it may be older than
/// the table.
fn sources(
    path: &Path,
    names: &[String],
    info: &[(String, InfoField)],
) -> Result<(Vec<Option<usize>>, Vec<String>), String> {
    let source = |(key, field): &(String, InfoField)| {
        let name = key.strip_prefix("ds[")?.strip_suffix("].index")?;
        match field {
            InfoField::Count(index) => Some((*index, name.to_owned())),
            _ => None,
        }
    };
    let mut found: Vec<(u64, String)> = info.iter().filter_map(source).collect();
    found.sort_unstable();
    let field = |name: &String| names.iter().position(|own| own == name);
    let fields: Vec<Option<usize>> = found.iter().map(|(_, name)| field(name)).collect();
    if fields.iter().all(Option::is_none) {
        return Err(format!(
            "{}: no data source has the name of a field: another program's file; give another \
             folder, or remove it",
            path.display()
        ));
    }
    let missing = names.iter().enumerate().filter(|(index, _)| !fields.contains(&Some(*index)));
    let missing = missing.map(|(_, name)| name.clone()).collect();
    Ok((fields, missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_older_than_the_table_goes_on_without_the_new_fields() {
        let source = |name: &str, index| (format!("ds[{name}].index"), InfoField::Count(index));
        let info = [source("user", 0), source("idle", 2), source("steal", 1)];
        let names = ["user", "nice", "idle"].map(str::to_owned);
        let (fields, missing) = sources(Path::new("cpu.rrd"), &names, &info).unwrap();
        assert_eq!(fields, [Some(0), None, Some(2)]);
        assert_eq!(missing, ["nice"]);
        let refused = sources(Path::new("cpu.rrd"), &names[1..2], &info).unwrap_err();
        assert!(refused.contains("another program's file"), "{refused}");
    }
}
