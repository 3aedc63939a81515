//! `whit serve`: recordings over HTTP, by Prometheus's query interface and as a page for its scraper.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use http_server::HttpSettings;
use serve::{
    OtherHost, Page, QueryServer, RecordedPages, RecordingStorage, ServeSettings, SideFileMaker,
};
use watch::DataKind;

use crate::commands::watch::data_of_service;
use crate::http::{HttpArguments, HttpSockets};
use crate::{end_signals, stderr};

/// Most bytes of a password that is read.
const PASSWORD_BYTES_MAX: u64 = 4096;

/// Arguments of `whit serve`.
#[derive(clap::Args)]
#[command(after_help = crate::help::SERVE)]
pub(crate) struct ServeArguments {
    /// Folders of recordings, or single recordings [default: those of the service]
    #[arg(value_name = "FOLDER")]
    paths: Vec<PathBuf>,
    /// Listen here: HOST:PORT of the loopback, tls:HOST:PORT for other machines too (with --tls-cert,
    /// and --token-file or --users), the path of a socket, or fd:N,N for sockets that are open already
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9797")]
    listen: String,
    /// Show the records of this store of whit log, too: the folder of whit log central
    #[arg(long, value_name = "STORE")]
    logs: Option<PathBuf>,
    #[command(flatten)]
    http: HttpArguments,
    /// Show another host on the page, too: url=URL of its whit serve or whit watch, and if wanted
    /// name=NAME, token_file=FILE, ca=FILE, with commas between; may be given up to 100 times
    #[arg(long, value_name = "DESCRIPTION")]
    host: Vec<String>,
    /// Make no files beside the recordings (NAME.whit.columns, NAME.whit.summary) that make answers
    /// fast
    #[arg(long)]
    no_side_files: bool,
    /// Show the round-robin databases in this folder, and below it, on the page; may be repeated
    #[arg(long, value_name = "FOLDER")]
    databases: Vec<PathBuf>,
    /// Have the caching daemon at this address (a path, HOST:PORT) write a database before it is shown
    #[arg(long, value_name = "ADDRESS", requires = "databases")]
    rrdcached: Option<String>,
    /// Show the alerts whose states are in this folder: [alerts] folder of the configuration
    #[arg(long, value_name = "FOLDER")]
    alerts: Option<PathBuf>,
    /// Serve MRTG's pages and pictures that are in this folder at /mrtg/
    #[arg(long, value_name = "FOLDER")]
    device_pages: Option<PathBuf>,
    /// Show the parts of a service and what they cost: FILE is the account that whit watch keeps
    #[arg(long, value_name = "FILE")]
    parts: Option<PathBuf>,
    /// Read a password from standard input, print its hash for a line of --users, and end
    #[arg(long, conflicts_with = "paths")]
    hash_password: bool,
}

/// Runs the verb: until INT or TERM.
pub(crate) fn run(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    if arguments.hash_password {
        return hash_password();
    }
    end_signals::block()?;
    let hosts = arguments.host.iter().map(|text| Ok(OtherHost::parse(text)?));
    let hosts = hosts.collect::<anyhow::Result<_>>().context("--host")?;
    let paths = match arguments.paths.as_slice() {
        [] => &[data_of_service(DataKind::Recordings)?],
        paths => paths,
    };
    let (storage, left_out) = RecordingStorage::open(paths)?;
    left_out.iter().for_each(stderr::message);
    let HttpSockets { listeners, access, place } = arguments.http.open(&arguments.listen)?;
    let settings = ServeSettings::default();
    let http = HttpSettings { access, ..settings.http };
    let settings = ServeSettings { http, ..settings };
    let storage = Arc::new(storage);
    let pages = Arc::new(RecordedPages::new(storage.clone()));
    let mut page = Page::new(storage.clone()).with_hosts(hosts).context("--host")?;
    if let Some(store) = &arguments.logs {
        page = page.with_logs(store);
    }
    if !arguments.databases.is_empty() {
        page = page.with_databases(arguments.databases.clone(), arguments.rrdcached.clone());
    }
    if let Some(folder) = &arguments.alerts {
        page = page.with_alerts(folder.clone());
    }
    if let Some(folder) = &arguments.device_pages {
        page = page.with_device_pages(folder.clone());
    }
    if let Some(account) = &arguments.parts {
        page = page.with_parts(account.clone());
    }
    let server = QueryServer::start_with_page(listeners, settings, page, pages)?;
    let makes = !arguments.no_side_files;
    let maker = makes.then(|| SideFileMaker::start(storage, |text| stderr::message(text)));
    let _maker = maker.transpose().context("cannot start the thread that makes side files")?;
    stderr::message(format!("serves {}", place.addresses(server.http())));
    heap::return_unused();
    end_signals::wait()?;
    place.end(server.http());
    Ok(ExitCode::SUCCESS)
}

/// Prints the hash of the password on standard input, of which a line's end is no part.
fn hash_password() -> anyhow::Result<ExitCode> {
    let mut password = Vec::new();
    std::io::stdin()
        .take(PASSWORD_BYTES_MAX)
        .read_to_end(&mut password)
        .context("cannot read a password from standard input")?;
    if password.last() == Some(&b'\n') {
        password.pop();
    }
    stderr::print(&format!("{}\n", http_server::hash_password(&password)?))?;
    Ok(ExitCode::SUCCESS)
}
