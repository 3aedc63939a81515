//! Retention: whole segments are removed, oldest first, while there are too many bytes or their
//! newest record is too old.  The newest segment stays.

use std::io;
use std::path::PathBuf;

use crate::store::segment::{self, Piece, Segment};
use crate::store::{OpenSegment, Store};

/// What a store keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Most bytes of all segments.
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
        numbers.pop();
        let mut sizes = Vec::new();
        for number in numbers {
            let path = segment::NAMES.path(self.folder(), number);
            sizes.push((path.metadata()?.len(), path));
        }
        let newest = self.segment.as_ref().map_or(0, OpenSegment::bytes);
        let mut total = sizes.iter().map(|(bytes, _)| bytes).sum::<u64>() + newest;
        let mut removed = Vec::new();
        for (bytes, path) in sizes {
            let is_too_much = retention.bytes_max.is_some_and(|most| total > most);
            let is_too_old = || {
                let Some(age) = retention.age_ns_max else { return Ok(false) };
                newest_ns(&path).map(|newest| newest < now_ns.saturating_sub(age))
            };
            if !is_too_much && !is_too_old()? {
                break;
            }
            std::fs::remove_file(&path)?;
            // It may have none; one that stays is removed when others are made.
            let _ = std::fs::remove_file(path.with_extension("words"));
            total -= bytes;
            removed.push(path);
        }
        Ok(removed)
    }
}

/// The newest stamp of a segment, or of its commits where it has no records.
fn newest_ns(path: &std::path::Path) -> io::Result<u64> {
    let Some(mut segment) = Segment::open(path)? else { return Ok(0) };
    let mut newest = segment.head.created_ns;
    while let Some(piece) = segment.next(true)? {
        if let Piece::Chunk(_, chunk) = piece {
            newest = newest.max(chunk.committed_ns);
            newest = chunk.blocks.iter().map(|block| block.last_ns).fold(newest, u64::max);
        }
    }
    Ok(newest)
}
