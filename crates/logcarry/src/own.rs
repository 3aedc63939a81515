//! Records that the central server writes itself: what is missing, what was damaged.
//!
//! They are records of a process of its own, so they are stored, shown and searched as all others.

use logring::abi::{self, entry};
use logring::{LogLevel, encode_entry};

use crate::frame::FrameKind;
use crate::identity::{ProcessId, ProcessInfo, StreamId};
use crate::store::{CommitBatch, LostPart, RecordsPart};

/// Number of the only call site: its message is its one argument.
const SITE: u32 = 1;
/// Number of the only context.
const CONTEXT: u32 = 2;
/// Longest message.
const MESSAGE_BYTES_MAX: usize = 4096;

/// The server as a process that logs.
#[derive(Debug)]
pub(crate) struct OwnLog {
    pub(crate) info: ProcessInfo,
    next: u64,
}

impl OwnLog {
    pub(crate) fn new(id: [u8; 16], host: String) -> Self {
        let name = "whit log central".to_owned();
        let pid = std::process::id();
        let id = ProcessId(id);
        OwnLog { info: ProcessInfo { id, pid, host, name, ..ProcessInfo::default() }, next: 0 }
    }

    fn stream(&self) -> StreamId {
        StreamId { process: self.info.id, ring: 0 }
    }

    /// Adds a record with this message to a batch.
    pub(crate) fn add(
        &mut self,
        batch: &mut CommitBatch,
        level: LogLevel,
        message: &str,
        now_ns: u64,
    ) {
        if self.next == 0 {
            batch.processes.push(self.info.clone());
            let dictionary = dictionary("central", "commit", "whit.central");
            batch.dictionaries.push((self.info.id, 0, dictionary));
        }
        let body = record(level, message, self.next, now_ns);
        let bytes = body.len();
        let (stream, first) = (self.stream(), self.next);
        self.next += 1;
        batch.bytes += bytes;
        batch.records.push(RecordsPart {
            stream,
            body,
            skip_bytes: 0,
            count: 1,
            first,
            next: first + 1,
            left_out: 0,
        });
    }

    /// Says what is missing.
    pub(crate) fn add_lost(&mut self, batch: &mut CommitBatch, lost: &LostPart, now_ns: u64) {
        let LostPart { stream, first, next, reason } = lost;
        let last = next.saturating_sub(1);
        let count = next.saturating_sub(*first);
        let why = reason.text();
        let message = format!("records {first} to {last} of {stream} are lost ({count}): {why}");
        let level = if reason.is_policy() { LogLevel::Warning } else { LogLevel::Alert };
        self.add(batch, level, &message, now_ns);
    }
}

/// A record of the only call site.
pub(crate) fn record(level: LogLevel, message: &str, sequence: u64, now_ns: u64) -> Vec<u8> {
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

/// One call site and one context.
pub(crate) fn dictionary(file: &str, routine: &str, logger: &str) -> Vec<u8> {
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

/// The reason in a frame of kind `Lost` is the first number of its body.
pub(crate) fn lost_reason(kind: FrameKind, body: &[u8]) -> crate::store::GapReason {
    debug_assert_eq!(kind, FrameKind::Lost);
    crate::store::GapReason::of(crate::bytes::u32_at(body, 0))
}
