//! The command line of this process: the one that it was started with, or, after the service has forked it
//! for a part, that of the part.

use std::ffi::OsString;
use std::sync::OnceLock;

static OF_PART: OnceLock<Vec<OsString>> = OnceLock::new();

/// This process is a part of the service from now on.
pub(crate) fn become_part(words: Vec<OsString>) {
    // It becomes one once: a part starts no service.
    let _ = OF_PART.set(words);
}

/// All words; the first is the name under which the program was called.
pub(crate) fn given() -> Vec<OsString> {
    OF_PART.get().cloned().unwrap_or_else(|| std::env::args_os().collect())
}

/// The words without the first ones, for people and for heads of files.
pub(crate) fn line_after(skipped: usize) -> String {
    let given = given();
    let words: Vec<_> = given.iter().skip(skipped).map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}
