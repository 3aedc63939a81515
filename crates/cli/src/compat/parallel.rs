//! `parallel`: its command line is that of `whit run`; `sem`: the same with `--semaphore`.

use std::ffi::OsString;

/// The same words after the verb.
pub(super) fn translate(words: Vec<OsString>) -> Vec<OsString> {
    std::iter::once(OsString::from("run")).chain(words).collect()
}

/// The same words after the verb and `--semaphore`.
pub(super) fn translate_sem(words: Vec<OsString>) -> Vec<OsString> {
    ["run", "--semaphore"].map(OsString::from).into_iter().chain(words).collect()
}
