//! What is said of a round: a line for each cause, with the first things that it is about and how many
//! more there are, so that 600 silent devices, or a full disk, are one line and not thousands.

use std::cell::OnceCell;
use std::collections::HashMap;

use text::error_text::with_causes;

use crate::config::Config;
use crate::target::{Arithmetic, Query};

/// Things that a line names; the others are counted.
const NAMED_MAX: usize = 4;

/// Causes of a round, in the order in which they came up.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    causes: Vec<Cause>,
    index: HashMap<String, usize>,
}

#[derive(Debug)]
struct Cause {
    text: String,
    /// What is said if it is about one thing only.
    alone: Option<String>,
    named: Vec<String>,
    count: usize,
}

impl Notices {
    /// Adds a cause and what it is about, or counts that if enough are named.
    pub(crate) fn add(&mut self, about: impl FnOnce() -> String, cause: impl Into<String>) {
        self.add_or(about, cause.into(), || None);
    }

    /// Adds an error; of one thing only all of its text is said, of several what is at its root.
    pub(crate) fn add_error(
        &mut self,
        about: impl FnOnce() -> String,
        error: &(dyn std::error::Error + 'static),
    ) {
        let mut root = error;
        while let Some(next) = root.source() {
            root = next;
        }
        let of_one = error.source().is_none();
        let name = about();
        self.add_or(
            || name.clone(),
            root.to_string(),
            || {
                let text = with_causes(error);
                Some(if of_one { format!("{name}: {text}") } else { text })
            },
        );
    }

    /// Adds a cause; `alone` gives what is said if it stays alone.
    pub(crate) fn add_or(
        &mut self,
        about: impl FnOnce() -> String,
        cause: String,
        alone: impl FnOnce() -> Option<String>,
    ) {
        let place = match self.index.get(&cause) {
            Some(place) => *place,
            None => {
                self.index.insert(cause.clone(), self.causes.len());
                let (named, alone) = (Vec::new(), alone());
                self.causes.push(Cause { text: cause, alone, named, count: 0 });
                self.causes.len() - 1
            }
        };
        let found = &mut self.causes[place];
        found.count += 1;
        if found.named.len() < NAMED_MAX {
            found.named.push(about());
        }
    }

    /// Says them all.
    pub(crate) fn say(self, say: &mut dyn FnMut(String)) {
        for Cause { text, alone, named, count } in self.causes {
            if let (1, Some(alone)) = (count, alone) {
                say(alone);
                continue;
            }
            let more = match count - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            say(format!("{}{more}: {text}", named.join(", ")));
        }
    }
}

/// The targets of queries, for messages: a definition may have commands and passwords in it.
#[derive(Debug)]
pub(crate) struct QueryNames<'c> {
    config: &'c Config,
    first: OnceCell<Vec<Option<usize>>>,
}

impl<'c> QueryNames<'c> {
    /// The names of the queries of a configuration; nothing is looked up before it is wanted.
    pub(crate) fn new(config: &'c Config) -> Self {
        QueryNames { config, first: OnceCell::new() }
    }

    /// `Target[name]`, of several the first.
    pub(crate) fn of(&self, query: usize) -> String {
        let first = self.first.get_or_init(|| {
            let mut first = vec![None; self.config.queries.len()];
            for (number, target) in self.config.targets.iter().enumerate() {
                for query in target.expression.iter().flat_map(Arithmetic::values) {
                    if let Some(place) = first.get_mut(query) {
                        place.get_or_insert(number);
                    }
                }
            }
            first
        });
        match (first.get(query), self.config.queries.get(query)) {
            (Some(Some(target)), _) => format!("Target[{}]", self.config.targets[*target].name),
            // `RouterUptime` and `RouterName` have queries of their own.
            (_, Some(Query::Snmp(query) | Query::Texts(query))) => query.text.clone(),
            _ => "a program".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_one_line() {
        let mut notices = Notices::default();
        for number in 0..600 {
            notices.add(|| format!("d{number}"), "no answer");
            if number == 7 {
                notices.add(|| "d7".to_owned(), "another");
            }
        }
        let mut said = Vec::new();
        notices.say(&mut |line| said.push(line));
        assert_eq!(said, ["d0, d1, d2, d3 and 596 more: no answer", "d7: another"]);
    }
}
