//! The header of a file as the structures of `rrd_format.h`, and the bytes of a file.
//!
//! rrdcached looks at `live_head->last_up` this way.  A file is read, and with a flag changed; a new
//! one is not made here.

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::mem;
use std::ptr;

use rrd::{Access, Locking, X86_64};

use crate::call::{Failed, guard, path, status};
use crate::memory;

/// `rrd_t`: pointers into one block, the header of the file.
#[repr(C)]
pub struct Rrd {
    stat_head: *mut c_void,
    ds_def: *mut c_void,
    rra_def: *mut c_void,
    live_head: *mut c_void,
    legacy_last_up: *mut c_void,
    pdp_prep: *mut c_void,
    cdp_prep: *mut c_void,
    rra_ptr: *mut c_void,
    rrd_value: *mut c_void,
    /// The block; null if the others are blocks of their own.
    block: *mut c_void,
    block_bytes: c_long,
}

/// `rrd_file_t`.
#[repr(C)]
pub struct RrdFile {
    header_len: usize,
    file_len: usize,
    pos: usize,
    /// The open file.
    private: *mut File,
    rrd: *mut Rrd,
}

/// Flags of [`rrd_open`].
mod flag {
    pub(super) const READ_WRITE: u32 = 1 << 1;
    pub(super) const CREATE: u32 = 1 << 2;
    pub(super) const EXCLUSIVE: u32 = 1 << 5;
}

/// Bytes of the structures.
mod bytes {
    pub(super) const STAT_HEAD: usize = 128;
    pub(super) const DS_DEF: usize = 120;
    pub(super) const RRA_DEF: usize = 120;
    pub(super) const LIVE_HEAD: usize = 16;
    pub(super) const LEGACY_LAST_UP: usize = 8;
    pub(super) const PDP_PREP: usize = 112;
    pub(super) const CDP_PREP: usize = 80;
}

/// Empties a header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_init(rrd: *mut Rrd) {
    if !rrd.is_null() {
        // SAFETY: the caller gives a place for a header; zeros are null pointers.
        unsafe { rrd.write(mem::zeroed()) };
    }
}

/// Frees what a header points at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_free(rrd: *mut Rrd) {
    if rrd.is_null() {
        return;
    }
    // SAFETY: the caller gives a header that `rrd_open` has filled, or whose parts are of `malloc`
    // or null.
    unsafe {
        let header = rrd.read();
        if header.block.is_null() {
            let parts = [
                header.stat_head,
                header.ds_def,
                header.rra_def,
                header.live_head,
                header.legacy_last_up,
                header.pdp_prep,
                header.cdp_prep,
                header.rra_ptr,
                header.rrd_value,
            ];
            parts.into_iter().for_each(|part| memory::free(part));
        } else {
            memory::free(header.block);
        }
        rrd_init(rrd);
    }
}

/// Opens a file and fills in its header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_open(
    filename: *const c_char,
    rrd: *mut Rrd,
    flags: c_uint,
) -> *mut RrdFile {
    guard(ptr::null_mut(), || {
        if flags & (flag::CREATE | flag::EXCLUSIVE) != 0 {
            return Err(Failed("librrd: rrd_open makes no files: use rrd_create_r".to_owned()));
        }
        if rrd.is_null() {
            return Err(Failed("librrd: a header is missing (NULL)".to_owned()));
        }
        // SAFETY: the caller gives a text or null.
        let path = unsafe { path(filename) }?;
        let writes = flags & flag::READ_WRITE != 0;
        let access = if writes { Access::Write(Locking::None) } else { Access::Read };
        let opened = rrd::File::open(&path, access)?;
        if opened.layout() != X86_64 {
            return Err(rrd::Error::Architecture.into());
        }
        let failed = |error: std::io::Error| {
            Failed(format!("opening '{}': {}", path.display(), rrd::reason(&error)))
        };
        let header_len = opened.header_bytes() as usize;
        let mut file = OpenOptions::new().read(true).write(writes).open(&path).map_err(failed)?;
        let mut header = vec![0; header_len + bytes::LIVE_HEAD];
        file.read_exact(&mut header[..header_len]).map_err(failed)?;
        let known = opened.header();
        let counts = (known.sources.len(), known.archives.len());
        // SAFETY: the caller gives a place for a header.
        unsafe { fill(rrd, &header, counts, known.version < 3) };
        let open = RrdFile {
            header_len,
            file_len: opened.file_bytes() as usize,
            pos: header_len,
            private: Box::into_raw(Box::new(file)),
            rrd,
        };
        Ok(Box::into_raw(Box::new(open)))
    })
}

/// Copies a header into a block, and points at its parts.  `header` has room for a live head at its
/// end.
///
/// # Safety
/// `rrd` may be written.
unsafe fn fill(rrd: *mut Rrd, header: &[u8], (sources, archives): (usize, usize), is_legacy: bool) {
    let block = memory::array(header).cast::<u8>();
    let mut offset = 0;
    let mut next = |size: usize| {
        // SAFETY: the header has been checked: its parts, in this order, are within it.
        let part = unsafe { block.add(offset) }.cast::<c_void>();
        offset += size;
        part
    };
    let stat_head = next(bytes::STAT_HEAD);
    let ds_def = next(bytes::DS_DEF * sources);
    let rra_def = next(bytes::RRA_DEF * archives);
    let live_bytes = if is_legacy { bytes::LEGACY_LAST_UP } else { bytes::LIVE_HEAD };
    let last_up = next(live_bytes);
    let pdp_prep = next(bytes::PDP_PREP * sources);
    let cdp_prep = next(bytes::CDP_PREP * sources * archives);
    let rra_ptr = next(size_of::<u64>() * archives);
    let (live_head, legacy_last_up) = match is_legacy {
        false => (last_up, ptr::null_mut()),
        true => {
            let spare = next(0);
            // SAFETY: the room at the end is a live head of zeros; both are aligned to 8 bytes,
            // because all parts are multiples of 8 bytes.
            unsafe { spare.cast::<i64>().write(last_up.cast::<i64>().read()) };
            (spare, last_up)
        }
    };
    let filled = Rrd {
        stat_head,
        ds_def,
        rra_def,
        live_head,
        legacy_last_up,
        pdp_prep,
        cdp_prep,
        rra_ptr,
        rrd_value: ptr::null_mut(),
        block: block.cast(),
        block_bytes: header.len() as c_long,
    };
    // SAFETY: as the caller promises.
    unsafe { rrd.write(filled) };
}

/// Closes a file; its header stays until [`rrd_free`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_close(file: *mut RrdFile) -> c_int {
    if !file.is_null() {
        // SAFETY: the caller hands over what `rrd_open` gave.
        unsafe {
            drop(Box::from_raw((*file).private));
            drop(Box::from_raw(file));
        }
    }
    0
}

/// Runs an operation on an open file, at its position.
///
/// # Safety
/// `file` is what `rrd_open` gave, or null.
unsafe fn at_position<T>(
    file: *mut RrdFile,
    failed: T,
    inside: impl FnOnce(&mut RrdFile, &mut File) -> std::io::Result<T>,
) -> T {
    guard(failed, || {
        // SAFETY: as the caller promises; nobody else uses the file during the call.
        let (open, system) = unsafe {
            let open = file.as_mut();
            let open = open.ok_or_else(|| Failed("librrd: no file (NULL)".to_owned()))?;
            let system = &mut *open.private;
            (open, system)
        };
        let failed = |error: std::io::Error| Failed(rrd::reason(&error));
        system.seek(SeekFrom::Start(open.pos as u64)).map_err(failed)?;
        inside(open, system).map_err(failed)
    })
}

/// Reads at the position; gives the number of bytes, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_read(file: *mut RrdFile, buffer: *mut c_void, count: usize) -> isize {
    // SAFETY: the caller gives an open file and a buffer of `count` bytes, zeroed or not: the bytes
    // are only written.
    unsafe {
        at_position(file, -1, |open, system| {
            ptr::write_bytes(buffer.cast::<u8>(), 0, count);
            let target = std::slice::from_raw_parts_mut(buffer.cast::<u8>(), count);
            let length = system.read(target)?;
            open.pos += length;
            Ok(length as isize)
        })
    }
}

/// Writes at the position, within the file; gives the number of bytes, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_write(
    file: *mut RrdFile,
    buffer: *const c_void,
    count: usize,
) -> isize {
    // SAFETY: the caller gives an open file and `count` bytes.
    unsafe {
        at_position(file, -1, |open, system| {
            if open.pos.checked_add(count).is_none_or(|end| end > open.file_len) {
                return Err(std::io::Error::from_raw_os_error(libc::EFBIG));
            }
            system.write_all(std::slice::from_raw_parts(buffer.cast::<u8>(), count))?;
            open.pos += count;
            Ok(count as isize)
        })
    }
}

/// Moves the position; 0, or -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_seek(file: *mut RrdFile, offset: libc::off_t, whence: c_int) -> i64 {
    // SAFETY: the caller gives an open file.
    unsafe {
        at_position(file, -1, |open, _| {
            let base = match whence {
                libc::SEEK_SET => 0,
                libc::SEEK_CUR => open.pos as i64,
                libc::SEEK_END => open.file_len as i64,
                _ => return Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
            };
            let position = base.checked_add(offset).and_then(|place| usize::try_from(place).ok());
            let position = position.filter(|position| *position <= open.file_len);
            let wrong = || std::io::Error::from_raw_os_error(libc::EINVAL);
            open.pos = position.ok_or_else(wrong)?;
            Ok(0)
        })
    }
}

/// The position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_tell(file: *mut RrdFile) -> libc::off_t {
    // SAFETY: the caller gives an open file.
    unsafe { at_position(file, -1, |open, _| Ok(open.pos as i64)) }
}

/// Nothing waits to be written.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_flush(_file: *mut RrdFile) {}

/// Nothing is kept in memory for a file that was read.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_dontneed(_file: *mut RrdFile, _rrd: *mut Rrd) {}

/// Locks a file that is open for changes; 0, or -1 if another process holds the lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_lock(file: *mut RrdFile) -> c_int {
    use std::os::fd::AsRawFd as _;
    status(|| {
        // SAFETY: the caller gives what `rrd_open` gave, or null.
        let open = unsafe { file.as_ref() };
        let open = open.ok_or_else(|| Failed("librrd: no file (NULL)".to_owned()))?;
        // SAFETY: an open file has a file of the system; zeros are a lock of the whole file.
        let done = unsafe {
            let mut lock: libc::flock = mem::zeroed();
            lock.l_type = libc::F_WRLCK as i16;
            lock.l_whence = libc::SEEK_SET as i16;
            libc::fcntl((*open.private).as_raw_fd(), libc::F_SETLK, &raw const lock)
        };
        if done == 0 { Ok(()) } else { Err(Failed("could not lock RRD".to_owned())) }
    })
}
