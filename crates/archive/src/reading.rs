//! What is asked of a source, and one reading of it.

use sample::{Sample, SourceDef};

/// Fields of one source of a machine, and a period.
#[derive(Clone, Copy, Debug)]
pub struct Select<'a> {
    /// The machine.
    pub host: &'a str,
    /// The name of the source.
    pub source: &'a str,
    /// The names of fields; others are missing in the readings.
    pub fields: &'a [&'a str],
    /// The start of the period, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// The end of the period: samples at this time or later are not in it.
    pub thru_ns: i64,
}

/// One reading of the source.
#[derive(Clone, Copy, Debug)]
pub struct SourceReading<'a> {
    /// When its tick began, since the epoch: the time that players show.
    pub realtime_ns: i64,
    /// The reading; those that failed come, too, with their state.
    pub sample: &'a Sample,
    /// The definition of its fields.
    pub def: &'a SourceDef,
    /// The index of its recording ([`path`](crate::Recordings::path)).
    pub file: usize,
    /// Whether it cannot be compared with the one before: another boot, another recording, a restart.
    pub restart: bool,
    /// Whether all sources of a tick share one clock ([`sample::Meta::has_single_clock`]).
    pub single_clock: bool,
}
