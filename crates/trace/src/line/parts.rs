//! Where the arguments of a call are in its line, so that JSON gets them one by one.
//!
//! The positions are noted while the line is written, which costs two stores for each argument; the
//! line is never searched for them, because its texts may contain any separator.

use crate::CallId;

/// Most arguments of a call: six words, and what is resumed for `restart_syscall`.
const ARGUMENTS_MAX: usize = 8;

/// The positions of the arguments in the line of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallParts {
    bounds: [(u32, u32); ARGUMENTS_MAX],
    count: usize,
}

impl CallParts {
    /// An argument begins here.
    pub(super) fn begin_argument(&mut self, at: usize) {
        if let Some(bounds) = self.bounds.get_mut(self.count) {
            *bounds = (at as u32, at as u32);
            self.count += 1;
        }
    }

    /// The latest argument ends here.
    pub(super) fn end_argument(&mut self, at: usize) {
        if let Some((_, end)) = self.bounds[..self.count].last_mut() {
            *end = at as u32;
        }
    }

    /// The latest argument is not written after all.
    pub(super) fn drop_argument(&mut self) {
        self.count = self.count.saturating_sub(1);
    }

    /// The texts of a finished line, whose result begins at `result_at`.
    pub(super) fn text(&self, id: CallId, line: &[u8], result_at: usize) -> CallText {
        let text = |start: usize, end: usize| {
            let bytes = line.get(start..end).unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let bounds = self.bounds[..self.count].iter();
        let mut arguments: Vec<String> =
            bounds.map(|&(start, end)| text(start as usize, end as usize)).collect();
        // An argument that the kernel would have filled in, had the call returned.
        arguments.pop_if(|last| last.is_empty());
        CallText { id, arguments, result: text(result_at, line.len()) }
    }
}

/// A finished call in texts, as they are in its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallText {
    /// Which call.
    pub id: CallId,
    /// The arguments; for a call that did not return those that were known at its entry.
    pub arguments: Vec<String>,
    /// What is after the `=`: `3`, `-1 ENOENT (No such file or directory)`, `?`.
    pub result: String,
}
