//! Packs several records into one job: `-N -n -L -l -X -m --xargs -s -x`.

use std::collections::VecDeque;
use std::mem;

use super::values::shown;
use super::{Input, InputError};
use template::Record;

/// How many records go into one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPacking {
    /// Most records: 1 for one each, the number of `-n`, `-N`, `-L`, or `u64::MAX` for as many as
    /// the command line holds (`-X`, `-m`, `--xargs`, `-s`).  0 reads one and passes none.
    pub records_max: u64,
    /// Distribute the last records evenly over this many slots (`-X` and `-m`, unless `-j1`).
    pub spread: Option<u32>,
    /// Fail if fewer than `records_max` fit (`-x`).
    pub exact: bool,
}

impl Default for RecordPacking {
    fn default() -> Self {
        RecordPacking { records_max: 1, spread: None, exact: false }
    }
}

/// Packs records into jobs.
pub struct Packer {
    input: Input,
    packing: RecordPacking,
    /// Records that were read and are in no job yet.
    waiting: VecDeque<Record>,
    /// The records of the job that is being packed.
    taken: Vec<Record>,
    /// How many of `taken` are known to fit.
    fitting: usize,
    /// The number of the job that is being packed, from 1.
    seq: u64,
    /// How many records to try first: as many as the previous job had.
    guess: u64,
    /// Once the last records are distributed: how many a job gets.
    share: Option<u64>,
    /// The error that ended the input, returned after all records before it.
    broken: Option<InputError>,
    ended: bool,
}

/// Records tried first when a command line is to be filled.
const GUESS_FIRST: u64 = 256;

impl Packer {
    /// Packs the records of this input.
    pub fn new(input: Input, packing: RecordPacking) -> Packer {
        Packer {
            input,
            packing,
            waiting: VecDeque::new(),
            taken: Vec::new(),
            fitting: 0,
            seq: 1,
            guess: GUESS_FIRST,
            share: None,
            broken: None,
            ended: false,
        }
    }

    /// The input, for its names and warnings.
    pub fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    /// Reads all records now; returns how many there are for the jobs to come.
    ///
    /// # Errors
    ///
    /// A temporary one.
    pub fn read_ahead(&mut self) -> Result<u64, InputError> {
        let mut all = VecDeque::new();
        while let Some(record) = self.read()? {
            all.push_back(record);
        }
        self.waiting = all;
        Ok(self.waiting.len() as u64)
    }

    /// The records of the next job, or `None` at the end.  `fits` decides whether the command of
    /// the job with this number and these records is within the limits; with many records it is
    /// called about ten times for a job, not for each record.  After a temporary error
    /// (`WouldBlock` of a stream) it may be called again.
    pub fn next(
        &mut self,
        mut fits: impl FnMut(u64, &[Record]) -> bool,
    ) -> Result<Option<Vec<Record>>, InputError> {
        if self.packing.records_max == 0 {
            return match self.read()? {
                Some(_) => Ok(Some(Vec::new())),
                None => self.broken.take().map_or(Ok(None), Err),
            };
        }
        let seq = self.seq;
        let mut fits = |records: &[Record]| fits(seq, records);
        if self.share.is_none() {
            self.fill(self.packing.records_max, &mut fits)?;
            self.spread()?;
        }
        if let Some(share) = self.share {
            // A later job may hold fewer: its number may have more digits.
            self.fill(share, &mut fits)?;
        }
        self.fitting = 0;
        if self.taken.is_empty() {
            return self.broken.take().map_or(Ok(None), Err);
        }
        self.seq += 1;
        self.guess = self.taken.len() as u64;
        Ok(Some(mem::take(&mut self.taken)))
    }

    /// Takes as many records as fit, at most `most`: increases the number until there are too many,
    /// then finds the limit by binary search.
    fn fill(
        &mut self,
        most: u64,
        fits: &mut impl FnMut(&[Record]) -> bool,
    ) -> Result<(), InputError> {
        let mut target = self.guess.min(most);
        let mut step = target / 16 + 1;
        loop {
            while (self.taken.len() as u64) < target {
                let Some(record) = self.read()? else { break };
                self.taken.push(record);
            }
            if self.taken.len() == self.fitting {
                return Ok(());
            }
            if !fits(&self.taken) {
                break;
            }
            self.fitting = self.taken.len();
            if self.fitting as u64 == most || (self.ended && self.waiting.is_empty()) {
                return Ok(());
            }
            target = target.saturating_add(step).min(most);
            step = step.saturating_mul(2);
        }
        let mut too_many = self.taken.len();
        while too_many - self.fitting > 1 {
            let middle = self.fitting.midpoint(too_many);
            if fits(&self.taken[..middle]) {
                self.fitting = middle;
            } else {
                too_many = middle;
            }
        }
        for record in self.taken.drain(self.fitting..).rev() {
            self.waiting.push_front(record);
        }
        if self.fitting == 0 {
            let values = self.waiting.pop_front().unwrap_or_default().values;
            return Err(InputError::DoesNotFit { argument: shown(&values.join(&b' ')) });
        }
        if self.packing.exact && self.share.is_none() && most < u64::MAX {
            return Err(InputError::TooManyForOne { wanted: most });
        }
        Ok(())
    }

    /// If all remaining records are in this job, gives each slot its share of them.
    fn spread(&mut self) -> Result<(), InputError> {
        let Some(slots) = self.packing.spread else { return Ok(()) };
        if let Some(next) = self.read()? {
            self.waiting.push_front(next);
            return Ok(());
        }
        let share = self.taken.len().div_ceil(slots.max(1) as usize).max(1);
        self.share = Some(share as u64);
        self.waiting.extend(self.taken.drain(..));
        self.fitting = 0;
        Ok(())
    }

    /// The next record; `None` at the end, and at a permanent error.
    fn read(&mut self) -> Result<Option<Record>, InputError> {
        if let Some(record) = self.waiting.pop_front() {
            return Ok(Some(record));
        }
        if self.ended {
            return Ok(None);
        }
        match self.input.next() {
            Some(Ok(record)) => return Ok(Some(record)),
            Some(Err(error)) if error.passes() => return Err(error),
            Some(Err(error)) => self.broken = Some(error),
            None => {}
        }
        self.ended = true;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{InputOptions, InputSource, Linked, open};

    fn packer(arguments: &[&str], packing: RecordPacking) -> Packer {
        let arguments = arguments.iter().map(|text| text.as_bytes().to_vec()).collect();
        let sources = vec![(InputSource::Arguments(arguments), Linked::No)];
        let input = open(sources, &InputOptions::default(), Box::new(std::io::empty())).unwrap();
        Packer::new(input, packing)
    }

    /// The jobs, as text; the limit is on the bytes of a command with a blank before each value.
    fn jobs(packer: &mut Packer, limit: usize) -> Result<Vec<String>, InputError> {
        let length = |records: &[Record]| -> usize {
            records.iter().flat_map(|record| &record.values).map(|value| value.len() + 1).sum()
        };
        let mut jobs = Vec::new();
        while let Some(records) = packer.next(|_, records| length(records) <= limit)? {
            let values: Vec<_> = records.into_iter().flat_map(|record| record.values).collect();
            jobs.push(String::from_utf8(values.join(&b' ')).unwrap());
        }
        Ok(jobs)
    }

    fn filling(spread: Option<u32>) -> RecordPacking {
        RecordPacking { records_max: u64::MAX, spread, exact: false }
    }

    const DIGITS: [&str; 9] = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

    #[test]
    fn at_most_so_many() {
        let pack = |records_max| RecordPacking { records_max, ..RecordPacking::default() };
        assert_eq!(jobs(&mut packer(&DIGITS[..3], pack(1)), 99).unwrap(), ["1", "2", "3"]);
        assert_eq!(jobs(&mut packer(&DIGITS[..5], pack(2)), 99).unwrap(), ["1 2", "3 4", "5"]);
        assert_eq!(jobs(&mut packer(&DIGITS[..2], pack(0)), 99).unwrap(), ["", ""]);
        assert_eq!(jobs(&mut packer(&[], pack(2)), 99).unwrap(), [""; 0]);
    }

    #[test]
    fn what_was_read_ahead_is_packed_as_before() {
        let mut packer =
            packer(&DIGITS[..5], RecordPacking { records_max: 2, ..RecordPacking::default() });
        assert_eq!(packer.read_ahead().unwrap(), 5);
        assert_eq!(jobs(&mut packer, 99).unwrap(), ["1 2", "3 4", "5"]);
    }

    #[test]
    fn the_last_ones_are_spread_over_the_slots() {
        let pack =
            |records_max, slots| RecordPacking { records_max, spread: Some(slots), exact: false };
        let spread = |count, max, slots| jobs(&mut packer(&DIGITS[..count], pack(max, slots)), 99);
        assert_eq!(spread(7, u64::MAX, 3).unwrap(), ["1 2 3", "4 5 6", "7"]);
        assert_eq!(spread(3, u64::MAX, 9).unwrap(), ["1", "2", "3"]);
        assert_eq!(spread(7, 4, 2).unwrap(), ["1 2 3 4", "5 6", "7"]);
        assert_eq!(spread(8, 4, 2).unwrap(), ["1 2 3 4", "5 6", "7 8"]);
        assert_eq!(spread(9, 4, 2).unwrap(), ["1 2 3 4", "5 6 7 8", "9"]);
        assert_eq!(spread(7, 3, u32::MAX).unwrap(), ["1 2 3", "4 5 6", "7"]);
    }

    #[test]
    fn the_length_bounds_a_job() {
        let jobs = |spread| jobs(&mut packer(&DIGITS, filling(spread)), 9).unwrap();
        assert_eq!(jobs(None), ["1 2 3 4", "5 6 7 8", "9"]);
        assert_eq!(jobs(Some(4)), ["1 2 3 4", "5 6 7 8", "9"]);
        // The second job is tried with as many records as the first, and holds more.
        let values = ["55555", "22", "1", "2", "3", "4", "5"];
        let jobs = super::tests::jobs(&mut packer(&values, filling(None)), 9).unwrap();
        assert_eq!(jobs, ["55555 22", "1 2 3 4", "5"]);
    }

    #[test]
    fn a_record_that_never_fits_is_an_error_after_those_before_it() {
        let mut packer = packer(&["1", "2", "toolong", "3"], filling(None));
        let first = packer.next(|_, records| records.concat_len() < 5).unwrap().unwrap();
        assert_eq!(first.len(), 2);
        let error = packer.next(|_, records| records.concat_len() < 5).unwrap_err();
        assert!(error.to_string().contains("toolong"), "{error}");
    }

    #[test]
    fn exactly_so_many_or_an_error() {
        let packing = RecordPacking { records_max: 3, spread: None, exact: true };
        let error = jobs(&mut packer(&DIGITS, packing), 5).unwrap_err();
        assert!(matches!(error, InputError::TooManyForOne { wanted: 3 }), "{error}");
    }

    #[test]
    fn lines_of_any_length_are_filled_to_the_last_byte() {
        let many: Vec<String> = (0..5000).map(|number| "x".repeat(number % 7 + 1)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let jobs = jobs(&mut packer(&many, filling(None)), 1000).unwrap();
        assert_eq!(jobs.join(" "), many.join(" "));
        let mut rest = jobs.join(" ");
        for job in &jobs {
            rest.drain(..(job.len() + 1).min(rest.len()));
            let next = rest.split(' ').next().unwrap_or("");
            assert!(job.len() < 1000);
            assert!(rest.is_empty() || job.len() + 1 + next.len() + 1 > 1000, "{job} | {next}");
        }
    }

    trait ConcatLen {
        fn concat_len(&self) -> usize;
    }

    impl ConcatLen for [Record] {
        fn concat_len(&self) -> usize {
            self.iter().flat_map(|record| &record.values).map(Vec::len).sum()
        }
    }
}
