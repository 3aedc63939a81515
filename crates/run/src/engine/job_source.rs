//! The source of the records or the block of the next job.
//!
//! The engine itself reads arguments and files when it needs them.  Reading a pipe or a terminal
//! may block while jobs end, so a separate thread reads those, a limited number of jobs ahead; the
//! same for standard input that is split into blocks.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;

use super::EngineError;
use super::bins::Bins;
use super::blocks::{Blocks, InputBlock, Ranges};
use super::os::Waker;
use super::queue::{NextItem, Queue};
use super::tee::Tee;
use crate::input::{InputError, Packer};
use template::Record;

/// Whether the command of the job with this number and these records is within the limits.
pub type Fits = Box<dyn FnMut(u64, &[Record]) -> bool + Send>;

/// The input of the next job.
#[derive(Debug)]
pub enum NextJob {
    /// The records of a job.
    Records(Vec<Record>),
    /// The number and the whole command line of a job.
    Given {
        /// The number, from 1.
        seq: u64,
        /// The command line.
        command: Vec<u8>,
    },
    /// The standard input of a job.
    Block(InputBlock),
    /// Nothing yet.
    NotYet,
    /// The input has ended.
    End,
}

/// Where jobs' records come from.
#[allow(clippy::large_enum_variant, reason = "there is one of them")]
pub enum JobSource {
    /// Read by the engine when needed.
    Here {
        /// Reads and packs records.
        packer: Packer,
        /// The limits.
        fits: Fits,
    },
    /// Read by a thread.
    Thread(Arc<Queue<Vec<Record>, InputError>>),
    /// Read in advance.
    Known(VecDeque<Vec<Record>>),
    /// Command lines of an earlier run, with their numbers (`--retry-failed`).
    Given(VecDeque<(u64, Vec<u8>)>),
    /// Blocks of a stream, read and split by a thread (`--pipe`).
    Blocks(Blocks),
    /// Blocks of a stream, each for one of the jobs (`--shard`, `--bin`).
    Bins(Bins),
    /// Ranges of files (`--pipe-part`).
    Ranges(Ranges),
    /// Records that are known, with all of the input for each job (`--tee`).
    Tee(VecDeque<Vec<Record>>, Tee),
}

fn size_bytes(records: &[Record]) -> usize {
    records.iter().flat_map(|record| &record.values).map(Vec::len).sum()
}

impl JobSource {
    /// Reads in the engine.
    pub fn here(packer: Packer, fits: Fits) -> Self {
        JobSource::Here { packer, fits }
    }

    /// Starts a thread that reads, and that wakes the engine when it waits for input.
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
        Ok(JobSource::Thread(queue))
    }

    /// Reads everything now, so that the number of jobs is known.  Returns the warnings too.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    pub fn known(mut packer: Packer, mut fits: Fits) -> Result<(Self, Vec<String>), InputError> {
        let mut all = VecDeque::new();
        while let Some(records) = packer.next(&mut fits)? {
            all.push_back(records);
        }
        Ok((JobSource::Known(all), packer.input().take_warnings()))
    }

    /// How many jobs are to come, if that is known.
    pub fn left(&self) -> Option<u64> {
        match self {
            JobSource::Known(all) | JobSource::Tee(all, _) => Some(all.len() as u64),
            JobSource::Given(all) => Some(all.len() as u64),
            JobSource::Ranges(ranges) => Some(ranges.left() as u64),
            JobSource::Bins(bins) => Some(bins.left()),
            JobSource::Here { .. } | JobSource::Thread(_) | JobSource::Blocks(_) => None,
        }
    }

    /// The input of the next job.
    ///
    /// # Errors
    ///
    /// If the input cannot be read; reported once.
    pub fn next_job(&mut self) -> Result<NextJob, EngineError> {
        let found = match self {
            JobSource::Here { packer, fits } => packer.next(fits)?,
            JobSource::Known(all) | JobSource::Tee(all, _) => all.pop_front(),
            JobSource::Given(all) => {
                let next = all.pop_front();
                return Ok(
                    next.map_or(NextJob::End, |(seq, command)| NextJob::Given { seq, command })
                );
            }
            JobSource::Ranges(ranges) => {
                return Ok(ranges.next().map_or(NextJob::End, NextJob::Block));
            }
            JobSource::Bins(bins) => {
                return Ok(bins.next_job().map_or(NextJob::End, NextJob::Block));
            }
            JobSource::Blocks(blocks) => {
                return Ok(match blocks.next_block()? {
                    NextItem::Item(block) => NextJob::Block(block),
                    NextItem::NotYet => NextJob::NotYet,
                    NextItem::End => NextJob::End,
                });
            }
            JobSource::Thread(queue) => match queue.next_item()? {
                NextItem::Item(records) => Some(records),
                NextItem::NotYet => return Ok(NextJob::NotYet),
                NextItem::End => None,
            },
        };
        Ok(found.map_or(NextJob::End, NextJob::Records))
    }

    /// The input that all jobs get, with `--tee`.
    pub(super) fn tee(&self) -> Option<&Tee> {
        match self {
            JobSource::Tee(_, tee) => Some(tee),
            _ => None,
        }
    }

    /// The blocks that are for one job each.
    pub(super) fn bins(&mut self) -> Option<&mut Bins> {
        match self {
            JobSource::Bins(bins) => Some(bins),
            _ => None,
        }
    }

    /// The warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        match self {
            JobSource::Here { packer, .. } => packer.input().take_warnings(),
            JobSource::Thread(queue) => queue.take_warnings(),
            JobSource::Blocks(blocks) => blocks.take_warnings(),
            JobSource::Bins(bins) => bins.blocks().take_warnings(),
            _ => Vec::new(),
        }
    }

    /// Returns the block of a job that has ended for good.
    pub(super) fn give_back(&mut self, block: InputBlock) {
        match self {
            JobSource::Blocks(blocks) => blocks.give_back(block),
            JobSource::Bins(bins) => bins.blocks().give_back(block),
            _ => {}
        }
    }
}
