//! `parallel`: its command line is that of `whit run`.

use std::ffi::OsString;

/// The same words behind the verb.
pub(super) fn translate(words: Vec<OsString>) -> Vec<OsString> {
    std::iter::once(OsString::from("run")).chain(words).collect()
}
