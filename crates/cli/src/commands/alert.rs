//! `whit alert`: rules over recordings, and messages to people; or what rules would have said.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use alert::{AlertRun, AlertRunSettings, AlertSurroundings};
use calendar::CivilZone;
use serve::RecordingStorage;
use watch::DataKind;

use crate::commands::watch::{FileArguments, data_of_service, refused};
use crate::{end_signals, stderr};

/// Arguments of `whit alert`.
#[derive(clap::Args)]
#[command(after_help = crate::help::ALERT)]
pub(crate) struct AlertArguments {
    /// Folders of recordings, or single recordings [default: those of the service]
    #[arg(value_name = "FOLDER")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    file: FileArguments,
    /// Send nothing: show when the rules would have fired
    #[arg(long)]
    check: bool,
    /// With --check: from this time on: 10:15, yesterday 10:15, -1h, 2026-11-22T20:00 with Z, +01:00
    /// or neither, @SECONDS since 1970 [default: the first sample]
    #[arg(long, value_name = "TIME", requires = "check", allow_hyphen_values = true)]
    from: Option<String>,
    /// With --check: up to this time [default: the last sample]
    #[arg(long, value_name = "TIME", requires = "check", allow_hyphen_values = true)]
    thru: Option<String>,
    /// With --check: as JSON
    #[arg(long, requires = "check")]
    json: bool,
    /// The account of a service's parts, for rules about whit_part_up, whit_part_failures_total and whit_part_unwritten
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    parts: Option<PathBuf>,
    /// The store of log records (of `whit log central`): messages have the warnings of their time
    #[arg(long, value_name = "STORE", conflicts_with = "check")]
    logs: Option<PathBuf>,
}

/// Runs the verb: until INT or TERM, or over a period.
pub(crate) fn run(arguments: &AlertArguments) -> anyhow::Result<ExitCode> {
    let configuration = match arguments.file.read(&arguments.file.places()?) {
        Ok(configuration) => configuration,
        Err(error) => return Ok(refused(&error)),
    };
    end_signals::block()?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let alerts = configuration.alerts(&host);
    let paths = match arguments.paths.as_slice() {
        [] => &[data_of_service(DataKind::Recordings)?],
        paths => paths,
    };
    let (storage, left_out) = RecordingStorage::open(paths)?;
    // Rules ask the same again at each step.
    let storage = storage.holding();
    left_out.iter().for_each(stderr::message);
    let zone = CivilZone::new(crate::zone::local());
    if arguments.check {
        return check(arguments, alerts, &storage, &zone);
    }
    let settings = AlertRunSettings {
        rules: alerts.rules,
        interval: alerts.interval,
        folder: alerts.folder,
        parts: arguments.parts.clone(),
        logs: arguments.logs.clone(),
        host,
        page: alerts.page,
        zone,
        deliverer: alerts.deliverer,
    };
    let storage = Arc::new(storage);
    let recordings = storage.clone();
    let recordings = move || recordings.recordings().ok();
    let run = AlertRun::start(settings, storage, recordings, |text| stderr::message(text))?;
    heap::return_unused();
    end_signals::wait()?;
    run.end();
    Ok(ExitCode::SUCCESS)
}

/// Shows when the rules would have fired.
fn check(
    arguments: &AlertArguments,
    alerts: watch::ConfiguredAlerts,
    storage: &RecordingStorage,
    zone: &CivilZone,
) -> anyhow::Result<ExitCode> {
    let now_ms = jiff::Timestamp::now().as_millisecond();
    let all = alert::recorded_period(&*storage.recordings()?, now_ms);
    let time = |option: &str, text: &Option<String>, other: i64| match text {
        None => Ok(other),
        Some(text) => anyhow::Ok(crate::zone::time_ns(option, text)? / 1_000_000),
    };
    let from_ms = time("--from", &arguments.from, all.0)?;
    let thru_ms = time("--thru", &arguments.thru, all.1)?;
    anyhow::ensure!(from_ms <= thru_ms, "--from is after --thru");
    let step_ms = i64::try_from(alerts.interval.as_millis())?;
    let around = AlertSurroundings::of(storage, zone);
    let found = alert::replay(alerts.rules, (from_ms, thru_ms, step_ms), &around);
    let found = found.map_err(anyhow::Error::msg)?;
    stderr::print(&match arguments.json {
        true => format!("{found}\n"),
        false => alert::replay_text(&found, zone),
    })?;
    Ok(ExitCode::SUCCESS)
}
