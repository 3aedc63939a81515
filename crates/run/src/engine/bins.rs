//! Lines for the job that their key names (`--shard`, `--bin`): as many jobs as slots, all at once.
//!
//! The thread that reads sorts the lines of each block by job ([`Sorter`]); the engine hands a block
//! to its job when that has read the one before.  So the slowest job sets the pace, and memory holds
//! a few MiB however long the stream is.  Lines of a job that no longer reads are dropped.

use std::sync::Arc;

use perl::leading_integer;

use super::blocks::{Blocks, Body, InputBlock};
use super::queue::Taken;
use super::*;
use crate::pipe::LineKey;
use crate::pipe::key::KeyFinder;

/// Which job a line is for.
#[derive(Clone, Debug)]
pub struct Binning {
    /// How its key is found.
    pub key: LineKey,
    /// The key is hashed; otherwise it is the number of the job.
    pub hashes: bool,
    /// How many jobs there are.
    pub jobs: u32,
}

/// Sorts lines by job.
pub(super) struct Sorter {
    binning: Binning,
    finder: Option<KeyFinder>,
    /// The header, and which jobs have it.
    header: Arc<[u8]>,
    have_header: Vec<bool>,
    bins: Vec<Vec<u8>>,
}

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

impl Sorter {
    pub(super) fn new(binning: Binning) -> Self {
        let jobs = binning.jobs as usize;
        Sorter {
            binning,
            finder: None,
            header: Arc::default(),
            have_header: vec![false; jobs],
            bins: vec![Vec::new(); jobs],
        }
    }

    /// The lines of `bytes`, by job: the first has number 1.
    pub(super) fn sort(
        &mut self,
        bytes: &[u8],
        header: &Arc<[u8]>,
    ) -> Result<Vec<InputBlock>, PipeError> {
        let finder = match &mut self.finder {
            Some(finder) => finder,
            none => {
                self.header = Arc::clone(header);
                none.insert(self.binning.key.finder(header)?)
            }
        };
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let job = self.binning.job(&finder.key(line)?);
            if !std::mem::replace(&mut self.have_header[job], true) {
                self.bins[job].extend_from_slice(&self.header);
            }
            self.bins[job].extend_from_slice(line);
        }
        Ok(self.take())
    }

    /// The header for the jobs that got no line.
    pub(super) fn rest(&mut self) -> Vec<InputBlock> {
        for (bin, has_header) in self.bins.iter_mut().zip(&self.have_header) {
            if !has_header {
                bin.extend_from_slice(&self.header);
            }
        }
        self.take()
    }

    fn take(&mut self) -> Vec<InputBlock> {
        let bins = self.bins.iter_mut().zip(1..).filter(|(bin, _)| !bin.is_empty());
        let block = |(bin, job): (&mut Vec<u8>, u32)| {
            InputBlock::for_job(Body::Bytes(std::mem::take(bin)), job)
        };
        bins.map(block).collect()
    }
}

impl Binning {
    /// The index of the job for a key.
    fn job(&self, key: &[u8]) -> usize {
        let jobs = u64::from(self.jobs.max(1));
        let index = match self.hashes {
            // FNV-1a: the same in each run, as users expect of a job's share.
            true => key.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
            }),
            false => {
                let number = leading_integer(&String::from_utf8_lossy(key));
                number.saturating_sub(1).rem_euclid(jobs.cast_signed()).cast_unsigned()
            }
        };
        usize::try_from(index % jobs).unwrap_or_default()
    }
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

    fn next_block(&mut self) -> Result<Taken<InputBlock>, PipeError> {
        match self.pending.take() {
            Some(block) => Ok(Taken::Item(block)),
            None if self.has_ended => Ok(Taken::End),
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
                Taken::NotYet => return Ok(()),
                Taken::End => {
                    bins.has_ended = true;
                    let jobs = self.slots.iter_mut().flatten();
                    let sending = jobs.filter_map(|job| job.sending.as_mut());
                    sending.filter(|it| it.is_idle()).for_each(|it| it.close_writer());
                    return Ok(());
                }
                Taken::Item(block) => block,
            };
            let number = u64::from(block.job);
            let running = self.slots.iter_mut().flatten().find(|job| job.seq == number);
            if let Some(job) = running {
                let slot = job.slot;
                match job.sending.as_mut() {
                    Some(sending) if sending.is_idle() => {
                        let before = sending.go_on(block);
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
