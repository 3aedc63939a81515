//! Decodes a body into samples, one after the other.
//!
//! Values are not decoded in advance: each column that changes keeps a position in its stream.  So
//! a block needs memory in proportion to its instances and its bytes, not to the product of
//! samples and columns, whatever a damaged or hostile file claims.

use super::dense::DenseReplay;
use super::table::{Cells, TableReplay, change_rows, read_table};
use super::{PART_COLUMNS, PART_PLAN, PART_STREAM, PART_TEXTS};
use crate::compression;
use crate::focus::Focus;
use crate::format::{BLOCK_SAMPLES_MAX, BODY_BYTES_MAX, CELLS_MAX};
use crate::frame::BlockState;
use varint::{Bytes, Corrupt};
use zstd::bulk::Decompressor;

/// A body being replayed.
#[derive(Default)]
pub(crate) struct BlockReplay {
    plain: Vec<u8>,
    /// The stream of a dense body; `plain` is then its plan.
    stream: Vec<u8>,
    dense: DenseReplay,
    is_dense: bool,
    texts_plain: Vec<u8>,
    /// The tick's table, then the sources'.
    tables: Vec<TableReplay>,
    texts: Vec<TextReplay>,
    samples: u32,
    done: u32,
}

/// The texts of one kernel file, being replayed.
#[derive(Clone, Debug, Default)]
struct TextReplay {
    index_at: usize,
    left: u64,
    sample: u64,
    bytes_at: usize,
}

impl BlockReplay {
    /// Begins to replay a body into `state`, which is cleared.  Of a body of columns it decodes the
    /// columns that each source's `focus` has; of a dense one all, since there each value depends on
    /// those before it.
    pub(crate) fn begin(
        &mut self,
        body: &[u8],
        decompressor: &mut Decompressor<'static>,
        focus: &[Focus],
        state: &mut BlockState,
    ) -> Result<(), Corrupt> {
        state.clear();
        self.plain.clear();
        self.stream.clear();
        self.is_dense = false;
        self.texts_plain.clear();
        self.tables.resize_with(state.sources.len() + 1, TableReplay::default);
        self.tables.iter_mut().for_each(TableReplay::clear);
        self.texts.clear();
        (self.samples, self.done) = (0, 0);
        let mut bytes = Bytes::new(body);
        while bytes.left() > 0 {
            let (kind, code) = (bytes.byte()?, bytes.byte()?);
            let stored = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
            let plain = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
            let stored = bytes.next_bytes(stored)?;
            let out = match kind {
                PART_COLUMNS | PART_PLAN => {
                    self.is_dense = kind == PART_PLAN;
                    &mut self.plain
                }
                PART_STREAM => &mut self.stream,
                PART_TEXTS => &mut self.texts_plain,
                _ => continue,
            };
            if plain > BODY_BYTES_MAX {
                return Err(Corrupt("it is too large"));
            }
            compression::unpack(code, stored, plain, decompressor, out)?;
        }
        if self.is_dense {
            self.samples = self.dense.begin(&self.plain, &self.stream, state)?;
        } else {
            self.columns(focus, state)?;
        }
        if !self.texts_plain.is_empty() {
            self.texts(state)?;
        }
        Ok(())
    }

    /// Samples of the block.
    pub(crate) fn samples(&self) -> u32 {
        self.samples
    }

    fn columns(&mut self, focus: &[Focus], state: &mut BlockState) -> Result<(), Corrupt> {
        let plain = std::mem::take(&mut self.plain);
        let read = self.read_tables(&plain, focus, state);
        self.plain = plain;
        read
    }

    fn read_tables(
        &mut self,
        plain: &[u8],
        focus: &[Focus],
        state: &mut BlockState,
    ) -> Result<(), Corrupt> {
        let mut bytes = Bytes::new(plain);
        let samples = bytes.varint()?;
        if samples > u64::from(BLOCK_SAMPLES_MAX) {
            return Err(Corrupt("it has too many samples"));
        }
        self.samples = samples as u32;
        let (tick, sources) = self.tables.split_at_mut(1);
        let mut cells = Cells { words: 0, width: state.tick.values.len(), left: CELLS_MAX };
        let ticks = &mut state.tick.values;
        let width = cells.width;
        read_table(&mut bytes, &mut tick[0], &mut cells, &Focus::Whole, ticks, |_| {}, |_| {})?;
        let one_row = tick[0].begun.len() == 1 && ticks.len() == width;
        if tick[0].readings != self.samples || !one_row {
            ticks.resize(width, 0);
            return Err(Corrupt("its ticks are not its samples"));
        }
        for ((table, source), focus) in sources.iter_mut().zip(&mut state.sources).zip(focus) {
            (cells.words, cells.width) = (source.words, source.width);
            let (names, texts) = (&mut source.names, &mut source.texts);
            let is_read = *focus != Focus::Nothing;
            table.is_skipped = !is_read;
            let add_name = |name: &[u8]| {
                is_read.then(|| names.push(name));
            };
            let add_text = |text: &[u8]| {
                is_read.then(|| texts.push(text));
            };
            let values = &mut source.values;
            read_table(&mut bytes, table, &mut cells, focus, values, add_name, add_text)?;
        }
        if bytes.left() == 0 { Ok(()) } else { Err(Corrupt("it is too long")) }
    }

    /// Replays the next sample; false when there is none.
    pub(crate) fn next(&mut self, state: &mut BlockState) -> Result<bool, Corrupt> {
        if self.done == self.samples {
            return Ok(false);
        }
        if self.is_dense {
            self.dense.next(&self.plain, &self.stream, state)?;
        } else {
            self.next_columns(state)?;
        }
        self.next_texts(state)?;
        self.done += 1;
        Ok(true)
    }

    fn next_columns(&mut self, state: &mut BlockState) -> Result<(), Corrupt> {
        let plain = &self.plain;
        let (tick, sources) = self.tables.split_at_mut(1);
        tick[0].advance(plain, 0, &mut state.tick.values)?;
        for (index, (table, source)) in sources.iter_mut().zip(&mut state.sources).enumerate() {
            if table.is_skipped || !state.tick.has_table(index) {
                continue;
            }
            if table.done == table.readings {
                return Err(Corrupt("a source has fewer readings than ticks"));
            }
            change_rows(plain, table, &mut source.rows)?;
            table.done += 1;
            for &slot in &source.rows {
                table.advance(plain, slot as usize, &mut source.values)?;
            }
        }
        Ok(())
    }

    fn texts(&mut self, state: &mut BlockState) -> Result<(), Corrupt> {
        let mut bytes = Bytes::new(&self.texts_plain);
        let count = bytes.count()?;
        let mut total = 0_usize;
        for _ in 0..count {
            let path = bytes.prefixed()?;
            let left = bytes.count()? as u64;
            let index_at = bytes.position();
            self.texts.push(TextReplay { index_at, left, sample: 0, bytes_at: total });
            state.texts.push(path);
            for _ in 0..left {
                bytes.varint()?;
                let length = usize::try_from(bytes.varint()?.saturating_sub(1));
                total = total.saturating_add(length.unwrap_or(usize::MAX));
            }
        }
        if total != bytes.left() {
            return Err(Corrupt("its texts are not as long as they say"));
        }
        for text in &mut self.texts {
            text.bytes_at += bytes.position();
            if text.left > 0 {
                text.sample = Bytes::at(&self.texts_plain, text.index_at).varint()?;
            }
        }
        Ok(())
    }

    fn next_texts(&mut self, state: &mut BlockState) -> Result<(), Corrupt> {
        for (replay, known) in self.texts.iter_mut().zip(state.texts.all_mut()) {
            known.fresh = replay.left > 0 && replay.sample == u64::from(self.done);
            if !known.fresh {
                continue;
            }
            let mut index = Bytes::at(&self.texts_plain, replay.index_at);
            index.varint()?;
            if let Some(length) = index.varint()?.checked_sub(1) {
                let mut bytes = Bytes::at(&self.texts_plain, replay.bytes_at);
                known.text.clear();
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                known.text.extend_from_slice(bytes.next_bytes(length)?);
                replay.bytes_at = bytes.position();
            }
            replay.index_at = index.position();
            replay.left -= 1;
            if replay.left > 0 {
                let ahead = Bytes::at(&self.texts_plain, replay.index_at).varint()?;
                replay.sample = replay.sample.saturating_add(ahead);
            }
        }
        Ok(())
    }
}
