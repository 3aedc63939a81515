//! `parallel`: its command line is that of `whit run`; `sem`: the same with `--semaphore`.

use std::ffi::OsString;

/// Puts the verb before the words.
pub(super) fn translate(words: Vec<OsString>) -> Vec<OsString> {
    std::iter::once(OsString::from("run")).chain(words).collect()
}

/// Puts the verb and `--semaphore` before the words.
pub(super) fn translate_sem(words: Vec<OsString>) -> Vec<OsString> {
    ["run", "--semaphore"].map(OsString::from).into_iter().chain(words).collect()
}
