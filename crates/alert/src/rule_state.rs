//! The state of a rule: the instances for which its condition holds.
//!
//! An instance is a set of labels.  It waits for as long as the rule says, then it fires until it ends.
//! Missing samples do neither: what waits begins anew, what fires goes on, and ends with a message that
//! says so after an hour.

use std::collections::BTreeMap;

use promql::{Condition, ConditionElement, Labels, NAME};
use serde_json::{Value, json};

use crate::message::{AlertMessage, InstanceReport, MessageParts, labels_value, number};
use crate::rule::{AlertRule, AlertUntil};
use crate::surroundings::AlertSurroundings;

/// Instances of a rule that are kept.
pub(crate) const INSTANCES_MAX: usize = 1000;
/// After so long without data an alert ends.
const MISSING_MS: i64 = 3_600_000;
/// What waits must be seen so often; after a longer gap it waits anew.
const SEEN_MS: i64 = 300_000;
/// Messages of a rule have so much time between them: what begins meanwhile is one message.
const GATHER_MS: i64 = 60_000;
/// Log records of so long before a condition held are in a message: they may say why.
const LOG_BEFORE_MS: i64 = 60_000;

/// What fires, or will if it lasts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Instance {
    pub(crate) labels: Labels,
    pub(crate) value: f64,
    /// Since when the condition holds.
    pub(crate) since_ms: i64,
    /// When the condition was seen to hold last.
    pub(crate) seen_ms: i64,
    /// When it began to fire.
    pub(crate) fired_ms: Option<i64>,
    /// When a message said so last.
    pub(crate) told_ms: Option<i64>,
    pub(crate) missing_since_ms: Option<i64>,
}

impl Instance {
    fn report(&self) -> InstanceReport {
        InstanceReport {
            labels: self.labels.clone(),
            value: self.value,
            since_ms: self.since_ms,
            has_data: self.missing_since_ms.is_none(),
        }
    }
}

/// A rule with its instances.
#[derive(Clone, Debug)]
pub(crate) struct RuleState {
    pub(crate) rule: AlertRule,
    pub(crate) instances: BTreeMap<Labels, Instance>,
    /// When it was looked at last.
    looked_ms: Option<i64>,
    /// What has ended, of which no message says so yet.
    pub(crate) ended: Vec<InstanceReport>,
    /// When the latest message was made that something begins or lasts, and that something ends.
    pub(crate) message_ms: Option<i64>,
    pub(crate) end_message_ms: Option<i64>,
    /// Since when there is no data.
    pub(crate) missing_since_ms: Option<i64>,
    /// Why the condition cannot be evaluated.
    pub(crate) error: Option<String>,
    /// Instances that were left out because there are too many.
    pub(crate) left_out: u64,
}

impl RuleState {
    pub(crate) fn new(rule: AlertRule) -> Self {
        RuleState {
            rule,
            instances: BTreeMap::new(),
            looked_ms: None,
            ended: Vec::new(),
            message_ms: None,
            end_message_ms: None,
            missing_since_ms: None,
            error: None,
            left_out: 0,
        }
    }

    /// How many instances fire.
    pub(crate) fn firing(&self) -> usize {
        self.instances.values().filter(|one| one.fired_ms.is_some()).count()
    }

    /// The wall clock was set: what waits, and what is told again after some time, does so by the time
    /// that has passed.  Times that are shown of what fires stay those of the recordings.
    pub(crate) fn clock_was_set(&mut self, step_ms: i64) {
        let add = |at_ms: &mut i64| *at_ms = at_ms.saturating_add(step_ms);
        for one in self.instances.values_mut() {
            add(&mut one.seen_ms);
            one.told_ms.iter_mut().for_each(add);
            one.missing_since_ms.iter_mut().for_each(add);
            if one.fired_ms.is_none() {
                add(&mut one.since_ms);
            }
        }
        let own = [&mut self.looked_ms, &mut self.message_ms, &mut self.end_message_ms];
        own.into_iter().chain([&mut self.missing_since_ms]).flatten().for_each(add);
    }

    /// Takes in what the condition is at a time; the alerts that end, as they are shown.
    pub(crate) fn look(&mut self, now_ms: i64, around: &AlertSurroundings<'_>) -> Vec<Value> {
        let is_recent =
            |looked_ms: i64| (0..self.rule.every_ms).contains(&now_ms.saturating_sub(looked_ms));
        if self.looked_ms.is_some_and(is_recent) {
            return Vec::new();
        }
        self.looked_ms = Some(now_ms);
        let (found, ends) = match self.evaluate(now_ms, around) {
            Ok(both) => {
                self.error = None;
                both
            }
            // The process ends: nothing is known of this time.
            Err(_) if around.query.control.stop().is_some() => return Vec::new(),
            Err(error) => {
                self.error = Some(error.to_string());
                (Condition::default(), None)
            }
        };
        match found.has_data || !found.elements.is_empty() {
            true => self.missing_since_ms = None,
            false => drop(self.missing_since_ms.get_or_insert(now_ms)),
        }
        let is_end = |labels: &Labels| ends.as_ref().map(|ends| ends.contains(&nameless(labels)));
        let mut over = Vec::new();
        for one in &found.elements {
            if !self.add_element(one, is_end(&one.labels), now_ms) {
                over.push((*one.labels).clone());
            }
        }
        for one in self.instances.values_mut().filter(|one| one.seen_ms != now_ms) {
            let is_over = match (one.fired_ms, found.is_known(&one.labels)) {
                (None, _) => true,
                (Some(_), true) => is_end(&one.labels).unwrap_or(true),
                (Some(_), false) => {
                    now_ms - *one.missing_since_ms.get_or_insert(now_ms) >= MISSING_MS
                }
            };
            if is_over {
                over.push(one.labels.clone());
            }
        }
        for one in self.instances.values_mut() {
            let is_long = one.seen_ms == now_ms && now_ms - one.since_ms >= self.rule.for_ms;
            if one.fired_ms.is_none() && is_long {
                one.fired_ms = Some(now_ms);
            }
        }
        over.iter().filter_map(|labels| self.end(labels, now_ms)).collect()
    }

    /// The condition, and the labels for which the condition of the end holds, if there is one.
    fn evaluate(
        &self,
        now_ms: i64,
        around: &AlertSurroundings<'_>,
    ) -> Result<(Condition, Option<Vec<Labels>>), promql::QueryError> {
        let limit = match self.rule.until {
            Some(AlertUntil::Limit(limit)) => Some(limit),
            _ => None,
        };
        let found = promql::condition(&self.rule.when, limit, now_ms, &around.query)?;
        let Some(AlertUntil::Condition(text)) = &self.rule.until else { return Ok((found, None)) };
        let ends = promql::condition(text, None, now_ms, &around.query)?;
        let holding = ends.elements.iter().filter(|one| one.holds);
        Ok((found, Some(holding.map(|one| nameless(&one.labels)).collect())))
    }

    /// Takes in an element of the condition; `false` if it is over.
    fn add_element(&mut self, one: &ConditionElement, is_end: Option<bool>, now_ms: i64) -> bool {
        let has_room = self.instances.len() < INSTANCES_MAX;
        let Some(instance) = self.instances.get_mut(&*one.labels) else {
            if one.holds && has_room {
                let new = Instance {
                    labels: (*one.labels).clone(),
                    value: one.value,
                    since_ms: now_ms,
                    seen_ms: now_ms,
                    fired_ms: None,
                    told_ms: None,
                    missing_since_ms: None,
                };
                self.instances.insert(new.labels.clone(), new);
            }
            self.left_out += u64::from(one.holds && !has_room);
            return true;
        };
        // After a gap, or if the clock was set back, it waits anew.
        let gap_ms = now_ms - instance.seen_ms;
        if instance.fired_ms.is_none() && !(0..=SEEN_MS).contains(&gap_ms) {
            instance.since_ms = now_ms;
        }
        instance.value = one.value;
        instance.missing_since_ms = None;
        instance.seen_ms = now_ms;
        match (instance.fired_ms, is_end) {
            (None, _) => one.holds,
            (Some(_), Some(is_end)) => !is_end,
            (Some(_), None) => one.holds_at_limit,
        }
    }

    /// Ends an instance; only what has fired is shown.
    fn end(&mut self, labels: &Labels, now_ms: i64) -> Option<Value> {
        let instance = self.instances.remove(labels)?;
        let fired_ms = instance.fired_ms?;
        let report = instance.report();
        let shown = json!({
            "rule": self.rule.name,
            "labels": labels_value(labels),
            "value": number(instance.value),
            "since_ms": instance.since_ms,
            "from_ms": fired_ms,
            "thru_ms": now_ms,
            "has_data": report.has_data,
            "told": instance.told_ms.is_some(),
        });
        if instance.told_ms.is_some() {
            self.ended.push(report);
        }
        Some(shown)
    }

    /// The messages that are to be sent now.
    pub(crate) fn messages(
        &mut self,
        now_ms: i64,
        around: &AlertSurroundings<'_>,
    ) -> Vec<AlertMessage> {
        let is_gathered = |before: Option<i64>| {
            let gap_ms = before.map_or(i64::MAX, |before| now_ms.saturating_sub(before));
            !(0..GATHER_MS).contains(&gap_ms)
        };
        if self.rule.silence.iter().any(|time| time.contains(now_ms, around.zone)) {
            return Vec::new();
        }
        let mut messages = Vec::new();
        if is_gathered(self.message_ms) {
            let (begun, lasting) = self.take_told(now_ms);
            for (state, told) in [("begins", begun), ("lasts", lasting)] {
                if !told.is_empty() {
                    self.message_ms = Some(now_ms);
                    messages.push(self.message(state, &told, now_ms, around));
                }
            }
        }
        if is_gathered(self.end_message_ms) && !self.ended.is_empty() {
            self.end_message_ms = Some(now_ms);
            let ended = std::mem::take(&mut self.ended);
            messages.push(self.message("ends", &ended, now_ms, around));
        }
        messages
    }

    /// What begins, and what lasts long enough to be told again; notes that it is told.
    fn take_told(&mut self, now_ms: i64) -> (Vec<InstanceReport>, Vec<InstanceReport>) {
        let (mut begun, mut lasting) = (Vec::new(), Vec::new());
        for one in self.instances.values_mut().filter(|one| one.fired_ms.is_some()) {
            let list = match (one.told_ms, self.rule.repeat_ms) {
                (None, _) => &mut begun,
                (Some(told_ms), Some(repeat_ms)) if now_ms - told_ms >= repeat_ms => &mut lasting,
                _ => continue,
            };
            one.told_ms = Some(now_ms);
            list.push(one.report());
        }
        (begun, lasting)
    }

    fn message(
        &self,
        state: &'static str,
        told: &[InstanceReport],
        at_ms: i64,
        around: &AlertSurroundings<'_>,
    ) -> AlertMessage {
        let named = told.first().map_or("", |one| one.labels.get("instance"));
        let host = if named.is_empty() { around.host } else { named };
        // The time of the rule: since it holds, and what led to it.
        let since_ms = told.iter().map(|one| one.since_ms).min().unwrap_or(at_ms);
        let (heaviest, log) = match state {
            "ends" => (Vec::new(), Vec::new()),
            _ => (
                (around.heaviest)(host, self.rule.heaviest, at_ms),
                (around.log)((since_ms - LOG_BEFORE_MS, at_ms)),
            ),
        };
        let picture =
            crate::value_picture::draw(&self.rule, told, at_ms, (&around.query, around.zone));
        AlertMessage::new(MessageParts {
            rule: &self.rule,
            state,
            at_ms,
            host,
            told,
            heaviest: &heaviest,
            log: &log,
            picture,
            page: around.page,
            zone: around.zone,
        })
    }
}

fn nameless(labels: &Labels) -> Labels {
    let mut labels = labels.clone();
    labels.set(NAME, "");
    labels
}
