//! Makes the files of [`words`](super::words): reads a closed segment once, and makes each message.
//!
//! Cost: about a second and a half for a million records, in a thread that nothing waits for; memory
//! for the tables of a segment and the different words of a block.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log_format::{LogRecord, RecordOrigin, write_message};
use logring::{ArgumentType, LogValue};
use segments::SegmentHead;

use crate::store::Chunk;
use crate::store::dictionaries::{Dictionaries, Item};
use crate::store::reader::OpenBlock;
use crate::store::segment::{self, Piece, Segment};
use crate::store::words::{
    ENTRY_BYTES, HEAD_BYTES, Key, LINE_BYTES, MAGIC, NAMES, SegmentWords, VERSION, WORD_BYTES_MAX,
    lines_of, words,
};

/// Adds what is looked up of a record; false if it is not all known yet what it means.
fn add_keys(item: &Item<'_>, keys: &mut HashSet<Key>, scratch: &mut Vec<u8>) -> bool {
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
    keys.insert(match read.context {
        Some(_) => Key::logger(read.logger().as_bytes()),
        None => Key::any_logger(),
    });
    scratch.clear();
    write_message(scratch, &read);
    keys.extend(words(scratch).filter(|word| word.len() <= WORD_BYTES_MAX).map(Key::word));
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
        if let Piece::Chunk(at, chunk) = piece {
            dictionaries.take(&segment, at, &chunk)?;
            chunks.push((at, Arc::<Chunk>::from(chunk)));
        }
        if has_ended() {
            return Ok(false);
        }
    }
    let new = folder.join(format!("{number:016x}.words.new"));
    let (mut lines, mut table) = (BufWriter::new(File::create(&new)?), Vec::new());
    let blocks: usize = chunks.iter().map(|(_, chunk)| chunk.blocks.len()).sum();
    let table_bytes = blocks * ENTRY_BYTES;
    lines.write_all(&vec![0; HEAD_BYTES + table_bytes])?;
    let mut scratch = Vec::new();
    for (at, chunk) in &chunks {
        for block in 0..chunk.blocks.len() {
            if has_ended() {
                std::fs::remove_file(&new)?;
                return Ok(false);
            }
            let filter = filter_of(&segment, (*at, chunk, block), &dictionaries, &mut scratch)?;
            lines.write_all(&filter)?;
            table.extend_from_slice(&at.to_le_bytes());
            table.extend_from_slice(&(block as u32).to_le_bytes());
            table.extend_from_slice(&((filter.len() / LINE_BYTES) as u32).to_le_bytes());
        }
    }
    let file = lines.into_inner()?;
    file.write_all_at(&table, HEAD_BYTES as u64)?;
    let bytes = segment.file.metadata()?.len();
    file.write_all_at(&head(&segment.head, (number, bytes), &table), 0)?;
    std::fs::rename(&new, NAMES.path(folder, number))?;
    Ok(true)
}

/// The filter of a block; nothing if it cannot be told what is in it.
fn filter_of(
    segment: &Segment,
    (at, chunk, number): (u64, &Arc<Chunk>, usize),
    dictionaries: &Dictionaries,
    scratch: &mut Vec<u8>,
) -> io::Result<Vec<u8>> {
    let Some(mut block) = OpenBlock::read(segment, at, chunk, number)? else {
        return Ok(Vec::new());
    };
    let (mut keys, mut is_known, mut shown, mut records) = (HashSet::new(), true, 0, 0);
    while let Some((stream, record)) = block.next() {
        records += 1;
        let _ = dictionaries.show(chunk, stream, &record, &mut |item| {
            shown += 1;
            is_known = is_known && add_keys(item, &mut keys, scratch);
            std::ops::ControlFlow::Continue(())
        });
    }
    // Records of a process without a dictionary may get one later.
    Ok(if is_known && shown == records { lines_of(&keys) } else { Vec::new() })
}

fn head(of: &SegmentHead, (number, bytes): (u64, u64), table: &[u8]) -> [u8; HEAD_BYTES] {
    let mut head = [0; HEAD_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&((table.len() / ENTRY_BYTES) as u32).to_le_bytes());
    head[16..32].copy_from_slice(&of.folder);
    head[32..40].copy_from_slice(&number.to_le_bytes());
    head[40..48].copy_from_slice(&bytes.to_le_bytes());
    head[48..52].copy_from_slice(&crc32c::crc32c(table).to_le_bytes());
    let crc = crc32c::crc32c(&head[..60]);
    head[60..].copy_from_slice(&crc.to_le_bytes());
    head
}

/// Makes the files of words of a store, again and again.
#[derive(Debug)]
pub struct WordIndexer {
    folder: PathBuf,
    /// The segments at the last look, of which all that are closed have their files.
    done: Vec<u64>,
}

impl WordIndexer {
    /// Of a store, which need not be there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        WordIndexer { folder: folder.to_owned(), done: Vec::new() }
    }

    /// Makes the files that closed segments lack, newest first, and removes those whose segments are
    /// gone; says how many it has made.
    ///
    /// # Errors
    /// If the folder cannot be read or written.
    pub fn go_on(&mut self, has_ended: &dyn Fn() -> bool) -> io::Result<u64> {
        let folder = &self.folder;
        let segments = match segment::NAMES.list(folder) {
            Ok(segments) => segments,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
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
        self.done = segments;
        Ok(made)
    }
}
