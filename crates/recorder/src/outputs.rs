//! The destinations of samples: the recording, plot files, live text; with rolls, retention,
//! flushes and messages.
//!
//! The recording is written first, since the history takes the samples out of the snapshot.  A
//! write error does not end the recorder: it is reported and counted, and the next sample is tried.
//! Only the loss of the reader of live text ends it.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use procfs::Host;
use sample::{Meta, Moment, Snapshot, SourceDef};
use source::{RecorderCounters, SourceContext};
use text::error_text::with_causes;
use view::TooEarly;

use crate::RecorderError;
use crate::first_sample::FirstSampleCheck;
use crate::live::{LiveText, ViewInput};
use crate::messages::{MessageLog, Severity, local};
use crate::names::FileNames;
use crate::plot_output::ensure_directory;
use crate::plot_writer::PlotWriter;
use crate::recorder::Consumer;
use crate::recording_file::{RecordingFile, RecordingOptions, moment};
use crate::roll::{Keep, Roll};
use crate::rotation::Rotation;
use crate::schedule::Tick;
use crate::stream_output::StreamOutput;

/// The smallest step of the wall clock that is reported; time services make smaller ones.
const STEP_NS_REPORTED: u64 = 100_000_000;

/// The files of a recorder.
#[derive(Clone, Debug)]
pub struct FileSettings {
    /// Where they are, and how their names begin.
    pub names: FileNames,
    /// How to record; `None` if only other files are written.
    pub recording: Option<RecordingOptions>,
    /// When new ones are begun.
    pub roll: Option<Roll>,
    /// Which old ones are kept, instead of those of the days that `roll` says.
    pub keep: Option<Keep>,
}

/// What looks at the snapshots of a recorder.
pub type SnapshotObserver = Box<dyn FnMut(&Snapshot)>;

/// The destinations of samples.  The caller sets those that it wants.
pub struct Outputs {
    /// The recording.
    pub recording: Option<RecordingFile>,
    /// Plot files; need [`view_input`](Self::view_input).
    pub plots: Option<PlotWriter>,
    /// Text for a screen or a socket; needs [`view_input`](Self::view_input).
    pub live: Option<LiveText>,
    /// The stream of samples to another host.
    pub stream: Option<StreamOutput>,
    /// The input of plots and live text; `None` if there are neither.
    pub view_input: Option<ViewInput>,
    /// When files are rolled and deleted.
    pub rotation: Option<Rotation>,
    /// The check of the first sample, with which the log says `Starting`; `None` afterwards.
    pub first_sample: Option<FirstSampleCheck>,
    /// Sees each snapshot before anything else does; must not wait.
    pub observer: Option<SnapshotObserver>,
    /// The counters of the sources of processes.
    pub context: Option<Arc<SourceContext>>,
    messages: Box<dyn MessageLog>,
    zone: TimeZone,
    /// Whether the previous tick was late.
    was_late: bool,
}

impl Outputs {
    /// No outputs yet.  `zone` is the local time zone, for the names of files.
    #[must_use]
    pub fn new(messages: Box<dyn MessageLog>, zone: TimeZone) -> Self {
        Outputs {
            recording: None,
            plots: None,
            live: None,
            stream: None,
            view_input: None,
            rotation: None,
            first_sample: None,
            observer: None,
            context: None,
            messages,
            zone,
            was_late: false,
        }
    }

    /// Begins the recording, and the retention of all files; after the plot files, if there are any.
    ///
    /// # Errors
    /// The folder or the recording cannot be made.
    pub fn open_files(
        &mut self,
        settings: FileSettings,
        meta: &Meta,
        defs: Vec<Arc<SourceDef>>,
        counters: &Arc<RecorderCounters>,
        now: Moment,
    ) -> Result<(), RecorderError> {
        let names = (settings.names, self.zone.clone());
        if let Some(options) = settings.recording {
            ensure_directory(&names.0)?;
            let (meta, counters) = (meta.clone(), counters.clone());
            let recording =
                RecordingFile::create(names.clone(), meta, defs, options, counters, now)?;
            self.recording = Some(recording);
        }
        let (roll, keep) = (settings.roll, settings.keep);
        let roll = roll.map(|roll| if keep.is_some() { roll.without_days() } else { roll });
        let plots =
            self.plots.as_ref().map(|plots| plots.extensions().map(str::to_owned).collect());
        self.rotation = Some(Rotation::new(names, roll, keep, plots.unwrap_or_default(), now));
        Ok(())
    }

    /// Passes a message on.
    pub fn log(&self, now: Moment, severity: Severity, text: &str) {
        self.messages.log(now, severity, text);
    }

    /// Deletes old files, at the start.
    pub fn purge(&mut self, now: Moment) {
        let current = self.current();
        if let Some(rotation) = &mut self.rotation {
            rotation.purge(now, &current, &*self.messages);
        }
    }

    /// The sources of which live text showed nothing, because they were read once; with it, whether
    /// it showed nothing at all.
    #[must_use]
    pub fn too_early(&self) -> Option<(TooEarly, bool)> {
        let live = self.live.as_ref()?;
        let early = live.shown.too_early()?;
        let is_nothing = early.is_all || !live.has_sent();
        Some((early, is_nothing))
    }

    /// Ends all outputs.
    ///
    /// # Errors
    /// The first error; the other outputs are closed nevertheless.
    pub fn close(mut self, now: Moment) -> Result<(), RecorderError> {
        let mut closed = Ok(());
        let lost =
            self.context.as_ref().map_or(0, |context| context.shared.processes.exits_lost.get());
        if lost > 0 {
            let exits = if lost == 1 { "exit" } else { "exits" };
            let text = format!(
                "{lost} {exits} of processes or threads were lost: that they ended is all that is \
                 known"
            );
            self.messages.log(now, Severity::Warning, &text);
        }
        if let Some(live) = &mut self.live {
            match live.end() {
                Ok(notes) => {
                    for note in notes {
                        self.messages.log(now, Severity::Warning, &note);
                    }
                }
                Err(error) => closed = Err(RecorderError::Send(error)),
            }
        }
        if let Some(plots) = &mut self.plots {
            closed = closed.and(plots.output.end());
        }
        if let Some(recording) = self.recording.take() {
            closed = closed.and(recording.close());
        }
        closed
    }

    /// The files being written.
    fn current(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.recording.iter().map(RecordingFile::path).collect();
        if let Some(plots) = &self.plots {
            paths.extend(plots.output.paths().map(ToOwned::to_owned));
        }
        paths
    }

    /// Begins new files, and deletes old ones.
    fn roll(&mut self, now: Moment) {
        if let Some(recording) = &mut self.recording {
            recording.roll(now, &*self.messages);
        }
        if let (Some(plots), Some(input)) = (&mut self.plots, &self.view_input)
            && let Err(error) = plots.roll(local(now, &self.zone), input)
        {
            self.messages.log(now, Severity::Error, &with_causes(&error));
        }
        self.messages.log(now, Severity::Information, "Logs rolled");
        if let Some(rotation) = &mut self.rotation {
            rotation.plan(now);
        }
        self.purge(now);
    }

    /// Reports a step of the wall clock, and ticks that were missed.
    #[cold]
    fn report(&mut self, tick: &Tick, now: Moment) {
        if tick.step_ns.unsigned_abs() >= STEP_NS_REPORTED {
            let seconds = tick.step_ns as f64 / 1e9;
            let text = format!("the wall clock was set by {seconds:+.3} s");
            self.messages.log(now, Severity::Warning, &text);
            if let Some(rotation) = &mut self.rotation {
                rotation.stepped(now);
            }
        }
        if tick.missed > 0 && !self.was_late {
            let text = format!("{} ticks passed without a sample", tick.missed);
            self.messages.log(now, Severity::Information, &text);
        }
    }
}

impl Consumer for Outputs {
    fn consume(
        &mut self,
        tick: &Tick,
        snapshot: &mut Snapshot,
        host: &Host,
    ) -> Result<(), RecorderError> {
        let now = moment(snapshot);
        if tick.step_ns != 0 || tick.missed > 0 {
            self.report(tick, now);
        }
        self.was_late = tick.missed > 0;
        if let Some(first_sample) = self.first_sample.take() {
            // What ends from now on is in the first interval.
            self.messages.log(now, Severity::Information, "Starting");
            let sentences = first_sample.sentences(snapshot);
            for text in &sentences {
                self.messages.log(now, Severity::Warning, text);
            }
            if first_sample.has_nothing(snapshot) {
                self.recording.take().map_or(Ok(()), RecordingFile::discard)?;
                return Err(RecorderError::NothingReadable { is_told: !sentences.is_empty() });
            }
        }
        if let Some(observer) = &mut self.observer {
            observer(snapshot);
        }
        if let Some(rotation) = &self.rotation
            && rotation.is_due(now, self.recording.as_ref())
        {
            self.roll(now);
        }
        if let Some(recording) = &mut self.recording {
            recording.append(snapshot, host, &*self.messages);
        }
        if let Some(stream) = &mut self.stream {
            stream.write(snapshot).map_err(RecorderError::Send)?;
        }
        let Some(input) = &mut self.view_input else { return Ok(()) };
        let (plots, live) = (&self.plots, &self.live);
        input.push(snapshot, |source| {
            plots.is_some() || live.as_ref().is_some_and(|live| live.looks_at(source))
        });
        if let Some(plots) = &mut self.plots {
            plots.show(input, now, &*self.messages);
        }
        if let Some(live) = &mut self.live {
            live.show(input).map_err(RecorderError::Send)?;
        }
        Ok(())
    }

    /// Only recordings take it: a line of text or of a plot is for a whole interval.
    fn consume_last(&mut self, snapshot: &Snapshot, host: &Host) {
        if let Some(recording) = &mut self.recording {
            recording.append(snapshot, host, &*self.messages);
        }
        if let Some(stream) = &mut self.stream {
            // Whoever reads it has gone: the next tick says so.
            let _ = stream.write(snapshot);
        }
    }

    fn reopen(&mut self, now: Moment) -> Result<(), RecorderError> {
        self.roll(now);
        Ok(())
    }

    fn flush(&mut self, now: Moment) -> Result<(), RecorderError> {
        self.messages.log(now, Severity::Information, "Flushing in response to signal USR1");
        if let Some(recording) = &mut self.recording {
            recording.sync(now, &*self.messages);
        }
        if let Some(plots) = &mut self.plots
            && let Err(error) = plots.output.flush()
        {
            self.messages.log(now, Severity::Error, &format!("plot files: {error}"));
        }
        self.live.as_mut().map_or(Ok(()), LiveText::flush).map_err(RecorderError::Send)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::path::Path;
    use std::rc::Rc;

    use jiff::tz::TimeZone;
    use layout::Options;
    use recording::{ReadOutcome, Reader};
    use sample::{Clock, Meta, SourceDef};
    use source::{RecorderCounters, SharedState};
    use testkit::{Event, SimClock, allocations_of};
    use view::PlotFiles;

    use super::*;
    use crate::intervals::parse_intervals;
    use crate::names::FileNames;
    use crate::plot_output::{PlotOutput, PlotStyle};
    use crate::recorder::{Control, Recorder, RecorderSettings, Requests};
    use crate::recording_file::RecordingOptions;
    use crate::roll::Roll;

    struct Nobody;

    impl Control for Nobody {
        fn requests(&mut self) -> Requests {
            Requests::default()
        }
    }

    /// Messages, as lines with the hour and minute.
    #[derive(Clone, Default)]
    struct Lines(Rc<RefCell<Vec<String>>>);

    impl MessageLog for Lines {
        fn log(&self, now: Moment, _: Severity, text: &str) {
            let at = local(now, &TimeZone::UTC).strftime("%d %H:%M:%S");
            self.0.borrow_mut().push(format!("{at} {text}"));
        }
    }

    fn recorder(host: Host, letters: &str, intervals: &str, now: Moment) -> Recorder {
        let counters = Arc::new(RecorderCounters::default());
        let shared = SharedState { recorder: Some(counters), ..SharedState::default() };
        let context = SourceContext { shared, ..SourceContext::default() };
        let asked = |entry: &&source::Entry| entry.asked_by(&letters.into());
        let entries: Vec<&'static source::Entry> =
            source::ALL.iter().copied().filter(asked).collect();
        let intervals = parse_intervals(intervals, "1", (false, false), false).unwrap();
        let settings = RecorderSettings {
            intervals,
            align: false,
            budget_percent: None,
            seldom: None,
            at_ends: false,
            samples: None,
            duration_ns: None,
        };
        Recorder::open(host, &entries, &Arc::new(context), &settings, now)
    }

    fn outputs(recorder: &Recorder, directory: &Path, now: Moment, plots: bool) -> Outputs {
        let names = FileNames::new(directory, "h");
        let defs: Vec<Arc<SourceDef>> = recorder.sampler.defs();
        let counters = recorder.counters.clone();
        let mut outputs = Outputs::new(Box::new(Lines::default()), TimeZone::UTC);
        let recording = RecordingFile::create(
            (names.clone(), TimeZone::UTC),
            Meta::new(),
            defs.clone(),
            RecordingOptions::default(),
            counters.clone(),
            now,
        );
        outputs.recording = Some(recording.unwrap());
        if plots {
            let options = Options {
                layouts: layout::LayoutLookup(source::layouts_of),
                subsystems: "cdnm".into(),
                ..Options::default()
            };
            let input = ViewInput::new(Meta::new(), options, defs);
            let lines = PlotFiles::new(TimeZone::UTC);
            let at = local(now, &TimeZone::UTC);
            let output = PlotOutput::new(names, PlotStyle::of("z"), at);
            let command_line = "whit".to_owned();
            outputs.plots =
                Some(PlotWriter::new(lines, output, command_line, counters, u64::MAX, &input));
            outputs.view_input = Some(input);
        }
        outputs
    }

    #[test]
    fn a_sample_allocates_nothing_once_warm() {
        for plots in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let mut clock = procfs::SystemClock;
            let now = clock.now();
            let mut recorder = recorder(Host::new("/"), "cdnmw", "0", now);
            let mut outputs = outputs(&recorder, directory.path(), now, plots);
            recorder.stop_after.samples = Some(10);
            recorder.run(&mut clock, &mut Nobody, &mut outputs).unwrap();
            // Long enough to close several blocks.
            recorder.stop_after.samples = Some(1_500);
            let (done, allocations) =
                allocations_of(|| recorder.run(&mut clock, &mut Nobody, &mut outputs));
            done.unwrap();
            assert_eq!(allocations.count, 0, "with plot files: {plots}");
            outputs.close(now).unwrap();
        }
    }

    #[test]
    fn a_roll_at_midnight_splits_the_recording_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        // An old recording, and a file of another program.
        std::fs::write(directory.path().join("h-20251201-000000.whit"), "").unwrap();
        std::fs::write(directory.path().join("notes"), "").unwrap();
        let clock = SimClock::default();
        let start = clock.moment();
        // From 20:00 on; at 21:00 the machine is suspended for half an hour, which is 180 ticks.
        clock.advance(20 * 3_600_000_000_000);
        let now = clock.moment();
        clock.at(now.monotonic_ns + 3_600_000_000_000, Event::Suspend(1_800_000_000_000));
        let mut host = Host::in_memory();
        host.put("/proc/stat", Some(b"cpu  1 2 3 4\n"));
        let mut recorder = recorder(host, "c", "10", now);
        recorder.stop_after.samples = Some(2_160 - 180);
        let mut outputs = outputs(&recorder, directory.path(), now, false);
        let roll = Roll::parse("00:00,7").unwrap();
        let names = (FileNames::new(directory.path(), "h"), TimeZone::UTC);
        outputs.rotation = Some(Rotation::new(names, Some(roll), None, Vec::new(), now));
        let lines = Lines::default();
        outputs.messages = Box::new(lines.clone());
        outputs.purge(now);
        recorder.run(&mut clock.clone(), &mut Nobody, &mut outputs).unwrap();
        outputs.close(clock.moment()).unwrap();
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        let recordings = ["h-20260101-200000.whit", "h-20260102-000000.whit"];
        assert_eq!(names[..2], recordings);
        let (mut samples, mut missed) = (Vec::new(), 0);
        for name in recordings {
            let path = directory.path().join(name);
            let mut reader = Reader::open(&path, &recorder.sampler.defs()).unwrap();
            let mut snapshot = Snapshot::new(&reader.defs());
            while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
                samples.push(snapshot.realtime_ns);
                missed += snapshot.gap.ticks_missed;
            }
            assert!(reader.damage().is_none() && !reader.damage().not_closed, "{name}");
        }
        assert_eq!((samples.len(), missed), (1_980, 180));
        let midnight = start.realtime_ns + 24 * 3_600_000_000_000;
        assert!(samples.contains(&midnight), "the sample of midnight begins the second file");
        let log = lines.0.borrow().join("\n");
        assert!(log.contains("02 00:00:00 Logs rolled"), "{log}");
        assert!(log.contains("is old and was deleted"), "{log}");
        assert!(log.contains("ticks passed without a sample"), "{log}");
    }

    #[test]
    fn steps_of_the_clock_lose_no_sample_and_delete_nothing() {
        const HOUR: i64 = 3_600_000_000_000;
        for steps in [&[HOUR][..], &[-HOUR], &[-24 * HOUR], &[87_600 * HOUR, -87_600 * HOUR]] {
            let directory = tempfile::tempdir().unwrap();
            let clock = SimClock::default();
            let now = clock.moment();
            // An hour old by this clock.
            let old = directory.path().join("h-20251231-230000.whit");
            let written = std::time::UNIX_EPOCH
                + std::time::Duration::from_nanos((now.realtime_ns - HOUR).unsigned_abs());
            std::fs::File::create(&old).unwrap().set_modified(written).unwrap();
            for (at, step_ns) in (1..).zip(steps) {
                let at_ns = now.monotonic_ns + at * HOUR.unsigned_abs() + 5_000_000_000;
                clock.at(at_ns, Event::StepRealtime(*step_ns));
            }
            let mut host = Host::in_memory();
            host.put("/proc/stat", Some(b"cpu  1 2 3 4\n"));
            let mut recorder = recorder(host, "c", "10", now);
            recorder.stop_after.samples = Some(1_440);
            let mut outputs = outputs(&recorder, directory.path(), now, false);
            let names = (FileNames::new(directory.path(), "h"), TimeZone::UTC);
            let keep = Some(crate::roll::Keep::parse("2d").unwrap());
            let roll = Roll::parse("00:00,,60").unwrap().without_days();
            outputs.rotation = Some(Rotation::new(names, Some(roll), keep, Vec::new(), now));
            outputs.purge(now);
            recorder.run(&mut clock.clone(), &mut Nobody, &mut outputs).unwrap();
            outputs.close(clock.moment()).unwrap();
            assert!(old.exists(), "{steps:?}");
            let entries = std::fs::read_dir(directory.path()).unwrap().flatten();
            let paths = entries.map(|entry| entry.path()).filter(|path| *path != old);
            let mut times = Vec::new();
            for path in paths {
                let mut reader = Reader::open(&path, &recorder.sampler.defs()).unwrap();
                let mut snapshot = Snapshot::new(&reader.defs());
                while reader.next(&mut snapshot).unwrap() == ReadOutcome::Sample {
                    times.push(snapshot.monotonic_ns);
                }
                assert!(reader.damage().is_none() && !reader.damage().not_closed, "{path:?}");
            }
            times.sort_unstable();
            let is_even = times.windows(2).all(|two| two[1] - two[0] == 10_000_000_000);
            assert!(is_even && times.len() == 1_440, "{steps:?}: {}", times.len());
        }
    }
}
