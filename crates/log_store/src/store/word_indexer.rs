//! Makes the files of [`words`](super::words): reads a segment while it is written and makes each message
//! once; the file of a closed segment is made of what was known of it then.
//!
//! Cost: about a second and a half for a million records, in a thread that nothing waits for; memory
//! for the tables of a segment and the different words of a block.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log_format::{LogRecord, RecordOrigin, write_message};
use logring::abi::kind;
use logring::{ArgumentType, LogValue};
use segments::{SegmentHead, SegmentNames};

use crate::store::Chunk;
use crate::store::dictionaries::{Dictionaries, Item};
use crate::store::open_words::{self, OpenWordsFile};
use crate::store::reader::OpenBlock;
use crate::store::segment::{self, Segment, SegmentPart};
use crate::store::words::{
    BlockPlace, BlockWords, ENTRY_BYTES, HEAD_BYTES, MAGIC, NAMES, SegmentWords, head_of,
};

/// How the file of a closed segment is named while it is made.
const NEW_NAMES: SegmentNames =
    SegmentNames { prefix: "", suffix: ".words.new", is_hexadecimal: true };

/// What is used again for each block.
#[derive(Default)]
struct Scratch {
    words: BlockWords,
    message: Vec<u8>,
}

/// Adds what is looked up of a record; false if it is not all known yet what it means.
fn add_words(item: &Item<'_>, scratch: &mut Scratch) -> bool {
    let record = item.record;
    let read = LogRecord::new(record, item.dictionary, RecordOrigin::default(), record.stamp);
    if (record.site != 0 && read.site.is_none()) || (record.context != 0 && read.context.is_none())
    {
        return false;
    }
    if read.types().contains(&ArgumentType::Interned) {
        let is_known = |value: &LogValue<'_>| match value {
            LogValue::Interned(number) => item.dictionary.text(*number).is_some(),
            _ => true,
        };
        let known = record.arguments(read.types());
        if !known.is_ok_and(|values| values.as_slice().iter().all(is_known)) {
            return false;
        }
    }
    // Of records about clocks and threads is known that they have none.
    let may_be_any = read.context.is_none() && record.kind == kind::DROPPED;
    scratch.words.add_logger((!may_be_any).then(|| read.logger()));
    scratch.message.clear();
    write_message(&mut scratch.message, &read);
    scratch.words.add_message(&mut scratch.message);
    true
}

/// Makes the file of a closed segment.
fn make(folder: &Path, number: u64, has_ended: &dyn Fn() -> bool) -> io::Result<bool> {
    let Some(mut segment) = Segment::open(&segment::NAMES.path(folder, number))? else {
        return Ok(false);
    };
    let (mut dictionaries, mut chunks) = (Dictionaries::default(), Vec::new());
    // What a record means may stand behind it.
    while let Some(piece) = segment.next(true)? {
        if let SegmentPart::Chunk(at, chunk) = piece {
            dictionaries.add_chunk(&segment, at, &chunk)?;
            chunks.push((at, Arc::<Chunk>::from(chunk)));
        }
        if has_ended() {
            return Ok(false);
        }
    }
    let new = NEW_NAMES.path(folder, number);
    let (mut out, mut table) = (BufWriter::new(File::create(&new)?), Vec::new());
    let blocks: usize = chunks.iter().map(|(_, chunk)| chunk.blocks.len()).sum();
    let table_bytes = blocks * ENTRY_BYTES;
    out.write_all(&vec![0; HEAD_BYTES + table_bytes])?;
    let open = open_words::open(folder, number, &segment);
    let mut scratch = Scratch::default();
    for (at, chunk) in &chunks {
        for block in 0..chunk.blocks.len() {
            if has_ended() {
                std::fs::remove_file(&new)?;
                return Ok(false);
            }
            let place = BlockPlace { at: *at, block: block as u32 };
            let known = open.as_ref().and_then(|open| open.stored(place, chunk.head_crc));
            let words = match known {
                Some(words) => words,
                None => words_of(&segment, (*at, chunk, block), &dictionaries, &mut scratch)?,
            };
            out.write_all(&words)?;
            table.extend_from_slice(&at.to_le_bytes());
            table.extend_from_slice(&(block as u32).to_le_bytes());
            table.extend_from_slice(&(words.len() as u32).to_le_bytes());
        }
    }
    let file = out.into_inner()?;
    file.write_all_at(&table, HEAD_BYTES as u64)?;
    let bytes = segment.file.metadata()?.len();
    file.write_all_at(&head(&segment.head, (number, bytes), &table), 0)?;
    std::fs::rename(&new, NAMES.path(folder, number))?;
    Ok(true)
}

/// The words of a block as they are stored; nothing if it cannot be told what is in it.
fn words_of(
    segment: &Segment,
    (at, chunk, number): (u64, &Arc<Chunk>, usize),
    dictionaries: &Dictionaries,
    scratch: &mut Scratch,
) -> io::Result<Vec<u8>> {
    let Some(mut block) = OpenBlock::read(segment, at, chunk, number)? else {
        return Ok(Vec::new());
    };
    let (mut is_known, mut shown, mut records) = (true, 0, 0);
    while let Some((stream, record)) = block.next() {
        records += 1;
        let _ = dictionaries.show(chunk, stream, &record, &mut |item| {
            shown += 1;
            is_known = is_known && add_words(item, scratch);
            std::ops::ControlFlow::Continue(())
        });
    }
    block.close(segment);
    let words = scratch.words.take_stored();
    // Records of a process without a dictionary may get one later.
    Ok(if is_known && shown == records { words } else { Vec::new() })
}

fn head(of: &SegmentHead, (number, bytes): (u64, u64), table: &[u8]) -> [u8; HEAD_BYTES] {
    head_of(MAGIC, (of, number), |head| {
        head[12..16].copy_from_slice(&((table.len() / ENTRY_BYTES) as u32).to_le_bytes());
        head[40..48].copy_from_slice(&bytes.to_le_bytes());
        head[48..52].copy_from_slice(&crc32c::crc32c(table).to_le_bytes());
    })
}

/// The newest segment, which is followed.
#[derive(Debug)]
struct OpenWords {
    number: u64,
    segment: Segment,
    dictionaries: Dictionaries,
    file: OpenWordsFile,
}

impl OpenWords {
    /// `None`: the segment has no head yet.
    fn begin(folder: &Path, number: u64) -> io::Result<Option<Self>> {
        let Some(segment) = Segment::open(&segment::NAMES.path(folder, number))? else {
            return Ok(None);
        };
        let file = OpenWordsFile::begin(folder, number, &segment.head)?;
        Ok(Some(OpenWords { number, segment, dictionaries: Dictionaries::default(), file }))
    }

    /// Whether it is this segment, and its file is still there.
    fn is_of(&self, number: u64) -> bool {
        self.number == number && self.file.path.exists()
    }

    /// Adds the blocks that are committed by now; false if it was ended before.
    fn advance(&mut self, has_ended: &dyn Fn() -> bool) -> io::Result<bool> {
        let mut scratch = Scratch::default();
        while let Some(piece) = self.segment.next(false)? {
            let SegmentPart::Chunk(at, chunk) = piece else { continue };
            self.dictionaries.add_chunk(&self.segment, at, &chunk)?;
            let chunk = Arc::<Chunk>::from(chunk);
            for block in 0..chunk.blocks.len() {
                if has_ended() {
                    // The next start finds what is there.
                    self.file.flush()?;
                    return Ok(false);
                }
                let place = BlockPlace { at, block: block as u32 };
                if !self.file.has(place, chunk.head_crc) {
                    let of = (at, &chunk, block);
                    let words = words_of(&self.segment, of, &self.dictionaries, &mut scratch)?;
                    self.file.add(place, chunk.head_crc, &words)?;
                }
            }
        }
        self.file.flush()?;
        Ok(true)
    }
}

/// Makes the files of words of a store, again and again.
#[derive(Debug)]
pub struct WordIndexer {
    folder: PathBuf,
    /// The segments at the last look, of which all that are closed have their files.
    done: Vec<u64>,
    /// The file of the newest.
    open: Option<OpenWords>,
}

impl WordIndexer {
    /// An indexer of a store, which need not be there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        WordIndexer { folder: folder.to_owned(), done: Vec::new(), open: None }
    }

    /// Goes on with the file of the newest segment, makes those that closed segments lack, newest first,
    /// and removes those whose segments are gone; says how many it has made for closed segments.
    ///
    /// # Errors
    /// If the folder cannot be read or written.
    pub fn advance(&mut self, has_ended: &dyn Fn() -> bool) -> io::Result<u64> {
        let segments = match segment::NAMES.list(&self.folder) {
            Ok(segments) => segments,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        if let Some(newest) = segments.last()
            && !self.go_on_open(*newest, has_ended)?
        {
            return Ok(0);
        }
        let folder = &self.folder;
        if segments == self.done {
            return Ok(0);
        }
        for number in NAMES.list(folder)? {
            if segments.binary_search(&number).is_err() {
                std::fs::remove_file(NAMES.path(folder, number))?;
            }
        }
        let mut made = 0;
        // The newest is still written.
        for number in segments.iter().rev().skip(1) {
            let of = match Segment::open(&segment::NAMES.path(folder, *number)) {
                Ok(Some(segment)) => segment,
                Ok(None) => continue,
                // Retention may have removed it meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if has_ended() {
                return Ok(made);
            }
            if SegmentWords::open(folder, *number, &of).is_none() {
                made += u64::from(make(folder, *number, has_ended)?);
            }
        }
        for number in open_words::NAMES.list(folder)? {
            if segments.last() != Some(&number) {
                std::fs::remove_file(open_words::NAMES.path(folder, number))?;
            }
        }
        // Of those that were being made when the server was killed.
        for number in NEW_NAMES.list(folder)? {
            std::fs::remove_file(NEW_NAMES.path(folder, number))?;
        }
        self.done = segments;
        Ok(made)
    }

    /// Goes on with the file of the newest segment; false if it was ended.
    fn go_on_open(&mut self, number: u64, has_ended: &dyn Fn() -> bool) -> io::Result<bool> {
        if self.open.as_ref().is_none_or(|open| !open.is_of(number)) {
            self.open = match OpenWords::begin(&self.folder, number) {
                Ok(begun) => begun,
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
        }
        let Some(open) = &mut self.open else { return Ok(true) };
        let done = open.advance(has_ended);
        if done.is_err() {
            // What was not written is not passed over the next time.
            self.open = None;
        }
        done
    }
}
