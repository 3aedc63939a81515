//! Changes several places of a file with one system call.
//!
//! `pwrite` changes one place.  An update changes the header and a row of each archive, and a
//! process that is killed between two writes would leave a file that is neither old nor new.
//! Therefore the file is mapped, the new bytes are put into a file in memory, and one `preadv`
//! scatters them into the mapping: the kernel does all of it, or, if a page cannot be had (a full
//! disk under a file with holes), stops and says where.  What was changed by then is put back
//! from a copy that was taken before, by `pwritev`.  That copy also shows the header as it stands in the
//! file, so no other call has to look whether another program has changed it.
//!
//! Only the kernel ever touches the mapped database, so a file that another process truncates is
//! an error of the call and no signal.  The file in memory is mapped too, and nobody else has it:
//! bytes go there and come back without a call.
//!
//! Costs, for an update of a header and two rows: two calls of about 1 µs; the first change of a
//! page since it was written back costs a page fault, as for any way of writing.

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Most ranges that one call changes (`IOV_MAX`).
pub(crate) const RANGES_MAX: usize = 1024;

/// A range of the file and its new bytes, which stand one after the other in one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) offset: u64,
    pub(crate) length: usize,
}

/// What is known of the file before it is changed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KnownFile<'a> {
    Nothing,
    /// The header as it was; another program may have changed it.
    Header(&'a [u8]),
    /// What the first range has in the file now.
    First(&'a [u8]),
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
        with_staging(|_| Ok(()))?;
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

    /// Changes all ranges of the mapped file, or none.  If the header as it was known is given, the
    /// first range ends where the header does; and if the file has another header, nothing is
    /// changed: `false`.
    pub(crate) fn write(
        &self,
        file: &File,
        ranges: &[Range],
        bytes: &[u8],
        known: KnownFile<'_>,
    ) -> io::Result<bool> {
        with_staging(|staging| self.write_by(staging, file, ranges, bytes, known))
    }

    fn write_by(
        &self,
        staging: &mut Staging,
        file: &File,
        ranges: &[Range],
        bytes: &[u8],
        known: KnownFile<'_>,
    ) -> io::Result<bool> {
        let vectors = self.vectors(ranges, bytes.len())?;
        let Some(range) = ranges.first() else { return Ok(true) };
        // The copy of the old bytes takes the whole header, if that has to be looked at.
        let header_bytes = if let KnownFile::Header(header) = known { header.len() } else { 0 };
        let before = header_bytes.saturating_sub(range.length);
        if before > 0 && range.offset != before as u64 {
            return Err(invalid());
        }
        let old = bytes.len().next_multiple_of(STAGING_ALIGNMENT);
        staging.reserve(old + before + bytes.len())?;
        match known {
            KnownFile::Header(header) => {
                self.copy_mapped(staging, &vectors, [old, before, bytes.len()])?;
                if !staging.holds(old, header) {
                    return Ok(false);
                }
            }
            KnownFile::First(first) if first.len() == range.length => {
                staging.fill(old, first.len(), |place| {
                    place.copy_from_slice(first);
                    Ok(())
                })?;
                copy_read(file, staging, &ranges[1..], old + first.len())?;
            }
            KnownFile::First(_) | KnownFile::Nothing => copy_read(file, staging, ranges, old)?,
        }
        staging.put(bytes);
        let done = self.scatter(staging, &vectors, 0);
        match done {
            Ok(done) if done == bytes.len() => Ok(true),
            Ok(0) | Err(_) => Err(done.err().unwrap_or_else(no_page)),
            Ok(done) => {
                // Those pages were just written, so they are there.
                let _ = self.scatter(staging, &cut(vectors, done), (old + before) as i64);
                Err(no_page())
            }
        }
    }

    /// Copies the old bytes of the ranges, and `before` bytes before the first one, to an offset of
    /// the staging file, through the mapping: one call, quick for pages that were used before.
    fn copy_mapped(
        &self,
        staging: &Staging,
        vectors: &[libc::iovec],
        [old, before, total]: [usize; 3],
    ) -> io::Result<()> {
        let mut vectors = vectors.to_vec();
        if let Some(first) = vectors.first_mut().filter(|_| before > 0) {
            *first = libc::iovec { iov_base: self.address, iov_len: before + first.iov_len };
        }
        // SAFETY: the vectors lie within the mapping, which lives as long as `self`; the kernel
        // answers EFAULT where a page is not there.
        let kept = unsafe {
            libc::pwritev(staging.file(), vectors.as_ptr(), vectors.len() as i32, old as i64)
        };
        let kept = usize::try_from(kept).map_err(|_| io::Error::last_os_error())?;
        match kept == before + total {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }

    /// Puts bytes of the staging file into the ranges; the number of bytes put there.
    fn scatter(
        &self,
        staging: &Staging,
        vectors: &[libc::iovec],
        offset: i64,
    ) -> io::Result<usize> {
        // SAFETY: as in `write_by`; no reference to the mapped memory exists that this changes
        // behind.
        let done =
            unsafe { libc::preadv(staging.file(), vectors.as_ptr(), vectors.len() as i32, offset) };
        usize::try_from(done).map_err(|_| io::Error::last_os_error())
    }

    fn vectors(&self, ranges: &[Range], total: usize) -> io::Result<Vec<libc::iovec>> {
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
    static STAGING: RefCell<Option<Staging>> = const { RefCell::new(None) };
}

/// A file in memory, mapped.
#[derive(Debug)]
struct Staging {
    file: OwnedFd,
    address: *mut core::ffi::c_void,
    length: usize,
}

/// Bytes of the staging file at first: enough for nearly all updates.
const STAGING_BYTES: usize = 64 << 10;

/// The old bytes begin at a multiple of this.
const STAGING_ALIGNMENT: usize = 64;

impl Staging {
    fn new() -> io::Result<Self> {
        let file = memfd_create("rrd-update", MemfdFlags::CLOEXEC)?;
        let address = map_staging(&file, STAGING_BYTES)?;
        Ok(Self { file, address, length: STAGING_BYTES })
    }

    fn file(&self) -> i32 {
        self.file.as_raw_fd()
    }

    /// Makes room for some bytes.
    fn reserve(&mut self, bytes: usize) -> io::Result<()> {
        if bytes > self.length {
            let length = bytes.checked_next_power_of_two().ok_or_else(invalid)?;
            let address = map_staging(&self.file, length)?;
            self.unmap();
            (self.address, self.length) = (address, length);
        }
        Ok(())
    }

    /// Fills a range with what a reader gives.
    fn fill(
        &mut self,
        offset: usize,
        length: usize,
        read: impl FnOnce(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        if offset.saturating_add(length) > self.length {
            return Err(invalid());
        }
        let start = self.address.wrapping_byte_add(offset).cast::<u8>();
        // SAFETY: the range is mapped and initialised, and nobody else refers to it: only this
        // thread has the file, and `self` is borrowed alone.
        read(unsafe { std::slice::from_raw_parts_mut(start, length) })
    }

    /// Puts bytes at the beginning, for which there is room.
    fn put(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(self.length);
        // SAFETY: so many bytes are mapped, of a file that only this structure has, and no
        // reference to them exists.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address.cast(), length) };
    }

    /// Whether bytes stand at an offset.
    fn holds(&self, offset: usize, bytes: &[u8]) -> bool {
        if offset.saturating_add(bytes.len()) > self.length {
            return false;
        }
        let start = self.address.wrapping_byte_add(offset).cast::<u8>();
        // SAFETY: the range is mapped and initialised, and nothing changes it meanwhile: only this
        // thread has the file.
        let found = unsafe { std::slice::from_raw_parts(start, bytes.len()) };
        found == bytes
    }

    fn unmap(&self) {
        // SAFETY: this is the mapping that `map_staging` made, and nothing refers to it.
        let _ = unsafe { munmap(self.address, self.length) };
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// Copies the old bytes of ranges to an offset of the staging file, by a `pread` each: quicker than
/// a fault for pages of a mapping that were not used before.
fn copy_read(
    file: &File,
    staging: &mut Staging,
    ranges: &[Range],
    mut offset: usize,
) -> io::Result<()> {
    for range in ranges {
        let read = |bytes: &mut [u8]| file.read_exact_at(bytes, range.offset);
        staging.fill(offset, range.length, read)?;
        offset += range.length;
    }
    Ok(())
}

fn map_staging(file: &OwnedFd, length: usize) -> io::Result<*mut core::ffi::c_void> {
    ftruncate(file, length as u64)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
    let address =
        unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0)? };
    Ok(address)
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

/// Uses the staging file of this thread, which is made at its first use.
fn with_staging<T>(use_it: impl FnOnce(&mut Staging) -> io::Result<T>) -> io::Result<T> {
    STAGING.with_borrow_mut(|slot| match slot {
        Some(staging) => use_it(staging),
        None => use_it(slot.insert(Staging::new()?)),
    })
}

/// What a write fault that the file system refused means, nearly always.
fn no_page() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOSPC)
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
