//! Reads a recording: from the start, from any time on, and while it grows.
//!
//! Costs one read per block.  Memory is allocated for what a block holds, never for what a damaged
//! file claims; a reader that follows a file and has come to its end keeps none of it.  Samples that cannot be read are skipped and counted: in the gap of the next
//! sample, and in [`Reader::damage`].

use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sample::{Meta, Snapshot, SourceDef};
use zstd::bulk::Decompressor;

use crate::columns::BlockReplay;
use crate::error::Error;
use crate::focus::Focus;
use crate::format::{BlockHeader, BlockKind, Prelude, crc};
use crate::frame::{BlockState, Walker};
use crate::map::{BlockLocation, BlockMap};
use crate::reader_file::ReaderFile;
use crate::scan;
use crate::schema::Mapping;
use crate::storage::Bytestore;

mod frames;

/// Blocks that the map of a reader that waits has room for.
const BLOCKS_AHEAD: usize = 4;

/// The result of reading the next sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// The next sample is in the snapshot.
    Sample,
    /// No further sample yet; the recording was not closed, so there may be more later.
    NoMoreYet,
    /// No further sample: the recording was closed.
    End,
}

/// What could not be read so far; see [`Reader::damage`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Samples that were written and cannot be read.
    pub samples_unreadable: u64,
    /// Blocks with such samples.
    pub blocks_unreadable: u64,
    /// Samples at the end that were only partly written.
    pub samples_torn: u64,
    /// Bytes skipped to find the next block, and bytes after the end that are not of the recording.
    pub bytes_skipped: u64,
    /// Samples that could not be written after the last one (the gaps of samples count earlier
    /// ones).
    pub samples_unwritten: u64,
    /// Whether the recording was not closed: it is being written, or its writer was killed.
    pub not_closed: bool,
}

impl Damage {
    /// Whether everything that was written can be read.
    pub fn is_none(&self) -> bool {
        let whole = Damage { not_closed: self.not_closed, ..Damage::default() };
        *self == Damage { samples_unwritten: self.samples_unwritten, ..whole }
    }
}

/// What is known of a recording before anything of it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// A time at or before the first sample of those asked for, in nanoseconds since the epoch;
    /// `None` if no closed block has it.
    pub from_ns: Option<i64>,
    /// The latest time in closed blocks, likewise.
    pub thru_ns: Option<i64>,
    /// The number of the last closed block, for [`Reader::seek_after_block`].
    pub last_block: u32,
    /// Whether a closed block begins before the latest time of those before it: the clock was set
    /// back.
    pub goes_back: bool,
}

/// The position of the reader.
#[derive(Debug)]
enum Cursor {
    /// Before the block of that index in the map.
    Before(usize),
    /// In a block of columns.
    Columns { index: usize },
    /// In a block of frames.
    Frames { index: usize, header: BlockHeader, at: u64, ordinal: u32 },
}

/// An open recording.
pub struct Reader {
    store: Box<dyn Bytestore>,
    path: PathBuf,
    prelude: Prelude,
    meta: Arc<Meta>,
    schemas: Vec<Arc<SourceDef>>,
    mappings: Vec<Mapping>,
    /// What is decoded of each source.
    focus: Vec<Focus>,
    pub(crate) map: BlockMap,
    cursor: Cursor,
    state: BlockState,
    replay: BlockReplay,
    walker: Walker,
    /// Made for the first block that is packed: it has 100 KiB.
    decompressor: Option<Decompressor<'static>>,
    body: Vec<u8>,
    /// Frames from `window_at` on.
    window: Vec<u8>,
    window_at: u64,
    /// Sequence number of the next sample.
    sequence: u64,
    /// Samples with lower sequence numbers are not returned.
    wanted: u64,
    /// Samples before this time are skipped.
    from_realtime_ns: i64,
    /// Unreadable samples since the last returned one.
    lost: u64,
    damage: Damage,
    /// The bytes after the open block's last frame, when last read.
    tail: Tail,
}

/// The bytes after the last valid frame of a block that was not closed.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    /// A damaged sample and those after it.
    lost: u64,
    /// A partly written sample.
    torn: u64,
}

impl Reader {
    /// Opens a recording.  A source with the name of one in `known` gets that definition, the
    /// others the recorded one.
    ///
    /// # Errors
    /// [`Error::NotARecording`], [`Error::FutureVersion`], [`Error::HeadDamaged`], [`Error::Io`].
    /// Damage after the head is not an error.
    pub fn open(path: &Path, known: &[Arc<SourceDef>]) -> Result<Reader, Error> {
        let file = ReaderFile::open(path).map_err(|error| Error::io(path, "open", error))?;
        Self::with_store(Box::new(file), path, known)
    }

    /// Opens a recording in `store`; `path` is for messages.
    pub fn with_store(
        store: Box<dyn Bytestore>,
        path: &Path,
        known: &[Arc<SourceDef>],
    ) -> Result<Reader, Error> {
        let io = |error| Error::io(path, "read", error);
        let mut head = scan::read_head(store.as_ref(), path)?;
        // Who follows hundreds of recordings has the descriptions of their sources once.
        for schema in &mut head.schemas {
            if let Some(same) = known.iter().find(|def| *def == schema) {
                schema.clone_from(same);
            }
        }
        let map = BlockMap::read(store.as_ref(), &head.prelude).map_err(io)?;
        let state = BlockState::new(&head.schemas);
        Ok(Reader {
            store,
            path: path.to_owned(),
            prelude: head.prelude,
            meta: Arc::new(head.meta),
            mappings: head.schemas.iter().map(|schema| Mapping::new(schema, known)).collect(),
            focus: vec![Focus::default(); head.schemas.len()],
            schemas: head.schemas,
            map,
            cursor: Cursor::Before(0),
            walker: Walker::new(&state.sources),
            state,
            replay: BlockReplay::default(),
            decompressor: None,
            body: Vec::new(),
            window: Vec::new(),
            window_at: 0,
            sequence: 0,
            wanted: 0,
            from_realtime_ns: i64::MIN,
            lost: 0,
            damage: Damage::default(),
            tail: Tail::default(),
        })
    }

    /// The facts about the recording and its machine.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The same, for whoever keeps them: they have some kilobytes.
    pub fn shared_meta(&self) -> Arc<Meta> {
        self.meta.clone()
    }

    /// The sources of the recording, as recorded.
    pub fn schemas(&self) -> &[Arc<SourceDef>] {
        &self.schemas
    }

    /// The sources of the recording with the definitions chosen by [`open`](Self::open), in the order of the
    /// snapshots' samples.
    pub fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.mappings.iter().map(|mapping| mapping.def.clone()).collect()
    }

    /// The path of the recording.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What could not be read so far.  Exact after [`next`](Self::next) has returned that there are
    /// no more samples.
    pub fn damage(&self) -> Damage {
        Damage {
            samples_unreadable: self.damage.samples_unreadable + self.tail.lost,
            blocks_unreadable: self.damage.blocks_unreadable + u64::from(self.tail.lost > 0),
            samples_torn: self.tail.torn,
            bytes_skipped: self.map.bytes_skipped,
            samples_unwritten: self.map.unwritten,
            not_closed: !self.map.is_closed,
        }
    }

    /// The number that tells this recording from others.
    pub fn file_id(&self) -> u64 {
        self.prelude.file_id
    }

    /// Whether the recording was closed.
    pub(crate) fn is_complete(&self) -> bool {
        self.map.is_closed
    }

    /// The number of the block of the sample read last.
    pub(crate) fn block_number(&self) -> u32 {
        match self.cursor {
            Cursor::Columns { index } | Cursor::Frames { index, .. } => {
                self.map.blocks.get(index).map_or(0, |block| block.number)
            }
            Cursor::Before(_) => 0,
        }
    }

    /// Whether the block of the sample read last was not closed.
    pub(crate) fn is_open_block(&self) -> bool {
        matches!(self.cursor, Cursor::Frames { header, .. } if header.kind == BlockKind::Open)
    }

    /// Whether a closed block has that number.
    pub(crate) fn has_closed(&self, number: u32) -> bool {
        let found = self.map.blocks.binary_search_by_key(&number, |block| block.number);
        found.is_ok_and(|index| self.map.blocks[index].latest_realtime_ns != i64::MAX)
    }

    /// Whether snapshots have all fields that were recorded, and no others, in their order.
    pub(crate) fn gives_all_as_recorded(&self) -> bool {
        let is_same = |(mapping, schema): (&Mapping, &Arc<SourceDef>)| {
            mapping.fields.is_empty() && mapping.def.fields.len() == schema.fields.len()
        };
        self.mappings.iter().zip(&self.schemas).all(is_same)
            && self.focus.iter().all(|focus| *focus == Focus::Whole)
    }

    /// The definitions that snapshots have, and where their fields are.
    pub(crate) fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// The number of the closed block in which a reader searches the first sample at or after a time,
    /// and that of its first sample; `None` if it begins there.
    pub(crate) fn block_within(&self, realtime_ns: i64) -> Option<(u32, u64)> {
        let is_before = |block: &BlockLocation| block.latest_realtime_ns < realtime_ns;
        let block = self.map.blocks.get(self.map.blocks.partition_point(is_before))?;
        let is_within =
            block.latest_realtime_ns != i64::MAX && block.first_realtime_ns < realtime_ns;
        is_within.then_some((block.number, block.first_sequence))
    }

    /// The numbers of the samples of some blocks, all of which must be closed.
    pub(crate) fn samples_of_blocks(&self, numbers: RangeInclusive<u32>) -> Option<Range<u64>> {
        let blocks = &self.map.blocks;
        let first = blocks.binary_search_by_key(numbers.start(), |block| block.number).ok()?;
        let count = numbers.end().checked_sub(*numbers.start())? as usize;
        let last = blocks.get(first.checked_add(count)?)?;
        let is_closed = last.number == *numbers.end() && last.latest_realtime_ns != i64::MAX;
        let end = last.first_sequence + u64::from(last.samples);
        is_closed.then(|| blocks[first].first_sequence..end)
    }

    /// The bytes of a block in the file.
    pub(crate) fn block_bytes(&self, number: u32) -> u64 {
        let blocks = &self.map.blocks;
        let index = blocks.partition_point(|block| block.number < number);
        let end = blocks.get(index + 1).map_or(self.map.next_at, |next| next.at);
        blocks.get(index).map_or(0, |block| end.saturating_sub(block.at))
    }

    /// The bytes of the closed blocks with a larger number.
    pub(crate) fn closed_bytes_after(&self, number: u32) -> u64 {
        let closed = self.map.blocks.iter().filter(|block| block.latest_realtime_ns != i64::MAX);
        let later = closed.filter(|block| block.number > number);
        later.map(|block| self.block_bytes(block.number)).sum()
    }

    /// How many closed blocks have a larger number.
    pub(crate) fn closed_blocks_after(&self, number: u32) -> usize {
        let closed = self.map.blocks.iter().filter(|block| block.latest_realtime_ns != i64::MAX);
        closed.filter(|block| block.number > number).count()
    }

    /// Goes to the first block with a larger number.
    pub fn seek_after_block(&mut self, number: u32) {
        let index = self.map.blocks.partition_point(|block| block.number <= number);
        self.go_to(index, i64::MIN);
    }

    /// Whether a recorder has locked the file.
    pub fn is_being_written(&self) -> bool {
        self.store.is_being_written()
    }

    /// How many bytes the file has now.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn length(&self) -> std::io::Result<u64> {
        self.store.length()
    }

    /// When the file was written last, if there is one.
    pub fn written(&self) -> Option<SystemTime> {
        self.store.written()
    }

    /// Closes the file until the [`next`](Self::next) sample is read, which opens it again: what was deleted
    /// meanwhile cannot be read any more.
    pub fn close_file(&mut self) {
        self.store.close();
    }

    /// Process id of the latest writer, if the file has it.
    pub fn writer_pid(&self) -> Option<u32> {
        Some(self.prelude.pid).filter(|&pid| pid != 0)
    }

    /// The latest time in closed blocks: samples of a block that is being written may be later.
    /// `None` while there is no closed block.
    pub fn latest_closed_realtime_ns(&self) -> Option<i64> {
        let closed = self.map.blocks.iter().filter(|block| block.latest_realtime_ns != i64::MAX);
        closed.map(|block| block.latest_realtime_ns).max()
    }

    /// The time of the first sample, if it is in a closed block of columns without damage: it costs less
    /// than to read the sample.
    pub fn first_realtime_ns(&self) -> Option<i64> {
        let block = self.map.blocks.first().filter(|block| block.first_sequence == 0)?;
        let header =
            scan::header_at(self.store.as_ref(), block.at, self.prelude.file_id).ok()??;
        let is_closed = header.kind == BlockKind::Columns && header.samples > 0;
        let body = is_closed.then(|| scan::read_body(self.store.as_ref(), block.at, &header));
        let is_sound = body?.ok()?.is_some_and(|body| crc(&[&body]) == header.body_crc);
        is_sound.then_some(block.first_realtime_ns)
    }

    /// Kernel texts kept with the sample read last: path and text.
    pub fn texts(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.state.texts.fresh()
    }

    /// From now on decodes of the sources at these indices of [`defs`](Self::defs) these fields, and
    /// nothing of the others: their samples are as if they had not been read.  The other fields of a
    /// row are missing.  Call it before the first sample is read, or before [`seek`](Self::seek).
    pub fn focus(&mut self, wanted: &[(usize, Vec<usize>)]) {
        for (index, (focus, mapping)) in self.focus.iter_mut().zip(&self.mappings).enumerate() {
            let Some((_, places)) = wanted.iter().find(|(source, _)| *source == index) else {
                *focus = Focus::Nothing;
                continue;
            };
            let count = self.schemas[index].fields.len();
            let place = |field: usize| mapping.fields.get(field).copied().unwrap_or(Some(field));
            let is_wanted =
                |&field: &usize| place(field).is_some_and(|place| places.contains(&place));
            let fields: Vec<usize> = (0..count).filter(is_wanted).collect();
            *focus = if fields.len() == count { Focus::Whole } else { Focus::Fields(fields) };
        }
    }

    /// What the headers of blocks tell of samples at or after a time, without decoding any.
    pub fn outline(&self, realtime_ns: i64) -> Outline {
        let blocks = &self.map.blocks;
        let closed =
            &blocks[..blocks.partition_point(|block| block.latest_realtime_ns != i64::MAX)];
        let later = closed.iter().find(|block| block.latest_realtime_ns >= realtime_ns);
        let is_earlier =
            |pair: &[BlockLocation]| pair[1].first_realtime_ns < pair[0].latest_realtime_ns;
        Outline {
            from_ns: later.map(|block| block.first_realtime_ns.max(realtime_ns)),
            thru_ns: closed.last().map(|block| block.latest_realtime_ns),
            last_block: closed.last().map_or(0, |block| block.number),
            goes_back: closed.windows(2).any(is_earlier),
        }
    }

    /// Goes to the first sample, in the order of the file, at or after a time.
    pub fn seek(&mut self, realtime_ns: i64) {
        let before = |block: &BlockLocation| block.latest_realtime_ns < realtime_ns;
        let index = self.map.blocks.partition_point(before);
        self.go_to(index, realtime_ns);
    }

    /// Goes to the sample of that number, from 0; to the end of what is there if it has fewer.
    pub fn seek_number(&mut self, number: u64) {
        let is_before = |block: &BlockLocation| {
            let end = block.first_sequence + u64::from(block.samples);
            block.latest_realtime_ns != i64::MAX && end <= number
        };
        let index = self.map.blocks.partition_point(is_before);
        self.go_to(index, i64::MIN);
        self.wanted = number;
    }

    /// The number of the sample that [`next`](Self::next) reads next.
    pub fn next_number(&self) -> u64 {
        self.sequence.max(self.wanted)
    }

    /// How many samples the closed blocks have: those of a block that is being written come on top.
    pub fn samples_closed(&self) -> u64 {
        let closed = self.map.blocks.iter().filter(|block| block.latest_realtime_ns != i64::MAX);
        closed.map(|block| block.first_sequence + u64::from(block.samples)).max().unwrap_or(0)
    }

    /// Goes to the first sample of a block at or after a time.
    fn go_to(&mut self, index: usize, realtime_ns: i64) {
        self.cursor = Cursor::Before(index);
        self.from_realtime_ns = realtime_ns;
        self.lost = 0;
        self.tail = Tail::default();
        let end = |block: &BlockLocation| block.first_sequence + u64::from(block.samples);
        let behind = || self.map.blocks.last().map_or(0, end);
        self.sequence = self.map.blocks.get(index).map_or_else(behind, |b| b.first_sequence);
        self.wanted = self.sequence;
    }

    /// Reads the next sample into `snapshot`, which must be made for [`defs`](Self::defs).
    ///
    /// # Errors
    /// If the file cannot be read, or was deleted while it was closed; damage is counted, not an error.
    #[allow(clippy::should_implement_trait, reason = "the snapshot is borrowed, not returned")]
    pub fn next(&mut self, snapshot: &mut Snapshot) -> Result<ReadOutcome, Error> {
        let opened = self.store.open_again(self.prelude.file_id);
        opened.map_err(|error| Error::io(&self.path, "open", error))?;
        loop {
            let advanced = match self.advance() {
                Ok(advanced) => advanced,
                Err(error) => return Err(Error::io(&self.path, "read", error)),
            };
            if advanced != ReadOutcome::Sample {
                self.rest();
                return Ok(advanced);
            }
            self.sequence += 1;
            let passed = self.sequence <= self.wanted
                || self.state.tick.realtime_ns() < self.from_realtime_ns;
            if passed {
                continue;
            }
            self.from_realtime_ns = i64::MIN;
            self.wanted = self.sequence;
            self.copy_to(snapshot);
            return Ok(ReadOutcome::Sample);
        }
    }

    /// Frees what the blocks before needed: what is next may be long in coming.
    fn rest(&mut self) {
        (self.window, self.body) = (Vec::new(), Vec::new());
        (self.replay, self.decompressor) = (BlockReplay::default(), None);
        self.map.blocks.shrink_to(self.map.blocks.len() + BLOCKS_AHEAD);
    }

    /// Copies the state to the snapshot.
    fn copy_to(&mut self, snapshot: &mut Snapshot) {
        self.state.copy_to(&self.mappings, &self.focus, snapshot);
        let unreadable = &mut snapshot.gap.samples_unreadable;
        *unreadable = unreadable.saturating_add(std::mem::take(&mut self.lost));
    }

    /// Counts unreadable samples.
    fn lose(&mut self, samples: u64) {
        self.lost = self.lost.saturating_add(samples);
        self.sequence += samples;
        let unreadable = &mut self.damage.samples_unreadable;
        *unreadable = unreadable.saturating_add(samples);
        self.damage.blocks_unreadable += u64::from(samples > 0);
    }

    /// Decodes the next sample into the state.
    fn advance(&mut self) -> std::io::Result<ReadOutcome> {
        loop {
            match self.cursor {
                Cursor::Before(index) => {
                    if index >= self.map.blocks.len() {
                        if self.map.is_closed {
                            return Ok(ReadOutcome::End);
                        }
                        let known = self.map.blocks.len();
                        self.map.walk(self.store.as_ref(), self.prelude.file_id, false)?;
                        if self.map.blocks.len() == known {
                            let end = self.map.is_closed;
                            return Ok(if end { ReadOutcome::End } else { ReadOutcome::NoMoreYet });
                        }
                    } else {
                        self.enter(index)?;
                    }
                }
                Cursor::Columns { index } => match self.replay.next(&mut self.state) {
                    Ok(true) => return Ok(ReadOutcome::Sample),
                    Ok(false) | Err(_) => self.leave(index),
                },
                Cursor::Frames { index, header, at, ordinal } => {
                    if let Some(next) = self.frame(index, header, at, ordinal)? {
                        return Ok(next);
                    }
                }
            }
        }
    }

    /// Continues after a block, whose remaining samples are lost.
    fn leave(&mut self, index: usize) {
        let block = self.map.blocks[index];
        let end = block.first_sequence + u64::from(block.samples);
        self.sequence = self.sequence.max(self.wanted);
        self.lose(end.saturating_sub(self.sequence));
        self.cursor = Cursor::Before(index + 1);
    }

    /// Enters a block.
    fn enter(&mut self, index: usize) -> std::io::Result<()> {
        let block = self.map.blocks[index];
        let header = scan::header_at(self.store.as_ref(), block.at, self.prelude.file_id)?;
        let mut header = header.filter(|header| header.number == block.number);
        if let Some(frames_at) = block.frames_at {
            let lost = BlockHeader::new(BlockKind::Open, block.number, block.first_sequence);
            let body_at = u32::try_from(frames_at - block.at).unwrap_or(u32::MAX);
            header = Some(BlockHeader { body_at, ..lost });
        }
        self.tail = Tail::default();
        let skipped = block.first_sequence.saturating_sub(self.sequence.max(self.wanted));
        self.sequence = block.first_sequence;
        if skipped > 0 {
            self.sequence -= skipped;
            self.lose(skipped);
        }
        let Some(header) = header else {
            if self.has_moved(index)? {
                return self.again(index - 1, index);
            }
            self.leave(index);
            return Ok(());
        };
        if header.kind == BlockKind::Columns {
            let store = self.store.as_ref();
            let decompressor = match &mut self.decompressor {
                Some(known) => known,
                none => none.insert(Decompressor::new()?),
            };
            let sound = scan::read_body_into(store, block.at, &header, &mut self.body)?
                && crc(&[&self.body]) == header.body_crc
                && self
                    .replay
                    .begin(&self.body, decompressor, &self.focus, &mut self.state)
                    .is_ok()
                && self.replay.samples() == header.samples;
            if sound {
                self.cursor = Cursor::Columns { index };
            } else {
                self.leave(index);
            }
            return Ok(());
        }
        self.state.clear();
        self.walker.clear();
        let at = block.at + u64::from(header.body_at);
        self.window.clear();
        self.window_at = at;
        self.cursor = Cursor::Frames { index, header, at, ordinal: 0 };
        Ok(())
    }
}
