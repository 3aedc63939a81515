//! Makes columns of the records of a block.

use std::collections::HashMap;

use log_protocol::bytes::u64_at;
use log_protocol::record::RECORD_HEAD;

use super::{GROUP_MIN, Group, RAW_BYTES_MAX, ROWS, Shape, WIDTH_MAX, groups_of, put_column};
use crate::store::chunk::{BLOCK_STREAM_BYTES, RUN_BYTES};

/// Fewer records stay as they are: columns have heads, and a small commit should cost little.
const RECORDS_MIN: usize = 16;
/// Places of the table that is asked before the map of shapes; a power of two.
const RECENT: usize = 512;
/// Neighbours that are compared to tell texts from numbers.
const SAMPLES: usize = 16;
/// Bits by which neighbours of a text differ at least, on average.
const TEXT_BITS: u32 = 40;

/// Makes columns, and keeps its buffers.
#[derive(Debug, Default)]
pub(crate) struct ColumnEncoder {
    /// By index of a stream in the chunk: its position in the block.
    positions: Vec<u32>,
    streams: Vec<StreamCursor>,
    /// The shapes, in the order in which they come, and the number of each in its stream.
    shapes: Vec<(Shape, u32)>,
    known: HashMap<Shape, u32>,
    /// Shapes by a hash, as numbers from 1; 0: none.
    recent: Vec<u32>,
    /// By record, those of a stream one after the other: the number of the shape in its stream, and
    /// where the record begins.
    rows: Vec<(u32, u32)>,
    stamps: Vec<u64>,
    /// Records whose numbers do not follow the one before: which, and by how much.
    jumps: Vec<(u32, u32)>,
    places: Vec<u32>,
    numbers: Vec<u64>,
    in_rows: Vec<usize>,
    columns: Vec<u8>,
}

/// What is known of a stream of the block.
#[derive(Debug, Clone, Copy, Default)]
struct StreamCursor {
    index: u32,
    /// The first of its rows, and the one that comes next.
    begin: usize,
    next: usize,
    expected: u32,
    /// How many shapes it has, and the first of them.
    shapes: u32,
    first_shape: u32,
    /// The shape of its last record, as a number from 1.
    last: u32,
}

impl ColumnEncoder {
    /// The columns of a block: records, runs of (index of a stream, count), streams as (index, number of
    /// the first record).  `None`: these records cannot be columns, or the columns are longer.
    pub(crate) fn encode(
        &mut self,
        records: &[u8],
        runs: &[(u32, u32)],
        streams: &[(u32, u64)],
    ) -> Option<&[u8]> {
        let raw_bytes = records.len() + runs.len() * RUN_BYTES + streams.len() * BLOCK_STREAM_BYTES;
        if raw_bytes > RAW_BYTES_MAX {
            return None;
        }
        self.begin(runs, streams)?;
        if self.rows.len() < RECORDS_MIN {
            return None;
        }
        self.read(records, runs)?;
        let mut out = std::mem::take(&mut self.columns);
        out.clear();
        for (stream, first) in streams {
            out.extend_from_slice(&stream.to_le_bytes());
            out.extend_from_slice(&first.to_le_bytes());
        }
        let positions = &self.positions;
        put(&mut self.numbers, &mut out, runs.iter().map(|run| positions[run.0 as usize].into()));
        put(&mut self.numbers, &mut out, runs.iter().map(|run| run.1.into()));
        put_column(&mut out, &mut self.stamps);
        self.jumps.sort_unstable();
        out.extend_from_slice(&(self.jumps.len() as u32).to_le_bytes());
        put(&mut self.numbers, &mut out, self.jumps.iter().map(|jump| jump.0.into()));
        put(&mut self.numbers, &mut out, self.jumps.iter().map(|jump| jump.1.into()));
        self.put_shapes(&mut out);
        put(&mut self.numbers, &mut out, self.rows.iter().map(|row| row.0.into()));
        self.put_groups(&mut out, records);
        self.columns = out;
        (self.columns.len() <= raw_bytes).then_some(&self.columns)
    }

    /// Counts the records of each stream.
    fn begin(&mut self, runs: &[(u32, u32)], streams: &[(u32, u64)]) -> Option<()> {
        self.streams.clear();
        self.shapes.clear();
        self.known.clear();
        self.recent.clear();
        self.recent.resize(RECENT, 0);
        self.stamps.clear();
        self.jumps.clear();
        let highest = streams.iter().map(|(stream, _)| *stream).max()? as usize;
        self.positions.resize(self.positions.len().max(highest + 1), 0);
        for (position, (stream, first)) in streams.iter().enumerate() {
            self.positions[*stream as usize] = position as u32;
            let (index, expected) = (*stream, *first as u32);
            self.streams.push(StreamCursor { index, expected, ..<_>::default() });
        }
        for (stream, count) in runs {
            // Positions of other blocks are still there.
            let position = *self.positions.get(*stream as usize)?;
            let cursor = self.streams.get_mut(position as usize)?;
            if cursor.index != *stream {
                return None;
            }
            cursor.next += *count as usize;
        }
        let mut count = 0;
        for stream in &mut self.streams {
            (stream.begin, count) = (count, count + stream.next);
            stream.next = stream.begin;
        }
        self.rows.clear();
        self.rows.resize(count, (0, 0));
        Some(())
    }

    /// Reads the records.
    fn read(&mut self, records: &[u8], runs: &[(u32, u32)]) -> Option<()> {
        let mut at = 0;
        for (stream, count) in runs {
            let position = self.positions[*stream as usize];
            let mut cursor = self.streams[position as usize];
            for _ in 0..*count {
                let head: &[u8; RECORD_HEAD] = records.get(at..)?.first_chunk()?;
                let word0 = u64_at(head, 0);
                let shape = Shape { stream: position, head: word0 as u32, names: u64_at(head, 16) };
                if shape.bytes() < RECORD_HEAD {
                    return None;
                }
                self.stamps.push(u64_at(head, 8));
                let sequence = (word0 >> 32) as u32;
                if sequence != cursor.expected {
                    let by = sequence.wrapping_sub(cursor.expected);
                    self.jumps.push((cursor.next as u32, by));
                }
                cursor.expected = sequence.wrapping_add(1);
                let number = self.number_of(shape, &mut cursor);
                *self.rows.get_mut(cursor.next)? = (number, at as u32);
                cursor.next += 1;
                at += shape.bytes();
            }
            self.streams[position as usize] = cursor;
        }
        (at == records.len()).then_some(())
    }

    /// The number of a shape in its stream.
    #[inline]
    fn number_of(&mut self, shape: Shape, cursor: &mut StreamCursor) -> u32 {
        let is_it = |shapes: &[(Shape, u32)], index: u32| {
            shapes.get(index.wrapping_sub(1) as usize).is_some_and(|known| known.0 == shape)
        };
        if !is_it(&self.shapes, cursor.last) {
            let key = shape.names ^ u64::from(shape.head) << 40 ^ u64::from(shape.stream) << 20;
            let slot = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % RECENT;
            if !is_it(&self.shapes, self.recent[slot]) {
                let shapes = &mut self.shapes;
                self.recent[slot] = *self.known.entry(shape).or_insert_with(|| {
                    shapes.push((shape, cursor.shapes));
                    cursor.shapes += 1;
                    shapes.len() as u32
                });
            }
            cursor.last = self.recent[slot];
        }
        self.shapes[cursor.last as usize - 1].1
    }

    fn put_shapes(&mut self, out: &mut Vec<u8>) {
        // Those of a stream keep their order.
        self.shapes.sort_by_key(|(shape, _)| shape.stream);
        let mut end = 0;
        for stream in &mut self.streams {
            (stream.first_shape, end) = (end, end + stream.shapes);
        }
        let numbers = &mut self.numbers;
        put(numbers, out, self.streams.iter().map(|stream| stream.shapes.into()));
        let shapes = || self.shapes.iter().map(|(shape, _)| shape);
        put(numbers, out, shapes().map(|shape| shape.head.into()));
        put(numbers, out, shapes().map(|shape| shape.names & 0xFFFF_FFFF));
        put(numbers, out, shapes().map(|shape| shape.names >> 32));
    }

    fn put_groups(&mut self, out: &mut Vec<u8>, records: &[u8]) {
        let shapes: Vec<Shape> = self.shapes.iter().map(|(shape, _)| *shape).collect();
        let all = &self.rows;
        let rows = self.streams.iter().flat_map(|stream| {
            let rows = all[stream.begin..stream.next].iter();
            rows.map(|(number, at)| ((stream.first_shape + number) as usize, *at))
        });
        let groups = groups_of(&shapes, rows, &mut self.places);
        for group in groups {
            let places = &self.places[group.begin..group.begin + group.count];
            put_group((&mut self.numbers, &mut self.in_rows), out, (group, places), records);
        }
    }
}

/// Appends a column of these numbers.
fn put(scratch: &mut Vec<u64>, out: &mut Vec<u8>, numbers: impl Iterator<Item = u64>) {
    scratch.clear();
    scratch.extend(numbers);
    put_column(out, scratch);
}

/// Appends the arguments of a group's records.
fn put_group(
    (numbers, in_rows): (&mut Vec<u64>, &mut Vec<usize>),
    out: &mut Vec<u8>,
    (group, places): (Group, &[u32]),
    records: &[u8],
) {
    if group.width == 0 {
        return;
    }
    let has_columns = group.width <= WIDTH_MAX && group.count >= GROUP_MIN;
    out.push(u8::from(has_columns));
    in_rows.clear();
    for word in 0..group.width {
        let at = RECORD_HEAD + word * 8;
        if has_columns {
            numbers.clear();
            numbers.extend(places.iter().map(|place| u64_at(records, *place as usize + at)));
            if !is_text(numbers) {
                put_column(out, numbers);
                continue;
            }
            out.push(ROWS);
        }
        in_rows.push(at);
    }
    for place in places {
        for at in &*in_rows {
            let at = *place as usize + at;
            out.extend_from_slice(&records[at..at + 8]);
        }
    }
}

/// Whether words look like a part of texts that differ: those compress better where they stand.
fn is_text(words: &[u64]) -> bool {
    let step = (words.len() / SAMPLES).max(1);
    let (mut bits, mut pairs) = (0, 0);
    for pair in words.windows(2).step_by(step) {
        if !(has_text(pair[0]) && has_text(pair[1])) {
            return false;
        }
        bits += 64 - (pair[0] ^ pair[1]).leading_zeros();
        pairs += 1;
    }
    bits >= TEXT_BITS * pairs
}

/// Whether a word may be of a text: letters, padding, or a length and letters.
fn has_text(word: u64) -> bool {
    let is_printed = |byte: u8| byte == 0 || byte == b'\t' || byte == b'\n' || byte >= b' ';
    let bytes = word.to_le_bytes();
    let is_begin = bytes[2] == 0 && bytes[3] == 0 && bytes[4] >= b' ';
    let from = if is_begin { 4 } else { 0 };
    bytes[from..].iter().all(|byte| is_printed(*byte))
}
