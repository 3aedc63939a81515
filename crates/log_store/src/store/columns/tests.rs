//! Columns give back the blocks that they are made of: random and extreme records, damage, limits.

use std::cell::RefCell;

use testkit::Random;

use super::*;
use crate::store::chunk::{BLOCK_STREAM_BYTES, RUN_BYTES};

thread_local! {
    /// One for all blocks: what one leaves must not show in the next.
    static DECODER: RefCell<ColumnDecoder> = RefCell::default();
}

fn decode(columns: &[u8], index: &BlockIndex) -> Option<Vec<u8>> {
    let mut raw = Vec::new();
    DECODER.with_borrow_mut(|decoder| decoder.decode(columns, index, &mut raw)).map(|()| raw)
}

/// A block: records, runs, streams.
#[derive(Default)]
struct Block {
    records: Vec<u8>,
    runs: Vec<(u32, u32)>,
    streams: Vec<(u32, u64)>,
}

impl Block {
    fn index(&self) -> BlockIndex {
        let records: u32 = self.runs.iter().map(|(_, count)| count).sum();
        let (runs, streams) = (self.runs.len() as u32, self.streams.len() as u32);
        let raw_bytes = self.raw().len() as u32;
        BlockIndex { records, runs, streams, raw_bytes, ..BlockIndex::default() }
    }

    /// What version 1 compressed.
    fn raw(&self) -> Vec<u8> {
        let mut raw = self.records.clone();
        for (stream, count) in &self.runs {
            raw.extend([stream.to_le_bytes(), count.to_le_bytes()].concat());
        }
        for (stream, first) in &self.streams {
            raw.extend([u64::from(*stream).to_le_bytes(), first.to_le_bytes()].concat());
        }
        raw
    }

    /// Adds a record to the run of its stream, or begins another.
    fn add(&mut self, stream: u32, (head, sequence): (u32, u64), stamp: u64, words: &[u64]) {
        if !self.streams.iter().any(|(known, _)| *known == stream) {
            self.streams.push((stream, sequence));
        }
        match self.runs.last_mut().filter(|run| run.0 == stream) {
            Some(run) => run.1 += 1,
            None => self.runs.push((stream, 1)),
        }
        let size = (words.len() + 2) as u64;
        let word0 = size | u64::from(head) << 16 | sequence << 32;
        for word in [word0, stamp].iter().chain(words) {
            self.records.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// The columns of the rows, from which the rows can be made again.
    fn columns(&self, encoder: &mut ColumnEncoder) -> Option<Vec<u8>> {
        let columns = encoder.encode(&self.records, &self.runs, &self.streams)?.to_vec();
        assert!(columns.len() <= bytes_max(&self.index()));
        assert_eq!(decode(&columns, &self.index()).as_ref(), Some(&self.raw()));
        Some(columns)
    }
}

fn text(random: &mut Random, out: &mut Vec<u64>) {
    let mut bytes = Vec::new();
    for _ in 0..random.below(5) {
        let word = random.one_of(&["", "disk full ", "größe ", "Ω≠🦀", "\u{202e}\0\n", "a"]);
        bytes.extend_from_slice(word.as_bytes());
    }
    let mut padded = [(bytes.len() as u32).to_le_bytes().as_slice(), &bytes].concat();
    padded.resize(padded.len().next_multiple_of(8), 0);
    out.extend(padded.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())));
}

/// The arguments of a record of this kind of call site.
fn arguments(site: u64, number: u64, random: &mut Random, out: &mut Vec<u64>) {
    match site % 8 {
        0 => {}
        1 => out.extend([7, number, (number as f64 + 0.5).to_bits()]),
        2 => out.extend([random.bits(), u64::MAX - number]),
        3 => out.push((random.below(1_000_000) as f64 / 1000.0).to_bits()),
        4 => text(random, out),
        5 => {
            text(random, out);
            out.push(random.below(50).wrapping_sub(25));
            text(random, out);
        }
        6 => out.extend([random.below(2), u64::from(u32::MAX), 0]),
        // More words than columns are made of.
        _ => out.extend((0..70).map(|word| word * number)),
    }
}

/// Records of some streams and call sites, with jumps of stamps and numbers.
fn random_block(random: &mut Random) -> Block {
    let mut block = Block::default();
    let (streams, sites) = (1 + random.below(5), 1 + random.below(12));
    let mut next: Vec<u64> = (0..streams).map(|_| random.bits() >> random.below(64)).collect();
    let mut stamp = random.bits() >> random.below(30);
    for number in 0..random.below(400) {
        let stream = random.below(streams) as usize;
        let sequence = &mut next[stream];
        if random.below(50) == 0 {
            *sequence = sequence.wrapping_add(random.bits() >> random.below(64));
            stamp = stamp.wrapping_sub(random.bits() >> random.below(64));
        }
        stamp = stamp.wrapping_add(random.below(1000));
        let site = random.below(sites);
        let mut words = vec![site | random.below(3) << 32];
        arguments(site, number, random, &mut words);
        // Every kind, level and flag.
        let head = if random.below(3) == 0 { random.bits() as u32 & 0xFFFF } else { 0x0401 };
        block.add(stream as u32 * 3, (head, *sequence), stamp, &words);
        *sequence = sequence.wrapping_add(1);
    }
    block
}

#[test]
fn columns_give_back_every_block() {
    let mut random = Random::from_seed(27);
    let mut encoder = ColumnEncoder::default();
    let cases = 150;
    let made = (0..cases).filter(|_| random_block(&mut random).columns(&mut encoder).is_some());
    assert!(made.count() > cases / 2);
    // A record of the longest size between short ones, and more streams than one byte counts.
    let mut block = Block::default();
    for number in 0..600 {
        let words = if number == 300 { 65_533 } else { 2 };
        let words: Vec<u64> = (0..words).map(|word| word + 5).collect();
        block.add(number % 300, (1, number.into()), number.into(), &words);
    }
    assert!(block.columns(&mut encoder).is_some());
}

/// Records of a component of ACS's table: three scalars, 64 loggers, ten threads.
#[test]
fn counting_records_have_a_few_bytes() {
    let mut random = Random::from_seed(1);
    let (mut block, mut next, mut stamp) = (Block::default(), [0_u64; 10], 1 << 60);
    for _ in 0..4000 {
        let thread = random.below(10);
        let number = &mut next[thread as usize];
        stamp += 20 + random.below(100);
        let words = [1 | (2 + *number % 64) << 32, thread, *number, (*number as f64).to_bits()];
        block.add(thread as u32, (0x0401, *number), stamp, &words);
        *number += 1;
    }
    let columns = block.columns(&mut ColumnEncoder::default()).unwrap();
    let [rows, columns] =
        [&block.raw(), &columns].map(|bytes| zstd::bulk::compress(bytes, 1).unwrap().len());
    assert!(columns < 12 * 4000 && columns * 3 < rows, "{columns} {rows}");
}

#[test]
fn what_cannot_be_columns_stays_as_it_is() {
    let mut encoder = ColumnEncoder::default();
    let mut block = Block::default();
    block.add(1, (1, 5), 9, &[1]);
    // Longer than the one record.
    assert_eq!(block.columns(&mut encoder), None);
    for number in 6..100 {
        block.add(1, (1, number), 9, &[1]);
    }
    assert!(block.columns(&mut encoder).is_some());
    // A stream that is not told, records that are cut, too many bytes.
    let (runs, streams) = (&block.runs, &block.streams);
    assert_eq!(encoder.encode(&block.records, &[(0, 95)], streams), None);
    assert_eq!(encoder.encode(&block.records, &[(2, 95)], streams), None);
    assert_eq!(encoder.encode(&block.records[..40], runs, streams), None);
    assert_eq!(encoder.encode(&[0; 24], &[(1, 1)], streams), None);
    assert_eq!(encoder.encode(&vec![0; RAW_BYTES_MAX], runs, streams), None);
}

#[test]
fn damaged_columns_never_panic() {
    let mut random = Random::from_seed(3);
    let mut encoder = ColumnEncoder::default();
    for _ in 0..40 {
        let block = random_block(&mut random);
        let Some(columns) = block.columns(&mut encoder) else { continue };
        for _ in 0..40 {
            let mut damaged = columns.clone();
            let mut index = block.index();
            match random.below(4) {
                0 => damaged.truncate(random.index(damaged.len())),
                1 => {
                    let number = random.one_of(&[0, 1, 0x7FFF_FFFF, u32::MAX]);
                    match random.below(4) {
                        0 => index.records = number,
                        1 => index.runs = number,
                        2 => index.streams = number,
                        _ => index.raw_bytes = number,
                    }
                }
                _ => {
                    let at = random.index(damaged.len());
                    let byte = random.bits() as u8;
                    damaged[at] = random.one_of(&[0, 1, 2, 0x7F, 0xFF, byte]);
                }
            }
            if let Some(raw) = decode(&damaged, &index) {
                assert_eq!(raw.len(), index.raw_bytes as usize);
            }
        }
    }
    // What is small must not become large.
    let index = BlockIndex { raw_bytes: u32::MAX, ..block_of_one() };
    assert_eq!(decode(&[0; 200], &index), None);
    let tail = (RUN_BYTES + BLOCK_STREAM_BYTES) as u32;
    let index = BlockIndex { raw_bytes: 24 + tail, records: 2, ..block_of_one() };
    assert_eq!(decode(&[0; 200], &index), None);
}

fn block_of_one() -> BlockIndex {
    BlockIndex { records: 1, runs: 1, streams: 1, ..BlockIndex::default() }
}
