//! What a query may use: series, memory and time.
//!
//! A query counts the bytes of what it holds, before it holds them.  Most need little.  One that needs more
//! than that asks first, so that a server can let one large query at a time have what is left.

use std::cell::Cell;

use crate::error::failed;
use crate::{Labels, QueryError};

/// What one query may use.
#[derive(Clone, Copy, Debug)]
pub struct QueryLimits {
    /// Points of a series in the answer to a range query.
    pub points_max: u64,
    /// Series that all selectors of a query may find together, and that an answer may have.
    pub series_max: usize,
    /// Bytes that a query may hold: samples, labels, what lives during a step, its answer.
    pub memory_max: usize,
    /// Bytes that it may hold before it asks for more ([`QueryControl::before_large`]).
    pub small_bytes: usize,
}

impl Default for QueryLimits {
    /// Prometheus's 11,000 points; 10,000 series, 128 MiB.
    fn default() -> Self {
        QueryLimits {
            points_max: 11_000,
            series_max: 10_000,
            memory_max: 128 << 20,
            small_bytes: usize::MAX,
        }
    }
}

/// What a query asks of the one who has it evaluated.
pub trait QueryControl {
    /// Why the query must end now, if it must.  It is asked often, also in the middle of a step.
    fn stop(&self) -> Option<Stop>;

    /// Asked once, before the query holds more than [`QueryLimits::small_bytes`]; it may wait.
    ///
    /// # Errors
    /// If the query gets no more.
    fn before_large(&self) -> Result<(), QueryError> {
        Ok(())
    }
}

impl<F: Fn() -> Option<Stop>> QueryControl for F {
    fn stop(&self) -> Option<Stop> {
        self()
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

impl From<Stop> for QueryError {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::TimedOut => QueryError::TimedOut,
            Stop::Cancelled => QueryError::Cancelled,
        }
    }
}

/// Loops look at the clock once in so many turns: a turn takes some nanoseconds.
const TURNS: u32 = 1024;

/// Bytes of the samples of a piece of a long period.
pub(crate) const PIECE_BYTES: usize = 2 << 20;

/// A time and a value.
const SAMPLE_BYTES: usize = 16;

/// What a series takes beside its labels and samples: its places in lists and maps.
const SERIES_BYTES: usize = 200;

/// What is left for a query.
pub struct QueryBudget<'a> {
    limits: QueryLimits,
    control: &'a dyn QueryControl,
    series: Cell<usize>,
    /// Bytes of series and samples.
    held: Cell<usize>,
    /// Bytes of samples.
    samples: Cell<usize>,
    /// Bytes of what lives during a step.
    step_bytes: Cell<usize>,
    turns: Cell<u32>,
    /// Whether it was allowed to be a large one.
    is_large: Cell<bool>,
    /// Bytes of samples with which a piece of the period is to be shortened.
    piece: Cell<usize>,
}

/// What a query had taken at some time.
#[derive(Clone, Copy)]
pub(crate) struct BudgetUse {
    series: usize,
    held: usize,
    samples: usize,
}

impl<'a> QueryBudget<'a> {
    /// All that the limits allow.
    #[must_use]
    pub fn new(limits: QueryLimits, control: &'a dyn QueryControl) -> Self {
        QueryBudget {
            limits,
            control,
            series: Cell::new(0),
            held: Cell::new(0),
            samples: Cell::new(0),
            step_bytes: Cell::new(0),
            turns: Cell::new(0),
            is_large: Cell::new(false),
            piece: Cell::new(usize::MAX),
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
        self.control.stop().map_or(Ok(()), |stop| Err(stop.into()))
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

    /// Takes one more series of a selector, with its labels.
    ///
    /// # Errors
    /// If the query has too many.
    pub fn take_series(&self, labels: &Labels) -> Result<(), QueryError> {
        let series = self.series.get() + 1;
        self.series.set(series);
        let most = self.limits.series_max;
        if series > most {
            return failed(format!(
                "the query selects more than {most} series: choose fewer by labels"
            ));
        }
        // Twice: functions give them without the name of the metric.
        self.hold(2 * labels.size_bytes() + SERIES_BYTES)
    }

    /// Takes memory for samples.
    ///
    /// # Errors
    /// If the query has too many, or must end.
    pub fn take_samples(&self, count: usize) -> Result<(), QueryError> {
        let bytes = count.saturating_mul(SAMPLE_BYTES);
        self.samples.set(self.samples.get().saturating_add(bytes));
        if self.samples.get() > self.piece.get() {
            return failed("the piece is too long");
        }
        self.hold(bytes)?;
        self.turn()
    }

    /// Takes memory for what lives as long as the query.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), QueryError> {
        self.held.set(self.held.get().saturating_add(bytes));
        self.check(|most| {
            format!(
                "query processing would load too many samples into memory in query execution: the \
                 query needs more than {most} bytes: ask for a shorter time, a longer step or fewer \
                 series"
            )
        })
    }

    /// The bytes that are taken.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.held.get().saturating_add(self.step_bytes.get())
    }

    /// Fails with a sentence if more is taken than the query may have.
    fn check(&self, why: impl Fn(usize) -> String) -> Result<(), QueryError> {
        let (bytes, most) = (self.bytes(), self.limits.memory_max);
        if bytes > most {
            return failed(why(most));
        }
        if bytes > self.limits.small_bytes && !self.is_large.get() {
            self.control.before_large()?;
            self.is_large.set(true);
        }
        Ok(())
    }

    /// Whether an answer of so many series may have one more.
    pub(crate) fn check_series(&self, count: usize) -> Result<(), QueryError> {
        let QueryLimits { series_max, .. } = self.limits;
        if count == series_max {
            return failed(format!("the answer has more than {series_max} series"));
        }
        Ok(())
    }

    /// Takes memory for a series of an answer.
    pub(crate) fn hold_labels(&self, labels: &Labels) -> Result<(), QueryError> {
        self.hold(labels.size_bytes() + SERIES_BYTES)
    }

    /// From now on it fails to take so many more bytes of samples; `None`: only all that the query may
    /// have.  Returns what [`Self::end_piece`] needs.
    pub(crate) fn limit_piece(&self, bytes: Option<usize>) -> usize {
        let most = bytes.map_or(usize::MAX, |most| self.samples.get().saturating_add(most));
        self.piece.replace(most)
    }

    /// What was limited before holds again.
    pub(crate) fn end_piece(&self, outer: usize) {
        self.piece.set(outer);
    }

    /// Whether more was taken than a piece, or the query, may have.
    pub(crate) fn is_piece_too_long(&self) -> bool {
        self.samples.get() > self.piece.get() || self.bytes() > self.limits.memory_max
    }

    /// What is taken now.
    pub(crate) fn taken(&self) -> BudgetUse {
        BudgetUse { series: self.series.get(), held: self.held.get(), samples: self.samples.get() }
    }

    /// How many bytes of samples were taken since.
    pub(crate) fn samples_since(&self, before: BudgetUse) -> usize {
        self.samples.get().saturating_sub(before.samples)
    }

    /// Gives back what was taken since, except so many bytes.
    pub(crate) fn give_back(&self, before: BudgetUse, kept: usize) {
        self.series.set(before.series);
        self.samples.set(before.samples);
        self.held.set(before.held.saturating_add(kept));
    }

    /// Takes memory for what lives during a step.
    pub(crate) fn take_bytes(&self, bytes: usize) -> Result<(), QueryError> {
        self.step_bytes.set(self.step_bytes.get().saturating_add(bytes));
        self.check(|most| format!("one step of the query needs more than {most} bytes of memory"))?;
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
