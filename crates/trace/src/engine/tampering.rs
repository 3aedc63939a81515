//! Changes of calls that were asked for: which calls, what is done, and when.

use std::time::Duration;

use super::CallFilter;
use crate::{Abi, CallId};

/// What is done to some calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tampering {
    pub(crate) calls: CallFilter,
    /// The call is not made, and has this result; errors are negative.
    pub(crate) result: Option<i64>,
    /// The call that is made in place of one with another result; none at all if this is `None`.
    pub(crate) instead: Option<&'static str>,
    /// The signal that the task gets at the entry of the call; 0 for none.
    pub(crate) signal: i32,
    /// How long the task waits before the call.
    pub(crate) delay_enter: Duration,
    /// How long the task waits after the call.
    pub(crate) delay_exit: Duration,
    /// The first and the last of the calls of a task that are concerned, from 1, and the step between
    /// them.
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) step: u32,
}

impl Tampering {
    /// Whether these calls are tampered with.
    pub(crate) fn concerns(&self, call: CallId) -> bool {
        self.calls.has(call)
    }

    /// The number in a call's register that has no effect: of the call that is made instead, or -1.
    pub(crate) fn harmless(&self, abi: Abi) -> u64 {
        let instead = self.instead.and_then(|name| CallId::by_name(abi, name));
        instead.map_or(u64::MAX, |call| call.number)
    }

    /// Whether the call of this number, from 1, is tampered with.
    pub(crate) fn is_due(&self, number: u32) -> bool {
        (self.first..=self.last).contains(&number)
            && (number - self.first).is_multiple_of(self.step)
    }
}
