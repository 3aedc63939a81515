//! Which words and loggers the blocks of the segment have that is still written: a file
//! `NUMBER.open-words`, which grows with it.
//!
//! An entry for each block is followed by its words, as in the file of a closed segment (`words`).  An
//! entry names the checksum of its chunk's head: after a loss of power another chunk may stand at the
//! same place, and its blocks are read.  What is torn at the end is written again.  When the segment is
//! closed, its file takes them over, so that no message is made twice; then this one goes.
//! `docs/format-log-store.md` defines every byte.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use log_protocol::bytes::{u32_at, u64_at};
use segments::{SegmentHead, SegmentNames};

use crate::store::segment::Segment;
use crate::store::words::{
    BLOCKS_MAX, BYTES_MAX, BlockPlace, HEAD_BYTES, SegmentWords, WordsPlace, head_of,
};

const MAGIC: [u8; 8] = *b"whitlogO";
pub(super) const NAMES: SegmentNames =
    SegmentNames { prefix: "", suffix: ".open-words", is_hexadecimal: true };
/// Chunk's begin, block, bytes of words, checksum of the chunk's head, and of all that.
const ENTRY_BYTES: usize = 24;

fn head(of: &SegmentHead, number: u64) -> [u8; HEAD_BYTES] {
    head_of(MAGIC, (of, number), |_| {})
}

fn entry(place: BlockPlace, bytes: u32, chunk_crc: u32) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&place.at.to_le_bytes());
    entry[8..12].copy_from_slice(&place.block.to_le_bytes());
    entry[12..16].copy_from_slice(&bytes.to_le_bytes());
    entry[16..20].copy_from_slice(&chunk_crc.to_le_bytes());
    let crc = crc32c::crc32c(&entry[..20]);
    entry[20..].copy_from_slice(&crc.to_le_bytes());
    entry
}

/// What a file says, and where its last whole entry ends.
fn read(file: &File, number: u64, of: &SegmentHead) -> Option<(Vec<WordsPlace>, u64)> {
    let length = file.metadata().ok()?.len();
    let mut from = BufReader::new(file);
    from.seek(SeekFrom::Start(0)).ok()?;
    let mut bytes = [0; HEAD_BYTES];
    from.read_exact(&mut bytes).ok()?;
    if bytes != head(of, number) {
        return None;
    }
    // The later of two entries for a place holds.
    let mut blocks = BTreeMap::new();
    let mut end = HEAD_BYTES as u64;
    let mut bytes = [0; ENTRY_BYTES];
    while blocks.len() < BLOCKS_MAX as usize && from.read_exact(&mut bytes).is_ok() {
        let (count, chunk_crc) = (u32_at(&bytes, 12), u32_at(&bytes, 16));
        let place = BlockPlace { at: u64_at(&bytes, 0), block: u32_at(&bytes, 8) };
        let words_at = end + ENTRY_BYTES as u64;
        let behind = words_at + u64::from(count);
        if bytes != entry(place, count, chunk_crc) || behind > length {
            break;
        }
        from.seek_relative(i64::from(count)).ok()?;
        let found = WordsPlace { place, words_at, bytes: count, chunk_crc: Some(chunk_crc) };
        blocks.insert(place, found);
        end = behind;
    }
    Some((blocks.into_values().collect(), end))
}

/// What is known of the words of a segment: by its own file, or by that of when it was written.
pub(crate) fn words_of(folder: &Path, number: u64, of: &Segment) -> Option<SegmentWords> {
    SegmentWords::open(folder, number, of).or_else(|| open(folder, number, of))
}

/// What the file of an open segment says; `None` if there is none, or it is not of this segment.
pub(super) fn open(folder: &Path, number: u64, of: &Segment) -> Option<SegmentWords> {
    let file = File::open(NAMES.path(folder, number)).ok()?;
    let (blocks, _) = read(&file, number, &of.head)?;
    Some(SegmentWords::new(file, blocks))
}

/// A file that is written on.
#[derive(Debug)]
pub(super) struct OpenWordsFile {
    pub(super) path: PathBuf,
    out: BufWriter<File>,
    /// What it said when it was opened.
    known: SegmentWords,
}

impl OpenWordsFile {
    /// Goes on with the file of a segment, or begins it.
    pub(super) fn begin(folder: &Path, number: u64, of: &SegmentHead) -> io::Result<Self> {
        let path = NAMES.path(folder, number);
        let mut options = File::options();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(&path)?;
        let (blocks, end) = match read(&file, number, of) {
            Some(found) => found,
            None => {
                file.set_len(0)?;
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&head(of, number))?;
                (Vec::new(), HEAD_BYTES as u64)
            }
        };
        // What is torn would hide what is written behind it.
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        let known = SegmentWords::new(file.try_clone()?, blocks);
        Ok(OpenWordsFile { path, out: BufWriter::new(file), known })
    }

    /// Whether it had something about a block when it was opened.
    pub(super) fn has(&self, place: BlockPlace, chunk_crc: u32) -> bool {
        self.known.is_known(place, chunk_crc)
    }

    /// Adds the words of a block as they are stored; nothing: it cannot be told what is in it.
    pub(super) fn add(
        &mut self,
        place: BlockPlace,
        chunk_crc: u32,
        words: &[u8],
    ) -> io::Result<()> {
        let bytes = u32::try_from(words.len()).ok().filter(|bytes| *bytes as usize <= BYTES_MAX);
        self.out.write_all(&entry(place, bytes.unwrap_or(0), chunk_crc))?;
        self.out.write_all(if bytes.is_some() { words } else { &[] })
    }

    /// Lets readers see what was added.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
