//! Kinds that are plain numbers.

use super::{ArgumentKind, DecodeContext, Named, Outcome, put};

/// `int`.
pub(crate) const INT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.signed_number((context.argument(index) as i32).into());
    Outcome::Done
});

/// The number of a process or a thread.
pub(crate) const TASK: ArgumentKind = ArgumentKind::new(|context, index| {
    context.task(context.argument(index) as i32);
    Outcome::Done
});

/// `unsigned int`.
pub(crate) const UINT: ArgumentKind = ArgumentKind::new(|context, index| {
    context.number((context.argument(index) as u32).into());
    Outcome::Done
});

/// `long`, `off_t`.
pub(crate) const LONG: ArgumentKind = ArgumentKind::new(|context, index| {
    context.signed_number(context.signed(index));
    Outcome::Done
});

/// `unsigned long`, `size_t`.
pub(crate) const SIZE: ArgumentKind = ArgumentKind::new(|context, index| {
    context.number(context.argument(index));
    Outcome::Done
});

/// A 64-bit number that a 32-bit program passes as two words, the low half first.
pub(crate) const PAIR: ArgumentKind = ArgumentKind::new(|context, index| {
    context.signed_number(pair(context, index));
    Outcome::Done
});

/// The number whose halves are two words.
pub(crate) fn pair(context: &DecodeContext<'_>, index: usize) -> i64 {
    (context.argument(index) | context.argument(index + 1) << 32) as i64
}

/// As [`PAIR`], with the high half first.
pub(crate) const PAIR_SWAPPED: ArgumentKind = ArgumentKind::new(|context, index| {
    context.signed_number((context.argument(index) << 32 | context.argument(index + 1)) as i64);
    Outcome::Done
});

/// A file offset in pages, shown in bytes.
pub(crate) const PAGES: ArgumentKind = ArgumentKind::new(|context, index| {
    context.hex(context.argument(index) << 12);
    Outcome::Done
});

/// A word without a known meaning: `0x1f`, `0`.
pub(crate) const HEX: ArgumentKind = ArgumentKind::new(|context, index| {
    context.hex(context.argument(index));
    Outcome::Done
});

/// A 32-bit number without a known meaning.
pub(crate) const HEX32: ArgumentKind = ArgumentKind::new(|context, index| {
    context.hex(context.argument(index) & 0xffff_ffff);
    Outcome::Done
});

/// A word that the kernel ignores, at least on this architecture.
pub(crate) const UNUSED: ArgumentKind = ArgumentKind::new(|_, _| Outcome::Skip);

/// An address.
pub(crate) const POINTER: ArgumentKind = ArgumentKind::new(|context, index| {
    context.pointer(context.argument(index));
    Outcome::Done
});

/// An address that the kernel writes to: shown after the exit, as in `strace`.
pub(crate) const POINTER_OUT: ArgumentKind = ArgumentKind::new(|context, index| {
    if !context.is_over() {
        return Outcome::Later;
    }
    context.pointer(context.argument(index));
    Outcome::Done
});

/// The mode of a file: `0644`.
pub(crate) const MODE: ArgumentKind = ArgumentKind::new(|context, index| {
    put!(context, "{}", Mode(context.argument(index) as u16));
    Outcome::Done
});

/// Shows a mode with at least three digits: `000`, `0644`.
pub(crate) struct Mode(pub(crate) u16);

impl std::fmt::Display for Mode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0..0o100 => write!(formatter, "{:03o}", self.0),
            mode => write!(formatter, "0{mode:o}"),
        }
    }
}

/// A user or group id: -1 means none.
pub(crate) const ID: ArgumentKind = ArgumentKind::new(|context, index| {
    id(context, context.argument(index) as u32);
    Outcome::Done
});

/// Writes a user or group id.
pub(crate) fn id(context: &mut DecodeContext<'_>, number: u32) {
    if number == u32::MAX { context.put("-1") } else { context.number(number.into()) }
}

/// A descriptor.
pub(crate) const FD: ArgumentKind = ArgumentKind::new(|context, index| {
    context.descriptor(context.argument(index) as i32);
    Outcome::Done
})
.naming(Named::Descriptor);

/// The directory that relative paths start from: a descriptor, or the working directory.
pub(crate) const DIRFD: ArgumentKind = ArgumentKind::new(|context, index| {
    directory(context, context.argument(index) as i32);
    Outcome::Done
})
.naming(Named::Descriptor);

/// Writes the directory that relative paths start from.
pub(crate) fn directory(context: &mut DecodeContext<'_>, descriptor: i32) {
    if descriptor == libc::AT_FDCWD {
        context.named_decimal(descriptor.into(), |context| context.put("AT_FDCWD"));
        context.target_of(descriptor);
    } else {
        context.descriptor(descriptor);
    }
}

/// A signal.
pub(crate) const SIGNAL: ArgumentKind = ArgumentKind::new(|context, index| {
    super::signals::signal(context, context.argument(index) as i32);
    Outcome::Done
});
