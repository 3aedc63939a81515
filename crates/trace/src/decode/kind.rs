//! What an argument or a result is: how it is written, and which memory it reads.

use super::capture::{CaptureCount, CapturePhase, CapturedData, Reads};
use super::context::{DecodeContext, Outcome};
use crate::Abi;
use crate::flags::{Flags, Names};

/// An argument's kind.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentKind {
    pub(crate) write: Write,
    /// What it reads.  `CaptureCount::Argument` and `CaptureCount::Behind` count from the argument, so 1 is the
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
    By(fn(&mut DecodeContext<'_>, usize) -> Outcome),
    Flags(&'static Flags),
    /// The same of a whole word.
    WideFlags(&'static Flags),
    Names(&'static Names),
    /// Of a result: a number, and what this function adds.
    Remark(fn(&mut DecodeContext<'_>)),
}

impl ArgumentKind {
    /// A kind that a function writes, and that reads no memory.
    pub(crate) const fn new(write: fn(&mut DecodeContext<'_>, usize) -> Outcome) -> Self {
        ArgumentKind { write: Write::By(write), reads: &[], any_width: true, names: Named::Nothing }
    }

    /// Bits with names.
    pub(crate) const fn flags(set: &'static Flags) -> Self {
        ArgumentKind {
            write: Write::Flags(set),
            reads: &[],
            any_width: true,
            names: Named::Nothing,
        }
    }

    /// Bits of a whole word with names.
    pub(crate) const fn wide_flags(set: &'static Flags) -> Self {
        ArgumentKind { write: Write::WideFlags(set), ..Self::flags(set) }
    }

    /// Alternatives with names.
    pub(crate) const fn names(list: &'static Names) -> Self {
        ArgumentKind {
            write: Write::Names(list),
            reads: &[],
            any_width: true,
            names: Named::Nothing,
        }
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
    pub(crate) fn write(&self, context: &mut DecodeContext<'_>, index: usize) -> Outcome {
        let value = context.argument(index);
        // What a narrower program has in memory is not looked at, and shown by its address.
        context.is_blind = !self.any_width && context.call.id.abi == Abi::I386;
        match self.write {
            Write::By(write) => return write(context, index),
            Write::Flags(set) => set.write(value & 0xffff_ffff, context.out),
            Write::WideFlags(set) => set.write(value, context.out),
            Write::Names(list) => list.write(value & 0xffff_ffff, context.out),
            Write::Remark(_) => context.number(value),
        }
        Outcome::Done
    }
}

impl ArgumentKind {
    /// Whether it has to look at memory as the call begins, though it is told later.
    pub(crate) fn remembers(&self) -> bool {
        self.reads.iter().any(|reads| {
            let is_behind =
                matches!(reads.what, CapturedData::Bytes { count: CaptureCount::Behind(_), .. });
            reads.when == CapturePhase::Both || is_behind
        })
    }
}
