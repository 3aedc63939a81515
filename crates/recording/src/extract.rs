//! Cuts a time slice out of a recording into a new one.
//!
//! Sources, fields and kernel texts go over as they were recorded, those that this build does not
//! know as well.

use std::path::Path;

use sample::Snapshot;

use crate::error::Error;
use crate::reader::{Damage, Next, Reader};
use crate::writer::{Writer, WriterOptions};

/// What became of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Samples in the new recording.
    pub samples: u64,
    /// What could not be read of the old one up to the end of the slice.
    pub damage: Damage,
}

/// Copies the samples from the first one at or after `from_realtime_ns` to the last one before
/// the first that is after `thru_realtime_ns` into a new file.  Without any sample there is no
/// new file.
///
/// # Errors
/// Those of [`Reader::open`] and [`Writer::create`]; [`Error::Write`].  A file that was begun is
/// removed.
pub fn extract(
    from: &Path,
    to: &Path,
    from_realtime_ns: i64,
    thru_realtime_ns: i64,
    options: WriterOptions,
) -> Result<Extracted, Error> {
    let mut reader = Reader::open(from, &[])?;
    reader.seek(from_realtime_ns);
    let defs = reader.defs();
    let mut snapshot = Snapshot::new(&defs);
    let within = |next, snapshot: &Snapshot| {
        next == Next::Sample && snapshot.realtime_ns <= thru_realtime_ns
    };
    let next = reader.next(&mut snapshot)?;
    if !within(next, &snapshot) {
        return Ok(Extracted { samples: 0, damage: reader.damage() });
    }
    let mut writer = Writer::create(to, reader.meta(), &defs, options)?;
    // The gap before the slice is not in it.
    snapshot.gap = sample::Gap::default();
    let copied = (|| {
        loop {
            writer.append_with_texts(&snapshot, reader.texts())?;
            let next = reader.next(&mut snapshot)?;
            if !within(next, &snapshot) {
                let samples = writer.samples();
                writer.close()?;
                return Ok(Extracted { samples, damage: reader.damage() });
            }
        }
    })();
    if copied.is_err() {
        // The error that stopped the copy is the one to tell.
        let _ = std::fs::remove_file(to);
    }
    copied
}
