//! Damaged files: never a panic, never a wrong value without notice, an exact account.

use recording::{Compression, Reader, WriterOptions};
use std::path::Path;

use crate::recording::support::{
    DEFS, Memory, Random, assert_same, difference, machine, memory_writer, read_all, reader,
    recorded,
};

const SAMPLES: u64 = 120;

fn options(compression: Compression) -> WriterOptions {
    WriterOptions { compression, block_samples: 25, ..WriterOptions::default() }
}

/// Every sample read must be one that was written, in order; together with those accounted for
/// they must be all.
#[test]
fn a_flipped_bit_is_noticed() {
    let samples = machine(SAMPLES, 21);
    let mut random = Random::from_seed(77);
    for compression in [Compression::Zstd(1), Compression::None, Compression::FramesOnly] {
        for closed in [true, false] {
            let whole = if closed {
                recorded(&samples, options(compression))
            } else {
                let memory = Memory::default();
                let mut writer = memory_writer(&memory, options(compression));
                for sample in &samples {
                    writer.append(sample).unwrap();
                }
                memory.bytes()
            };
            for _ in 0..400 {
                let mut bytes = whole.clone();
                let bit = random.below(bytes.len() as u64 * 8) as usize;
                bytes[bit / 8] ^= 1 << (bit % 8);
                let context = format!("{compression:?} closed {closed} bit {bit}");
                let opened = Reader::with_store(Box::new(bytes), Path::new("memory"), &DEFS);
                // A damaged head is an error of its own.
                let Ok(mut reader) = opened else { continue };
                let (read, _) = read_all(&mut reader);
                let mut gaps = 0;
                let mut at = 0;
                for sample in &read {
                    gaps += sample.gap.samples_unreadable;
                    at += sample.gap.samples_unreadable as usize;
                    let different = difference(&DEFS, &samples[at], sample);
                    assert!(different.is_none(), "{context}: {different:?}");
                    at += 1;
                }
                let damage = reader.damage();
                let lost = damage.samples_unreadable + damage.samples_torn;
                assert!(gaps <= damage.samples_unreadable, "{context}");
                assert_eq!(read.len() as u64 + lost, SAMPLES, "{context}: {damage:?}");
            }
        }
    }
}

#[test]
fn a_damaged_block_costs_its_samples_alone() {
    let samples = machine(SAMPLES, 22);
    let mut bytes = recorded(&samples, options(Compression::Zstd(1)));
    // The second block's body: its header has number 2 at offset 8.
    let header = (0..bytes.len() / 64).map(|index| index * 64);
    let header = header.filter(|&at| bytes[at..].starts_with(b"WBLK")).nth(1).unwrap();
    bytes[header + 100] ^= 0x10;
    let mut damaged = reader(bytes.clone());
    let (read, _) = read_all(&mut damaged);
    assert_same(&samples[..25], &read[..25]);
    assert_eq!(read[25].gap.samples_unreadable, 25);
    assert_same(&samples[50..], &read[25..]);
    assert_eq!(damaged.damage().blocks_unreadable, 1);
    // Its header as well, and the index: the rest is found again.
    bytes[header + 1] = 0;
    let end = bytes.len() - 1;
    bytes[end] ^= 1;
    let mut damaged = reader(bytes);
    let (read, _) = read_all(&mut damaged);
    assert_eq!(read.len(), 95);
    assert_eq!(damaged.damage().samples_unreadable, 25);
    assert!(damaged.damage().bytes_skipped > 0);
}

#[test]
fn a_cut_file_gives_what_it_has() {
    let samples = machine(SAMPLES, 23);
    let whole = recorded(&samples, options(Compression::Zstd(1)));
    let mut random = Random::from_seed(3);
    let mut before = usize::MAX;
    let mut lengths: Vec<_> = (0..200).map(|_| random.below(whole.len() as u64) as usize).collect();
    lengths.sort_by_key(|&length| std::cmp::Reverse(length));
    for length in lengths {
        let opened =
            Reader::with_store(Box::new(whole[..length].to_vec()), Path::new("memory"), &DEFS);
        let Ok(mut reader) = opened else { continue };
        let (read, _) = read_all(&mut reader);
        assert_same(&samples[..read.len()], &read);
        assert!(read.len() <= before, "a shorter file has no more");
        before = read.len();
    }
    assert!(before < 30);
}

#[test]
fn an_open_block_without_its_header_is_found() {
    let samples = machine(30, 24);
    let memory = Memory::default();
    let mut writer = memory_writer(&memory, options(Compression::Zstd(1)));
    for sample in &samples {
        writer.append(sample).unwrap();
    }
    let mut bytes = memory.bytes();
    let headers = (0..bytes.len() / 64).map(|index| index * 64);
    let open = headers.filter(|&at| bytes[at..].starts_with(b"WBLK")).nth(1).unwrap();
    bytes[open..open + 64].fill(0xff);
    let mut reader = reader(bytes);
    let (read, _) = read_all(&mut reader);
    assert_same(&samples, &read);
    assert!(reader.damage().bytes_skipped > 0);
}

#[test]
fn garbage_is_refused() {
    let refused = |bytes: &[u8]| {
        let store = Box::new(bytes.to_vec());
        Reader::with_store(store, Path::new("some.whit"), &DEFS).err().unwrap().to_string()
    };
    assert_eq!(refused(b""), "some.whit: not a whit recording");
    assert_eq!(refused(b"\x89WHIT\r\n\x1a"), "some.whit: not a whit recording");
    assert_eq!(refused(&[0; 4096]), "some.whit: not a whit recording");
    let mut bytes = recorded(&machine(3, 1), WriterOptions::default());
    bytes[8] = 3;
    assert_eq!(
        refused(&bytes),
        "some.whit: format version 3, and this whit reads up to 2: use a newer whit"
    );
    bytes[8] = 2;
    bytes[70] ^= 1;
    assert!(refused(&bytes).contains("its head is damaged"), "{}", refused(&bytes));
}
