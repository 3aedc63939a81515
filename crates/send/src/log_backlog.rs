//! The log records behind a cursor: segments of a central store in their order, also while they grow.
//!
//! A record has a number in its segment.  Memory: a block of records, whatever is still to be read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use log_store::query::Filter;
use log_store::{Chunk, SegmentCount, StoreCounter, StoreReader};
use serde_json::{Value, json};
use text::encoding::hex;

use crate::SendError;
use crate::batch::{SampleEnd, points_of};
use crate::cursor::{SendCursor, StoreCursor};
use crate::engine::SendOutcome;
use crate::log_batch::{LogBatch, LogEngine};
use crate::recording_files::FolderContents;
use crate::stock::SendStock;

/// Bytes of the texts of a batch: it ends with the record that reaches them.
const BATCH_BYTES: usize = 1 << 20;

/// The records of a store, and the engine that they are handed over to.
pub(crate) struct LogStock {
    folder: PathBuf,
    engine: Box<dyn LogEngine>,
    counter: StoreCounter,
    reader: Option<StoreReader>,
    place: StorePlace,
    batch: LogBatch,
    /// Segments that are read to their end.
    finished: BTreeSet<u64>,
    /// Records that could not be read since the last settling.
    unreadable: u64,
    /// Damaged parts of segments that were told.
    damaged: usize,
}

/// Where a store is read.
#[derive(Default)]
struct StorePlace {
    segment: Option<u64>,
    /// The chunk that is being read, where it is, and its next block.
    chunk: Option<(Arc<Chunk>, u64, usize)>,
    /// The number of the first record of that block.
    first: u64,
    /// The number of the next record that was not read.
    next: u64,
}

impl LogStock {
    pub(crate) fn new(folder: &Path, engine: Box<dyn LogEngine>) -> Self {
        LogStock {
            folder: folder.to_owned(),
            engine,
            counter: StoreCounter::new(folder),
            reader: None,
            place: StorePlace::default(),
            batch: LogBatch::default(),
            finished: BTreeSet::new(),
            unreadable: 0,
            damaged: 0,
        }
    }

    fn failed(&self, source: io::Error) -> SendError {
        SendError::Store { path: self.folder.clone(), source }
    }

    /// Goes to the next block; false if there is none yet.
    fn find_block(&mut self, cursor: &SendCursor) -> Result<bool, SendError> {
        loop {
            if self.place.chunk.as_ref().is_some_and(|(chunk, _, at)| *at < chunk.blocks.len()) {
                return Ok(true);
            }
            // What is sent of the earlier segments is all of them: the first that is not is the next.
            let is_open = |(_, one): &(&u64, &crate::RecordingCursor)| !one.is_done;
            let reader = match &mut self.reader {
                Some(reader) => reader,
                None => match cursor.recordings.iter().find(is_open) {
                    Some((number, _)) => {
                        self.reader.insert(StoreReader::open_from(&self.folder, *number))
                    }
                    None => return Ok(false),
                },
            };
            let found = reader.next_chunk();
            let segment = reader.segment();
            let Some((chunk, at)) = found.map_err(|error| self.failed(error))? else {
                return Ok(false);
            };
            let Some((number, _)) = segment else { return Ok(false) };
            if self.place.segment != Some(number) {
                self.finished.extend(self.place.segment);
                let next = cursor.recordings.get(&number).map_or(0, |one| one.next);
                self.place = StorePlace { segment: Some(number), next, ..StorePlace::default() };
            }
            self.place.chunk = Some((chunk, at, 0));
        }
    }

    /// Reads the block at the place: all of it, or until the batch is full.
    fn read_block(&mut self, records_max: usize) -> Result<(), SendError> {
        let (Some(reader), Some(segment)) = (&mut self.reader, self.place.segment) else {
            return Ok(());
        };
        let Some((chunk, at, block)) = self.place.chunk.take() else { return Ok(()) };
        let (engine, batch) = (&mut *self.engine, &mut self.batch);
        let end = self.place.first + u64::from(chunk.blocks[block].records);
        let (filter, mut scratch) = (Filter::default(), Vec::new());
        let (mut number, skip) = (self.place.first, self.place.next);
        let begin = number.max(skip);
        let visited = match skip < end {
            true => reader.visit_block(&chunk, at, block, &mut |item| {
                number += 1;
                if number <= skip {
                    return ControlFlow::Continue(());
                }
                match filter.wanted(item, &mut scratch) {
                    Some(record) => batch.add(engine, &record, (segment, number)),
                    None => batch.pass(segment, number),
                }
                match batch.entries.len() >= records_max || batch.texts.len() >= BATCH_BYTES {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }),
            false => Ok(Some(ControlFlow::Continue(()))),
        };
        match visited.map_err(|error| self.failed(error))? {
            Some(ControlFlow::Break(())) if number < end => {
                self.place.next = number;
                self.place.chunk = Some((chunk, at, block));
                return Ok(());
            }
            visited if skip < end => {
                let read = if visited.is_some() { number } else { begin };
                self.unreadable += end.saturating_sub(read);
                self.batch.pass(segment, end);
                self.place.next = end;
            }
            _ => {}
        }
        self.place.first = end;
        self.place.chunk = Some((chunk, at, block + 1));
        Ok(())
    }

    /// The parts of segments that are damaged and not yet told.
    fn damage(&mut self) -> Vec<String> {
        let Some(reader) = &self.reader else { return Vec::new() };
        let new = reader.damaged.get(self.damaged..).unwrap_or_default();
        self.damaged = reader.damaged.len();
        let text = |(path, from, to): &(PathBuf, u64, u64)| {
            format!("{}: bytes {from} to {to} are damaged; left out", path.display())
        };
        new.iter().map(text).collect()
    }
}

/// Notes what segments there are, and says how many commits were deleted that nobody had looked at.
fn note(cursor: &mut SendCursor, counts: &BTreeMap<u64, SegmentCount>) -> Option<String> {
    for (number, count) in counts {
        let one = cursor.recordings.entry(*number).or_default();
        one.name = format!("{number:016x}.logs");
        one.samples = one.samples.max(count.records);
    }
    let (newest, last) = counts.last_key_value()?;
    let now = StoreCursor {
        id: hex(&last.store).to_string(),
        segment: *newest,
        next_commit: last.next_commit,
    };
    let known = cursor.store.replace(now).filter(|known| !known.id.is_empty())?;
    // The oldest are deleted first: what was the newest is there, or all of it is gone.
    let (number, count) = counts.range(known.segment..).next()?;
    let unseen = count.first_commit.saturating_sub(known.next_commit);
    if *number == known.segment || unseen == 0 {
        return None;
    }
    cursor.commits_deleted += unseen;
    let records = "whose records nobody had counted, were deleted before they were sent";
    Some(format!("{unseen} commits of the store, {records}"))
}

impl SendStock for LogStock {
    fn what(&self) -> &'static str {
        "records"
    }

    fn look(&mut self, cursor: &mut SendCursor) -> Result<FolderContents, SendError> {
        let mut looked = FolderContents { complaints: self.damage(), ..FolderContents::default() };
        let counts = self.counter.look().map_err(|error| self.failed(error))?;
        let id = counts.last_key_value().map(|(_, count)| hex(&count.store).to_string());
        let is_other = matches!((&cursor.store, &id), (Some(known), Some(id)) if !known.id.is_empty() && known.id != *id);
        if is_other {
            self.rewind();
            cursor.store = Some(StoreCursor::default());
            looked
                .complaints
                .push("the store is another one than before: all of it is sent".into());
        }
        let is_read = |number: &u64| self.place.segment == Some(*number);
        cursor.recordings.retain(|number, one| {
            // A segment that is open is read to its end although it was deleted.
            let stays = !is_other && (counts.contains_key(number) || is_read(number));
            if !stays && !one.is_done {
                looked.deleted += one.samples.saturating_sub(one.next);
            }
            stays
        });
        looked.complaints.extend(note(cursor, &counts));
        if let Some(id) = id {
            self.batch.store = id.chars().take(16).collect();
        }
        Ok(looked)
    }

    fn count(&mut self, cursor: &mut SendCursor) -> Result<Vec<String>, SendError> {
        let counts = self.counter.look().map_err(|error| self.failed(error))?;
        let id = counts.last_key_value().map(|(_, count)| hex(&count.store).to_string());
        // What another store means, the next look says.
        let is_same = id.is_some() && id.as_ref() == cursor.store.as_ref().map(|known| &known.id);
        Ok(if is_same { note(cursor, &counts).into_iter().collect() } else { Vec::new() })
    }

    fn fill(&mut self, cursor: &SendCursor, records_max: usize) -> Result<bool, SendError> {
        self.batch.clear();
        while self.batch.entries.len() < records_max
            && self.batch.texts.len() < BATCH_BYTES
            && self.find_block(cursor)?
        {
            self.read_block(records_max)?;
        }
        Ok(!self.batch.ends.is_empty())
    }

    fn ends(&self) -> &[SampleEnd] {
        &self.batch.ends
    }

    fn hand_over(&mut self, some: Range<usize>) -> SendOutcome {
        self.engine.hand_over(&self.batch, points_of(&self.batch.ends, some))
    }

    fn refusal(&self, end: &SampleEnd, name: &str) -> Value {
        let entry = end.points.checked_sub(1).and_then(|at| self.batch.entries.get(at));
        json!({
            "segment": name,
            "record": entry.map_or(end.next, |entry| entry.next).saturating_sub(1),
            "realtime_ns": end.realtime_ns,
            "host": entry.map(|entry| &entry.origin.host),
            "process": entry.map(|entry| &entry.origin.process),
        })
    }

    fn settle(&mut self, cursor: &mut SendCursor) -> Vec<String> {
        cursor.samples_unreadable += std::mem::take(&mut self.unreadable);
        for number in std::mem::take(&mut self.finished) {
            if let Some(one) = cursor.recordings.get_mut(&number) {
                one.is_done = true;
                one.samples = one.samples.max(one.next);
            }
        }
        Vec::new()
    }

    fn rewind(&mut self) {
        self.reader = None;
        self.place = StorePlace::default();
        self.finished.clear();
        (self.unreadable, self.damaged) = (0, 0);
    }
}
