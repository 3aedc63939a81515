//! Which words and loggers the blocks of a closed segment have: a file `NUMBER.words` beside it.
//!
//! A block whose filter lacks a word that is asked for is not read.  The file may be removed at any
//! time, and a segment without it is read as before: answers are the same.  The segment that is still
//! written has a file of another form (`open_words`).
//! `docs/format-log-store.md` defines every byte.
//!
//! Cost: making it reads the segment once and makes each message; the file has 1.5 bytes for each
//! different word of a block.  A question reads 64 bytes for each word and block, never the whole file.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use log_protocol::bytes::{u32_at, u64_at};
use segments::{SegmentHead, SegmentNames};

use crate::store::segment::Segment;

pub(super) const MAGIC: [u8; 8] = *b"whitlogW";
const VERSION: u32 = 1;
pub(super) const NAMES: SegmentNames =
    SegmentNames { prefix: "", suffix: ".words", is_hexadecimal: true };
pub(super) const HEAD_BYTES: usize = 64;
pub(super) const ENTRY_BYTES: usize = 16;
/// A line of a filter: bits, and their checksum.
pub(super) const LINE_BYTES: usize = 64;
const LINE_BITS: u64 = 480;
/// Words for each line: twelve bits for each.
const WORDS_OF_LINE: usize = 40;
/// Bits that a word sets in its line.
const BITS_OF_WORD: u32 = 6;
/// Most blocks of a segment that are looked up.
pub(super) const BLOCKS_MAX: u32 = 1 << 22;
/// Longest word that is looked up; longer ones are in no filter.
pub const WORD_BYTES_MAX: usize = 64;

/// The words of a text: letters and digits of ASCII, `_`, and all bytes beyond ASCII.
pub fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_of_word(*byte)).filter(|word| !word.is_empty())
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The words that a text must have if it has this part: those that do not reach to its ends.
pub(crate) fn inner_words(part: &[u8]) -> impl Iterator<Item = &[u8]> {
    let start = part.iter().position(|byte| !is_of_word(*byte)).unwrap_or(part.len());
    let end = part.iter().rposition(|byte| !is_of_word(*byte)).unwrap_or(0).max(start);
    words(&part[start..end])
}

/// Numbers that stand for words and loggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    /// FNV-1a, and the last step of MurmurHash3, for bits that all depend on all.
    fn of(kind: u8, bytes: &[u8]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in std::iter::once(kind).chain(bytes.iter().map(u8::to_ascii_lowercase)) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        Key(hash ^ (hash >> 33))
    }

    pub(super) fn word(word: &[u8]) -> Self {
        Key::of(0, word)
    }

    pub(super) fn logger(name: &[u8]) -> Self {
        Key::of(1, name)
    }

    /// A notice that may be about records of any logger.
    pub(super) fn any_logger() -> Self {
        Key::of(2, b"")
    }

    /// Its line, of so many.
    fn line(self, lines: u32) -> u32 {
        ((u128::from(self.0) * u128::from(lines)) >> 64) as u32
    }

    /// Its bits in the line.
    fn bits(self) -> impl Iterator<Item = usize> {
        let mut state = self.0;
        (0..BITS_OF_WORD).map(move |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            ((u128::from(state) * u128::from(LINE_BITS)) >> 64) as usize
        })
    }
}

/// What a block must have for a filter to find something in it.
#[derive(Debug, Clone, Default)]
pub struct WantedKeys {
    words: Vec<Key>,
    /// One of these.
    loggers: Vec<Key>,
}

impl WantedKeys {
    /// Of words, a part of the message, and the pattern of a logger; what is empty rules nothing out.
    #[must_use]
    pub fn of(words: &[String], text: &str, logger: &str) -> Self {
        let is_short = |word: &&[u8]| word.len() <= WORD_BYTES_MAX;
        let own = words.iter().map(String::as_bytes);
        let inner = inner_words(text.as_bytes());
        let keys = own.chain(inner).filter(is_short).map(Key::word).collect();
        let is_exact = !logger.is_empty() && !logger.contains('*');
        let loggers = match is_exact {
            true => vec![Key::logger(logger.as_bytes()), Key::any_logger()],
            false => Vec::new(),
        };
        WantedKeys { words: keys, loggers }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.loggers.is_empty()
    }
}

/// A block of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockPlace {
    /// Where its chunk begins.
    pub(super) at: u64,
    pub(super) block: u32,
}

/// Where the filter of a block is.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockFilter {
    pub(super) place: BlockPlace,
    /// Where its lines begin.
    pub(super) lines_at: u64,
    pub(super) lines: u32,
    /// The checksum of the chunk's head, if the chunk may be another one.
    pub(super) chunk_crc: Option<u32>,
}

/// The file of a segment, opened.
#[derive(Debug)]
pub(crate) struct SegmentWords {
    file: File,
    /// In the order of their places.
    blocks: Vec<BlockFilter>,
}

/// The head of a file of words; `rest` sets what a kind of file adds.
pub(super) fn head_of(
    magic: [u8; 8],
    (of, number): (&SegmentHead, u64),
    rest: impl FnOnce(&mut [u8; HEAD_BYTES]),
) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&magic);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[16..32].copy_from_slice(&of.folder);
    head[32..40].copy_from_slice(&number.to_le_bytes());
    rest(&mut head);
    let crc = crc32c::crc32c(&head[..60]);
    head[60..].copy_from_slice(&crc.to_le_bytes());
    head
}

impl SegmentWords {
    /// A file with the filters of blocks, which are in order.
    pub(super) fn new(file: File, blocks: Vec<BlockFilter>) -> Self {
        SegmentWords { file, blocks }
    }

    /// The file of a closed segment; `None` if there is none, or it is not of this segment as it is.
    pub(crate) fn open(folder: &Path, number: u64, of: &Segment) -> Option<Self> {
        let file = File::open(NAMES.path(folder, number)).ok()?;
        let mut head = [0; HEAD_BYTES];
        file.read_exact_at(&mut head, 0).ok()?;
        let is_sound = head[..8] == MAGIC
            && u32_at(&head, 8) == VERSION
            && u32_at(&head, 60) == crc32c::crc32c(&head[..60])
            && head[16..32] == of.head.folder
            && u64_at(&head, 32) == number
            && u64_at(&head, 40) == of.file.metadata().ok()?.len();
        let count = u32_at(&head, 12);
        if !is_sound || count > BLOCKS_MAX {
            return None;
        }
        let table_bytes = count as usize * ENTRY_BYTES;
        // What a count claims is not reserved before the file is known to have it.
        let lines_at = (HEAD_BYTES + table_bytes) as u64;
        if file.metadata().ok()?.len() < lines_at {
            return None;
        }
        let mut table = vec![0; table_bytes];
        file.read_exact_at(&mut table, HEAD_BYTES as u64).ok()?;
        if crc32c::crc32c(&table) != u32_at(&head, 48) {
            return None;
        }
        let mut lines_at = lines_at;
        let blocks = table.chunks_exact(ENTRY_BYTES).map(|entry| {
            let place = BlockPlace { at: u64_at(entry, 0), block: u32_at(entry, 8) };
            let lines = u32_at(entry, 12);
            let filter = BlockFilter { place, lines_at, lines, chunk_crc: None };
            lines_at += u64::from(lines) * LINE_BYTES as u64;
            filter
        });
        Some(SegmentWords { blocks: blocks.collect(), file })
    }

    /// The filter of a block of the chunk whose head has this checksum.
    fn filter(&self, place: BlockPlace, chunk_crc: u32) -> Option<BlockFilter> {
        let found = self.blocks.binary_search_by_key(&place, |filter| filter.place).ok()?;
        let filter = self.blocks[found];
        filter.chunk_crc.is_none_or(|crc| crc == chunk_crc).then_some(filter)
    }

    /// Whether there is something about a block.
    pub(super) fn is_known(&self, place: BlockPlace, chunk_crc: u32) -> bool {
        self.filter(place, chunk_crc).is_some()
    }

    /// The lines of a block's filter; `None` if they are not known, or damaged.
    pub(super) fn lines(&self, place: BlockPlace, chunk_crc: u32) -> Option<Vec<u8>> {
        let filter = self.filter(place, chunk_crc).filter(|filter| filter.lines > 0)?;
        let mut bytes = vec![0; filter.lines as usize * LINE_BYTES];
        self.file.read_exact_at(&mut bytes, filter.lines_at).ok()?;
        bytes.chunks_exact(LINE_BYTES).all(is_sound).then_some(bytes)
    }

    /// Whether a block may have what is wanted; also true if that is not known.
    pub(crate) fn may_have(
        &self,
        (at, block): (u64, usize),
        chunk_crc: u32,
        wanted: &WantedKeys,
    ) -> bool {
        let place = BlockPlace { at, block: block as u32 };
        let Some(filter) = self.filter(place, chunk_crc) else { return true };
        let has = |key: &Key| filter.lines == 0 || self.has(&filter, *key).unwrap_or(true);
        let has_logger = wanted.loggers.is_empty() || wanted.loggers.iter().any(has);
        has_logger && wanted.words.iter().all(has)
    }

    /// Whether a filter has a key; `None` if its line cannot be read or is damaged.
    fn has(&self, filter: &BlockFilter, key: Key) -> Option<bool> {
        let mut line = [0; LINE_BYTES];
        let at = filter.lines_at + u64::from(key.line(filter.lines)) * LINE_BYTES as u64;
        self.file.read_exact_at(&mut line, at).ok()?;
        if !is_sound(&line) {
            return None;
        }
        Some(key.bits().all(|bit| line[bit / 8] & (1 << (bit % 8)) != 0))
    }
}

/// Whether a line has its checksum.
fn is_sound(line: &[u8]) -> bool {
    u32_at(line, 60) == crc32c::crc32c(&line[..60])
}

/// The lines of a block's filter.
pub(super) fn lines_of(keys: &HashSet<Key>) -> Vec<u8> {
    let lines = keys.len().div_ceil(WORDS_OF_LINE).max(1);
    let mut bytes = vec![0; lines * LINE_BYTES];
    for key in keys {
        let line = key.line(lines as u32) as usize * LINE_BYTES;
        for bit in key.bits() {
            bytes[line + bit / 8] |= 1 << (bit % 8);
        }
    }
    for line in bytes.chunks_exact_mut(LINE_BYTES) {
        let crc = crc32c::crc32c(&line[..60]);
        line[60..].copy_from_slice(&crc.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_part_must_have() {
        let inner = |part: &str| -> Vec<String> {
            inner_words(part.as_bytes())
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect()
        };
        assert_eq!(inner("disk full now"), ["full"]);
        assert_eq!(inner("isk"), [""; 0]);
        assert_eq!(inner(" disk ist_voll, ü 7"), ["disk", "ist_voll", "ü"]);
        assert_eq!(inner(""), [""; 0]);
    }

    /// Of 4,000 words all are found, and of 4,000 others about one in a hundred.
    #[test]
    fn filters_have_all_words_and_few_others() {
        let keys: HashSet<Key> = (0..4000).map(|n| Key::word(format!("w{n}").as_bytes())).collect();
        let lines = lines_of(&keys);
        let count = (lines.len() / LINE_BYTES) as u32;
        assert_eq!(count, 100);
        let has = |key: Key| {
            let line = &lines[key.line(count) as usize * LINE_BYTES..][..LINE_BYTES];
            key.bits().all(|bit| line[bit / 8] & (1 << (bit % 8)) != 0)
        };
        assert!(keys.iter().all(|key| has(*key)));
        let others = (4000..8000).filter(|n| has(Key::word(format!("w{n}").as_bytes()))).count();
        assert!(others < 80, "{others}");
        assert_eq!(Key::word(b"DISK"), Key::word(b"disk"));
        assert_ne!(Key::word(b"disk"), Key::logger(b"disk"));
    }
}
