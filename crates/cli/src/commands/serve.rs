//! `whit serve`: recordings over HTTP, by Prometheus's query interface.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use serve::{QueryServer, RecordingStorage, ServeSettings, SideFileMaker};

use crate::{end_signals, stderr};

/// Arguments of `whit serve`.
#[derive(clap::Args)]
#[command(after_help = crate::help::SERVE)]
pub(crate) struct ServeArguments {
    /// Folders of recordings, or single recordings
    #[arg(value_name = "FOLDER", required = true)]
    paths: Vec<PathBuf>,
    /// Listen here: an address of the loopback and a port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9797")]
    listen: SocketAddr,
    /// Make no files beside the recordings (NAME.whit.columns) that make answers fast
    #[arg(long)]
    no_side_files: bool,
}

/// Runs the verb: until INT or TERM.
pub(crate) fn run(arguments: ServeArguments) -> anyhow::Result<ExitCode> {
    let ServeArguments { paths, listen, no_side_files } = arguments;
    end_signals::block()?;
    let (storage, left_out) = RecordingStorage::open(&paths)?;
    left_out.iter().for_each(stderr::message);
    let storage = Arc::new(storage);
    let server = QueryServer::start(ServeSettings::at(listen), storage.clone())?;
    let makes = !no_side_files;
    let maker = makes.then(|| SideFileMaker::start(storage, |text| stderr::message(text)));
    let _maker = maker.transpose().context("cannot start the thread that makes side files")?;
    stderr::message(format!("serves http://{}", server.address()));
    end_signals::wait()?;
    match server.refused() {
        0 => {}
        count => stderr::message(format!("{count} connections were closed: too many at once")),
    }
    Ok(ExitCode::SUCCESS)
}
