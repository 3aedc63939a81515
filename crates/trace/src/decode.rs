//! What the arguments and the result of a call mean, written as `strace` writes it.
//!
//! The table of calls names a [`ArgumentKind`] for each argument and for the result.  A kind writes itself
//! into a line from a [`DecodeContext`]: the six words, the task's memory as far as it can be had, and, once
//! the call is over, its result.  What the kernel fills in can be told only then, so a kind may ask
//! to be called again ([`Outcome::Later`]); the line is written up to there meanwhile.
//!
//! Everything that comes from the task is hostile: a pointer that cannot be followed is shown as a
//! number, a count is cut at [`ELEMENTS_MAX`], a text at the limit asked for.  Nothing is allocated by
//! a size that the task gave.

pub(crate) mod address;
mod capture;
mod context;
pub(crate) mod control;
pub(crate) mod credentials;
mod descriptor;
pub(crate) mod files;
pub(crate) mod ioctl;
pub(crate) mod ipc;
mod kind;
pub(crate) mod mapping;
pub(crate) mod network;
pub(crate) mod numbers;
pub(crate) mod options;
pub(crate) mod poll;
pub(crate) mod process;
mod readout;
pub(crate) mod result;
pub(crate) mod signals;
pub(crate) mod stat;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod vectors;

pub use capture::{Capture, CaptureCount, CapturePhase, CapturedData};
pub(crate) use capture::{Reads, reads};
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

/// Elements of an array that are told at most; more are shown as `...`.  Far above what programs
/// pass to `poll` or `writev` that a person will read, and it bounds what one call can cost.
pub(crate) const ELEMENTS_MAX: u64 = 1024;

/// The longest path that the kernel takes.
pub(crate) const PATH_MAX: usize = 4096;

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueStyle {
    /// StructBytes of a text that are shown (`-s`).  Paths are shown whole.
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

impl Default for ValueStyle {
    fn default() -> Self {
        ValueStyle { text_limit: 32, whole: false, hex_texts: 0, descriptors: 0, zone_s: 0 }
    }
}
