//! Files of the writer: made under another name, filled, mapped, renamed; without room, a `memfd`.
//!
//! `fallocate` takes the pages at once, so that a full tmpfs is an error here and not a signal at a
//! store; `MAP_POPULATE` maps them at once, so that no store waits for one.  A ring that takes the place of a
//! smaller one is mapped piece by piece, ahead of its records: see [`map_pages`].  Of a ring's second mapping,
//! into which only the end of a record runs, it is the first page.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::abi::{PAGE, VERSION, doorbell, ring};

/// An open file, by its descriptor; closed by [`close`] only.
pub(super) type Descriptor = i32;

/// A mapping, or what the kernel said.
fn mapped(address: *mut libc::c_void) -> io::Result<*mut u8> {
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(address.cast())
}

fn checked(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Closes a descriptor; a negative one is none.
pub(super) fn close(file: Descriptor) {
    if file >= 0 {
        // SAFETY: descriptors are kept in one place each.
        unsafe { libc::close(file) };
    }
}

/// Makes the directory, if it is not there; it must be this user's, and nobody else may write in it.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    let refused = crate::folder::make(path)?;
    let denied = |one: crate::folder::RefusedFolder| {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, one.why))
    };
    refused.map_or(Ok(()), denied)
}

/// A name for the kernel.
pub(super) fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Makes a file of its own, `length` bytes of which are really there.
pub(super) fn make(path: &CStr, length: u64) -> io::Result<Descriptor> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the name ends with NUL.
    let file = checked(unsafe { libc::open(path.as_ptr(), flags, 0o600) })?;
    allocate(file, 0, length).inspect_err(|_| {
        close(file);
        remove(path);
    })?;
    Ok(file)
}

/// Makes a file without a name.
pub(super) fn make_unnamed(length: u64) -> io::Result<Descriptor> {
    // SAFETY: the name ends with NUL.
    let file = checked(unsafe { libc::memfd_create(c"whit-log".as_ptr(), libc::MFD_CLOEXEC) })?;
    allocate(file, 0, length).inspect_err(|_| close(file))?;
    Ok(file)
}

/// Takes pages for a part of a file.
pub(super) fn allocate(file: Descriptor, from: u64, length: u64) -> io::Result<()> {
    loop {
        // SAFETY: numbers only.
        let result = unsafe { libc::fallocate(file, 0, from.cast_signed(), length.cast_signed()) };
        match checked(result) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

pub(super) fn remove(path: &CStr) {
    // SAFETY: the name ends with NUL.
    unsafe { libc::unlink(path.as_ptr()) };
}

/// Gives a file its name, if no other has it.
pub(super) fn rename_new(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: both names end with NUL.
    let result = unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            from.as_ptr(),
            libc::AT_FDCWD,
            to.as_ptr(),
            libc::RENAME_NOREPLACE,
        )
    };
    checked(result).map(|_| ())
}

/// Maps the beginning of a file, `length` bytes, of which not all need be there: at an address, or
/// where the kernel chooses.
pub(super) fn map(file: Descriptor, length: usize, at: *mut u8) -> io::Result<*mut u8> {
    let fixed = if at.is_null() { 0 } else { libc::MAP_FIXED };
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: either a new mapping, or one in place of a mapping of ours of the same length.
    mapped(unsafe { libc::mmap(at.cast(), length, protection, libc::MAP_SHARED | fixed, file, 0) })
}

/// Zeroed private memory.
pub(super) fn map_private(length: usize) -> io::Result<*mut u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping replaces nothing.
    mapped(unsafe { libc::mmap(std::ptr::null_mut(), length, protection, flags, -1, 0) })
}

/// Zeroed private memory that is zero again in a child of `fork`.
pub(super) fn map_wiped_on_fork(length: usize) -> io::Result<*mut u8> {
    let memory = map_private(length)?;
    // SAFETY: the mapping is ours.
    checked(unsafe { libc::madvise(memory.cast(), length, libc::MADV_WIPEONFORK) })?;
    Ok(memory)
}

/// Maps pages of a ring in advance.  Where the kernel cannot (`MADV_POPULATE_WRITE` came with 5.14), each
/// of them is mapped when a record is first stored in it.
pub(super) fn map_pages(place: *mut u8, length: usize) {
    // SAFETY: the pages are of a mapping of ours, and keep what is in them.
    unsafe { libc::madvise(place.cast(), length, libc::MADV_POPULATE_WRITE) };
}

/// Maps a ring: its header, its data, and its data again; with the pages of so many bytes of the data.  A
/// child of `fork` does not have it.
pub(super) fn map_ring(file: Descriptor, capacity: u64, ahead: u64) -> io::Result<*mut u8> {
    let length = usize::try_from(capacity).map_err(io::Error::other)?;
    let (header, protection) = (ring::DATA, libc::PROT_READ | libc::PROT_WRITE);
    let whole = header + 2 * length;
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    let base = map_private(whole)?;
    // SAFETY: both replace parts of the mapping that was just made; header and data are multiples
    // of the page size.
    let parts = unsafe {
        let now = if ahead < capacity { flags } else { flags | libc::MAP_POPULATE };
        let one = libc::mmap(base.cast(), header + length, protection, now, file, 0);
        let second = base.add(header + length).cast();
        let other = libc::mmap(second, length, protection, flags, file, header as i64);
        mapped(one).and(mapped(other))
    };
    let second = parts.inspect_err(|_| unmap(base, whole))?;
    if ahead < capacity {
        map_pages(base, header + usize::try_from(ahead).map_err(io::Error::other)?);
    }
    // SAFETY: the page was just mapped and belongs to a file that is really there; the ring is new, so zero is
    // what it holds.
    unsafe { second.cast::<u64>().write_volatile(0) };
    // SAFETY: the mapping is ours.
    unsafe { libc::madvise(base.cast(), whole, libc::MADV_DONTFORK) };
    Ok(base)
}

/// Unmaps a ring.
pub(super) fn unmap_ring(base: *mut u8, capacity: u64) {
    unmap(base, ring::DATA + 2 * usize::try_from(capacity).unwrap_or(0));
}

fn unmap(base: *mut u8, length: usize) {
    // SAFETY: nothing refers to the mapping any more.
    unsafe { libc::munmap(base.cast(), length) };
}

/// The page of a directory's doorbell, which this makes if there is none.
pub(super) fn map_doorbell(directory: &Path) -> io::Result<*mut u8> {
    let path = c_path(&directory.join("doorbell"))?;
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the name ends with NUL.
    let file = checked(unsafe { libc::open(path.as_ptr(), flags, 0o600) })?;
    let page = allocate(file, 0, PAGE as u64).and_then(|()| map(file, PAGE, std::ptr::null_mut()));
    close(file);
    let page = page?;
    // SAFETY: the word is in the page, and aligned.
    let versions = unsafe { &*page.add(doorbell::VERSIONS).cast::<AtomicU32>() };
    let versions = u32::from_le(versions.load(Ordering::Relaxed));
    let (oldest, newest) = (versions & 0xFFFF, versions >> 16);
    if newest != 0 && !(oldest..=newest).contains(&VERSION) {
        let why = format!(
            "its reader reads versions {oldest} to {newest} of rings, this program writes {VERSION}"
        );
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    Ok(page)
}
