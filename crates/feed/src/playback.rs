//! Plays recordings one after the other.  If a recording continues the previous one, its first
//! sample has rates.

use std::sync::Arc;

use layout::{Frame, Options, SourceValues};
use sample::{History, Snapshot, SourceDef};
use source::{Entry, InstanceNames};

use crate::{
    CollectlFeed, CollectlSettings, Complaint, Feed, FeedError, Origin, Position, RecordedFile,
    TimeRange, TimeSelection, WhitFeed,
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
    complaints: Vec<Complaint>,
}

/// The recording that is being played.
struct Playing {
    feed: Box<dyn Feed>,
    defs: Vec<Arc<SourceDef>>,
    range: TimeRange,
    names: InstanceNames,
    snapshot: Snapshot,
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
                self.end = Some(playing.feed.position());
                self.complaints.extend(playing.feed.complaint());
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
            self.take_over(&defs, feed.as_mut())?;
            let same_sources = self.shown.as_ref() == Some(&defs);
            self.shown = Some(defs.clone());
            let is_collectls = recording.origin != Origin::Whit;
            let names = InstanceNames::of(&self.settings.names, is_collectls);
            let snapshot = Snapshot::new(&defs);
            self.playing = Some(Playing { feed, defs, range, names, snapshot });
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
            Origin::Whit => Box::new(WhitFeed::open(&recording.path, base_ns, follow)?),
        })
    }

    /// Keeps the latest sample as a base if this recording continues the previous one.
    fn take_over(&mut self, defs: &[Arc<SourceDef>], feed: &mut dyn Feed) -> Result<(), FeedError> {
        let same_sources = self.history.as_ref().is_some_and(|(held, _)| held == defs);
        let continues = match &self.end {
            Some(end) if same_sources => feed.continues(end)?,
            _ => false,
        };
        if !same_sources {
            self.history = Some((defs.to_vec(), History::new(defs)));
        } else if !continues && let Some((_, history)) = &mut self.history {
            history.forget();
        }
        Ok(())
    }

    /// Reads until there is a frame; false at the end of the recording or the period.
    fn read_frame(&mut self) -> Result<bool, FeedError> {
        let (Some(playing), Some((_, history))) = (&mut self.playing, &mut self.history) else {
            return Ok(false);
        };
        let Playing { feed, defs, range, names, snapshot } = playing;
        while feed.next(snapshot)? {
            if snapshot.realtime_ns < range.base_ns {
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
