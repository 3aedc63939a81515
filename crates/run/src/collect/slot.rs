//! One slot: what its job writes to, and what is put before its lines.

use std::os::fd::AsFd;

use super::lines::Lines;
use super::results::Saved;
use super::sink::{Marks, Source, Text};
use super::temporary::Temporary;

/// A text that may be missing, in memory that is used again.
#[derive(Debug, Default)]
pub(super) struct Words {
    present: bool,
    bytes: Vec<u8>,
}

impl Words {
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

/// A slot; its files and pipes are used again by its next job.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The job that runs in it.
    pub(super) seq: u64,
    /// The group it is in.
    pub(super) group: usize,
    pub(super) running: bool,
    pub(super) tag: Words,
    /// What is still to be written before its output.
    pub(super) heading: Words,
    pub(super) files: [Option<Temporary>; 2],
    pub(super) lines: Option<Lines>,
    pub(super) saved: Option<Saved>,
}

impl Slot {
    /// How much is in its files, bytes: one lseek(2) each.
    pub(super) fn lengths(&self) -> [u64; 2] {
        let length = |file: &Option<Temporary>| file.as_ref().map_or(0, Temporary::length);
        [length(&self.files[0]), length(&self.files[1])]
    }

    /// What its job wrote into them.
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
