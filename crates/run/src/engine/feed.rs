//! Records for the next job, whether they are there already or still to be read.
//!
//! Arguments and files are read where they are wanted.  A pipe or a terminal may keep its reader
//! waiting while jobs end, so those are read by a thread of their own, a bounded way ahead; so is
//! standard input that is cut into blocks.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;

use super::EngineError;
use super::blocks::{Block, Blocks, Ranges};
use super::queue::{Queue, Taken};
use super::tee::Tee;
use super::world::Waker;
use crate::input::{InputError, Packer};
use template::Record;

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
    /// What it reads.
    Block(Block),
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
    Thread(Arc<Queue<Vec<Record>, InputError>>),
    /// Read already.
    Known(VecDeque<Vec<Record>>),
    /// Command lines of an earlier run, with their numbers (`--retry-failed`).
    Given(VecDeque<(u64, Vec<u8>)>),
    /// Blocks of a stream, read and cut by a thread (`--pipe`).
    Blocks(Blocks),
    /// Ranges of files (`--pipe-part`).
    Ranges(Ranges),
    /// Records that are known, and all of the input for each job (`--tee`).
    Tee(VecDeque<Vec<Record>>, Tee),
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
        let queue = Arc::new(Queue::new(waker));
        let ours = Arc::clone(&queue);
        thread::Builder::new().name("input".into()).spawn(move || {
            loop {
                let next = packer.next(&mut fits);
                ours.warn(packer.input().take_warnings());
                match next {
                    Ok(Some(records)) => {
                        let bytes = size_bytes(&records);
                        ours.put(records, bytes);
                    }
                    Ok(None) => return ours.end(None),
                    Err(error) => return ours.end(Some(error)),
                }
            }
        })?;
        Ok(Feed::Thread(queue))
    }

    /// Reads everything now, so that the number of jobs is known; beside it what is worth a
    /// warning.
    ///
    /// # Errors
    ///
    /// What the input says.
    pub fn known(mut packer: Packer, mut fits: Fits) -> Result<(Self, Vec<String>), InputError> {
        let mut all = VecDeque::new();
        while let Some(records) = packer.next(&mut fits)? {
            all.push_back(records);
        }
        Ok((Feed::Known(all), packer.input().take_warnings()))
    }

    /// How many jobs are still to come, if that is known.
    pub fn left(&self) -> Option<u64> {
        match self {
            Feed::Known(all) | Feed::Tee(all, _) => Some(all.len() as u64),
            Feed::Given(all) => Some(all.len() as u64),
            Feed::Ranges(ranges) => Some(ranges.left() as u64),
            Feed::Here { .. } | Feed::Thread(_) | Feed::Blocks(_) => None,
        }
    }

    /// What the next job is given.
    ///
    /// # Errors
    ///
    /// What the input says, once.
    pub fn take(&mut self) -> Result<Next, EngineError> {
        let found = match self {
            Feed::Here { packer, fits } => packer.next(fits)?,
            Feed::Known(all) | Feed::Tee(all, _) => all.pop_front(),
            Feed::Given(all) => {
                let next = all.pop_front();
                return Ok(next.map_or(Next::End, |(seq, command)| Next::Given { seq, command }));
            }
            Feed::Ranges(ranges) => return Ok(ranges.next().map_or(Next::End, Next::Block)),
            Feed::Blocks(blocks) => {
                return Ok(match blocks.take()? {
                    Taken::Item(block) => Next::Block(block),
                    Taken::NotYet => Next::NotYet,
                    Taken::End => Next::End,
                });
            }
            Feed::Thread(queue) => match queue.take()? {
                Taken::Item(records) => Some(records),
                Taken::NotYet => return Ok(Next::NotYet),
                Taken::End => None,
            },
        };
        Ok(found.map_or(Next::End, Next::Records))
    }

    /// What all jobs are given, if they are.
    pub(super) fn tee(&self) -> Option<&Tee> {
        match self {
            Feed::Tee(_, tee) => Some(tee),
            _ => None,
        }
    }

    /// What is worth a warning since this was last asked for.
    pub fn take_warnings(&mut self) -> Vec<String> {
        match self {
            Feed::Here { packer, .. } => packer.input().take_warnings(),
            Feed::Thread(queue) => queue.take_warnings(),
            Feed::Blocks(blocks) => blocks.take_warnings(),
            _ => Vec::new(),
        }
    }

    /// Gives back a block whose job has ended for good.
    pub(super) fn give_back(&mut self, block: Block) {
        if let Feed::Blocks(blocks) = self {
            blocks.give_back(block);
        }
    }
}
