//! Plays recordings one after the other.  If a recording continues the previous one, its first
//! sample has rates.

use std::sync::Arc;

use layout::{Frame, Options, SourceValues};
use sample::{History, Snapshot, SourceDef};
use source::{Entry, InstanceNames};

use crate::{
    CollectlFeed, CollectlSettings, Complaint, Feed, FeedError, ImportedFeed, Origin, Position,
    RecordedFile, TimeRange, TimeSelection, WhitFeed,
};

/// How a set of recordings is played.
#[derive(Clone, Default)]
pub struct PlaySettings {
    /// The selected period.
    pub selection: TimeSelection,
    /// Nanoseconds to add to their wall-clock times.
    pub shift_ns: i64,
    /// Whether to wait for more at the end of the last one, as long as it is being written.
    pub follow: bool,
    /// The sources that read collectl's text.
    pub entries: Vec<&'static Entry>,
    /// Of recordings of whit, the sources that are decoded, or none for all.
    pub sources: Vec<&'static str>,
    /// Settings for collectl's text.
    pub collectl: CollectlSettings,
    /// The options of sources, of which some give instances other names.
    pub names: SourceValues,
}

/// A step of a [`Playback`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A recording begins.
    Recording {
        /// Whether it has the same sources, with the same fields, as the previous one of this set.
        same_sources: bool,
    },
    /// A sample with a previous one: [`Playback::frame`] returns it.
    Frame,
    /// The end of the set.
    End,
}

/// Plays sets of recordings, one after the other.
#[derive(Default)]
pub struct Playback<'a> {
    recordings: &'a [&'a RecordedFile],
    settings: PlaySettings,
    /// The number of recordings begun.
    begun: usize,
    /// The sources of the latest one of this set.
    shown: Option<Vec<Arc<SourceDef>>>,
    playing: Option<Playing>,
    history: Option<(Vec<Arc<SourceDef>>, History)>,
    end: Option<Position>,
    /// The recording that ended there.
    ended: Option<&'a RecordedFile>,
    complaints: Vec<Complaint>,
}

/// The recording that is being played.
struct Playing {
    feed: Box<dyn Feed>,
    defs: Vec<Arc<SourceDef>>,
    range: TimeRange,
    names: InstanceNames,
    snapshot: Snapshot,
    /// Samples up to this time, on the monotonic clock, were shown already, of another recorder.
    shown_until_ns: Option<u64>,
    left_out: u64,
}

impl<'a> Playback<'a> {
    /// Begins with a set of recordings, in time order.
    pub fn begin(&mut self, recordings: &'a [&'a RecordedFile], settings: PlaySettings) {
        self.recordings = recordings;
        self.settings = settings;
        self.begun = 0;
        self.shown = None;
        self.playing = None;
    }

    /// Makes one step.
    ///
    /// # Errors
    /// A recording cannot be read.
    pub fn step(&mut self) -> Result<Step, FeedError> {
        loop {
            if self.playing.is_none() {
                return self.open_next();
            }
            if self.read_frame()? {
                return Ok(Step::Frame);
            }
            if let Some(playing) = self.playing.take() {
                self.finish(&playing);
            }
        }
    }

    /// The recording that is being played, and those of the set that follow it.
    #[must_use]
    pub fn recordings(&self) -> &'a [&'a RecordedFile] {
        &self.recordings[self.begun.saturating_sub(1)..]
    }

    /// The sources that are played, in the order of the samples.
    #[must_use]
    pub fn defs(&self) -> &[Arc<SourceDef>] {
        self.playing.as_ref().map_or(&[], |playing| &playing.defs)
    }

    /// The latest sample and the one before it; nothing before the first [`Step::Frame`].
    #[must_use]
    pub fn frame<'b>(&'b self, options: &'b Options) -> Option<Frame<'b>> {
        let (_, history) = self.history.as_ref()?;
        Some(Frame::new(history, &self.recordings().first()?.meta, options))
    }

    /// The problems of the recordings played so far.
    #[must_use]
    pub fn complaints(&self) -> &[Complaint] {
        &self.complaints
    }

    /// Notes where a recording ended, and what is to be said of it.
    fn finish(&mut self, playing: &Playing) {
        self.complaints.extend(playing.feed.complaint());
        let recording = self.recordings.get(self.begun.saturating_sub(1)).copied();
        if let (Some(_), Some(recording), Some(ended)) =
            (playing.shown_until_ns, recording, self.ended)
        {
            let (name, ended) = (recording.path.display(), ended.path.display());
            let count = playing.left_out;
            let text = format!(
                "{name}: {count} samples are left out, since {ended} has the same time, from \
                 another recorder; play the file alone to see them"
            );
            self.complaints.push(Complaint { text, is_error: false });
        }
        let end = playing.feed.position();
        // One within another does not end what is shown.
        let is_within = playing.shown_until_ns.is_some_and(|until| end.monotonic_ns <= until);
        if !is_within {
            self.end = Some(end);
            self.ended = recording;
        }
    }

    /// Whether a recording that begins follows the files of the one that ended: of the same folder,
    /// prefix and machine.
    fn follows_files(&self, recording: &RecordedFile) -> bool {
        let files = |recording: &RecordedFile| {
            let (folder, prefix, host, _) = recording.prefix();
            (folder, prefix, host)
        };
        self.ended.is_some_and(|ended| files(ended) == files(recording))
    }

    /// Opens the next recording of the set that has a part in the period.
    fn open_next(&mut self) -> Result<Step, FeedError> {
        loop {
            let Some(recording) = self.recordings.get(self.begun) else { return Ok(Step::End) };
            let next = self.recordings.get(self.begun + 1);
            self.begun += 1;
            let range = recording.range(&self.settings.selection)?;
            // Skip a recording if the next one begins before the period.
            if next.is_some_and(|next| next.started_ns <= range.base_ns) {
                continue;
            }
            let follow = self.settings.follow && next.is_none();
            let mut feed = self.open(recording, range.base_ns, follow)?;
            let defs = feed.defs();
            let shown_until_ns = self.take_over(&defs, feed.as_mut(), recording)?;
            let same_sources = self.shown.as_ref() == Some(&defs);
            self.shown = Some(defs.clone());
            let is_collectls = recording.origin == Origin::Collectl;
            let names = InstanceNames::of(&self.settings.names, is_collectls);
            let snapshot = Snapshot::new(&defs);
            let left_out = 0;
            self.playing =
                Some(Playing { feed, defs, range, names, snapshot, shown_until_ns, left_out });
            return Ok(Step::Recording { same_sources });
        }
    }

    fn open(
        &self,
        recording: &RecordedFile,
        base_ns: i64,
        follow: bool,
    ) -> Result<Box<dyn Feed>, FeedError> {
        let PlaySettings { entries, collectl, .. } = &self.settings;
        Ok(match recording.origin {
            Origin::Collectl => {
                let mut feed = CollectlFeed::open(&recording.path, entries, collectl)?;
                if follow {
                    feed.follow()?;
                }
                Box::new(feed)
            }
            Origin::Atop | Origin::Sadc => {
                Box::new(ImportedFeed::open(&recording.path, recording.origin, entries)?)
            }
            Origin::Whit => {
                let feed = WhitFeed::open(&recording.path, base_ns, follow)?;
                let sources = &self.settings.sources;
                Box::new(if sources.is_empty() { feed } else { feed.focused_on(sources) })
            }
        })
    }

    /// Keeps the latest sample as a base if this recording continues the previous one.  Of two
    /// recorders with the same sources, returns the time until which samples were shown already.
    fn take_over(
        &mut self,
        defs: &[Arc<SourceDef>],
        feed: &mut dyn Feed,
        recording: &RecordedFile,
    ) -> Result<Option<u64>, FeedError> {
        let same_sources = self.history.as_ref().is_some_and(|(held, _)| held == defs);
        let overlaps = match &self.end {
            Some(end) if self.follows_files(recording) => feed.overlaps(end)?,
            _ => false,
        };
        // collectl's recordings are shown as collectl shows them.
        let until_ns = self.end.as_ref().map(|end| end.monotonic_ns);
        let until_ns =
            until_ns.filter(|_| overlaps && same_sources && recording.origin == Origin::Whit);
        if overlaps && until_ns.is_none() {
            let ended = self.ended.map(|ended| ended.path.display().to_string());
            let text = format!(
                "{}: begins before {} ends: two recorders wrote into this folder at the same time, \
                 and times go back here",
                recording.path.display(),
                ended.unwrap_or_default()
            );
            self.complaints.push(Complaint { text, is_error: false });
        }
        let continues = match &self.end {
            Some(end) if same_sources => until_ns.is_some() || feed.continues(end)?,
            _ => false,
        };
        if !same_sources {
            self.history = Some((defs.to_vec(), History::new(defs)));
        } else if !continues && let Some((_, history)) = &mut self.history {
            history.forget();
        }
        Ok(until_ns)
    }

    /// Reads until there is a frame; false at the end of the recording or the period.
    fn read_frame(&mut self) -> Result<bool, FeedError> {
        let (Some(playing), Some((_, history))) = (&mut self.playing, &mut self.history) else {
            return Ok(false);
        };
        let Playing { feed, defs, range, names, snapshot, shown_until_ns, left_out } = playing;
        while feed.next(snapshot)? {
            if snapshot.realtime_ns < range.base_ns {
                continue;
            }
            if shown_until_ns.is_some_and(|until_ns| snapshot.monotonic_ns <= until_ns) {
                *left_out += 1;
                continue;
            }
            if snapshot.realtime_ns > range.thru_ns {
                return Ok(false);
            }
            shift(snapshot, self.settings.shift_ns);
            names.apply(snapshot, defs);
            history.push(snapshot);
            // The first sample is only a base.
            if history.ticks() >= 2 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Moves a sample's wall-clock times.
fn shift(snapshot: &mut Snapshot, offset_ns: i64) {
    if offset_ns == 0 {
        return;
    }
    snapshot.realtime_ns = snapshot.realtime_ns.saturating_add(offset_ns);
    for sample in &mut snapshot.samples {
        sample.realtime_ns = sample.realtime_ns.saturating_add(offset_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sample::{Meta, State};

    /// Records four samples of the sources `cpu` and `memory`.
    fn record(path: &std::path::Path) {
        let defs = ["cpu", "memory"].map(|name| source::find(name).unwrap().def().shared());
        let mut meta = Meta::new();
        meta.set("interval_ns", "1000000000");
        let options = recording::WriterOptions::default();
        let mut writer = recording::Writer::create(path, &meta, &defs, options).unwrap();
        let mut snapshot = Snapshot::new(&defs);
        for second in 1..5 {
            (snapshot.monotonic_ns, snapshot.realtime_ns) = (second * 1_000_000_000, second as i64);
            snapshot.fresh.fill(true);
            for sample in &mut snapshot.samples {
                (sample.monotonic_ns, sample.state) = (snapshot.monotonic_ns, State::Ok);
                sample.table.begin();
                sample.table.row(b"").set(1, second);
            }
            writer.append(&snapshot).unwrap();
        }
        writer.close().unwrap();
    }

    #[test]
    fn only_the_sources_asked_for_are_given() {
        let folder = tempfile::tempdir().unwrap();
        record(&folder.path().join("a.whit"));
        let (files, _) =
            crate::find(&[folder.path().to_owned()], None, &jiff::Zoned::now()).unwrap();
        let files: Vec<&RecordedFile> = files.iter().collect();
        for (sources, memory) in [(vec![], true), (vec!["memory"], true), (vec!["cpu"], false)] {
            let mut playback = Playback::default();
            let settings = PlaySettings { sources: sources.clone(), ..PlaySettings::default() };
            playback.begin(&files, settings);
            let (options, mut frames) = (Options::default(), 0);
            loop {
                match playback.step().unwrap() {
                    Step::End => break,
                    Step::Recording { .. } => continue,
                    Step::Frame => frames += 1,
                }
                let frame = playback.frame(&options).unwrap();
                let is_given = |name: &str| {
                    let track = frame.tracks.iter().find(|track| track.def.name == name).unwrap();
                    track.fresh && track.current.table.get(0, 1) == Some(frames + 1)
                };
                assert_eq!(is_given("memory"), memory, "{sources:?}");
                assert_eq!(is_given("cpu"), sources != ["memory"], "{sources:?}");
            }
            assert_eq!(frames, 3, "{sources:?}");
        }
    }
}
