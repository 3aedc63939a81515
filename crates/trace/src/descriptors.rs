//! What file descriptors point to, and the interface by which that is looked up.

/// What a descriptor points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptorTarget {
    /// `/etc/passwd`, `socket:[4711]`, `TCP:[127.0.0.1:80->127.0.0.1:5000]`.
    pub path: Vec<u8>,
    /// What `-yy` adds: `char 1:3`.
    pub details: Option<String>,
}

/// A netlink socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetlinkSocket {
    /// Its protocol (`NETLINK_ROUTE`, …); `None` if it is not bound yet, as then `strace` does not
    /// know it.
    pub protocol: Option<u32>,
}

/// Looks up what descriptors point to.
pub trait Descriptors {
    /// What a descriptor of a process points to; for [`AT_FDCWD`](libc::AT_FDCWD) the working
    /// directory.  With `details`, as `-yy` shows it.
    fn target(&self, process: i32, descriptor: i32, details: bool) -> Option<DescriptorTarget>;

    /// The name of a task, while it exists.
    fn command(&self, _task: i32) -> Option<Vec<u8>> {
        None
    }

    /// The netlink socket that a descriptor of a process is now.
    fn netlink(&self, _process: i32, _descriptor: i32) -> Option<NetlinkSocket> {
        None
    }

    /// Whether a lookup shows the state at the event, because the task is stopped.
    fn is_exact(&self) -> bool;
}

/// Looks nothing up.
impl Descriptors for () {
    fn target(&self, _process: i32, _descriptor: i32, _details: bool) -> Option<DescriptorTarget> {
        None
    }

    fn is_exact(&self) -> bool {
        false
    }
}
