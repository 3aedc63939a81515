//! The states of all rules, and the messages that are not delivered yet.
//!
//! A step looks at each rule at a time that is given; nothing here reads a clock.  The messages of each
//! receiver wait in their order and have their own pauses: one that is dead delays no other.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use crate::message::AlertMessage;
use crate::rule::AlertRule;
use crate::rule_state::RuleState;
use crate::surroundings::AlertSurroundings;

/// Messages of a receiver that wait; the oldest is dropped for another one.
const WAITING_MAX: usize = 100;
/// Ended alerts, and messages that wait no longer, that are kept to be shown.
pub(crate) const HISTORY_MAX: usize = 200;
/// The first pause after a failed delivery, and the longest.
const PAUSE_MS_MIN: i64 = 5_000;
const PAUSE_MS_MAX: i64 = 600_000;
/// A message that is so old is not tried again.
const TRIED_MS: i64 = 86_400_000;

/// A message to a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertDelivery {
    /// The number of the message.
    pub id: u64,
    /// The receiver.
    pub to: String,
    /// The message.
    pub message: Arc<AlertMessage>,
    pub(crate) tries: u32,
    pub(crate) next_ms: i64,
    pub(crate) error: Option<String>,
    /// By how much the clock was set since the message was made.
    pub(crate) clock_ms: i64,
}

impl AlertDelivery {
    /// How long it has to wait before it is tried.
    #[must_use]
    pub fn wait_ms(&self, now_ms: i64) -> i64 {
        let wait_ms = self.next_ms - now_ms;
        // A clock that was set back delays no message.
        if wait_ms > PAUSE_MS_MAX { 0 } else { wait_ms.max(0) }
    }
}

/// The states of all rules and the messages that wait.
#[derive(Debug, Default)]
pub struct AlertBook {
    pub(crate) rules: Vec<RuleState>,
    pub(crate) waiting: VecDeque<AlertDelivery>,
    /// Alerts that have ended, the latest last.
    pub(crate) history: VecDeque<Value>,
    /// Messages that were taken or dropped, the latest last.
    pub(crate) sent: VecDeque<Value>,
    pub(crate) next_id: u64,
    pub(crate) delivered: u64,
    /// Messages for which there was no room, that were too old, or whose receiver is gone.
    pub(crate) dropped: u64,
    /// Alerts that began and ended within a silence time.
    pub(crate) silenced: u64,
    pub(crate) stepped_ms: i64,
}

impl AlertBook {
    /// A book of rules in which nothing has happened yet.
    #[must_use]
    pub fn new(rules: Vec<AlertRule>) -> Self {
        AlertBook { rules: rules.into_iter().map(RuleState::new).collect(), ..AlertBook::default() }
    }

    /// The wall clock was set by so many milliseconds: no alert begins, ends or is told again for that, and
    /// no message is given up.
    pub fn clock_was_set(&mut self, step_ms: i64) {
        self.rules.iter_mut().for_each(|rule| rule.clock_was_set(step_ms));
        for one in &mut self.waiting {
            one.next_ms = one.next_ms.saturating_add(step_ms);
            one.clock_ms = one.clock_ms.saturating_add(step_ms);
        }
    }

    /// Looks at all rules at a time, in milliseconds since 1970.  `true` if there are new messages.
    pub fn step(&mut self, now_ms: i64, around: &AlertSurroundings<'_>) -> bool {
        self.stepped_ms = now_ms;
        let mut new = Vec::new();
        for state in &mut self.rules {
            for ended in state.look(now_ms, around) {
                self.silenced += u64::from(ended["told"] == false && !state.rule.to.is_empty());
                keep(&mut self.history, ended);
            }
            for message in state.messages(now_ms, around) {
                let message = Arc::new(message);
                let one = |to: &crate::AlertReceiver| (to.to_string(), message.clone());
                new.extend(state.rule.to.iter().map(one));
            }
        }
        let has_new = !new.is_empty();
        for (to, message) in new {
            self.push(to, message, now_ms);
        }
        has_new
    }

    fn push(&mut self, to: String, message: Arc<AlertMessage>, now_ms: i64) {
        if self.waiting.iter().filter(|one| one.to == to).count() >= WAITING_MAX {
            let oldest = self.waiting.iter().position(|one| one.to == to);
            self.drop_one(oldest, "more than 100 messages waited");
        }
        self.next_id += 1;
        let id = self.next_id;
        let new =
            AlertDelivery { id, to, message, tries: 0, next_ms: now_ms, error: None, clock_ms: 0 };
        self.waiting.push_back(new);
    }

    /// Drops a message that waits, and says why.
    fn drop_one(&mut self, index: Option<usize>, why: &str) {
        let Some(one) = index.and_then(|index| self.waiting.remove(index)) else { return };
        self.dropped += 1;
        let error = one.error.as_deref().map_or(String::new(), |error| format!(": {error}"));
        keep(&mut self.sent, one.record(None, Some(&format!("dropped, {why}{error}"))));
    }

    /// Drops the messages of receivers that no rule names.
    pub(crate) fn drop_strangers(&mut self) {
        let known: Vec<String> = self.receivers();
        while let Some(index) = self.waiting.iter().position(|one| !known.contains(&one.to)) {
            self.drop_one(Some(index), "no rule names the receiver");
        }
    }

    /// All receivers of the rules.
    #[must_use]
    pub fn receivers(&self) -> Vec<String> {
        let all = self.rules.iter().flat_map(|state| &state.rule.to);
        let mut all: Vec<String> = all.map(ToString::to_string).collect();
        all.sort();
        all.dedup();
        all
    }

    /// The message of a receiver that is next: those behind it wait for it.
    #[must_use]
    pub fn next(&self, to: &str) -> Option<&AlertDelivery> {
        self.waiting.iter().find(|one| one.to == to)
    }

    /// Notes how a delivery went.
    pub fn note(&mut self, id: u64, now_ms: i64, result: Result<(), String>) {
        let Some(index) = self.waiting.iter().position(|one| one.id == id) else { return };
        let one = &mut self.waiting[index];
        one.tries = one.tries.saturating_add(1);
        match result {
            Ok(()) => {
                let record = one.record(Some(now_ms), None);
                self.waiting.remove(index);
                self.delivered += 1;
                keep(&mut self.sent, record);
            }
            Err(error) => {
                let pause_ms = (PAUSE_MS_MIN << (one.tries - 1).min(10)).min(PAUSE_MS_MAX);
                one.next_ms = now_ms.saturating_add(pause_ms);
                one.error = Some(error);
                let made_ms = one.message.at_ms.saturating_add(one.clock_ms);
                if now_ms.saturating_sub(made_ms) > TRIED_MS {
                    self.drop_one(Some(index), "tried for a day");
                }
            }
        }
    }

    /// How many alerts fire.
    #[must_use]
    pub fn firing(&self) -> usize {
        self.rules.iter().map(RuleState::firing).sum()
    }
}

/// Adds to a list of which the oldest go.
fn keep(list: &mut VecDeque<Value>, one: Value) {
    list.push_back(one);
    while list.len() > HISTORY_MAX {
        list.pop_front();
    }
}
