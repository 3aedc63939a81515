//! Moves forward and back within one recording.
//!
//! A step forward reads one sample.  A step back, or a jump, opens the recording again, begins to
//! read before the wanted time and reads up to it.  It begins early enough that processes, which
//! may be recorded once a minute, have the two readings that rates need.  The index of whit's
//! recordings limits this to a block; a file of collectl is read from its start.

use layout::Frame;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::tz::TimeZone;
use recording::Reader;
use sample::{Cadence, History, Meta, Snapshot, SourceDef, State, Track};
use source::Entry;

use crate::{
    CollectlFeed, CollectlSettings, Feed, FeedError, ImportedFeed, Origin, TimeError, WhitFeed,
    meta_of, origin_of, period, zone_of,
};

/// Reading begins twice the second interval earlier; if that is too late, this many times earlier.
const REACH_GROWTH: i64 = 8;

/// A source of the first interval that has no two readings in so many samples has no other ones soon
/// before.
const BASE_SAMPLES: i64 = 30;

/// Where to go in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// The next sample.
    Forward,
    /// The sample before.
    Back,
    /// By this time in nanoseconds.
    By(i64),
    /// The first sample with a base for rates.
    First,
    /// The last one.
    Last,
    /// The last sample at or before this time.
    At(i64),
}

/// Settings of a [`Cursor`].
#[derive(Clone)]
pub struct CursorSettings {
    /// The sources that read collectl's text.
    pub entries: Vec<&'static Entry>,
    /// The name of the source that is read least often: a jump reads enough for its rates.
    pub slowest: &'static str,
    /// The time zone of the viewing machine.
    pub local: TimeZone,
    /// Samples to read before the one that a jump goes to, for what shows a history.  The two
    /// readings that rates need are read in any case.
    pub history_samples: u32,
}

/// A recording, and the sample of it that is shown.
pub struct Cursor {
    path: PathBuf,
    origin: Origin,
    settings: CursorSettings,
    feed: Box<dyn Feed>,
    defs: Vec<Arc<SourceDef>>,
    snapshot: Snapshot,
    /// The sample after the shown one, if it was already read.
    ahead: Option<Snapshot>,
    first_ns: i64,
    /// The time of the shown sample.
    now_ns: i64,
    /// How long before a time to begin reading.
    reach_ns: i64,
    /// How long before a time sources of the first interval are searched for two readings.
    base_ns: i64,
    /// The time zone of the recording.
    pub zone: TimeZone,
}

impl Cursor {
    /// Opens a recording at its first sample.
    ///
    /// # Errors
    /// The file cannot be read, or has no samples.
    pub fn open(path: &Path, settings: CursorSettings) -> Result<(Self, Meta), FeedError> {
        let origin = origin_of(path)?;
        let meta = meta_of(path, origin)?;
        let mut feed = open_feed(path, origin, i64::MIN, &settings)?;
        let defs = feed.defs();
        let mut ahead = None;
        let first_ns = match feed.first_realtime_ns() {
            Some(first_ns) => first_ns,
            None => {
                let mut snapshot = Snapshot::new(&defs);
                if !feed.next(&mut snapshot)? {
                    return Err(FeedError::NoSamples(path.to_owned()));
                }
                ahead.insert(snapshot).realtime_ns
            }
        };
        let longest_ns = meta.interval_ns().max(meta.interval2_ns());
        let times = |interval_ns: u64, quarters: i64| {
            i64::try_from(interval_ns).unwrap_or(i64::MAX).saturating_mul(quarters) / 4
        };
        let history_samples = i64::from(settings.history_samples);
        let reach_ns = times(longest_ns, 9).max(times(meta.interval_ns(), 4 * history_samples));
        let base_ns = times(meta.interval_ns(), 4 * BASE_SAMPLES);
        let (zone, _) = zone_of(meta.timezone(), first_ns, &settings.local);
        let cursor = Cursor {
            path: path.to_owned(),
            origin,
            settings,
            feed,
            ahead,
            snapshot: Snapshot::new(&defs),
            defs,
            first_ns,
            now_ns: first_ns,
            reach_ns: reach_ns.max(1_000_000_000),
            base_ns,
            zone,
        };
        Ok((cursor, meta))
    }

    /// The sources, in the order of the samples.
    pub fn defs(&self) -> &[Arc<SourceDef>] {
        &self.defs
    }

    /// Parses `[yyyymmdd:]hh:mm[:ss]`; returns the end of that second, since the epoch.
    ///
    /// # Errors
    /// The text is not a time.
    pub fn moment(&self, text: &str, now: &jiff::Zoned) -> Result<i64, TimeError> {
        let first = jiff::Timestamp::from_nanosecond(i128::from(self.first_ns)).unwrap_or_default();
        let day = first.to_zoned(self.zone.clone()).date();
        Ok(period::moment(text, day, &self.zone, now)?.saturating_add(999_999_999))
    }

    /// Moves the cursor.  Calls `taken` for every sample that is read, with `true` after a jump:
    /// earlier samples are then not comparable.  Returns false at either end.
    ///
    /// # Errors
    /// The recording cannot be read.
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
                self.pass_on(history, taken);
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

    /// Moves to the last sample at or before `limit_ns`, or else to the first.
    fn jump(
        &mut self,
        limit_ns: i64,
        history: &mut History,
        taken: &mut dyn FnMut(&History, bool),
    ) -> Result<(), FeedError> {
        let limit_ns = limit_ns.max(self.first_ns);
        let mut reach_ns = self.reach_ns;
        // The end is known only roughly: begin to read before the latest known time.
        let from_ns = if limit_ns == i64::MAX { self.near_end_ns()? } else { limit_ns };
        loop {
            let base_ns = from_ns.saturating_sub(reach_ns);
            let whole = base_ns <= self.first_ns;
            self.feed = {
                let base_ns = if whole { i64::MIN } else { base_ns };
                open_feed(&self.path, self.origin, base_ns, &self.settings)?
            };
            // Reuse its memory.
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
                self.pass_on(history, taken);
                found += 1;
            }
            if whole || found > 0 && self.has_base(history, reach_ns) {
                return Ok(());
            }
            reach_ns = reach_ns.saturating_mul(REACH_GROWTH);
        }
    }

    /// The latest time that is known to be in the recording without reading all of it.
    fn near_end_ns(&self) -> Result<i64, FeedError> {
        Ok(match self.origin {
            Origin::Atop | Origin::Collectl | Origin::Sadc => self.now_ns,
            Origin::Whit => {
                let latest = Reader::open(&self.path, &[])?.latest_closed_realtime_ns();
                latest.map_or(self.now_ns, |latest| latest.max(self.now_ns))
            }
        })
    }

    /// Whether the source that is read least often has two readings, if it is recorded at all, and
    /// those of the first interval that were read, if a longer reach may find the one before.
    fn has_base(&self, history: &History, reach_ns: i64) -> bool {
        let (meta, options) = (Meta::new(), layout::Options::default());
        let frame = Frame::new(history, &meta, &options);
        let is_needed = |track: &&Track| {
            track.def.name == self.settings.slowest
                || reach_ns < self.base_ns
                    && track.def.cadence == Cadence::First
                    && track.current.state == State::Ok
        };
        let mut needed = frame.tracks.iter().filter(is_needed);
        needed.all(|track| track.previous.state != State::NotRecorded)
    }

    /// Reads the sample after the shown one, unless it was already read.
    fn read_ahead(&mut self) -> Result<bool, FeedError> {
        if self.ahead.is_none() {
            // The snapshot has the memory of an older one.
            if !self.feed.next(&mut self.snapshot)? {
                return Ok(false);
            }
            self.ahead = Some(std::mem::take(&mut self.snapshot));
        }
        Ok(true)
    }

    fn pass_on(&mut self, history: &mut History, taken: &mut dyn FnMut(&History, bool)) {
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
        Origin::Atop | Origin::Sadc => {
            Box::new(ImportedFeed::open(path, origin, &settings.entries)?)
        }
        Origin::Whit => Box::new(WhitFeed::open(path, base_ns, false)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// Records a source at these seconds.
    fn record(path: &Path, seconds: impl Iterator<Item = u64>) {
        let mut meta = Meta::new();
        for key in ["interval_ns", "interval2_ns"] {
            meta.set(key, SECOND_NS.to_string());
        }
        let def = [source::find("cpu_core").unwrap().def().shared()];
        let options = recording::WriterOptions::default();
        let mut writer = recording::Writer::create(path, &meta, &def, options).unwrap();
        let mut snapshot = Snapshot::new(&def);
        for second in seconds {
            snapshot.monotonic_ns = second * SECOND_NS;
            snapshot.realtime_ns = snapshot.monotonic_ns.cast_signed();
            snapshot.fresh[0] = true;
            let sample = &mut snapshot.samples[0];
            (sample.monotonic_ns, sample.realtime_ns) =
                (snapshot.monotonic_ns, snapshot.realtime_ns);
            sample.state = State::Ok;
            sample.table.begin();
            sample.table.row(b"");
            writer.append(&snapshot).unwrap();
        }
        writer.close().unwrap();
    }

    #[test]
    fn a_jump_reads_what_is_wanted_and_a_base_also_before_a_pause() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("name.whit");
        record(&path, (1..100).filter(|second| !(80..90).contains(second)));
        let jump = |second: i64, history_samples: u32| {
            let local = TimeZone::UTC;
            let settings =
                CursorSettings { entries: Vec::new(), slowest: "process", local, history_samples };
            let (mut cursor, _) = Cursor::open(&path, settings).unwrap();
            let (mut history, mut read) = (History::new(cursor.defs()), 0);
            let motion = Motion::At(second * SECOND_NS.cast_signed());
            let mut count = |_: &History, is_jump: bool| read += usize::from(!is_jump);
            cursor.go(motion, &mut history, &mut count).unwrap();
            let of_ns = [&history.tracks()[0].previous, &history.tracks()[0].current]
                .map(|reading| reading.realtime_ns / SECOND_NS.cast_signed());
            (of_ns, read)
        };
        assert_eq!(jump(50, 0), ([49, 50], 3));
        assert_eq!(jump(50, 30), ([49, 50], 31));
        assert_eq!(jump(90, 0).0, [79, 90]);
    }
}
