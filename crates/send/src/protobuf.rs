//! What messages of protobuf are made of where types would cost a copy of each text.

use prost::encoding::{WireType, encode_key};

/// Appends a field of bytes, a text or a message, which may be empty.
pub(crate) fn put_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    varint::put_bytes(out, bytes);
}
