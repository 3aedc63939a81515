//! What a device's answers are for the queries, and what is said of those that are missing.

use super::{AskedDevice, ValuePlace, WantedObject, WantedQuery};
use crate::ask::counters::Count;
use crate::config::Config;
use crate::notices::{Notices, QueryNames};
use crate::reading::{QueryAnswer, device_text};
use crate::target::{ObjectMethod, Query, Variable, VariableSource};

use std::sync::Arc;

use snmp::SnmpValue;

/// A value until the end of its round.
#[derive(Debug)]
pub(super) enum KeptValue {
    Missing,
    /// The count of its object: most values are, and so they cost no memory of their own.
    Counter,
    /// Any other value, as text.
    Text(Box<[u8]>),
}

impl KeptValue {
    /// What is kept of a value, and its count if it is one.
    pub(super) fn of(value: &SnmpValue<'_>) -> (Self, Option<Count>) {
        let count = Count::of(value);
        let kept = match count {
            Some(count) if count.is_counter() => KeptValue::Counter,
            _ => text(value).map_or(KeptValue::Missing, |text| KeptValue::Text(text.into())),
        };
        (kept, count)
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, KeptValue::Missing)
    }
}

impl WantedObject {
    /// The value as text.
    fn text(&self) -> Option<Vec<u8>> {
        match (&self.value, self.count) {
            (KeptValue::Missing, _) | (KeptValue::Counter, None) => None,
            (KeptValue::Counter, Some(Count::Counter64(number))) => {
                Some(number.to_string().into_bytes())
            }
            (KeptValue::Counter, Some(Count::Counter32(number) | Count::Ticks(number))) => {
                Some(number.to_string().into_bytes())
            }
            (KeptValue::Text(text), _) => Some(text.to_vec()),
        }
    }
}

impl AskedDevice {
    /// Writes the answers of the round, and says what is missing.  The time of each is that of the
    /// answer that had it, however often other requests were repeated; without one that of the
    /// device's latest answer, or `wall_ns`.
    pub(in crate::ask) fn write_answers(
        &mut self,
        config: &Config,
        wall_ns: i64,
        answers: &mut [QueryAnswer],
        (names, notices): (&QueryNames<'_>, &mut Notices),
        say: &mut dyn FnMut(String),
    ) {
        // A device that rests was said in the round in which it was asked.
        let is_silent = self.round.error.is_some() || !self.reach.is_answering;
        if let Some(error) = &self.round.error {
            let text = &self.settings.text;
            let rests = |rest_s| format!("{text}: {error}; it is asked again after {rest_s} s");
            notices.add_or(|| text.clone(), error.clone(), || self.round.rest_s.map(rests));
        }
        let mut missing = Notices::default();
        self.judge_counters(say);
        let changed = self.has_changed();
        let error: Option<Arc<str>> = self.round.error.as_deref().map(Arc::from);
        // The same for nearly all queries.
        let mut texts: Vec<(usize, Option<Arc<str>>)> = Vec::new();
        for one in &self.queries {
            let Some(answer) = answers.get_mut(one.number) else { continue };
            let answered_ns = self.answered_ns(one).or(self.reach.answered_ns);
            answer.time_ns = answered_ns.unwrap_or(wall_ns);
            let mut why_missing = None;
            let is_other = changed
                && one
                    .checks
                    .iter()
                    .any(|(at, ..)| self.objects.list[*at].is_checked == Some(false));
            for (place, value) in answer.values.iter_mut().enumerate() {
                *value = match &one.places[place] {
                    _ if is_other => None,
                    ValuePlace::Constant(number) => Some(number.to_string().into_bytes()),
                    ValuePlace::Object(at) => self.objects.list[*at].text(),
                    ValuePlace::Walk { walk, method } => self.walked(*walk, *method),
                    ValuePlace::Missing(_) => None,
                };
                if value.is_none() && !is_silent {
                    let why = match &one.places[place] {
                        ValuePlace::Missing(why) if !why.is_empty() => why,
                        _ if is_other => "the interface has another number at every look",
                        _ => "the device does not have the object",
                    };
                    if let Some(Query::Snmp(query) | Query::Texts(query)) =
                        config.queries.get(one.number)
                    {
                        let about =
                            || self.shown_object(names, one, place, &query.variables[place]);
                        why_missing.get_or_insert_with(|| format!("{}: {why}", about()));
                        missing.add(about, why);
                    }
                }
            }
            if answer.values.iter().any(Option::is_none) {
                answer.why = why_missing.map(Arc::from).or_else(|| error.clone());
            }
            let counters = one.places.iter().filter_map(|place| match place {
                ValuePlace::Object(at) => Some(&self.objects.list[*at]),
                _ => None,
            });
            let mut counters = counters.filter(|one| one.count.is_some_and(Count::is_counter));
            answer.was_reset = counters.clone().any(|one| one.was_reset);
            let uptime = self.restarts.uptime.filter(|_| counters.next().is_some());
            answer.up_s = uptime.map(|uptime| i64::from(uptime.ticks / 100));
            let mut extra = |at: Option<usize>| {
                let at = at?;
                if let Some((_, text)) = texts.iter().find(|(known, _)| *known == at) {
                    return text.clone();
                }
                let text = self.objects.list[at].text();
                let text = text.map(|text| device_text(&text));
                texts.push((at, text.clone()));
                text
            };
            (answer.uptime, answer.name) = (extra(one.extras[0]), extra(one.extras[1]));
        }
        missing.say(&mut |line| say(format!("{}: {line}", self.settings.text)));
    }

    /// The target and the object of a query's value, for a message.
    fn shown_object(
        &self,
        names: &QueryNames<'_>,
        query: &WantedQuery,
        place: usize,
        variable: &Variable,
    ) -> String {
        let target = names.of(query.number);
        let name = match &variable.source {
            VariableSource::Object { name, .. } => name,
            VariableSource::Constant(_) => "",
        };
        match &query.places[place] {
            ValuePlace::Object(at) => format!("{target} {name} {}", self.objects.list[*at].oid),
            _ => format!("{target} {name} of {}", variable.interface),
        }
    }

    /// When the latest of a query's values came, in ns since 1970.
    fn answered_ns(&self, query: &WantedQuery) -> Option<i64> {
        let after_us = query.places.iter().filter_map(|place| match place {
            ValuePlace::Object(at) => {
                let object = &self.objects.list[*at];
                (!object.value.is_none()).then_some(object.after_us)
            }
            ValuePlace::Walk { walk, .. } => self.walks.get(*walk).map(|walk| walk.after_us),
            ValuePlace::Constant(_) | ValuePlace::Missing(_) => None,
        });
        after_us.max().map(|after_us| self.round.wall_ns(after_us))
    }

    fn walked(&self, walk: usize, method: ObjectMethod) -> Option<Vec<u8>> {
        let walk = self.walks.get(walk).filter(|walk| walk.is_over)?;
        match method {
            ObjectMethod::Count => Some(walk.values.len().to_string().into_bytes()),
            ObjectMethod::Walk(place) => walk.values.get(place).cloned(),
            _ => walk.values.first().cloned(),
        }
    }
}

/// A value as MRTG's library prints it; `None` for an exception.
pub(super) fn text(value: &SnmpValue<'_>) -> Option<Vec<u8>> {
    match value {
        SnmpValue::TimeTicks(ticks) => Some(time_ticks(*ticks).into_bytes()),
        SnmpValue::OctetString(bytes) => Some(bytes.to_vec()),
        SnmpValue::Null => None,
        // Their bytes in hexadecimal could be digits alone, and would be taken for a number.
        SnmpValue::Opaque(_) => Some(unprintable(0x44)),
        SnmpValue::NsapAddress(_) => Some(unprintable(0x45)),
        SnmpValue::Unreadable(tag, _) => Some(unprintable(*tag)),
        value if value.is_exception() => None,
        other => Some(other.to_string().into_bytes()),
    }
}

fn unprintable(tag: u8) -> Vec<u8> {
    format!("#<unprintable BER type {tag:#x}>").into_bytes()
}

/// `3 days, 4:05:06`.
pub(super) fn time_ticks(ticks: u32) -> String {
    let seconds = ticks / 100;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let clock = format!("{}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    match days {
        0 => clock,
        1 => format!("1 day, {clock}"),
        _ => format!("{days} days, {clock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_without_a_meaning_are_no_number() {
        let printed = |value| text(&value).map(|text| String::from_utf8(text).unwrap());
        for (value, tag) in [
            (SnmpValue::Opaque(&[1, 2, 3, 4]), "0x44"),
            (SnmpValue::NsapAddress(&[0x12]), "0x45"),
            (SnmpValue::Unreadable(0xa, &[3]), "0xa"),
        ] {
            assert_eq!(printed(value), Some(format!("#<unprintable BER type {tag}>")));
        }
        assert_eq!(printed(SnmpValue::Float(2.5)).as_deref(), Some("2.5"));
        assert_eq!(printed(SnmpValue::NoSuchObject), None);
    }
}
