//! What a store lacks of a period, as far as it knows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use log_protocol::GapReason;

use super::index::SegmentIndex;
use crate::query::Filter;
use crate::store::Chunk;
use crate::store::segment;

/// Most losses, and most damaged parts, that are told one by one.
const TOLD_MAX: usize = 100;

/// Records of a process that are missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLoss {
    /// The host.
    pub host: String,
    /// The process.
    pub process: String,
    /// Why.
    pub reason: GapReason,
    /// How many.
    pub records: u64,
}

/// What is missing of a period.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogLosses {
    lost: BTreeMap<(String, String, &'static str), LogLoss>,
    /// Records that are missing of still more processes.
    pub others: u64,
    /// Damaged parts of segments: file, first byte, byte after the last.
    pub damaged: Vec<(PathBuf, u64, u64)>,
    /// Damaged parts beyond these.
    pub more_damaged: u64,
}

impl LogLosses {
    /// Adds what a chunk says to be missing of the processes of a filter.
    pub fn add_chunk(&mut self, chunk: &Chunk, filter: &Filter) {
        of(chunk, filter).for_each(|loss| self.add(loss));
    }

    /// The losses one by one.
    pub fn lost(&self) -> impl Iterator<Item = &LogLoss> {
        self.lost.values()
    }

    /// All records that are known to be missing.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.lost().fold(self.others, |sum, loss| sum.saturating_add(loss.records))
    }

    pub(super) fn add(&mut self, loss: LogLoss) {
        let key = (loss.host.clone(), loss.process.clone(), loss.reason.text());
        if let Some(known) = self.lost.get_mut(&key) {
            known.records = known.records.saturating_add(loss.records);
        } else if self.lost.len() < TOLD_MAX {
            self.lost.insert(key, loss);
        } else {
            self.others = self.others.saturating_add(loss.records);
        }
    }

    pub(super) fn add_damaged(&mut self, index: &SegmentIndex, folder: &Path) {
        let path = segment::NAMES.path(folder, index.number);
        index.damaged.iter().for_each(|(from, to)| self.add_damage(&path, *from, *to));
    }

    /// Adds a part of a segment that is damaged: from its first byte to the byte after its last.
    pub fn add_damage(&mut self, path: &Path, from: u64, to: u64) {
        let damage = (path.to_owned(), from, to);
        match self.damaged.len() < TOLD_MAX {
            _ if self.damaged.contains(&damage) => {}
            true => self.damaged.push(damage),
            false => self.more_damaged += 1,
        }
    }
}

/// What a chunk says to be missing of the processes of a filter.
pub(super) fn of<'a>(chunk: &'a Chunk, filter: &'a Filter) -> impl Iterator<Item = LogLoss> + 'a {
    chunk.gaps.iter().filter_map(|gap| {
        let process = &chunk.processes[chunk.streams[gap.stream as usize].process as usize].info;
        // These are nowhere wanted, and those are elsewhere.
        let is_lost = !matches!(gap.reason, GapReason::LeftOut | GapReason::AnotherStore);
        (is_lost && filter.wants_process(process)).then(|| LogLoss {
            host: process.host.clone(),
            process: process.name.clone(),
            reason: gap.reason,
            records: gap.next.saturating_sub(gap.first),
        })
    })
}
