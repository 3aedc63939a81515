//! Command lines from exec events, kept until the processes exit.
//!
//! At most [`LINES_MAX`] of them, 1.2 MB: if more processes live, a new one displaces the oldest,
//! whose exit then has no command line.  Allocates nothing once full.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::process_counters::attributed::KeyHasher;

/// Command lines kept.
const LINES_MAX: usize = 4096;

/// Bytes kept of each: the size that the BPF program sends.
const LINE_BYTES: usize = 256;

const NONE: u32 = u32::MAX;

/// A process: its id and start time in nanoseconds.
pub(super) type Key = (u32, u64);

/// Command lines by process, oldest first.
#[derive(Debug)]
pub(super) struct Lines {
    slots: Vec<Slot>,
    by_process: HashMap<Key, u32, BuildHasherDefault<KeyHasher>>,
    oldest: u32,
    newest: u32,
    free: u32,
    dropped: u64,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    older: u32,
    newer: u32,
    length: u16,
    bytes: [u8; LINE_BYTES],
}

impl Default for Lines {
    fn default() -> Self {
        Lines {
            slots: Vec::new(),
            by_process: HashMap::default(),
            oldest: NONE,
            newest: NONE,
            free: NONE,
            dropped: 0,
        }
    }
}

impl Lines {
    /// Lines displaced before their process exited.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Keeps the line of a process that has executed a program.
    pub(super) fn put(&mut self, key: Key, line: &[u8]) {
        let slot = match self.by_process.get(&key) {
            Some(&slot) => slot,
            None => self.claim(key),
        };
        let kept = line.len().min(LINE_BYTES);
        let slot = &mut self.slots[slot as usize];
        slot.bytes[..kept].copy_from_slice(&line[..kept]);
        slot.length = kept as u16;
    }

    /// Removes and returns the line of a process that has exited.
    pub(super) fn remove(&mut self, key: Key) -> Option<&[u8]> {
        let slot = self.by_process.remove(&key)?;
        self.unlink(slot);
        let held = &mut self.slots[slot as usize];
        held.newer = self.free;
        self.free = slot;
        Some(&held.bytes[..held.length as usize])
    }

    /// A slot for a new process, the newest of all.
    fn claim(&mut self, key: Key) -> u32 {
        if self.free == NONE && self.slots.len() >= LINES_MAX {
            let oldest = self.slots[self.oldest as usize].key;
            self.remove(oldest);
            self.dropped += 1;
        }
        let slot = match self.free {
            NONE => {
                let empty =
                    Slot { key, older: NONE, newer: NONE, length: 0, bytes: [0; LINE_BYTES] };
                self.slots.push(empty);
                self.slots.len() as u32 - 1
            }
            free => {
                self.free = self.slots[free as usize].newer;
                free
            }
        };
        let newest = self.newest;
        let held = &mut self.slots[slot as usize];
        (held.key, held.older, held.newer) = (key, newest, NONE);
        match newest {
            NONE => self.oldest = slot,
            newest => self.slots[newest as usize].newer = slot,
        }
        self.newest = slot;
        self.by_process.insert(key, slot);
        slot
    }

    fn unlink(&mut self, slot: u32) {
        let (older, newer) = {
            let held = &self.slots[slot as usize];
            (held.older, held.newer)
        };
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_program_of_a_process_until_its_end() {
        let mut lines = Lines::default();
        lines.put((1, 10), b"sh\0-c");
        lines.put((2, 11), &[b'x'; 300]);
        lines.put((1, 10), b"true");
        assert_eq!(lines.remove((1, 11)), None, "another process with that number");
        assert_eq!(lines.remove((1, 10)), Some(&b"true"[..]));
        assert_eq!(lines.remove((1, 10)), None);
        assert_eq!(lines.remove((2, 11)).map(<[u8]>::len), Some(LINE_BYTES));
        assert_eq!((lines.oldest, lines.newest, lines.dropped()), (NONE, NONE, 0));
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let mut lines = Lines::default();
        for pid in 0..LINES_MAX as u32 {
            lines.put((pid, 0), b"a");
        }
        // One in the middle exits: the next new one displaces none.
        assert!(lines.remove((7, 0)).is_some());
        lines.put((100_000, 0), b"b");
        assert_eq!(lines.dropped(), 0);
        lines.put((100_001, 0), b"c");
        lines.put((100_002, 0), b"c");
        assert_eq!(lines.dropped(), 2);
        assert_eq!(lines.remove((0, 0)), None);
        assert_eq!(lines.remove((1, 0)), None);
        assert!(lines.remove((2, 0)).is_some());
        assert_eq!(lines.slots.len(), LINES_MAX);
        for pid in (3..LINES_MAX as u32).filter(|&pid| pid != 7).chain(100_000..100_003) {
            assert!(lines.remove((pid, 0)).is_some(), "{pid}");
        }
        assert_eq!((lines.oldest, lines.newest), (NONE, NONE));
    }
}
