//! What the arguments and the result of a call mean, written as `strace` writes it.
//!
//! The table of calls names a [`Kind`] for each argument and for the result.  A kind writes itself
//! into a line from a [`Scene`]: the six words, the task's memory as far as it can be had, and, once
//! the call is over, its result.  What the kernel fills in can be told only then, so a kind may ask
//! to be called again ([`Outcome::Later`]); the line is written up to there meanwhile.
//!
//! Everything that comes from the task is hostile: a pointer that cannot be followed is shown as a
//! number, a count is cut at [`ELEMENTS_MAX`], a text at the limit asked for.  Nothing is allocated by
//! a size that the task gave.

use crate::event::Call;
use crate::flags::{self, Flags, Names};
use crate::line::Target;
use crate::{Abi, Memory, digits};

pub(crate) mod address;
pub(crate) mod control;
pub(crate) mod credentials;
pub(crate) mod files;
pub(crate) mod ioctl;
pub(crate) mod ipc;
pub(crate) mod mapping;
pub(crate) mod network;
pub(crate) mod numbers;
pub(crate) mod options;
pub(crate) mod poll;
pub(crate) mod process;
pub(crate) mod result;
pub(crate) mod signals;
pub(crate) mod stat;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod vectors;

/// Writes into the line that a scene holds.
macro_rules! put {
    ($scene:expr, $($format:tt)*) => {{
        use std::io::Write as _;
        // Writing into memory does not fail.
        let _ = write!($scene.out, $($format)*);
    }};
}
pub(crate) use put;

/// Elements of an array that are told at most; more are shown as `...`.  Far above what programs
/// pass to `poll` or `writev` that a person will read, and it bounds what one call can cost.
pub(crate) const ELEMENTS_MAX: u64 = 1024;

/// Bytes of a task that are looked at for one argument: the most that one read or write moves at a
/// time in practice, and far more than anybody reads in a line.
const BYTES_MAX: usize = 16 << 20;

/// Bytes that are read at once.
const STEP_BYTES: usize = 64 << 10;

/// The longest path that the kernel takes.
pub(crate) const PATH_MAX: usize = 4096;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Bytes of a text that are shown (`-s`).  Paths are shown whole.
    pub text_limit: usize,
    /// Structures are shown whole (`-v`).
    pub whole: bool,
    /// Texts with bytes beyond ASCII are written in hexadecimal (`-x`): 1; all are (`-xx`): 2.
    pub hex_texts: u8,
    /// Descriptors are followed by what they point to (`-y`): 1; with details (`-yy`): 2.
    pub descriptors: u8,
    /// Seconds east of Greenwich, for dates.
    pub zone_s: i32,
}

impl Default for Style {
    fn default() -> Self {
        Style { text_limit: 32, whole: false, hex_texts: 0, descriptors: 0, zone_s: 0 }
    }
}

/// Tells what a descriptor points to.
pub(crate) trait Lookup {
    /// `/etc/passwd` for 3, say; the working directory for [`AT_FDCWD`](libc::AT_FDCWD).
    fn target(&self, descriptor: i32) -> Option<Target>;
}

impl Lookup for () {
    fn target(&self, _descriptor: i32) -> Option<Target> {
        None
    }
}

/// What became of an argument.
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

/// When memory has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As the call begins.
    Enter,
    /// As it ends.
    Exit,
    /// Both times.
    Both,
}

/// A number of bytes or of elements.  Other arguments are named by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many.
    Fixed(u32),
    /// What this argument says.
    Argument(u8),
    /// What the call gives as its result.
    Result,
    /// The 32-bit number that this argument points to.
    Behind(u8),
}

/// What has to be copied for an argument that is a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// A text that a zero ends, of at most [`Capture::TEXT_MAX`] bytes.
    Text,
    /// An array of pointers to texts that a null pointer ends, and the texts (`argv`).
    Texts,
    /// An array of pointers that a null pointer ends, of which only the number counts (`envp`).
    Pointers,
    /// So many elements of so many bytes.
    Bytes {
        /// How many elements.
        count: Length,
        /// The bytes of each.
        size: u32,
    },
    /// So many bytes without a form, of which only as many are shown as of a text (`-s`).
    Data(Length),
    /// An array of `struct iovec` with so many elements, and what they point to: at most as many
    /// bytes in all as `total` says.
    Vectors {
        /// How many elements.
        count: Length,
        /// Bytes in all that are worth copying; `None`: all that the elements tell of.
        total: Option<Length>,
    },
    /// A `struct msghdr` (56 bytes), the name and the control data that it points to, and its vectors.
    Message,
    /// So many `struct mmsghdr` (64 bytes each), and what each message points to.
    Messages {
        /// How many.
        count: Length,
    },
    /// Sixteen bytes, and eight behind the pointer that they begin with (the mask of `pselect6`).
    Mask,
    /// The four bytes behind the pointers at 8 and at 24 of a `struct clone_args`.
    CloneResults,
}

/// One piece of memory that a call's line may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The argument that points to it.
    pub argument: u8,
    /// When.
    pub when: When,
    /// What.
    pub what: Copied,
}

impl Capture {
    /// Bytes of a text that are ever shown: the longest path.
    pub const TEXT_MAX: usize = PATH_MAX;
}

/// A [`Capture`] before it is known which argument has the kind: indices count from that argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) when: When,
    pub(crate) what: Copied,
}

impl Kind {
    /// Whether it has to look at memory as the call begins, though it is told later.
    pub(crate) fn remembers(&self) -> bool {
        self.reads.iter().any(|reads| {
            let is_behind = matches!(reads.what, Copied::Bytes { count: Length::Behind(_), .. });
            reads.when == When::Both || is_behind
        })
    }
}

/// An argument's kind.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) write: Write,
    /// What it reads.  `Length::Argument` and `Length::Behind` count from the argument, so 1 is the
    /// next; 255 is the one before.
    pub(crate) reads: &'static [Reads],
    /// It looks the same for 32-bit programs.
    pub(crate) any_width: bool,
    /// It is a path, or names a descriptor: what `-P` looks at.
    pub(crate) names: Named,
}

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Nothing,
    Path,
    Descriptor,
}

/// How a kind is written.
#[derive(Clone, Copy)]
pub(crate) enum Write {
    By(fn(&mut Scene<'_>, usize) -> Outcome),
    Flags(&'static Flags),
    /// The same of a whole word.
    WideFlags(&'static Flags),
    Names(&'static Names),
    /// Of a result: a number, and what this function adds.
    Remark(fn(&mut Scene<'_>)),
}

impl Kind {
    /// A kind that a function writes, and that reads no memory.
    pub(crate) const fn new(write: fn(&mut Scene<'_>, usize) -> Outcome) -> Self {
        Kind { write: Write::By(write), reads: &[], any_width: true, names: Named::Nothing }
    }

    /// Bits with names.
    pub(crate) const fn flags(set: &'static Flags) -> Self {
        Kind { write: Write::Flags(set), reads: &[], any_width: true, names: Named::Nothing }
    }

    /// Bits of a whole word with names.
    pub(crate) const fn wide_flags(set: &'static Flags) -> Self {
        Kind { write: Write::WideFlags(set), ..Self::flags(set) }
    }

    /// Alternatives with names.
    pub(crate) const fn names(list: &'static Names) -> Self {
        Kind { write: Write::Names(list), reads: &[], any_width: true, names: Named::Nothing }
    }

    /// It reads memory whose layout depends on the width of the program.
    pub(crate) const fn reading(mut self, reads: &'static [Reads]) -> Self {
        self.reads = reads;
        self.any_width = false;
        self
    }

    /// That memory looks the same for 32-bit programs.
    pub(crate) const fn of_any_width(mut self) -> Self {
        self.any_width = true;
        self
    }

    /// It names a path or a descriptor.
    pub(crate) const fn naming(mut self, names: Named) -> Self {
        self.names = names;
        self
    }

    /// Writes an argument of this kind.
    pub(crate) fn write(&self, scene: &mut Scene<'_>, index: usize) -> Outcome {
        let value = scene.argument(index);
        // What a narrower program has in memory is not looked at, and shown by its address.
        scene.is_blind = !self.any_width && scene.call.id.abi == Abi::I386;
        match self.write {
            Write::By(write) => return write(scene, index),
            Write::Flags(set) => set.write(value & 0xffff_ffff, scene.out),
            Write::WideFlags(set) => set.write(value, scene.out),
            Write::Names(list) => list.write(value & 0xffff_ffff, scene.out),
            Write::Remark(_) => scene.number(value),
        }
        Outcome::Done
    }
}

/// A call as it stands before whoever writes its line.
pub(crate) struct Scene<'a> {
    pub(crate) call: Call,
    /// What it gave; `None` while it is under way.
    pub(crate) result: Option<i64>,
    pub(crate) style: Style,
    /// What a kind has to remember from the beginning to the end of a call.
    pub(crate) memo: &'a mut Memo,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) memory: &'a dyn Memory,
    /// Memory is laid out otherwise than is known here, and cannot be read.
    pub(crate) is_blind: bool,
    pub(crate) lookup: &'a dyn Lookup,
}

/// Numbers that stood in memory as the call began and are overwritten since, by argument.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memo(pub(crate) [Option<u32>; 6]);

impl Scene<'_> {
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
        if let Some(memo) = self.memo.0.get_mut(index) {
            *memo = memo.or(number);
        }
    }

    /// What was kept for an argument.
    pub(crate) fn remembered(&self, index: usize) -> Option<u32> {
        self.memo.0.get(index).copied().flatten()
    }

    /// The call is over.
    pub(crate) fn is_over(&self) -> bool {
        self.result.is_some()
    }

    /// The call is over and failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.result.is_some_and(|result| crate::tally::error_of(result).is_some())
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
    pub(crate) fn read<const N: usize>(&self, address: u64) -> Option<Bytes<N>> {
        let mut bytes = [0; N];
        let is_there = address != 0 && !self.is_blind;
        (is_there && self.memory.read(address, &mut bytes) == N).then_some(Bytes(bytes))
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
        write: impl FnOnce(&mut Self, &Bytes<N>),
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
        write: impl FnOnce(&mut Self, &Bytes<N>),
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
        mut write: impl FnMut(&mut Self, &Bytes<N>),
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
            write(self, &Bytes(*element));
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

    /// Writes a descriptor and, if asked for, what it points to.
    pub(crate) fn descriptor(&mut self, descriptor: i32) {
        self.signed_number(descriptor.into());
        self.target_of(descriptor);
    }

    /// Writes what a descriptor points to, if that is asked for.
    pub(crate) fn target_of(&mut self, descriptor: i32) {
        if self.style.descriptors > 0
            && let Some(target) = self.lookup.target(descriptor)
        {
            self.put("<");
            // What has no name in a file system is the kernel's text or ours, and has arrows in it.
            let is_path = target.path.starts_with(b"/");
            let is_plain = target.path.iter().all(|byte| matches!(byte, 0x20..0x7f));
            let deleted = target.path.strip_suffix(b" (deleted)").filter(|_| is_path);
            if is_path || !is_plain {
                let path = deleted.unwrap_or(&target.path);
                text::escape(path, text::Quote::Angle, self.out);
            } else {
                self.out.extend_from_slice(&target.path);
            }
            if let Some(details) = target.details {
                put!(self, "<{details}>");
            }
            self.put(if deleted.is_some() { ">(deleted)" } else { ">" });
        }
    }
}

/// Bytes that were read: the few of most calls without an allocation.
pub(crate) struct Readout {
    small: [u8; Self::SMALL],
    length: usize,
    /// All of them, if they are many.
    large: Vec<u8>,
}

impl Readout {
    /// Bytes that are few.
    pub(crate) const SMALL: usize = 256;
}

impl Default for Readout {
    fn default() -> Self {
        Readout { small: [0; Self::SMALL], length: 0, large: Vec::new() }
    }
}

impl std::ops::Deref for Readout {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.large.is_empty() { &self.small[..self.length] } else { &self.large }
    }
}

/// Bytes of a structure, read in pieces.
pub(crate) struct Bytes<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Bytes<N> {
    fn piece<const M: usize>(&self, at: usize) -> [u8; M] {
        let mut piece = [0; M];
        piece.copy_from_slice(&self.0[at..at + M]);
        piece
    }

    pub(crate) fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.piece(at))
    }

    pub(crate) fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.piece(at))
    }

    pub(crate) fn i32(&self, at: usize) -> i32 {
        i32::from_le_bytes(self.piece(at))
    }

    pub(crate) fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.piece(at))
    }

    pub(crate) fn i64(&self, at: usize) -> i64 {
        i64::from_le_bytes(self.piece(at))
    }
}

/// Shorthands of the tables below: what a kind reads.
pub(crate) mod reads {
    use super::{Copied, Length, Reads, When};

    /// So many bytes.
    pub(crate) const fn fixed(when: When, size: u32) -> Reads {
        Reads { when, what: Copied::Bytes { count: Length::Fixed(1), size } }
    }

    /// As many elements as another argument says, counted from this one.
    pub(crate) const fn counted(when: When, offset: u8, size: u32) -> Reads {
        Reads { when, what: Copied::Bytes { count: Length::Argument(offset), size } }
    }

    /// As many elements as the result says.
    pub(crate) const fn resulting(size: u32) -> Reads {
        Reads { when: When::Exit, what: Copied::Bytes { count: Length::Result, size } }
    }

    /// As many bytes without a form as that.
    pub(crate) const fn data(when: When, length: Length) -> Reads {
        Reads { when, what: Copied::Data(length) }
    }

    /// As many bytes as the number says that another argument points to.
    pub(crate) const fn behind(when: When, offset: u8) -> Reads {
        Reads { when, what: Copied::Bytes { count: Length::Behind(offset), size: 1 } }
    }

    /// A text.
    pub(crate) const TEXT: Reads = Reads { when: When::Enter, what: Copied::Text };
}
