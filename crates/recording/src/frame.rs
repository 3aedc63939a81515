//! A frame: one sample as it is appended to the file, by a single write.
//!
//! ```text
//! frame   = length (4), CRC (4), ordinal in the block (4), payload
//!           length counts the payload; the CRC covers file id (8), number of the block (4),
//!           ordinal (4), length (4), payload
//! payload = the tick's row, packed
//!           for each source whose state is "ok": reading
//!           if the tick's flags have bit 1: kernel texts
//! reading = byte: bit 0, rows follow (version 1 only); bit 1, texts follow; bit 2, an edit of
//!           the previous rows follows; bit 3, changed rows follow
//!           [varint rows, for each: varint slot, and if it is the next new slot: string name]
//!           [edit (`rows.rs`), with a string name after each new slot]
//!           [varint texts, for each: string; they get the next numbers]
//!           [varint changed rows, for each: varint rows since the previous one]
//!           the cells of all rows (with bit 3: of the changed ones), packed
//! kernel texts = varint count, for each: varint path, and if it is the next new one: string;
//!           varint 0 for "unchanged", or 1 + length and that many bytes
//! ```
//!
//! A cell is stored as its difference from the slot's previous value in this block (0 before the
//! first): presence words by exclusive or, all others zigzagged.  A missing cell keeps its old
//! value and so costs nothing.  The first reading in a block is complete, so a block can be read
//! without earlier ones.
//!
//! Costs about a nanosecond per cell to write; most cells are zeros and take almost no space.  In
//! tables of many wide rows (processes) only changed rows are stored; the others cost a comparison
//! and no bytes.

mod encode;
mod texts;
mod walk;

use crate::focus::Focus;
use crate::format::FRAME_BYTES_MAX;
use crate::schema::Mapping;
use crate::state::{SourceState, TickState};
use sample::{Snapshot, SourceDef, State};
use std::sync::Arc;

pub(crate) use encode::FrameEncoder;
pub(crate) use texts::KernelTexts;
pub(crate) use walk::{FocusedReplay, Replay, Visit, Walker};

/// Length, CRC and ordinal.
pub(crate) const FRAME_HEADER_BYTES: usize = 12;

/// Limit of the rows of a reading.
pub(crate) const ROWS_MAX: usize = 1 << 20;

const ROWS_FOLLOW: u8 = 1;
const TEXTS_FOLLOW: u8 = 2;
/// The rows are stored as an edit of the previous ones.
const EDIT_FOLLOWS: u8 = 4;
/// Only the cells of changed rows are stored.
const ROWS_CHANGED: u8 = 8;

/// CRC of a frame; it includes file id, block number and ordinal, so that no stale frame is valid.
fn frame_crc(file_id: u64, block: u32, ordinal: u32, payload: &[u8]) -> u32 {
    let length = payload.len() as u32;
    let mut seed = [0; 20];
    seed[..8].copy_from_slice(&file_id.to_le_bytes());
    seed[8..12].copy_from_slice(&block.to_le_bytes());
    seed[12..16].copy_from_slice(&ordinal.to_le_bytes());
    seed[16..].copy_from_slice(&length.to_le_bytes());
    crate::format::crc(&[&seed, payload])
}

/// Fills in the header of the frame that begins at `start` and ends with `out`.
pub(crate) fn seal(out: &mut [u8], start: usize, file_id: u64, block: u32, ordinal: u32) {
    let (header, payload) = out[start..].split_at_mut(FRAME_HEADER_BYTES);
    let crc = frame_crc(file_id, block, ordinal, payload);
    header[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..8].copy_from_slice(&crc.to_le_bytes());
    header[8..].copy_from_slice(&ordinal.to_le_bytes());
}

/// Length and ordinal of a frame's header; `None` if they are out of range.
pub(crate) fn frame_header(bytes: &[u8]) -> Option<(usize, u32)> {
    let header: &[u8; FRAME_HEADER_BYTES] = bytes.get(..FRAME_HEADER_BYTES)?.try_into().ok()?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = word(0) as usize;
    (length > 0 && length <= FRAME_BYTES_MAX).then(|| (length, word(8)))
}

/// The payload of the frame at the start of `bytes`; `None` unless it is complete, valid and the
/// expected one.
pub(crate) fn open(bytes: &[u8], file_id: u64, block: u32, ordinal: u32) -> Option<&[u8]> {
    let (length, said) = frame_header(bytes)?;
    let payload = bytes.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + length)?;
    let crc = frame_crc(file_id, block, ordinal, payload);
    (said == ordinal && bytes[4..8] == crc.to_le_bytes()).then_some(payload)
}

/// The latest values of the open block, from which the next frame is a difference.
#[derive(Clone, Debug)]
pub(crate) struct BlockState {
    /// The tick's row.
    pub(crate) tick: TickState,
    /// The sources, in the feed's order.
    pub(crate) sources: Vec<SourceState>,
    /// Kernel texts.
    pub(crate) texts: KernelTexts,
}

impl BlockState {
    /// The state of an empty block.
    pub(crate) fn new(schemas: &[Arc<SourceDef>]) -> Self {
        BlockState {
            tick: TickState::new(schemas.len()),
            sources: schemas.iter().map(|schema| SourceState::new(schema)).collect(),
            texts: KernelTexts::default(),
        }
    }

    /// Clears the state, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.tick.clear();
        self.sources.iter_mut().for_each(SourceState::clear);
        self.texts.clear();
    }

    /// Copies the latest sample to `snapshot`: of each source what its `focus` has.
    pub(crate) fn copy_to(&self, mappings: &[Mapping], focus: &[Focus], snapshot: &mut Snapshot) {
        self.tick.copy_to(snapshot);
        for (index, (source, mapping)) in self.sources.iter().zip(mappings).enumerate() {
            let sample = &mut snapshot.samples[index];
            snapshot.fresh[index] &= focus[index] != Focus::Nothing;
            if !snapshot.fresh[index] {
                continue;
            }
            if sample.state == State::Ok {
                source.fill(mapping, &focus[index], &mut sample.table);
            } else {
                sample.table.begin();
            }
        }
    }

    /// Cells of all slots.
    pub(crate) fn cells(&self) -> usize {
        self.sources.iter().map(SourceState::cells).sum()
    }
}
