//! Times in words, as C structures.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_long};
use std::mem;
use std::ptr;

use time_words::{CalendarFields, Reference, TimeSpec};

use crate::call::{Failed, guard, now, status, text, zone};
use crate::graph::put;

/// `rrd_time_value_t`.
#[repr(C)]
pub struct TimeValue {
    /// What it is relative to: an index of [`REFERENCES`].
    reference: c_int,
    /// Seconds that are added to the fields.
    offset: c_long,
    fields: libc::tm,
}

/// `rrd_timetype_t`, in its order.
const REFERENCES: [Reference; 4] =
    [Reference::Absolute, Reference::Start, Reference::End, Reference::Epoch];

/// Longest text of an error, with the 0 after it.
const ERROR_BYTES: usize = 512;

thread_local! {
    /// What was wrong with the last time of this thread.
    static ERROR: UnsafeCell<[u8; ERROR_BYTES]> = const { UnsafeCell::new([0; ERROR_BYTES]) };
}

/// Years of C count from 1900; those of a relative time are added.
fn first_year(reference: Reference) -> i64 {
    if reference == Reference::Absolute { 1900 } else { 0 }
}

/// Reads a time in words.  Gives null, or a text that says what is wrong, which is valid until the
/// next call of this thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_parsetime(words: *const c_char, place: *mut TimeValue) -> *mut c_char {
    let unknown = "librrd: internal error".to_owned();
    let wrong = guard(Some(unknown), || {
        // SAFETY: the caller gives a text or null.
        let words = unsafe { text(words) }?;
        match time_words::parse(&words, now().seconds, &zone()) {
            Ok(time) => {
                // SAFETY: the caller gives a place for the result, or null.
                unsafe { put(place, to_c(&time)) };
                Ok(None)
            }
            Err(error) => Ok(Some(error.to_string())),
        }
    });
    let Some(wrong) = wrong else { return ptr::null_mut() };
    let place = ERROR.with(UnsafeCell::get);
    let length = wrong.len().min(ERROR_BYTES - 1);
    // SAFETY: the buffer is this thread's, and no reference to it outlives the block.
    unsafe {
        let buffer = &mut *place;
        buffer[..length].copy_from_slice(&wrong.as_bytes()[..length]);
        buffer[length] = 0;
    }
    place.cast()
}

/// Start and end in seconds since 1970, of times that may refer to each other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_proc_start_end(
    start: *mut TimeValue,
    end: *mut TimeValue,
    start_seconds: *mut c_long,
    end_seconds: *mut c_long,
) -> c_int {
    status(|| {
        if start.is_null() || end.is_null() {
            return Err(Failed("librrd: a time is missing (NULL)".to_owned()));
        }
        // SAFETY: the caller gives two times that `rrd_parsetime` has filled.
        let (start, end) = unsafe { (from_c(&*start), from_c(&*end)) };
        let resolved = time_words::resolve(&start, &end, &zone());
        let (start, end) = resolved.map_err(|error| Failed(error.to_string()))?;
        // SAFETY: the caller gives places for the results, or null.
        unsafe {
            put(start_seconds, start);
            put(end_seconds, end);
        }
        Ok(())
    })
}

fn to_c(time: &TimeSpec) -> TimeValue {
    let reference = time.reference();
    let (fields, offset) = time.parts();
    // SAFETY: a `tm` of zeros is a value: numbers, and a null name.
    let mut tm: libc::tm = unsafe { mem::zeroed() };
    tm.tm_year = (fields.year - first_year(reference)) as c_int;
    tm.tm_mon = fields.month as c_int;
    tm.tm_mday = fields.day as c_int;
    tm.tm_hour = fields.hour as c_int;
    tm.tm_min = fields.minute as c_int;
    tm.tm_sec = fields.second as c_int;
    tm.tm_wday = fields.weekday as c_int;
    tm.tm_isdst = fields.is_summer.map_or(-1, c_int::from);
    let number = REFERENCES.iter().position(|one| *one == reference).unwrap_or(0);
    TimeValue { reference: number as c_int, offset, fields: tm }
}

fn from_c(time: &TimeValue) -> TimeSpec {
    let number = usize::try_from(time.reference).unwrap_or(0);
    let reference = REFERENCES.get(number).copied().unwrap_or(Reference::Absolute);
    let tm = &time.fields;
    let fields = CalendarFields {
        year: i64::from(tm.tm_year) + first_year(reference),
        month: i64::from(tm.tm_mon),
        day: i64::from(tm.tm_mday),
        hour: i64::from(tm.tm_hour),
        minute: i64::from(tm.tm_min),
        second: i64::from(tm.tm_sec),
        weekday: i64::from(tm.tm_wday),
        is_summer: (tm.tm_isdst >= 0).then_some(tm.tm_isdst > 0),
    };
    TimeSpec::from_parts(reference, fields, time.offset)
}
