//! A recording of the archive: its facts, and what it is known by.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use feed::RecordedFile;
use recording::Pause;
use sample::SourceDef;
use source::Entry;

use crate::named::Stamp;

/// A recording of the archive.
#[derive(Clone)]
pub(crate) struct ArchivedFile {
    pub(crate) file: Arc<RecordedFile>,
    pub(crate) defs: Arc<[Arc<SourceDef>]>,
    /// A time at or after its last sample; `i64::MAX` if it may still grow.
    pub(crate) ended_ns: i64,
    /// What its summary must be of.
    pub(crate) identity: Identity,
    /// The file when it was read.
    pub(crate) stamp: Stamp,
    /// The pauses of the file and its last time, once they were asked for.
    pub(crate) pauses: Arc<OnceLock<(Vec<Pause>, i64)>>,
}

impl ArchivedFile {
    /// The index of a source.
    pub(crate) fn source(&self, name: &str) -> Option<usize> {
        self.defs.iter().position(|def| def.name == name)
    }

    pub(crate) fn span(&self) -> RecordedSpan {
        RecordedSpan {
            path: self.file.path.clone(),
            from_ns: self.file.started_ns,
            thru_ns: Some(self.ended_ns).filter(|&ended_ns| ended_ns != i64::MAX),
        }
    }

    /// The sources of this program that read a recording of collectl for a source.
    pub(crate) fn entries(source: &str) -> Vec<&'static Entry> {
        source::find(source).into_iter().collect()
    }
}

/// The time of one recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedSpan {
    /// The recording.
    pub path: PathBuf,
    /// When it was started, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// A time at or after its last sample; `None` if it may still grow: a recorder writes to it, or
    /// it is the last one of collectl.
    pub thru_ns: Option<i64>,
}

/// What a recording is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Of whit's the file id; of collectl's 0, the length and the time of the last change.
    pub(crate) recording: [u64; 3],
    /// A fingerprint of the names and kinds of sources and fields.
    pub(crate) fingerprint: u64,
}

/// A number that differs if sources or fields have other names, kinds or places.
pub(crate) fn fingerprint(defs: &[Arc<SourceDef>]) -> u64 {
    let mut text = Vec::new();
    for def in defs {
        text.extend_from_slice(def.name.as_bytes());
        for field in def.fields.iter() {
            text.extend_from_slice(&[0, field.kind as u8]);
            text.extend_from_slice(field.name.as_bytes());
        }
        text.push(1);
    }
    let low = crc32c::crc32c(&text);
    // Two checksums of one length: the second with the bytes in another order.
    text.reverse();
    u64::from(crc32c::crc32c(&text)) << 32 | u64::from(low)
}
