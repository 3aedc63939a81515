//! A chunk: what one commit appends to a segment, with one write: marks, dictionaries and records.
//!
//! A head of 64 bytes, tables that say what is in it, dictionaries, then blocks of records, each
//! with its checksum.  Who searches reads heads and tables only.  `docs/format-log-store.md`
//! defines every byte.

use log_protocol::bytes::{ByteCursor, put_short, u32_at, u64_at};
use log_protocol::{GapReason, ProcessInfo, StreamId};
use logring::LogLevel;

/// A chunk begins so.
pub(crate) const MAGIC: [u8; 4] = *b"WLC1";
/// Bytes of the head.
pub(crate) const HEAD_BYTES: usize = 64;
/// Longest tables: a checkpoint of a million streams.
const TABLE_BYTES_MAX: u32 = 256 << 20;
/// Most bytes of records in a block, before compression: one record may be longer.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// Longest block before compression that is read: a block, a record, its runs and streams.
const RAW_BYTES_MAX: u32 = 64 << 20;
/// Flag: marks and dictionaries of everything that is known; no segment needs another one.
pub(crate) const FLAG_CHECKPOINT: u32 = 1;

/// What is in a chunk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Whether it repeats all marks and dictionaries.
    pub is_checkpoint: bool,
    /// The number of the chunk; that of the next is one more, also in the next segment.
    pub number: u64,
    /// When it was made, in ns since 1970.
    pub committed_ns: u64,
    /// The processes that the streams name.
    pub processes: Vec<ProcessPart>,
    /// The streams and their marks.
    pub streams: Vec<StreamPart>,
    /// What is proved to be missing.
    pub gaps: Vec<SequenceGap>,
    /// The blocks of records.
    pub blocks: Vec<BlockIndex>,
    /// Where the dictionaries begin, from the begin of the chunk.
    pub(crate) dictionaries_at: u64,
    /// Bytes of the whole chunk.
    pub(crate) total_bytes: u64,
    /// The checksum of its head, which has those of all its parts.
    pub(crate) head_crc: u32,
}

/// A process in a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessPart {
    /// The process that wrote the records.
    pub info: ProcessInfo,
    /// Offset of the dictionary's bytes in this chunk, in the dictionary of the process.
    pub dictionary_offset: u64,
    /// Bytes of the dictionary in this chunk.
    pub dictionary_bytes: u32,
    /// The checksum of these bytes.
    pub(crate) dictionary_crc: u32,
}

/// A stream in a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamPart {
    /// Index of its process.
    pub process: u32,
    /// Number of the ring.
    pub ring: u32,
    /// Thread id.
    pub tid: u32,
    /// Name of the thread.
    pub thread: String,
    /// The mark before this chunk.
    pub first: u64,
    /// The mark after it.
    pub next: u64,
    /// Records in this chunk.
    pub count: u32,
}

/// Records of a stream that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceGap {
    /// Index of the stream.
    pub stream: u32,
    /// Why.
    pub reason: GapReason,
    /// The first that is missing.
    pub first: u64,
    /// The first that is there again.
    pub next: u64,
}

/// What a block holds, so that it need not be read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BlockIndex {
    /// From the begin of the chunk.
    pub(crate) offset: u64,
    /// Bytes in the file.
    pub(crate) bytes: u32,
    /// Bytes before compression.
    pub(crate) raw_bytes: u32,
    /// Checksum of the bytes in the file.
    pub(crate) crc: u32,
    /// Runs of records of one stream each.
    pub(crate) runs: u32,
    /// Streams in the block.
    pub(crate) streams: u32,
    /// Records.
    pub records: u32,
    /// Smallest stamp, ns since 1970.
    pub first_ns: u64,
    /// Largest stamp.
    pub last_ns: u64,
    /// A bit for each logger: [`name_bit`].
    pub loggers: u64,
    /// Records by level; the last number, which is no level, is [`BlockIndex::cut_count`].
    pub(crate) levels: [u32; 16],
}

impl BlockIndex {
    /// Where records with a text that was cut are counted.
    pub(crate) const CUT: usize = 15;

    /// Records of which the writer has cut a text.
    #[must_use]
    pub fn cut_count(&self) -> u32 {
        self.levels[Self::CUT]
    }

    /// Whether it has records of this level or above.
    #[must_use]
    pub fn has_level(&self, level: LogLevel) -> bool {
        let from = usize::from(level.number());
        self.levels[from..Self::CUT].iter().any(|count| *count > 0)
    }
}

/// The bit of a name in a block's index.
#[must_use]
pub fn name_bit(name: &[u8]) -> u64 {
    1 << (crc32c::crc32c(name) & 63)
}

/// The first byte of a block: its records are as they came.
pub(crate) const BLOCK_OF_ROWS: u8 = 0;
/// The first byte of a block: its records are columns.
pub(crate) const BLOCK_OF_COLUMNS: u8 = 1;

/// Bytes of a run: stream, count.
pub(crate) const RUN_BYTES: usize = 8;
/// Bytes of a stream of a block: index in the chunk, 0, sequence of its first record.
pub(crate) const BLOCK_STREAM_BYTES: usize = 16;

impl Chunk {
    /// The bytes of head and tables, of which the offsets are filled in here: dictionaries follow
    /// at once, then the blocks in their order.
    pub(crate) fn encode(&mut self, out: &mut Vec<u8>) {
        let mut table = Vec::with_capacity(256);
        for part in &self.processes {
            part.info.encode(&mut table);
            table.extend_from_slice(&part.dictionary_offset.to_le_bytes());
            table.extend_from_slice(&part.dictionary_bytes.to_le_bytes());
            table.extend_from_slice(&part.dictionary_crc.to_le_bytes());
        }
        for part in &self.streams {
            for number in [part.process, part.ring, part.tid, part.count] {
                table.extend_from_slice(&number.to_le_bytes());
            }
            table.extend_from_slice(&part.first.to_le_bytes());
            table.extend_from_slice(&part.next.to_le_bytes());
            put_short(&mut table, part.thread.as_bytes());
        }
        for gap in &self.gaps {
            table.extend_from_slice(&gap.stream.to_le_bytes());
            table.extend_from_slice(&(gap.reason as u32).to_le_bytes());
            table.extend_from_slice(&gap.first.to_le_bytes());
            table.extend_from_slice(&gap.next.to_le_bytes());
        }
        let table_bytes = table.len() + self.blocks.len() * BlockIndex::BYTES;
        self.dictionaries_at = (HEAD_BYTES + table_bytes) as u64;
        let dictionaries: u64 =
            self.processes.iter().map(|part| u64::from(part.dictionary_bytes)).sum();
        let mut at = self.dictionaries_at + dictionaries;
        for block in &mut self.blocks {
            block.offset = at;
            at += u64::from(block.bytes);
            block.encode(&mut table);
        }
        self.total_bytes = at;
        self.put_head(out, &table);
    }

    fn put_head(&mut self, out: &mut Vec<u8>, table: &[u8]) {
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(&MAGIC);
        let flags = if self.is_checkpoint { FLAG_CHECKPOINT } else { 0 };
        let counts = [self.processes.len(), self.streams.len(), self.gaps.len(), self.blocks.len()];
        let small = [table.len() as u32, crc32c::crc32c(table), flags];
        for (at, number) in small.into_iter().enumerate() {
            head[4 + at * 4..8 + at * 4].copy_from_slice(&number.to_le_bytes());
        }
        for (at, number) in [self.total_bytes, self.number, self.committed_ns].iter().enumerate() {
            head[16 + at * 8..24 + at * 8].copy_from_slice(&number.to_le_bytes());
        }
        for (at, count) in counts.into_iter().enumerate() {
            head[40 + at * 4..44 + at * 4].copy_from_slice(&(count as u32).to_le_bytes());
        }
        self.head_crc = crc32c::crc32c(&head[..60]);
        head[60..].copy_from_slice(&self.head_crc.to_le_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(table);
    }

    /// Bytes of the tables after a head; `None` if these bytes are no sound head.
    pub(crate) fn table_bytes(head: &[u8]) -> Option<usize> {
        let head = head.get(..HEAD_BYTES)?;
        let is_sound = head[..4] == MAGIC && u32_at(head, 60) == crc32c::crc32c(&head[..60]);
        let bytes = u32_at(head, 4);
        (is_sound && bytes <= TABLE_BYTES_MAX).then_some(bytes as usize)
    }

    /// Bytes of the chunk whose sound head this is.
    pub(crate) fn total_of(head: &[u8]) -> u64 {
        u64_at(head, 16)
    }

    /// Reads head and tables.
    pub(crate) fn decode(head: &[u8], table: &[u8]) -> Option<Self> {
        if Self::table_bytes(head)? != table.len() || u32_at(head, 8) != crc32c::crc32c(table) {
            return None;
        }
        let mut from = ByteCursor::new(table);
        let [processes, streams, gaps, blocks] =
            [40, 44, 48, 52].map(|at| u32_at(head, at) as usize);
        // What a count claims is not reserved: the table's bytes bound what is read.
        let mut chunk = Chunk {
            is_checkpoint: u32_at(head, 12) & FLAG_CHECKPOINT != 0,
            total_bytes: u64_at(head, 16),
            number: u64_at(head, 24),
            committed_ns: u64_at(head, 32),
            dictionaries_at: (HEAD_BYTES + table.len()) as u64,
            head_crc: u32_at(head, 60),
            ..Chunk::default()
        };
        for _ in 0..processes {
            chunk.processes.push(ProcessPart::decode(&mut from)?);
        }
        for _ in 0..streams {
            chunk.streams.push(StreamPart::decode(&mut from)?);
        }
        for _ in 0..gaps {
            chunk.gaps.push(SequenceGap::decode(&mut from)?);
        }
        for _ in 0..blocks {
            chunk.blocks.push(BlockIndex::decode(&mut from)?);
        }
        (from.is_empty() && chunk.is_consistent()).then_some(chunk)
    }

    /// Whether all indices and offsets are inside.
    fn is_consistent(&self) -> bool {
        let has_process = |part: &StreamPart| (part.process as usize) < self.processes.len();
        let has_stream = |gap: &SequenceGap| (gap.stream as usize) < self.streams.len();
        let is_inside = |block: &BlockIndex| {
            block.raw_bytes <= RAW_BYTES_MAX
                && block.offset.checked_add(u64::from(block.bytes)).is_some_and(|end| {
                    block.offset >= self.dictionaries_at && end <= self.total_bytes
                })
        };
        self.streams.iter().all(has_process)
            && self.gaps.iter().all(has_stream)
            && self.blocks.iter().all(is_inside)
    }

    /// The identity of a stream of this chunk.
    #[must_use]
    pub fn stream_id(&self, part: &StreamPart) -> StreamId {
        StreamId { process: self.processes[part.process as usize].info.id, ring: part.ring }
    }

    /// Records in it.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.records)).sum()
    }
}

impl ProcessPart {
    fn decode(from: &mut ByteCursor<'_>) -> Option<Self> {
        Some(ProcessPart {
            info: ProcessInfo::decode(from)?,
            dictionary_offset: from.u64()?,
            dictionary_bytes: from.u32()?,
            dictionary_crc: from.u32()?,
        })
    }
}

impl StreamPart {
    fn decode(from: &mut ByteCursor<'_>) -> Option<Self> {
        let (process, ring, tid, count) = (from.u32()?, from.u32()?, from.u32()?, from.u32()?);
        let (first, next) = (from.u64()?, from.u64()?);
        Some(StreamPart { process, ring, tid, count, first, next, thread: from.short_text()? })
    }
}

impl SequenceGap {
    fn decode(from: &mut ByteCursor<'_>) -> Option<Self> {
        let stream = from.u32()?;
        let reason = GapReason::of(from.u32()?);
        Some(SequenceGap { stream, reason, first: from.u64()?, next: from.u64()? })
    }
}

impl BlockIndex {
    /// Bytes of an entry.
    pub(crate) const BYTES: usize = 8 + 6 * 4 + 3 * 8 + 16 * 4;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        let counts = [self.bytes, self.raw_bytes, self.crc, self.runs, self.streams, self.records];
        for number in counts.into_iter() {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.first_ns, self.last_ns, self.loggers] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in self.levels {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn decode(from: &mut ByteCursor<'_>) -> Option<Self> {
        let mut block = BlockIndex {
            offset: from.u64()?,
            bytes: from.u32()?,
            raw_bytes: from.u32()?,
            crc: from.u32()?,
            runs: from.u32()?,
            streams: from.u32()?,
            records: from.u32()?,
            first_ns: from.u64()?,
            last_ns: from.u64()?,
            loggers: from.u64()?,
            levels: [0; 16],
        };
        for level in &mut block.levels {
            *level = from.u32()?;
        }
        Some(block)
    }
}
