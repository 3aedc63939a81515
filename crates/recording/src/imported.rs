//! What the readers of other programs' files have in common: records that become rows of whit's own
//! sources, and limits for reading them.
//!
//! [`sadc`](crate::sadc) and [`atop`](crate::atop) give these rows; one record is in memory at a time.

use std::io::{self, Read};

use sample::SourceDef;

/// One row of a source of whit: what the other program recorded of one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRow {
    /// The source.
    pub source: &'static str,
    /// The instance; empty for a source with a single row.  A disk of `sadc` is `MAJOR:MINOR`: its
    /// name is not recorded.
    pub name: Vec<u8>,
    /// Fields and their values; a negative gauge as the same bits.
    pub cells: Vec<(&'static str, u64)>,
    /// Fields and their texts.
    pub texts: Vec<(&'static str, Vec<u8>)>,
}

/// One record, whose rows its reader has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportedRecord {
    /// How long the machine had run.
    pub uptime_ns: u64,
    /// The time since the epoch, to the second.
    pub realtime_ns: i64,
    /// Whether the machine, or the recording, was started since the record before.
    pub is_restart: bool,
}

/// How a file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportEnding {
    /// It has not been read to its end yet, or ends after a record.
    Whole,
    /// Within a record: the disk was full, or the file is being written.
    Torn,
    /// With something that is no record.
    Damaged(String),
}

/// Joins the labels of an instance that has two.
pub(crate) fn pair(first: &[u8], second: &[u8]) -> Vec<u8> {
    [first, &[SourceDef::INSTANCE_SEPARATOR], second].concat()
}

/// The text of an array of characters, up to its first zero.
pub(crate) fn text(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// Reads so many bytes, or fewer if the input ends before.
pub(crate) fn take_bytes(
    reader: &mut impl Read,
    into: &mut Vec<u8>,
    count: usize,
) -> io::Result<usize> {
    into.clear();
    reader.by_ref().take(count as u64).read_to_end(into)
}

/// Passes over so many bytes, or fewer if the input ends before; returns how many.
pub(crate) fn pass_over(reader: &mut impl Read, count: u64) -> io::Result<u64> {
    io::copy(&mut reader.by_ref().take(count), &mut io::sink())
}
