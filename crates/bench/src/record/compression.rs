//! What compression saves and costs: one recording, rewritten with every compression.
//!
//! The measurements of 2012 left this open.  Bytes and CPU time of the writer per sample, compared
//! with those of the recorder's default.

use std::path::Path;

use crate::error::{Context, Result};
use crate::measure::measure;
use recording::{Compression, ReadOutcome, Reader, Writer, WriterOptions};
use sample::Snapshot;

/// The way without compression.
pub(crate) const PLAIN: &str = "columns, none";

/// The compressions, by name.
const WAYS: &[(&str, Compression)] = &[
    ("as sampled", Compression::FramesOnly),
    (PLAIN, Compression::None),
    ("zstd 1", Compression::Zstd(1)),
    ("zstd 3", Compression::Zstd(3)),
    ("zstd 9", Compression::Zstd(9)),
    ("zstd 19", Compression::Zstd(19)),
];

/// The recording with one compression.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) way: &'static str,
    pub(crate) is_default: bool,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// CPU time of writing in µs, without that of reading; `None` if the difference is too small.
    pub(crate) cpu_us: Option<f64>,
}

/// Rewrites the recording at `path` with every compression, into `folder`.
pub(crate) fn table(path: &Path, folder: &Path) -> Result<Vec<Stored>> {
    // Reading is part of every pass, so the cost of a pass without writing is subtracted.
    let (read, reading) = measure(|| each_sample(path, |_| Ok(())));
    read?;
    let mut stored = Vec::with_capacity(WAYS.len());
    for &(way, compression) in WAYS {
        let copy = folder.join(format!("{}.whit", way.replace([' ', ','], "-")));
        let options = WriterOptions { compression, ..WriterOptions::default() };
        let reader = open(path)?;
        let mut writer = Writer::create(&copy, reader.meta(), &reader.defs(), options)?;
        let (written, cost) = measure(|| -> Result<u64> {
            let samples = each_sample(path, |snapshot| {
                writer.append(snapshot)?;
                Ok(())
            })?;
            writer.close()?;
            Ok(samples)
        });
        stored.push(Stored {
            way,
            is_default: compression == Compression::default(),
            samples: written?,
            bytes: std::fs::metadata(&copy).context("the copy is gone")?.len(),
            cpu_us: crate::beyond(cost.cpu_us() as f64, reading.cpu_us() as f64),
        });
        std::fs::remove_file(&copy)?;
    }
    Ok(stored)
}

fn open(path: &Path) -> Result<Reader> {
    let known: Vec<_> = source::definitions();
    Ok(Reader::open(path, &known)?)
}

/// Calls `each` for every sample; returns their number.
fn each_sample(path: &Path, mut each: impl FnMut(&Snapshot) -> Result<()>) -> Result<u64> {
    let mut reader = open(path)?;
    let mut snapshot = Snapshot::new(&reader.defs());
    let mut samples = 0;
    while let ReadOutcome::Sample = reader.next(&mut snapshot)? {
        each(&snapshot)?;
        samples += 1;
    }
    Ok(samples)
}
