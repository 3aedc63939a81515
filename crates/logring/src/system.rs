//! The few system calls that `std` lacks: locks of bytes of a file, futexes, mappings.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt as _;

/// Byte of a process file that its writer locks for as long as it lives.
pub(crate) const LOCK_WRITER: i64 = 0;
/// Byte of a process file that its consumer locks.
pub(crate) const LOCK_CONSUMER: i64 = 1;

/// Asks the scheduler not to stop another thread when this one, or one that it makes from now on,
/// wakes (`SCHED_BATCH`): what reads records gets its part of the processors, but waits for its turn
/// while those that write them run.  Nothing changes where the system refuses.
pub fn wake_without_preempting() {
    // SAFETY: an integer, of which 0 is the only value for this policy.
    let parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &parameters) };
}

fn lock_of(byte: i64) -> libc::flock {
    // SAFETY: all fields are integers, of which 0 is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    #[allow(clippy::cast_possible_truncation, reason = "both are small constants")]
    {
        lock.l_type = libc::F_WRLCK as i16;
        lock.l_whence = libc::SEEK_SET as i16;
    }
    lock.l_start = byte;
    lock.l_len = 1;
    lock
}

/// Locks a byte for this open file; `false`: another has it.
pub(crate) fn try_lock(file: &File, byte: i64) -> io::Result<bool> {
    let lock = lock_of(byte);
    // SAFETY: the descriptor is open, and the structure outlives the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) };
    if result == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

/// Whether another open file has a byte locked.
pub(crate) fn is_locked(file: &impl AsRawFd, byte: i64) -> io::Result<bool> {
    let mut lock = lock_of(byte);
    // SAFETY: the descriptor is open, and the structure outlives the call.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(i32::from(lock.l_type) != libc::F_UNLCK)
}

/// A mapping of one page of a file that is never touched: only the kernel looks at it, so a file
/// that is cut does no harm.  A shared futex is found by the page that its address leads to.
#[derive(Debug)]
pub(crate) struct FutexPage {
    address: *mut libc::c_void,
}

// SAFETY: the address is only passed to the kernel.
unsafe impl Send for FutexPage {}
// SAFETY: as above.
unsafe impl Sync for FutexPage {}

impl FutexPage {
    /// Maps the page of a file at an offset that is a multiple of the page size.
    pub(crate) fn map(file: &File, offset: i64, is_writable: bool) -> io::Result<Self> {
        let protection = libc::PROT_READ | if is_writable { libc::PROT_WRITE } else { 0 };
        let length = crate::abi::PAGE;
        // SAFETY: a new mapping at an address that the kernel chooses replaces nothing.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                protection,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(FutexPage { address })
    }

    /// Wakes all that wait on the word at an offset of the page.
    pub(crate) fn wake(&self, offset: usize) {
        // SAFETY: the kernel checks the address; it is not read here.
        unsafe {
            let word = self.address.cast::<u8>().add(offset);
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX);
        }
    }

    /// Waits until the word at an offset is woken, unless it is not `value`, for `timeout_ns` at most.
    pub(crate) fn wait(&self, offset: usize, value: u32, timeout_ns: u64) {
        let timeout = timespec(timeout_ns);
        // SAFETY: the kernel checks the address; the time-out outlives the call.
        unsafe {
            let word = self.address.cast::<u8>().add(offset);
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, value, &timeout);
        }
    }
}

impl Drop for FutexPage {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.address, crate::abi::PAGE) };
    }
}

/// A time span for the kernel.
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (ns / 1_000_000_000).cast_signed(),
        tv_nsec: (ns % 1_000_000_000).cast_signed(),
    }
}

/// Fills a buffer from an offset, as far as the file reaches; gives how many bytes that were.
pub(crate) fn read_upto(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
