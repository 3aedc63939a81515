//! The beginning of a new file.

use sample::SourceDef;
use std::io;
use std::sync::Arc;

use sample::Meta;

use crate::compression::pack_head;
use crate::format::{HEADER_BYTES, Prelude, VERSION, aligned, crc};
use crate::schema::encode_head;

/// The file up to its first block.
pub(crate) fn file_head(
    meta: &Meta,
    schemas: &[Arc<SourceDef>],
    file_id: u64,
) -> io::Result<(Vec<u8>, Prelude)> {
    let plain = encode_head(meta, schemas);
    let (stored, code) = pack_head(&plain)?;
    let first_block = aligned((HEADER_BYTES + stored.len()) as u64);
    let prelude = Prelude {
        version: VERSION,
        first_block: first_block as u32,
        file_id,
        pid: std::process::id(),
        head_stored_bytes: stored.len() as u32,
        head_plain_bytes: plain.len() as u32,
        head_crc: crc(&[&stored]),
        head_compression: code,
    };
    let mut bytes = prelude.encode().to_vec();
    bytes.extend_from_slice(&stored);
    bytes.resize(first_block as usize, 0);
    Ok((bytes, prelude))
}
