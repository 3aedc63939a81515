//! The summary of a recording: for each window of a minute or so, and for each hour, what a range
//! needs of every column, so that a long period is answered without its samples.
//!
//! It is a side file, `NAME.summary`: made from the recording, of any version or of collectl, it can
//! be deleted at any time.  It belongs to the recording whose identity it has, and to the
//! definitions of its sources.  What is damaged or missing in it is read from the recording.  It is
//! appended to by one writer at a time; a segment that was not written completely is no segment.
//!
//! ```text
//! file      = prelude, segment, segment, …
//! prelude   = "WHITSUMM", version (6), flags (4; 1: the clock of the recording was set back, so
//!             there is no summary), identity (24), fingerprint of the sources (8), length of a
//!             window (8), CRC (4)
//! segment   = header, directory, parts
//! header    = "SSEG", tier (1), flags (1; 1: begins the recording, 2: ends it, 4: the recording has
//!             a sample), 0 (2), start of its first window (8), windows (4), length of the directory
//!             (4), length of directory and parts (8), length of the recording (8), its first
//!             sample: realtime_ns, monotonic_ns, missed ticks (8 each), its latest: monotonic_ns,
//!             realtime_ns (8 each), CRC of the directory (4), CRC (4)
//! directory = for each source: varint length of its head; if it is not 0, for each field a varint:
//!             0 no column changes, 1 no column has a value, else the length of its part; if the
//!             segment begins or ends the recording, for each counter: varint length of its edges
//! part      = varint streams, for each: varint its length; byte: 0 the streams follow as they are, 1
//!             in one frame of zstd, 2 each that is not empty in its own, with a varint length in
//!             front; CRC (4); frames are without their magic number
//! head      = see `head.rs`; the columns of a field: see `column.rs` and `streams.rs`
//! edges     = for each instance that is in the first reading, and for each that is in the last:
//!             varint 0, or 1 and the raw value, in the last one less that in the first one
//! ```
//!
//! Windows begin at multiples of their length since the epoch: the shortest of [`LENGTHS_NS`] with
//! about 300 readings (tier 0), and an hour (tier 1).  The windows of a source that is read at a longer
//! interval, and those of processes, are several windows of the recording ([`source_window_ns`]); a
//! segment has whole windows of every source.  A source whose instances have nearly as many hours as
//! windows, such as short-lived processes, is left out of tier 1, as is a last day of a few hours.
//! Processes that ended are left out of both tiers ([`has_windows`]).  A window belongs to the tick of
//! its readings; a rate to the later of its two readings, also if the earlier one is in another
//! segment.  The first rate of a recording that continues another one comes from the edges of both.

mod cell;
mod column;
mod gather;
mod head;
mod open_window;
mod out;
mod read;
mod streams;
mod tiers;
mod write;

pub use gather::RangeCost;
pub(crate) use gather::{Gathered, Spans, Totals, What};
pub(crate) use recording::summary_path as path;
pub(crate) use write::write;

use recording::ZSTD_MAGIC;
use sample::{Cadence, Kind, Meta, SourceDef};

use cell::Coding;

use crate::archived_file::Identity;

pub(crate) const SECOND_NS: i64 = 1_000_000_000;
pub(crate) const HOUR_NS: i64 = 3_600 * SECOND_NS;
const DAY_NS: i64 = 24 * HOUR_NS;

/// Windows of tier 0, and how long a segment of them is: each a part of a day.
///
/// The shortest is of two minutes: a reading of a fifth of a second is smaller than one of a second,
/// and a window of it is not.
const LENGTHS_NS: [(i64, i64); 6] = [
    (120 * SECOND_NS, 2 * HOUR_NS),
    (300 * SECOND_NS, 6 * HOUR_NS),
    (600 * SECOND_NS, 12 * HOUR_NS),
    (900 * SECOND_NS, 12 * HOUR_NS),
    (1_800 * SECOND_NS, DAY_NS),
    (HOUR_NS, DAY_NS),
];

/// Readings of a window: five minutes at one a second, of which the steps that people read are made.
/// A window costs about as much as fourteen readings cost in a recording of `-scdnm`, a twentieth of
/// its own: the smallest and the largest rate of a column have a time each.
const READINGS: i64 = 300;

/// Readings of a window of a source that has instances and is not read at each tick, as processes: a
/// reading of one of them costs half a byte in a recording, and a window some 16 bytes.  A period with
/// ends between windows reads up to two windows as samples, by columns, as it does of the hours that
/// are not in the summary of a recording that grows.
const READINGS_OF_MANY: i64 = 900;

const MAGIC: [u8; 8] = *b"WHITSUMM";
const VERSION: u32 = 6;
const SEGMENT_MAGIC: [u8; 4] = *b"SSEG";

/// How the streams of a part are stored.
const PLAIN: u8 = 0;
const ONE_FRAME: u8 = 1;
const FRAMES: u8 = 2;
const PRELUDE_BYTES: usize = 60;
const HEADER_BYTES: usize = 88;

/// Limit of a directory, and of a part, stored or plain.
const PART_BYTES_MAX: usize = 64 << 20;

/// The recording is read instead.
const FLAG_CLOCK_SET_BACK: u32 = 1;

/// The length of a window of tier 0 of a recording, and of a segment of them.
pub(crate) fn lengths_ns(meta: &Meta) -> (i64, i64) {
    let interval_ns = i64::try_from(meta.interval_ns()).unwrap_or(i64::MAX);
    let wanted_ns = interval_ns.saturating_mul(READINGS);
    let long_enough = LENGTHS_NS.iter().find(|lengths| lengths.0 >= wanted_ns);
    *long_enough.unwrap_or(&LENGTHS_NS[LENGTHS_NS.len() - 1])
}

/// The source of processes that ended, each of which has one reading.
pub(crate) const EXIT: &str = "exit";

/// Whether a source has windows.  A process that ended has a single reading, of which a window would
/// say less in more bytes: who asks reads it from the recording.
pub(crate) fn has_windows(def: &SourceDef) -> bool {
    def.name != EXIT
}

/// The length of a window of tier 0 of a source: whole windows of the recording.
pub(crate) fn source_window_ns(meta: &Meta, def: &SourceDef) -> i64 {
    let (window_ns, _) = lengths_ns(meta);
    if def.cadence == Cadence::First {
        return window_ns;
    }
    let readings = if def.instance.is_empty() { READINGS } else { READINGS_OF_MANY };
    let interval_ns = i64::try_from(meta.cadence_ns(def.cadence)).unwrap_or(i64::MAX);
    let wanted_ns = interval_ns.saturating_mul(readings);
    let mut lengths = LENGTHS_NS.iter().map(|lengths| lengths.0);
    let found = lengths.find(|length_ns| *length_ns >= wanted_ns && length_ns % window_ns == 0);
    found.unwrap_or(HOUR_NS)
}

/// The shortest length that has whole windows of each of these lengths.
pub(crate) fn common_window_ns(windows_ns: &[i64]) -> i64 {
    let mut lengths = LENGTHS_NS.iter().map(|lengths| lengths.0);
    let found = lengths.find(|length_ns| windows_ns.iter().all(|window| length_ns % window == 0));
    found.unwrap_or(HOUR_NS)
}

fn coding(kind: Kind, single_clock: bool) -> Coding {
    match kind {
        Kind::Gauge => Coding::Gauge,
        Kind::Counter => Coding::Counter { single_clock },
        Kind::Text => Coding::Text,
    }
}

/// The start of the window that has a time.
pub(crate) fn floor(time_ns: i64, window_ns: i64) -> i64 {
    time_ns.saturating_sub(time_ns.rem_euclid(window_ns))
}

/// The start of the first window that does not begin before a time.
pub(crate) fn ceil(time_ns: i64, window_ns: i64) -> i64 {
    let floor_ns = floor(time_ns, window_ns);
    if floor_ns == time_ns { time_ns } else { floor_ns.saturating_add(window_ns) }
}

/// The beginning of a summary.
fn prelude(identity: &Identity, flags: u32, window_ns: i64) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&flags.to_le_bytes());
    for number in identity.recording {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&identity.fingerprint.to_le_bytes());
    bytes.extend_from_slice(&window_ns.to_le_bytes());
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The window of a source of the second interval, in seconds.
    fn window_s(intervals_ns: [i64; 2], has_instances: bool) -> i64 {
        let mut meta = Meta::new();
        for (key, number) in ["interval_ns", "interval2_ns"].into_iter().zip(intervals_ns) {
            meta.set(key, number.to_string());
        }
        let labels = if has_instances { vec!["pid".into()] } else { Vec::new() };
        let instance = labels.into();
        let def = SourceDef { cadence: Cadence::Second, instance, ..SourceDef::EMPTY };
        let window_ns = source_window_ns(&meta, &def);
        assert_eq!(window_ns % lengths_ns(&meta).0, 0);
        assert_eq!(source_window_ns(&meta, &SourceDef::EMPTY), lengths_ns(&meta).0);
        window_ns / SECOND_NS
    }

    #[test]
    fn a_window_of_a_source_is_whole_windows_of_the_recording() {
        let tenth_ns = SECOND_NS / 10;
        assert_eq!(window_s([SECOND_NS; 2], true), 900);
        assert_eq!(window_s([SECOND_NS; 2], false), 300);
        assert_eq!(window_s([SECOND_NS, 60 * SECOND_NS], true), 3_600);
        assert_eq!(window_s([2 * tenth_ns; 2], true), 600);
        assert_eq!(window_s([4 * tenth_ns, 6 * tenth_ns], true), 600);
        // A quarter of an hour is no whole windows of ten minutes.
        assert_eq!(window_s([15 * tenth_ns, 10 * tenth_ns], true), 1_800);
        // What no recorder writes.
        assert_eq!(window_s([SECOND_NS, 1], true), 300);
        assert_eq!(window_s([1, i64::MAX], true), 3_600);
    }

    #[test]
    fn windows_of_several_lengths_have_a_common_multiple() {
        let common_s = |seconds: &[i64]| {
            let windows_ns: Vec<i64> = seconds.iter().map(|seconds| seconds * SECOND_NS).collect();
            common_window_ns(&windows_ns) / SECOND_NS
        };
        assert_eq!([common_s(&[120, 300]), common_s(&[600, 900, 300])], [600, 1_800]);
        assert_eq!([common_s(&[300]), common_s(&[60, 3_600])], [300, 3_600]);
    }
}
