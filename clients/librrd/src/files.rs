//! The functions that take a file and plain values; most end in `_r`.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::ptr;

use rrd::Access;
use rrd::create::{self, Options};
use rrd::dump::Heading;
use rrd::update::WrittenValue;

use crate::call::{Failed, bytes, guard, locking, now, path, status, text, texts, tool, zone};
use crate::commands::lines;
use crate::graph::put;
use crate::info::{Info, List};
use crate::memory;
use crate::utility::print;

/// Makes a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_create_r(
    filename: *const c_char,
    step: c_ulong,
    last_update: c_long,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the same promises.
    unsafe { rrd_create_r2(filename, step, last_update, 0, ptr::null(), ptr::null(), argc, argv) }
}

/// Makes a file, also from others: `sources` is an array with null at its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_create_r2(
    filename: *const c_char,
    step: c_ulong,
    last_update: c_long,
    no_overwrite: c_int,
    sources: *const *const c_char,
    template: *const c_char,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    status(|| {
        // SAFETY: the caller gives texts, `argc` of them in `argv`.
        let (file, definitions, options) = unsafe {
            let options = create_options(step, last_update, no_overwrite, sources, template)?;
            (path(filename)?, texts(argc, argv)?, options)
        };
        let definitions: Vec<&str> = definitions.iter().map(String::as_str).collect();
        Ok(create::create(&file, &options, &definitions, now().seconds)?)
    })
}

/// # Safety
/// `sources` is null or an array of texts with null at its end, `template` is null or a text.
pub(crate) unsafe fn create_options(
    step: c_ulong,
    last_update: c_long,
    no_overwrite: c_int,
    sources: *const *const c_char,
    template: *const c_char,
) -> Result<Options, Failed> {
    let mut files: Vec<PathBuf> = Vec::new();
    if !sources.is_null() {
        // SAFETY: the caller promises null at the end.
        unsafe {
            while !(*sources.add(files.len())).is_null() {
                files.push(path(*sources.add(files.len()))?);
            }
        }
    }
    Ok(Options {
        start: (last_update > 0).then_some(last_update),
        step_seconds: (step > 0).then_some(step),
        keeps_existing: no_overwrite != 0,
        sources: files,
        // SAFETY: as the caller promises.
        template: (!template.is_null()).then(|| unsafe { path(template) }).transpose()?,
    })
}

/// Passes over readings that are not newer than the last: a bit of `flags`.
const SKIP_PAST_UPDATES: c_int = 1;

/// New readings of a file.
///
/// # Safety
/// `filename` and `template` are texts or null, `argv` has `argc` texts.
unsafe fn update(
    filename: *const c_char,
    template: *const c_char,
    flags: c_int,
    argc: c_int,
    argv: *const *const c_char,
    written: Option<&mut Vec<WrittenValue>>,
) -> Result<PathBuf, Failed> {
    // SAFETY: as the caller promises.
    let (file, readings) = unsafe { (path(filename)?, texts(argc, argv)?) };
    if readings.is_empty() {
        return Err(Failed("Not enough arguments".to_owned()));
    }
    // SAFETY: as the caller promises.
    let template = unsafe { bytes(template) }.map(String::from_utf8_lossy);
    let options = rrd::update::Options {
        template: template.as_deref(),
        skip_past_updates: flags & SKIP_PAST_UPDATES != 0,
        locking: locking(),
    };
    let readings: Vec<&[u8]> = readings.iter().map(String::as_bytes).collect();
    rrd::update::update(&file, &options, &readings, &tool(), written)?;
    Ok(file)
}

/// New readings of a file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_update_r(
    filename: *const c_char,
    template: *const c_char,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the same promises.
    unsafe { rrd_updatex_r(filename, template, 0, argc, argv) }
}

/// New readings of a file, with flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_updatex_r(
    filename: *const c_char,
    template: *const c_char,
    flags: c_int,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: the same promises.
    status(|| unsafe { update(filename, template, flags, argc, argv, None) }.map(drop))
}

/// New readings of a file; what is written is added after `summary`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_update_v_r(
    filename: *const c_char,
    template: *const c_char,
    argc: c_int,
    argv: *const *const c_char,
    summary: *mut Info,
) -> c_int {
    // SAFETY: the same promises.
    unsafe { rrd_updatex_v_r(filename, template, 0, argc, argv, summary) }
}

/// As [`rrd_update_v_r`], with flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_updatex_v_r(
    filename: *const c_char,
    template: *const c_char,
    flags: c_int,
    argc: c_int,
    argv: *const *const c_char,
    summary: *mut Info,
) -> c_int {
    status(|| {
        let mut written = Vec::new();
        // SAFETY: the same promises.
        let file = unsafe { update(filename, template, flags, argc, argv, Some(&mut written)) }?;
        if !summary.is_null() {
            List::after(summary).extend(&rrd::command::written_entries(&file, &written)?);
        }
        Ok(())
    })
}

/// What a file keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_info_r(filename: *const c_char) -> *mut Info {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller gives a text or null.
        let (file, name) = unsafe { (path(filename)?, text(filename)?) };
        let mut list = List::new();
        list.extend(&rrd::info::info(&rrd::File::open(&file, Access::Read)?, &name));
        Ok(list.into_raw())
    })
}

/// Time of the last update, in seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_last_r(filename: *const c_char) -> c_long {
    // SAFETY: the caller gives a text or null.
    guard(-1, || Ok(rrd::info::last(&unsafe { path(filename) }?)?))
}

/// End of the oldest row of an archive, in seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_first_r(filename: *const c_char, archive: c_int) -> c_long {
    guard(-1, || {
        // SAFETY: the caller gives a text or null.
        let file = unsafe { path(filename) }?;
        Ok(rrd::info::first(&file, usize::try_from(archive).unwrap_or(usize::MAX))?)
    })
}

/// The time and the texts of the latest readings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_lastupdate_r(
    filename: *const c_char,
    last_update: *mut c_long,
    source_count: *mut c_ulong,
    names: *mut *mut *mut c_char,
    readings: *mut *mut *mut c_char,
) -> c_int {
    status(|| {
        // SAFETY: the caller gives a text or null.
        let file = rrd::File::open(&unsafe { path(filename) }?, Access::Read)?;
        let header = file.header();
        let all_names: Vec<&str> = header.sources.iter().map(|source| &*source.name).collect();
        let texts: Vec<&[u8]> = header.primary.iter().map(rrd::header::Primary::reading).collect();
        // SAFETY: the caller gives places for the results, or null.
        unsafe {
            put(last_update, header.last_update.seconds);
            put(source_count, all_names.len() as c_ulong);
            if !names.is_null() {
                put(names, memory::strings(&all_names));
            }
            if !readings.is_null() {
                put(readings, memory::strings(&texts));
            }
        }
        Ok(())
    })
}

/// Names of databases and folders, a line each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_list_r(recursive: c_int, folder: *const c_char) -> *mut c_char {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller gives a text or null.
        let (path, name) = unsafe { (path(folder)?, text(folder)?) };
        let names = rrd::list::list(&path, recursive != 0)
            .map_err(|error| Failed(format!("{name}: {}", rrd::reason(&error))))?;
        Ok(memory::string(lines(&names).as_bytes()))
    })
}

/// Takes a piece of a dump: returns the number of bytes that were written.
pub type OutputCallback = unsafe extern "C" fn(*const c_void, usize, *mut c_void) -> usize;

/// Dumps a file as XML to a callback.  `heading` is 0 for none, 1 for the document type, 2 for the
/// schema.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_dump_cb_r(
    filename: *const c_char,
    heading: c_int,
    callback: Option<OutputCallback>,
    user: *mut c_void,
) -> c_int {
    status(|| {
        let callback = callback.ok_or_else(|| Failed("librrd: no callback (NULL)".to_owned()))?;
        // SAFETY: the caller gives a text or null.
        let file = rrd::File::open(&unsafe { path(filename) }?, Access::Read)?;
        rrd::dump::dump(&file, heading_of(heading), &zone(), |piece| {
            // SAFETY: the program gave a function of this type; the piece is whole during the call.
            let written = unsafe { callback(piece.as_ptr().cast(), piece.len(), user) };
            match written == piece.len() {
                true => Ok(()),
                false => {
                    let error = std::io::Error::last_os_error();
                    Err(Failed(format!("error writing output file: {}", rrd::reason(&error))))
                }
            }
        })
    })
}

/// Dumps a file as XML to another one, or to the standard output if that is null or empty.
///
/// # Safety
/// Both are texts or null.
unsafe fn dump(
    filename: *const c_char,
    target: *const c_char,
    heading: Heading,
) -> Result<(), Failed> {
    // SAFETY: as the caller promises.
    let (file, target) = unsafe { (path(filename)?, bytes(target)) };
    let file = rrd::File::open(&file, Access::Read)?;
    let Some(target) = target.filter(|target| !target.is_empty()) else {
        return rrd::dump::dump(&file, heading, &zone(), |piece| print(piece.as_bytes()));
    };
    let target = String::from_utf8_lossy(target);
    let failed = |what: &str, error: &std::io::Error| {
        Failed(format!("{what} '{target}': {}", rrd::reason(error)))
    };
    let mut output =
        File::create(Path::new(&*target)).map_err(|error| failed("opening", &error))?;
    rrd::dump::dump(&file, heading, &zone(), |piece| {
        output.write_all(piece.as_bytes()).map_err(|error| failed("writing", &error))
    })
}

/// Dumps a file as XML, without a heading.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_dump_r(filename: *const c_char, target: *mut c_char) -> c_int {
    // SAFETY: the same promises.
    status(|| unsafe { dump(filename, target, Heading::None) })
}

/// Dumps a file as XML; `heading` as for [`rrd_dump_cb_r`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_dump_opt_r(
    filename: *const c_char,
    target: *mut c_char,
    heading: c_int,
) -> c_int {
    // SAFETY: the same promises.
    status(|| unsafe { dump(filename, target, heading_of(heading)) })
}

fn heading_of(number: c_int) -> Heading {
    match number {
        0 => Heading::None,
        2 => Heading::Schema,
        _ => Heading::DocumentType,
    }
}
