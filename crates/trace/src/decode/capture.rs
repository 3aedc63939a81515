//! Which memory of a task a call's line needs, so that an engine may copy it beforehand.

use super::PATH_MAX;

/// When memory has to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturePhase {
    /// As the call begins.
    Enter,
    /// As it ends.
    Exit,
    /// Both times.
    Both,
}

/// A number of bytes or of elements.  Other arguments are named by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureCount {
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
pub enum CapturedData {
    /// A text that a zero ends, of at most [`Capture::TEXT_MAX`] bytes.
    Text,
    /// An array of pointers to texts that a null pointer ends, and the texts (`argv`).
    Texts,
    /// An array of pointers that a null pointer ends, of which only the number counts (`envp`).
    Pointers,
    /// So many elements of so many bytes.
    Bytes {
        /// How many elements.
        count: CaptureCount,
        /// The bytes of each.
        size: u32,
    },
    /// So many bytes without a form, of which only as many are shown as of a text (`-s`).
    Data(CaptureCount),
    /// An array of `struct iovec` with so many elements, and what they point to: at most as many
    /// bytes in all as `total` says.
    Vectors {
        /// How many elements.
        count: CaptureCount,
        /// StructBytes in all that are worth copying; `None`: all that the elements tell of.
        total: Option<CaptureCount>,
    },
    /// A `struct msghdr` (56 bytes), the name and the control data that it points to, and its vectors.
    Message,
    /// So many `struct mmsghdr` (64 bytes each), and what each message points to.
    Messages {
        /// How many.
        count: CaptureCount,
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
    pub when: CapturePhase,
    /// What.
    pub what: CapturedData,
}

impl Capture {
    /// StructBytes of a text that are ever shown: the longest path.
    pub const TEXT_MAX: usize = PATH_MAX;
}

/// A [`Capture`] before it is known which argument has the kind: indices count from that argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reads {
    pub(crate) when: CapturePhase,
    pub(crate) what: CapturedData,
}

/// Shorthands for tables of kinds: what a kind reads.
pub(crate) mod reads {
    use super::{CaptureCount, CapturePhase, CapturedData, Reads};

    /// So many bytes.
    pub(crate) const fn fixed(when: CapturePhase, size: u32) -> Reads {
        Reads { when, what: CapturedData::Bytes { count: CaptureCount::Fixed(1), size } }
    }

    /// As many elements as another argument says, counted from this one.
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

    /// As many bytes without a form as that.
    pub(crate) const fn data(when: CapturePhase, length: CaptureCount) -> Reads {
        Reads { when, what: CapturedData::Data(length) }
    }

    /// As many bytes as the number says that another argument points to.
    pub(crate) const fn behind(when: CapturePhase, offset: u8) -> Reads {
        Reads { when, what: CapturedData::Bytes { count: CaptureCount::Behind(offset), size: 1 } }
    }

    /// A text.
    pub(crate) const TEXT: Reads = Reads { when: CapturePhase::Enter, what: CapturedData::Text };
}
