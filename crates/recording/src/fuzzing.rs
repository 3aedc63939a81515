//! For fuzz targets: recordings of arbitrary bytes with valid checksums, so that the fuzzer reaches
//! the decoders.  Not part of the interface.

use std::path::Path;
use std::sync::Arc;

use sample::{Meta, Snapshot, SourceDef};

use crate::compression::STORED;
use crate::format::{BlockHeader, BlockKind, HEADER_BYTES, Prelude, VERSION, aligned, crc};
use crate::frame::{FRAME_HEADER_BYTES, seal};
use crate::reader::{ReadOutcome, Reader};
use crate::schema::encode_head;

/// The number of each recording and stream of this module.
pub const FILE_ID: u64 = 7;

/// The part of a recording that the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The decompressed head of the file.
    Head,
    /// The body of a block of columns.
    Columns,
    /// Frames, each a length in two bytes and so many bytes of payload.
    Frames,
}

/// A recording of `defs` with `bytes` as one of its parts.
pub fn file_around(part: Part, bytes: &[u8], defs: &[Arc<SourceDef>]) -> Vec<u8> {
    let schemas = defs.to_vec();
    let own_head = encode_head(&Meta::new(), &schemas);
    let head = if part == Part::Head { bytes } else { own_head.as_slice() };
    let first_block = aligned((HEADER_BYTES + head.len()) as u64);
    let prelude = Prelude {
        version: VERSION,
        first_block: first_block as u32,
        file_id: FILE_ID,
        pid: 0,
        head_stored_bytes: head.len() as u32,
        head_plain_bytes: head.len() as u32,
        head_crc: crc(&[head]),
        head_compression: STORED,
    };
    let mut file = prelude.encode().to_vec();
    file.extend_from_slice(head);
    file.resize(first_block as usize, 0);
    match part {
        Part::Head => {}
        Part::Columns => columns(bytes, &mut file),
        Part::Frames => frames(bytes, &mut file),
    }
    file
}

fn columns(body: &[u8], file: &mut Vec<u8>) {
    // The header and the body must agree on the number of samples: any of these may fit.
    for (index, samples) in [1, 2, 3, 5, 8, 20].into_iter().enumerate() {
        let mut header = BlockHeader::new(BlockKind::Columns, index as u32 + 1, 0);
        header.samples = samples;
        header.body_bytes = body.len() as u32;
        header.body_crc = crc(&[body]);
        file.extend_from_slice(&header.encode(FILE_ID));
        file.extend_from_slice(body);
        file.resize(aligned(file.len() as u64) as usize, 0);
    }
}

fn frames(bytes: &[u8], file: &mut Vec<u8>) {
    let header = BlockHeader::new(BlockKind::Open, 1, 0);
    file.extend_from_slice(&header.encode(FILE_ID));
    put_frames(bytes, 1, file);
}

/// A stream of `defs` as a recorder sends it: its head, and frames, each a length in two bytes and so many
/// bytes of payload.
///
/// # Panics
/// If the head cannot be compressed.
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn stream_around(bytes: &[u8], defs: &[Arc<SourceDef>]) -> (Vec<u8>, Vec<u8>) {
    let mut meta = Meta::new();
    meta.set("host", "host");
    let head = crate::stream::stream_head(&meta, defs, FILE_ID).expect("a head");
    let mut frames = Vec::new();
    put_frames(bytes, crate::stream::BLOCK, &mut frames);
    (head, frames)
}

/// Appends frames of a block under right checksums.
fn put_frames(bytes: &[u8], block: u32, file: &mut Vec<u8>) {
    let (mut rest, mut ordinal) = (bytes, 0);
    while let [low, high, behind @ ..] = rest {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(behind.len());
        let start = file.len();
        file.resize(start + FRAME_HEADER_BYTES, 0);
        file.extend_from_slice(&behind[..length]);
        seal(file, start, FILE_ID, block, ordinal);
        ordinal += 1;
        rest = &behind[length..];
    }
}

/// Reads everything, first from the start and then a field from a time on; returns the number of samples.
pub fn read_through(file: Vec<u8>) -> u64 {
    let Ok(mut reader) = Reader::with_store(Box::new(file), Path::new("fuzz"), &[]) else {
        return 0;
    };
    let mut snapshot = Snapshot::new(&reader.defs());
    let mut samples = 0;
    let mut times = 0_i64;
    while matches!(reader.next(&mut snapshot), Ok(ReadOutcome::Sample)) {
        samples += 1;
        times = times.wrapping_add(snapshot.realtime_ns);
        for sample in &snapshot.samples {
            assert!(sample.table.values().len() == sample.table.rows() * sample.table.width());
        }
        assert!(reader.texts().all(|(path, text)| path.len() <= 1 << 30 && text.len() <= 1 << 30));
    }
    reader.focus(&[(1, vec![0])]);
    reader.seek(times);
    while matches!(reader.next(&mut snapshot), Ok(ReadOutcome::Sample)) {}
    std::hint::black_box(reader.damage());
    samples
}
