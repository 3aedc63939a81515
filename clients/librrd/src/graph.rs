//! `graph`, `graphv` and `xport`.

use std::ffi::{c_char, c_int, c_long, c_ulong};
use std::ptr;

use graph::chart::Fact;
use rrd::info::InfoValue;
use rrdtool::GraphOutcome;

use crate::call::{guard, status, tool, words};
use crate::commands::write_to;
use crate::info::{Info, List};
use crate::memory;
use crate::utility::print;

/// `graphv`: draws a picture, and gives the list of its sizes and texts; the picture too, if its
/// file is `-`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_graph_v(argc: c_int, argv: *const *mut c_char) -> *mut Info {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller gives `argc` texts.
        let words = unsafe { words(argc, argv) }?;
        let GraphOutcome { command, result } = tool().graph(&words)?;
        let mut list = List::new();
        for (key, fact) in &result.facts {
            let value = match fact {
                Fact::Count(count) => InfoValue::Count(*count as u64),
                Fact::Number(number) => InfoValue::Double(*number),
                Fact::Text(text) => InfoValue::Text(text.clone()),
            };
            list.push(key, &value);
        }
        if let Some(file) = result.file.as_deref().filter(|_| command.file_name == "-") {
            list.push_blob("image", file);
        }
        Ok(list.into_raw())
    })
}

/// `graph`: draws a picture.  `prints` gets an array of the texts of `--imginfo` and `PRINT` with
/// null after them, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_graph(
    argc: c_int,
    argv: *const *mut c_char,
    prints: *mut *mut *mut c_char,
    width: *mut c_int,
    height: *mut c_int,
    stream: *mut libc::FILE,
    minimum: *mut f64,
    maximum: *mut f64,
) -> c_int {
    // SAFETY: the caller gives places for the results, or null.
    unsafe {
        put(prints, ptr::null_mut());
    }
    status(|| {
        // SAFETY: the caller gives `argc` texts.
        let words = unsafe { words(argc, argv) }?;
        let GraphOutcome { command, result } = tool().graph(&words)?;
        let (image_width, image_height) = result.size;
        // SAFETY: as above; the stream is open or null.
        unsafe {
            put(width, image_width as c_int);
            put(height, image_height as c_int);
            for (key, fact) in &result.facts {
                match (key.as_str(), fact) {
                    ("value_min", Fact::Number(value)) => put(minimum, *value),
                    ("value_max", Fact::Number(value)) => put(maximum, *value),
                    _ => {}
                }
            }
            if let Some(file) = result.file.as_deref().filter(|_| command.file_name == "-") {
                write_to(stream, file)?;
            }
        }
        let texts_of = |wanted: fn(&str) -> bool| {
            result.facts.iter().filter_map(move |(key, fact)| match fact {
                Fact::Text(text) if wanted(key) => Some(memory::string(text.as_bytes())),
                _ => None,
            })
        };
        if !prints.is_null() {
            let mut texts: Vec<*mut c_char> = texts_of(|key| key == "image_info").collect();
            texts.extend(texts_of(|key| key.starts_with("print[")));
            if !texts.is_empty() {
                texts.push(ptr::null_mut());
                // SAFETY: as above.
                unsafe { put(prints, memory::array(&texts)) };
            }
        }
        Ok(())
    })
}

/// `xport`: a table of several series.  If `size` is null, it is printed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_xport(
    argc: c_int,
    argv: *const *mut c_char,
    size: *mut c_int,
    start: *mut c_long,
    end: *mut c_long,
    step: *mut c_ulong,
    column_count: *mut c_ulong,
    legends: *mut *mut *mut c_char,
    data: *mut *mut f64,
) -> c_int {
    status(|| {
        // SAFETY: the caller gives `argc` texts.
        let words = unsafe { words(argc, argv) }?;
        let table = tool().xport(&words)?;
        if size.is_null() {
            print(table.text().as_bytes())?;
        }
        let rows = table.rows;
        // SAFETY: the caller gives places for the results, or null.
        unsafe {
            put(start, rows.start_s);
            put(end, rows.end_s);
            put(step, rows.step_s as c_ulong);
            put(column_count, rows.legends.len() as c_ulong);
            if !legends.is_null() {
                put(legends, memory::strings(&rows.legends));
            }
            if !data.is_null() {
                put(data, memory::array(&rows.values));
            }
        }
        Ok(())
    })
}

/// Stores a result, if it is wanted.
///
/// # Safety
/// `place` is null or may be written.
pub(crate) unsafe fn put<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: as the caller promises.
        unsafe { place.write(value) };
    }
}
