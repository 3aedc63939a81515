//! How many records of each level the steps of a period have.

use super::index::Span;
use super::{LogArchive, LogArchiveError, LogLosses, LogSearch, LooksForEnd};
use crate::query::Filter;

/// Equal steps of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSteps {
    /// Where the first begins, in ns since 1970.
    pub from_ns: u64,
    /// How long each is.
    pub step_ns: u64,
    /// How many there are.
    pub count: usize,
}

impl LogSteps {
    /// The step of a time.
    fn of(&self, time_ns: u64) -> Option<usize> {
        let after = time_ns.checked_sub(self.from_ns)?;
        usize::try_from(after / self.step_ns.max(1)).ok().filter(|step| *step < self.count)
    }

    /// The step that has all of a span.
    fn of_all(&self, (first_ns, last_ns): Span) -> Option<usize> {
        self.of(first_ns).filter(|step| self.of(last_ns) == Some(*step))
    }

    fn until_ns(&self) -> u64 {
        let length = self.step_ns.max(1).saturating_mul(self.count as u64);
        self.from_ns.saturating_add(length)
    }
}

/// An answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogCounts {
    /// For each step the records by the number of their level.
    pub steps: Vec<[u64; 16]>,
    /// The times of the first and the last record that the store has; `None` if it has none.
    pub recorded_ns: Option<(u64, u64)>,
    /// What the store lacks of the period.
    pub losses: LogLosses,
}

fn add(step: &mut [u64; 16], counts: [u64; 16]) {
    step.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
}

impl LogArchive {
    /// How many records of a search each step has; the period of the search is that of the steps.
    ///
    /// # Errors
    /// If the store cannot be read, or `has_ended` says so.
    pub fn counts(
        &self,
        search: &LogSearch,
        steps: LogSteps,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<LogCounts, LogArchiveError> {
        let (from_ns, until_ns) = (Some(steps.from_ns), Some(steps.until_ns()));
        let filter = Filter { from_ns, until_ns, ..search.filter.clone() };
        let search = &LogSearch { filter, ..search.clone() };
        let filter = &search.filter;
        let (parts, mut walk) = self.wanted_parts(filter, search.keys(), has_ended)?;
        let mut found = vec![[0; 16]; steps.count];
        let mut scratch = Vec::new();
        for part in &parts {
            let within = part.part.span().and_then(|span| steps.of_all(span));
            if let (Some(step), true) = (within, search.words.is_empty() && filter.is_of_levels())
                && let Some(counts) = filter.counted(&part.part.levels)
            {
                add(&mut found[step], counts);
                continue;
            }
            walk.chunks(part, &mut |chunk| {
                let is_counted = search.words.is_empty() && filter.is_of_levels_of(chunk.chunk);
                for (number, block) in chunk.blocks() {
                    if !chunk.may_have(number, filter) {
                        continue;
                    }
                    if let (Some(step), true) =
                        (steps.of_all((block.first_ns, block.last_ns)), is_counted)
                        && let Some(counts) = filter.counted(&block.levels)
                    {
                        add(&mut found[step], counts);
                        continue;
                    }
                    chunk.block(number, &mut |item| {
                        let Some(record) = search.wanted(item, &mut scratch) else { return };
                        if let Some(step) = steps.of(record.time_ns) {
                            found[step][usize::from(record.level().number())] += 1;
                        }
                    })?;
                }
                Ok(())
            })?;
        }
        let recorded_ns = self.recorded_ns(has_ended)?;
        Ok(LogCounts { steps: found, recorded_ns, losses: walk.losses })
    }

    /// The times of the first and the last record that the store has.
    pub(super) fn recorded_ns(
        &self,
        has_ended: &LooksForEnd<'_>,
    ) -> Result<Option<Span>, LogArchiveError> {
        let spans = self.indexes(has_ended)?;
        let spans = spans.iter().filter_map(|index| index.span());
        Ok(spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))))
    }
}
