//! Feeds: sequences of samples from this host, from recordings of whit and of collectl, from
//! several of them in sequence, and from a file that grows.
//!
//! A [`Feed`] fills one snapshot after another and knows its sources.  [`LiveFeed`] reads this
//! host; [`WhitFeed`] and [`CollectlFeed`] read recordings, and can follow them; [`Playback`] joins
//! the recordings of a host and day and keeps the history that rates need; [`Cursor`] moves forward
//! and back in one recording.  [`TimeSelection`] selects a period; [`find`] finds the files.
//!
//! May use `sample`, `layout`, `procfs`, `source`, `recording`; knows no view, prints nothing,
//! reads no environment.  Begin reading with the trait below, then [`Playback`].
#![forbid(unsafe_code)]

use sample::{Snapshot, SourceDef};
use std::sync::Arc;

mod collectl;
mod cursor;
mod error;
mod extract;
mod files;
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
pub use files::{RecordedFile, find, in_order, left_out, recordings_in};
pub use live::LiveFeed;
pub use origin::{Origin, meta_of, origin_of};
pub use period::{TimeError, TimeRange, TimeSelection, zone_of};
pub use playback::{PlaySettings, Playback, Step};
pub use recorded::{
    COLLECTL_LETTERS, RECORDED_BESIDE, RecordingSet, check_recorded, has_text_for, recordable, sets,
};
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
    /// The same on the monotonic clock; 0 for collectl.
    pub monotonic_ns: u64,
}

/// A problem of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    /// The sentence.
    pub text: String,
    /// Whether data was lost, other than because the recorder was killed.
    pub is_error: bool,
}
