//! Which memory of a task is needed to decode a call, so that an engine can copy it in time.

use super::PATH_MAX;

/// When memory has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePhase {
    /// At the entry of the call.
    Enter,
    /// At the exit of the call.
    Exit,
    /// Both times.
    Both,
}

/// A number of bytes or of elements.  Arguments are given by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureCount {
    /// This many.
    Fixed(u32),
    /// The value of this argument.
    Argument(u8),
    /// The result of the call.
    Result,
    /// The 32-bit number that this argument points to.
    Behind(u8),
}

/// What a pointer argument points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturedData {
    /// A zero-terminated string, of at most [`Capture::TEXT_MAX`] bytes.
    Text,
    /// A null-terminated array of pointers to strings, and the strings (`argv`).
    Texts,
    /// A null-terminated array of pointers, of which only the number is shown (`envp`).
    Pointers,
    /// An array of elements of the same size.
    Bytes {
        /// The number of elements.
        count: CaptureCount,
        /// The bytes of an element.
        size: u32,
    },
    /// Bytes without a structure, shown up to the limit for strings (`-s`).
    Data(CaptureCount),
    /// An array of `struct iovec`, and the data that they point to, at most `total` bytes of it.
    Vectors {
        /// The number of elements.
        count: CaptureCount,
        /// Most bytes that are worth copying; `None`: as many as the vectors say.
        total: Option<CaptureCount>,
    },
    /// A `struct msghdr` (56 bytes), the name and the control data that it points to, and its vectors.
    Message,
    /// An array of `struct mmsghdr` (64 bytes each), and what each message points to.
    Messages {
        /// How many.
        count: CaptureCount,
    },
    /// The 16 bytes that the last argument of `pselect6` points to, and the eight bytes of the
    /// mask.
    Mask,
    /// The four bytes that the pointers at offsets 8 and 24 of a `struct clone_args` point to.
    CloneResults,
}

/// One piece of memory that may be needed to decode a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The argument that points to it.
    pub argument: u8,
    /// When it is copied.
    pub when: CapturePhase,
    /// What it holds.
    pub what: CapturedData,
}

impl Capture {
    /// Most bytes of a string that are ever shown: the longest path.
    pub const TEXT_MAX: usize = PATH_MAX;
}

/// A [`Capture`] of a kind: indices count from the argument that has the kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) when: CapturePhase,
    pub(crate) what: CapturedData,
}

/// Shorthands for the captures of kinds.
pub(crate) mod reads {
    use super::{CaptureCount, CapturePhase, CapturedData, Reads};

    /// A structure of this size.
    pub(crate) const fn fixed(when: CapturePhase, size: u32) -> Reads {
        Reads { when, what: CapturedData::Bytes { count: CaptureCount::Fixed(1), size } }
    }

    /// As many elements as the argument `offset` places further says.
    pub(crate) const fn counted(when: CapturePhase, offset: u8, size: u32) -> Reads {
        Reads { when, what: CapturedData::Bytes { count: CaptureCount::Argument(offset), size } }
    }

    /// As many elements as the result says.
    pub(crate) const fn resulting(size: u32) -> Reads {
        Reads {
            when: CapturePhase::Exit,
            what: CapturedData::Bytes { count: CaptureCount::Result, size },
        }
    }

    /// Bytes without a structure.
    pub(crate) const fn data(when: CapturePhase, length: CaptureCount) -> Reads {
        Reads { when, what: CapturedData::Data(length) }
    }

    /// As many bytes as the number says that the argument `offset` places further points to.
    pub(crate) const fn behind(when: CapturePhase, offset: u8) -> Reads {
        Reads { when, what: CapturedData::Bytes { count: CaptureCount::Behind(offset), size: 1 } }
    }

    /// A zero-terminated string.
    pub(crate) const TEXT: Reads = Reads { when: CapturePhase::Enter, what: CapturedData::Text };
}
