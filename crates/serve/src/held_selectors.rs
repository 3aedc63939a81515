//! What selectors found last, for one who asks the same again and again as time goes on.
//!
//! A rule that looks at six hours every two minutes would read all of them each time, and the blocks of the
//! last hour, which no side file has yet, take milliseconds each to decode.  Recorders append: what
//! recordings have of a time stays as it is while they are the same recordings.  So samples are held, and
//! of each source of a host those from its newest one on are read.  All are read anew if there are other
//! recordings, or if the period begins before what is held or ends earlier than the one before (the clock
//! was set back), and each time where two recorders write at once.  What was recorded while the clock was
//! set back and right again between two questions is not found.
//!
//! Costs a mebibyte of samples at most; the selectors that were asked longest ago go first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use archive::RecordedSpan;
use promql::{Labels, Matcher, QueryBudget, QueryError, Series, is_stale};

/// Samples of all selectors.
const SAMPLES_MAX: usize = 1 << 16;
/// Selectors that are held.
const SELECTORS_MAX: usize = 64;

/// What a selector asks for.
#[derive(Clone, Copy)]
pub(crate) struct SelectorRequest<'a> {
    pub(crate) matchers: &'a [Matcher],
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    /// Without them only labels are wanted.
    pub(crate) with_samples: bool,
    pub(crate) budget: &'a QueryBudget<'a>,
}

/// The series of a source of a host.
pub(crate) struct FoundSource {
    pub(crate) host: String,
    pub(crate) source: String,
    /// Whether new samples are later than all others: of two recorders one may be behind.
    pub(crate) is_appended: bool,
    pub(crate) series: Vec<Series>,
}

/// When the samples of a source of a host begin that are to be read.
pub(crate) type BeginMs<'a> = &'a dyn Fn(&str, &str) -> i64;

/// Reads what a selector finds.
pub(crate) type ReadSources<'a> = &'a dyn Fn(BeginMs<'_>) -> Result<Vec<FoundSource>, QueryError>;

/// The selectors that are held, the one that was asked last at the end.
#[derive(Default)]
pub(crate) struct HeldSelectors(Mutex<Vec<HeldSelector>>);

impl HeldSelectors {
    /// The series of a selector: those that `read` gives, of which as little as possible is asked.
    pub(crate) fn select(
        &self,
        asked: &SelectorRequest<'_>,
        spans: Vec<RecordedSpan>,
        read: ReadSources<'_>,
    ) -> Result<Vec<Series>, QueryError> {
        let known = {
            let mut all = self.lock();
            let place = all.iter().position(|one| one.matchers == asked.matchers);
            place.map(|place| all.remove(place))
        };
        let known = known.filter(|one| one.can_go_on(asked, &spans));
        let mut one = known.unwrap_or_else(|| HeldSelector::new(asked, spans));
        let (series_read, samples_read) = one.read_new(asked, read)?;
        let series: Vec<Series> = one.within(asked.from_ms).collect();
        for one in series.iter().skip(series_read) {
            asked.budget.take_series(&one.labels)?;
        }
        asked.budget.take_samples(count(&series).saturating_sub(samples_read))?;
        self.hold(one);
        Ok(series)
    }

    fn hold(&self, one: HeldSelector) {
        let mut all = self.lock();
        // Another thread may have asked the same meanwhile.
        all.retain(|other| other.matchers != one.matchers);
        all.push(one);
        let samples = |all: &[HeldSelector]| all.iter().map(HeldSelector::samples).sum::<usize>();
        while all.len() > SELECTORS_MAX || samples(&all) > SAMPLES_MAX {
            all.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<HeldSelector>> {
        // A thread that panicked held it between whole changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A selector and what it found.
struct HeldSelector {
    matchers: Vec<Matcher>,
    /// The recordings that were read.
    spans: Vec<RecordedSpan>,
    /// The longest period that was asked for, and when the samples begin.
    length_ms: i64,
    from_ms: i64,
    /// Up to when they were read.
    to_ms: Option<i64>,
    sources: Vec<FoundSource>,
}

impl HeldSelector {
    fn new(asked: &SelectorRequest<'_>, spans: Vec<RecordedSpan>) -> Self {
        HeldSelector {
            matchers: asked.matchers.to_vec(),
            spans,
            length_ms: 0,
            from_ms: asked.from_ms,
            to_ms: None,
            sources: Vec::new(),
        }
    }

    /// Whether what is held is a part of what is asked for.
    fn can_go_on(&self, asked: &SelectorRequest<'_>, spans: &[RecordedSpan]) -> bool {
        let is_later = self.to_ms.is_some_and(|to_ms| asked.to_ms >= to_ms);
        is_later && asked.from_ms >= self.from_ms && self.spans == spans
    }

    /// Drops what is too old and reads what is new: how many series and samples were read.
    fn read_new(
        &mut self,
        asked: &SelectorRequest<'_>,
        read: ReadSources<'_>,
    ) -> Result<(usize, usize), QueryError> {
        self.length_ms = self.length_ms.max(asked.to_ms.saturating_sub(asked.from_ms));
        if self.to_ms == Some(asked.to_ms) {
            return Ok((0, 0));
        }
        self.from_ms = self.from_ms.max(asked.to_ms.saturating_sub(self.length_ms));
        for source in &mut self.sources {
            source.series.iter_mut().for_each(|one| drop_before(one, self.from_ms));
            source.series.retain(|one| !one.samples.is_empty());
        }
        let found = read(&|host, source| self.begin_ms(host, source))?;
        let (mut series, mut samples) = (0, 0);
        for one in found {
            series += one.series.len();
            samples += count(&one.series);
            self.add(one);
        }
        self.to_ms = Some(asked.to_ms);
        Ok((series, samples))
    }

    /// From when on a source is read: from the newest sample on, which tells what is there.
    fn begin_ms(&self, host: &str, source: &str) -> i64 {
        let held = self.sources.iter().find(|one| one.host == host && one.source == source);
        let held = held.filter(|one| one.is_appended);
        held.and_then(newest_ms).unwrap_or(self.from_ms)
    }

    fn add(&mut self, read: FoundSource) {
        let is_same = |one: &&mut FoundSource| one.host == read.host && one.source == read.source;
        match self.sources.iter_mut().find(is_same) {
            Some(held) if read.is_appended => append(held, read.series),
            Some(held) => held.series = read.series,
            None => self.sources.push(read),
        }
    }

    /// The series from a time on.
    fn within(&self, from_ms: i64) -> impl Iterator<Item = Series> {
        let series = self.sources.iter().flat_map(|source| &source.series);
        let within = series.map(move |one| {
            let samples = one.samples[begun(one, from_ms)..].to_vec();
            Series { labels: one.labels.clone(), samples }
        });
        within.filter(|one| !one.samples.is_empty())
    }

    fn samples(&self) -> usize {
        self.sources.iter().map(|source| count(&source.series)).sum()
    }
}

fn count(series: &[Series]) -> usize {
    series.iter().map(|one| one.samples.len()).sum()
}

/// The time of the newest sample of a source.
fn newest_ms(source: &FoundSource) -> Option<i64> {
    source.series.iter().filter_map(|one| Some(one.samples.last()?.time_ms)).max()
}

/// Adds what was read from the newest sample on, which is held already.
fn append(held: &mut FoundSource, read: Vec<Series>) {
    let newest_ms = newest_ms(held);
    let labels = held.series.iter().enumerate().map(|(place, one)| (one.labels.clone(), place));
    let places: HashMap<Arc<Labels>, usize> = labels.collect();
    for mut one in read {
        one.samples.retain(|sample| newest_ms.is_none_or(|newest| sample.time_ms > newest));
        match places.get(&one.labels) {
            Some(&place) => held.series[place].samples.extend(one.samples),
            None if one.samples.is_empty() => {}
            None => held.series.push(one),
        }
    }
}

/// The index of the first sample of a series at or after a time: an end, of what was there before, is none.
fn begun(series: &Series, from_ms: i64) -> usize {
    let samples = &series.samples;
    let first = samples.partition_point(|sample| sample.time_ms < from_ms);
    let ends = samples[first..].iter().take_while(|sample| is_stale(sample.value)).count();
    first + ends
}

fn drop_before(series: &mut Series, from_ms: i64) {
    let begun = begun(series, from_ms);
    series.samples.drain(..begun);
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use promql::{QueryLimits, SeriesPoint, selector};

    use super::*;

    const HOUR_MS: i64 = 3_600_000;

    /// A sample a minute, and from when on each question read them.
    #[derive(Default)]
    struct Recorded(RefCell<Vec<i64>>);

    impl Recorded {
        fn ask(&self, held: &HeldSelectors, spans: usize, (from_ms, to_ms): (i64, i64)) -> usize {
            let budget = QueryBudget::new(QueryLimits::default(), &|| None);
            let matchers = selector("free").unwrap();
            let asked = SelectorRequest {
                matchers: &matchers,
                from_ms,
                to_ms,
                with_samples: true,
                budget: &budget,
            };
            let span = RecordedSpan { path: "a".into(), from_ns: 0, thru_ns: None };
            let read = |begin_ms: BeginMs<'_>| {
                let begin_ms = begin_ms("host", "filesystem");
                self.0.borrow_mut().push(begin_ms);
                let times = (0..=to_ms).step_by(60_000).filter(|&time_ms| time_ms >= begin_ms);
                let samples = times.map(|time_ms| SeriesPoint { time_ms, value: 1.0 });
                let (labels, samples) = (Arc::default(), samples.collect());
                let series = vec![Series { labels, samples }];
                let (host, source) = ("host".to_owned(), "filesystem".to_owned());
                Ok(vec![FoundSource { host, source, is_appended: spans < 3, series }])
            };
            let found = held.select(&asked, vec![span; spans], &read).unwrap();
            let samples = found.iter().flat_map(|one| &one.samples);
            assert!(samples.clone().all(|one| (from_ms..=to_ms).contains(&one.time_ms)));
            samples.count()
        }
    }

    #[test]
    fn only_what_is_new_is_read() {
        let (recorded, held) = (Recorded::default(), HeldSelectors::default());
        let ask = |spans, from_ms, to_ms| {
            let samples = recorded.ask(&held, spans, (from_ms, to_ms));
            (samples, recorded.0.borrow_mut().drain(..).collect::<Vec<_>>())
        };
        assert_eq!(ask(1, 0, HOUR_MS), (61, vec![0]));
        // From the newest one on, and nothing at the same time for a part of it.
        assert_eq!(ask(1, 130_000, HOUR_MS + 130_000), (60, vec![HOUR_MS]));
        assert_eq!(ask(1, HOUR_MS, HOUR_MS + 130_000), (3, vec![]));
        // Earlier, another recording, a clock that was set back.
        assert_eq!(ask(1, 60_000, HOUR_MS + 130_000), (62, vec![60_000]));
        assert_eq!(ask(2, 120_000, HOUR_MS + 190_000), (62, vec![120_000]));
        assert_eq!(ask(2, 120_000, HOUR_MS), (59, vec![120_000]));
        // Two recorders write at once.
        for to_ms in [HOUR_MS, HOUR_MS + 60_000] {
            assert_eq!(ask(3, 120_000, to_ms), (to_ms as usize / 60_000 - 1, vec![120_000]));
        }
    }

    #[test]
    fn what_is_too_large_is_not_held() {
        let (recorded, held) = (Recorded::default(), HeldSelectors::default());
        let long_ms = SAMPLES_MAX as i64 * 60_000;
        assert_eq!(recorded.ask(&held, 1, (0, long_ms)), SAMPLES_MAX + 1);
        assert!(held.lock().is_empty());
    }
}
