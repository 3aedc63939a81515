//! `whit serve`: recordings over HTTP, by Prometheus's query interface.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serve::{QueryServer, RecordingStorage, ServeSettings};

use crate::{end_signals, stderr};

/// Arguments of `whit serve`.
#[derive(clap::Args)]
#[command(after_help = crate::help::SERVE)]
pub(crate) struct ServeArguments {
    /// Folders of recordings, or single recordings, of whit
    #[arg(value_name = "FOLDER", required = true)]
    paths: Vec<PathBuf>,
    /// Listen here: an address of the loopback and a port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9797")]
    listen: SocketAddr,
}

/// Runs the verb: until INT or TERM.
pub(crate) fn run(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    end_signals::block()?;
    let (storage, left_out) = RecordingStorage::open(arguments.paths)?;
    left_out.iter().for_each(stderr::message);
    let server = QueryServer::start(ServeSettings::at(arguments.listen), Arc::new(storage))?;
    stderr::message(format!("serves http://{}", server.address()));
    end_signals::wait()?;
    match server.refused() {
        0 => {}
        count => stderr::message(format!("{count} connections were closed: too many at once")),
    }
    Ok(ExitCode::SUCCESS)
}
