//! Small functions that programs borrow: arrays of pointers, numbers, folders, output.

use std::ffi::{c_char, c_double, c_int, c_long, c_uint, c_ulong, c_void};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::ptr;
use std::sync::Once;

use rrd::number;

use crate::call::{Failed, bytes, guard, path, text};
use crate::commands::write_to;
use crate::graph::put;
use crate::memory;

unsafe extern "C" {
    /// The standard output of C, whose buffer the program shares.
    static stdout: *mut libc::FILE;
}

/// Writes to the standard output, after what the program has written.
pub(crate) fn print(bytes: &[u8]) -> Result<(), Failed> {
    // SAFETY: the stream of C is open from the start of the process.
    unsafe { write_to(stdout, bytes) }
}

/// The standard output of C.
pub(crate) struct Stdout;

impl io::Write for Stdout {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        print(buffer).map_err(|_| io::Error::last_os_error())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Not a number.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_set_to_DNAN() -> c_double {
    number::UNKNOWN
}

/// Infinity.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_set_to_DINF() -> c_double {
    f64::INFINITY
}

/// A random number of `random`, which is begun once.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_random() -> c_long {
    static BEGUN: Once = Once::new();
    BEGUN.call_once(|| {
        let now = crate::call::now();
        let seed = now.seconds.wrapping_add(now.microseconds) as c_uint ^ std::process::id();
        // SAFETY: every seed is allowed.
        unsafe { srandom(seed) };
    });
    // SAFETY: `random` takes nothing.
    unsafe { random() }
}

unsafe extern "C" {
    fn random() -> c_long;
    fn srandom(seed: c_uint);
}

/// The greatest common divisor of numbers that end with a 0; 0 if there is none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_lcd(numbers: *const c_ulong) -> c_long {
    let mut divisor: c_ulong = 0;
    let mut at = numbers;
    // SAFETY: the caller promises a 0 at the end.
    while !at.is_null() && unsafe { *at } != 0 {
        // SAFETY: as above.
        let (mut a, mut b) = (divisor, unsafe { *at });
        while b != 0 {
            (a, b) = (b, a % b);
        }
        divisor = a;
        // SAFETY: the 0 at the end has not been reached.
        at = unsafe { at.add(1) };
    }
    c_long::try_from(divisor).unwrap_or(c_long::MAX)
}

/// Makes a folder and those above it.  0, or -1 with `errno`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_mkdir_p(folder: *const c_char, mode: libc::mode_t) -> c_int {
    // SAFETY: the caller gives a text or null.
    let Ok(folder) = (unsafe { path(folder) }) else { return fail(libc::EINVAL) };
    if folder.as_os_str().is_empty() {
        return fail(libc::EINVAL);
    }
    if folder.exists() && !folder.is_dir() {
        return fail(libc::ENOTDIR);
    }
    let made = std::fs::DirBuilder::new().recursive(true).mode(mode).create(&folder);
    match made {
        Ok(()) => 0,
        Err(error) => fail(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// Sets `errno` and gives -1.
fn fail(number: c_int) -> c_int {
    // SAFETY: `errno` is a variable of this thread.
    unsafe { *libc::__errno_location() = number };
    -1
}

/// Reads a duration: gives null, or what is wrong.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_scaled_duration(
    token: *const c_char,
    divisor: c_ulong,
    value: *mut c_ulong,
) -> *const c_char {
    // SAFETY: the caller gives a text or null.
    let token = unsafe { bytes(token) }.unwrap_or_default();
    match number::scaled_duration(&String::from_utf8_lossy(token), divisor) {
        Ok(found) => {
            // SAFETY: the caller gives a place for the result, or null.
            unsafe { put(value, found) };
            ptr::null()
        }
        Err("value must be positive") => c"value must be positive".as_ptr(),
        Err("value has trailing garbage") => c"value has trailing garbage".as_ptr(),
        Err("value would truncate when scaled") => c"value would truncate when scaled".as_ptr(),
        Err(_) => c"value must be (suffixed) positive number".as_ptr(),
    }
}

/// The number that a text begins with, as `strtod` of the C locale; `end` stays as it is if there is
/// none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_strtod(start: *const c_char, end: *mut *mut c_char) -> c_double {
    // SAFETY: the caller gives a text or null.
    let (value, length) = number::parse_prefix(unsafe { bytes(start) }.unwrap_or_default());
    if length > 0 {
        // SAFETY: the number ends within the text; the place is null or may be written.
        unsafe { put(end, start.add(length).cast_mut()) };
    }
    value
}

/// The number that a text is: 2 if all of it is the number, 1 if something follows, 0 if there is
/// none.  Of the last two the error is set if `place` is not null; it says where the text is from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_strtodbl(
    start: *const c_char,
    end: *mut *mut c_char,
    value: *mut c_double,
    place: *const c_char,
) -> c_uint {
    // SAFETY: the caller gives texts or null.
    let (given, place) = unsafe { (bytes(start).unwrap_or_default(), text(place).ok()) };
    let (prefix, length) = number::parse_prefix(given);
    let parsed = number::parse(given);
    let (found, code) = match &parsed {
        Ok(found) => (*found, 2),
        Err(_) => (prefix, c_uint::from(length > 0)),
    };
    // SAFETY: the number ends within the text; the places are null or may be written.
    unsafe {
        put(value, found);
        if !start.is_null() {
            put(end, start.add(length).cast_mut());
        }
    }
    if let (Err(error), Some(place)) = (parsed, place) {
        crate::error::set(&format!("{place} - {error}"));
    }
    code
}

/// An array of pointers that grows by `chunk` places.
///
/// # Safety
/// All places may be written; the array is null or of `malloc`.
unsafe fn push(
    array: *mut *mut *mut c_void,
    count: *mut usize,
    room: *mut usize,
    chunk: usize,
    new: *mut c_void,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        if *count >= *room {
            let places = (*room).checked_add(chunk.max(1));
            let size = places.and_then(|places| places.checked_mul(size_of::<*mut c_void>()));
            let Some((places, size)) = places.zip(size) else { return 0 };
            let larger = libc::realloc((*array).cast(), size);
            if larger.is_null() {
                return 0;
            }
            *array = larger.cast();
            *room = places;
        }
        (*array).add(*count).write(new);
        *count += 1;
    }
    1
}

/// Adds a pointer to an array that has room for `room`; 1, or 0 without memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_add_ptr_chunk(
    array: *mut *mut *mut c_void,
    count: *mut usize,
    new: *mut c_void,
    room: *mut usize,
    chunk: usize,
) -> c_int {
    // SAFETY: the same promises.
    unsafe { push(array, count, room, chunk, new) }
}

/// Adds a pointer to an array; 1, or 0 without memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_add_ptr(
    array: *mut *mut *mut c_void,
    count: *mut usize,
    new: *mut c_void,
) -> c_int {
    // SAFETY: the same promises; the array has no room but for what it has.
    unsafe {
        let mut room = *count;
        push(array, count, &raw mut room, 1, new)
    }
}

/// Adds a copy of a text to an array; 1, or 0 without memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_add_strdup(
    array: *mut *mut *mut c_char,
    count: *mut usize,
    new: *const c_char,
) -> c_int {
    // SAFETY: the same promises; the array has no room but for what it has.
    unsafe {
        let mut room = *count;
        rrd_add_strdup_chunk(array, count, new, &raw mut room, 1)
    }
}

/// Adds a copy of a text to an array that has room for `room`; 1, or 0 without memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_add_strdup_chunk(
    array: *mut *mut *mut c_char,
    count: *mut usize,
    new: *const c_char,
    room: *mut usize,
    chunk: usize,
) -> c_int {
    // SAFETY: the caller gives a text or null.
    let copy = memory::string(unsafe { bytes(new) }.unwrap_or_default());
    // SAFETY: the same promises.
    let added = unsafe { push(array.cast(), count, room, chunk, copy.cast()) };
    if added == 0 {
        // SAFETY: the copy is of `malloc`, and nobody has it.
        unsafe { memory::free(copy) };
    }
    added
}

/// Frees an array of pointers and all that they point at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_free_ptrs(array: *mut *mut *mut c_void, count: *mut usize) {
    guard((), || {
        // SAFETY: the caller hands over an array of `count` pointers of `malloc`.
        unsafe {
            if array.is_null() || (*array).is_null() || count.is_null() {
                return Ok(());
            }
            for index in 0..*count {
                memory::free(*(*array).add(index));
            }
            memory::free(*array);
            *array = ptr::null_mut();
            *count = 0;
        }
        Ok(())
    });
}
