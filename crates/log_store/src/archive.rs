//! Questions about the past of a store: records of a period, counts by level, names.
//!
//! An index of each segment is kept in memory: when the records of each part of it were made, how many
//! of each level they are, and where dictionaries are.  So a question about one hour reads the parts of
//! that hour, and memory does not hang on the length of the period.  The index of a segment is made once,
//! from its tables; that of the newest goes on where it ended.
//!
//! Begin with [`LogArchive`]; `archive/index.rs` is the index, `archive/records.rs`, `archive/counts.rs`
//! and `archive/names.rs` answer.

mod counts;
mod index;
mod losses;
mod names;
mod records;
mod search;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

pub use counts::{LogCounts, LogSteps};
pub use losses::{LogLoss, LogLosses};
pub use names::LogNames;
pub use records::{FoundRecord, FoundRecords, LogOrder, LogPage, RecordKey};
pub use search::{LogSearch, plain_pattern};

use crate::query::Filter;
use crate::store::open_words::words_of;
use crate::store::reader::OpenBlock;
use crate::store::segment::{self, Segment};
use crate::store::words::{SegmentWords, WantedKeys};
use crate::store::{BlockIndex, Chunk, Item, dictionaries::Dictionaries};
use index::{IndexPart, SegmentIndex};

/// How long a question waits before it looks again whether another has made the index.
const INDEX_PAUSE: Duration = Duration::from_millis(2);

/// Why a question to a store has no answer.
#[derive(Debug, thiserror::Error)]
pub enum LogArchiveError {
    /// The system refused something.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The words of a search.
    #[error("{0}")]
    Search(String),
    /// Nobody waits for the answer any more.
    #[error("the question was ended")]
    Ended,
}

/// Whether nobody waits for an answer any more.
pub type LooksForEnd<'a> = dyn Fn() -> bool + 'a;

/// The past of a store: many questions at the same time, also while it is written.
#[derive(Debug)]
pub struct LogArchive {
    folder: PathBuf,
    segments: Mutex<BTreeMap<u64, Arc<SegmentIndex>>>,
}

/// What a question visits: a wanted part of a segment after the other.
struct Walk<'a> {
    archive: &'a LogArchive,
    has_ended: &'a LooksForEnd<'a>,
    /// The segment that was read last: parts of a time are beside each other.
    open: Option<OpenSegmentParts>,
    /// What blocks must have that are read.
    wanted: WantedKeys,
    losses: LogLosses,
}

/// A segment whose parts are read.
struct OpenSegmentParts {
    index: Arc<SegmentIndex>,
    segment: Segment,
    dictionaries: Dictionaries,
    /// What its blocks have, if that is known.
    words: Option<SegmentWords>,
}

/// A part of a segment that a question needs.
#[derive(Clone)]
struct WantedPart {
    index: Arc<SegmentIndex>,
    part: IndexPart,
}

impl LogArchive {
    /// The past of the store in a folder, which may be empty or not there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        LogArchive { folder: folder.to_owned(), segments: Mutex::default() }
    }

    /// The folder of the store.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn io(&self, number: u64, source: io::Error) -> LogArchiveError {
        LogArchiveError::Io { path: segment::NAMES.path(&self.folder, number), source }
    }

    /// The indexes of all segments, as far as they are committed by now.
    fn indexes(
        &self,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Vec<Arc<SegmentIndex>>, LogArchiveError> {
        let mut known = loop {
            match self.segments.try_lock() {
                Ok(known) => break known,
                Err(TryLockError::Poisoned(known)) => break known.into_inner(),
                Err(TryLockError::WouldBlock) if has_ended() => return Err(LogArchiveError::Ended),
                Err(TryLockError::WouldBlock) => std::thread::park_timeout(INDEX_PAUSE),
            }
        };
        let numbers = match segment::NAMES.list(&self.folder) {
            Ok(numbers) => numbers,
            // No record has come yet.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(source) => return Err(LogArchiveError::Io { path: self.folder.clone(), source }),
        };
        known.retain(|number, _| numbers.binary_search(number).is_ok());
        for (at, number) in numbers.iter().enumerate() {
            let is_closed = at + 1 < numbers.len();
            if known.get(number).is_some_and(|index| index.is_closed) {
                continue;
            }
            let path = segment::NAMES.path(&self.folder, *number);
            let mut index = known.remove(number).unwrap_or_default();
            // Only this segment's own index changes: the others are shared with questions.
            let own = Arc::make_mut(&mut index);
            let advanced = own.advance(&path, *number, is_closed, has_ended);
            match advanced {
                Ok(true) => drop(known.insert(*number, index)),
                // Its head is not whole: nothing was committed to it.
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(self.io(*number, source)),
            }
            if has_ended() {
                return Err(LogArchiveError::Ended);
            }
        }
        Ok(known.values().cloned().collect())
    }

    /// The parts that may have records of a filter's period, and what the store lacks of it; only
    /// blocks are visited that may have what is wanted.
    fn wanted_parts<'a>(
        &'a self,
        filter: &Filter,
        wanted: WantedKeys,
        has_ended: &'a LooksForEnd<'a>,
    ) -> Result<(Vec<WantedPart>, Walk<'a>), LogArchiveError> {
        let losses = LogLosses::default();
        let mut walk = Walk { archive: self, has_ended, open: None, wanted, losses };
        let mut parts = Vec::new();
        for index in self.indexes(has_ended)? {
            if index.span().is_some_and(|span| is_within(span, filter)) {
                walk.losses.add_damaged(&index, &self.folder);
            }
            for part in &index.parts {
                if part.gaps.is_some_and(|span| is_within(span, filter)) {
                    walk.add_gaps(&index, part, filter)?;
                }
                if part.span().is_some_and(|span| is_within(span, filter)) {
                    parts.push(WantedPart { index: index.clone(), part: part.clone() });
                }
            }
        }
        Ok((parts, walk))
    }
}

/// Whether the times of a span meet the period of a filter.
fn is_within((first_ns, last_ns): (u64, u64), filter: &Filter) -> bool {
    filter.from_ns.is_none_or(|from| last_ns >= from)
        && filter.until_ns.is_none_or(|until| first_ns < until)
}

impl Walk<'_> {
    fn look(&self) -> Result<(), LogArchiveError> {
        if (self.has_ended)() { Err(LogArchiveError::Ended) } else { Ok(()) }
    }

    /// Adds what the store knows to be missing, of a part that says that there is such.
    fn add_gaps(
        &mut self,
        index: &Arc<SegmentIndex>,
        part: &IndexPart,
        filter: &Filter,
    ) -> Result<(), LogArchiveError> {
        let Some(mut segment) = self.archive.open(index)? else { return Ok(()) };
        let mut lost = Vec::new();
        let mut damaged = Vec::new();
        let read = index.chunks(&mut segment, part, &mut damaged, &mut |_, _, chunk| {
            let time = index::gap_time(chunk);
            if !chunk.gaps.is_empty() && is_within((time, time), filter) {
                lost.extend(losses::of(chunk, filter));
            }
            Ok(!(self.has_ended)())
        });
        read.map_err(|error| self.archive.io(index.number, error))?;
        lost.into_iter().for_each(|loss| self.losses.add(loss));
        self.look()
    }

    /// Visits the chunks of a part, with the segment they are in.
    fn chunks(
        &mut self,
        wanted: &WantedPart,
        visit: &mut dyn FnMut(&PartChunk<'_>) -> Result<(), LogArchiveError>,
    ) -> Result<(), LogArchiveError> {
        let index = &wanted.index;
        let is_open = self.open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.index, index));
        if !is_open {
            // Retention may have removed it meanwhile.
            self.open = self.archive.open_with_dictionaries(index, self.has_ended)?;
            if let Some(open) = self.open.as_mut().filter(|_| !self.wanted.is_empty()) {
                open.words = words_of(&self.archive.folder, index.number, &open.segment);
            }
        }
        let Some(OpenSegmentParts { segment, dictionaries, words, .. }) = &mut self.open else {
            return Ok(());
        };
        let (archive, mut failure) = (self.archive, None);
        let (mut damaged, mut unsound) = (Vec::new(), Vec::new());
        let part = &wanted.part;
        let read = index.chunks(segment, part, &mut damaged, &mut |segment, at, chunk| {
            let words = words.as_ref().map(|words| (words, &self.wanted));
            let of_part = PartChunk { segment, at, chunk, dictionaries: &*dictionaries, words };
            match if (self.has_ended)() { Err(LogArchiveError::Ended) } else { visit(&of_part) } {
                Ok(()) => Ok(true),
                Err(LogArchiveError::Io { source, .. })
                    if source.kind() == io::ErrorKind::InvalidData =>
                {
                    unsound.push((at, at + chunk.total_bytes));
                    Ok(true)
                }
                Err(error) => {
                    failure = Some(error);
                    Ok(false)
                }
            }
        });
        read.map_err(|error| archive.io(index.number, error))?;
        let path = segment::NAMES.path(&archive.folder, index.number);
        let losses = &mut self.losses;
        let all = damaged.into_iter().chain(unsound);
        all.for_each(|(from, to)| losses.add_damage(&path, from, to));
        failure.map_or(Ok(()), Err)
    }
}

/// A chunk of a part that is visited.
struct PartChunk<'a> {
    segment: &'a Segment,
    at: u64,
    chunk: &'a Arc<Chunk>,
    dictionaries: &'a Dictionaries,
    /// What the blocks of the segment have, and what they must have.
    words: Option<(&'a SegmentWords, &'a WantedKeys)>,
}

impl PartChunk<'_> {
    /// Visits the records of a block; an error of invalid data if it is damaged.
    fn block(
        &self,
        number: usize,
        visit: &mut dyn FnMut(&Item<'_>),
    ) -> Result<(), LogArchiveError> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let read = OpenBlock::read(self.segment, self.at, self.chunk, number);
        let read = read.and_then(|block| block.ok_or_else(damaged));
        let mut block =
            read.map_err(|source| LogArchiveError::Io { path: PathBuf::new(), source })?;
        while let Some((stream, record)) = block.next() {
            let _ = self.dictionaries.show(self.chunk, stream, &record, &mut |item| {
                visit(item);
                std::ops::ControlFlow::Continue(())
            });
        }
        block.close(self.segment);
        Ok(())
    }

    fn blocks(&self) -> impl Iterator<Item = (usize, &BlockIndex)> {
        self.chunk.blocks.iter().enumerate()
    }

    /// Whether a block may have records that a filter wants, with the words of the search.
    fn may_have(&self, number: usize, filter: &Filter) -> bool {
        let (at, crc) = (self.at, self.chunk.head_crc);
        filter.wants_block(self.chunk, &self.chunk.blocks[number])
            && self.words.is_none_or(|(words, wanted)| words.may_have((at, number), crc, wanted))
    }
}

impl LogArchive {
    /// Opens the segment of an index; `None` if it is not there any more.
    fn open(&self, index: &SegmentIndex) -> Result<Option<Segment>, LogArchiveError> {
        let path = segment::NAMES.path(&self.folder, index.number);
        match Segment::open(&path) {
            Ok(segment) => Ok(segment.filter(|segment| index.is_of(segment))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(LogArchiveError::Io { path, source }),
        }
    }

    fn open_with_dictionaries(
        &self,
        index: &Arc<SegmentIndex>,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Option<OpenSegmentParts>, LogArchiveError> {
        let Some(mut segment) = self.open(index)? else { return Ok(None) };
        let mut dictionaries = Dictionaries::default();
        for at in &index.dictionaries {
            if has_ended() {
                return Err(LogArchiveError::Ended);
            }
            let taken = segment.chunk_from(*at).and_then(|chunk| match chunk {
                Some(chunk) => dictionaries.add_chunk(&segment, *at, &chunk),
                None => Ok(()),
            });
            taken.map_err(|error| self.io(index.number, error))?;
        }
        Ok(Some(OpenSegmentParts { index: index.clone(), segment, dictionaries, words: None }))
    }
}
