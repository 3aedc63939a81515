//! `rrd_info_t`: keys and values as a linked list.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_ulong};
use std::ptr;

use rrd::command::InfoEntry;
use rrd::info::{InfoValue, push_line};

use crate::call::guard;
use crate::memory;
use crate::utility::print;

/// What a value is: `rrd_info_type_t`.
mod kind {
    pub(super) const DOUBLE: u32 = 0;
    pub(super) const COUNT: u32 = 1;
    pub(super) const TEXT: u32 = 2;
    pub(super) const INT: u32 = 3;
    pub(super) const BLOB: u32 = 4;
}

/// `rrd_blob_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Blob {
    size: c_ulong,
    bytes: *mut c_uchar,
}

/// `rrd_infoval_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    count: c_ulong,
    double: f64,
    text: *mut c_char,
    int: c_int,
    blob: Blob,
}

/// `rrd_info_t`.
#[repr(C)]
pub struct Info {
    key: *mut c_char,
    kind: u32,
    value: Value,
    next: *mut Info,
}

/// A list that grows at its end.
pub(crate) struct List {
    first: *mut Info,
    last: *mut Info,
}

impl List {
    pub(crate) fn new() -> Self {
        List { first: ptr::null_mut(), last: ptr::null_mut() }
    }

    /// A list that grows after an element.
    pub(crate) fn after(last: *mut Info) -> Self {
        List { first: last, last }
    }

    pub(crate) fn push(&mut self, key: &str, value: &InfoValue) {
        let (kind, value) = match value {
            InfoValue::Double(double) => (kind::DOUBLE, Value { double: *double }),
            InfoValue::Count(count) => (kind::COUNT, Value { count: *count }),
            InfoValue::Int(int) => (kind::INT, Value { int: *int as c_int }),
            InfoValue::Text(text) => (kind::TEXT, Value { text: memory::string(text.as_bytes()) }),
        };
        self.link(memory::string(key.as_bytes()), kind, value);
    }

    pub(crate) fn push_blob(&mut self, key: &str, bytes: &[u8]) {
        let blob = Blob { size: bytes.len() as c_ulong, bytes: memory::array(bytes) };
        self.link(memory::string(key.as_bytes()), kind::BLOB, Value { blob });
    }

    pub(crate) fn extend(&mut self, entries: &[InfoEntry]) {
        for (key, value) in entries {
            self.push(key, value);
        }
    }

    pub(crate) fn into_raw(self) -> *mut Info {
        self.first
    }

    fn link(&mut self, key: *mut c_char, kind: u32, value: Value) {
        let new = memory::array(&[InfoBits { key, kind, value, next: ptr::null_mut() }]).cast();
        if self.last.is_null() {
            self.first = new;
        } else {
            // SAFETY: the last element is one of this library, and nobody else changes the list.
            unsafe { (*self.last).next = new };
        }
        self.last = new;
    }
}

/// [`Info`], copied bit by bit.
#[derive(Clone, Copy)]
#[repr(C)]
struct InfoBits {
    key: *mut c_char,
    kind: u32,
    value: Value,
    next: *mut Info,
}

/// Adds an element after another one, or begins a list.  The key is handed over, a text or a blob
/// is copied.  Gives the new element.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_info_push(
    after: *mut Info,
    key: *mut c_char,
    kind: u32,
    value: Value,
) -> *mut Info {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller says by `kind` which field is set, and what it points at is whole.
        let value = unsafe {
            match kind {
                kind::TEXT if !value.text.is_null() => {
                    Value { text: memory::string(CStr::from_ptr(value.text).to_bytes()) }
                }
                kind::BLOB if !value.blob.bytes.is_null() => {
                    let Blob { size, bytes } = value.blob;
                    let copied = std::slice::from_raw_parts(bytes, size as usize);
                    Value { blob: Blob { size, bytes: memory::array(copied) } }
                }
                _ => value,
            }
        };
        let mut list = List::after(after);
        list.link(key, kind, value);
        Ok(list.last)
    })
}

/// Frees a list.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_info_free(list: *mut Info) {
    let mut at = list;
    while !at.is_null() {
        // SAFETY: the caller hands over a list of this library: all of it is of `malloc`, and
        // `kind` says which field of the value is set.
        unsafe {
            let info = at.read();
            match info.kind {
                kind::TEXT => memory::free(info.value.text),
                kind::BLOB => memory::free(info.value.blob.bytes),
                _ => {}
            }
            memory::free(info.key);
            memory::free(at);
            at = info.next;
        }
    }
}

/// Prints a list to the standard output, as `rrdtool info` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_info_print(list: *mut Info) {
    guard((), || {
        let mut at = list;
        while !at.is_null() {
            // SAFETY: the list is of this library: `kind` says which field is set.
            let (info, key) = unsafe { (&*at, CStr::from_ptr((*at).key).to_string_lossy()) };
            let mut line = String::new();
            // SAFETY: as above.
            unsafe {
                match info.kind {
                    kind::DOUBLE => {
                        push_line(&mut line, &key, &InfoValue::Double(info.value.double));
                    }
                    kind::COUNT => push_line(&mut line, &key, &InfoValue::Count(info.value.count)),
                    kind::INT => {
                        push_line(&mut line, &key, &InfoValue::Int(i64::from(info.value.int)));
                    }
                    kind::TEXT => {
                        let text = CStr::from_ptr(info.value.text).to_string_lossy().into_owned();
                        push_line(&mut line, &key, &InfoValue::Text(text));
                    }
                    _ => {
                        let Blob { size, bytes } = info.value.blob;
                        print(format!("{key} = BLOB_SIZE:{size}\n").as_bytes())?;
                        print(std::slice::from_raw_parts(bytes, size as usize))?;
                    }
                }
            }
            print(line.as_bytes())?;
            at = info.next;
        }
        Ok(())
    });
}
