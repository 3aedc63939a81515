//! How many records each logger, level, host and process has, of those that are shown.

use std::collections::HashMap;
use std::ops::ControlFlow;

use log_format::LogRecord;

use crate::error::ViewError;
use crate::filters::ShownRecords;
use crate::origin::{LogOrigin, LooksForEnd};
use crate::row::escaped_name;

/// Most names that are counted of a kind; records of others are counted together.
const NAMES_MAX: usize = 10_000;

/// What records are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedBy {
    Logger,
    Level,
    Host,
    Process,
}

impl CountedBy {
    pub(crate) const ALL: [CountedBy; 4] =
        [CountedBy::Logger, CountedBy::Level, CountedBy::Host, CountedBy::Process];

    /// The name of the property, for titles.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CountedBy::Logger => "logger",
            CountedBy::Level => "level",
            CountedBy::Host => "host",
            CountedBy::Process => "process",
        }
    }

    /// The next one, round about.
    pub(crate) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|one| *one == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// Names and their counts: most first.
pub(crate) type Counts = Vec<(String, u64)>;

/// The counts of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) records: u64,
    counts: [Counts; 4],
    /// Whether the user has ended the count before the last record.
    pub(crate) is_part: bool,
}

/// Names that are counted.
#[derive(Default)]
struct Counting {
    names: HashMap<String, u64>,
    others: u64,
}

impl Counting {
    fn add(&mut self, name: &str) {
        // Nothing is allocated for a name that is counted already.
        if let Some(count) = self.names.get_mut(name) {
            *count += 1;
        } else if self.names.len() < NAMES_MAX {
            self.names.insert(name.to_owned(), 1);
        } else {
            self.others += 1;
        }
    }

    fn sorted(self) -> Counts {
        let mut counts: Counts = self.names.into_iter().collect();
        counts.sort_by(|(one, first), (other, second)| second.cmp(first).then(one.cmp(other)));
        counts.extend((self.others > 0).then(|| ("(others)".to_owned(), self.others)));
        counts
    }
}

impl Statistics {
    /// Counts the records that are shown.
    pub(crate) fn count(
        origin: &mut dyn LogOrigin,
        shown: &ShownRecords,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Self, ViewError> {
        let mut counting: [Counting; 4] = Default::default();
        let mut records = 0;
        let mut add = |record: &LogRecord<'_>| {
            records += 1;
            let names =
                [record.logger(), record.level().name(), record.origin.host, record.origin.process];
            counting.iter_mut().zip(names).for_each(|(counting, name)| counting.add(name));
            ControlFlow::Continue(())
        };
        let is_part = match origin.visit(&shown.filter, &mut add, has_ended) {
            Ok(()) => false,
            Err(error) if error.is_interrupted() => true,
            Err(error) => return Err(error),
        };
        let counts = counting.map(Counting::sorted);
        Ok(Statistics { records, counts, is_part })
    }

    /// The counts by one property.
    pub(crate) fn of(&self, by: CountedBy) -> &Counts {
        let at = CountedBy::ALL.iter().position(|one| *one == by).unwrap_or(0);
        &self.counts[at]
    }

    /// Lines of a kind, as text: count, share, name.
    pub(crate) fn lines(&self, by: CountedBy) -> Vec<String> {
        let all = self.records.max(1) as f64;
        let line = |(name, count): &(String, u64)| {
            let share = 100.0 * *count as f64 / all;
            format!("{count:>10} {share:>5.1} %  {}", escaped_name(name.as_bytes()))
        };
        self.of(by).iter().map(line).collect()
    }
}
