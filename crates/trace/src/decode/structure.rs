//! Structures by tables: a line for each field says its name, where it stands, and how it is
//! written.
//!
//! The bytes come from the task; what is beyond their end counts as zeros, as in the kernel.  A
//! structure costs one read of a fixed size.

use super::{DecodeContext, put};
use crate::flags::Flags;

/// A field of a structure.
pub(crate) struct Field {
    name: &'static str,
    at: usize,
    form: Form,
}

/// How a field is written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// `int`.
    Signed,
    /// `unsigned int`.
    Unsigned,
    /// 64 bits with a sign.
    Long,
    /// 64 bits.
    UnsignedLong,
    /// 32 bits in hexadecimal.
    Hex,
    /// A descriptor.
    Descriptor,
    /// Flags of 32 bits.
    Flags(&'static Flags),
    /// Flags of 64 bits.
    LongFlags(&'static Flags),
    /// Another: from the bytes of the structure.
    By(fn(&mut DecodeContext<'_>, &[u8])),
}

impl Field {
    /// A field at an offset.
    pub(crate) const fn new(name: &'static str, at: usize, form: Form) -> Self {
        Field { name, at, form }
    }

    fn write(&self, context: &mut DecodeContext<'_>, bytes: &[u8]) {
        let (word, long) = (u32_at(bytes, self.at), u64_at(bytes, self.at));
        match self.form {
            Form::Signed => context.signed_number((word as i32).into()),
            Form::Unsigned => context.number(word.into()),
            Form::Long => context.signed_number(long as i64),
            Form::UnsignedLong => context.number(long),
            Form::Hex => context.hex(word.into()),
            Form::Descriptor => context.descriptor(word as i32),
            Form::Flags(set) => context.constant(set, word.into()),
            Form::LongFlags(set) => context.constant(set, long),
            Form::By(write) => write(context, bytes),
        }
    }
}

/// The 32-bit number at an offset; bytes beyond the end are zeros.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u64_at(bytes.get(..at + 4).unwrap_or(bytes), at) as u32
}

/// The 64-bit number at an offset; bytes beyond the end are zeros.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl DecodeContext<'_> {
    /// Writes fields of a structure: `a=1, b=2`.
    pub(crate) fn fields(&mut self, bytes: &[u8], list: &[Field]) {
        let mut separator = "";
        for field in list {
            put!(self, "{separator}{}=", field.name);
            field.write(self, bytes);
            separator = ", ";
        }
    }

    /// Writes a structure that is at an address: `{a=1, b=2}`.
    pub(crate) fn record<const N: usize>(&mut self, address: u64, list: &[Field]) {
        self.structure::<N>(address, |context, bytes| {
            context.put("{");
            context.fields(&bytes.0, list);
            context.put("}");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_end_is_zero() {
        let bytes = [1, 2, 3, 4, 5];
        assert_eq!(u32_at(&bytes, 0), 0x0403_0201);
        assert_eq!(u32_at(&bytes, 3), 0x0504);
        assert_eq!(u64_at(&bytes, 4), 5);
        assert_eq!(u64_at(&bytes, 9), 0);
    }
}
