//! Which memory of a task is copied for a system call, in the form that the program takes.

use aya::Pod;

/// Most captures of one call: `CAPTURES_MAX` of the program.
pub const CAPTURES_MAX: usize = 8;
/// Most bytes of one piece: `PIECE_BYTES` of the program.
pub const PIECE_BYTES: u32 = 32768;

/// A number of elements or bytes: `struct extent` of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaptureLength {
    /// Capture as many as there are.
    #[default]
    All,
    /// This many.
    Fixed(u16),
    /// The value of this argument.
    Argument(u8),
    /// The result of the call.
    Result,
    /// The 32-bit number that this argument points to.
    Behind(u8),
}

/// What is copied: `enum copied` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureKind {
    /// A zero-terminated string.
    Text = 1,
    /// A null-terminated array of pointers to strings.
    Texts,
    /// A null-terminated array of pointers.
    Pointers,
    /// `count` elements of `size` bytes.
    Bytes,
    /// An array of `struct iovec`, and the memory that it points to.
    Vectors,
    /// A `struct msghdr`, and the memory that it points to.
    Message,
    /// An array of `struct mmsghdr`, and the memory that it points to.
    Messages,
    /// The 16 bytes that the last argument of `pselect6` points to, and the mask behind them.
    Mask,
    /// The memory that a `struct clone_args` points to.
    CloneResults,
}

/// One piece of memory that is copied for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCapture {
    /// The index of the argument that points to it.
    pub argument: u8,
    /// Copy it at the entry of the call.
    pub at_enter: bool,
    /// Copy it at the exit of the call.
    pub at_exit: bool,
    /// What the memory holds.
    pub shape: CaptureKind,
    /// How many elements.
    pub count: CaptureLength,
    /// Most bytes that are copied behind vectors.
    pub total: CaptureLength,
    /// Bytes of an element.
    pub size: u32,
    /// Most bytes that are copied.
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
            let is_overwritten = capture.at_enter && capture.at_exit;
            plan.when |= u32::from(raw.when) | u32::from(is_overwritten) << 2;
            plan.count += 1;
        }
        plan
    }
}
