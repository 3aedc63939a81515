//! `--step`: a row for each step on the wall clock, from the archive.
//!
//! A step is shown as the frame of one long interval: the views compute their columns from means, as
//! they do from a sample.

use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use archive::{Recordings, StepsQuery, WallSteps, step_source};
use feed::{Origin, RecordedFile, RecordingSet, TimeSelection};
use layout::{Frame, Options, Selection};
use sample::{History, SourceDef};
use source::InstanceNames;
use view::{ShownSources, ViewClass};

use super::arguments::PlayArguments;
use super::frames::{FrameConsumer, Outcome, PlayedSet};
use super::notes::Presence;

/// Why processes are left out, and what shows them.
const PROCESSES: &str = "--step: processes come and go, so they have no rows: leave Z out of -s; \
                         --heaviest says which were the heaviest of a period";

/// Plays the steps of all recordings to a consumer.
pub(super) fn play(
    sets: &[RecordingSet<'_>],
    recordings: &[RecordedFile],
    period: &TimeSelection,
    arguments: &PlayArguments,
    consumer: &mut dyn FrameConsumer,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let archive = archive_of(recordings, &arguments.files)?;
    let hosts = archive.hosts();
    let known: Vec<Arc<SourceDef>> = hosts.iter().flat_map(|host| archive.sources(host)).collect();
    let shown = ShownSources::new(arguments.display.shows_values());
    let (presence, mut outcome): (_, Outcome) = Default::default();
    outcome.notes.extend(archive.complaints().into_iter().map(str::to_owned));
    let mut player = StepPlayer { arguments, archive: &archive, known, presence, shown, outcome };
    for host in hosts {
        let is_of_host = |recording: &&RecordedFile| recording.meta.host() == host;
        let of_host = recordings.iter().filter(is_of_host).collect();
        let sets = sets.iter().filter(|set| set.recordings[0].meta.host() == host);
        let set = player.set_of(sets, of_host)?;
        if !set.selection.is_empty() && !player.play(&set, period, consumer, out)? {
            break;
        }
    }
    let StepPlayer { presence, shown, mut outcome, .. } = player;
    if !arguments.display.shows_states() {
        let (sentence, nothing) = presence.sentence();
        outcome.notes.extend(sentence);
        outcome.failed |= nothing;
    }
    outcome.too_early = shown.too_early();
    outcome.notes.extend(consumer.end(out)?);
    Ok(outcome)
}

/// The archive of recordings that were found, and of the databases in folders.
pub(super) fn archive_of(
    recordings: &[RecordedFile],
    folders: &[std::path::PathBuf],
) -> anyhow::Result<Recordings> {
    let paths: Vec<_> = recordings.iter().map(|recording| recording.path.clone()).collect();
    let now = jiff::Timestamp::now().to_zoned(crate::zone::local());
    let mut archive = Recordings::open(&paths, &now)?;
    archive.add_databases(folders, &now)?;
    Ok(archive)
}

/// State that is kept from one host to the next.
struct StepPlayer<'a> {
    arguments: &'a PlayArguments,
    archive: &'a Recordings,
    /// The sources of all hosts.
    known: Vec<Arc<SourceDef>>,
    presence: Presence,
    shown: ShownSources,
    outcome: Outcome,
}

impl StepPlayer<'_> {
    /// All recordings of a host as one set, without processes.
    fn set_of<'b>(
        &mut self,
        sets: impl Iterator<Item = &'b RecordingSet<'b>>,
        recordings: Vec<&'b RecordedFile>,
    ) -> anyhow::Result<RecordingSet<'b>> {
        let (mut asked, mut selection) = (Selection::default(), Selection::default());
        for set in sets {
            asked.add(&set.asked);
            selection.add(&set.selection);
        }
        let mut has_processes = false;
        for entry in source::ALL.iter().filter(|entry| is_process(&entry.def())) {
            has_processes |= selection.remove_source(&entry.def());
        }
        // --fields chooses sources itself.
        if has_processes && self.arguments.display.formats.fields.is_empty() {
            let is_named = self.arguments.display.subsystems.is_some();
            ensure!(!is_named && !selection.is_empty(), PROCESSES);
            self.outcome.notes.push(PROCESSES.to_owned());
            self.outcome.notes.dedup();
        }
        Ok(RecordingSet { recordings, asked, selection })
    }

    /// The sources of a host that are needed.
    fn sources(&self, host: &str, options: &Options) -> anyhow::Result<Vec<Arc<SourceDef>>> {
        let mut sources = self.archive.sources(host);
        sources.retain(|def| !is_process(def));
        let chosen = match options.fields.is_empty() {
            true => {
                let read = self.arguments.display.sources.read_with(&options.subsystems);
                sources.iter().map(|def| read.asks_for(def)).collect()
            }
            false => view::chosen_sources(options, &sources)?,
        };
        let shown = sources.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
        let beside = shown.filter_map(|(def, _)| source::find(&def.name));
        let beside: Vec<&str> = match options.fields.is_empty() && !self.shows_values() {
            true => beside.flat_map(|entry| entry.beside).copied().collect(),
            false => Vec::new(),
        };
        let mut chosen = chosen.iter();
        sources.retain(|def| chosen.next() == Some(&true) || beside.contains(&&*def.name));
        Ok(sources)
    }

    /// Whether the format has a place of its own for the number of readings.
    fn shows_values(&self) -> bool {
        self.arguments.spread || self.arguments.display.shows_values()
    }

    /// Plays a host.  False when the consumer has seen enough.
    fn play(
        &mut self,
        set: &RecordingSet<'_>,
        period: &TimeSelection,
        consumer: &mut dyn FrameConsumer,
        out: &mut dyn Write,
    ) -> anyhow::Result<bool> {
        let (first, offset_ns) = (set.recordings[0], self.arguments.offset_ns);
        let (host, zone) = (first.meta.host(), &first.zone);
        let mut options = self.arguments.options_for(set)?;
        options.zone = calendar::CivilZone::new(zone.clone());
        options.spread = self.arguments.spread;
        options.sources_played = match options.fields.is_empty() {
            true => Vec::new(),
            false => self.known.clone(),
        };
        let mut defs = self.sources(host, &options)?;
        if !self.shows_values() {
            let readings = step_source();
            options.subsystems.push_name(&readings.name);
            defs.push(readings);
        }
        let length_ns = self.arguments.step.unwrap_or_default();
        let steps = WallSteps::new(length_ns, zone.clone(), offset_ns).context("--step")?;
        let recordings = &set.recordings;
        let played =
            PlayedSet { meta: &first.meta, defs: &defs, options: &options, zone, recordings };
        consumer.begin(&played, out)?;
        let settings = self.arguments.settings(&options)?;
        let mut names = InstanceNames::of(&settings.names, first.origin == Origin::Collectl);
        let wanted = view::chosen_values(&options, &defs, !names.is_empty())?;
        let mut history = History::new(&defs);
        let (with_empty, mut goes_on) = (self.arguments.empty_steps, true);
        for (from_ns, thru_ns) in self.archive.periods(host, period)? {
            let (sources, wanted, steps) = (&*defs, &*wanted, &steps);
            let query = StepsQuery { host, sources, wanted, from_ns, thru_ns, steps, with_empty };
            self.archive.steps(&query, &mut |step| {
                for snapshot in [&mut step.base, &mut step.current] {
                    snapshot.realtime_ns = snapshot.realtime_ns.saturating_add(offset_ns);
                    names.apply(snapshot, &defs);
                    history.push(snapshot);
                }
                let frame = Frame::new(&history, &first.meta, &options);
                let frame = Frame { steps: Some(&step.sources), ..frame };
                self.outcome.frames += 1;
                self.presence.note(&frame);
                self.shown.note(&frame);
                goes_on = consumer.frame(&frame, out)?;
                anyhow::Ok(goes_on)
            })?;
            if !goes_on {
                break;
            }
        }
        Ok(goes_on)
    }
}

/// Whether the instances of a source are processes, or what became of them.
fn is_process(def: &SourceDef) -> bool {
    source::layouts_of(&def.name).iter().any(|layout| layout.account.is_some())
}

/// Refuses what shows samples, and not their means.
pub(super) fn check(arguments: &PlayArguments) -> anyhow::Result<()> {
    if arguments.step.is_none() {
        return Ok(());
    }
    let display = &arguments.display;
    if let Some((name, _)) = display.formats.export() {
        bail!("--step: --export {name} needs the samples themselves");
    }
    if let Some(view) = display.formats.view.filter(|view| view.table.is_none()) {
        let tables = crate::display::switches(" and", |entry| entry.table.is_some());
        bail!("--step: --{} needs the samples themselves; {tables} have steps", view.name);
    }
    ensure!(!display.lists.is_set(), "--step has no --top and --by: --heaviest has them");
    ensure!(!display.exact, "--exact prints collectl's digits of each sample, and --step means");
    let letters = display.letters.as_deref().unwrap_or_default();
    if arguments.spread {
        let is_table = display.formats.view.is_none_or(|view| view.class == ViewClass::Values);
        let lines = display.plot || display.verbose || display.full;
        ensure!(
            is_table && !lines,
            "--spread makes a table of its own, with {} if you like: the columns of others are \
             made of several fields, which are not smallest at the same time",
            crate::display::switches(" or", |entry| entry.table.is_some())
        );
        ensure!(!letters.contains('n'), "--spread: -on shows changes, which have no spread");
    }
    Ok(())
}
