//! Files that wait to be written, and the writers that wait for them.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crate::cache::Entry;
use crate::locks::lock;

/// Files in the order in which they are written.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    files: VecDeque<Arc<Entry>>,
    is_closed: bool,
    /// Writers that wait: to wake costs a system call, also if nobody sleeps.
    waiting: usize,
}

impl Queue {
    /// Puts a file at the end.  The caller has marked it as queued.
    pub(crate) fn push(&self, entry: Arc<Entry>) {
        let mut state = lock(&self.state);
        state.files.push_back(entry);
        // One is woken for the first file of many: it takes as many as it can, and wakes the next.
        let wakes = state.waiting > 0 && state.files.len() == 1;
        drop(state);
        if wakes {
            self.filled.notify_one();
        }
    }

    /// Takes up to `count` files, waiting for one; `None` when the queue is closed.
    pub(crate) fn take_files(&self, count: usize) -> Option<Vec<Arc<Entry>>> {
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return None;
            }
            if !state.files.is_empty() {
                let count = count.min(state.files.len());
                let files = state.files.drain(..count).collect();
                if state.waiting > 0 && !state.files.is_empty() {
                    self.filled.notify_one();
                }
                return Some(files);
            }
            state.waiting += 1;
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
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
