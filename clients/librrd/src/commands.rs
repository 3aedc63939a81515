//! The functions that take `argc` and `argv`: the commands of the command line, `argv[0]` being
//! the name of the command.

use std::ffi::{c_char, c_int, c_long};
use std::io;
use std::ptr;

use crate::call::{Failed, guard, status, tool, words};
use crate::info::{Info, List};
use crate::memory;
use crate::utility::{Stdout, print};

type Arguments = *const *mut c_char;

/// Runs a command whose only result is text on the standard output.
///
/// # Safety
/// `arguments` has `count` texts.
unsafe fn run(command: &str, count: c_int, arguments: Arguments) -> c_int {
    status(|| {
        // SAFETY: as the caller promises.
        let words = unsafe { words(count, arguments) }?;
        let mut out = io::BufWriter::new(Stdout);
        let unknown = || Failed(format!("unknown function '{command}'"));
        let done = tool().run(command, &words, &mut out).ok_or_else(unknown)?;
        io::Write::flush(&mut out).map_err(|error| Failed(rrd::reason(&error)))?;
        Ok(done?)
    })
}

/// Exports commands whose only result is text on the standard output.
macro_rules! commands {
    ($($(#[$about:meta])* $name:ident => $command:literal;)*) => { $(
        $(#[$about])*
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(argc: c_int, argv: Arguments) -> c_int {
            // SAFETY: the caller gives `argc` texts.
            unsafe { run($command, argc, argv) }
        }
    )* };
}

commands! {
    /// `create`: a new file.
    rrd_create => "create";
    /// `update`: new readings.
    rrd_update => "update";
    /// `dump`: a file as XML.
    rrd_dump => "dump";
    /// `restore`: a file from XML.
    rrd_restore => "restore";
    /// `tune`: changes what a file keeps.
    rrd_tune => "tune";
    /// `resize`: more or fewer rows of an archive.
    rrd_resize => "resize";
    /// `lastupdate`: prints the latest readings.
    rrd_lastupdate => "lastupdate";
    /// `flushcached`: has the daemon write files.
    rrd_flushcached => "flushcached";
}

/// `updatev`: the list of what was written.  After an error its first value is -1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_update_v(argc: c_int, argv: Arguments) -> *mut Info {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller gives `argc` texts.
        let words = unsafe { words(argc, argv) }?;
        let (entries, done) = rrd::command::update_verbose(&words, &tool());
        if entries.is_empty() {
            done?;
            return Ok(ptr::null_mut());
        }
        if let Err(failure) = done {
            crate::error::set(&failure.to_string());
        }
        let mut list = List::new();
        list.extend(&entries);
        Ok(list.into_raw())
    })
}

/// `info`: the list of what a file keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_info(argc: c_int, argv: Arguments) -> *mut Info {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller gives `argc` texts.
        let words = unsafe { words(argc, argv) }?;
        let mut list = List::new();
        list.extend(&rrd::command::info(&words, &tool())?);
        Ok(list.into_raw())
    })
}

/// `last`: time of the last update, in seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_last(argc: c_int, argv: Arguments) -> c_long {
    // SAFETY: the caller gives `argc` texts.
    guard(-1, || Ok(rrd::command::last(&unsafe { words(argc, argv) }?, &tool())?))
}

/// `first`: end of the oldest row of an archive, in seconds since 1970.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_first(argc: c_int, argv: Arguments) -> c_long {
    // SAFETY: the caller gives `argc` texts.
    guard(-1, || Ok(rrd::command::first(&unsafe { words(argc, argv) }?, &tool())?))
}

/// `list`: names of databases and folders, a line each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rrd_list(argc: c_int, argv: Arguments) -> *mut c_char {
    guard(ptr::null_mut(), || {
        // SAFETY: the caller gives `argc` texts.
        let words = unsafe { words(argc, argv) }?;
        let names = rrd::command::list(&words, &tool())?;
        Ok(memory::string(lines(&names).as_bytes()))
    })
}

/// Names, a line each.
pub(crate) fn lines(names: &[String]) -> String {
    names.iter().map(|name| format!("{name}\n")).collect()
}

/// The version as a text.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_strversion() -> *mut c_char {
    c"1.7.2".as_ptr().cast_mut()
}

/// The version as a number.
#[unsafe(no_mangle)]
pub extern "C" fn rrd_version() -> f64 {
    1.7002
}

/// Writes bytes to a stream of C, or to the standard output.
///
/// # Safety
/// `stream` is null or open.
pub(crate) unsafe fn write_to(stream: *mut libc::FILE, bytes: &[u8]) -> Result<(), Failed> {
    if stream.is_null() {
        return print(bytes);
    }
    // SAFETY: the stream is open, and `bytes` has that many bytes.
    let written = unsafe { libc::fwrite(bytes.as_ptr().cast(), 1, bytes.len(), stream) };
    match written == bytes.len() {
        true => Ok(()),
        false => Err(Failed("writing image".to_owned())),
    }
}
