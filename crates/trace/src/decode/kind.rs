//! The kind of an argument or a result: how it is written, and which memory it reads.

use super::capture::{CaptureCount, CapturePhase, CapturedData, Reads};
use super::context::{DecodeContext, Outcome};
use crate::Abi;
use crate::flags::{Flags, Names};

/// The kind of an argument.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentKind {
    pub(crate) write: Write,
    /// The memory that it reads.  `CaptureCount::Argument` and `CaptureCount::Behind` count from
    /// the argument: 1 is the next one, 255 the one before.
    pub(crate) reads: &'static [Reads],
    /// The memory has the same layout in 32-bit programs.
    pub(crate) any_width: bool,
    /// It is a path or a descriptor, which `-P` compares.
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
    By(fn(&mut DecodeContext<'_>, usize) -> Outcome),
    Flags(&'static Flags),
    /// Flags of a whole word; `Flags` has 32 bits.
    WideFlags(&'static Flags),
    Names(&'static Names),
    /// For a result: a number, and what this function adds.
    Remark(fn(&mut DecodeContext<'_>)),
}

impl ArgumentKind {
    /// A kind that a function writes and that reads no memory.
    pub(crate) const fn new(write: fn(&mut DecodeContext<'_>, usize) -> Outcome) -> Self {
        ArgumentKind { write: Write::By(write), reads: &[], any_width: true, names: Named::Nothing }
    }

    /// Flags of 32 bits with names.
    pub(crate) const fn flags(set: &'static Flags) -> Self {
        ArgumentKind {
            write: Write::Flags(set),
            reads: &[],
            any_width: true,
            names: Named::Nothing,
        }
    }

    /// Flags of a whole word with names.
    pub(crate) const fn wide_flags(set: &'static Flags) -> Self {
        ArgumentKind { write: Write::WideFlags(set), ..Self::flags(set) }
    }

    /// One of several values with names.
    pub(crate) const fn names(list: &'static Names) -> Self {
        ArgumentKind {
            write: Write::Names(list),
            reads: &[],
            any_width: true,
            names: Named::Nothing,
        }
    }

    /// Sets the memory that it reads, whose layout depends on the word size of the program.
    pub(crate) const fn reading(mut self, reads: &'static [Reads]) -> Self {
        self.reads = reads;
        self.any_width = false;
        self
    }

    /// That memory has the same layout in 32-bit programs.
    pub(crate) const fn of_any_width(mut self) -> Self {
        self.any_width = true;
        self
    }

    /// Sets that it is a path or a descriptor.
    pub(crate) const fn naming(mut self, names: Named) -> Self {
        self.names = names;
        self
    }

    /// Writes an argument of this kind.
    pub(crate) fn write(&self, context: &mut DecodeContext<'_>, index: usize) -> Outcome {
        let value = context.argument(index);
        // Memory of a 32-bit program in another layout is not decoded; its address is shown.
        let is_narrow = context.call.id.abi == Abi::I386;
        context.is_blind = !self.any_width && (is_narrow || context.style.plain);
        match self.write {
            Write::By(write) => return write(context, index),
            Write::Flags(set) => context.constant(set, value & 0xffff_ffff),
            Write::WideFlags(set) => context.constant(set, value),
            Write::Names(list) => context.constant(list, value & 0xffff_ffff),
            Write::Remark(_) => context.number(value),
        }
        Outcome::Done
    }
}

impl ArgumentKind {
    /// Whether it has to read memory at the entry, although it is written at the exit.
    pub(crate) fn remembers(&self) -> bool {
        self.reads.iter().any(|reads| {
            let is_behind =
                matches!(reads.what, CapturedData::Bytes { count: CaptureCount::Behind(_), .. });
            reads.when == CapturePhase::Both || is_behind
        })
    }
}
