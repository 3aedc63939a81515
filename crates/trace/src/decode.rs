//! What the arguments and the result of a call mean, written as `strace` writes it.
//!
//! The table of system calls names an [`ArgumentKind`] for each argument and for the result.  A
//! kind formats itself from a [`DecodeContext`]: the six argument words, the memory of the task as
//! far as it can be read, and, after the exit, the result.  What the kernel fills in is known only
//! then, so a kind can ask to be called again ([`Outcome::Later`]); the line ends before that
//! argument until then.
//!
//! Everything that comes from the task is hostile: a pointer that cannot be followed is shown as a
//! number, a count is limited to [`ELEMENTS_MAX`], a string to the limit asked for.  No allocation
//! has a size that the task gave.

pub(crate) mod address;
mod capture;
mod constant;
mod context;
pub(crate) mod control;
pub(crate) mod credentials;
mod descriptor;
pub(crate) mod files;
pub(crate) mod ioctl;
pub(crate) mod ipc;
mod kind;
pub(crate) mod landlock;
pub(crate) mod mapping;
pub(crate) mod netlink;
pub(crate) mod network;
pub(crate) mod numbers;
pub(crate) mod options;
pub(crate) mod perf;
pub(crate) mod poll;
pub(crate) mod process;
mod readout;
pub(crate) mod result;
pub(crate) mod ring;
pub(crate) mod signals;
pub(crate) mod stat;
mod structure;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod vectors;

pub use capture::{Capture, CaptureCount, CapturePhase, CapturedData};
pub(crate) use capture::{Reads, reads};
pub use constant::ConstantStyle;
pub(crate) use context::{DecodeContext, DescriptorLookup, Outcome, SavedWords};
pub(crate) use kind::{ArgumentKind, Named, Write};
pub(crate) use readout::{Readout, StructBytes};

/// Writes into the line that a context holds.
macro_rules! put {
    ($context:expr, $($format:tt)*) => {{
        use std::io::Write as _;
        // Writing into memory does not fail.
        let _ = write!($context.out, $($format)*);
    }};
}
pub(crate) use put;

/// Most elements of an array that are shown; `...` stands for more.  It is far above what a person
/// reads of a `poll` or `writev`, and limits what one call can cost.
pub(crate) const ELEMENTS_MAX: u64 = 1024;

/// The longest path that the kernel takes.
pub(crate) const PATH_MAX: usize = 4096;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueStyle {
    /// Bytes of a string that are shown (`-s`).  Paths are shown whole.
    pub text_limit: usize,
    /// Structures are shown whole (`-v`).
    pub whole: bool,
    /// Structures are not decoded: their addresses are shown (`-e verbose=`).
    pub plain: bool,
    /// 1: strings with bytes beyond ASCII are written in hexadecimal (`-x`); 2: all are (`-xx`); 3:
    /// the bytes are that would be octal otherwise.
    pub hex_texts: u8,
    /// 1: descriptors are followed by what they point to (`-y`); 2: with details (`-yy`).
    pub descriptors: u8,
    /// Numbers of processes are followed by their names (`-Y`).
    pub commands: bool,
    /// How numbers that have names are written (`-X`).
    pub constants: ConstantStyle,
    /// Seconds east of Greenwich, for dates.
    pub zone_s: i32,
}

impl Default for ValueStyle {
    fn default() -> Self {
        ValueStyle {
            text_limit: 32,
            whole: false,
            plain: false,
            hex_texts: 0,
            descriptors: 0,
            commands: false,
            constants: ConstantStyle::Name,
            zone_s: 0,
        }
    }
}
