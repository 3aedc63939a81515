//! What one commit takes: frames that were admitted, and how they become a chunk.
//!
//! Records of all streams are merged by time, by galloping: a run of one stream is copied while its
//! stamps are below those of all others.  Nothing is allocated for a record.  A block is compressed as
//! columns (`columns.rs`), or as it is where these would be longer.

use std::collections::HashMap;

use log_format::shown_level;
use logring::RingNotice;
use logring::abi::kind;

use crate::store::chunk::{
    BLOCK_BYTES, BLOCK_OF_COLUMNS, BLOCK_OF_ROWS, BLOCK_STREAM_BYTES, BlockIndex, RUN_BYTES,
    StreamPart,
};
use crate::store::columns::ColumnEncoder;
use log_protocol::record::{RecordHead, extended};
use log_protocol::{GapReason, ProcessId, ProcessInfo, StreamId, StreamInfo};

/// Records of a stream, as they came.
#[derive(Debug)]
pub struct RecordsPart {
    /// The stream.
    pub stream: StreamId,
    /// The frame's body.
    pub body: Vec<u8>,
    /// Bytes of it that are here already.
    pub skip_bytes: usize,
    /// Records behind them.
    pub count: u32,
    /// The mark before.
    pub first: u64,
    /// The mark after.
    pub next: u64,
    /// Records between the marks that the proxy left out.
    pub left_out: u32,
}

/// Records that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostPart {
    /// The stream.
    pub stream: StreamId,
    /// The first.
    pub first: u64,
    /// The first that is there again.
    pub next: u64,
    /// Why.
    pub reason: GapReason,
}

/// What one commit takes.  Records of a stream are in their order.
#[derive(Debug, Default)]
pub struct CommitBatch {
    /// Processes that were described.
    pub processes: Vec<ProcessInfo>,
    /// Streams that were described.
    pub streams: Vec<StreamInfo>,
    /// Bytes of dictionaries: process, offset, bytes.
    pub dictionaries: Vec<(ProcessId, u64, Vec<u8>)>,
    /// Records.
    pub records: Vec<RecordsPart>,
    /// What is missing.
    pub lost: Vec<LostPart>,
    /// Processes of which nothing will come any more.
    pub ended: Vec<ProcessId>,
    /// Bytes of it all.
    pub bytes: usize,
}

impl CommitBatch {
    /// Whether there is nothing to commit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
            && self.dictionaries.is_empty()
            && self.lost.is_empty()
            && self.ended.is_empty()
    }

    /// How many records it has.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        self.records.iter().map(|part| u64::from(part.count)).sum()
    }
}

/// A stream's records that wait to be merged: parts in their order.
struct Lane {
    /// Index of the stream in the chunk.
    stream: u32,
    /// Indices of parts in the batch.
    parts: Vec<usize>,
    /// The part that is read, in `parts`.
    part: usize,
    /// Where its next record begins.
    at: usize,
    /// Stamp of the next record.
    stamp: u64,
    /// The sequence number that is expected next.
    expected: u64,
    /// The number of the block that it has records in.
    block: usize,
}

impl Lane {
    /// Goes to the next record, over the ends of parts; `None` after the last.
    fn head(&mut self, batch: &CommitBatch) -> Option<RecordHead> {
        loop {
            let part = batch.records.get(*self.parts.get(self.part)?)?;
            if self.at == 0 {
                self.at = part.skip_bytes;
                self.expected = self.expected.max(part.first);
            }
            if let Some(head) = RecordHead::at(&part.body, self.at) {
                self.stamp = head.stamp;
                return Some(head);
            }
            self.part += 1;
            self.at = 0;
        }
    }
}

/// A block in the making.
#[derive(Default)]
struct OpenBlock {
    records: Vec<u8>,
    runs: Vec<(u32, u32)>,
    /// Streams, and the sequence number of the first record of each.
    streams: Vec<(u32, u64)>,
    index: BlockIndex,
}

impl OpenBlock {
    fn clear(&mut self) {
        self.records.clear();
        self.runs.clear();
        self.streams.clear();
        self.index = BlockIndex { first_ns: u64::MAX, ..BlockIndex::default() };
    }

    /// The records with runs and streams behind them.
    fn with_tail(&mut self) -> &[u8] {
        for (stream, count) in &self.runs {
            self.records.extend_from_slice(&stream.to_le_bytes());
            self.records.extend_from_slice(&count.to_le_bytes());
        }
        for (stream, first) in &self.streams {
            self.records.extend_from_slice(&u64::from(*stream).to_le_bytes());
            self.records.extend_from_slice(&first.to_le_bytes());
        }
        &self.records
    }
}

/// Merges records into blocks, and keeps its buffers.
pub(crate) struct Builder {
    block: OpenBlock,
    encoder: ColumnEncoder,
    compressor: zstd::bulk::Compressor<'static>,
    /// Compressed blocks, one after the other.
    pub(crate) bodies: Vec<u8>,
    pub(crate) blocks: Vec<BlockIndex>,
}

/// Gives the bit of a record's logger: of a process's index and a context's number.
pub(crate) type LoggerBit<'a> = &'a dyn Fn(u32, u32) -> u64;

/// What records are merged into, beside the blocks.
pub(crate) struct Merge<'a> {
    pub(crate) batch: &'a CommitBatch,
    /// The streams of the chunk.  A thread that begins in a ring begins another entry.
    pub(crate) streams: &'a mut Vec<StreamPart>,
    pub(crate) logger_bit: LoggerBit<'a>,
}

impl Builder {
    pub(crate) fn new(level: i32) -> std::io::Result<Self> {
        let compressor = zstd::bulk::Compressor::new(level)?;
        Ok(Builder {
            block: OpenBlock::default(),
            encoder: ColumnEncoder::default(),
            compressor,
            bodies: Vec::new(),
            blocks: Vec::new(),
        })
    }

    /// Merges the records of a batch; `of` gives the index of each stream in the chunk.
    pub(crate) fn merge(
        &mut self,
        to: &mut Merge<'_>,
        of: &HashMap<StreamId, u32>,
    ) -> std::io::Result<()> {
        self.bodies.clear();
        self.blocks.clear();
        self.block.clear();
        let batch = to.batch;
        let mut lanes = lanes(batch, of);
        lanes.retain_mut(|lane| lane.head(batch).is_some());
        while !lanes.is_empty() {
            let (first, limit) = smallest(&lanes);
            if !self.copy_run(to, &mut lanes[first], limit)? {
                lanes.swap_remove(first);
            }
        }
        self.close_block()
    }

    /// Copies records of a lane while their stamps are not above `limit`; whether it has more.
    fn copy_run(
        &mut self,
        to: &mut Merge<'_>,
        lane: &mut Lane,
        limit: u64,
    ) -> std::io::Result<bool> {
        let mut count = 0;
        let mut context = u32::MAX;
        let process = to.streams[lane.stream as usize].process;
        let has_more = loop {
            let Some(head) = lane.head(to.batch) else { break false };
            if head.stamp > limit && count > 0 {
                break true;
            }
            let body = &to.batch.records[lane.parts[lane.part]].body;
            let record = &body[lane.at..lane.at + head.bytes];
            let sequence = extended(lane.expected, head.sequence).unwrap_or(lane.expected);
            if head.kind == kind::THREAD_BEGIN {
                self.end_run(lane, &mut count);
                lane.stream = begin_thread(to.streams, lane.stream, record, sequence);
                lane.block = usize::MAX;
            }
            let block = &mut self.block;
            if lane.block != self.blocks.len() {
                lane.block = self.blocks.len();
                block.streams.push((lane.stream, sequence));
            }
            lane.expected = sequence + 1;
            to.streams[lane.stream as usize].count += 1;
            block.records.extend_from_slice(record);
            lane.at += head.bytes;
            count += 1;
            let index = &mut block.index;
            index.first_ns = index.first_ns.min(head.stamp);
            index.last_ns = index.last_ns.max(head.stamp);
            let level = usize::from(shown_level(head.kind, head.level));
            // Numbers that are no levels count nothing.
            if level < BlockIndex::CUT {
                index.levels[level] += 1;
            }
            index.levels[BlockIndex::CUT] += u32::from(head.is_cut);
            if context != head.context {
                context = head.context;
                index.loggers |= (to.logger_bit)(process, context);
            }
            if head.kind == kind::DROPPED && head.context == 0 {
                // Of any logger.
                index.loggers = u64::MAX;
            }
            if block.records.len() >= BLOCK_BYTES {
                self.end_run(lane, &mut count);
                context = u32::MAX;
                self.close_block()?;
            }
        };
        self.end_run(lane, &mut count);
        Ok(has_more)
    }

    fn end_run(&mut self, lane: &Lane, count: &mut u32) {
        if *count > 0 {
            self.block.runs.push((lane.stream, *count));
            *count = 0;
        }
    }

    fn close_block(&mut self) -> std::io::Result<()> {
        let block = &mut self.block;
        if !block.records.is_empty() {
            let mut index = std::mem::take(&mut block.index);
            index.records = block.runs.iter().map(|(_, count)| count).sum();
            index.runs = block.runs.len() as u32;
            index.streams = block.streams.len() as u32;
            let tail_bytes =
                block.runs.len() * RUN_BYTES + block.streams.len() * BLOCK_STREAM_BYTES;
            index.raw_bytes = (block.records.len() + tail_bytes) as u32;
            let columns = self.encoder.encode(&block.records, &block.runs, &block.streams);
            let (form, raw) = match columns {
                Some(columns) => (BLOCK_OF_COLUMNS, columns),
                None => (BLOCK_OF_ROWS, block.with_tail()),
            };
            let start = self.bodies.len();
            self.bodies.push(form);
            self.bodies.resize(start + 1 + zstd::zstd_safe::compress_bound(raw.len()), 0);
            let to = &mut self.bodies[start + 1..];
            let bytes = 1 + self.compressor.compress_to_buffer(raw, to)?;
            self.bodies.truncate(start + bytes);
            index.bytes = bytes as u32;
            index.crc = crc32c::crc32c(&self.bodies[start..]);
            self.blocks.push(index);
        }
        block.clear();
        Ok(())
    }
}

fn lanes(batch: &CommitBatch, streams: &HashMap<StreamId, u32>) -> Vec<Lane> {
    let mut by_stream: HashMap<StreamId, usize> = HashMap::new();
    let mut lanes: Vec<Lane> = Vec::new();
    for (number, part) in batch.records.iter().enumerate() {
        let Some(stream) = streams.get(&part.stream) else { continue };
        let lane = *by_stream.entry(part.stream).or_insert_with(|| {
            lanes.push(Lane {
                stream: *stream,
                parts: Vec::new(),
                part: 0,
                at: 0,
                stamp: 0,
                expected: 0,
                block: usize::MAX,
            });
            lanes.len() - 1
        });
        lanes[lane].parts.push(number);
    }
    lanes
}

/// The entry of the thread that begins with this record; gives its index.
fn begin_thread(streams: &mut Vec<StreamPart>, stream: u32, record: &[u8], sequence: u64) -> u32 {
    let mut notice = logring::RecordIterator::new(record, sequence);
    let notice = notice.next().and_then(Result::ok).and_then(|record| record.notice());
    let Some(RingNotice::ThreadBegin { tid, name }) = notice else { return stream };
    let thread = String::from_utf8_lossy(name).into_owned();
    let old = &mut streams[stream as usize];
    if old.count == 0 {
        (old.tid, old.thread) = (tid, thread);
        return stream;
    }
    let next = std::mem::replace(&mut old.next, sequence);
    let (process, ring) = (old.process, old.ring);
    let part = StreamPart { process, ring, tid, thread, first: sequence, next, count: 0 };
    streams.push(part);
    streams.len() as u32 - 1
}

/// The lane with the smallest stamp, and the smallest stamp of the others.  A scan: there are as
/// many lanes as threads that logged within one commit.
fn smallest(lanes: &[Lane]) -> (usize, u64) {
    let (mut first, mut limit) = (0, u64::MAX);
    for (at, lane) in lanes.iter().enumerate().skip(1) {
        if lane.stamp < lanes[first].stamp {
            limit = lanes[first].stamp;
            first = at;
        } else {
            limit = limit.min(lane.stamp);
        }
    }
    (first, limit)
}

/// The parts of a block after decompression: records, runs, streams.
pub(crate) fn split_block<'a>(
    raw: &'a [u8],
    index: &BlockIndex,
) -> Option<(&'a [u8], &'a [u8], &'a [u8])> {
    let streams = index.streams as usize * BLOCK_STREAM_BYTES;
    let runs = index.runs as usize * RUN_BYTES;
    let records = raw.len().checked_sub(streams)?.checked_sub(runs)?;
    let (records, rest) = raw.split_at(records);
    let (runs, streams) = rest.split_at(runs);
    Some((records, runs, streams))
}
