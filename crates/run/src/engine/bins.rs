//! Lines for the job that their key names (`--shard`, `--bin`): as many jobs as slots, all at once.
//!
//! The thread that reads sorts the lines of each block by job ([`crate::pipe`]); the engine hands a
//! block to its job when that has read the one before.  So the slowest job sets the pace, and memory
//! holds a few MiB however long the stream is.  Lines of a job that no longer reads are dropped.

use super::blocks::{Blocks, Body, InputBlock};
use super::queue::NextItem;
use super::*;

/// Blocks, each for one job.
pub struct Bins {
    blocks: Blocks,
    jobs: u32,
    /// Jobs that the engine has asked for.
    begun: u32,
    /// The next block, whose job is not ready.
    pending: Option<InputBlock>,
    has_ended: bool,
}

impl Bins {
    /// Blocks from a thread that sorts them for this many jobs.
    pub fn new(blocks: Blocks, jobs: u32) -> Self {
        Bins { blocks, jobs, begun: 0, pending: None, has_ended: false }
    }

    /// The input of the next job, which is empty yet.
    pub(super) fn next_job(&mut self) -> Option<InputBlock> {
        let next = self.begun + 1;
        (next <= self.jobs).then(|| {
            self.begun = next;
            InputBlock::for_job(Body::Bytes(Vec::new()), next)
        })
    }

    pub(super) fn left(&self) -> u64 {
        u64::from(self.jobs - self.begun)
    }

    pub(super) fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn next_block(&mut self) -> Result<NextItem<InputBlock>, PipeError> {
        match self.pending.take() {
            Some(block) => Ok(NextItem::Item(block)),
            None if self.has_ended => Ok(NextItem::End),
            None => self.blocks.next_block(),
        }
    }
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// Gives the blocks that have come to their jobs, and closes the jobs' input after the last.
    pub(super) fn hand_out_bins(&mut self) -> Result<(), EngineError> {
        loop {
            let Some(bins) = self.job_source.bins() else { return Ok(()) };
            let block = match bins.next_block()? {
                NextItem::NotYet => return Ok(()),
                NextItem::End => {
                    bins.has_ended = true;
                    let jobs = self.slots.iter_mut().flatten();
                    let sending = jobs.filter_map(|job| job.sending.as_mut());
                    sending.filter(|it| it.is_idle()).for_each(|it| it.close_writer());
                    return Ok(());
                }
                NextItem::Item(block) => block,
            };
            let number = u64::from(block.job);
            let running = self.slots.iter_mut().flatten().find(|job| job.seq == number);
            if let Some(job) = running {
                let slot = job.slot;
                match job.sending.as_mut() {
                    Some(sending) if sending.is_idle() => {
                        let before = sending.continue_with(block);
                        self.job_source.give_back(before);
                        self.write_stdin(slot)?;
                    }
                    Some(sending) if sending.writer().is_some() => {
                        self.keep_block(block);
                        return Ok(());
                    }
                    _ => self.job_source.give_back(block),
                }
                continue;
            }
            let is_to_come = !self.has_ended && number > self.seq
                || self.again.iter().any(|job| job.seq == number);
            if is_to_come {
                self.keep_block(block);
                return Ok(());
            }
            self.job_source.give_back(block);
        }
    }

    /// Keeps a block until its job is ready.
    fn keep_block(&mut self, block: InputBlock) {
        if let Some(bins) = self.job_source.bins() {
            bins.pending = Some(block);
        }
    }
}
