//! A frame: one sample as it reaches the file, by a single write.
//!
//! ```text
//! frame   = length (4), CRC (4), ordinal in the block (4), payload
//!           length counts the payload; the CRC covers file id (8), number of the block (4),
//!           ordinal (4), length (4), payload
//! payload = the tick's row, packed
//!           for each source whose state is "ok": reading
//!           if the tick's flags have bit 1: kernel texts
//! reading = byte: bit 0, rows follow (version 1 only); bit 1, texts follow; bit 2, an edit of
//!           the rows before follows; bit 3, changed rows follow
//!           [varint rows, for each: varint slot, and if it is the next new slot: string name]
//!           [edit (`rows.rs`), with a string name behind each new slot]
//!           [varint texts, for each: string; they get the next numbers]
//!           [varint changed rows, for each: varint rows since the one before]
//!           the cells of all rows (with bit 3: of the changed ones), packed
//! kernel texts = varint count, for each: varint path, and if it is the next new one: string;
//!           varint 0 for "as before", or 1 + length and so many bytes
//! ```
//!
//! A cell is told as its difference from the slot's last one in this block (0 before the first):
//! presence words by exclusive or, all others zigzagged.  A missing cell keeps its old value and
//! so costs nothing.  The first reading of a block is thereby a key: a block needs no other.
//!
//! Costs about a nanosecond a cell to write, most of which go away as zeros.  In tables of many
//! wide rows (processes) only those that changed are told: the others cost a comparison and no
//! byte.

mod encode;
mod texts;
mod walk;

use crate::format::FRAME_BYTES_MAX;
use crate::state::{SourceState, TickState};
use sample::SourceDef;
use std::sync::Arc;

pub(crate) use encode::FrameEncoder;
pub(crate) use texts::KernelTexts;
pub(crate) use walk::{Replay, Visit, Walker};

/// Length, CRC and ordinal.
pub(crate) const FRAME_HEADER_BYTES: usize = 12;

/// Limit of the rows of a reading.
pub(crate) const ROWS_MAX: usize = 1 << 20;

const ROWS_FOLLOW: u8 = 1;
const TEXTS_FOLLOW: u8 = 2;
/// Instead of the rows, what became of those before.
const EDIT_FOLLOWS: u8 = 4;
/// Only the rows that changed are told.
const ROWS_CHANGED: u8 = 8;

/// CRC of a frame, so that no other place's bytes pass for it.
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

/// Length and ordinal that a frame's header gives, if they can be.
pub(crate) fn frame_header(bytes: &[u8]) -> Option<(usize, u32)> {
    let header: &[u8; FRAME_HEADER_BYTES] = bytes.get(..FRAME_HEADER_BYTES)?.try_into().ok()?;
    let word = |at: usize| {
        u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let length = word(0) as usize;
    (length > 0 && length <= FRAME_BYTES_MAX).then(|| (length, word(8)))
}

/// The payload of the frame that `bytes` begin with, if it is the one expected, whole and sound.
pub(crate) fn open(bytes: &[u8], file_id: u64, block: u32, ordinal: u32) -> Option<&[u8]> {
    let (length, said) = frame_header(bytes)?;
    let payload = bytes.get(FRAME_HEADER_BYTES..FRAME_HEADER_BYTES + length)?;
    let crc = frame_crc(file_id, block, ordinal, payload);
    (said == ordinal && bytes[4..8] == crc.to_le_bytes()).then_some(payload)
}

/// Everything the open block has told: what the next frame differs from.
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
    /// The state of a block that has told nothing.
    pub(crate) fn new(schemas: &[Arc<SourceDef>]) -> Self {
        BlockState {
            tick: TickState::new(schemas.len()),
            sources: schemas.iter().map(|schema| SourceState::new(schema)).collect(),
            texts: KernelTexts::default(),
        }
    }

    /// Forgets all, keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.tick.clear();
        self.sources.iter_mut().for_each(SourceState::clear);
        self.texts.clear();
    }

    /// Cells of all slots.
    pub(crate) fn cells(&self) -> usize {
        self.sources.iter().map(SourceState::cells).sum()
    }
}
