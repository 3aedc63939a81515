//! What a query may use: series, samples, memory and time.

use std::cell::Cell;

use crate::QueryError;
use crate::error::failed;

/// What one query may use.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Points of a series in the answer to a range query.
    pub points_max: u64,
    /// Series that all selectors of a query may find together, and that an answer may have.
    pub series_max: usize,
    /// Samples in memory, of 16 bytes at most: those that selectors loaded, and those of subqueries and
    /// the answer.
    pub samples_max: u64,
    /// Bytes of the vectors and labels that are alive while one step is evaluated.
    pub step_bytes_max: usize,
}

impl Default for QueryLimits {
    /// Prometheus's 11,000 points; 10,000 series, 5 million samples (80 MB), 64 MiB a step.
    fn default() -> Self {
        QueryLimits {
            points_max: 11_000,
            series_max: 10_000,
            samples_max: 5_000_000,
            step_bytes_max: 64 << 20,
        }
    }
}

/// Why a query must end before its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It took too long.
    TimedOut,
    /// Nobody waits for it.
    Cancelled,
}

/// Loops look at the clock once in so many turns: a turn takes some nanoseconds.
const TURNS: u32 = 1024;

/// What is left for a query.
pub struct QueryBudget<'a> {
    limits: QueryLimits,
    stop: &'a dyn Fn() -> Option<Stop>,
    series: Cell<usize>,
    samples: Cell<u64>,
    step_bytes: Cell<usize>,
    turns: Cell<u32>,
    /// Samples of a piece of the period, after which it is to be shortened.
    piece: Cell<u64>,
}

/// What a query had taken at some time.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    series: usize,
    samples: u64,
}

impl<'a> QueryBudget<'a> {
    /// All that the limits allow.
    #[must_use]
    pub fn new(limits: QueryLimits, stop: &'a dyn Fn() -> Option<Stop>) -> Self {
        QueryBudget {
            limits,
            stop,
            series: Cell::new(0),
            samples: Cell::new(0),
            step_bytes: Cell::new(0),
            turns: Cell::new(0),
            piece: Cell::new(u64::MAX),
        }
    }

    /// The limits of the query.
    #[must_use]
    pub fn limits(&self) -> &QueryLimits {
        &self.limits
    }

    /// Looks whether the query must end.
    ///
    /// # Errors
    /// If it must.
    pub fn look(&self) -> Result<(), QueryError> {
        match (self.stop)() {
            None => Ok(()),
            Some(Stop::TimedOut) => Err(QueryError::TimedOut),
            Some(Stop::Cancelled) => Err(QueryError::Cancelled),
        }
    }

    /// One turn of a loop: looks now and then whether the query must end.
    ///
    /// # Errors
    /// If it must.
    pub fn turn(&self) -> Result<(), QueryError> {
        let turns = self.turns.get() + 1;
        self.turns.set(turns % TURNS);
        if turns < TURNS { Ok(()) } else { self.look() }
    }

    /// Takes one more series of a selector.
    ///
    /// # Errors
    /// If the query has too many.
    pub fn take_series(&self) -> Result<(), QueryError> {
        let series = self.series.get() + 1;
        self.series.set(series);
        let most = self.limits.series_max;
        if series > most {
            return failed(format!(
                "the query selects more than {most} series: choose fewer by labels"
            ));
        }
        Ok(())
    }

    /// Takes memory for samples.
    ///
    /// # Errors
    /// If the query has too many, or must end.
    pub fn take_samples(&self, count: usize) -> Result<(), QueryError> {
        let samples = self.samples.get().saturating_add(count as u64);
        self.samples.set(samples);
        if samples > self.piece.get() {
            return failed("the piece is too long");
        }
        if samples > self.limits.samples_max {
            return failed(format!(
                "query processing would load too many samples into memory in query execution: more \
                 than {}: ask for a shorter time or fewer series",
                self.limits.samples_max
            ));
        }
        self.turn()
    }

    /// Whether an answer of so many series may have one more.
    pub(crate) fn check_series(&self, count: usize) -> Result<(), QueryError> {
        let QueryLimits { series_max, .. } = self.limits;
        if count == series_max {
            return failed(format!("the answer has more than {series_max} series"));
        }
        Ok(())
    }

    /// From now on [`Self::take_samples`] fails after so many more samples; `None`: only at the
    /// query's own limit.
    pub(crate) fn limit_piece(&self, samples: Option<u64>) {
        let most = samples.map_or(u64::MAX, |most| self.samples.get().saturating_add(most));
        self.piece.set(most);
    }

    /// Whether that limit is passed.
    pub(crate) fn is_piece_too_long(&self) -> bool {
        self.samples.get() > self.piece.get()
    }

    /// What is taken now.
    pub(crate) fn taken(&self) -> Taken {
        Taken { series: self.series.get(), samples: self.samples.get() }
    }

    /// How many samples were taken since.
    pub(crate) fn samples_since(&self, before: Taken) -> u64 {
        self.samples.get() - before.samples
    }

    /// Gives back what was taken since, except so many samples.
    pub(crate) fn give_back(&self, before: Taken, kept: u64) {
        self.series.set(before.series);
        self.samples.set(before.samples + kept);
    }

    /// Takes memory for what lives during a step.
    pub(crate) fn take_bytes(&self, bytes: usize) -> Result<(), QueryError> {
        let taken = self.step_bytes.get().saturating_add(bytes);
        self.step_bytes.set(taken);
        let most = self.limits.step_bytes_max;
        if taken > most {
            return failed(format!("one step of the query needs more than {most} bytes of memory"));
        }
        self.turn()
    }

    /// The memory taken in this step, for [`Self::end_step`].
    pub(crate) fn begin_step(&self) -> usize {
        self.step_bytes.get()
    }

    /// What lived during a step is gone.
    pub(crate) fn end_step(&self, at_begin: usize) {
        self.step_bytes.set(at_begin);
    }
}
