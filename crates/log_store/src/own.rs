//! Records that the central server writes itself: what is missing, what was damaged.
//!
//! They are records of a process of its own, so they are stored, shown and searched as all others.

use log_protocol::own_record::{dictionary, record};
use log_protocol::{GapReason, ProcessId, ProcessInfo, StreamId};
use logring::LogLevel;

use crate::store::{CommitBatch, LostPart, RecordsPart};

/// The server as a process that logs.
#[derive(Debug)]
pub struct OwnLog {
    /// The process.
    pub info: ProcessInfo,
    next: u64,
}

impl OwnLog {
    /// A server with this random number, on the host of this name.
    #[must_use]
    pub fn new(id: [u8; 16], host: String) -> Self {
        let name = "whit log central".to_owned();
        let pid = std::process::id();
        let id = ProcessId(id);
        OwnLog { info: ProcessInfo { id, pid, host, name, ..ProcessInfo::default() }, next: 0 }
    }

    fn stream(&self) -> StreamId {
        StreamId { process: self.info.id, ring: 0 }
    }

    /// Adds a record with this message to a batch.
    pub fn add(&mut self, batch: &mut CommitBatch, level: LogLevel, message: &str, now_ns: u64) {
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

    /// Adds a record that says which records are missing.
    pub fn add_lost(&mut self, batch: &mut CommitBatch, lost: &LostPart, now_ns: u64) {
        let LostPart { stream, first, next, reason } = lost;
        let last = next.saturating_sub(1);
        let count = next.saturating_sub(*first);
        let why = reason.text();
        let message = match reason {
            GapReason::AnotherStore => {
                format!("records {first} to {last} of {stream} are not here ({count}): {why}")
            }
            _ => format!("records {first} to {last} of {stream} are lost ({count}): {why}"),
        };
        let level = if reason.is_policy() { LogLevel::Warning } else { LogLevel::Alert };
        self.add(batch, level, &message, now_ns);
    }
}
