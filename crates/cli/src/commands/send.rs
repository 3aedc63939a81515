//! `whit send`: hands recordings over to engines, each at its own pace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use connection::ClientTls;
use http_client::{ClientSettings, HttpUrl};
use send::{EngineKind, SendEvent, SendSettings, Sender, SourceChoice};

use crate::{end_signals, stderr};

/// Arguments of `whit send`.
#[derive(clap::Args)]
#[command(after_help = crate::help::SEND)]
pub(crate) struct SendArguments {
    /// The folder of recordings
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Send to this engine: KIND is remote-write (Prometheus, VictoriaMetrics, Mimir, Thanos), ADDRESS
    /// http://HOST:PORT, https://HOST:PORT or unix:SOCKET, with the path if it is not the usual one;
    /// may be given several times: each engine has its own cursor and delays no other
    #[arg(long, value_name = "KIND=ADDRESS", required_unless_present = "status")]
    to: Vec<String>,
    /// Go on when all is sent: with new samples as they are recorded
    #[arg(long)]
    follow: bool,
    /// Send these sources, with commas between; without it all but those with a row for each process
    #[arg(long, value_name = "SOURCES", value_delimiter = ',')]
    sources: Vec<String>,
    /// The authorities (CA) that servers with https are checked by, a file of PEM; without it those of
    /// the system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Say `Authorization: Bearer TOKEN` to the engines, with the token in this file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Say what each engine has and what waits for it, and end
    #[arg(long, conflicts_with_all = ["to", "follow", "sources", "ca", "token_file"])]
    status: bool,
    /// With --status: as JSON, a line for each engine
    #[arg(long, requires = "status")]
    json: bool,
}

/// Says when to end.
#[derive(Default)]
struct Ending {
    is_asked: Mutex<bool>,
    changed: Condvar,
}

impl Ending {
    fn ask(&self) {
        *self.is_asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits; false once the end is asked for.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut is_asked = self.is_asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_asked {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let waited = self.changed.wait_timeout(is_asked, left);
            is_asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// Runs the verb: until all is acknowledged, or until INT or TERM.
pub(crate) fn run(arguments: &SendArguments) -> anyhow::Result<ExitCode> {
    if arguments.status {
        return show_status(&arguments.folder, arguments.json);
    }
    let engines = arguments.to.iter().map(|to| EngineKind::parse(to));
    let engines: Vec<(&EngineKind, HttpUrl)> = engines.collect::<Result<_, _>>()?;
    check_sources(&arguments.sources)?;
    let settings = settings(arguments, engines.iter().any(|(_, url)| url.is_encrypted()))?;
    end_signals::block()?;
    let ending = Arc::new(Ending::default());
    // The thread that waits for signals ends with the process.
    let asks = ending.clone();
    thread::spawn(move || end_signals::wait().map(|_| asks.ask()));
    let mut senders = Vec::new();
    for (kind, url) in engines {
        let name = kind.cursor_name(&url);
        let sender = Sender::new(&arguments.folder, &name, kind, url, settings.clone())?;
        senders.push((name, sender));
    }
    let failed = thread::scope(|scope| {
        let ending = &ending;
        let start =
            |(name, sender): (String, Sender)| scope.spawn(move || send_all(&name, sender, ending));
        let running: Vec<_> = senders.into_iter().map(start).collect();
        running
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .fold(false, |any, ended| any | !ended.unwrap_or(false))
    });
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Sends to one engine; whether it has all that was to be sent.
fn send_all(name: &str, mut sender: Sender, ending: &Ending) -> bool {
    let mut tell = |event: SendEvent| match event {
        SendEvent::Note(text) => stderr::message(format!("{name}: {text}")),
        // Later ones are as the first one.
        SendEvent::Waits { why, failures: 1 } => {
            stderr::message(format!("{name}: {why}; trying again"));
        }
        SendEvent::Waits { .. } => {}
        SendEvent::GoesOn => stderr::message(format!("{name}: takes again")),
    };
    let ended = sender.run(&mut |time| ending.pause(time), &mut tell);
    let cursor = sender.cursor();
    stderr::message(format!(
        "{name}: has {} samples ({} points)",
        cursor.samples_sent, cursor.points_sent
    ));
    match ended {
        Ok(true) => true,
        Ok(false) => {
            stderr::message(format!("{name}: ended before all was sent"));
            false
        }
        Err(error) => {
            stderr::message(format!("{name}: {}", text::error_text::with_causes(&error)));
            false
        }
    }
}

fn check_sources(names: &[String]) -> anyhow::Result<()> {
    let known = source::definitions();
    for name in names {
        anyhow::ensure!(
            known.iter().any(|def| *def.name == **name),
            "--sources: there is no source {name}; whit sources lists them"
        );
    }
    Ok(())
}

fn settings(arguments: &SendArguments, is_encrypted: bool) -> anyhow::Result<SendSettings> {
    let mut settings = SendSettings {
        follows: arguments.follow,
        selection: SourceChoice { sources: arguments.sources.clone() },
        ..SendSettings::default()
    };
    if let Some(path) = &arguments.token_file {
        let value = http_client::bearer(path);
        let value = value.with_context(|| format!("--token-file {}", path.display()))?;
        settings.authorization = Some(value);
    }
    let authorities = match &arguments.ca {
        Some(path) => Some(path.clone()),
        None if is_encrypted => http_client::system_authorities(),
        None => None,
    };
    let tls = authorities.map(|path| ClientTls::load(&path, None)).transpose()?;
    settings.client = ClientSettings { tls, ..settings.client };
    Ok(settings)
}

fn show_status(folder: &Path, as_json: bool) -> anyhow::Result<ExitCode> {
    let engines = send::status(folder)?;
    anyhow::ensure!(!engines.is_empty(), "nothing was sent from {}", folder.display());
    for engine in engines {
        let text = match as_json {
            true => format!("{}\n", engine.json()),
            false => engine.text(),
        };
        stderr::print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}
