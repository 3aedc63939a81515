//! Segments whose blocks are read in the order of time, with what is known of their words.
//!
//! Few are open at once: blocks of a time are in neighbouring segments, and a store may have more segments
//! than a process may have descriptors.  The words of a segment are read when the first of its blocks is
//! asked for.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::Chunk;
use crate::store::open_words::words_of;
use crate::store::segment::{self, Segment};
use crate::store::words::{SegmentWords, WantedKeys};

/// Segments that are open at most.  Proxies that come back bring records of some hours, which are in as
/// many segments.
const OPEN_MAX: usize = 16;

/// The segments that were asked for last.
#[derive(Debug)]
pub(crate) struct OpenedSegments {
    folder: PathBuf,
    /// The last one was asked for last.
    segments: Vec<OpenedSegment>,
}

#[derive(Debug)]
struct OpenedSegment {
    number: u64,
    segment: Segment,
    words: SegmentKnowledge,
}

/// What is known of the words of a segment.
#[derive(Debug)]
enum SegmentKnowledge {
    NotAsked,
    Nothing,
    Words(SegmentWords),
}

impl OpenedSegments {
    pub(crate) fn new(folder: &Path) -> Self {
        OpenedSegments { folder: folder.to_owned(), segments: Vec::new() }
    }

    /// Opens a segment, unless it is open; `None` if it is not there any more.
    fn open(&mut self, number: u64) -> io::Result<Option<&mut OpenedSegment>> {
        let known = self.segments.iter().rposition(|one| one.number == number);
        if let Some(at) = known {
            self.segments[at..].rotate_left(1);
            return Ok(self.segments.last_mut());
        }
        let segment = match Segment::open(&segment::NAMES.path(&self.folder, number)) {
            Ok(Some(segment)) => segment,
            Ok(None) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if self.segments.len() >= OPEN_MAX {
            self.segments.remove(0);
        }
        let words = SegmentKnowledge::NotAsked;
        self.segments.push(OpenedSegment { number, segment, words });
        Ok(self.segments.last_mut())
    }

    /// A segment; `None` if it is not there any more.
    pub(crate) fn segment(&mut self, number: u64) -> io::Result<Option<&Segment>> {
        Ok(self.open(number)?.map(|opened| &opened.segment))
    }

    /// Whether a block of a chunk, which begins there, may have what is wanted; also true if that is not
    /// known.
    pub(crate) fn may_have(
        &mut self,
        number: u64,
        (at, chunk, block): (u64, &Arc<Chunk>, usize),
        wanted: &WantedKeys,
    ) -> io::Result<bool> {
        if wanted.is_empty() {
            return Ok(true);
        }
        let folder = self.folder.clone();
        let Some(opened) = self.open(number)? else { return Ok(true) };
        if matches!(opened.words, SegmentKnowledge::NotAsked) {
            let words = words_of(&folder, number, &opened.segment);
            opened.words = words.map_or(SegmentKnowledge::Nothing, SegmentKnowledge::Words);
        }
        Ok(match &opened.words {
            SegmentKnowledge::Words(words) => words.may_have((at, block), chunk.head_crc, wanted),
            _ => true,
        })
    }

    /// Takes the raw bytes of a block back, for the next.
    pub(crate) fn give_back(&self, raw: Vec<u8>) {
        if let Some(opened) = self.segments.last() {
            opened.segment.give_back(raw);
        }
    }
}
