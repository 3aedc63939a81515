//! For fuzz targets: frames, spools and stores of arbitrary bytes with right checksums, so that the
//! fuzzer reaches what is behind them.  Not part of the interface.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use crate::address::LogAddress;
use crate::bytes::{u32_at, u64_at};
use crate::connection::{LogConnection, Wait};
use crate::frame::{self, FrameKind, HEAD_BYTES, Head};
use crate::handshake::{self, FrameReader, Hello, PeerRole};
use crate::identity::{DICTIONARY, ProcessId, ProcessInfo, StreamId, StreamInfo};
use crate::proxy::{Proxy, ProxySettings};
use crate::spool::Spool;
use crate::store::segment::SegmentHead;
use crate::store::{BLOCK_STREAM_BYTES, BlockIndex, Chunk, ProcessPart, RUN_BYTES, StreamPart};

pub use crate::central::fuzz_admission;

/// Bytes in front of a frame's body, as [`frames_of`] reads them.
const SHORT_HEAD: usize = 8;

/// A small number, or one near an end of what there is.
fn number(byte: u8) -> u64 {
    match byte {
        255 => u64::MAX,
        254 => u64::MAX - 1,
        253 => 1 << 63,
        252 => 1 << 32,
        small => u64::from(small),
    }
}

/// Frames, each a head of eight bytes (kind, process, ring, records, first, next, length u16) and its
/// body.
#[must_use]
pub fn frames_of(bytes: &[u8]) -> Vec<(Head, Vec<u8>)> {
    let (mut at, mut frames) = (0, Vec::new());
    while let Some([kind, process, ring, count, first, next, low, high]) =
        bytes.get(at..).and_then(<[u8]>::first_chunk::<SHORT_HEAD>)
    {
        at += SHORT_HEAD;
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(bytes.len() - at);
        let body = &bytes[at..at + length];
        at += length;
        let Some(kind) = FrameKind::of(*kind) else { continue };
        let ring = if *ring == 255 { DICTIONARY } else { u32::from(*ring) };
        let stream = StreamId { process: ProcessId([*process; 16]), ring };
        let head = Head::of(kind, stream, number(*first), number(*next), u32::from(*count));
        frames.push((head, body.to_vec()));
    }
    frames
}

/// What [`frames_of`] reads.
#[must_use]
pub fn short_frame(kind: FrameKind, numbers: [u8; 5], body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_le_bytes();
    let mut frame = vec![kind as u8];
    frame.extend_from_slice(&numbers);
    frame.extend_from_slice(&length);
    frame.extend_from_slice(&body[..usize::from(u16::from_le_bytes(length))]);
    frame
}

/// The frames as they are sent.
#[must_use]
pub fn sent(frames: &[(Head, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (head, body) in frames {
        frame::put(&mut out, *head, body);
    }
    out
}

/// The body of a frame that describes a process and a ring.
#[must_use]
pub fn descriptions(process: u8) -> [Vec<u8>; 2] {
    let id = ProcessId([process; 16]);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let (host, name) = ("host".to_owned(), "process".to_owned());
    ProcessInfo { id, pid: 7, host, name, ..ProcessInfo::default() }.encode(&mut one);
    let id = StreamId { process: id, ring: 1 };
    StreamInfo { id, tid: 8, thread: "thread".to_owned() }.encode(&mut other);
    [one, other]
}

/// A handshake with a peer that says these bytes, and what it says behind it, from both sides.
pub fn greet(bytes: &[u8]) {
    let hello = Hello { role: PeerRole::Proxy, proxy: [3; 16], host: "host".to_owned() };
    for turn in 0..4 {
        let Ok((ours, theirs)) = UnixStream::pair() else { return };
        // What has no room is not sent.
        let _ = theirs.set_nonblocking(true);
        let _ = (&theirs).write(bytes);
        let _ = theirs.shutdown(Shutdown::Write);
        let Ok(mut connection) = LogConnection::unix(ours) else { return };
        connection.set_wait(Wait::For(Duration::from_secs(1)));
        let mut writer = connection.clone();
        let mut reader = FrameReader::new(connection);
        let secret = (turn % 2 == 1).then_some(&b"secret"[..]);
        let is_welcome = if turn < 2 {
            handshake::serve(&mut reader, &mut writer, secret, [1; 16]).is_ok()
        } else {
            handshake::greet(&mut reader, &mut writer, secret, &hello).is_ok()
        };
        let mut body = Vec::new();
        while is_welcome && matches!(reader.read(&mut body), Ok(Some(_))) {}
    }
}

/// A proxy that reads a folder of rings into a spool, without a central server.
///
/// # Panics
/// If the spool cannot be opened.
#[allow(clippy::expect_used, reason = "a fuzz target reports so")]
pub fn read_rings(rings: &Path, spool: &Path, rounds: usize) {
    let spool = Spool::open(spool, 1 << 24, [5; 16]).expect("a spool");
    let settings = ProxySettings {
        folders: vec![rings.to_owned()],
        central: Some(LogAddress::Unix(rings.join("socket"))),
        secret: None,
        tls: None,
        host: "host".to_owned(),
        idle: Duration::ZERO,
        sync: None,
    };
    Proxy::new(settings, spool).run_to_end(rounds);
}

/// The bytes with the checksums of a spool segment and its frames, wherever one begins.
#[must_use]
pub fn mended_spool(mut bytes: Vec<u8>) -> Vec<u8> {
    mend_head(&mut bytes, 0);
    let places: Vec<usize> = places_of(&bytes, &frame::MAGIC);
    for at in places {
        let Some(length) = bytes.get(at + 8..at + 12).map(|_| u32_at(&bytes, at + 8) as usize)
        else {
            continue;
        };
        let body = bytes.get(at + HEAD_BYTES..at + HEAD_BYTES + length);
        if let Some(crc) = body.map(crc32c::crc32c) {
            bytes[at + 12..at + 16].copy_from_slice(&crc.to_le_bytes());
        }
        mend_head(&mut bytes, at);
    }
    bytes
}

fn places_of(bytes: &[u8], magic: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(bytes, magic).collect()
}

/// Heads of 64 bytes end with their checksum.
fn mend_head(bytes: &mut [u8], at: usize) {
    if let Some(head) = bytes.get_mut(at..at + 64) {
        let crc = crc32c::crc32c(&head[..60]);
        head[60..].copy_from_slice(&crc.to_le_bytes());
    }
}

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
/// and streams as the index says (u16 each), a time.
#[must_use]
pub fn store_around(bytes: &[u8]) -> Vec<u8> {
    let head = SegmentHead { number: 0, store: [6; 16], created_ns: 1 };
    let mut out = head.encode().to_vec();
    let Some((numbers, raw)) = bytes.split_first_chunk::<8>() else { return out };
    let word = u64_at(numbers, 0);
    let part = |shift: u64| (word >> shift) as u32 & 0xFFFF;
    let compressed = zstd::bulk::compress(raw, 1).unwrap_or_default();
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
            raw_bytes: raw.len() as u32,
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

/// What [`store_around`] reads: records of ring 1 in one run.
#[must_use]
pub fn short_block(records: &[u8], count: u16) -> Vec<u8> {
    let mut out = count.to_le_bytes().to_vec();
    out.extend_from_slice(&[1, 0, 1, 0, 0, 0]);
    out.extend_from_slice(records);
    let (mut run, mut stream) = ([0; RUN_BYTES], [0; BLOCK_STREAM_BYTES]);
    run[4..6].copy_from_slice(&count.to_le_bytes());
    stream[8] = 0;
    out.extend_from_slice(&run);
    out.extend_from_slice(&stream);
    out
}
