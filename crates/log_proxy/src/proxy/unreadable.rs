//! Rings that nobody can ever read: their headers are damaged, or the file of their process is damaged
//! or gone.
//!
//! How many records they hold nobody knows.  One number of each is named as lost, the same one by every
//! proxy that finds the ring, so that an audit of the store names it.  Its files stay where they are.

use std::path::Path;

use logring::{RingMark, RingReader};

use log_protocol::frame::{self, FrameKind, Head};
use log_protocol::record::SEQUENCES_MAX;
use log_protocol::{DICTIONARY, ProcessId, ProcessInfo, StreamId, StreamInfo};

/// A ring that cannot be read, and what is known of it.
pub(super) struct Unreadable {
    process: ProcessInfo,
    stream: StreamInfo,
    /// The number that is named as lost.
    lost: u64,
}

/// The number at a mark, if a writer can have used it.
fn lost_at(mark: RingMark) -> u64 {
    Some(mark.sequence).filter(|next| *next < SEQUENCES_MAX).unwrap_or(0)
}

impl Unreadable {
    /// A ring of a process whose header is damaged; its name says its number.
    pub(super) fn damaged(process: ProcessInfo, number: u32, path: &Path) -> Self {
        let id = StreamId { process: process.id, ring: number };
        let stream = StreamInfo { id, tid: 0, thread: String::new() };
        Unreadable { process, stream, lost: lost_at(RingReader::mark_of_damaged(path)) }
    }

    /// A ring that is sound, and whose process's file is not.
    pub(super) fn without_process(ring: &RingReader) -> Self {
        let header = ring.header();
        let id = StreamId { process: ProcessId(header.process_id), ring: header.number };
        let process = ProcessInfo {
            id: id.process,
            pid: header.pid,
            start_ticks: header.start_ticks,
            ..ProcessInfo::default()
        };
        let stream = StreamInfo { id, tid: header.tid, thread: header.thread_name.clone() };
        Unreadable { process, stream, lost: lost_at(ring.next()) }
    }

    pub(super) fn stream(&self) -> StreamId {
        self.stream.id
    }

    /// The number that is named as lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Adds frames that describe it and its process; gives their heads.
    pub(super) fn describe_to(&self, frames: &mut Vec<u8>) -> [Head; 2] {
        let (mut process, mut stream) = (Vec::new(), Vec::new());
        self.process.encode(&mut process);
        self.stream.encode(&mut stream);
        let dictionary = StreamId { process: self.process.id, ring: DICTIONARY };
        let head = Head::of(FrameKind::Process, dictionary, 0, 0, 0);
        let first = frame::put(frames, head, &process);
        let head = Head::of(FrameKind::Stream, self.stream.id, 0, 0, 0);
        [first, frame::put(frames, head, &stream)]
    }
}
