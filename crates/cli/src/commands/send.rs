//! `whit send`: hands recordings and log records over to engines, each at its own pace.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use anyhow::Context as _;
use send::{
    EngineAccess, EngineAddress, ProcessChoice, SendEvent, SendInput, SendSettings, Sender,
    SourceChoice, StepChoice,
};

use crate::end_signals::Ending;
use crate::stderr;

/// Arguments of `whit send`.
#[derive(clap::Args)]
#[command(after_help = crate::help::SEND)]
pub(crate) struct SendArguments {
    /// The folder of recordings, or of a store of log records (`whit log central`)
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Send to this engine: remote-write (Prometheus, VictoriaMetrics, Mimir, Thanos), otlp (collectors
    /// of OpenTelemetry), influx (InfluxDB, VictoriaMetrics), clickhouse, loki and journal
    /// (systemd-journal-remote) have an ADDRESS of http://HOST:PORT, https://HOST:PORT or unix:SOCKET,
    /// with the path if it is not the usual one; graphite has HOST[:PORT] or tls:HOST[:PORT], jetstream
    /// (NATS) nats://HOST[:PORT] or tls://HOST[:PORT], whit (recordings as they are, to whit log central
    /// --recordings) HOST[:PORT], tls:HOST[:PORT] or unix:SOCKET; loki, journal, otlp, jetstream and clickhouse take
    /// log records; may be given several times: each engine has its own cursor and delays no other
    #[arg(long, value_name = "KIND=ADDRESS", required_unless_present = "status")]
    to: Vec<String>,
    /// Call the engine's cursor so, in place of its kind and address: the engine may move
    #[arg(long, value_name = "NAME", requires = "to")]
    name: Option<String>,
    /// Go on when all is sent: with new samples as they are recorded
    #[arg(long)]
    follow: bool,
    /// With --follow: look for what is new so often [2s; jetstream, graphite, whit and log records 1s]: of
    /// several samples in one request each costs less
    #[arg(long, value_name = "LENGTH", requires = "follow", value_parser = text::quantity::parse_span_ns)]
    every: Option<u64>,
    /// Send these sources, with commas between; without it all but those with a row for each process
    #[arg(long, value_name = "SOURCES", value_delimiter = ',')]
    sources: Vec<String>,
    /// Send processes, too, in a bounded number of series: summed by command, user or cgroup (as --by of
    /// whit play), COUNT groups [50] by their names and the rest as `other`
    #[arg(long, value_name = "BY[:COUNT]", value_parser = ProcessChoice::parse)]
    processes_by: Option<ProcessChoice>,
    /// Send one point for each step of this length (10s, 1m): means, and the last value of counters
    #[arg(long, value_name = "LENGTH", value_parser = text::quantity::parse_span_ns)]
    step: Option<u64>,
    /// With --step: the smallest and the largest value of gauges, too, as NAME_min and NAME_max
    #[arg(long, requires = "step")]
    spread: bool,
    /// The folder is a store of log records, although it has none yet
    #[arg(long, conflicts_with_all = ["sources", "processes_by", "step", "status", "verify"])]
    logs: bool,
    #[command(flatten)]
    access: AccessArguments,
    /// Make the tables that clickhouse needs, if they are not there
    #[arg(long, conflicts_with_all = ["status", "verify"])]
    create_tables: bool,
    /// Say what each engine has and what waits for it, and end
    #[arg(long, conflicts_with_all = ["to", "follow", "sources", "ca", "token_file"])]
    status: bool,
    /// Ask each engine for every point that it has acknowledged, say what it lacks, has otherwise or has
    /// twice, and end: of engines by remote-write and clickhouse, with the --sources, --processes-by,
    /// --step, --name and credentials that they were sent with
    #[arg(long, conflicts_with_all = ["status", "follow"])]
    verify: bool,
    /// With --status and --verify: as JSON, a line for each engine
    #[arg(long)]
    json: bool,
}

/// What it takes to get into engines.
#[derive(clap::Args)]
pub(crate) struct AccessArguments {
    /// The authorities (CA) that engines with TLS are checked by, a file of PEM; without it those of the
    /// system
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Say `Authorization: Bearer TOKEN` to the engines, with the token in this file; to another whit
    /// prove that the secret in this file is known
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

impl AccessArguments {
    pub(crate) fn access(&self) -> EngineAccess {
        EngineAccess { authorities: self.ca.clone(), token_file: self.token_file.clone() }
    }
}

/// Runs the verb: until all is acknowledged, or until INT or TERM.
pub(crate) fn run(arguments: &SendArguments) -> anyhow::Result<ExitCode> {
    if arguments.status {
        return show_status(&arguments.folder, arguments.json);
    }
    let engines = arguments.to.iter().map(|to| EngineAddress::parse(to));
    let engines: Vec<EngineAddress> = engines.collect::<Result<_, _>>()?;
    let settings = settings(arguments, &engines)?;
    anyhow::ensure!(
        arguments.name.is_none() || engines.len() < 2,
        "--name is the name of one engine: give one --to"
    );
    let has_tables = engines.iter().any(EngineAddress::has_tables);
    anyhow::ensure!(has_tables || !arguments.create_tables, "--create-tables: clickhouse has some");
    if arguments.verify {
        return verify(arguments, &engines, &settings);
    }
    anyhow::ensure!(!arguments.json, "--json: give --status or --verify, too");
    let ending = Ending::by_signals()?;
    let mut senders = Vec::new();
    for engine in engines {
        let name = arguments.name.clone().unwrap_or_else(|| engine.cursor_name(settings.input));
        let sender = Sender::new(&arguments.folder, &name, &engine, settings.clone())?;
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
    stderr::message(format!("{name}: has {}", sender.cursor().sent()));
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

fn settings(arguments: &SendArguments, to: &[EngineAddress]) -> anyhow::Result<SendSettings> {
    let are_logs = arguments.logs || to.iter().any(EngineAddress::is_for_logs_alone);
    let mut settings = SendSettings {
        input: if are_logs { SendInput::Logs } else { SendInput::of(&arguments.folder) },
        follows: arguments.follow,
        every: SendSettings::every(arguments.every).context("--every")?,
        creates_tables: arguments.create_tables,
        selection: SourceChoice {
            processes: arguments.processes_by.clone(),
            step: StepChoice::new(arguments.step, arguments.spread).context("--step")?,
            ..SourceChoice::new(arguments.sources.clone()).context("--sources")?
        },
        ..SendSettings::default()
    };
    arguments.access.access().load(&mut settings, to.iter().any(EngineAddress::is_encrypted))?;
    Ok(settings)
}

/// Says what each engine has of what it has acknowledged; a failure if it is not all.
fn verify(
    arguments: &SendArguments,
    engines: &[EngineAddress],
    settings: &SendSettings,
) -> anyhow::Result<ExitCode> {
    let mut is_whole = true;
    for engine in engines {
        let name = arguments.name.clone().unwrap_or_else(|| engine.cursor_name(settings.input));
        let report = send::verify(&arguments.folder, &name, engine, settings)?;
        is_whole &= report.is_whole();
        stderr::print(&match arguments.json {
            true => format!("{}\n", report.json(&name)),
            false => report.text(&name),
        })?;
    }
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
