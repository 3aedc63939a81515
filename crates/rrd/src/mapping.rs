//! Changes several places of a file with one system call.
//!
//! `pwrite` changes one place.  An update changes the header and a row of each archive, and a
//! process that is killed between two writes would leave a file that is neither old nor new.
//! Therefore the file is mapped, the new bytes are put into a file in memory, and one `preadv`
//! scatters them into the mapping: the kernel does all of it, or, if a page cannot be had (a full
//! disk under a file with holes), stops and says where.  What was changed by then is put back
//! from a copy that `pwritev` took before.
//!
//! Only the kernel ever touches the mapped memory, so a file that another process truncates is an
//! error of the call and no signal.
//!
//! Costs, for an update of a header and two rows: three calls of about 0.7 µs; the first change of
//! a page since it was written back costs a page fault, as for any way of writing.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Most ranges that one call changes (`IOV_MAX`).
pub(crate) const RANGES_MAX: usize = 1024;

/// A range of the file and its new bytes, which stand one after the other in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

/// A file mapped as a whole.
#[derive(Debug)]
pub(crate) struct Mapping {
    address: *mut core::ffi::c_void,
    length: usize,
}

// SAFETY: the address is only given to system calls; the mapping is shared by nobody.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps a file.  Fails on a file system that does not map files, and where there is no file in
    /// memory for what is to be written.
    pub(crate) fn of(file: &File, file_bytes: u64) -> io::Result<Self> {
        STAGING.with(|staging| made(staging).map(drop))?;
        let length = usize::try_from(file_bytes).map_err(io::Error::other)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory,
        // and no reference to it is ever made.
        let address = unsafe {
            mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file.as_fd(), 0)?
        };
        Ok(Self { address, length })
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.length as u64
    }

    /// Changes all ranges, or none.
    pub(crate) fn write(&self, ranges: &[Range], bytes: &[u8]) -> io::Result<()> {
        STAGING.with(|staging| self.write_by(made(staging)?, ranges, bytes))
    }

    fn write_by(&self, staging: &OwnedFd, ranges: &[Range], bytes: &[u8]) -> io::Result<()> {
        let vectors = self.vectors(ranges, bytes.len())?;
        let old = bytes.len().next_multiple_of(4096) as i64;
        // SAFETY: the vectors lie within the mapping, which lives as long as `self`; the kernel
        // answers EFAULT where a page is not there.
        let kept = unsafe {
            libc::pwritev(staging.as_raw_fd(), vectors.as_ptr(), vectors.len() as i32, old)
        };
        let kept = usize::try_from(kept).map_err(|_| io::Error::last_os_error())?;
        if kept != bytes.len() {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        write_all_at(staging, bytes)?;
        let done = self.scatter(staging, &vectors, 0);
        match done {
            Ok(done) if done == bytes.len() => Ok(()),
            Ok(0) | Err(_) => Err(done.err().unwrap_or_else(no_page)),
            Ok(done) => {
                // Those pages were just written, so they are there.
                let _ = self.scatter(staging, &cut(vectors, done), old);
                Err(no_page())
            }
        }
    }

    /// Puts bytes of the staging file into the ranges; the number of bytes put there.
    fn scatter(
        &self,
        staging: &OwnedFd,
        vectors: &[libc::iovec],
        offset: i64,
    ) -> io::Result<usize> {
        // SAFETY: as in `write_by`; no reference to the mapped memory exists that this changes
        // behind.
        let done = unsafe {
            libc::preadv(staging.as_raw_fd(), vectors.as_ptr(), vectors.len() as i32, offset)
        };
        usize::try_from(done).map_err(|_| io::Error::last_os_error())
    }

    fn vectors(&self, ranges: &[Range], total: usize) -> io::Result<Vec<libc::iovec>> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let sum: usize = ranges.iter().map(|range| range.length).sum();
        if sum != total || ranges.len() > RANGES_MAX {
            return Err(invalid());
        }
        let vector = |range: &Range| {
            let offset = usize::try_from(range.offset).ok()?;
            let end = offset.checked_add(range.length)?;
            (end <= self.length).then(|| libc::iovec {
                iov_base: self.address.wrapping_byte_add(offset),
                iov_len: range.length,
            })
        };
        ranges.iter().map(|range| vector(range).ok_or_else(invalid)).collect()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is the mapping that `of` made, and nothing refers to it.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}

thread_local! {
    /// The file in memory that new and old bytes pass through: one for each thread.
    static STAGING: OnceCell<OwnedFd> = const { OnceCell::new() };
}

/// The staging file of this thread, made at its first use.
fn made(staging: &OnceCell<OwnedFd>) -> io::Result<&OwnedFd> {
    match staging.get() {
        Some(staging) => Ok(staging),
        None => {
            let made = memfd_create("rrd-update", MemfdFlags::CLOEXEC)?;
            Ok(staging.get_or_init(|| made))
        }
    }
}

/// What a write fault that the file system refused means, nearly always.
fn no_page() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
}

fn write_all_at(staging: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let count = rustix::io::pwrite(staging, &bytes[done..], done as u64)?;
        done += count.max(1);
    }
    Ok(())
}

/// The first bytes of the vectors.
fn cut(mut vectors: Vec<libc::iovec>, mut bytes: usize) -> Vec<libc::iovec> {
    vectors.retain_mut(|vector| {
        vector.iov_len = vector.iov_len.min(bytes);
        bytes -= vector.iov_len;
        vector.iov_len > 0
    });
    vectors
}
