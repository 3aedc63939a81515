//! Appends to a recording, or repairs one: both continue after the last valid sample.
//!
//! The open block of a killed writer is read back into memory and continued; a partly written
//! sample is removed.  No readable sample is lost.  Samples after a damaged one of the open block
//! cannot be read, since each is stored as the difference from the previous one; they leave a gap
//! in the sequence numbers, which readers count.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::Arc;

use sample::SourceDef;

use super::{Writer, WriterOptions};
use crate::error::{Error, WriteError};
use crate::format::{
    BODY_BYTES_MAX, BlockHeader, BlockKind, HEADER_BYTES, Prelude, VERSION, aligned,
};
use crate::frame::{self, FRAME_HEADER_BYTES, Replay};
use crate::index::IndexEntry;
use crate::lock::lock_or_refuse;
use crate::map::{BlockLocation, BlockMap};
use crate::scan;
use crate::storage::{Bytestore, read_full_at, write_all_at};

/// The state of a recording when it was resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// Samples that are in the file.
    pub samples: u64,
    /// Samples of the open block that could not be read: a damaged one and those after it.
    pub samples_unreadable: u64,
    /// Bytes of a partly written sample at the end, which were removed.
    pub bytes_torn: u64,
    /// Whether the recording had been closed.
    pub was_closed: bool,
}

impl Writer {
    /// Continues a recording of the same sources and holds its lock until dropped.  The caller sets
    /// [`Snapshot::restart`](sample::Snapshot::restart) if counters of the next sample are not
    /// comparable with the last one in the file.
    ///
    /// # Errors
    /// As [`Reader::open`](crate::Reader::open), [`Error::Locked`],
    /// [`Error::OtherSources`].
    pub fn resume(
        path: &Path,
        defs: &[Arc<SourceDef>],
        options: WriterOptions,
    ) -> Result<(Writer, Resumed), Error> {
        let schemas = defs.to_vec();
        take_up(path, Some(&schemas), options)
    }
}

/// Closes a recording whose writer was killed: encodes the open block, and adds the index.
///
/// # Errors
/// As [`Writer::resume`].
pub fn repair(path: &Path, options: WriterOptions) -> Result<Resumed, Error> {
    let (writer, resumed) = take_up(path, None, options)?;
    writer.close()?;
    Ok(resumed)
}

/// Whether two lists of sources have the same columns; help texts may differ.
fn same_columns(left: &[Arc<SourceDef>], right: &[Arc<SourceDef>]) -> bool {
    let columns = |schema: &SourceDef| -> Vec<_> {
        let fields = schema.fields.iter();
        fields.map(|field| (field.name.clone(), field.unit, field.kind)).collect()
    };
    let same = |(left, right): (&Arc<SourceDef>, &Arc<SourceDef>)| {
        left.name == right.name && columns(left) == columns(right)
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}

fn take_up(
    path: &Path,
    schemas: Option<&[Arc<SourceDef>]>,
    options: WriterOptions,
) -> Result<(Writer, Resumed), Error> {
    let io = |error| Error::io(path, "read", error);
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|error| Error::io(path, "open", error))?;
    lock_or_refuse(&file, path)?;
    let head = scan::read_head(&file, path)?;
    if schemas.is_some_and(|schemas| !same_columns(schemas, &head.schemas)) {
        return Err(Error::OtherSources { path: path.to_owned() });
    }
    let mut map = BlockMap::read(&file, &head.prelude).map_err(io)?;
    let file_id = head.prelude.file_id;
    let open = map.blocks.pop_if(|last| map.last_is_open || last.frames_at.is_some());
    let store = file.try_clone().map_err(io)?;
    let mut writer = Writer::new(Box::new(file), path, &head.schemas, options, file_id)?;
    writer.state.tick.set_grain(super::grain_ns(&head.meta));
    writer.index.extend(index(&store, &map.blocks, file_id).map_err(io)?);
    let mut resumed = Resumed { was_closed: map.is_closed, ..Resumed::default() };
    // What is appended is in the current version of the format.
    let prelude = Prelude { version: VERSION, pid: std::process::id(), ..head.prelude };
    write_all_at(writer.storage.as_mut(), &prelude.encode(), 0)
        .map_err(|error| WriteError::io(path, error))?;
    match open {
        Some(open) => take_up_open(&mut writer, &store, &open, file_id, &mut resumed)
            .map_err(io)?
            .map_err(Error::Write)?,
        None => {
            let length = store.length().map_err(io)?;
            begin_behind(&mut writer, &map, length).map_err(|error| WriteError::io(path, error))?;
        }
    }
    resumed.samples = writer.samples_present();
    Ok((writer, resumed))
}

/// The index of the blocks in the file; values of a damaged header are taken from the map.
fn index(
    store: &dyn Bytestore,
    blocks: &[BlockLocation],
    file_id: u64,
) -> std::io::Result<Vec<IndexEntry>> {
    let entry = |block: &BlockLocation| {
        let header = scan::header_at(store, block.at, file_id)?;
        let header = header.filter(|header| header.number == block.number);
        Ok(IndexEntry {
            at: block.at,
            first_sequence: block.first_sequence,
            first_realtime_ns: header.map_or(0, |header| header.first_realtime_ns),
            latest_realtime_ns: header
                .map_or(block.latest_realtime_ns, |header| header.latest_realtime_ns),
            samples: block.samples,
            number: block.number,
        })
    };
    blocks.iter().map(entry).collect()
}

/// Begins an open block after everything in the file.
fn begin_behind(writer: &mut Writer, map: &BlockMap, length: u64) -> std::io::Result<()> {
    let end = |block: &BlockLocation| block.first_sequence + u64::from(block.samples);
    let sequence = map.blocks.last().map_or(0, end);
    let number = map.blocks.last().map_or(0, |block| block.number) + 1;
    // The end block of a closed recording is overwritten; other bytes stay.
    let at = if map.is_closed { map.next_at } else { aligned(length).max(map.next_at) };
    let open = writer.new_open(number, sequence);
    let header = open.encode(writer.file_id);
    write_all_at(writer.storage.as_mut(), &header, at)?;
    writer.storage.as_mut().truncate(at + HEADER_BYTES as u64)?;
    writer.set_open(open, at, sequence, map.unwritten);
    Ok(())
}

/// Continues an open block.
fn take_up_open(
    writer: &mut Writer,
    store: &File,
    block: &BlockLocation,
    file_id: u64,
    resumed: &mut Resumed,
) -> std::io::Result<Result<(), WriteError>> {
    let header = scan::header_at(store, block.at, file_id)?;
    let header = header.filter(|header| header.number == block.number);
    let open = header.unwrap_or_else(|| {
        let lost = BlockHeader::new(BlockKind::Open, block.number, block.first_sequence);
        let body_at = block.frames_at.unwrap_or(block.at) - block.at;
        BlockHeader { body_at: u32::try_from(body_at).unwrap_or(u32::MAX), ..lost }
    });
    if header.is_none() {
        write_all_at(writer.storage.as_mut(), &open.encode(file_id), block.at)?;
    }
    writer.set_open(open, block.at, block.first_sequence, 0);
    let at = block.at + u64::from(open.body_at);
    let length = store.length()?.saturating_sub(at).min(BODY_BYTES_MAX as u64);
    let mut bytes = vec![0; length as usize];
    let count = read_full_at(store, &mut bytes, at)?;
    bytes.truncate(count);
    let mut rest = bytes.as_slice();
    while let Some(payload) = frame::open(rest, file_id, open.number, writer.samples) {
        let (frame, behind) = rest.split_at(FRAME_HEADER_BYTES + payload.len());
        if !writer.take_frame(frame, payload) {
            break;
        }
        rest = behind;
    }
    let lost = scan::later_frames(rest, file_id, open.number, writer.samples);
    resumed.samples_unreadable = u64::from(lost);
    let torn = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    resumed.bytes_torn = if lost > 0 { 0 } else { torn as u64 };
    writer.storage.as_mut().truncate(at + (bytes.len() - rest.len()) as u64)?;
    if writer.lacks_hole() {
        // Its writer was closing the previous block; without a hole it closes as frames.
        let _ = writer.move_frames();
    }
    Ok(if lost > 0 { writer.step_sequence(u64::from(lost)) } else { Ok(()) })
}

impl Writer {
    /// Continues a file whose open block is `open`, without frames yet.
    fn set_open(&mut self, open: BlockHeader, at: u64, sequence: u64, unwritten: u64) {
        (self.open, self.open_at) = (open, at);
        (self.sequence, self.unwritten) = (sequence, unwritten);
    }

    /// Closes the block and skips the sequence numbers of the `lost` samples.
    pub(super) fn step_sequence(&mut self, lost: u64) -> Result<(), WriteError> {
        self.sequence += lost;
        if self.samples > 0 {
            return self.close_block();
        }
        self.open.first_sequence = self.sequence;
        write_all_at(self.storage.as_mut(), &self.open.encode(self.file_id), self.open_at)
            .map_err(|error| WriteError::io(&self.path, error))
    }

    /// Samples in the file, without the lost ones.
    fn samples_present(&self) -> u64 {
        let closed: u64 = self.index.iter().map(|entry| u64::from(entry.samples)).sum();
        closed + u64::from(self.samples)
    }

    /// Adds a frame that is already in the file; false if it is invalid.
    fn take_frame(&mut self, frame: &[u8], payload: &[u8]) -> bool {
        if self.walker.walk(payload, &mut Replay(&mut self.state)).is_err() {
            self.rebuild();
            return false;
        }
        self.frames.extend_from_slice(frame);
        self.count_sample(self.state.tick.realtime_ns());
        true
    }
}
