//! How many records each segment has, by its tables alone; a store that grows is counted on.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::store::LOCK;
use crate::store::segment::{self, Segment, SegmentPart};

/// What a segment has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SegmentCount {
    /// The random number of its store.
    pub store: [u8; 16],
    /// Records, of whatever kind.
    pub records: u64,
    /// The number of its first commit.
    pub first_commit: u64,
    /// The number behind that of its last commit.
    pub next_commit: u64,
}

/// The segments of a store.
#[derive(Debug)]
pub struct StoreCounter {
    folder: PathBuf,
    open: BTreeMap<u64, OpenCount>,
}

/// A segment that is counted.
#[derive(Debug)]
struct OpenCount {
    count: SegmentCount,
    /// The file, while more may come.
    segment: Option<Segment>,
}

/// Whether a folder is a store that was written to.
#[must_use]
pub fn is_store(folder: &Path) -> bool {
    segment::NAMES.list(folder).is_ok_and(|numbers| !numbers.is_empty())
}

/// Whether something is there that may be read as a store: of folders, one that was written to, or that a
/// server has opened.  What else is there says why it cannot be read.
#[must_use]
pub fn may_be_store(path: &Path) -> bool {
    if path.is_dir() { is_store(path) || path.join(LOCK).exists() } else { path.exists() }
}

impl StoreCounter {
    /// Counts the store in a folder, which may be empty or not there yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        StoreCounter { folder: folder.to_owned(), open: BTreeMap::new() }
    }

    /// The segments that are there and were committed to, by their numbers, as they are now.
    ///
    /// # Errors
    /// If the folder or a segment cannot be read.
    pub fn look(&mut self) -> io::Result<BTreeMap<u64, SegmentCount>> {
        let numbers = match segment::NAMES.list(&self.folder) {
            Ok(numbers) => numbers,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        self.open.retain(|number, _| numbers.binary_search(number).is_ok());
        for (at, number) in numbers.iter().enumerate() {
            if !self.open.contains_key(number) {
                match Segment::open(&segment::NAMES.path(&self.folder, *number)) {
                    Ok(Some(segment)) => drop(self.open.insert(*number, OpenCount::new(segment))),
                    // Its head is being written, or it was removed.
                    Ok(None) => continue,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                }
            }
            if let Some(open) = self.open.get_mut(number) {
                open.advance(at + 1 < numbers.len())?;
            }
        }
        let has_any = |(number, open): (&u64, &OpenCount)| {
            (open.count.next_commit > 0).then_some((*number, open.count))
        };
        Ok(self.open.iter().filter_map(has_any).collect())
    }
}

impl OpenCount {
    fn new(segment: Segment) -> Self {
        let count = SegmentCount { store: segment.head.folder, ..SegmentCount::default() };
        OpenCount { count, segment: Some(segment) }
    }

    /// Counts what came since; nothing more comes to a segment that is closed.
    fn advance(&mut self, is_closed: bool) -> io::Result<()> {
        let Some(segment) = &mut self.segment else { return Ok(()) };
        while let Some(piece) = segment.next(is_closed)? {
            let SegmentPart::Chunk(_, chunk) = piece else { continue };
            if self.count.next_commit == 0 {
                self.count.first_commit = chunk.number;
            }
            self.count.next_commit = chunk.number.saturating_add(1);
            let records = chunk.blocks.iter().map(|block| u64::from(block.records)).sum();
            self.count.records = self.count.records.saturating_add(records);
        }
        if is_closed {
            self.segment = None;
        }
        Ok(())
    }
}
