//! What messages of protobuf are made of where types would cost a copy of each text.

use prost::encoding::{WireType, encode_key, encode_varint};

/// Appends a field of bytes, a text or a message, which may be empty.
pub(crate) fn put_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
