//! Records taken out of the ring buffer that are not handled yet.
//!
//! The ring buffer cannot grow, and events that find it full are lost.  So while it fills faster
//! than lines are written, its records are copied unparsed into memory, which takes a fraction of
//! the time of writing the lines.  Normally there is one block, small enough to stay in a CPU's
//! cache.

use std::cell::Cell;
use std::collections::VecDeque;

use bpf::{EventRecord, SyscallEvents};

/// Bytes of a block.
const BLOCK_BYTES: usize = 256 << 10;

/// Most empty blocks that are kept for reuse.
const SPARE_MAX: usize = 16;

/// What the exit of a call has of the memory that its entry lacks.
#[derive(Clone, Copy, Default)]
pub(super) struct Later<'a> {
    /// The copies of memory.
    pub(super) pieces: &'a [u8],
    /// Whether an `execve` began an interpreter.
    pub(super) is_interpreted: bool,
}

/// Records, in the order in which they came.
#[derive(Default)]
pub(super) struct Backlog {
    blocks: VecDeque<Vec<u8>>,
    /// Bytes of the first block that were handed over.
    consumed: usize,
    /// Bytes that were not handed over.
    bytes: usize,
    spare: Vec<Vec<u8>>,
    /// Where the search of `later` goes on: a block and an offset in it.
    searched: Cell<(usize, usize)>,
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies a block's worth out of the ring buffer; returns whether that is empty now.
    pub(super) fn fill(&mut self, events: &mut SyscallEvents) -> bool {
        let room = |block: &Vec<u8>| BLOCK_BYTES.saturating_sub(block.len());
        // The rest of a block is used if it is at least half of it.
        if self.blocks.back().is_none_or(|block| room(block) < BLOCK_BYTES / 2) {
            let block = self.spare.pop();
            self.blocks.push_back(block.unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES)));
        }
        let Some(block) = self.blocks.back_mut() else { return false };
        let before = block.len();
        let is_empty = events.append_records(block, room(block));
        self.bytes += block.len() - before;
        is_empty
    }

    /// The bytes from the first record that was not handed over.
    fn rest(&self) -> &[u8] {
        self.blocks.front().and_then(|block| block.get(self.consumed..)).unwrap_or_default()
    }

    /// The first record, and how many bytes it takes; no record if its bytes are not valid.
    pub(super) fn first(&self) -> Option<(Option<EventRecord<'_>>, usize)> {
        EventRecord::first(self.rest())
    }

    /// Drops the first bytes, which were handed over.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.consumed += bytes;
        self.bytes -= bytes;
        self.searched.set((0, 0));
        if self.rest().is_empty() {
            self.consumed = 0;
            if let Some(mut block) = self.blocks.pop_front()
                && self.spare.len() < SPARE_MAX
            {
                block.clear();
                self.spare.push(block);
            }
        }
    }

    /// What the thread's next record after the first has of memory; `None` if there is none yet.  A
    /// later search continues where this one ended.
    pub(super) fn later(&self, thread: i32) -> Option<Later<'_>> {
        let first_room = self.first().map_or(0, |(_, room)| room);
        let (mut index, mut at) = self.searched.get().max((0, self.consumed + first_room));
        let mut found = None;
        while let Some(block) = self.blocks.get(index) {
            while let Some((record, room)) = EventRecord::first(&block[at..]) {
                found = record.filter(|record| record.head().thread == thread);
                if found.is_some() {
                    break;
                }
                at += room;
            }
            // The last block may still grow.
            if found.is_some() || index + 1 == self.blocks.len() {
                break;
            }
            (index, at) = (index + 1, 0);
        }
        self.searched.set((index, at));
        found.map(|record| match record {
            EventRecord::Enter(call, pieces) | EventRecord::Exit(call, pieces) => {
                Later { pieces: pieces.bytes(), is_interpreted: call.head.is_interpreted() }
            }
            _ => Later::default(),
        })
    }
}
