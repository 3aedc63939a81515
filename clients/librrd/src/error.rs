//! The error of each thread, where RRDtool's library keeps it.
//!
//! `rrd_context_t` is part of the interface: two buffers, of `strerror` and of the error.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int};

use crate::memory;

const STRERROR_BYTES: usize = 256;
const ERROR_BYTES: usize = 4096;

/// `rrd_context_t`.
#[repr(C)]
pub struct Context {
    strerror: [u8; STRERROR_BYTES],
    error: [u8; ERROR_BYTES],
}

impl Context {
    const EMPTY: Context = Context { strerror: [0; STRERROR_BYTES], error: [0; ERROR_BYTES] };
}

thread_local! {
    /// Needs no destructor, so it is there for as long as its thread.
    static CONTEXT: UnsafeCell<Context> = const { UnsafeCell::new(Context::EMPTY) };
}

fn context() -> *mut Context {
    CONTEXT.with(UnsafeCell::get)
}

/// Copies a text into a buffer that ends with a 0.
fn copy(text: &[u8], buffer: &mut [u8]) {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let length = text.len().min(buffer.len() - 1);
    buffer[..length].copy_from_slice(&text[..length]);
    buffer[length] = 0;
}

/// Sets the error of this thread.
pub(crate) fn set(text: &str) {
    // SAFETY: the context is this thread's, and no reference to it outlives a call.
    let context = unsafe { &mut *context() };
    copy(text.as_bytes(), &mut context.error);
}

/// The context of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_get_context() -> *mut Context {
    context()
}

/// A context of its own; `rrd_free_context` frees it.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_new_context() -> *mut Context {
    let new = memory::allocate(size_of::<Context>()).cast::<Context>();
    // SAFETY: the block is new and large enough; `malloc` aligns for every type.
    unsafe { new.write(Context::EMPTY) };
    new
}

/// Frees a context of `rrd_new_context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_free_context(context: *mut Context) {
    // SAFETY: the caller hands over what `rrd_new_context` gave, or null.
    unsafe { memory::free(context) };
}

/// The text of the error, empty if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_get_error() -> *mut c_char {
    // SAFETY: the context is this thread's; only the address of its field is taken.
    unsafe { (&raw mut (*context()).error).cast() }
}

/// Whether an error is set.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_test_error() -> c_int {
    // SAFETY: the context is this thread's.
    c_int::from(unsafe { (*context()).error[0] != 0 })
}

/// Forgets the error.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_clear_error() {
    // SAFETY: the context is this thread's.
    unsafe { (*context()).error[0] = 0 };
}

/// What the system calls an error; the text is valid until the next call of this thread.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_strerror(number: c_int) -> *const c_char {
    // SAFETY: the context is this thread's, and no reference to it outlives a call; the buffer is as
    // long as `strerror_r` is told.
    unsafe {
        let buffer = &mut (*context()).strerror;
        buffer[0] = 0;
        libc::strerror_r(number, buffer.as_mut_ptr().cast(), buffer.len());
        buffer.as_ptr().cast()
    }
}

/// For `variadic.c`: the buffer of the error, and its size.
#[unsafe(no_mangle)]
unsafe extern "C" fn whit_rrd_error_buffer(size: *mut usize) -> *mut c_char {
    // SAFETY: `size` is a variable of the caller in variadic.c.
    unsafe { size.write(ERROR_BYTES) };
    rrd_get_error()
}

unsafe extern "C" {
    fn whit_rrd_set_error(format: *const c_char, ...);
    fn whit_rrd_snprintf(buffer: *mut c_char, size: usize, format: *const c_char, ...) -> c_int;
}

/// A function of C under a name that the library exports: a jump, which leaves all arguments where
/// they are.
macro_rules! jump {
    ($(#[$about:meta])* $name:ident => $target:ident) => {
        $(#[$about])*
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            #[cfg(target_arch = "x86_64")]
            core::arch::naked_asm!("jmp {}", sym $target);
            #[cfg(target_arch = "aarch64")]
            core::arch::naked_asm!("b {}", sym $target);
        }
    };
}

jump! {
    /// `rrd_set_error(format, …)`: sets the error of this thread.
    rrd_set_error => whit_rrd_set_error
}
jump! {
    /// `rrd_snprintf(buffer, size, format, …)`.
    rrd_snprintf => whit_rrd_snprintf
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> Vec<u8> {
        // SAFETY: the error is a text of this thread.
        unsafe { std::ffi::CStr::from_ptr(rrd_get_error()) }.to_bytes().to_vec()
    }

    #[test]
    fn an_error_is_of_its_thread() {
        set("here");
        std::thread::spawn(|| assert_eq!(rrd_test_error(), 0)).join().unwrap();
        assert_eq!((rrd_test_error(), text()), (1, b"here".to_vec()));
        set(&"x".repeat(5000));
        assert_eq!(text().len(), ERROR_BYTES - 1);
        set("a\0b");
        assert_eq!(text(), b"a");
        rrd_clear_error();
        assert_eq!((rrd_test_error(), text()), (0, Vec::new()));
    }
}
