//! Reading a store: what its index lets through, in the order of time.
//!
//! Heads and tables of all chunks are read; blocks only where their index allows a match, and their words
//! only when it is a block's turn, so that whoever needs few records reads little.  Blocks whose times
//! overlap are merged; one is held in memory from its first record to its last.
//! Nothing is locked: a store may be read while it is written.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use logring::{RecordIterator, RingRecord};

use crate::store::dictionaries::{Dictionaries, Visit};
use crate::store::opened::OpenedSegments;
use crate::store::segment::{self, Segment, SegmentPart};
use crate::store::words::WantedKeys;
use crate::store::{BLOCK_STREAM_BYTES, BlockIndex, Chunk, RUN_BYTES, split_block};
use log_protocol::bytes::{u32_at, u64_at};

/// Reads a store.
#[derive(Debug)]
pub struct StoreReader {
    pub(crate) folder: PathBuf,
    pub(crate) dictionaries: Dictionaries,
    /// The segment that is read, and its number.
    current: Option<(u64, Segment)>,
    /// The segment that comes next.
    next: u64,
    /// What blocks must have that are read.
    pub(crate) wanted: WantedKeys,
    /// Segments whose blocks are read in the order of time.
    opened: OpenedSegments,
    /// What was damaged: file, first byte, byte after the last.
    pub damaged: Vec<(PathBuf, u64, u64)>,
}

/// A block that may hold records that are wanted.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) segment: u64,
    pub(crate) at: u64,
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) block: usize,
}

impl Candidate {
    pub(super) fn last_ns(&self) -> u64 {
        self.chunk.blocks[self.block].last_ns
    }
}

/// A block that is read.
pub(crate) struct OpenBlock {
    chunk: Arc<Chunk>,
    raw: Vec<u8>,
    /// Bytes of records in `raw`.
    records: usize,
    cursor: BlockCursor,
}

/// Where in a block the next record is.
#[derive(Debug, Default)]
struct BlockCursor {
    at: usize,
    run: usize,
    left_in_run: u32,
    stream: u32,
    /// The sequence number that comes next in this stream.
    expected: u64,
    /// Positions of the other streams.
    others: HashMap<u32, u64>,
}

impl StoreReader {
    /// Reads a store from its first segment on.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let first = segment::NAMES.list(folder)?.first().copied().unwrap_or(0);
        Ok(StoreReader::open_from(folder, first))
    }

    /// Reads a store from its newest segment on, which needs no other.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn open_newest(folder: &Path) -> io::Result<Self> {
        let mut reader = StoreReader::open(folder)?;
        let numbers = segment::NAMES.list(folder)?;
        // The last one may be without a head still.
        let is_begun = |number: &u64| {
            let opened = Segment::open(&segment::NAMES.path(folder, *number));
            opened.is_ok_and(|segment| segment.is_some())
        };
        reader.next = numbers.into_iter().rev().find(is_begun).unwrap_or(reader.next);
        Ok(reader)
    }

    /// Reads a store from a segment on, or from the next one that is there.
    #[must_use]
    pub fn open_from(folder: &Path, number: u64) -> Self {
        StoreReader {
            folder: folder.to_owned(),
            dictionaries: Dictionaries::default(),
            current: None,
            next: number,
            wanted: WantedKeys::default(),
            opened: OpenedSegments::new(folder),
            damaged: Vec::new(),
        }
    }

    /// The number of the segment that is read, and the random number of its store.
    #[must_use]
    pub fn segment(&self) -> Option<(u64, [u8; 16])> {
        self.current.as_ref().map(|(number, segment)| (*number, segment.head.folder))
    }

    /// Passes over blocks of which is known that they lack what is wanted; before the first chunk.
    pub fn look_up(&mut self, wanted: WantedKeys) {
        self.wanted = wanted;
    }

    /// Keeps the bytes of dictionaries, for whoever passes records on.
    pub fn keep_dictionary_bytes(&mut self) {
        self.dictionaries.keep_bytes();
    }

    /// The next chunk that is committed; `None` if there is none yet.  Dictionaries are taken over.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn next_chunk(&mut self) -> io::Result<Option<(Arc<Chunk>, u64)>> {
        loop {
            if self.current.is_none() && !self.open_next()? {
                return Ok(None);
            }
            let Some((number, segment)) = &mut self.current else { return Ok(None) };
            let number = *number;
            // A segment is closed when there is one behind it; looked up only at its end.
            let mut piece = segment.next(false)?;
            if piece.is_none() {
                let Some(after) = following(&self.folder, number)? else { return Ok(None) };
                piece = segment.next(true)?;
                if piece.is_none() {
                    self.current = None;
                    self.next = after;
                    continue;
                }
            }
            match piece {
                Some(SegmentPart::Chunk(at, chunk)) => {
                    self.dictionaries.add_chunk(segment, at, &chunk)?;
                    return Ok(Some((Arc::from(chunk), at)));
                }
                Some(SegmentPart::Damage(from, to)) => {
                    let path = segment::NAMES.path(&self.folder, number);
                    self.damaged.push((path, from, to));
                }
                None => {}
            }
        }
    }

    /// Opens the next segment; whether there is one.
    fn open_next(&mut self) -> io::Result<bool> {
        let numbers = segment::NAMES.list(&self.folder)?;
        for number in numbers.into_iter().filter(|number| *number >= self.next) {
            let path = segment::NAMES.path(&self.folder, number);
            match Segment::open(&path) {
                Ok(Some(segment)) => {
                    self.current = Some((number, segment));
                    return Ok(true);
                }
                // Its head is being written, or was never.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// The path of the segment that is read.
    fn path(&self) -> PathBuf {
        segment::NAMES.path(&self.folder, self.current.as_ref().map_or(0, |(number, _)| *number))
    }

    /// Visits the records of a chunk that was just read, in the order of their times.
    ///
    /// # Errors
    /// If the segment cannot be read.
    pub fn visit_chunk(
        &mut self,
        chunk: &Arc<Chunk>,
        at: u64,
        wanted: &dyn Fn(&Chunk, &BlockIndex) -> bool,
        visit: &mut Visit<'_>,
    ) -> io::Result<ControlFlow<()>> {
        let number = self.current.as_ref().map_or(0, |(number, _)| *number);
        for block in 0..chunk.blocks.len() {
            if wanted(chunk, &chunk.blocks[block])
                && self.opened.may_have(number, (at, chunk, block), &self.wanted)?
                && self.visit_block(chunk, at, block, visit)? == Some(ControlFlow::Break(()))
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Visits the records of a block of a chunk that was just read; `None` if it is damaged.
    ///
    /// # Errors
    /// If the segment cannot be read.
    pub fn visit_block(
        &mut self,
        chunk: &Arc<Chunk>,
        at: u64,
        block: usize,
        visit: &mut Visit<'_>,
    ) -> io::Result<Option<ControlFlow<()>>> {
        let Some((_, segment)) = &self.current else { return Ok(None) };
        let Some(mut open) = OpenBlock::read(segment, at, chunk, block)? else {
            self.damaged.push((self.path(), at, at + chunk.total_bytes));
            return Ok(None);
        };
        while let Some((stream, record)) = open.next() {
            if self.dictionaries.show(chunk, stream, &record, visit).is_break() {
                return Ok(Some(ControlFlow::Break(())));
            }
        }
        open.close(segment);
        Ok(Some(ControlFlow::Continue(())))
    }

    /// Visits every record that is committed by now and that the index lets through, in the order
    /// of their times.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn visit_all(
        &mut self,
        wanted: &dyn Fn(&Chunk, &BlockIndex) -> bool,
        visit: &mut Visit<'_>,
    ) -> io::Result<ControlFlow<()>> {
        let candidates = self.candidates(wanted)?;
        self.merge(candidates, visit)
    }

    /// The blocks that are committed by now and that the index lets through.
    pub(crate) fn candidates(
        &mut self,
        wanted: &dyn Fn(&Chunk, &BlockIndex) -> bool,
    ) -> io::Result<Vec<Candidate>> {
        let mut candidates = Vec::new();
        while let Some((chunk, at)) = self.next_chunk()? {
            let segment = self.current.as_ref().map_or(0, |(number, _)| *number);
            for block in 0..chunk.blocks.len() {
                if wanted(&chunk, &chunk.blocks[block]) {
                    candidates.push(Candidate { segment, at, chunk: chunk.clone(), block });
                }
            }
        }
        Ok(candidates)
    }

    /// Merges the records of blocks by their times.
    pub(super) fn merge(
        &mut self,
        mut candidates: Vec<Candidate>,
        visit: &mut Visit<'_>,
    ) -> io::Result<ControlFlow<()>> {
        // The earliest is last, where it is taken from.
        candidates.sort_by_key(|one| Reverse(one.chunk.blocks[one.block].first_ns));
        let mut blocks: HashMap<usize, OpenBlock> = HashMap::new();
        let mut heap: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        let mut made = 0;
        loop {
            // Every block that may hold a record before the earliest that is open is opened.
            while let Some(next) = candidates.last() {
                let first = next.chunk.blocks[next.block].first_ns;
                if heap.peek().is_some_and(|Reverse((stamp, _))| *stamp < first) {
                    break;
                }
                let Some(next) = candidates.pop() else { break };
                if let Some(mut block) = self.open_candidate(&next)?
                    && let Some(stamp) = block.stamp()
                {
                    heap.push(Reverse((stamp, made)));
                    blocks.insert(made, block);
                    made += 1;
                }
            }
            let Some(Reverse((_, number))) = heap.pop() else { break };
            let Some(block) = blocks.get_mut(&number) else { continue };
            let limit = heap.peek().map_or(u64::MAX, |Reverse((stamp, _))| *stamp);
            let coming = candidates.last().map_or(u64::MAX, |c| c.chunk.blocks[c.block].first_ns);
            match self.show_until(block, limit.min(coming), visit) {
                Some(ControlFlow::Break(())) => return Ok(ControlFlow::Break(())),
                Some(ControlFlow::Continue(())) => {
                    let stamp = block.stamp().unwrap_or(u64::MAX);
                    heap.push(Reverse((stamp, number)));
                }
                None => {
                    if let Some(block) = blocks.remove(&number) {
                        self.opened.give_back(block.raw);
                    }
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Shows records of a block that are not after `limit`, and at least one; `None` at its end.
    fn show_until(
        &self,
        block: &mut OpenBlock,
        limit: u64,
        visit: &mut Visit<'_>,
    ) -> Option<ControlFlow<()>> {
        let chunk = block.chunk.clone();
        loop {
            let (stream, record) = block.next()?;
            if self.dictionaries.show(&chunk, stream, &record, visit).is_break() {
                return Some(ControlFlow::Break(()));
            }
            if block.stamp()? > limit {
                return Some(ControlFlow::Continue(()));
            }
        }
    }

    /// Opens a block, if it may have what is looked up.
    fn open_candidate(&mut self, candidate: &Candidate) -> io::Result<Option<OpenBlock>> {
        let Candidate { segment: number, at, chunk, block } = candidate;
        if !self.opened.may_have(*number, (*at, chunk, *block), &self.wanted)? {
            return Ok(None);
        }
        // Retention may have removed it meanwhile.
        let Some(segment) = self.opened.segment(*number)? else { return Ok(None) };
        let opened = OpenBlock::read(segment, *at, chunk, *block)?;
        if opened.is_none() {
            let path = segment::NAMES.path(&self.folder, *number);
            self.damaged.push((path, *at, at + chunk.total_bytes));
        }
        Ok(opened)
    }
}

impl OpenBlock {
    pub(crate) fn read(
        segment: &Segment,
        at: u64,
        chunk: &Arc<Chunk>,
        number: usize,
    ) -> io::Result<Option<Self>> {
        let Some(raw) = segment.block(at, chunk, number)? else { return Ok(None) };
        let Some((records, _, streams)) = split_block(&raw, &chunk.blocks[number]) else {
            return Ok(None);
        };
        let others = streams
            .chunks_exact(BLOCK_STREAM_BYTES)
            .map(|entry| (u32_at(entry, 0), u64_at(entry, 8)))
            .collect();
        let records = records.len();
        let cursor = BlockCursor { others, ..BlockCursor::default() };
        Ok(Some(OpenBlock { chunk: chunk.clone(), raw, records, cursor }))
    }

    /// Ends reading: its memory is for the next block of the segment.
    pub(crate) fn close(self, segment: &Segment) {
        segment.give_back(self.raw);
    }

    /// Goes to the run of the next record; `false` at the end.
    fn find_run(&mut self) -> bool {
        while self.cursor.left_in_run == 0 {
            let runs = &self.raw[self.records..];
            let at = self.cursor.run * RUN_BYTES;
            if self.cursor.at >= self.records || at + RUN_BYTES > runs.len() {
                return false;
            }
            let stream = u32_at(runs, at);
            if stream != self.cursor.stream || self.cursor.run == 0 {
                let others = &mut self.cursor.others;
                if self.cursor.run > 0 {
                    others.insert(self.cursor.stream, self.cursor.expected);
                }
                self.cursor.expected = others.get(&stream).copied().unwrap_or(0);
                self.cursor.stream = stream;
            }
            self.cursor.left_in_run = u32_at(runs, at + 4);
            self.cursor.run += 1;
        }
        self.cursor.at < self.records
    }

    /// The stamp of the next record.
    fn stamp(&mut self) -> Option<u64> {
        self.find_run().then(|| u64_at(&self.raw, self.cursor.at + 8))
    }

    /// The next record and its stream.
    pub(crate) fn next(&mut self) -> Option<(u32, RingRecord<'_>)> {
        if !self.find_run() {
            return None;
        }
        let cursor = &mut self.cursor;
        let bytes = &self.raw[cursor.at..self.records];
        let length = usize::from(u16::from_le_bytes(*bytes.first_chunk()?)) * 8;
        let mut records = RecordIterator::new(bytes.get(..length)?, cursor.expected);
        let record = records.next()?.ok()?;
        cursor.expected = record.sequence.wrapping_add(1);
        cursor.at += length;
        cursor.left_in_run -= 1;
        Some((cursor.stream, record))
    }
}

/// The number of the segment after this one.
fn following(folder: &Path, number: u64) -> io::Result<Option<u64>> {
    Ok(segment::NAMES.list(folder)?.into_iter().find(|other| *other > number))
}
