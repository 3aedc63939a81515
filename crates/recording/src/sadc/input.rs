//! Reads numbers of either byte order and word size, and never more bytes than the file has.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::SadcError;
use super::structure::Structure;
use crate::imported::{pass_over, take_bytes};

/// The first two bytes of every file of `sadc`, as a number.
pub(super) const MAGIC: u16 = 0xd596;

/// The most items that sysstat itself accepts, and the most that a count in a file may say.
const COUNT_MAX: u32 = 1 << 20;

/// How a structure is laid out: 64-bit numbers, words of the machine in 8 bytes each, 32-bit numbers,
/// and other bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The size of the structure.
    pub(super) bytes: usize,
    /// How many numbers of each kind.
    counts: [u32; 3],
    word_bytes: usize,
    is_big_endian: bool,
    /// The structure of an old file, which has the numbers at other places.
    old: Option<&'static Structure>,
}

impl Layout {
    /// `None` if the numbers do not fit into the bytes.
    pub(super) fn new(input: &Input, counts: [u32; 3], bytes: u32) -> Option<Self> {
        let numbers =
            u64::from(counts[0]) * 8 + u64::from(counts[1]) * 8 + u64::from(counts[2]) * 4;
        (bytes > 0 && numbers <= u64::from(bytes)).then_some(Layout {
            bytes: bytes as usize,
            counts,
            word_bytes: input.word_bytes,
            is_big_endian: input.is_big_endian,
            old: None,
        })
    }

    /// The input of a structure of an old file, which may end before its last numbers.
    pub(super) fn old(input: &Input, structure: &'static Structure, bytes: u32) -> Self {
        Layout {
            bytes: bytes as usize,
            counts: [0; 3],
            word_bytes: input.word_bytes,
            is_big_endian: input.is_big_endian,
            old: Some(structure),
        }
    }

    /// The number at `place` of a kind: 0 for 64 bits, 1 for words, 2 for 32 bits.
    pub(super) fn number(&self, item: &[u8], kind: usize, place: usize) -> Option<u64> {
        if let Some(old) = self.old {
            let (at, size) = old.find(kind, place, self.word_bytes)?;
            return Some(number(item.get(at..at + size)?, self.is_big_endian));
        }
        if place >= self.counts[kind] as usize {
            return None;
        }
        let before: usize = self.counts[..kind].iter().map(|count| *count as usize * 8).sum();
        let (step, size) = [(8, 8), (8, self.word_bytes), (4, 4)][kind];
        let bytes = item.get(before + place * step..)?.get(..size)?;
        Some(number(bytes, self.is_big_endian))
    }

    /// The bytes behind the numbers.
    pub(super) fn rest<'a>(&self, item: &'a [u8]) -> &'a [u8] {
        if let Some(old) = self.old {
            return item.get(old.rest(self.word_bytes)..).unwrap_or_default();
        }
        let [long, words, short] = self.counts.map(|count| count as usize);
        item.get(long * 8 + words * 8 + short * 4..).unwrap_or_default()
    }
}

/// A number of up to eight bytes.
fn number(bytes: &[u8], is_big_endian: bool) -> u64 {
    let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    match is_big_endian {
        true => bytes.iter().fold(0, add),
        false => bytes.iter().rev().fold(0, add),
    }
}

/// A file that is read from front to back.
pub(super) struct Input {
    reader: Box<dyn Read>,
    path: PathBuf,
    /// Whether numbers begin with their highest byte.
    pub(super) is_big_endian: bool,
    /// The size of a word of the machine.
    pub(super) word_bytes: usize,
}

impl Input {
    pub(super) fn over(reader: Box<dyn Read>, path: &Path) -> Self {
        Input { reader, path: path.to_owned(), is_big_endian: false, word_bytes: 8 }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn damaged(&self, what: String) -> SadcError {
        SadcError::Damaged { path: self.path.clone(), what }
    }

    /// Reads so many bytes; false if the file ended before the first of them.
    pub(super) fn bytes_or_end(
        &mut self,
        into: &mut Vec<u8>,
        count: usize,
    ) -> Result<bool, SadcError> {
        let read = take_bytes(&mut self.reader, into, count);
        read.map_err(|source| SadcError::Io { path: self.path.clone(), source })?;
        match into.len() {
            0 if count > 0 => Ok(false),
            len if len < count => Err(SadcError::CutInHead(self.path.clone())),
            _ => Ok(true),
        }
    }

    /// Reads so many bytes.
    pub(super) fn bytes(&mut self, into: &mut Vec<u8>, count: usize) -> Result<(), SadcError> {
        match self.bytes_or_end(into, count)? {
            true => Ok(()),
            false => Err(SadcError::CutInHead(self.path.clone())),
        }
    }

    /// Passes over so many bytes.
    pub(super) fn skip(&mut self, count: u64) -> Result<(), SadcError> {
        let passed = pass_over(&mut self.reader, count);
        let passed = passed.map_err(|source| SadcError::Io { path: self.path.clone(), source })?;
        if passed < count { Err(SadcError::CutInHead(self.path.clone())) } else { Ok(()) }
    }

    /// Reads how many of something follow.
    pub(super) fn count(&mut self, of: &str) -> Result<u32, SadcError> {
        let mut bytes = Vec::new();
        self.bytes(&mut bytes, 4)?;
        self.checked(number(&bytes, self.is_big_endian), of)
    }

    /// A count that is not larger than any that sysstat writes.
    pub(super) fn checked(&self, count: u64, of: &str) -> Result<u32, SadcError> {
        let within = u32::try_from(count).ok().filter(|count| *count <= COUNT_MAX);
        within.ok_or_else(|| self.damaged(format!("{count} {of}")))
    }
}
