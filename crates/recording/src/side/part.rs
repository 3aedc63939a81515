//! A head or part as it is in the file: compressed bytes, bits, a CRC.

use zstd::bulk::Decompressor;

use super::PART_BYTES_MAX;
use super::column::{BITS_PADDING, Plain};
use crate::compression::{Packer, unpack};
use crate::format::crc;
use crate::index::u64_of;
use crate::varint::{Bytes, Corrupt, put, put_bytes};

/// Bytes of the CRC at the end.
const CRC_BYTES: usize = 4;

/// Appends a part to `parts`, and its length to the directory; nothing if it is empty.
pub(super) fn append(
    plain: &Plain,
    packer: &mut Packer,
    directory: &mut Vec<u8>,
    parts: &mut Vec<u8>,
) {
    if plain.bytes.is_empty() {
        put(directory, 0);
        return;
    }
    let begun = parts.len();
    let mut stored = Vec::new();
    let compression = packer.append(&plain.bytes, &mut stored);
    put(parts, plain.bytes.len() as u64);
    parts.push(compression);
    put_bytes(parts, &stored);
    parts.extend_from_slice(&plain.bits);
    let own_crc = crc(&[&parts[begun..]]);
    parts.extend_from_slice(&own_crc.to_le_bytes());
    put(directory, (parts.len() - begun) as u64);
}

/// Whether the CRC of a part is right.
pub(super) fn is_sound(part: &[u8]) -> bool {
    let split = part.split_last_chunk::<CRC_BYTES>();
    split.is_some_and(|(covered, own_crc)| u64_of(own_crc) == u64::from(crc(&[covered])))
}

/// What a part of the file says; its bits have [`BITS_PADDING`] after them.
pub(super) fn open(
    part: &[u8],
    decompressor: &mut Decompressor<'static>,
) -> Result<Plain, Corrupt> {
    let mut plain = Plain::default();
    if !part.is_empty() {
        if !is_sound(part) {
            return Err(Corrupt("its checksum is wrong"));
        }
        let mut bytes = Bytes::new(&part[..part.len() - CRC_BYTES]);
        let (length, compression) = (bytes.varint()?, bytes.byte()?);
        if length > PART_BYTES_MAX {
            return Err(Corrupt("it is too long"));
        }
        let stored = bytes.prefixed()?;
        unpack(compression, stored, length as usize, decompressor, &mut plain.bytes)?;
        plain.bits.extend_from_slice(bytes.next_bytes(bytes.left())?);
    }
    plain.bits.resize(plain.bits.len() + BITS_PADDING, 0);
    Ok(plain)
}
