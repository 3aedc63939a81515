//! What compression is worth: one recording, written again in every way there is.
//!
//! The pros and cons of compression are what the measurements of 2012 left open.  Bytes and the
//! time of the writer for each sample, against what the recorder does.

use std::path::Path;

use crate::error::{Context, Result};
use crate::measure::measure;
use recording::{Compression, ReadOutcome, Reader, Writer, WriterOptions};
use sample::Snapshot;

/// The ways, by name.
const WAYS: &[(&str, Compression)] = &[
    ("as sampled", Compression::FramesOnly),
    ("columns, none", Compression::None),
    ("zstd 1", Compression::Zstd(1)),
    ("zstd 3", Compression::Zstd(3)),
    ("zstd 9", Compression::Zstd(9)),
    ("zstd 19", Compression::Zstd(19)),
];

/// One way to store it.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) way: &'static str,
    pub(crate) is_default: bool,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    /// CPU of writing, reading the source file not counted; `None` where it is lost in that.
    pub(crate) cpu_us: Option<f64>,
}

/// Writes the recording at `path` again in every way, into `folder`.
pub(crate) fn table(path: &Path, folder: &Path) -> Result<Vec<Stored>> {
    // Reading is part of every pass, so one pass without writing is taken off.
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

/// Calls `each` for every sample; how many there were.
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
