//! Reads the parts of a file (head, block header, body), and searches those whose offset is not
//! known.

use sample::SourceDef;
use std::io;
use std::path::Path;
use std::sync::Arc;

use sample::Meta;

use crate::compression;
use crate::error::Error;
use crate::format::{BlockHeader, HEAD_BYTES_MAX, HEADER_BYTES, Prelude, VERSION, aligned, crc};
use crate::frame;
use crate::index::INDEX_ENTRY_BYTES;
use crate::schema::decode_head;
use crate::storage::{Bytestore, read_full_at};

/// Bytes read at once when searching a valid header.
const SEARCH_BYTES: usize = 64 << 10;

/// Larger offsets are invalid.
const OFFSET_MAX: u64 = 1 << 60;

/// Bytes of frames whose CRC is computed when searching frames, so that no crafted file can keep a
/// reader busy for long.
pub(crate) const SEARCH_CRC_BYTES: usize = 256 << 20;

/// The head of a file.
pub(crate) struct Head {
    pub(crate) prelude: Prelude,
    pub(crate) meta: Meta,
    pub(crate) schemas: Vec<Arc<SourceDef>>,
}

/// Reads the head.
pub(crate) fn read_head(store: &dyn Bytestore, path: &Path) -> Result<Head, Error> {
    let io = |error| Error::io(path, "read", error);
    let damaged = |what| Error::HeadDamaged { path: path.to_owned(), what };
    let mut bytes = [0; HEADER_BYTES];
    let count = read_full_at(store, &mut bytes, 0).map_err(io)?;
    let version = Prelude::version_of(&bytes).filter(|_| count >= 12);
    let version = version.ok_or_else(|| Error::NotARecording { path: path.to_owned() })?;
    if version > VERSION {
        return Err(Error::FutureVersion { path: path.to_owned(), version });
    }
    if count < HEADER_BYTES {
        return Err(damaged("the file ends in it"));
    }
    let prelude = Prelude::decode(&bytes).map_err(|corrupt| damaged(corrupt.0))?;
    let (stored, plain) = (prelude.head_stored_bytes as usize, prelude.head_plain_bytes as usize);
    if stored > HEAD_BYTES_MAX || plain > HEAD_BYTES_MAX {
        return Err(damaged("it is too large"));
    }
    let mut head = vec![0; stored];
    if read_full_at(store, &mut head, HEADER_BYTES as u64).map_err(io)? < stored {
        return Err(damaged("the file ends in it"));
    }
    if crc(&[&head]) != prelude.head_crc {
        return Err(damaged("its checksum is wrong"));
    }
    let out = compression::unpack_head(prelude.head_compression, &head, plain)
        .map_err(|corrupt| damaged(corrupt.0))?;
    let (meta, schemas) = decode_head(&out).map_err(|corrupt| damaged(corrupt.0))?;
    Ok(Head { prelude, meta, schemas })
}

/// Reads the block header at `at`; `None` if there is no valid one.
pub(crate) fn header_at(
    store: &dyn Bytestore,
    at: u64,
    file_id: u64,
) -> io::Result<Option<BlockHeader>> {
    let mut bytes = [0; HEADER_BYTES];
    if at > OFFSET_MAX {
        return Ok(None);
    }
    let count = read_full_at(store, &mut bytes, at)?;
    Ok(BlockHeader::decode(&bytes, file_id).filter(|_| count == HEADER_BYTES))
}

/// The body of the end block, at least eight bytes; `None` if it is damaged.
pub(crate) fn end_body(
    store: &dyn Bytestore,
    at: u64,
    end: &BlockHeader,
) -> io::Result<Option<Vec<u8>>> {
    let body = read_body(store, at, end)?;
    let sound = |body: &Vec<u8>| body.len() % INDEX_ENTRY_BYTES == 8;
    Ok(body.filter(sound).filter(|body| crc(&[body]) == end.body_crc))
}

/// Reads a block's body; `None` if the file ends in it.
pub(crate) fn read_body(
    store: &dyn Bytestore,
    at: u64,
    header: &BlockHeader,
) -> io::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    Ok(read_body_into(store, at, header, &mut body)?.then_some(body))
}

/// Reads a block's body into `body`; false if the file ends in it.
pub(crate) fn read_body_into(
    store: &dyn Bytestore,
    at: u64,
    header: &BlockHeader,
    body: &mut Vec<u8>,
) -> io::Result<bool> {
    let start = at.saturating_add(u64::from(header.body_at));
    let length = u64::from(header.body_bytes);
    // Allocate memory only for bytes that the file has.
    if start.checked_add(length).is_none_or(|end| end > store.length().unwrap_or(0)) {
        return Ok(false);
    }
    body.resize(length as usize, 0);
    Ok(read_full_at(store, body, start)? == body.len())
}

/// Calls `is_it` with the 64 bytes at every multiple of 64 from `from` on, and with their offset,
/// until it returns something.
pub(crate) fn search<T>(
    store: &dyn Bytestore,
    from: u64,
    mut is_it: impl FnMut(&[u8; HEADER_BYTES], u64) -> Option<T>,
) -> io::Result<Option<(u64, T)>> {
    let mut chunk = vec![0; SEARCH_BYTES];
    let mut at = aligned(from);
    loop {
        let count = read_full_at(store, &mut chunk, at)?;
        for (index, bytes) in chunk[..count].as_chunks::<HEADER_BYTES>().0.iter().enumerate() {
            let offset = at + (index * HEADER_BYTES) as u64;
            if let Some(found) = is_it(bytes, offset) {
                return Ok(Some((offset, found)));
            }
        }
        if count < chunk.len() {
            return Ok(None);
        }
        at += count as u64;
    }
}

/// Whether an open block has its first frame.
pub(crate) fn has_frame(
    store: &dyn Bytestore,
    file_id: u64,
    at: u64,
    open: &BlockHeader,
) -> io::Result<bool> {
    let at = at.saturating_add(u64::from(open.body_at));
    let mut bytes = vec![0; frame::FRAME_HEADER_BYTES];
    read_full_at(store, &mut bytes, at)?;
    let length = frame::frame_header(&bytes).map_or(0, |(length, _)| length);
    if length as u64 > store.length()? {
        return Ok(false);
    }
    bytes.resize(frame::FRAME_HEADER_BYTES + length, 0);
    read_full_at(store, &mut bytes, at)?;
    Ok(frame::open(&bytes, file_id, open.number, 0).is_some())
}

/// Searches the first frame of a block whose header is lost, from `from` on: it is at a multiple of
/// 64, and its CRC includes the block's number.
pub(crate) fn search_frames(
    store: &dyn Bytestore,
    from: u64,
    file_id: u64,
    number: u32,
) -> io::Result<Option<u64>> {
    let mut whole = Vec::new();
    let (file_bytes, mut budget) = (store.length()?, SEARCH_CRC_BYTES);
    let found = search(store, from, |bytes, at| {
        let (length, ordinal) = frame::frame_header(bytes)?;
        if ordinal != 0 || at + length as u64 > file_bytes {
            return None;
        }
        budget = budget.checked_sub(length)?;
        whole.resize(frame::FRAME_HEADER_BYTES + length, 0);
        read_full_at(store, &mut whole, at).ok()?;
        frame::open(&whole, file_id, number, 0).map(drop)
    })?;
    Ok(found.map(|(at, ())| at))
}

/// The number of lost samples of an open block if `bytes` do not begin with the frame `ordinal`:
/// those up to the last valid frame in `bytes`.
pub(crate) fn later_frames(bytes: &[u8], file_id: u64, number: u32, ordinal: u32) -> u32 {
    let (mut lost, mut budget) = (0, SEARCH_CRC_BYTES);
    for start in 1..bytes.len().saturating_sub(frame::FRAME_HEADER_BYTES) {
        let Some((length, later)) = frame::frame_header(&bytes[start..]) else { continue };
        let plausible = later > ordinal && (later - ordinal) as usize <= bytes.len();
        if !plausible || length > bytes.len() - start {
            continue;
        }
        let Some(left) = budget.checked_sub(length) else { break };
        budget = left;
        if frame::open(&bytes[start..], file_id, number, later).is_some() {
            lost = later + 1 - ordinal;
        }
    }
    lost
}
