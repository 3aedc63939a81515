//! Samples as a stream: from one whit to another, over a connection or a pipe.
//!
//! ```text
//! head    = prelude and head of a recording, as in its file, up to its first block
//! packed  = byte 0: as they are, 1: zstd; varint length without compression; bytes
//! samples = frames (`frame.rs`), one a sample, of a block with the number 0
//! ```
//!
//! What travels is what a recorder writes, so sources that neither side knows keep their fields, and a
//! sample costs its differences from the one before: some 300 bytes for a machine without processes.  Not
//! the blocks of the file: they are columns only when they are full, minutes later, and at the
//! other end a writer makes its own of what it has, with all that a writer promises.
//!
//! A frame with the ordinal 0 begins anew: it is complete.  The encoder begins so when it is told to, and
//! by itself before the instances that came and went use up memory.
//!
//! Hostile bytes: the limits of the file hold, and a decoder says how many cells it keeps.

use std::path::Path;
use std::sync::Arc;

use sample::{Meta, Snapshot, SourceDef};
use zstd::bulk::Decompressor;

use crate::compression::{STORED, ZSTD, unpack};
use crate::error::Error;
use crate::focus::Focus;
use crate::format::{BODY_BYTES_MAX, FRAME_BYTES_MAX};
use crate::frame::{self, BlockState, FRAME_HEADER_BYTES, FrameEncoder, Replay, Walker};
use crate::scan;
use crate::schema::Mapping;
use crate::writer::file_head;
use varint::{Bytes, Corrupt, put};

/// The number of the block that all frames are of; those of files begin with 1.
pub(crate) const BLOCK: u32 = 0;

/// Samples after which an encoder begins anew, so that a reader may lose the beginning.
const SAMPLES_MAX: u32 = 4096;

/// Cells of instances that came and went, after which an encoder begins anew: 2 MiB.
const CELLS_GONE: usize = 256 << 10;

/// The most bytes of packed samples, without their compression.
pub(crate) const PACKED_BYTES_MAX: usize = FRAME_BYTES_MAX + (1 << 20);

/// Fewer bytes are not compressed.
const PACK_BYTES_MIN: usize = 1 << 10;

/// The head of a stream: facts and sources, with the number of the recording.
///
/// # Errors
/// If it cannot be compressed.
pub fn stream_head(
    meta: &Meta,
    schemas: &[Arc<SourceDef>],
    file_id: u64,
) -> std::io::Result<Vec<u8>> {
    Ok(file_head(meta, schemas, file_id)?.0)
}

/// Makes frames of samples.
pub struct SampleEncoder {
    encoder: FrameEncoder,
    state: BlockState,
    file_id: u64,
    ordinal: u32,
    cells_first: usize,
}

impl SampleEncoder {
    /// For samples of these sources, of the recording of that number.
    #[must_use]
    pub fn new(schemas: &[Arc<SourceDef>], file_id: u64) -> Self {
        let state = BlockState::new(schemas);
        SampleEncoder {
            encoder: FrameEncoder::default(),
            state,
            file_id,
            ordinal: 0,
            cells_first: 0,
        }
    }

    /// The next sample is complete: a reader needs none before it.
    pub fn begin(&mut self) {
        self.ordinal = 0;
        self.state.clear();
    }

    /// Appends the frame of a sample and its kernel texts.
    pub fn encode<'a>(
        &mut self,
        snapshot: &Snapshot,
        texts: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
        out: &mut Vec<u8>,
    ) {
        let has_grown = self.state.cells() > 2 * self.cells_first + CELLS_GONE;
        if self.ordinal == SAMPLES_MAX || has_grown {
            self.begin();
        }
        let start = out.len();
        out.resize(start + FRAME_HEADER_BYTES, 0);
        self.encoder.encode(&mut self.state, snapshot, 0, texts, out);
        frame::seal(out, start, self.file_id, BLOCK, self.ordinal);
        if self.ordinal == 0 {
            self.cells_first = self.state.cells();
        }
        self.ordinal += 1;
    }
}

/// Appends bytes, compressed if that is shorter.
///
/// # Errors
/// If zstd fails.
pub fn pack_samples(frames: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    if frames.len() >= PACK_BYTES_MIN {
        let packed = zstd::bulk::compress(frames, 1)?;
        if packed.len() < frames.len() {
            out.push(ZSTD);
            put(out, frames.len() as u64);
            out.extend_from_slice(&packed);
            return Ok(());
        }
    }
    out.push(STORED);
    put(out, frames.len() as u64);
    out.extend_from_slice(frames);
    Ok(())
}

/// The frames of packed bytes.
///
/// # Errors
/// If they are damaged, or would be more than 65 MiB.
pub fn unpack_samples(packed: &[u8]) -> Result<Vec<u8>, Corrupt> {
    let (code, length, stored) = packed_parts(packed)?;
    let mut frames = Vec::new();
    let mut zstd = Decompressor::new().map_err(|_| Corrupt("zstd does not start"))?;
    unpack(code, stored, length, &mut zstd, &mut frames)?;
    Ok(frames)
}

/// How many bytes packed samples have without their compression.
///
/// # Errors
/// If they do not say it, or it is more than 65 MiB.
pub fn unpacked_length(packed: &[u8]) -> Result<usize, Corrupt> {
    packed_parts(packed).map(|(_, length, _)| length)
}

fn packed_parts(packed: &[u8]) -> Result<(u8, usize, &[u8]), Corrupt> {
    let mut bytes = Bytes::new(packed);
    let code = bytes.byte()?;
    let length = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
    if length > PACKED_BYTES_MAX {
        return Err(Corrupt("more samples than may be sent at once"));
    }
    let stored = bytes.next_bytes(bytes.left())?;
    Ok((code, length, stored))
}

/// Makes samples of frames.
pub struct SampleDecoder {
    meta: Meta,
    schemas: Vec<Arc<SourceDef>>,
    mappings: Vec<Mapping>,
    focus: Vec<Focus>,
    walker: Walker,
    state: BlockState,
    file_id: u64,
    ordinal: u32,
}

impl SampleDecoder {
    /// For what a head describes.  A source with the name of one in `known` gets that definition, the
    /// others the one of the head.
    ///
    /// # Errors
    /// If it is damaged, or of a later version.
    pub fn new(head: &[u8], known: &[Arc<SourceDef>]) -> Result<Self, Error> {
        // It is in a frame or two, and read once.
        let head = scan::read_head(&head.to_vec(), Path::new("what was sent"))?;
        let state = BlockState::new(&head.schemas);
        Ok(SampleDecoder {
            meta: head.meta,
            mappings: head.schemas.iter().map(|schema| Mapping::new(schema, known)).collect(),
            focus: vec![Focus::Whole; head.schemas.len()],
            walker: Walker::new(&state.sources),
            state,
            file_id: head.prelude.file_id,
            schemas: head.schemas,
            ordinal: 0,
        })
    }

    /// The facts about the recording and its machine.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The definitions of the sources, in the order of the snapshots' samples.
    #[must_use]
    pub fn defs(&self) -> Vec<Arc<SourceDef>> {
        self.mappings.iter().map(|mapping| mapping.def.clone()).collect()
    }

    /// The sources as they were recorded.
    #[must_use]
    pub fn schemas(&self) -> &[Arc<SourceDef>] {
        &self.schemas
    }

    /// The number of the recording.
    #[must_use]
    pub fn file_id(&self) -> u64 {
        self.file_id
    }

    /// Cells that it keeps: eight bytes each, and their names.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.state.cells()
    }

    /// Reads the sample that `frames` begin with, and removes it; false if they are empty.
    ///
    /// # Errors
    /// If it is damaged, or not the next one.
    pub fn decode(&mut self, frames: &mut &[u8], snapshot: &mut Snapshot) -> Result<bool, Corrupt> {
        if frames.is_empty() {
            return Ok(false);
        }
        let (length, ordinal) =
            frame::frame_header(frames).ok_or(Corrupt("the length of a sample is wrong"))?;
        if ordinal == 0 {
            self.ordinal = 0;
            self.state.clear();
            self.walker.clear();
        }
        let payload = frame::open(frames, self.file_id, BLOCK, self.ordinal)
            .ok_or(Corrupt("a sample is damaged or not the next one"))?;
        self.ordinal = u32::MAX;
        self.state.texts.all_mut().iter_mut().for_each(|text| text.fresh = false);
        self.walker.walk(payload, &mut Replay(&mut self.state))?;
        self.ordinal = ordinal + 1;
        self.state.copy_to(&self.mappings, &self.focus, snapshot);
        *frames = &frames[FRAME_HEADER_BYTES + length..];
        Ok(true)
    }

    /// Kernel texts kept with the sample that was read last: path and text.
    pub fn texts(&self) -> impl Iterator<Item = (&[u8], &[u8])> + Clone {
        self.state.texts.fresh()
    }
}

/// Bytes of the head that a prelude announces, with the prelude: what a reader of a pipe takes first.
///
/// # Errors
/// If the bytes are no prelude, or of a later version.
pub fn head_length(prelude: &[u8; HEAD_START]) -> Result<usize, Corrupt> {
    let prelude = crate::format::Prelude::decode(prelude)?;
    let length = prelude.first_block as usize;
    let needed = HEAD_START.saturating_add(prelude.head_stored_bytes as usize);
    if prelude.version > crate::VERSION {
        return Err(Corrupt("a stream of a later version"));
    }
    if length < needed || length > BODY_BYTES_MAX {
        return Err(Corrupt("a head is too long"));
    }
    Ok(length)
}

/// Bytes that a head begins with, and that say how long it is.
pub const HEAD_START: usize = crate::format::HEADER_BYTES;

/// Bytes of the frame that these begin with; `None` if it is none.
#[must_use]
pub fn frame_length(start: &[u8; FRAME_START]) -> Option<usize> {
    frame::frame_header(start).map(|(length, _)| FRAME_HEADER_BYTES + length)
}

/// Bytes that a frame begins with, and that say how long it is.
pub const FRAME_START: usize = FRAME_HEADER_BYTES;
