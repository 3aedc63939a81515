//! The queue between a thread that reads and the engine, with a limit on what is read ahead.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::os::Waker;

/// Most items that a thread reads ahead.
const AHEAD_JOBS_MAX: usize = 1024;

/// Most bytes that a thread reads ahead; one item is always read.
const AHEAD_BYTES_MAX: usize = 4 << 20;

/// Items that a thread has read and the engine has not taken.
pub struct Queue<T, E> {
    state: Mutex<QueueState<T, E>>,
    room: Condvar,
    waker: Waker,
}

struct QueueState<T, E> {
    /// Items with their sizes.
    items: VecDeque<(T, usize)>,
    bytes: usize,
    ended: Option<Option<E>>,
    warnings: Vec<String>,
    /// The engine found no item and waits to be woken.
    is_wanted: bool,
}

/// The result of [`Queue::next_item`].
#[derive(Debug, PartialEq, Eq)]
pub enum NextItem<T> {
    /// An item.
    Item(T),
    /// No item yet: the engine will be woken.
    NotYet,
    /// No further item comes.
    End,
}

impl<T, E> QueueState<T, E> {
    fn is_full(&self) -> bool {
        self.items.len() >= AHEAD_JOBS_MAX || self.bytes >= AHEAD_BYTES_MAX
    }
}

impl<T, E> Queue<T, E> {
    /// An empty queue; `waker` wakes the engine.
    pub fn new(waker: Waker) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            bytes: 0,
            ended: None,
            warnings: Vec::new(),
            is_wanted: false,
        };
        Queue { state: Mutex::new(state), room: Condvar::new(), waker }
    }

    fn state(&self) -> MutexGuard<'_, QueueState<T, E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an item of this many bytes; returns when there is room for another.
    pub fn put(&self, item: T, bytes: usize) {
        let mut state = self.state();
        state.bytes += bytes;
        state.items.push_back((item, bytes));
        if std::mem::take(&mut state.is_wanted) {
            self.waker.wake();
        }
        while state.is_full() {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds warnings for the engine.
    pub fn warn(&self, warnings: Vec<String>) {
        if !warnings.is_empty() {
            self.state().warnings.extend(warnings);
        }
    }

    /// The warnings since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut self.state().warnings)
    }

    /// Ends the queue, with an error or at the end of the input.
    pub fn end(&self, error: Option<E>) {
        let mut state = self.state();
        state.ended = Some(error);
        if std::mem::take(&mut state.is_wanted) {
            self.waker.wake();
        }
    }

    /// The next item.
    ///
    /// # Errors
    ///
    /// The error that ended reading, once, after all items.
    pub fn next_item(&self) -> Result<NextItem<T>, E> {
        let mut state = self.state();
        let was_full = state.is_full();
        if let Some((item, bytes)) = state.items.pop_front() {
            state.bytes -= bytes;
            if was_full {
                self.room.notify_one();
            }
            return Ok(NextItem::Item(item));
        }
        match &mut state.ended {
            None => {
                state.is_wanted = true;
                Ok(NextItem::NotYet)
            }
            Some(error) => match error.take() {
                Some(error) => Err(error),
                None => Ok(NextItem::End),
            },
        }
    }
}
