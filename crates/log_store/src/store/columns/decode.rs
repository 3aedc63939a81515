//! Makes the records of a block of its columns, which may be hostile.

use std::ops::Range;

use log_protocol::bytes::ByteCursor;
use log_protocol::record::RECORD_HEAD;

use super::{Group, RAW_BYTES_MAX, ROWS, Shape, groups_of, take_column, take_column_of};
use crate::store::chunk::{BLOCK_STREAM_BYTES, BlockIndex, RUN_BYTES};

/// A stream of the block.
struct StreamRows {
    index: u32,
    first: u64,
    /// The first of its rows, one after the last, and the row that comes next.
    begin: usize,
    end: usize,
    next: usize,
    /// The shapes of the stream's rows.
    shapes: Range<usize>,
}

/// Makes records of columns, and keeps its buffers.
#[derive(Debug, Default)]
pub(in crate::store) struct ColumnDecoder {
    stamps: Vec<u64>,
    numbers: Vec<u64>,
    lengths: Vec<u64>,
    sequences: Vec<u32>,
    /// By row: where the record begins; and these places by group.
    places: Vec<u32>,
    by_group: Vec<u32>,
    words: Vec<u64>,
}

impl ColumnDecoder {
    /// Puts records, runs and streams, as they were before they were made columns, in place of what is in
    /// `raw`; `None` if they are not what the index says.
    pub(in crate::store) fn decode(
        &mut self,
        columns: &[u8],
        index: &BlockIndex,
        raw: &mut Vec<u8>,
    ) -> Option<()> {
        let raw_bytes = index.raw_bytes as usize;
        let [count, runs, streams] =
            [index.records, index.runs, index.streams].map(|number| number as usize);
        let tail =
            runs.checked_mul(RUN_BYTES)?.checked_add(streams.checked_mul(BLOCK_STREAM_BYTES)?)?;
        let records_bytes = raw_bytes.checked_sub(tail)?;
        // What the numbers claim is reserved, so they must fit each other first.
        if raw_bytes > RAW_BYTES_MAX || count > records_bytes / RECORD_HEAD {
            return None;
        }
        let from = &mut ByteCursor::new(columns);
        let mut streams = take_streams(from, streams)?;
        let runs = self.take_runs(from, runs, &mut streams, count)?;
        take_column(from, count, &mut self.stamps)?;
        self.take_sequences(from, &streams, count)?;
        let shapes = take_shapes(from, &mut streams, &mut self.numbers)?;
        take_column(from, count, &mut self.numbers)?;
        for stream in &streams {
            for number in &mut self.numbers[stream.begin..stream.end] {
                let number_in_block = number.checked_add(stream.shapes.start as u64);
                *number = number_in_block.filter(|at| *at < stream.shapes.end as u64)?;
            }
        }
        raw.clear();
        raw.resize(raw_bytes, 0);
        self.put_heads(&mut raw[..records_bytes], &shapes, &runs, &mut streams)?;
        self.put_groups(from, &shapes, raw)?;
        put_tail(&mut raw[records_bytes..], &runs, &streams);
        from.is_empty().then_some(())
    }

    /// Puts the heads of all records where they are; `places` becomes these, by row.
    fn put_heads(
        &mut self,
        records: &mut [u8],
        shapes: &[Shape],
        runs: &[(u32, u32)],
        streams: &mut [StreamRows],
    ) -> Option<()> {
        self.places.clear();
        self.places.resize(self.stamps.len(), 0);
        let (mut at, mut stamps) = (0, self.stamps.iter());
        for (position, length) in runs {
            let stream = &mut streams[*position as usize];
            let rows = stream.next..stream.next + *length as usize;
            stream.next = rows.end;
            for row in rows {
                let shape = shapes[self.numbers[row] as usize];
                let record = records.get_mut(at..at + shape.bytes())?;
                record[..4].copy_from_slice(&shape.head.to_le_bytes());
                record[4..8].copy_from_slice(&self.sequences[row].to_le_bytes());
                record[8..16].copy_from_slice(&stamps.next()?.to_le_bytes());
                record[16..24].copy_from_slice(&shape.names.to_le_bytes());
                self.places[row] = at as u32;
                at += shape.bytes();
            }
        }
        (at == records.len()).then_some(())
    }

    /// Puts the arguments of all groups where the records are.
    fn put_groups(
        &mut self,
        from: &mut ByteCursor<'_>,
        shapes: &[Shape],
        raw: &mut [u8],
    ) -> Option<()> {
        let rows = self.numbers.iter().zip(&self.places);
        let rows = rows.map(|(shape, place)| (*shape as usize, *place));
        let groups = groups_of(shapes, rows, &mut self.by_group);
        let mut in_rows = Vec::new();
        for group in groups {
            let places = &self.by_group[group.begin..group.begin + group.count];
            put_group(from, (group, places), (&mut self.words, &mut in_rows), raw)?;
        }
        Some(())
    }

    /// The runs: position of the stream, count; the rows of each stream are set.
    fn take_runs(
        &mut self,
        from: &mut ByteCursor<'_>,
        count: usize,
        streams: &mut [StreamRows],
        records: usize,
    ) -> Option<Vec<(u32, u32)>> {
        let (positions, lengths) = (&mut self.numbers, &mut self.lengths);
        take_column(from, count, positions)?;
        take_column(from, count, lengths)?;
        let mut runs = Vec::with_capacity(count);
        for (position, length) in positions.iter().zip(&*lengths) {
            let stream = streams.get_mut(usize::try_from(*position).ok()?)?;
            let length =
                u32::try_from(*length).ok().filter(|length| *length as usize <= records)?;
            stream.end += length as usize;
            runs.push((*position as u32, length));
        }
        let mut end = 0;
        for stream in streams {
            (stream.begin, stream.next) = (end, end);
            end += stream.end;
            stream.end = end;
        }
        (end == records).then_some(runs)
    }

    /// The low halves of the sequence numbers, by row.
    fn take_sequences(
        &mut self,
        from: &mut ByteCursor<'_>,
        streams: &[StreamRows],
        count: usize,
    ) -> Option<()> {
        let jumps = from.u32()? as usize;
        if jumps > count {
            return None;
        }
        let (rows, differences) = (&mut self.numbers, &mut self.lengths);
        take_column(from, jumps, rows)?;
        take_column(from, jumps, differences)?;
        let mut jumps = rows.iter().zip(&*differences).peekable();
        self.sequences.clear();
        self.sequences.reserve(count);
        for stream in streams {
            let mut expected = stream.first as u32;
            for row in stream.begin..stream.end {
                if let Some((_, by)) = jumps.next_if(|jump| *jump.0 == row as u64) {
                    expected = expected.wrapping_add(*by as u32);
                }
                self.sequences.push(expected);
                expected = expected.wrapping_add(1);
            }
        }
        jumps.next().is_none().then_some(())
    }
}

fn take_streams(from: &mut ByteCursor<'_>, count: usize) -> Option<Vec<StreamRows>> {
    let stream = |_| {
        let (index, first) = (from.u32()?, from.u64()?);
        Some(StreamRows { index, first, begin: 0, end: 0, next: 0, shapes: 0..0 })
    };
    (0..count).map(stream).collect()
}

fn take_shapes(
    from: &mut ByteCursor<'_>,
    streams: &mut [StreamRows],
    numbers: &mut Vec<u64>,
) -> Option<Vec<Shape>> {
    let mut shapes = Vec::new();
    take_column(from, streams.len(), numbers)?;
    for ((position, stream), count) in streams.iter_mut().enumerate().zip(&*numbers) {
        // Each shape has a record.
        if *count > (stream.end - stream.begin) as u64 {
            return None;
        }
        let shape = Shape { stream: position as u32, head: 0, names: 0 };
        stream.shapes = shapes.len()..shapes.len() + *count as usize;
        shapes.resize(stream.shapes.end, shape);
    }
    take_column(from, shapes.len(), numbers)?;
    for (shape, head) in shapes.iter_mut().zip(&*numbers) {
        shape.head = *head as u32;
    }
    for shift in [0, 32] {
        take_column(from, shapes.len(), numbers)?;
        for (shape, number) in shapes.iter_mut().zip(&*numbers) {
            shape.names |= (number & 0xFFFF_FFFF) << shift;
        }
    }
    shapes.iter().all(|shape| shape.bytes() >= RECORD_HEAD).then_some(shapes)
}

fn put_group(
    from: &mut ByteCursor<'_>,
    (group, places): (Group, &[u32]),
    (numbers, in_rows): (&mut Vec<u64>, &mut Vec<Range<usize>>),
    raw: &mut [u8],
) -> Option<()> {
    if group.width == 0 {
        return Some(());
    }
    let has_columns = match from.u8()? {
        0 => false,
        1 => true,
        _ => return None,
    };
    in_rows.clear();
    for word in 0..group.width {
        let at = RECORD_HEAD + word * 8;
        match if has_columns { from.u8()? } else { ROWS } {
            // Neighbours are copied together: all of a text.
            ROWS => match in_rows.last_mut().filter(|last| last.end == at) {
                Some(last) => last.end += 8,
                None => in_rows.push(at..at + 8),
            },
            form => {
                take_column_of(from, form, places.len(), numbers)?;
                for (place, number) in places.iter().zip(&*numbers) {
                    let at = *place as usize + at;
                    raw[at..at + 8].copy_from_slice(&number.to_le_bytes());
                }
            }
        }
    }
    if in_rows.is_empty() {
        return Some(());
    }
    for place in places {
        let record = &mut raw[*place as usize..];
        for words in &*in_rows {
            record[words.clone()].copy_from_slice(from.take(words.len())?);
        }
    }
    Some(())
}

fn put_tail(out: &mut [u8], runs: &[(u32, u32)], streams: &[StreamRows]) {
    let (run_bytes, stream_bytes) = out.split_at_mut(runs.len() * RUN_BYTES);
    for (slot, (position, count)) in run_bytes.chunks_exact_mut(RUN_BYTES).zip(runs) {
        slot[..4].copy_from_slice(&streams[*position as usize].index.to_le_bytes());
        slot[4..].copy_from_slice(&count.to_le_bytes());
    }
    for (slot, stream) in stream_bytes.chunks_exact_mut(BLOCK_STREAM_BYTES).zip(streams) {
        slot[..4].copy_from_slice(&stream.index.to_le_bytes());
        slot[8..].copy_from_slice(&stream.first.to_le_bytes());
    }
}
