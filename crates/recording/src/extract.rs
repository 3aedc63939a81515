//! Copies a period of a recording into a new one.
//!
//! Sources, fields and kernel texts are copied as recorded, also those that this build does not
//! know.

use std::path::Path;

use sample::Snapshot;

use crate::error::Error;
use crate::reader::{Damage, ReadOutcome, Reader};
use crate::writer::{Writer, WriterOptions};

/// The result of an extraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtractSummary {
    /// Samples in the new recording.
    pub samples: u64,
    /// The damage of the old recording up to the end of the period.
    pub damage: Damage,
}

/// Copies samples into a new file: from the first one at or after `from_realtime_ns` up to, but not
/// including, the first one after `thru_realtime_ns`.  Without samples no file is created.
///
/// # Errors
/// As [`Reader::open`] and [`Writer::create`]; [`Error::Write`].  A file that was begun is
/// removed.
pub fn extract(
    from: &Path,
    to: &Path,
    from_realtime_ns: i64,
    thru_realtime_ns: i64,
    options: WriterOptions,
) -> Result<ExtractSummary, Error> {
    let mut reader = Reader::open(from, &[])?;
    reader.seek(from_realtime_ns);
    let defs = reader.defs();
    let mut snapshot = Snapshot::new(&defs);
    let within = |next, snapshot: &Snapshot| {
        next == ReadOutcome::Sample && snapshot.realtime_ns <= thru_realtime_ns
    };
    let next = reader.next(&mut snapshot)?;
    if !within(next, &snapshot) {
        return Ok(ExtractSummary { samples: 0, damage: reader.damage() });
    }
    let mut writer = Writer::create(to, reader.meta(), &defs, options)?;
    // The gap before the period is not a part of it.
    snapshot.gap = sample::Gap::default();
    let copied = (|| {
        loop {
            writer.append_with_texts(&snapshot, reader.texts())?;
            let next = reader.next(&mut snapshot)?;
            if !within(next, &snapshot) {
                let samples = writer.samples();
                writer.close()?;
                return Ok(ExtractSummary { samples, damage: reader.damage() });
            }
        }
    })();
    if copied.is_err() {
        // Report the error that stopped the copy, not one of the removal.
        let _ = std::fs::remove_file(to);
    }
    copied
}
