//! The answer to a client that asks for records: read from the store on the connection's own
//! thread, so that commits do not wait for it.

use std::collections::HashMap;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::central::shared::Shared;
use log_protocol::frame::{self, FrameKind, HEAD_BYTES, Head};
use log_protocol::handshake::FrameReader;
use log_protocol::record;
use log_protocol::{DICTIONARY, ProcessId, StreamId, StreamInfo};
use log_store::remote::{ENTRY_HEAD, RemoteQuery};
use log_store::{BlockIndex, Chunk, Item, StoreReader};

/// Bytes of frames that are sent at once.
const SEND_BYTES: usize = 256 << 10;
/// Longest piece of a dictionary in a frame.
const DICTIONARY_BYTES: usize = 512 << 10;
/// Blocks and records after which the server looks whether the client is still there.
const LOOK_EVERY: u64 = 4096;
/// How long a client that follows waits before the server looks whether it is still there.
const LOOK: Duration = Duration::from_millis(200);

/// An answer in the making.
struct Answer<'a> {
    shared: &'a Shared,
    reader: &'a FrameReader,
    peer: u64,
    query: &'a RemoteQuery,
    /// Frames that say what records mean.
    frames: Vec<u8>,
    /// Records, of one frame.
    found: Vec<u8>,
    in_found: u32,
    /// Bytes of each process's dictionary that were sent.
    processes: HashMap<ProcessId, usize>,
    /// Streams that were named: number, tid, name of the thread.
    streams: HashMap<StreamId, (u32, u32, String)>,
    streams_count: u32,
    records: u64,
    steps: u64,
    scratch: Vec<u8>,
    /// Why it ends early.
    failure: Option<io::Error>,
}

/// Answers a question until all is sent, the client leaves, or the server stops.
pub(super) fn answer(
    shared: &Shared,
    reader: &FrameReader,
    peer: u64,
    query: &RemoteQuery,
) -> io::Result<()> {
    let mut store = StoreReader::open(&shared.folder)?;
    store.keep_dictionary_bytes();
    store.look_up(query.filter.keys());
    let mut answer = Answer {
        shared,
        reader,
        peer,
        query,
        frames: Vec::new(),
        found: Vec::new(),
        in_found: 0,
        processes: HashMap::new(),
        streams: HashMap::new(),
        streams_count: 0,
        records: 0,
        steps: 0,
        scratch: Vec::new(),
        failure: None,
    };
    let filter = &query.filter;
    let mut seen = shared.writes();
    let wants = |chunk: &Chunk, block: &BlockIndex| filter.wants_block(chunk, block);
    let flow = match query.newest {
        Some(count) => {
            let mut scratch = Vec::new();
            let mut is_wanted = |item: &Item<'_>| filter.wanted(item, &mut scratch).is_some();
            store.visit_newest(count as usize, &wants, &mut is_wanted, &mut |item| {
                answer.put(item)
            })?
        }
        None => store.visit_all(&wants, &mut |item| answer.put(item))?,
    };
    answer.finish()?;
    answer.end(&store)?;
    if !query.follows || flow.is_break() {
        return Ok(());
    }
    while !shared.is_stopping() {
        if let Some((chunk, at)) = store.next_chunk()? {
            if store.visit_chunk(&chunk, at, &wants, &mut |item| answer.put(item))?.is_break() {
                break;
            }
            continue;
        }
        answer.finish()?;
        // The store is looked at only when there is something new.
        let before = seen;
        while seen == before && !shared.is_stopping() {
            if reader.connection().is_readable(Duration::ZERO)? {
                // It leaves, or asks for something else: neither needs the rest.
                return answer.finish();
            }
            seen = shared.wait_for_write(seen, LOOK);
        }
    }
    answer.finish()
}

impl Answer<'_> {
    /// Whether the client has left; looked up now and then.
    fn is_left(&mut self) -> bool {
        self.steps += 1;
        self.steps.is_multiple_of(LOOK_EVERY)
            && (self.shared.is_stopping()
                || self.reader.connection().is_readable(Duration::ZERO).unwrap_or(true))
    }

    fn put(&mut self, item: &Item<'_>) -> ControlFlow<()> {
        if self.is_left() {
            return ControlFlow::Break(());
        }
        if self.query.filter.wanted(item, &mut self.scratch).is_none() {
            return ControlFlow::Continue(());
        }
        if self.query.limit > 0 && self.records >= self.query.limit {
            return ControlFlow::Break(());
        }
        self.records += 1;
        if self.query.counts {
            return ControlFlow::Continue(());
        }
        let bytes = item.record.length_bytes();
        if self.found.len() + ENTRY_HEAD + bytes > SEND_BYTES
            && let Err(error) = self.send()
        {
            self.failure = Some(error);
            return ControlFlow::Break(());
        }
        self.describe_process(item);
        let stream = self.stream(item);
        self.found.extend_from_slice(&stream.to_le_bytes());
        self.found.extend_from_slice(&(bytes as u32).to_le_bytes());
        self.found.extend_from_slice(&item.record.sequence.to_le_bytes());
        record::put(&mut self.found, item.record);
        self.in_found += 1;
        ControlFlow::Continue(())
    }

    /// Names a process, and what is new in its dictionary.
    fn describe_process(&mut self, item: &Item<'_>) {
        let sent = self.processes.get(&item.process.id).copied();
        let stream = StreamId { process: item.process.id, ring: DICTIONARY };
        if sent.is_none() {
            let mut text = Vec::new();
            item.process.encode(&mut text);
            frame::put(&mut self.frames, Head::of(FrameKind::Process, stream, 0, 0, 0), &text);
        }
        let mut at = sent.unwrap_or(0);
        if sent.is_some() && at == item.dictionary_bytes.len() {
            return;
        }
        for piece in item.dictionary_bytes[at..].chunks(DICTIONARY_BYTES) {
            let (first, next) = (at as u64, (at + piece.len()) as u64);
            let head = Head::of(FrameKind::Dictionary, stream, first, next, 0);
            frame::put(&mut self.frames, head, piece);
            at += piece.len();
        }
        self.processes.insert(item.process.id, at);
    }

    /// The number of a stream in this answer; names it if it is new, or of another thread now.
    fn stream(&mut self, item: &Item<'_>) -> u32 {
        let id = StreamId { process: item.process.id, ring: item.stream.ring };
        let (tid, thread) = (item.stream.tid, &item.stream.thread);
        if let Some((number, known_tid, known)) = self.streams.get(&id)
            && *known_tid == tid
            && known == thread
        {
            return *number;
        }
        let mut text = Vec::new();
        StreamInfo { id, tid, thread: thread.clone() }.encode(&mut text);
        frame::put(&mut self.frames, Head::of(FrameKind::Stream, id, 0, 0, 0), &text);
        let number = self.streams_count;
        self.streams_count += 1;
        self.streams.insert(id, (number, tid, thread.clone()));
        number
    }

    /// Sends what is ready.
    fn send(&mut self) -> io::Result<()> {
        if self.in_found > 0 {
            let head = Head { count: self.in_found, ..Head::plain(FrameKind::Found) };
            frame::put(&mut self.frames, head, &self.found);
            self.found.clear();
            self.in_found = 0;
        }
        let sent = self.shared.write_bytes(self.peer, &self.frames);
        self.frames.clear();
        sent
    }

    fn finish(&mut self) -> io::Result<()> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        self.send()
    }

    fn end(&mut self, store: &StoreReader) -> io::Result<()> {
        let mut text = String::new();
        for (path, from, to) in &store.damaged {
            if text.len() < HEAD_BYTES << 10 {
                text.push_str(&format!("{}: bytes {from} to {to} are damaged\n", path.display()));
            }
        }
        let head = Head { first: self.records, ..Head::plain(FrameKind::End) };
        self.shared.write_to(self.peer, head, text.as_bytes())
    }
}
