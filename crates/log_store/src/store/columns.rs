//! The records of a block as columns, which version 2 of the format compresses.
//!
//! Numbers of neighbouring records differ little: stamps rise, counters count, high bytes stay.  So the
//! numbers of a kind stand together, each as what it differs by from the one before or from the first,
//! byte by byte: all lowest bytes, then all second ones; bytes that are 0 in all of them are left out.
//! A record's size, kind, level, call site and context are an index into a table of those that the
//! stream has.  Texts stay as they are.  `docs/format-log-store.md` defines every byte.
//!
//! Reading gives the bytes that were written, so everything else knows rows of records alone.  Cost:
//! some passes over a block of 1 MiB, less than zstd saves by the bytes that are left out; memory of
//! about the size of the block.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use log_protocol::bytes::ByteCursor;
use log_protocol::record::RECORD_HEAD;
use varint::{unzigzag, zigzag};

use super::chunk::BlockIndex;
pub(super) use decode::ColumnDecoder;
pub(crate) use encode::ColumnEncoder;

/// Most bytes of records, runs and streams that are made columns of.  A block ends with the record that
/// fills 1 MiB, and a record has 512 KiB at most, so with a run of 8 bytes for each record and a stream
/// of 16 it has less.
const RAW_BYTES_MAX: usize = 4 << 20;

/// Most words of the arguments of records that are made columns of.
const WIDTH_MAX: usize = 64;
/// A group of fewer records stays as it is.
const GROUP_MIN: usize = 8;

/// How a word of the arguments of a group's records is stored: with the others of its record.
const ROWS: u8 = 0;
/// A column: each number, exclusive-or the first.
const FIRST: u8 = 1;
/// A column: what each number is more than the one before, modulo 2⁶⁴.
const RISING: u8 = 2;
/// A column: the same, in zigzag form: the sign is the lowest bit.
const SIGNED: u8 = 3;

/// What records of a stream have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    /// The position of its stream in the block.
    stream: u32,
    /// The first four bytes of a record: size, kind, level and flags.
    head: u32,
    /// Call site and context.
    names: u64,
}

impl Shape {
    /// Bytes of a record.
    fn bytes(self) -> usize {
        (self.head & 0xFFFF) as usize * 8
    }

    fn site(self) -> u32 {
        self.names as u32
    }
}

/// Records of a stream with the same call site and the same size: their arguments are columns.
#[derive(Debug, Clone, Copy)]
struct Group {
    /// Words of the arguments of a record.
    width: usize,
    /// Where its records are in the list of all, by group, and how many there are.
    begin: usize,
    count: usize,
}

/// The groups of shapes, which are in the order of their streams; `places` becomes where the records
/// are, those of a group one after the other.  A row is the index of a shape and a place.
fn groups_of(
    shapes: &[Shape],
    rows: impl Iterator<Item = (usize, u32)> + Clone,
    places: &mut Vec<u32>,
) -> Vec<Group> {
    let mut numbers = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    let group_of = |shape: &Shape| {
        *numbers.entry((shape.stream, shape.site(), shape.bytes())).or_insert_with(|| {
            let width = shape.bytes().saturating_sub(RECORD_HEAD) / 8;
            groups.push(Group { width, begin: 0, count: 0 });
            groups.len() - 1
        })
    };
    let of_shape: Vec<usize> = shapes.iter().map(group_of).collect();
    for (shape, _) in rows.clone() {
        groups[of_shape[shape]].count += 1;
    }
    let mut end = 0;
    for group in &mut groups {
        (group.begin, end) = (end, end + group.count);
    }
    places.clear();
    places.resize(end, 0);
    let mut next: Vec<usize> = groups.iter().map(|group| group.begin).collect();
    for (shape, place) in rows {
        let next = &mut next[of_shape[shape]];
        places[*next] = place;
        *next += 1;
    }
    groups
}

/// The most bytes that columns of a block may have: they are stored only where they are not longer than
/// what they stand for.
pub(super) fn bytes_max(index: &BlockIndex) -> usize {
    (index.raw_bytes as usize).min(RAW_BYTES_MAX)
}

/// Appends a column: how it is stored u8, a bit for each byte of a number that is stored u8, the first
/// number u64; then the lowest bytes of all numbers, their second bytes, and so on.  The numbers are
/// lost.
fn put_column(out: &mut Vec<u8>, numbers: &mut [u64]) {
    let Some(first) = numbers.first().copied() else { return };
    let (mut differs, mut moves, mut falls) = (0_u64, 0_u64, false);
    let mut before = first;
    for number in &*numbers {
        let difference = number.wrapping_sub(before);
        falls |= (difference as i64) < 0;
        moves += u64::from(64 - zigzag(difference).leading_zeros());
        differs += u64::from(64 - (number ^ before).leading_zeros());
        before = *number;
    }
    // Neighbours that count have short differences; of measured values only the high bytes are the same.
    let form = match (moves <= differs, falls) {
        (false, _) => FIRST,
        (true, false) => RISING,
        (true, true) => SIGNED,
    };
    let (mut any, mut before) = (0, first);
    for number in &mut *numbers {
        let own = *number;
        *number = match form {
            FIRST => own ^ first,
            RISING => own.wrapping_sub(before),
            _ => zigzag(own.wrapping_sub(before)),
        };
        any |= *number;
        before = own;
    }
    let stored = (0..8).filter(|at| (any >> (at * 8)) & 0xFF != 0);
    let mask = stored.clone().fold(0_u8, |mask, at| mask | 1 << at);
    out.extend_from_slice(&[form, mask]);
    out.extend_from_slice(&first.to_le_bytes());
    for at in stored {
        out.extend(numbers.iter().map(|number| (number >> (at * 8)) as u8));
    }
}

/// Reads so many numbers that [`put_column`] has appended, in place of what is in `numbers`.
fn take_column(from: &mut ByteCursor<'_>, count: usize, numbers: &mut Vec<u64>) -> Option<()> {
    numbers.clear();
    if count == 0 {
        return Some(());
    }
    let form = from.u8()?;
    take_column_of(from, form, count, numbers)
}

/// The same, behind the byte that says how it is stored.
fn take_column_of(
    from: &mut ByteCursor<'_>,
    form: u8,
    count: usize,
    numbers: &mut Vec<u64>,
) -> Option<()> {
    let (mask, first) = (from.u8()?, from.u64()?);
    numbers.clear();
    numbers.resize(count, 0);
    for at in (0..8).filter(|at| mask & (1 << at) != 0) {
        for (number, byte) in numbers.iter_mut().zip(from.take(count)?) {
            *number |= u64::from(*byte) << (at * 8);
        }
    }
    let mut before = first;
    for number in &mut *numbers {
        *number = match form {
            FIRST => *number ^ first,
            RISING => before.wrapping_add(*number),
            SIGNED => before.wrapping_add(unzigzag(*number)),
            _ => return None,
        };
        before = *number;
    }
    Some(())
}
