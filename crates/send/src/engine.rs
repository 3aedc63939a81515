//! What an engine is: whoever takes points and says whether it has them.

use std::ops::Range;
use std::time::Duration;

use crate::SendError;
use crate::batch::{Batch, BatchSeries};

/// What became of points that were handed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SendOutcome {
    /// The engine has them.
    Acknowledged,
    /// It has taken all that it ever will: it rejects some of the points and has the others.
    Partly {
        /// Points that it rejects.
        rejected: u64,
        /// Why.
        why: String,
    },
    /// It does not take them now: again after this time, or after the usual pause.
    Retry {
        /// Why.
        why: String,
        /// When, if the engine says it.
        after: Option<Duration>,
    },
    /// It will never take all of them as they are.
    Refused {
        /// Why.
        why: String,
        /// Whether that is since it has these samples or later ones already.
        is_known: bool,
    },
}

/// An engine for metrics, with its connection.
pub(crate) trait MetricEngine: Send {
    /// Hands some samples of a batch over and waits for what the engine says.
    fn hand_over(
        &mut self,
        series: &BatchSeries,
        batch: &Batch,
        samples: Range<usize>,
    ) -> SendOutcome;

    /// How many of these samples, from the first one on, the engine has in full; `None` if it does not say.
    fn held(
        &mut self,
        _series: &BatchSeries,
        _batch: &Batch,
        _samples: Range<usize>,
    ) -> Option<usize> {
        None
    }
}

/// An engine, if there can be one.
pub(crate) type OpenedEngine = Result<Box<dyn MetricEngine>, SendError>;
