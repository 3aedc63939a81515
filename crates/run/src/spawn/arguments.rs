//! The words and the environment of a program, laid out as execve(2) wants them.
//!
//! Both are buffers that are filled again for each job: once they have grown, nothing is allocated.

use std::ffi::{CString, c_char};

/// Words one after the other, a NUL behind each, and the pointers to them.
#[derive(Debug, Default)]
pub struct Words {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    pointers: Vec<*const c_char>,
}

// SAFETY: the pointers point into `bytes`, which this value owns; nobody else has them.
unsafe impl Send for Words {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Words {}

impl Words {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
        self.pointers.clear();
    }

    /// Adds a word.  Anything from a NUL on would be lost on the way, so it is told.
    ///
    /// Returns false, and adds nothing, if the word has a NUL.
    pub fn push(&mut self, word: &[u8]) -> bool {
        if memchr::memchr(0, word).is_some() {
            return false;
        }
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(word);
        self.bytes.push(0);
        true
    }

    /// Lays out the pointers; to be called after the last [`push`](Self::push).
    pub fn finish(&mut self) {
        self.pointers.clear();
        let base = self.bytes.as_ptr();
        // A start lies within the bytes, so that no pointer leaves them.
        self.pointers.extend(self.starts.iter().map(|&start| base.wrapping_add(start).cast()));
        self.pointers.push(std::ptr::null());
    }

    /// Bytes of all words, NULs included.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The list for execve(2), ended by a null pointer.
    pub(super) fn pointers(&self) -> *const *const c_char {
        debug_assert_eq!(self.pointers.len(), self.starts.len() + 1, "finish() comes first");
        self.pointers.as_ptr()
    }
}

/// The environment of jobs: what all of them have, and room for what each has of its own.
#[derive(Debug)]
pub struct Environment {
    /// What is the same for all; kept so that the pointers stay true.
    _common: Vec<CString>,
    pointers: Vec<*const c_char>,
    common: usize,
    /// `NAME=` of each variable of a job's own.
    names: Vec<Vec<u8>>,
    own: Vec<Vec<u8>>,
}

// SAFETY: the pointers point into what this value owns; nobody else has them.
unsafe impl Send for Environment {}
// SAFETY: nothing is changed through a shared reference.
unsafe impl Sync for Environment {}

impl Environment {
    /// `common` are `NAME=value` texts; those whose name is one of `own` are left out, as are those
    /// with a NUL, which cannot be.
    pub fn new(common: impl IntoIterator<Item = Vec<u8>>, own: &[&str]) -> Self {
        let is_own = |text: &[u8]| {
            own.iter().any(|name| {
                text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
            })
        };
        let common: Vec<CString> = common
            .into_iter()
            .filter(|text| !is_own(text))
            .filter_map(|text| CString::new(text).ok())
            .collect();
        let names: Vec<Vec<u8>> = own.iter().map(|name| format!("{name}=").into_bytes()).collect();
        let mut environment = Environment {
            pointers: common.iter().map(|text| text.as_ptr()).collect(),
            common: common.len(),
            _common: common,
            own: names.clone(),
            names,
        };
        environment.set(&[]);
        environment
    }

    /// Gives a job's own variables their values, in the order in which they were named; those
    /// without a value are left out.
    pub fn set(&mut self, values: &[&[u8]]) {
        self.pointers.truncate(self.common);
        for ((own, name), value) in self.own.iter_mut().zip(&self.names).zip(values) {
            own.clear();
            own.extend_from_slice(name);
            own.extend(value.iter().copied().filter(|&byte| byte != 0));
            own.push(0);
        }
        self.pointers.extend(self.own.iter().take(values.len()).map(|own| own.as_ptr().cast()));
        self.pointers.push(std::ptr::null());
    }

    /// The list for execve(2), ended by a null pointer.
    pub(super) fn pointers(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}
