//! A call while its line is written: its words, the task's memory, and the line so far.

use super::{ELEMENTS_MAX, Readout, StructBytes, ValueStyle, put};
use crate::event::{Call, error_of};
use crate::{Abi, DescriptorTarget, Memory, digits, flags};

/// StructBytes of a task that are looked at for one argument: the most that one read or write moves at a
/// time in practice, and far more than anybody reads in a line.
const BYTES_MAX: usize = 16 << 20;

/// StructBytes that are read at once.
const STEP_BYTES: usize = 64 << 10;

/// Tells what a descriptor points to.
pub(crate) trait DescriptorLookup {
    /// `/etc/passwd` for 3, say; the working directory for [`AT_FDCWD`](libc::AT_FDCWD).
    fn target(&self, descriptor: i32) -> Option<DescriptorTarget>;
}

impl DescriptorLookup for () {
    fn target(&self, _descriptor: i32) -> Option<DescriptorTarget> {
        None
    }
}

/// What became of an argument that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is written.
    Done,
    /// This call does not use it.
    Skip,
    /// It can be told when the call is over.
    Later,
    /// The beginning is written; the rest when the call is over.
    More,
}

/// A call whose line is being written.
pub(crate) struct DecodeContext<'a> {
    pub(crate) call: Call,
    /// What it gave; `None` while it is under way.
    pub(crate) result: Option<i64>,
    pub(crate) style: ValueStyle,
    /// What a kind has to remember from the beginning to the end of a call.
    pub(crate) saved: &'a mut SavedWords,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) memory: &'a dyn Memory,
    /// Memory is laid out otherwise than is known here, and cannot be read.
    pub(crate) is_blind: bool,
    pub(crate) lookup: &'a dyn DescriptorLookup,
}

/// Numbers that stood in memory as the call began and are overwritten since, by argument.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SavedWords(pub(crate) [Option<u32>; 6]);

impl DecodeContext<'_> {
    /// An argument's word.
    pub(crate) fn argument(&self, index: usize) -> u64 {
        self.call.arguments.get(index).copied().unwrap_or(0)
    }

    /// An argument that is a signed number of the program's width.
    pub(crate) fn signed(&self, index: usize) -> i64 {
        let value = self.argument(index);
        match self.call.id.abi {
            Abi::X86_64 => value as i64,
            Abi::I386 => i64::from(value as i32),
        }
    }

    /// Keeps a number that stands in memory as the call begins; only the first is kept.
    pub(crate) fn remember(&mut self, index: usize, number: Option<u32>) {
        if let Some(saved) = self.saved.0.get_mut(index) {
            *saved = saved.or(number);
        }
    }

    /// What was kept for an argument.
    pub(crate) fn remembered(&self, index: usize) -> Option<u32> {
        self.saved.0.get(index).copied().flatten()
    }

    /// The call is over.
    pub(crate) fn is_over(&self) -> bool {
        self.result.is_some()
    }

    /// The call is over and failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.result.is_some_and(|result| error_of(result).is_some())
    }

    /// The result of a call that did not fail, as a count.
    pub(crate) fn count(&self) -> u64 {
        self.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0)
    }

    /// Writes a text as it is.
    pub(crate) fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes a number.
    pub(crate) fn number(&mut self, value: u64) {
        digits::decimal(value, self.out);
    }

    /// Writes a number that may be below zero.
    pub(crate) fn signed_number(&mut self, value: i64) {
        digits::signed(value, self.out);
    }

    /// Writes `0x1f`, and `0` for none.
    pub(crate) fn hex(&mut self, value: u64) {
        flags::hex(value, self.out);
    }

    /// Writes an address: `0x7ffe1000`, `NULL`.
    pub(crate) fn pointer(&mut self, address: u64) {
        if address == 0 {
            self.put("NULL");
        } else {
            digits::hex(address, self.out);
        }
    }

    /// What stands at an address: all of it or nothing.
    pub(crate) fn read<const N: usize>(&self, address: u64) -> Option<StructBytes<N>> {
        let mut bytes = [0; N];
        let is_there = address != 0 && !self.is_blind;
        (is_there && self.memory.read(address, &mut bytes) == N).then_some(StructBytes(bytes))
    }

    /// What stands at an address as far as it can be read: fewer bytes than asked for, perhaps.
    pub(crate) fn read_some(&self, address: u64, length: usize) -> Readout {
        if address == 0 || self.is_blind {
            return Readout::default();
        }
        if length <= Readout::SMALL {
            let mut few = Readout::default();
            let got = self.memory.read(address, &mut few.small[..length]);
            few.length = got.min(length);
            return few;
        }
        let mut bytes = Vec::new();
        // In steps, so that a length that a task made up costs no more than what it has.
        let length = length.min(BYTES_MAX);
        while bytes.len() < length {
            let have = bytes.len();
            let wanted = STEP_BYTES.min(length - have);
            bytes.resize(have + wanted, 0);
            let got = self.memory.read(address.wrapping_add(have as u64), &mut bytes[have..]);
            if got < wanted {
                bytes.truncate(have + got);
                break;
            }
        }
        Readout { large: bytes, ..Readout::default() }
    }

    /// Writes a structure that stands at an address, or the address if it cannot be read.
    pub(crate) fn structure<const N: usize>(
        &mut self,
        address: u64,
        write: impl FnOnce(&mut Self, &StructBytes<N>),
    ) {
        match self.read::<N>(address) {
            Some(bytes) => write(self, &bytes),
            None => self.pointer(address),
        }
    }

    /// The same for one that the kernel fills in: it is told when the call has succeeded.
    pub(crate) fn filled<const N: usize>(
        &mut self,
        index: usize,
        write: impl FnOnce(&mut Self, &StructBytes<N>),
    ) -> Outcome {
        if !self.is_over() {
            return Outcome::Later;
        }
        let address = self.argument(index);
        if self.has_failed() {
            self.pointer(address);
        } else {
            self.structure(address, write);
        }
        Outcome::Done
    }

    /// Writes an array that stands at an address: `[a, b, ...]`.
    pub(crate) fn array<const N: usize>(
        &mut self,
        address: u64,
        count: u64,
        mut write: impl FnMut(&mut Self, &StructBytes<N>),
    ) {
        if address == 0 {
            self.put("NULL");
            return;
        }
        if count == 0 {
            self.put("[]");
            return;
        }
        let shown = count.min(self.elements_shown());
        let bytes = self.read_some(address, shown as usize * N);
        let (elements, _) = bytes.as_chunks::<N>();
        if elements.is_empty() {
            self.pointer(address);
            return;
        }
        for (index, element) in elements.iter().enumerate() {
            self.put(if index > 0 { ", " } else { "[" });
            write(self, &StructBytes(*element));
        }
        if (elements.len() as u64) < shown {
            let place = address.wrapping_add((elements.len() * N) as u64);
            put!(self, ", ... /* {place:#x} */]");
            return;
        }
        self.put(if shown < count { ", ...]" } else { "]" });
    }

    /// Elements of an array that are shown: as many as bytes of a text, unless all is asked for.
    pub(crate) fn elements_shown(&self) -> u64 {
        if self.style.whole {
            ELEMENTS_MAX
        } else {
            (self.style.text_limit as u64).min(ELEMENTS_MAX)
        }
    }
}
