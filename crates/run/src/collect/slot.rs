//! One slot: the descriptors of its job, and what is written before its lines.

use std::os::fd::AsFd;

use super::compressed::Compressor;
use super::lines::LineStreams;
use super::results::Saved;
use super::sink::{Marks, Source, Text};
use super::temporary::Temporary;

/// An optional text in a buffer that is used again.
#[derive(Debug, Default)]
pub(super) struct OptionalText {
    present: bool,
    bytes: Vec<u8>,
}

impl OptionalText {
    pub(super) fn set(&mut self, bytes: Option<&[u8]>) {
        self.bytes.clear();
        self.present = bytes.is_some();
        self.bytes.extend_from_slice(bytes.unwrap_or_default());
    }

    pub(super) fn get(&self) -> Option<&[u8]> {
        self.present.then_some(&self.bytes[..])
    }

    pub(super) fn to_owned(&self) -> Option<Vec<u8>> {
        self.get().map(<[u8]>::to_vec)
    }
}

/// A slot; its next job uses its files and pipes again.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The job that runs in it.
    pub(super) seq: u64,
    /// The group it is in.
    pub(super) group: usize,
    pub(super) running: bool,
    pub(super) tag: OptionalText,
    /// A heading that is still to be written before the output.
    pub(super) heading: OptionalText,
    pub(super) files: [Option<Temporary>; 2],
    /// The compressors of this job alone.
    pub(super) compressors: [Option<Compressor>; 2],
    pub(super) lines: Option<LineStreams>,
    pub(super) saved: Option<Saved>,
}

impl Slot {
    /// The lengths of its files in bytes: one lseek(2) each.
    pub(super) fn lengths(&self) -> [u64; 2] {
        let length = |file: &Option<Temporary>| file.as_ref().map_or(0, Temporary::length);
        [length(&self.files[0]), length(&self.files[1])]
    }

    /// The output of its job.
    pub(super) fn texts(&self, lengths: [u64; 2]) -> [Text<'_>; 2] {
        let source = |which: usize| match &self.files[which] {
            Some(file) if lengths[which] > 0 => Source::File(file.as_fd(), 0, lengths[which]),
            _ => Source::Bytes(&[]),
        };
        let marks = Marks::tag(self.tag.get());
        [
            Text { marks, heading: self.heading.get(), source: source(0) },
            Text { marks, heading: None, source: source(1) },
        ]
    }
}
