//! Files that wait to be written, and the writers that wait for them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::cache::Entry;
use crate::locks::lock;

/// Files in the order in which they are written.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    files: VecDeque<Arc<Entry>>,
    is_closed: bool,
}

impl Queue {
    /// Puts a file at the end.  The caller has marked it as queued.
    pub(crate) fn push(&self, entry: Arc<Entry>) {
        lock(&self.state).files.push_back(entry);
        self.filled.notify_one();
    }

    /// Takes up to `count` files, waiting for one; `None` when the queue is closed.
    pub(crate) fn take(&self, count: usize) -> Option<Vec<Arc<Entry>>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return None;
            }
            if !state.files.is_empty() {
                let count = count.min(state.files.len());
                return Some(state.files.drain(..count).collect());
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).files.len()
    }

    /// The files.
    pub(crate) fn files(&self) -> Vec<Arc<Entry>> {
        lock(&self.state).files.iter().cloned().collect()
    }

    /// Sends writers away.
    pub(crate) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.filled.notify_all();
    }
}
