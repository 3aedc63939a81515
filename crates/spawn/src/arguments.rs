//! The arguments and the environment of a program, laid out as execve(2) needs them.
//!
//! Both are buffers that are filled again for each job, without allocation once they have grown.

use std::ffi::{CString, c_char};
use std::sync::Arc;

/// Appends a word and the NUL that terminates it.
pub fn push_word(words: &mut Vec<u8>, word: &[u8]) {
    words.extend_from_slice(word);
    words.push(0);
}

/// The arguments of a program, and the pointers to them.
#[derive(Debug, Default)]
pub struct Arguments {
    /// NUL-terminated words.
    words: Vec<u8>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers point into `words`, which this value alone owns.
unsafe impl Send for Arguments {}
// SAFETY: a shared reference changes nothing.
unsafe impl Sync for Arguments {}

impl Arguments {
    /// Has `fill` write the words, each with its NUL ([`push_word`]).
    ///
    /// # Errors
    ///
    /// If `fill` fails; there are no words then.
    pub fn set<E>(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        self.pointers.clear();
        self.words.clear();
        let filled = fill(&mut self.words);
        if filled.is_err() {
            self.words.clear();
        }
        if self.words.last().is_some_and(|last| *last != 0) {
            self.words.push(0);
        }
        let base = self.words.as_ptr();
        let mut start = 0;
        for nul in memchr::memchr_iter(0, &self.words) {
            // `start` is within the bytes, so the pointer is too.
            self.pointers.push(base.wrapping_add(start).cast::<c_char>());
            start = nul + 1;
        }
        self.pointers.push(std::ptr::null());
        filled
    }

    /// The words, without their NULs.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.words.split_inclusive(|byte| *byte == 0).map(|word| &word[..word.len() - 1])
    }

    /// The null-terminated list for execve(2).
    pub(crate) fn pointers(&self) -> *const *const c_char {
        debug_assert!(!self.pointers.is_empty(), "set() comes first");
        self.pointers.as_ptr()
    }
}

/// The environment of jobs: variables that all share, and some whose values differ by job.
#[derive(Debug)]
pub struct Environment {
    /// The shared variables; kept because the pointers point to them.
    common: Arc<[CString]>,
    /// `NAME=` of each variable that differs by job.
    names: Arc<[Vec<u8>]>,
    own: Vec<Vec<u8>>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers point into what this value alone owns.
unsafe impl Send for Environment {}
// SAFETY: a shared reference changes nothing.
unsafe impl Sync for Environment {}

impl Environment {
    /// `common` are `NAME=value` texts; those whose name is in `own` are left out, and those with a
    /// NUL, which cannot be passed.
    pub fn new(common: impl IntoIterator<Item = Vec<u8>>, own: &[String]) -> Self {
        let is_own = |text: &[u8]| {
            let name = text.split(|&byte| byte == b'=').next().unwrap_or_default();
            own.iter().any(|own| own.as_bytes() == name)
        };
        let common = common
            .into_iter()
            .filter(|text| !is_own(text))
            .filter_map(|text| CString::new(text).ok())
            .collect();
        let names = own.iter().map(|name| format!("{name}=").into_bytes()).collect();
        Self::with(common, names)
    }

    fn with(common: Arc<[CString]>, names: Arc<[Vec<u8>]>) -> Self {
        let pointers = common.iter().map(|text| text.as_ptr()).collect();
        let own = names.to_vec();
        let mut environment = Environment { common, names, own, pointers };
        environment.set(&[]);
        environment
    }

    /// Another environment with the same shared variables.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::with(Arc::clone(&self.common), Arc::clone(&self.names))
    }

    /// Sets the variables that differ by job, in the order of their names; those without a value
    /// are left out.
    pub fn set(&mut self, values: &[&[u8]]) {
        self.pointers.truncate(self.common.len());
        for ((own, name), value) in self.own.iter_mut().zip(&*self.names).zip(values) {
            own.clear();
            own.extend_from_slice(name);
            own.extend(value.iter().copied().filter(|&byte| byte != 0));
            own.push(0);
        }
        self.pointers.extend(self.own.iter().take(values.len()).map(|own| own.as_ptr().cast()));
        self.pointers.push(std::ptr::null());
    }

    /// The null-terminated list for execve(2).
    pub(crate) fn pointers(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}
