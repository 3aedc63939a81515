//! Records out of the ring that are not told yet.
//!
//! The ring cannot grow, and whoever finds it full is not told.  So while it fills faster than lines
//! are written, it is emptied into memory, as it stands; that takes a fraction of what writing the
//! lines does.  As long as all goes well there is one block, small enough to stay in a CPU's cache.

use std::cell::Cell;
use std::collections::VecDeque;

use bpf::{EventRecord, SyscallEvents};

/// StructBytes of a block.
const BLOCK_BYTES: usize = 256 << 10;

/// Blocks that are kept to be used again.
const SPARE_MAX: usize = 16;

/// Records, in the order in which they came.
#[derive(Default)]
pub(super) struct Backlog {
    blocks: VecDeque<Vec<u8>>,
    /// StructBytes of the first block that are told.
    told: usize,
    /// StructBytes that are not.
    bytes: usize,
    spare: Vec<Vec<u8>>,
    /// Up to where nothing was found that a begin is held back for: a block and a place in it.
    searched: Cell<(usize, usize)>,
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a block's worth out of the ring; whether that is empty now.
    pub(super) fn fill(&mut self, events: &mut SyscallEvents) -> bool {
        let room = |block: &Vec<u8>| BLOCK_BYTES.saturating_sub(block.len());
        // What is left of a block is used if it is worth it.
        if self.blocks.back().is_none_or(|block| room(block) < BLOCK_BYTES / 2) {
            let block = self.spare.pop();
            self.blocks.push_back(block.unwrap_or_else(|| Vec::with_capacity(BLOCK_BYTES)));
        }
        let Some(block) = self.blocks.back_mut() else { return false };
        let before = block.len();
        let is_empty = events.take(block, room(block));
        self.bytes += block.len() - before;
        is_empty
    }

    /// The bytes from the first record that is not told.
    fn rest(&self) -> &[u8] {
        self.blocks.front().and_then(|block| block.get(self.told..)).unwrap_or_default()
    }

    /// The first record, and how many bytes it takes; nothing in the place of what makes no sense.
    pub(super) fn first(&self) -> Option<(Option<EventRecord<'_>>, usize)> {
        EventRecord::first(self.rest())
    }

    /// Gives up the first bytes, which are told.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.told += bytes;
        self.bytes -= bytes;
        self.searched.set((0, 0));
        if self.rest().is_empty() {
            self.told = 0;
            if let Some(mut block) = self.blocks.pop_front()
                && self.spare.len() < SPARE_MAX
            {
                block.clear();
                self.spare.push(block);
            }
        }
    }

    /// Memory that the next record of the first one's thread has with it; `None` if that is not
    /// there yet.  A later search goes on where this one ended.
    pub(super) fn later_pieces(&self, thread: i32) -> Option<&[u8]> {
        let first_room = self.first().map_or(0, |(_, room)| room);
        let (mut place, mut at) = self.searched.get().max((0, self.told + first_room));
        let mut found = None;
        while let Some(block) = self.blocks.get(place) {
            while let Some((happening, room)) = EventRecord::first(&block[at..]) {
                found = happening.filter(|happening| happening.head().thread == thread);
                if found.is_some() {
                    break;
                }
                at += room;
            }
            // The last block may grow.
            if found.is_some() || place + 1 == self.blocks.len() {
                break;
            }
            (place, at) = (place + 1, 0);
        }
        self.searched.set((place, at));
        found.map(|happening| match happening {
            EventRecord::Enter(_, pieces) | EventRecord::Exit(_, pieces) => pieces.bytes(),
            _ => &[],
        })
    }
}
