//! What reading the kernel's files costs: two counts that only grow, kept by the host.

/// What reading has cost since the host was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// System calls made: open, pread, close, getdents.
    pub calls: u64,
    /// Bytes of kernel text read.
    pub bytes: u64,
}
