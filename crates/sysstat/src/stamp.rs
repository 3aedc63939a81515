//! By which clock `sadf` writes dates and times.

use crate::machine::Clock;
use crate::report::Facts;

/// How times are written.
#[derive(Clone, Copy)]
pub(crate) enum Stamp {
    Utc,
    Recorded,
    Here,
    Epoch,
}

impl Stamp {
    /// The clock by which dates and times are written; none for UTC.
    pub(crate) fn clock<'a>(self, facts: &'a Facts<'_>) -> Option<&'a Clock> {
        match self {
            Stamp::Utc | Stamp::Epoch => None,
            Stamp::Recorded => Some(facts.clock),
            Stamp::Here => Some(facts.here),
        }
    }
}
