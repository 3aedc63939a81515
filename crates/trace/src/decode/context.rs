//! A call while its line is written: its arguments, the task's memory, and the line so far.

use text::integer::{push_hexadecimal, push_i64, push_u64};

use super::{ELEMENTS_MAX, Readout, StructBytes, ValueStyle, put};
use crate::event::{Call, error_of};
use crate::{Abi, DescriptorTarget, Memory, NetlinkSocket, flags};

/// Most bytes of a task that are read for one argument: the most that one `read` or `write` moves
/// in practice, and far more than anybody reads in a line.
const BYTES_MAX: usize = 16 << 20;

/// Bytes that are read at a time.
const STEP_BYTES: usize = 64 << 10;

/// Looks up what a descriptor points to, and the names of tasks.
pub(crate) trait DescriptorLookup {
    /// The name of a task, while it exists.
    fn command(&self, task: i32) -> Option<Vec<u8>>;

    /// `/etc/passwd` for 3, say; the working directory for [`AT_FDCWD`](libc::AT_FDCWD).
    fn target(&self, descriptor: i32) -> Option<DescriptorTarget>;

    /// The netlink socket that a descriptor is, as far as that is certain.
    fn netlink(&self, _descriptor: i32) -> Option<NetlinkSocket> {
        None
    }
}

impl DescriptorLookup for () {
    fn target(&self, _descriptor: i32) -> Option<DescriptorTarget> {
        None
    }

    fn command(&self, _task: i32) -> Option<Vec<u8>> {
        None
    }
}

/// What was written of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All of it.
    Done,
    /// Nothing, because this call does not use it.
    Skip,
    /// Nothing yet, because it is known only at the exit.
    Later,
    /// The beginning; the rest is known at the exit.
    More,
}

/// A call whose line is being written.
pub(crate) struct DecodeContext<'a> {
    pub(crate) call: Call,
    /// The result; `None` before the exit.
    pub(crate) result: Option<i64>,
    pub(crate) style: ValueStyle,
    /// Numbers in memory at the entry that a kind needs at the exit.
    pub(crate) saved: &'a mut SavedWords,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) memory: &'a dyn Memory,
    /// Memory has a layout that is not known here, so nothing is read.
    pub(crate) is_blind: bool,
    pub(crate) lookup: &'a dyn DescriptorLookup,
}

/// Numbers that were in memory at the entry and that the kernel overwrites, by argument.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SavedWords(pub(crate) [Option<u32>; 6]);

impl DecodeContext<'_> {
    /// The word of an argument.
    pub(crate) fn argument(&self, index: usize) -> u64 {
        self.call.arguments.get(index).copied().unwrap_or(0)
    }

    /// An argument that is a signed number of the program's word size.
    pub(crate) fn signed(&self, index: usize) -> i64 {
        let value = self.argument(index);
        match self.call.id.abi {
            Abi::X86_64 => value as i64,
            Abi::I386 => i64::from(value as i32),
        }
    }

    /// Keeps a number that is in memory at the entry; only the first is kept.
    pub(crate) fn remember(&mut self, index: usize, number: Option<u32>) {
        if let Some(saved) = self.saved.0.get_mut(index) {
            *saved = saved.or(number);
        }
    }

    /// The number that was kept for an argument.
    pub(crate) fn remembered(&self, index: usize) -> Option<u32> {
        self.saved.0.get(index).copied().flatten()
    }

    /// Whether the call has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.result.is_some()
    }

    /// Whether the call has ended with an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.result.is_some_and(|result| error_of(result).is_some())
    }

    /// The result of a successful call as a count; 0 before the exit and of a failed call.
    pub(crate) fn count(&self) -> u64 {
        self.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0)
    }

    /// Writes a text as it is.
    pub(crate) fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Writes a number.
    pub(crate) fn number(&mut self, value: u64) {
        push_u64(self.out, value);
    }

    /// Writes a number that may be below zero.
    pub(crate) fn signed_number(&mut self, value: i64) {
        push_i64(self.out, value);
    }

    /// Writes `0x1f`, and `0` for zero.
    pub(crate) fn hex(&mut self, value: u64) {
        flags::hex(value, self.out);
    }

    /// Writes an address: `0x7ffe1000`, `NULL`.
    pub(crate) fn pointer(&mut self, address: u64) {
        if address == 0 {
            self.put("NULL");
        } else {
            push_hexadecimal(self.out, address);
        }
    }

    /// Reads a value at an address: all of its bytes or nothing.
    pub(crate) fn read<const N: usize>(&self, address: u64) -> Option<StructBytes<N>> {
        let mut bytes = [0; N];
        // A single byte is part of a text.
        let is_there = address != 0 && !self.is_blind && !(self.style.plain && N > 1);
        (is_there && self.memory.read(address, &mut bytes) == N).then_some(StructBytes(bytes))
    }

    /// Reads the bytes at an address that are readable: perhaps fewer than asked for.
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
        // In steps, so that a length that a task made up costs no more than the memory that it has.
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

    /// Writes a structure that is at an address, or the address if it cannot be read.
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

    /// Writes an argument that the kernel fills in: nothing before the exit, and only its address if
    /// the call has failed.
    pub(crate) fn at_exit(&mut self, index: usize, write: impl FnOnce(&mut Self, u64)) -> Outcome {
        if !self.is_over() {
            return Outcome::Later;
        }
        let address = self.argument(index);
        if self.has_failed() {
            self.pointer(address);
        } else {
            write(self, address);
        }
        Outcome::Done
    }

    /// Writes a structure that the kernel fills in, as [`at_exit`](Self::at_exit).
    pub(crate) fn filled<const N: usize>(
        &mut self,
        index: usize,
        write: impl FnOnce(&mut Self, &StructBytes<N>),
    ) -> Outcome {
        self.at_exit(index, |context, address| context.structure(address, write))
    }

    /// Writes an array that is at an address: `[a, b, ...]`.
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
        if self.style.plain {
            self.pointer(address);
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
            let at = address.wrapping_add((elements.len() * N) as u64);
            put!(self, ", ... /* {at:#x} */]");
            return;
        }
        self.put(if shown < count { ", ...]" } else { "]" });
    }

    /// Elements of an array that are shown: as many as bytes of a string, or with `-v` up to the
    /// limit.
    pub(crate) fn elements_shown(&self) -> u64 {
        if self.style.whole {
            ELEMENTS_MAX
        } else {
            (self.style.text_limit as u64).min(ELEMENTS_MAX)
        }
    }
}
