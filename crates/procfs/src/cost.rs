//! The cost of reading kernel files: two counters that a host keeps.

/// The cost of all reading since the host was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// System calls: open, pread, close, getdents.
    pub calls: u64,
    /// Bytes of kernel text read.
    pub bytes: u64,
}
