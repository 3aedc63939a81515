//! The start of commands that are a process each: `whit rrd update …`.
//!
//! Before `main` the Rust runtime prepares what such a command never uses: a stack for the handler
//! of stack overflows, for which the C library reads `/proc/self/maps`, and signals.  Together with
//! the end of `main`, that takes a tenth of a millisecond, of little more than one in all.  So the
//! linker lets the C library call [`__wrap_main`] in place of `main` (`--wrap=main`, `build.rs`);
//! that runs a plain `whit rrd` command, and leaves everything else to `main`.
//!
//! What a command of `rrd` does not have here: a stack that overflows is SIGSEGV without a message.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt as _;

use crate::commands::rrd::{self, RrdArguments};

unsafe extern "C" {
    /// The entry that the compiler makes: the runtime, and [`crate::main`] in it.
    fn __real_main(count: c_int, words: *const *const c_char) -> c_int;
}

/// What the C library calls.
// SAFETY: the name is nobody else's: the linker reserves it for this.
#[unsafe(no_mangle)]
extern "C" fn __wrap_main(count: c_int, words: *const *const c_char) -> c_int {
    if !cfg!(test)
        && let Some(arguments) = plain_rrd(count, words)
    {
        run(arguments);
    }
    // SAFETY: called once, as the C library calls it, with what it gave.
    unsafe { __real_main(count, words) }
}

/// The command, if it is one of `whit rrd` that needs no runtime.
fn plain_rrd(count: c_int, words: *const *const c_char) -> Option<RrdArguments> {
    // The runtime opens `/dev/null` where a standard descriptor is closed, and `main` takes a larger
    // stack where this one is small.
    if crate::descriptors::closed() != [false; 3] || crate::stack::is_low() {
        return None;
    }
    let word = |index: usize| {
        // SAFETY: `main` has so many words (C11 5.1.2.2.1), which live as long as the program.
        OsStr::from_bytes(unsafe { CStr::from_ptr(*words.add(index)) }.to_bytes())
    };
    let count = usize::try_from(count).ok().filter(|count| *count > 1)?;
    let is_incumbent = word(0).as_bytes().rsplit(|byte| *byte == b'/').next()?.starts_with(b"rrd");
    if !is_incumbent && word(1) != "rrd" {
        return None;
    }
    let given = |from| (from..count).map(|index| word(index).to_owned()).collect();
    let arguments = match is_incumbent {
        true => RrdArguments::of(&crate::compat::command_line(given(0))),
        false => RrdArguments::after_verb(given(2)),
    };
    arguments.filter(|arguments| !arguments.is_pipe())
}

/// Runs a command and ends the process.
fn run(arguments: RrdArguments) -> ! {
    // As in the runtime, and in `main`.
    // SAFETY: a plain system call; no other thread is there that could rely on the signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    crate::size_limit::report_as_error();
    let code = rrd::code(arguments).unwrap_or_else(|error| crate::failed(&error, rrd::FAILURE));
    // SAFETY: ends the process without the destructors of libraries.  All output is written: what
    // commands print was flushed, and standard error has no buffer.
    unsafe { libc::_exit(c_int::from(code)) }
}
