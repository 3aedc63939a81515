//! Memory that C programs free: all of it is of `malloc`.

use std::ffi::{c_char, c_void};
use std::ptr;

/// A copy of bytes, with a 0 after them.  Bytes after a 0 in them are not seen by C.
pub(crate) fn string(bytes: &[u8]) -> *mut c_char {
    let copy = allocate(bytes.len() + 1).cast::<u8>();
    // SAFETY: the block has `len + 1` bytes and is new, so it does not overlap `bytes`.
    unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len());
        copy.add(bytes.len()).write(0);
    }
    copy.cast()
}

/// A copy of values; never null, also without any.
pub(crate) fn array<T: Copy>(values: &[T]) -> *mut T {
    let copy = allocate(size_of_val(values)).cast::<T>();
    // SAFETY: the block has room for all values, is new, and is aligned for every basic type.
    unsafe { ptr::copy_nonoverlapping(values.as_ptr(), copy, values.len()) };
    copy
}

/// An array of copies of texts.
pub(crate) fn strings<T: AsRef<[u8]>>(texts: &[T]) -> *mut *mut c_char {
    let copies: Vec<*mut c_char> = texts.iter().map(|text| string(text.as_ref())).collect();
    array(&copies)
}

/// A block of at least one byte.
pub(crate) fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: every size may be asked for.
    let block = unsafe { libc::malloc(bytes.max(1)) };
    if block.is_null() {
        // As for every other allocation of Rust.
        std::alloc::handle_alloc_error(std::alloc::Layout::new::<u8>());
    }
    block
}

/// Frees a block of `malloc`, or nothing.
///
/// # Safety
/// `block` is null or of `malloc`, and nobody uses it afterwards.
pub(crate) unsafe fn free<T>(block: *mut T) {
    // SAFETY: as the caller promises.
    unsafe { libc::free(block.cast()) };
}

/// Frees memory that the library has given out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_freemem(memory: *mut c_void) {
    // SAFETY: the caller hands over memory of this library, which is of `malloc`, or null.
    unsafe { free(memory) };
}
