//! What a store knows of its streams and processes: marks and dictionaries.  It is rebuilt from the
//! newest checkpoint and the chunks behind it.

use std::collections::HashMap;
use std::io;

use logring::Dictionary;

use crate::store::chunk::{Chunk, name_bit};
use crate::store::segment::Segment;
use log_protocol::{ProcessId, ProcessInfo, StreamId};

/// Longest dictionary of a process.
pub const DICTIONARY_BYTES_MAX: u64 = 16 << 20;

/// What is known of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamState {
    /// Everything before is committed.
    pub(crate) next: u64,
    pub(crate) tid: u32,
    pub(crate) thread: String,
}

/// What is known of a process.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProcessState {
    pub(crate) info: ProcessInfo,
    pub(crate) dictionary: Vec<u8>,
    /// Bytes of the dictionary that the newest segment has: those are committed.
    pub(crate) in_segment: u64,
    /// The dictionary, as far as it is sound.
    entries: Dictionary,
    /// Bytes of the dictionary that were read into it; all of it once it is malformed.
    parsed: usize,
    /// By number of the entry: the bit of a context's logger, 0 for other entries.
    bits: Vec<u64>,
}

/// What is known of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreState {
    pub(crate) streams: HashMap<StreamId, StreamState>,
    pub(crate) processes: HashMap<ProcessId, ProcessState>,
    /// The number of the next chunk.
    pub(crate) next_chunk: u64,
}

impl StoreState {
    /// Takes over what a chunk says.  Dictionaries come with it.
    pub(crate) fn apply(&mut self, chunk: &Chunk, dictionaries: &[Option<Vec<u8>>]) {
        if chunk.is_checkpoint {
            self.streams.clear();
            self.processes.clear();
        }
        self.next_chunk = chunk.number.saturating_add(1);
        for (part, bytes) in chunk.processes.iter().zip(dictionaries) {
            let process = self.processes.entry(part.info.id).or_default();
            process.info = part.info.clone();
            process.add(part.dictionary_offset, bytes.as_deref().unwrap_or_default());
            process.in_segment = process.dictionary.len() as u64;
        }
        for part in &chunk.streams {
            let stream = self.streams.entry(chunk.stream_id(part)).or_default();
            stream.next = stream.next.max(part.next);
            stream.tid = part.tid;
            stream.thread.clone_from(&part.thread);
        }
    }

    /// Reads the chunks of a segment from where it is; gives where they end, and the damage.
    pub(crate) fn replay(&mut self, segment: &mut Segment) -> io::Result<Replayed> {
        use crate::store::segment::SegmentPart;
        let mut replayed = Replayed { end: segment.at, damage: Vec::new(), had_checkpoint: false };
        while let Some(piece) = segment.next(false)? {
            match piece {
                SegmentPart::Chunk(at, chunk) => {
                    let dictionaries = segment.dictionaries(at, &chunk)?;
                    if !segment.is_body_sound(at, &chunk)? {
                        replayed.damage.push((at, segment.at));
                    }
                    replayed.had_checkpoint |= chunk.is_checkpoint;
                    self.apply(&chunk, &dictionaries);
                }
                SegmentPart::Damage(from, to) => replayed.damage.push((from, to)),
            }
            replayed.end = segment.at;
        }
        Ok(replayed)
    }

    /// Forgets a process and its streams.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.processes.remove(&process);
        self.streams.retain(|stream, _| stream.process != process);
    }
}

/// What reading a segment again found.
#[derive(Debug)]
pub(crate) struct Replayed {
    /// Where its last whole chunk ends.
    pub(crate) end: u64,
    /// Ranges of bytes that are damaged.
    pub(crate) damage: Vec<(u64, u64)>,
    pub(crate) had_checkpoint: bool,
}

impl ProcessState {
    /// Adds bytes of the dictionary that are not here yet.
    pub(crate) fn add(&mut self, offset: u64, bytes: &[u8]) {
        let here = self.dictionary.len() as u64;
        if offset > here || here >= DICTIONARY_BYTES_MAX {
            return;
        }
        let skip = usize::try_from(here - offset).unwrap_or(usize::MAX);
        let new = bytes.get(skip..).unwrap_or_default();
        let room = (DICTIONARY_BYTES_MAX - here) as usize;
        self.dictionary.extend_from_slice(&new[..new.len().min(room)]);
        match self.entries.add(&self.dictionary[self.parsed.min(self.dictionary.len())..]) {
            Ok(used) => self.parsed += used,
            Err(_) => self.parsed = usize::MAX,
        }
        self.bits.resize(1.max(self.bits.len()), 0);
        for number in self.bits.len()..=self.entries.count() {
            let context = self.entries.context(number as u32);
            self.bits.push(context.map_or(0, |one| name_bit(one.logger_name.as_bytes())));
        }
    }

    /// By number of a context: the bit of its logger.
    pub(crate) fn context_bits(&self) -> &[u64] {
        &self.bits
    }
}
