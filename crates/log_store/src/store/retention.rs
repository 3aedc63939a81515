//! Retention: whole segments are removed, oldest first, while there are too many bytes or their
//! newest record is too old.  The newest segment stays.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::Store;
use crate::store::segment::{self, Segment, SegmentPart};

/// The ends of the names of files that say which words a segment has.
const WORDS: [&str; 2] = ["words", "open-words"];

/// What a store keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Most bytes of all segments, and of the files of words beside them.
    pub bytes_max: Option<u64>,
    /// Age of the newest record of a segment, in ns, from which on it is removed.
    pub age_ns_max: Option<u64>,
}

impl Store {
    /// Removes what need not be kept; gives what was removed.
    ///
    /// # Errors
    /// If the folder cannot be read or a segment cannot be removed.
    pub fn retain(&self, retention: &Retention, now_ns: u64) -> io::Result<Vec<PathBuf>> {
        let mut numbers = segment::NAMES.list(self.folder())?;
        let newest = numbers.pop();
        let size = |number: u64| {
            let path = segment::NAMES.path(self.folder(), number);
            io::Result::Ok((path.metadata()?.len() + words_bytes(&path), path))
        };
        let sizes = numbers.into_iter().map(size).collect::<io::Result<Vec<_>>>()?;
        let newest = newest.map_or(Ok(0), |number| size(number).map(|(bytes, _)| bytes))?;
        let mut total = sizes.iter().map(|(bytes, _)| bytes).sum::<u64>() + newest;
        let mut removed = Vec::new();
        for (bytes, path) in sizes {
            let is_too_much = retention.bytes_max.is_some_and(|most| total > most);
            let is_too_old = || {
                let Some(age) = retention.age_ns_max else { return Ok(false) };
                newest_ns(&path).map(|(newest, _)| newest < now_ns.saturating_sub(age))
            };
            if !is_too_much && !is_too_old()? {
                break;
            }
            std::fs::remove_file(&path)?;
            // It may have none; one that stays is removed when others are made.
            for kind in WORDS {
                let _ = std::fs::remove_file(path.with_extension(kind));
            }
            total -= bytes;
            removed.push(path);
        }
        Ok(removed)
    }

    /// When something was committed last, by the clock of this machine, in ns since 1970; none in a new
    /// store.  It reads the heads of the newest segment.
    ///
    /// # Errors
    /// If the folder or the segment cannot be read.
    pub fn committed_ns(&self) -> io::Result<Option<u64>> {
        let newest = segment::NAMES.list(self.folder())?.pop();
        let path = newest.map(|number| segment::NAMES.path(self.folder(), number));
        let committed = path.map(|path| newest_ns(&path).map(|(_, committed)| committed));
        Ok(committed.transpose()?.filter(|committed| *committed > 0))
    }
}

/// Bytes of the files of words beside a segment, which may have none.  Where records have few bytes,
/// these have more than the segment.
fn words_bytes(segment: &Path) -> u64 {
    let bytes = |kind: &str| segment.with_extension(kind).metadata().map_or(0, |data| data.len());
    WORDS.into_iter().map(bytes).sum()
}

/// The newest stamp of a segment, of records and commits, and that of commits alone.
fn newest_ns(path: &Path) -> io::Result<(u64, u64)> {
    let Some(mut segment) = Segment::open(path)? else { return Ok((0, 0)) };
    let mut committed = segment.head.created_ns;
    let mut newest = committed;
    while let Some(piece) = segment.next(true)? {
        if let SegmentPart::Chunk(_, chunk) = piece {
            committed = committed.max(chunk.committed_ns);
            newest = chunk.blocks.iter().map(|block| block.last_ns).fold(newest, u64::max);
        }
    }
    Ok((newest.max(committed), committed))
}
