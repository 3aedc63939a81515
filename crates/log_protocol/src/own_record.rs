//! Records that proxies and servers make of themselves, without a ring: all have one call site, whose
//! message is its one argument, and one context.

use logring::abi::{self, entry};
use logring::{LogLevel, encode_entry};

/// Number of the only call site: its message is its one argument.
const SITE: u32 = 1;
/// Number of the only context.
const CONTEXT: u32 = 2;
/// Longest message.
const MESSAGE_BYTES_MAX: usize = 4096;

/// The bytes of a record with this message.
#[must_use]
pub fn record(level: LogLevel, message: &str, sequence: u64, now_ns: u64) -> Vec<u8> {
    let message = &message.as_bytes()[..message.len().min(MESSAGE_BYTES_MAX)];
    let bytes = abi::RECORD_HEAD + abi::padded(4 + message.len());
    let mut body = vec![0; bytes];
    let word0 = abi::word0(bytes, abi::kind::LOG, level.number()) | (sequence << 32);
    body[..8].copy_from_slice(&word0.to_le_bytes());
    body[8..16].copy_from_slice(&now_ns.to_le_bytes());
    body[16..20].copy_from_slice(&SITE.to_le_bytes());
    body[20..24].copy_from_slice(&CONTEXT.to_le_bytes());
    body[24..28].copy_from_slice(&(message.len() as u32).to_le_bytes());
    body[28..28 + message.len()].copy_from_slice(message);
    body
}

/// The dictionary of such records: the call site and the context.
#[must_use]
pub fn dictionary(file: &str, routine: &str, logger: &str) -> Vec<u8> {
    let format = "{}";
    let mut site = 0_u32.to_le_bytes().to_vec();
    site.extend_from_slice(&[0, 1, 1, 0]);
    for text in [file, routine, format] {
        site.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    site.extend_from_slice(&[0; 4]);
    site.push(logring::ArgumentType::Text as u8);
    for text in [file, routine, format] {
        site.extend_from_slice(text.as_bytes());
    }
    let mut bytes = encode_entry(SITE, entry::SITE, &site);
    let mut context = 0_u32.to_le_bytes().to_vec();
    context.extend_from_slice(&0_u32.to_le_bytes());
    context.extend_from_slice(&(logger.len() as u32).to_le_bytes());
    context.extend_from_slice(logger.as_bytes());
    bytes.extend_from_slice(&encode_entry(CONTEXT, entry::CONTEXT, &context));
    bytes
}
