//! The newest records of a store, without reading the others.
//!
//! Blocks are read from the one that ends last on, until so many records are found that no block
//! that is left can hold a newer one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::ControlFlow;

use crate::store::reader::Candidate;
use crate::store::{BlockIndex, Chunk, Item, StoreReader, Visit};

/// Whether a block may hold records that are wanted.
pub type WantsBlock<'a> = dyn Fn(&Chunk, &BlockIndex) -> bool + 'a;
/// Whether a record is wanted.
pub type WantsRecord<'a> = dyn FnMut(&Item<'_>) -> bool + 'a;

impl StoreReader {
    /// Visits the newest records that are wanted, `count` of them (more if several have the
    /// stamp of the first), in the order of their times.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn visit_newest(
        &mut self,
        count: usize,
        wants_block: &WantsBlock<'_>,
        wants: &mut WantsRecord<'_>,
        visit: &mut Visit<'_>,
    ) -> io::Result<ControlFlow<()>> {
        let mut candidates = self.candidates(wants_block)?;
        if count == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        let from = self.newest_from(&mut candidates, count, wants)?;
        candidates.retain(|one| one.last_ns() >= from);
        self.merge(candidates, &mut |item| match item.record.stamp < from {
            true => ControlFlow::Continue(()),
            false => visit(item),
        })
    }

    /// The stamp of the oldest of the newest `count` records; 0 if there are not so many.
    fn newest_from(
        &mut self,
        candidates: &mut [Candidate],
        count: usize,
        wants: &mut WantsRecord<'_>,
    ) -> io::Result<u64> {
        candidates.sort_by_key(Candidate::last_ns);
        let mut stamps: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        for candidate in candidates.iter().rev() {
            let oldest = stamps.peek().map_or(0, |Reverse(stamp)| *stamp);
            if stamps.len() >= count && candidate.last_ns() < oldest {
                break;
            }
            let flow = self.merge(vec![candidate.clone()], &mut |item| {
                let stamp = item.record.stamp;
                let is_new = stamps.len() < count || stamps.peek().is_some_and(|min| stamp > min.0);
                if is_new && wants(item) {
                    stamps.push(Reverse(stamp));
                    if stamps.len() > count {
                        stamps.pop();
                    }
                }
                ControlFlow::Continue(())
            })?;
            debug_assert!(flow.is_continue());
        }
        let is_enough = stamps.len() >= count;
        Ok(stamps.peek().map_or(0, |Reverse(oldest)| if is_enough { *oldest } else { 0 }))
    }
}
