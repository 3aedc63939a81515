//! All places that samples go to, and the housekeeping around them: rolls, retention, flushes,
//! messages.
//!
//! The recording comes first, since views swap the samples out of the snapshot.  Nothing here
//! ends the recorder but a reader of live text that went away: what cannot be written is told and
//! counted, and tried again.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use procfs::Host;
use sample::{Moment, Snapshot, SourceDef, State};
use source::{Limits, RecorderCounters};
use view::PlotFiles;

use super::file::{RecordingFile, moment};
use super::live::{Live, Shown};
use super::messages::{Messages, Severity, local};
use super::names::Place;
use super::plot::PlotOutput;
use super::roll::{Keep, Roll, purge};
use super::run::Sink;
use super::schedule::Tick;

/// A step of the wall clock that is worth a message; smaller ones are time services at work.
const STEP_NS_TOLD: u64 = 100_000_000;

/// A recording rolls when it is so small a part of what `--keep SIZE` keeps, so that there are
/// old files to take away.
const KEEP_PARTS: u64 = 8;

/// Every place that samples go to.
pub(crate) struct Sinks {
    pub(crate) recording: Option<RecordingFile>,
    pub(crate) plots: Option<Plots>,
    pub(crate) live: Option<Live>,
    /// What views look at; without views no history is kept.
    pub(crate) shown: Option<Shown>,
    pub(crate) files: Option<Files>,
    pub(crate) messages: Messages,
    /// What the first sample is looked through for; `None` afterwards.
    pub(crate) first_look: Option<FirstLook>,
    /// What the sources count about processes.
    pub(crate) limits: Option<Arc<Limits>>,
    was_late: bool,
}

/// Says at the first sample which sources have nothing to read, so that nobody waits for them.
pub(crate) struct FirstLook {
    /// The sources of the snapshot.
    pub(crate) defs: Vec<&'static SourceDef>,
    /// The letters asked for by name; without them a source that is not on this machine is no
    /// surprise, but one that may not be read still is.
    pub(crate) letters: String,
    /// What the sources about processes have found.
    pub(crate) limits: Arc<Limits>,
}

/// The source whose rows are processes, and the one whose rows are their ends.
const PROCESSES: &str = "process";
const ENDS: &str = "exit";

impl FirstLook {
    fn at(&self, snapshot: &Snapshot) -> Vec<String> {
        let mut texts = Vec::new();
        let ways = self.ways(snapshot);
        for (def, sample) in self.defs.iter().zip(&snapshot.samples) {
            if def.name == ENDS && ways.is_some() {
                continue;
            }
            let what = match sample.state {
                State::Absent if def.asked_by(&self.letters) => "this machine has none",
                State::Denied => "it may not be read by this user",
                State::Failed(_) => "it cannot be read",
                _ => continue,
            };
            let why = self.limits.refusals.of(def.name);
            let what = why.as_deref().unwrap_or(what);
            texts.push(format!("-s {}: {}: {what}; see whit doctor", def.letters, def.name));
        }
        texts.extend(ways);
        texts
    }

    /// Says that processes are not read as they could be for lack of a right, which the user may
    /// mend; a reason that names no capability is the machine's own and stands in `whit doctor`.
    fn ways(&self, snapshot: &Snapshot) -> Option<String> {
        let reason = self.limits.processes.way_reason();
        let sample = |name| {
            let index = self.defs.iter().position(|def| def.name == name)?;
            Some(&snapshot.samples[index])
        };
        let processes = sample(PROCESSES)?;
        if processes.state != State::Ok || !reason.contains("CAP_") {
            return None;
        }
        let no_ends = sample(ENDS).is_some_and(|sample| sample.state == State::Absent);
        let ends = if no_ends { ", their ends are not told" } else { "" };
        Some(format!("-s Z: processes are read from /proc{ends}: {reason}; see whit doctor"))
    }
}

/// Plot files and their lines.
pub(crate) struct Plots {
    pub(crate) lines: PlotFiles,
    pub(crate) output: PlotOutput,
    pub(crate) command_line: String,
    pub(crate) counters: Arc<RecorderCounters>,
    /// How long lines may wait in the compressor.
    pub(crate) flush_ns: u64,
    flushed_ns: u64,
    is_broken: bool,
}

impl Plots {
    /// The lines of `shown` in the files of `output`.
    pub(crate) fn open(
        mut lines: PlotFiles,
        output: PlotOutput,
        command_line: String,
        counters: Arc<RecorderCounters>,
        flush_ns: u64,
        shown: &Shown,
    ) -> Self {
        lines.begin(&shown.meta, &shown.defs, &shown.options, &command_line);
        Plots { lines, output, command_line, counters, flush_ns, flushed_ns: 0, is_broken: false }
    }

    fn show(&mut self, shown: &Shown, now: Moment) -> std::io::Result<()> {
        let frame = shown.history.frame(&shown.meta, &shown.options);
        let output = &mut self.output;
        self.lines.frame(&frame, &mut |extension, text| output.add(extension, text))?;
        if now.monotonic_ns.saturating_sub(self.flushed_ns) >= self.flush_ns {
            self.flushed_ns = now.monotonic_ns;
            self.output.flush()?;
        }
        self.counters.calls.add(std::mem::take(&mut self.output.calls));
        self.counters.written_bytes.add(std::mem::take(&mut self.output.written_bytes));
        Ok(())
    }
}

/// When files are rolled and which are kept.
pub(crate) struct Files {
    place: Place,
    roll: Option<Roll>,
    keep: Option<Keep>,
    /// The extensions of our plot files.
    plots: Vec<&'static str>,
    /// Since the epoch; `i64::MAX` for never.
    next_roll_ns: i64,
}

impl Files {
    /// The housekeeping at `place`, from `now` on.
    pub(crate) fn new(
        place: Place,
        roll: Option<Roll>,
        keep: Option<Keep>,
        plots: Vec<&'static str>,
        (now, messages): (Moment, &Messages),
    ) -> Self {
        // Something must become old before it can be taken away.
        let roll = roll.or_else(|| keep.map(|_| Roll::daily()));
        let mut files = Files { place, roll, keep, plots, next_roll_ns: i64::MAX };
        files.plan(now, messages);
        files
    }

    /// Works out the next roll.
    fn plan(&mut self, now: Moment, messages: &Messages) {
        let Some(roll) = &self.roll else { return };
        let at = Timestamp::from_nanosecond(now.realtime_ns.into()).unwrap_or_default();
        let next = roll.next(at, &messages.zone).as_nanosecond();
        self.next_roll_ns = i64::try_from(next).unwrap_or(i64::MAX);
    }

    /// Whether the recording has become too large a part of what is kept.
    fn is_full(&self, recording: Option<&RecordingFile>) -> bool {
        match (self.keep, recording) {
            (Some(Keep::Bytes(bytes)), Some(recording)) => recording.bytes() >= bytes / KEEP_PARTS,
            _ => false,
        }
    }

    /// Takes old files away, and tells of it.
    fn purge(&self, now: Moment, current: &[PathBuf], messages: &Messages) {
        let at = local(now, &messages.zone);
        let gone = purge(&self.place, self.roll.as_ref(), self.keep, &self.plots, &at, current);
        for (path, done) in gone {
            match done {
                Ok(()) => {
                    let text = format!("{} is old and was taken away", path.display());
                    messages.say(now, Severity::Information, &text);
                }
                Err(error) => {
                    let text = format!("cannot take away {}: {error}", path.display());
                    messages.say(now, Severity::Warning, &text);
                }
            }
        }
    }
}

impl Sinks {
    /// Nowhere yet.
    pub(crate) fn new(messages: Messages) -> Self {
        Sinks {
            recording: None,
            plots: None,
            live: None,
            shown: None,
            files: None,
            messages,
            first_look: None,
            limits: None,
            was_late: false,
        }
    }

    /// Takes away old files, at the start.
    pub(crate) fn purge(&self, now: Moment) {
        if let Some(files) = &self.files {
            files.purge(now, &self.current(), &self.messages);
        }
    }

    /// Ends everything well.
    ///
    /// # Errors
    /// The first one met; the rest is ended all the same.
    pub(crate) fn close(mut self, now: Moment) -> anyhow::Result<()> {
        let mut closed = Ok(());
        let ends_lost = self.limits.as_ref().map_or(0, |limits| limits.processes.exits_lost.get());
        if ends_lost > 0 {
            self.messages.say(
                now,
                Severity::Warning,
                &crate::display::processes::ends_lost(ends_lost),
            );
        }
        if let Some(live) = &mut self.live {
            match live.end() {
                Ok(notes) => {
                    for note in notes {
                        self.messages.say(now, Severity::Warning, &note);
                    }
                }
                Err(error) => closed = Err(error.into()),
            }
        }
        if let Some(plots) = &mut self.plots {
            closed = closed.and(plots.output.end().map_err(Into::into));
        }
        if let Some(recording) = self.recording.take() {
            closed = closed.and(recording.close());
        }
        closed
    }

    fn current(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.recording.iter().map(RecordingFile::path).collect();
        if let Some(plots) = &self.plots {
            paths.extend(plots.output.paths().map(ToOwned::to_owned));
        }
        paths
    }

    /// Begins new files, and takes old ones away.
    fn roll(&mut self, now: Moment) {
        if let Some(recording) = &mut self.recording {
            recording.roll(now, &self.messages);
        }
        if let (Some(plots), Some(shown)) = (&mut self.plots, &self.shown) {
            if let Err(error) = plots.output.roll(local(now, &self.messages.zone)) {
                self.messages.say(now, Severity::Error, &format!("plot files: {error}"));
            }
            plots.lines.begin(&shown.meta, &shown.defs, &shown.options, &plots.command_line);
        }
        self.messages.say(now, Severity::Information, "Logs rolled");
        if let Some(files) = &mut self.files {
            files.plan(now, &self.messages);
        }
        self.purge(now);
    }

    /// What is unusual about a tick.
    #[cold]
    fn tell(&mut self, tick: &Tick, now: Moment) {
        if tick.step_ns.unsigned_abs() >= STEP_NS_TOLD {
            let seconds = tick.step_ns as f64 / 1e9;
            let text = format!("the wall clock was set by {seconds:+.3} s");
            self.messages.say(now, Severity::Warning, &text);
            if let Some(files) = &mut self.files {
                files.plan(now, &self.messages);
            }
        }
        if tick.missed > 0 && !self.was_late {
            let text = format!("{} ticks passed without a sample", tick.missed);
            self.messages.say(now, Severity::Information, &text);
        }
    }
}

impl Sink for Sinks {
    fn take(&mut self, tick: &Tick, snapshot: &mut Snapshot, host: &Host) -> anyhow::Result<()> {
        let now = moment(snapshot);
        if tick.step_ns != 0 || tick.missed > 0 {
            self.tell(tick, now);
        }
        self.was_late = tick.missed > 0;
        if let Some(first_look) = self.first_look.take() {
            for text in first_look.at(snapshot) {
                self.messages.say(now, Severity::Warning, &text);
            }
        }
        if let Some(files) = &self.files
            && (now.realtime_ns >= files.next_roll_ns || files.is_full(self.recording.as_ref()))
        {
            self.roll(now);
        }
        if let Some(recording) = &mut self.recording {
            recording.append(snapshot, host, &self.messages);
        }
        let Some(shown) = &mut self.shown else { return Ok(()) };
        shown.names.apply(snapshot, &shown.defs);
        shown.history.push(snapshot);
        if let Some(plots) = &mut self.plots {
            let written = plots.show(shown, now);
            // Told once, not at every interval.
            if let Err(error) = &written
                && !plots.is_broken
            {
                self.messages.say(now, Severity::Error, &format!("plot files: {error}"));
            }
            plots.is_broken = written.is_err();
        }
        if let Some(live) = &mut self.live {
            live.show(shown)?;
        }
        Ok(())
    }

    /// Only recordings: a line of text or of a plot stands for a whole interval.
    fn take_last(&mut self, snapshot: &Snapshot, host: &Host) {
        if let Some(recording) = &mut self.recording {
            recording.append(snapshot, host, &self.messages);
        }
    }

    fn reopen(&mut self, now: Moment) -> anyhow::Result<()> {
        self.roll(now);
        Ok(())
    }

    fn flush(&mut self, now: Moment) -> anyhow::Result<()> {
        self.messages.say(now, Severity::Information, "Flushing in response to signal USR1");
        if let Some(recording) = &mut self.recording {
            recording.sync(now, &self.messages);
        }
        if let Some(plots) = &mut self.plots
            && let Err(error) = plots.output.flush()
        {
            self.messages.say(now, Severity::Error, &format!("plot files: {error}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::tz::TimeZone;
    use recording::{Next, Reader};
    use sample::{Clock, Meta, Options, SourceDef};
    use source::Sampler;
    use testkit::{Event, SimClock, allocations_of};

    use super::super::file::RecordingOptions;
    use super::super::intervals::parse_intervals;
    use super::super::plot::{PlotOutput, PlotStyle};
    use super::super::run::{Control, Recorder, Requests, Until};
    use super::super::schedule::Schedule;
    use super::*;

    struct Nobody;

    impl Control for Nobody {
        fn take(&mut self) -> Requests {
            Requests::default()
        }
    }

    fn messages(directory: &Path) -> Messages {
        Messages {
            logged: true,
            quiet: true,
            daemon: true,
            place: Some(Place::new(directory, "h")),
            zone: TimeZone::UTC,
        }
    }

    fn recorder(mut host: Host, letters: &str, intervals: &str, now: Moment) -> Recorder {
        let counters = Arc::new(RecorderCounters::default());
        let limits = Limits { recorder: Some(counters.clone()), ..Limits::default() };
        let asked = |entry: &&source::Entry| entry.def.asked_by(letters);
        let entries: Vec<&'static source::Entry> = source::ALL.iter().filter(asked).collect();
        let sampler = Sampler::open(&mut host, &entries, &Arc::new(limits));
        let intervals = parse_intervals(intervals, "1", (false, false), false).unwrap();
        Recorder {
            snapshot: Snapshot::new(&sampler.defs()),
            host,
            sampler,
            schedule: Schedule::start(intervals, false, false, now),
            interval_ns: intervals.first_ns,
            budget: None,
            seldom: None,
            counters,
            until: Until::default(),
        }
    }

    fn sinks(recorder: &Recorder, directory: &Path, now: Moment, plots: bool) -> Sinks {
        let messages = messages(directory);
        let place = Place::new(directory, "h");
        let defs: Vec<&'static SourceDef> = recorder.sampler.defs();
        let wanted = RecordingOptions { keeps_text: false, sync_ns: None, beside_others: false };
        let counters = recorder.counters.clone();
        let mut sinks = Sinks::new(messages);
        let recording = RecordingFile::create(
            place.clone(),
            Meta::new(),
            defs.clone(),
            &wanted,
            counters.clone(),
            (now, &sinks.messages),
        );
        sinks.recording = Some(recording.unwrap());
        if plots {
            let options = Options { subsystems: "cdnm".into(), ..Options::default() };
            let shown = Shown::new(Meta::new(), options, defs);
            let lines = PlotFiles::new(TimeZone::UTC);
            let at = local(now, &TimeZone::UTC);
            let output = PlotOutput::new(place, PlotStyle::of("z"), at);
            let command_line = "whit".to_owned();
            sinks.plots =
                Some(Plots::open(lines, output, command_line, counters, u64::MAX, &shown));
            sinks.shown = Some(shown);
        }
        sinks
    }

    #[test]
    fn a_sample_allocates_nothing_once_warm() {
        for plots in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            let mut clock = procfs::SystemClock;
            let now = clock.now();
            let mut recorder = recorder(Host::new("/"), "cdnmw", "0", now);
            let mut sinks = sinks(&recorder, directory.path(), now, plots);
            recorder.until.samples = Some(10);
            recorder.run(&mut clock, &mut Nobody, &mut sinks).unwrap();
            // Long enough for blocks to be closed and begun.
            recorder.until.samples = Some(1_500);
            let (done, allocations) =
                allocations_of(|| recorder.run(&mut clock, &mut Nobody, &mut sinks));
            done.unwrap();
            assert_eq!(allocations.count, 0, "with plot files: {plots}");
            sinks.close(now).unwrap();
        }
    }

    #[test]
    fn a_roll_at_midnight_splits_the_recording_and_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        // A recording of a day long past, and a file that is not ours.
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
        recorder.until.samples = Some(2_160 - 180);
        let mut sinks = sinks(&recorder, directory.path(), now, false);
        let roll = Roll::parse("00:00,7").unwrap();
        let place = Place::new(directory.path(), "h");
        let told = (now, &sinks.messages);
        sinks.files = Some(Files::new(place, Some(roll), None, Vec::new(), told));
        sinks.purge(now);
        recorder.run(&mut clock.clone(), &mut Nobody, &mut sinks).unwrap();
        sinks.close(clock.moment()).unwrap();
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
            while reader.next(&mut snapshot).unwrap() == Next::Sample {
                samples.push(snapshot.realtime_ns);
                missed += snapshot.gap.ticks_missed;
            }
            assert!(reader.damage().is_none() && !reader.damage().not_closed, "{name}");
        }
        assert_eq!((samples.len(), missed), (1_980, 180));
        let midnight = start.realtime_ns + 24 * 3_600_000_000_000;
        assert!(samples.contains(&midnight), "the sample of midnight begins the second file");
        let log = std::fs::read_to_string(directory.path().join("h-whit-202601.log")).unwrap();
        assert!(log.contains("20260102 00:00:00 I-Logs rolled"), "{log}");
        assert!(log.contains("is old and was taken away"), "{log}");
        assert!(log.contains("ticks passed without a sample"), "{log}");
    }

    #[test]
    fn a_right_that_is_missing_is_told_once_and_nothing_else() {
        let defs: Vec<&'static SourceDef> =
            ["exit", "process"].map(|name| source::find(name).unwrap().def).to_vec();
        let mut snapshot = Snapshot::new(&defs);
        snapshot.samples[0].state = State::Absent;
        snapshot.samples[1].state = State::Ok;
        let told = |reason: &str, snapshot: &Snapshot| {
            let limits = Arc::new(Limits::default());
            limits.processes.set_way_reason(reason);
            FirstLook { defs: defs.clone(), letters: "Z".into(), limits }.at(snapshot)
        };
        let texts = told("not allowed (CAP_BPF is needed)", &snapshot);
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].contains("ends are not told: not allowed (CAP_BPF"), "{texts:?}");
        let texts = told("no BTF of this kernel", &snapshot);
        assert!(texts.len() == 1 && texts[0].contains("exit: this machine has none"), "{texts:?}");
        snapshot.samples[0].state = State::Ok;
        assert_eq!(told("", &snapshot), Vec::<String>::new());
    }
}
