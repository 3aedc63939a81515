//! Moves forward and back within one recording.
//!
//! A step forward reads one sample.  A step back, and any jump, opens the recording anew some way
//! before the wanted moment (whit's own recordings have an index, so that this reads a block, not
//! the file) and reads on: far enough that processes, which may be read once a minute, have the
//! two readings that rates need.

use layout::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use recording::Reader;
use sample::{History, Meta, Snapshot, SourceDef, State};
use source::Entry;

use crate::{
    CollectlFeed, CollectlSettings, Feed, FeedError, Origin, TimeError, TimeSelection, WhitFeed,
    meta_of, origin_of, zone_of,
};

/// Reading on from further and further before: twice the second interval, then this much more.
const REACH_GROWTH: i64 = 8;

/// Samples that are read before a moment, so that the CPU's history has something to show.
const HISTORY_SAMPLES: i64 = 30;

/// Where to go in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// The next sample.
    Forward,
    /// The sample before.
    Back,
    /// By so much time.
    By(i64),
    /// The first sample with a base for rates.
    First,
    /// The last one.
    Last,
    /// The last one that is no later.
    At(i64),
}

/// What a [`Cursor`] needs beside a file.
#[derive(Clone)]
pub struct CursorSettings {
    /// The sources that read collectl's text.
    pub entries: Vec<&'static Entry>,
    /// The source that is read least often, by name: where the cursor stands, it has rates.
    pub slowest: &'static str,
    /// The zone of the machine that shows them.
    pub local: TimeZone,
}

/// A recording, and the sample of it that is shown.
pub struct Cursor {
    path: PathBuf,
    origin: Origin,
    settings: CursorSettings,
    feed: Box<dyn Feed>,
    defs: Vec<Arc<SourceDef>>,
    snapshot: Snapshot,
    /// The sample behind the one shown, if it was read already.
    ahead: Option<Snapshot>,
    first_ns: i64,
    /// The moment shown.
    now_ns: i64,
    /// How long before a moment to begin reading.
    reach_ns: i64,
    /// Its own zone.
    pub zone: TimeZone,
}

impl Cursor {
    /// Opens a recording at its first sample.
    ///
    /// # Errors
    /// The file cannot be read, or no sample is in it.
    pub fn open(path: &Path, settings: CursorSettings) -> Result<(Self, Meta), FeedError> {
        let origin = origin_of(path)?;
        let meta = meta_of(path, origin)?;
        let mut feed = open_feed(path, origin, i64::MIN, &settings)?;
        let defs = feed.defs();
        let mut snapshot = Snapshot::new(&defs);
        if !feed.next(&mut snapshot)? {
            return Err(FeedError::NoSamples(path.to_owned()));
        }
        let first_ns = snapshot.realtime_ns;
        let longest_ns = meta.interval_ns().max(meta.interval2_ns());
        let times = |interval_ns: u64, quarters: i64| {
            i64::try_from(interval_ns).unwrap_or(i64::MAX).saturating_mul(quarters) / 4
        };
        let reach_ns = times(longest_ns, 9).max(times(meta.interval_ns(), 4 * HISTORY_SAMPLES));
        let (zone, _) = zone_of(meta.timezone(), first_ns, &settings.local);
        let cursor = Cursor {
            path: path.to_owned(),
            origin,
            settings,
            feed,
            ahead: Some(snapshot),
            snapshot: Snapshot::new(&defs),
            defs,
            first_ns,
            now_ns: first_ns,
            reach_ns: reach_ns.max(1_000_000_000),
            zone,
        };
        Ok((cursor, meta))
    }

    /// The sources, in the order of the samples.
    pub fn defs(&self) -> &[Arc<SourceDef>] {
        &self.defs
    }

    /// The moment that `[yyyymmdd:]hh:mm[:ss]` means: the end of the second that it names.
    ///
    /// # Errors
    /// The text is no time.
    pub fn moment(&self, text: &str) -> Result<i64, TimeError> {
        let wrong = || TimeError::Form { option: "--at", text: text.to_owned(), source: None };
        if text.contains('-') {
            return Err(wrong());
        }
        let first = jiff::Timestamp::from_nanosecond(i128::from(self.first_ns)).unwrap_or_default();
        let day = first.to_zoned(self.zone.clone()).date();
        let selection = TimeSelection::parse(Some(text), None).map_err(|_| wrong())?;
        Ok(selection.of(day, &self.zone, 0)?.from_ns.saturating_add(999_999_999))
    }

    /// Goes somewhere.  `taken` is called for every sample that is read on the way, and with `true`
    /// for a jump: what came before it no longer counts.  False at either end.
    ///
    /// # Errors
    /// The recording cannot be read on.
    pub fn go(
        &mut self,
        motion: Motion,
        history: &mut History,
        taken: &mut dyn FnMut(&History, bool),
    ) -> Result<bool, FeedError> {
        let before_ns = self.now_ns;
        match motion {
            Motion::Forward => {
                if !self.read_ahead()? {
                    return Ok(false);
                }
                self.take(history, taken);
                return Ok(true);
            }
            Motion::Back => self.jump(before_ns.saturating_sub(1), history, taken)?,
            Motion::By(step_ns) => {
                self.jump(before_ns.saturating_add(step_ns), history, taken)?;
            }
            Motion::First => self.jump(self.first_ns, history, taken)?,
            Motion::Last => self.jump(i64::MAX, history, taken)?,
            Motion::At(moment_ns) => self.jump(moment_ns, history, taken)?,
        }
        Ok(self.now_ns != before_ns)
    }

    /// Shows the last sample that is no later than `limit_ns`, or else the first.
    fn jump(
        &mut self,
        limit_ns: i64,
        history: &mut History,
        taken: &mut dyn FnMut(&History, bool),
    ) -> Result<(), FeedError> {
        let limit_ns = limit_ns.max(self.first_ns);
        let mut reach_ns = self.reach_ns;
        // Where the end is, is known only roughly: reading begins before the latest time known.
        let from_ns = if limit_ns == i64::MAX { self.near_end_ns()? } else { limit_ns };
        loop {
            let base_ns = from_ns.saturating_sub(reach_ns);
            let whole = base_ns <= self.first_ns;
            self.feed = {
                let base_ns = if whole { i64::MIN } else { base_ns };
                open_feed(&self.path, self.origin, base_ns, &self.settings)?
            };
            // Its memory is read into again.
            if let Some(ahead) = self.ahead.take() {
                self.snapshot = ahead;
            }
            history.forget();
            taken(history, true);
            let mut found = 0;
            while self.read_ahead()? {
                let at_ns = self.ahead.as_ref().map_or(i64::MAX, |ahead| ahead.realtime_ns);
                if at_ns > limit_ns {
                    break;
                }
                self.take(history, taken);
                found += 1;
            }
            if whole || found > 0 && self.has_base(history) {
                return Ok(());
            }
            reach_ns = reach_ns.saturating_mul(REACH_GROWTH);
        }
    }

    /// A moment that is known to be there, as late as is known without reading everything.
    fn near_end_ns(&self) -> Result<i64, FeedError> {
        Ok(match self.origin {
            Origin::Collectl => self.now_ns,
            Origin::Whit => {
                let latest = Reader::open(&self.path, &[])?.latest_closed_realtime_ns();
                latest.map_or(self.now_ns, |latest| latest.max(self.now_ns))
            }
        })
    }

    /// Whether the source that is read least often has two readings, if it is recorded at all.
    fn has_base(&self, history: &History) -> bool {
        let (meta, options) = (Meta::new(), layout::Options::default());
        let frame = Frame::new(history, &meta, &options);
        let slowest = frame.tracks.iter().find(|track| track.def.name == self.settings.slowest);
        slowest.is_none_or(|track| track.previous.state != State::NotRecorded)
    }

    /// Reads the sample behind the one shown, unless that was done already.
    fn read_ahead(&mut self) -> Result<bool, FeedError> {
        if self.ahead.is_none() {
            // What was pushed gave its memory to this one.
            if !self.feed.next(&mut self.snapshot)? {
                return Ok(false);
            }
            self.ahead = Some(std::mem::take(&mut self.snapshot));
        }
        Ok(true)
    }

    fn take(&mut self, history: &mut History, taken: &mut dyn FnMut(&History, bool)) {
        if let Some(mut ahead) = self.ahead.take() {
            history.push(&mut ahead);
            self.now_ns = ahead.realtime_ns;
            self.snapshot = ahead;
            taken(history, false);
        }
    }
}

fn open_feed(
    path: &Path,
    origin: Origin,
    base_ns: i64,
    settings: &CursorSettings,
) -> Result<Box<dyn Feed>, FeedError> {
    Ok(match origin {
        Origin::Collectl => {
            Box::new(CollectlFeed::open(path, &settings.entries, &CollectlSettings::default())?)
        }
        Origin::Whit => Box::new(WhitFeed::open(path, base_ns, false)?),
    })
}
