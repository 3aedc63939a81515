//! The index of a segment: its parts, of some megabytes each, with times and counts; and where its
//! dictionaries are.

use std::io;
use std::path::Path;
use std::sync::Arc;

use segments::SegmentHead;

use super::LooksForEnd;
use crate::store::Chunk;
use crate::store::segment::{Segment, SegmentPart};

/// Bytes of a segment after which the next part begins.
const PART_BYTES: u64 = 4 << 20;
/// Chunks after which the next part begins.
const PART_CHUNKS: u32 = 1024;

/// First and last time, in ns since 1970.
pub(super) type Span = (u64, u64);

/// What a visitor does with a chunk, which begins there; whether it wants the next one.
type VisitChunk<'a> = dyn FnMut(&Segment, u64, &Arc<Chunk>) -> io::Result<bool> + 'a;

/// What a segment has.
#[derive(Debug, Clone, Default)]
pub(super) struct SegmentIndex {
    pub(super) number: u64,
    head: Option<SegmentHead>,
    /// Where it goes on.
    at: u64,
    /// Whether nothing more is written to it.
    pub(super) is_closed: bool,
    pub(super) parts: Vec<IndexPart>,
    /// Where the chunks are that have bytes of dictionaries.
    pub(super) dictionaries: Vec<u64>,
    /// Bytes that are no chunk: first, and one after the last.
    pub(super) damaged: Vec<(u64, u64)>,
}

/// Chunks that follow each other.
#[derive(Debug, Clone)]
pub(super) struct IndexPart {
    at: u64,
    end: u64,
    chunks: u32,
    records: Option<Span>,
    /// By number of level.
    pub(super) levels: [u64; 16],
    /// When records are missing, if any are.
    pub(super) gaps: Option<Span>,
}

impl IndexPart {
    /// The times of its records.
    pub(super) fn span(&self) -> Option<Span> {
        self.records
    }

    fn add(&mut self, chunk: &Chunk, end: u64) {
        (self.end, self.chunks) = (end, self.chunks + 1);
        for block in chunk.blocks.iter().filter(|block| block.records > 0) {
            self.records = joined(self.records, (block.first_ns, block.last_ns));
            for (sum, count) in self.levels.iter_mut().zip(block.levels) {
                *sum += u64::from(count);
            }
        }
        if !chunk.gaps.is_empty() {
            let time = gap_time(chunk);
            self.gaps = joined(self.gaps, (time, time));
        }
    }
}

/// When what a chunk says to be missing is shown: with its first record.
pub(super) fn gap_time(chunk: &Chunk) -> u64 {
    let first = chunk.blocks.iter().filter(|block| block.records > 0).map(|block| block.first_ns);
    first.min().unwrap_or(chunk.committed_ns)
}

fn joined(one: Option<Span>, other: Span) -> Option<Span> {
    let (first, last) = one.unwrap_or(other);
    Some((first.min(other.0), last.max(other.1)))
}

impl SegmentIndex {
    /// The times of its records.
    pub(super) fn span(&self) -> Option<Span> {
        self.parts.iter().filter_map(IndexPart::span).fold(None, joined)
    }

    /// Whether a segment is the one that it was made of.
    pub(super) fn is_of(&self, segment: &Segment) -> bool {
        self.head == Some(segment.head)
    }

    /// Goes on to what is committed by now; false if the segment has no head yet.
    pub(super) fn advance(
        &mut self,
        path: &Path,
        number: u64,
        is_closed: bool,
        has_ended: &LooksForEnd<'_>,
    ) -> io::Result<bool> {
        let Some(mut segment) = Segment::open(path)? else { return Ok(false) };
        // Another store in the same folder, or a file that was cut.
        if !self.is_of(&segment) || segment.file.metadata()?.len() < self.at {
            let head = Some(segment.head);
            *self = SegmentIndex { number, head, at: segment.at, ..SegmentIndex::default() };
        }
        segment.at = self.at;
        while !has_ended() {
            match segment.next(is_closed)? {
                Some(SegmentPart::Chunk(at, chunk)) => self.add(at, segment.at, &chunk),
                Some(SegmentPart::Damage(from, to)) => self.damaged.push((from, to)),
                None => {
                    self.is_closed = is_closed;
                    break;
                }
            }
            self.at = segment.at;
        }
        Ok(true)
    }

    fn add(&mut self, at: u64, end: u64, chunk: &Chunk) {
        if chunk.processes.iter().any(|part| part.dictionary_bytes > 0) {
            self.dictionaries.push(at);
        }
        let is_full =
            |part: &IndexPart| part.end - part.at >= PART_BYTES || part.chunks >= PART_CHUNKS;
        if self.parts.last().is_none_or(is_full) {
            let (levels, records, gaps) = ([0; 16], None, None);
            self.parts.push(IndexPart { at, end, chunks: 0, records, levels, gaps });
        }
        if let Some(part) = self.parts.last_mut() {
            part.add(chunk, end);
        }
    }

    /// Visits the chunks of a part until the visitor has enough; what is no chunk is added to `damaged`.
    pub(super) fn chunks(
        &self,
        segment: &mut Segment,
        part: &IndexPart,
        damaged: &mut Vec<(u64, u64)>,
        visit: &mut VisitChunk<'_>,
    ) -> io::Result<()> {
        segment.at = part.at;
        while segment.at < part.end {
            match segment.next(true)? {
                Some(SegmentPart::Chunk(at, chunk)) => {
                    if !visit(segment, at, &Arc::from(chunk))? {
                        break;
                    }
                }
                Some(SegmentPart::Damage(from, to)) => damaged.push((from, to)),
                None => break,
            }
        }
        Ok(())
    }
}
