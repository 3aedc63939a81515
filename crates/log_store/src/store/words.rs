//! Which words and loggers the blocks of a closed segment have: a file `NUMBER.words` beside it.
//!
//! A block that lacks a word that is asked for is not read.  The file may be removed at any time, and a
//! segment without it is read as before: answers are the same.  The segment that is still written has a
//! file of another form (`open_words`).  `words/block.rs` says what is stored of a block,
//! `words/wanted.rs` what is asked; `docs/format-log-store.md` defines every byte.
//!
//! Cost: making it reads the segment once and makes each message; the file has some 0.2 to 2 bytes for a
//! record.  A question reads what is stored of each block that the index lets through.

mod block;
mod number_set;
mod wanted;

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use log_protocol::bytes::{u32_at, u64_at};
use segments::{SegmentHead, SegmentNames};

use crate::store::segment::Segment;

pub(super) use block::{BYTES_MAX, BlockWords, StoredWords};
pub(crate) use block::{ask, block_of};
pub use wanted::WantedKeys;

pub(super) const MAGIC: [u8; 8] = *b"whitlogW";
const VERSION: u32 = 2;
pub(super) const NAMES: SegmentNames =
    SegmentNames { prefix: "", suffix: ".words", is_hexadecimal: true };
pub(super) const HEAD_BYTES: usize = 64;
pub(super) const ENTRY_BYTES: usize = 16;
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

/// A number for a word in small letters: FNV-1a, and the last step of MurmurHash3, for bits that all depend
/// on all.
fn hash_of(word: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in word {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// A block of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BlockPlace {
    /// Where its chunk begins.
    pub(super) at: u64,
    pub(super) block: u32,
}

/// Where the words of a block are.
#[derive(Debug, Clone, Copy)]
pub(super) struct WordsPlace {
    pub(super) place: BlockPlace,
    pub(super) words_at: u64,
    /// How many there are; 0: nothing is known.
    pub(super) bytes: u32,
    /// The checksum of the chunk's head, if the chunk may be another one.
    pub(super) chunk_crc: Option<u32>,
}

/// The file of a segment, opened.
#[derive(Debug)]
pub(crate) struct SegmentWords {
    file: File,
    /// In the order of their places.
    blocks: Vec<WordsPlace>,
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
    pub(super) fn new(file: File, blocks: Vec<WordsPlace>) -> Self {
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
        let words_at = (HEAD_BYTES + table_bytes) as u64;
        if file.metadata().ok()?.len() < words_at {
            return None;
        }
        let mut table = vec![0; table_bytes];
        file.read_exact_at(&mut table, HEAD_BYTES as u64).ok()?;
        if crc32c::crc32c(&table) != u32_at(&head, 48) {
            return None;
        }
        let mut words_at = words_at;
        let blocks = table.chunks_exact(ENTRY_BYTES).map(|entry| {
            let place = BlockPlace { at: u64_at(entry, 0), block: u32_at(entry, 8) };
            let bytes = u32_at(entry, 12);
            let found = WordsPlace { place, words_at, bytes, chunk_crc: None };
            words_at += u64::from(bytes);
            found
        });
        Some(SegmentWords { blocks: blocks.collect(), file })
    }

    /// Where the words are of a block of the chunk whose head has this checksum.
    fn find(&self, place: BlockPlace, chunk_crc: u32) -> Option<WordsPlace> {
        let found = self.blocks.binary_search_by_key(&place, |block| block.place).ok()?;
        let found = self.blocks[found];
        found.chunk_crc.is_none_or(|crc| crc == chunk_crc).then_some(found)
    }

    /// Whether there is something about a block.
    pub(super) fn is_known(&self, place: BlockPlace, chunk_crc: u32) -> bool {
        self.find(place, chunk_crc).is_some()
    }

    /// The words of a block as they are stored; `None` if they are not known, or damaged.
    pub(super) fn stored(&self, place: BlockPlace, chunk_crc: u32) -> Option<Vec<u8>> {
        let found = self.find(place, chunk_crc)?;
        if found.bytes == 0 || found.bytes as usize > BYTES_MAX {
            return None;
        }
        let mut bytes = vec![0; found.bytes as usize];
        self.file.read_exact_at(&mut bytes, found.words_at).ok()?;
        StoredWords::is_sound(&bytes).then_some(bytes)
    }

    /// Whether a block may have what is wanted; also true if that is not known.
    pub(crate) fn may_have(
        &self,
        (at, block): (u64, usize),
        chunk_crc: u32,
        wanted: &WantedKeys,
    ) -> bool {
        let place = BlockPlace { at, block: block as u32 };
        let Some(bytes) = self.stored(place, chunk_crc) else { return true };
        let may_have = StoredWords::read(&bytes).and_then(|stored| stored.may_have(wanted));
        may_have.unwrap_or(true)
    }
}
