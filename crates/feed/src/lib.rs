//! Feeds: sequences of samples from this host, from recordings of whit, collectl, sysstat and atop,
//! from several of them in sequence, and from a file that grows.
//!
//! A [`Feed`] fills one snapshot after another and knows its sources.  [`LiveFeed`] reads this
//! host; [`WhitFeed`] and [`CollectlFeed`] read recordings, and can follow them; [`ImportedFeed`]
//! reads files of sysstat and atop; [`Playback`] joins
//! the recordings of a host and day and keeps the history that rates need; [`Cursor`] moves forward
//! and back in one recording.  [`TimeSelection`] selects a period; [`find`] finds the files.
//!
//! May use `sample`, `layout`, `procfs`, `source`, `recording`; knows no view, prints nothing,
//! reads no environment.  Begin reading with the trait below, then [`Playback`].
#![forbid(unsafe_code)]

use sample::{Meta, Snapshot, SourceDef};
use std::sync::Arc;

mod collectl;
pub mod collectl_configuration;
pub mod collectl_switches;
mod cursor;
mod error;
mod extract;
mod files;
mod imported;
mod live;
mod open_files;
mod origin;
mod pattern;
mod period;
mod playback;
mod recorded;
mod search;
mod whit;

pub use collectl::{CollectlFeed, CollectlSettings};
pub use cursor::{Cursor, CursorSettings, Motion};
pub use error::{ExtractError, FeedError};
pub use extract::{ExtractedTo, extract};
pub use files::{RecordedFile, find, in_order, left_out, recordings_in, write_facts};
pub use imported::ImportedFeed;
pub use live::LiveFeed;
pub use origin::{Origin, meta_of, origin_of};
pub use period::{TimeError, TimeRange, TimeSelection, moment_before, moment_text, zone_of};
pub use playback::{PlaySettings, Playback, Step};
pub use recorded::{
    COLLECTL_LETTERS, RECORDED_BESIDE, RecordingSet, check_recorded, has_text_for, holds,
    recordable, sets,
};
pub use recording::sadc::{SADC_TRANSFERS, SadcComment};
pub use search::{TimeColumn, search};
pub use whit::WhitFeed;

/// A sequence of samples.
pub trait Feed {
    /// The sources, in the order of the snapshots.
    fn defs(&self) -> Vec<Arc<SourceDef>>;

    /// Fills the snapshot with the next sample; false at the end.
    ///
    /// # Errors
    /// The next sample cannot be read.
    fn next(&mut self, snapshot: &mut Snapshot) -> Result<bool, FeedError>;

    /// The time of the first sample, if it is known without reading it.
    fn first_realtime_ns(&self) -> Option<i64> {
        None
    }

    /// Whether this feed continues another one that ended at `end`, so that its first sample has
    /// rates.
    ///
    /// # Errors
    /// As [`next`](Self::next): the first sample may have to be read.
    fn continues(&mut self, _end: &Position) -> Result<bool, FeedError> {
        Ok(false)
    }

    /// Whether this feed begins before another one of the same machine ended at `end`: two recorders
    /// ran at the same time.
    ///
    /// # Errors
    /// As [`continues`](Self::continues).
    fn overlaps(&mut self, _end: &Position) -> Result<bool, FeedError> {
        Ok(false)
    }

    /// The position behind the latest sample; call it after the last one.
    fn position(&self) -> Position {
        Position::default()
    }

    /// What the user should know about the feed's end, if anything.
    fn complaint(&self) -> Option<Complaint> {
        None
    }
}

/// The end of a recording.
#[derive(Clone, Debug, Default)]
pub struct Position {
    /// The machine.
    pub host: String,
    /// The boot id, if it is known.
    pub boot_id: String,
    /// The time: for collectl that of the last marker, for whit that of the last sample.
    pub realtime_ns: i64,
    /// The time on the monotonic clock; 0 for collectl.
    pub monotonic_ns: u64,
}

/// The first sample of a recording, for the question whether it continues another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beginning {
    /// The time of the sample.
    pub realtime_ns: i64,
    /// The time on the monotonic clock; 0 for collectl.
    pub monotonic_ns: u64,
    /// Ticks before it of which there is no sample, though the recorder ran.
    pub missed: u64,
}

impl Beginning {
    /// The beginning of a recording, from its first sample.
    #[must_use]
    pub fn of(origin: Origin, first: &Snapshot) -> Self {
        let monotonic_ns = match origin {
            Origin::Whit => first.monotonic_ns,
            Origin::Atop | Origin::Collectl | Origin::Sadc => 0,
        };
        let missed = first.gap.ticks_missed.saturating_add(first.gap.samples_unwritten);
        Beginning { realtime_ns: first.realtime_ns, monotonic_ns, missed }
    }

    /// Whether a recording with these facts that begins here continues the one that ended at `end`.
    #[must_use]
    pub fn continues(&self, meta: &Meta, end: &Position) -> bool {
        if self.monotonic_ns == 0 {
            return end.host == meta.host() && self.realtime_ns == end.realtime_ns;
        }
        // One and a half intervals: the next tick after the last one of the previous file.  Ticks
        // that the recorder missed in between do not interrupt the recording.
        let interval_ns = meta.interval_ns();
        let reach_ns = (interval_ns.saturating_mul(3) / 2)
            .saturating_add(interval_ns.saturating_mul(self.missed));
        end.is_of_boot(meta)
            && self.monotonic_ns > end.monotonic_ns
            && self.monotonic_ns - end.monotonic_ns <= reach_ns
    }

    /// Whether a recording with these facts that begins here began before the one that ended at
    /// `end` had ended.
    #[must_use]
    pub fn overlaps(&self, meta: &Meta, end: &Position) -> bool {
        match self.monotonic_ns {
            0 => end.host == meta.host() && self.realtime_ns < end.realtime_ns,
            begins_ns => end.is_of_boot(meta) && begins_ns <= end.monotonic_ns,
        }
    }
}

impl Position {
    /// Whether a recording with these facts is of the same machine since the same boot.
    fn is_of_boot(&self, meta: &Meta) -> bool {
        self.host == meta.host() && self.boot_id == meta.boot_id() && !self.boot_id.is_empty()
    }
}

/// A problem of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The sentence.
    pub text: String,
    /// Whether data was lost, other than because the recorder was killed.
    pub is_error: bool,
}
