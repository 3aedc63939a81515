//! For fuzz targets: stores of arbitrary bytes with right checksums, so that the fuzzer reaches what is
//! behind them.  Not part of the interface.

use log_protocol::bytes::{u32_at, u64_at};
use log_protocol::fuzzing::{mend_head, places_of};
use log_protocol::{ProcessId, ProcessInfo};
use segments::SegmentHead;

use crate::store::segment;
use crate::store::words;
use crate::store::{
    BLOCK_OF_COLUMNS, BLOCK_OF_ROWS, BLOCK_STREAM_BYTES, BlockIndex, Chunk, ColumnEncoder,
    ProcessPart, RUN_BYTES, StreamPart,
};

/// The bytes with the checksums of a store's segment, its chunks and their blocks.
#[must_use]
pub fn mended_store(mut bytes: Vec<u8>) -> Vec<u8> {
    mend_head(&mut bytes, 0);
    for at in places_of(&bytes, &crate::store::CHUNK_MAGIC) {
        if bytes.len() < at + 64 {
            continue;
        }
        let table_end = (at + 64).saturating_add(u32_at(&bytes, at + 4) as usize);
        if table_end > bytes.len() {
            continue;
        }
        mend_chunk(&mut bytes, at, table_end);
        if let Some(chunk) = Chunk::decode(&bytes[at..at + 64], &bytes[at + 64..table_end]) {
            for (number, block) in chunk.blocks.iter().enumerate() {
                let from = usize::try_from(block.offset).unwrap_or(usize::MAX).saturating_add(at);
                let body = bytes.get(from..from.saturating_add(block.bytes as usize));
                let Some(crc) = body.map(crc32c::crc32c) else { continue };
                let entry = table_end - (chunk.blocks.len() - number) * BlockIndex::BYTES;
                bytes[entry + 16..entry + 20].copy_from_slice(&crc.to_le_bytes());
            }
            mend_chunk(&mut bytes, at, table_end);
        }
    }
    bytes
}

fn mend_chunk(bytes: &mut [u8], at: usize, table_end: usize) {
    let crc = crc32c::crc32c(&bytes[at + 64..table_end]);
    bytes[at + 8..at + 12].copy_from_slice(&crc.to_le_bytes());
    mend_head(bytes, at);
}

/// A segment of a store with one block, which is these bytes but for the first eight: records, runs
/// and streams as the index says (u16 each), and of columns how many bytes they stand for (u16; 0: they
/// are no columns).
#[must_use]
pub fn store_around(bytes: &[u8]) -> Vec<u8> {
    let head = SegmentHead { number: 0, created_ns: 1, folder: [6; 16] };
    let mut out = head.encode(segment::MAGIC, segment::VERSION).to_vec();
    let Some((numbers, raw)) = bytes.split_first_chunk::<8>() else { return out };
    let word = u64_at(numbers, 0);
    let part = |shift: u64| (word >> shift) as u32 & 0xFFFF;
    let (form, raw_bytes) = match part(48) {
        0 => (BLOCK_OF_ROWS, raw.len() as u32),
        raw_bytes => (BLOCK_OF_COLUMNS, raw_bytes),
    };
    let compressed = [&[form], &*zstd::bulk::compress(raw, 1).unwrap_or_default()].concat();
    let id = ProcessId([4; 16]);
    let stream = |ring| StreamPart {
        process: 0,
        ring,
        tid: 1,
        thread: String::new(),
        first: 0,
        next: u64::from(part(0)),
        count: part(0),
    };
    let mut chunk = Chunk {
        is_checkpoint: true,
        number: 0,
        committed_ns: 2,
        processes: vec![ProcessPart {
            info: ProcessInfo { id, ..ProcessInfo::default() },
            dictionary_offset: 0,
            dictionary_bytes: 0,
            dictionary_crc: crc32c::crc32c(&[]),
        }],
        streams: vec![stream(1), stream(2)],
        blocks: vec![BlockIndex {
            bytes: compressed.len() as u32,
            raw_bytes,
            crc: crc32c::crc32c(&compressed),
            runs: part(16),
            streams: part(32),
            records: part(0),
            first_ns: 0,
            last_ns: u64::MAX,
            loggers: u64::MAX,
            ..BlockIndex::default()
        }],
        ..Chunk::default()
    };
    chunk.encode(&mut out);
    out.extend_from_slice(&compressed);
    out
}

/// Asks bytes that stand for the words of a block for some.
pub fn ask_words(bytes: &[u8]) {
    words::ask(bytes, "dv01");
}

/// Such bytes, of messages.
#[must_use]
pub fn block_words(messages: &[&str]) -> Vec<u8> {
    words::block_of(messages)
}

/// What [`store_around`] reads: records of ring 1 in one run.
#[must_use]
pub fn short_block(records: &[u8], count: u16) -> Vec<u8> {
    let (mut run, mut stream) = ([0; RUN_BYTES], [0; BLOCK_STREAM_BYTES]);
    run[4..6].copy_from_slice(&count.to_le_bytes());
    stream[8] = 0;
    [&numbers(count, 0), records, &run, &stream].concat()
}

/// The same as columns; nothing if they cannot be.
#[must_use]
pub fn short_columns(records: &[u8], count: u16) -> Vec<u8> {
    let raw_bytes = (records.len() + RUN_BYTES + BLOCK_STREAM_BYTES) as u16;
    let mut encoder = ColumnEncoder::default();
    match encoder.encode(records, &[(0, count.into())], &[(0, 0)]) {
        Some(columns) => [&numbers(count, raw_bytes), columns].concat(),
        None => Vec::new(),
    }
}

/// The numbers of a block with one run and one stream.
fn numbers(count: u16, raw_bytes: u16) -> [u8; 8] {
    let word = u64::from(count) | 1 << 16 | 1 << 32 | u64::from(raw_bytes) << 48;
    word.to_le_bytes()
}
