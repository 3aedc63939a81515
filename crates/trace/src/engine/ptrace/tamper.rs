//! Changes calls of stopped tasks, as [`Tampering`](crate::engine::Tampering) says.
//!
//! A call whose number becomes -1 at its entry is not made, or becomes one without effects that is made
//! instead; at its exit its result is written over.
//! A signal is sent by resuming the task with it.  A delay is a sleep of this thread, so tasks that
//! stop meanwhile wait too.

use std::collections::BTreeMap;
use std::time::Duration;

use super::PtraceEngine;
use crate::engine::{Error, TaskChanges, requests};
use crate::{CallChanges, CallId};

/// Calls of a task, counted for those that are tampered with.
pub(super) type CallNumbers = BTreeMap<CallId, u32>;

/// What was begun at the entry of a call.
#[derive(Clone, Copy, Default)]
pub(super) struct PendingTamper {
    result: Option<i64>,
    delay_exit: Duration,
    changes: CallChanges,
}

impl PtraceEngine {
    /// Interferes with tasks from now on: changes their calls (if several changes concern a call,
    /// the last holds), detaches from each that has called `execve`, except for the command's own
    /// at its start, and attaches to more processes.
    ///
    /// # Errors
    ///
    /// As [`hold`](Self::hold).
    pub fn interfere(&mut self, interference: &TaskChanges) -> Result<(), Error> {
        self.tampering.clone_from(&interference.tampering);
        self.is_spared = interference.is_spared.clone();
        self.detaches_at_exec = interference.detach_at_exec;
        interference.beside.iter().try_for_each(|pid| self.hold(*pid))
    }

    /// At the entry of a wanted call: changes it if it is due; returns what is left for the exit,
    /// and the signal to resume the task with, or 0.
    pub(super) fn tamper_entry(&mut self, id: i32, call: CallId) -> (PendingTamper, i32) {
        let none = (PendingTamper::default(), 0);
        if self.is_spared.get() {
            return none;
        }
        let rule = self.tampering.iter().rev().find(|rule| rule.concerns(call));
        let (Some(rule), Some(task)) = (rule, self.tasks.get_mut(&id)) else { return none };
        let number = task.numbers.entry(call).or_insert(0);
        *number = number.saturating_add(1);
        if !rule.is_due(*number) {
            return none;
        }
        // A task that was killed meanwhile reports its exit itself.
        let is_skipped =
            rule.result.is_some() && requests::set_call(id, rule.harmless(call.abi)).is_ok();
        if !rule.delay_enter.is_zero() {
            std::thread::sleep(rule.delay_enter);
        }
        let changes = CallChanges {
            is_injected: is_skipped,
            is_delayed: !rule.delay_enter.is_zero() || !rule.delay_exit.is_zero(),
        };
        let result = rule.result.filter(|_| is_skipped);
        (PendingTamper { result, delay_exit: rule.delay_exit, changes }, rule.signal)
    }

    /// At the exit of a call: writes its result over if that was asked for; returns the result and
    /// what was changed.
    pub(super) fn tamper_exit(id: i32, begun: &PendingTamper, result: i64) -> (i64, CallChanges) {
        if let Some(injected) = begun.result
            && requests::set_result(id, injected).is_ok()
        {
            return (injected, begun.changes);
        }
        (result, CallChanges { is_injected: false, ..begun.changes })
    }

    /// After the exit of a call was handed over.
    pub(super) fn delay_exit(begun: &PendingTamper) {
        if !begun.delay_exit.is_zero() {
            std::thread::sleep(begun.delay_exit);
        }
    }
}
