//! `-f`, `-A`, `--export` and the formats of `whit poll`: rounds as samples, to the outputs that
//! `whit record` has, by the same code.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use poll::round::RoundReport;
use poll::{RoundSources, TargetAccount};
use procfs::SystemClock;
use recorder::{
    FileNames, FileSettings, Keep, LiveText, Outputs, RecordingOptions, Roll, ViewInput,
};
use sample::{Clock as _, Moment};
use sink::{DescriptorSink, LiveAddress, Sink};
use source::RecorderCounters;
use view::export::{ExportSubsystems, Setting};

use super::Polled;
use super::messages::Messages;
use super::round_recorder::{RoundRecorder, facts_of, selection_of};
use crate::display::{DisplayArguments, FormatArguments};

/// Options about rounds as samples.
#[derive(clap::Args)]
#[command(next_help_heading = "Rounds as samples")]
pub(super) struct SampleArguments {
    /// Record rounds to files in this directory, or with this prefix, for whit play
    #[arg(short = 'f', long = "filename", value_name = "PATH")]
    filename: Option<PathBuf>,
    /// Begin new recordings at this time of day, every so many minutes, and keep them so many days
    /// [default: 7 days, 1440 minutes]
    #[arg(
        short = 'r',
        long = "rolllogs",
        value_name = "HH:MM[,DAYS][,MINUTES]",
        requires = "filename"
    )]
    roll: Option<String>,
    /// Delete recordings older than this (12h, 30d, 4w), the oldest beyond this size (500M), or both (30d,10G)
    #[arg(long, value_name = "AGE,SIZE", requires = "filename")]
    keep: Option<String>,
    /// A power cut loses at most so many seconds of recordings; 0 syncs after each round
    #[arg(long, value_name = "SECONDS", requires = "filename")]
    sync: Option<u64>,
    /// Send lines, or a format, to a socket: connect to an address, or listen as `server`
    /// [default port: 2655]
    #[arg(short = 'A', long = "address", value_name = "ADDRESS[:PORT[:TIMEOUT]]|server[:PORT]")]
    address: Option<String>,
    #[command(flatten)]
    formats: FormatArguments<false>,
}

/// What these options ask for, checked; and what was opened for it.
pub(super) struct Samples {
    files: Option<FileSettings>,
    address: Option<LiveAddress>,
    display: DisplayArguments,
    messages: Messages,
    open: Option<RoundRecorder>,
    account: Option<TargetAccount>,
}

impl SampleArguments {
    /// Checks them.  `rounds` are those to be made, `None` without end; a `daemon` has no standard
    /// output.
    pub(super) fn samples(
        self,
        rounds: Option<u64>,
        is_daemon: bool,
        messages: &Messages,
    ) -> anyhow::Result<Samples> {
        let roll = self.roll.as_deref();
        let roll = roll.map(|text| Roll::parse(text).with_context(|| format!("-r {text}")));
        let keep = self.keep.as_deref().map(Keep::parse).transpose().context("--keep")?;
        let (roll, sync_ns) =
            (roll.transpose()?, self.sync.map(|s| s.saturating_mul(1_000_000_000)));
        let recording =
            Some(RecordingOptions { sync_ns, beside_others: true, ..RecordingOptions::default() });
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let names = self.filename.as_deref().map(|path| FileNames::new(path, &host));
        let files = names.map(|names| FileSettings { names, recording, roll, keep });
        let address = self.address.as_deref();
        let address =
            address.map(|text| LiveAddress::parse(text).with_context(|| format!("-A {text}")));
        let formats = self.formats.among_all();
        if let Some((name, ExportSubsystems::Fixed { .. } | ExportSubsystems::Processes)) =
            formats.export_subsystems()
        {
            anyhow::bail!("--export {name} shows this machine, which is not polled");
        }
        let address = address.transpose()?;
        let is_shown = address.is_some() || formats.is_set();
        ensure!(
            !is_shown || rounds.is_none_or(|rounds| rounds > 1),
            "rates take two rounds: --daemon, or -c with 2 and more, go with -A and formats"
        );
        let is_away = address.is_some() || formats.names_export();
        ensure!(
            !is_shown || !is_daemon || is_away,
            "a daemon has no screen: -A, --export, or NoDetach: yes or -c go with formats"
        );
        let display = DisplayArguments { formats, ..DisplayArguments::default() };
        Ok(Samples {
            files,
            address,
            display,
            messages: messages.clone(),
            open: None,
            account: None,
        })
    }
}

impl Samples {
    fn is_wanted(&self) -> bool {
        self.files.is_some() || self.is_shown()
    }

    fn is_shown(&self) -> bool {
        self.address.is_some() || self.display.is_machine_format()
    }

    /// The folder of the recordings, and how their names begin.
    pub(super) fn place(&self) -> Option<(&std::path::Path, &str)> {
        self.files.as_ref().map(|files| (files.names.directory.as_path(), &*files.names.stem))
    }

    /// Opens the outputs for the sources of these configurations; those that are open are closed,
    /// unless the sources are the same.
    pub(super) fn open(&mut self, polled: &[Polled]) -> anyhow::Result<()> {
        if !self.is_wanted() {
            return Ok(());
        }
        let configs: Vec<_> = polled.iter().map(|one| &one.config).collect();
        let sources = RoundSources::of(&configs, &|name| source::find(name).is_some());
        self.save_account();
        let account = self.place().map(|place| TargetAccount::open(place, &configs, &sources));
        let is_same = |open: &RoundRecorder| open.sources().definitions == sources.definitions;
        if self.open.as_ref().is_some_and(is_same) {
            self.open.iter_mut().for_each(|open| open.set_places(sources.clone()));
            self.account = account;
            return Ok(());
        }
        self.close();
        self.account = account;
        let (now, zone) = (SystemClock.now(), crate::zone::local());
        let meta = facts_of(&configs, &sources, (&crate::words::line_after(0), &zone), now);
        let counters = Arc::new(RecorderCounters::default());
        let definitions = sources.definitions.clone();
        let mut outputs = Outputs::new(Box::new(self.messages.clone()), zone.clone());
        if self.is_shown() {
            let mut options = self.display.options(selection_of(&sources))?;
            options.zone = calendar::CivilZone::new(zone.clone());
            let input = ViewInput::new(meta.clone(), options, definitions.clone());
            let setup =
                view::Setup { command_line: crate::words::line_after(1), ..view::Setup::of(zone) };
            let setting = Setting {
                sending: self.address.is_some(),
                full_host_name: crate::export::full_host_name(meta.host()),
                daemon: crate::export::caching_daemon(),
                ..Setting::default()
            };
            let view = self.display.open_view(&input.options, &setup, &setting)?;
            let Some(view) = view else { std::process::exit(0) };
            let shown = view::ShownSources::new(self.display.shows_values());
            let sink: Box<dyn Sink> = match &self.address {
                Some(address) => address.open()?,
                None => Box::new(DescriptorSink::new(rustix::stdio::stdout())),
            };
            outputs.live = Some(LiveText::open(view, shown, sink, counters.clone(), &input)?);
            outputs.view_input = Some(input);
        }
        if let Some(files) = self.files.clone() {
            outputs.open_files(files, &meta, definitions, &counters, now)?;
        }
        outputs.purge(now);
        self.open = Some(RoundRecorder::new(sources, outputs));
        Ok(())
    }

    /// Takes a round of a configuration.
    pub(super) fn add_round(
        &mut self,
        polled: &[Polled],
        config: usize,
        report: &RoundReport,
        made: (Moment, Moment),
        missed: u64,
    ) {
        if self.open.is_none() {
            // After an error it is tried again.
            self.reload(polled);
        }
        let taken = self.open.as_mut().map(|open| open.record_round(config, report, made, missed));
        if let Some(Err(error)) = taken {
            self.say(&error.into());
        }
        let now_ms = made.1.realtime_ns / 1_000_000;
        let kept = self.account.as_mut().map(|account| account.add_round(config, report, now_ms));
        if let Some(Err(error)) = kept {
            self.say(&error.into());
        }
    }

    /// The configurations have changed.
    pub(super) fn reload(&mut self, polled: &[Polled]) {
        if let Err(error) = self.open(polled) {
            self.say(&error);
        }
    }

    /// Writes buffered data.
    pub(super) fn flush(&mut self) {
        if let Some(Err(error)) = self.open.as_mut().map(|open| open.flush(SystemClock.now())) {
            self.say(&error.into());
        }
    }

    /// Ends all outputs.
    pub(super) fn close(&mut self) {
        if let Some(Err(error)) = self.open.take().map(|open| open.close(SystemClock.now())) {
            self.say(&error.into());
        }
        self.save_account();
    }

    fn save_account(&mut self) {
        let now_ms = SystemClock.now().realtime_ns / 1_000_000;
        if let Some(Err(error)) = self.account.take().map(|mut account| account.save(now_ms)) {
            self.say(&error.into());
        }
    }

    fn say(&self, error: &anyhow::Error) {
        self.messages.say(&format!("ERROR: {error:#}"));
    }
}
