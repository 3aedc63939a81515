//! The lines of a stream, sorted by the job that their key names (`--shard`, `--bin`).

use perl::leading_integer;

use super::PipeError;
use super::key::{KeyFinder, LineKey};

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
pub(crate) struct Sorter {
    binning: Binning,
    finder: Option<KeyFinder>,
    /// The header, and which jobs have it.
    header: Vec<u8>,
    have_header: Vec<bool>,
    bins: Vec<Vec<u8>>,
}

impl Sorter {
    pub(crate) fn new(binning: Binning) -> Self {
        let jobs = binning.jobs as usize;
        Sorter {
            binning,
            finder: None,
            header: Vec::new(),
            have_header: vec![false; jobs],
            bins: vec![Vec::new(); jobs],
        }
    }

    /// The lines of `bytes`, by job: the first has number 1.
    pub(crate) fn sort(
        &mut self,
        bytes: &[u8],
        header: &[u8],
    ) -> Result<Vec<(u32, Vec<u8>)>, PipeError> {
        let finder = match &mut self.finder {
            Some(finder) => finder,
            none => {
                self.header = header.to_vec();
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
    pub(crate) fn rest(&mut self) -> Vec<(u32, Vec<u8>)> {
        for (bin, has_header) in self.bins.iter_mut().zip(&self.have_header) {
            if !has_header {
                bin.extend_from_slice(&self.header);
            }
        }
        self.take()
    }

    fn take(&mut self) -> Vec<(u32, Vec<u8>)> {
        let bins = (1..).zip(&mut self.bins).filter(|(_, bin)| !bin.is_empty());
        bins.map(|(job, bin)| (job, std::mem::take(bin))).collect()
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
