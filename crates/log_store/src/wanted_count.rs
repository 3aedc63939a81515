//! The records that a filter wants, and how many they are.  To count them, what the tables of a chunk tell
//! is not read, and the blocks that are left are shared out among the CPUs, since a number has no order.
//!
//! Cost: head and tables of each chunk, then what the blocks need.  A period alone, with or without a
//! level, needs the blocks at its two ends.

use std::cell::Cell;
use std::io;
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::query::Filter;
use crate::store::dictionaries::{Dictionaries, Visit};
use crate::store::opened::OpenedSegments;
use crate::store::reader::{Candidate, OpenBlock, StoreReader};
use crate::store::segment;
use crate::store::words::WantedKeys;

/// Blocks that a thread takes at once: neighbours, which are in one segment.
const BLOCKS_AT_ONCE: usize = 32;
/// Threads at most: each opens segments of its own.
const THREADS_MAX: usize = 16;

/// What all threads share.
struct Count<'a> {
    folder: &'a Path,
    filter: &'a Filter,
    wanted: &'a WantedKeys,
    dictionaries: &'a Dictionaries,
    candidates: &'a [Candidate],
    /// The first candidate that nobody has taken.
    next: AtomicUsize,
    has_failed: AtomicBool,
    found: Mutex<io::Result<CountedRecords>>,
}

#[derive(Debug, Default)]
struct CountedRecords {
    records: u64,
    damaged: Vec<(PathBuf, u64, u64)>,
}

impl StoreReader {
    /// Visits the records of every block that is committed by now and may have what a filter wants, in the
    /// order of their times.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn visit_wanted(
        &mut self,
        filter: &Filter,
        visit: &mut Visit<'_>,
    ) -> io::Result<ControlFlow<()>> {
        self.visit_all(&|chunk, block| filter.wants_block(chunk, block), visit)
    }

    /// How many records that are committed by now a filter wants.  Blocks of which the tables tell are not
    /// read, so damage in them is not seen.
    ///
    /// # Errors
    /// If a segment cannot be read.
    pub fn count(&mut self, filter: &Filter) -> io::Result<u64> {
        let told = Cell::new(0_u64);
        let candidates = self.candidates(&|chunk, block| {
            if !filter.wants_block(chunk, block) {
                return false;
            }
            let counted = filter.counted_of(chunk, block);
            told.set(told.get() + counted.unwrap_or(0));
            counted.is_none()
        })?;
        let mut found = self.count_in(&candidates, filter)?;
        found.damaged.sort();
        self.damaged.append(&mut found.damaged);
        Ok(told.get() + found.records)
    }

    fn count_in(&self, candidates: &[Candidate], filter: &Filter) -> io::Result<CountedRecords> {
        let count = Count {
            folder: &self.folder,
            filter,
            wanted: &self.wanted,
            dictionaries: &self.dictionaries,
            candidates,
            next: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            found: Mutex::new(Ok(CountedRecords::default())),
        };
        let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = cpus.min(THREADS_MAX).min(candidates.len().div_ceil(BLOCKS_AT_ONCE));
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Without another thread this one does it all.
                let thread = std::thread::Builder::new().name("count".to_owned());
                if thread.spawn_scoped(scope, || count.work()).is_err() {
                    break;
                }
            }
            count.work();
        });
        count.found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Count<'_> {
    /// Takes candidates until there are none, and adds what it has found.
    fn work(&self) {
        let counted = self.count();
        let mut found = self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match (&mut *found, counted) {
            (Ok(all), Ok(mut own)) => {
                all.records += own.records;
                all.damaged.append(&mut own.damaged);
            }
            (all @ Ok(_), Err(error)) => {
                self.has_failed.store(true, Ordering::Relaxed);
                *all = Err(error);
            }
            (Err(_), _) => {}
        }
    }

    fn count(&self) -> io::Result<CountedRecords> {
        // Of its own: threads would wait for each other at the memory of one expression.
        let filter = self.filter.clone();
        let mut opened = OpenedSegments::new(self.folder);
        let (mut found, mut scratch) = (CountedRecords::default(), Vec::new());
        while !self.has_failed.load(Ordering::Relaxed) {
            let from = self.next.fetch_add(BLOCKS_AT_ONCE, Ordering::Relaxed);
            let Some(rest) = self.candidates.get(from..).filter(|rest| !rest.is_empty()) else {
                break;
            };
            for candidate in rest.iter().take(BLOCKS_AT_ONCE) {
                let Candidate { segment: number, at, chunk, block } = candidate;
                if !opened.may_have(*number, (*at, chunk, *block), self.wanted)? {
                    continue;
                }
                // Retention may have removed it meanwhile.
                let Some(segment) = opened.segment(*number)? else { continue };
                let Some(mut open) = OpenBlock::read(segment, *at, chunk, *block)? else {
                    let path = segment::NAMES.path(self.folder, *number);
                    found.damaged.push((path, *at, *at + chunk.total_bytes));
                    continue;
                };
                while let Some((stream, record)) = open.next() {
                    let _ = self.dictionaries.show(chunk, stream, &record, &mut |item| {
                        found.records += u64::from(filter.wanted(item, &mut scratch).is_some());
                        ControlFlow::Continue(())
                    });
                }
                open.close(segment);
            }
        }
        Ok(found)
    }
}
