//! What is to be copied of a task's memory for a call, as the program takes it.

use aya::Pod;

/// Captures of one call: `CAPTURES_MAX` of the program.
pub const CAPTURES_MAX: usize = 8;
/// The longest piece: `PIECE_BYTES` of the program.
pub const PIECE_BYTES: u32 = 32768;

/// How much: `struct extent` of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureLength {
    /// All that there is.
    #[default]
    All,
    /// So many.
    Fixed(u16),
    /// What this argument says.
    Argument(u8),
    /// What the call gives.
    Result,
    /// The 32-bit number behind this argument.
    Behind(u8),
}

/// What is copied: `enum copied` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureKind {
    /// A text that a zero ends.
    Text = 1,
    /// An array of pointers to texts.
    Texts,
    /// An array of pointers that a null pointer ends.
    Pointers,
    /// So many elements of so many bytes.
    Bytes,
    /// `struct iovec`, and what they point to.
    Vectors,
    /// `struct msghdr`, and what it points to.
    Message,
    /// So many `struct mmsghdr`.
    Messages,
    /// The sixteen bytes and the mask of `pselect6`.
    Mask,
    /// What `struct clone_args` points to.
    CloneResults,
}

/// One thing to copy for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCapture {
    /// The argument that points to it.
    pub argument: u8,
    /// As the call begins.
    pub at_enter: bool,
    /// As it ends.
    pub at_exit: bool,
    /// What.
    pub shape: CaptureKind,
    /// How many elements.
    pub count: CaptureLength,
    /// Bytes in all, of vectors.
    pub total: CaptureLength,
    /// Bytes of an element.
    pub size: u32,
    /// Never more bytes than these.
    pub bytes_max: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawLength {
    kind: u8,
    index: u8,
    fixed: u16,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawCapture {
    argument: u8,
    when: u8,
    kind: u8,
    unused: u8,
    count: RawLength,
    total: RawLength,
    size: u32,
    bytes_max: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct RawCaptures {
    count: u32,
    when: u32,
    captures: [RawCapture; CAPTURES_MAX],
}

// SAFETY: integers and arrays of them, laid out by C without padding.
unsafe impl Pod for RawCaptures {}

impl RawLength {
    fn of(extent: CaptureLength) -> Self {
        let (kind, index, fixed) = match extent {
            CaptureLength::All => (0, 0, 0),
            CaptureLength::Fixed(fixed) => (1, 0, fixed),
            CaptureLength::Argument(index) => (2, index, 0),
            CaptureLength::Result => (3, 0, 0),
            CaptureLength::Behind(index) => (4, index, 0),
        };
        RawLength { kind, index, fixed }
    }
}

impl RawCaptures {
    pub(crate) fn of(captures: &[MemoryCapture]) -> Self {
        let mut plan = RawCaptures::default();
        for (raw, capture) in plan.captures.iter_mut().zip(captures) {
            *raw = RawCapture {
                argument: capture.argument,
                when: u8::from(capture.at_enter) | u8::from(capture.at_exit) << 1,
                kind: capture.shape as u8,
                unused: 0,
                count: RawLength::of(capture.count),
                total: RawLength::of(capture.total),
                size: capture.size,
                bytes_max: capture.bytes_max.min(PIECE_BYTES),
            };
            plan.when |= u32::from(raw.when);
            plan.count += 1;
        }
        plan
    }
}
