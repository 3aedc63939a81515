//! Records for the next job, whether they are there already or still to be read.
//!
//! Arguments and files are read where they are wanted.  A pipe or a terminal may keep its reader
//! waiting while jobs end, so those are read by a thread of their own, a bounded way ahead.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::world::Waker;
use crate::Record;
use crate::input::{InputError, Packer};

/// How many jobs' records a thread reads ahead.
const AHEAD_JOBS_MAX: usize = 1024;

/// How many bytes of them.
const AHEAD_BYTES_MAX: usize = 4 << 20;

/// Says whether a command with these records is within the limits.
pub type Fits = Box<dyn FnMut(&[Record]) -> bool + Send>;

/// What there is for the next job.
#[derive(Debug)]
pub enum Next {
    /// Its records.
    Records(Vec<Record>),
    /// Its number and its whole command line.
    Given {
        /// The number, from 1.
        seq: u64,
        /// The command line.
        command: Vec<u8>,
    },
    /// Nothing yet.
    NotYet,
    /// Nothing any more.
    End,
}

/// Where jobs' records come from.
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub enum Feed {
    /// Read when asked for.
    Here {
        /// What is read.
        packer: Packer,
        /// The limits.
        fits: Fits,
    },
    /// Read by a thread.
    Thread(Arc<Queue>),
    /// Read already.
    Known(VecDeque<Vec<Record>>),
    /// Command lines of an earlier run, with their numbers (`--retry-failed`).
    Given(VecDeque<(u64, Vec<u8>)>),
    /// Nothing is read: so many jobs without records (`--pipe` has its blocks instead).
    Empty,
}

/// Between the reading thread and the engine.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    room: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Vec<Record>>,
    size_bytes: usize,
    ended: Option<Option<InputError>>,
    /// The engine found nothing and waits to be woken.
    is_wanted: bool,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size_bytes(records: &[Record]) -> usize {
    records.iter().flat_map(|record| &record.values).map(Vec::len).sum()
}

impl Feed {
    /// Reads here.
    pub fn here(packer: Packer, fits: Fits) -> Self {
        Feed::Here { packer, fits }
    }

    /// Has a thread read, which wakes the engine when it waits for more.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn thread(mut packer: Packer, mut fits: Fits, waker: Waker) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let ours = Arc::clone(&queue);
        thread::Builder::new().name("input".into()).spawn(move || {
            loop {
                let next = packer.next(&mut fits);
                let mut state = ours.state();
                let is_last = match next {
                    Ok(Some(records)) => {
                        state.size_bytes += size_bytes(&records);
                        state.jobs.push_back(records);
                        false
                    }
                    Ok(None) => {
                        state.ended = Some(None);
                        true
                    }
                    Err(error) => {
                        state.ended = Some(Some(error));
                        true
                    }
                };
                if std::mem::take(&mut state.is_wanted) {
                    waker.wake();
                }
                if is_last {
                    return;
                }
                while state.jobs.len() >= AHEAD_JOBS_MAX || state.size_bytes >= AHEAD_BYTES_MAX {
                    state = ours.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        })?;
        Ok(Feed::Thread(queue))
    }

    /// Reads everything now, so that the number of jobs is known.
    ///
    /// # Errors
    ///
    /// What the input says.
    pub fn known(mut packer: Packer, mut fits: Fits) -> Result<Self, InputError> {
        let mut all = VecDeque::new();
        while let Some(records) = packer.next(&mut fits)? {
            all.push_back(records);
        }
        Ok(Feed::Known(all))
    }

    /// How many jobs are still to come, if that is known.
    pub fn left(&self) -> Option<u64> {
        match self {
            Feed::Known(all) => Some(all.len() as u64),
            Feed::Given(all) => Some(all.len() as u64),
            Feed::Empty => Some(0),
            Feed::Here { .. } | Feed::Thread(_) => None,
        }
    }

    /// The records of the next job.
    ///
    /// # Errors
    ///
    /// What the input says, once.
    pub fn take(&mut self) -> Result<Next, InputError> {
        let found = match self {
            Feed::Here { packer, fits } => packer.next(fits)?,
            Feed::Known(all) => all.pop_front(),
            Feed::Given(all) => {
                let next = all.pop_front();
                return Ok(next.map_or(Next::End, |(seq, command)| Next::Given { seq, command }));
            }
            Feed::Empty => None,
            Feed::Thread(queue) => {
                let mut state = queue.state();
                match state.jobs.pop_front() {
                    Some(records) => {
                        let was_full = state.jobs.len() + 1 >= AHEAD_JOBS_MAX
                            || state.size_bytes >= AHEAD_BYTES_MAX;
                        state.size_bytes -= size_bytes(&records);
                        if was_full {
                            queue.room.notify_one();
                        }
                        Some(records)
                    }
                    None => match &mut state.ended {
                        None => {
                            state.is_wanted = true;
                            return Ok(Next::NotYet);
                        }
                        Some(error) => match error.take() {
                            Some(error) => return Err(error),
                            None => None,
                        },
                    },
                }
            }
        };
        Ok(found.map_or(Next::End, Next::Records))
    }
}
