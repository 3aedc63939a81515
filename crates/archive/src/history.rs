//! The history of a range: the steps that no recording answers, from round-robin databases.
//!
//! A row counts in the step in which it begins, whole and once: nothing is interpolated, and a row that
//! is longer than the steps leaves the further ones without a value.  The mean of a step is that of its
//! rows of one archive of means: the one with the longest rows of which a step is made exactly, else the
//! one with the shortest rows that reaches back so far.  The smallest and the largest value come from
//! archives of `MIN` and `MAX`, or from rows that stand for a single reading; the smallest mean is not
//! the smallest value.

use std::collections::BTreeMap;
use std::ops::Range;

use layout::StepOrigin;
use recorder::database_names::data_source;
use rrd::File;
use rrd::fetch::{rows_beginning, span};
use rrd::header::{ConsolidationFunction, RrdHeader};
use sample::{Meta, SourceDef};

use crate::archive::Recordings;
use crate::databases::Database;
use crate::history_value::{HistorySeries, HistoryValue};
use crate::range::VALUES_MAX;
use crate::summary::SECOND_NS;
use crate::{Error, RangeAnswer, RangeQuery, RangeSeries};

/// Rows that are read at once.
const ROWS_AT_ONCE: u32 = 4_096;

/// The instance that stands for the sum over all that count, where databases have no others.
const SUM: &[u8] = b"*";

impl Recordings {
    /// Where each step of an answer that has a value comes from, and in which resolution.
    #[must_use]
    pub fn origins(&self, answer: &RangeAnswer) -> BTreeMap<u32, StepOrigin> {
        let mut origins = BTreeMap::new();
        // Values one after the other are mostly of one recording.
        let mut latest = (None, 0);
        for value in answer.series.iter().flat_map(|series| &series.values) {
            let file = value.files.1;
            if latest.0 != Some(file) {
                let meta = self.meta(file as usize);
                latest = (Some(file), meta.map_or(0, |meta| meta.cadence_ns(answer.def.cadence)));
            }
            origins.insert(value.step, StepOrigin::Recording { resolution_ns: latest.1 });
        }
        for value in answer.history.iter().flat_map(|series| &series.values) {
            let resolution_ns = match origins.get(&value.step) {
                Some(StepOrigin::History { resolution_ns }) => *resolution_ns,
                _ => 0,
            };
            let resolution_ns = resolution_ns.max(value.resolution_ns);
            origins.insert(value.step, StepOrigin::History { resolution_ns });
        }
        origins
    }

    /// The rows of databases that begin before a question and reach into it, each with its begin in
    /// nanoseconds since the epoch.  [`Recordings::range`] counts them where they begin.
    ///
    /// # Errors
    /// If a database cannot be read, or has too many values.
    pub fn rows_before(&self, query: &RangeQuery) -> Result<Vec<(i64, HistorySeries)>, Error> {
        let def = self.source(&query.host, &query.source)?;
        let mut lengths: Vec<u64> = Vec::new();
        for database in self.databases_of(&query.host) {
            if *database.source != *query.source {
                continue;
            }
            let Some(file) = database.open()? else { continue };
            let header = file.header();
            lengths.extend((0..header.archives.len()).map(|at| header.row_seconds(at)));
        }
        lengths.sort_unstable();
        lengths.dedup();
        let mut found: Vec<(i64, HistorySeries)> = Vec::new();
        for seconds in lengths {
            let row_ns = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(SECOND_NS);
            let since_ns = query.from_ns.checked_rem_euclid(row_ns).unwrap_or(0);
            if since_ns == 0 {
                continue;
            }
            let from_ns = query.from_ns - since_ns;
            let row = RangeQuery {
                from_ns,
                thru_ns: from_ns.saturating_add(row_ns),
                step_ns: row_ns,
                ..query.clone()
            };
            for series in self.history(&row, &def, 1, &[])? {
                let same = |one: &HistorySeries| {
                    (&one.instance, one.field) == (&series.instance, series.field)
                };
                // The shortest row says most.
                if !found.iter().any(|(_, one)| same(one)) {
                    found.push((from_ns, series));
                }
            }
        }
        Ok(found)
    }

    /// Whether there is a database of a source of a machine.
    pub(crate) fn has_database(&self, host: &str, source: &str) -> bool {
        self.databases_of(host).any(|database| *database.source == *source)
    }

    /// What databases have of the steps that recordings do not answer.
    pub(crate) fn history(
        &self,
        query: &RangeQuery,
        def: &SourceDef,
        steps: usize,
        recorded: &[RangeSeries],
    ) -> Result<Vec<HistorySeries>, Error> {
        if !self.has_database(&query.host, &query.source) {
            return Ok(Vec::new());
        }
        let mut asked = vec![true; steps];
        let mut answered = |step: u32| {
            if let Some(is_asked) = asked.get_mut(step as usize) {
                *is_asked = false;
            }
        };
        recorded.iter().flat_map(|series| &series.values).for_each(|value| answered(value.step));
        let meta = self.of_host(&query.host).last().map(|(_, file)| file.file.meta.clone());
        let mut found =
            FoundSeries { query, def, meta: meta.unwrap_or_default(), series: vec![], count: 0 };
        let of_source = || {
            let databases = self.databases_of(&query.host);
            databases.filter(|database| *database.source == *query.source)
        };
        let has_instances = !def.instance.is_empty();
        let is_wanted = |name: &[u8]| {
            query.instances.is_empty() || query.instances.iter().any(|asked| asked == name)
        };
        for database in of_source() {
            let name = match &database.instance {
                Some(name) if has_instances && is_wanted(name) => name,
                None if !has_instances && is_wanted(b"") => &Vec::new(),
                _ => continue,
            };
            found.read(database, name, &asked)?;
        }
        if has_instances && is_wanted(SUM) {
            for value in found.series.iter().flat_map(|series| &series.values) {
                asked[value.step as usize] = false;
            }
            for whole in of_source().filter(|database| database.instance.is_none()) {
                found.read(whole, SUM, &asked)?;
            }
        }
        let mut series = found.series;
        series
            .sort_by(|one, other| (&one.instance, one.field).cmp(&(&other.instance, other.field)));
        Ok(series)
    }
}

/// The series that were found so far.
struct FoundSeries<'a> {
    query: &'a RangeQuery,
    def: &'a SourceDef,
    meta: Meta,
    series: Vec<HistorySeries>,
    count: usize,
}

/// Some steps whose rows are of one archive.
struct Run {
    archive: usize,
    steps: Range<usize>,
}

/// The values of a field: step, what was folded, of how many rows.
type Folded = Vec<(u32, f64, u32)>;

impl FoundSeries<'_> {
    /// Adds what a database has of the steps that are asked for.
    fn read(&mut self, database: &Database, name: &[u8], asked: &[bool]) -> Result<(), Error> {
        if !asked.contains(&true) {
            return Ok(());
        }
        let Some(file) = database.open()? else { return Ok(()) };
        let header = file.header();
        let places = self.query.fields.iter().map(|name| header.source_index(&data_source(name)));
        let places: Vec<Option<usize>> = places.collect();
        let picker = Picker { header, query: self.query };
        let picked: Vec<Option<usize>> =
            asked.iter().enumerate().map(|(step, asked)| picker.mean(step, *asked)).collect();
        let means = self.fold(&file, &runs(&picked), &places, |sum, value| sum + value)?;
        let extreme = |function, fold: fn(f64, f64) -> f64| {
            let found = picked.iter().enumerate();
            let found = found.map(|(step, mean)| picker.extreme(function, step, (*mean)?));
            self.fold(&file, &runs(&found.collect::<Vec<_>>()), &places, fold)
        };
        let smallest = extreme(ConsolidationFunction::Minimum, f64::min)?;
        let largest = extreme(ConsolidationFunction::Maximum, f64::max)?;
        for (field, means) in means.into_iter().enumerate().filter(|(_, means)| !means.is_empty()) {
            let unit = self.def.field(&self.query.fields[field]).map(|at| self.def.fields[at].unit);
            let Some(unit) = unit else { continue };
            let scale = view::to_base(unit, 1.0, &self.meta);
            let (mut smallest, mut largest) =
                (smallest[field].iter().peekable(), largest[field].iter().peekable());
            let value = |(step, sum, rows): (u32, f64, u32)| HistoryValue {
                step,
                mean: sum / f64::from(rows) / scale,
                min: value_of(&mut smallest, step).map(|value| value / scale),
                max: value_of(&mut largest, step).map(|value| value / scale),
                resolution_ns: picked[step as usize]
                    .map_or(0, |archive| header.row_seconds(archive).saturating_mul(1_000_000_000)),
            };
            let values: Vec<HistoryValue> = means.into_iter().map(value).collect();
            self.count += values.len();
            if self.count > VALUES_MAX {
                return Err(Error::TooMuch { what: "values", limit: VALUES_MAX });
            }
            self.series.push(HistorySeries { instance: name.to_vec(), field, values });
        }
        Ok(())
    }

    /// Folds the known rows of each step, for each field.
    fn fold(
        &self,
        file: &File,
        runs: &[Run],
        places: &[Option<usize>],
        fold: impl Fn(f64, f64) -> f64,
    ) -> Result<Vec<Folded>, Error> {
        let RangeQuery { from_ns, thru_ns, step_ns, .. } = *self.query;
        let mut folded = vec![Folded::new(); places.len()];
        for Run { archive, steps } in runs {
            let at_s = |step: usize| {
                let at_ns = (step as i64).saturating_mul(step_ns).saturating_add(from_ns);
                let at_ns = at_ns.min(thru_ns);
                at_ns.div_euclid(SECOND_NS) + i64::from(at_ns.rem_euclid(SECOND_NS) > 0)
            };
            let (mut at, end) = (at_s(steps.start), at_s(steps.end));
            loop {
                let rows = rows_beginning(file, *archive, (at, end), ROWS_AT_ONCE)?;
                let width = rows.names.len().max(1);
                let begins = (0..).map(|row: i64| rows.start + row * rows.step_seconds as i64);
                for (begin_s, cells) in begins.zip(rows.cells.chunks_exact(width)) {
                    let since_ns = begin_s.saturating_mul(SECOND_NS).saturating_sub(from_ns);
                    let Ok(step) = u32::try_from(since_ns / step_ns) else { continue };
                    for (folded, place) in folded.iter_mut().zip(places) {
                        let value = place.map_or(f64::NAN, |place| cells[place]);
                        match folded.last_mut() {
                            _ if !value.is_finite() => (),
                            Some((last, known, rows)) if *last == step => {
                                (*known, *rows) = (fold(*known, value), *rows + 1);
                            }
                            _ => folded.push((step, value, 1)),
                        }
                    }
                }
                if rows.cells.is_empty() || rows.end >= end {
                    break;
                }
                at = rows.end;
            }
        }
        Ok(folded)
    }
}

/// The value of a step, of steps that are asked for in rising order.
fn value_of<'a>(
    values: &mut std::iter::Peekable<impl Iterator<Item = &'a (u32, f64, u32)>>,
    step: u32,
) -> Option<f64> {
    while values.next_if(|value| value.0 < step).is_some() {}
    values.next_if(|value| value.0 == step).map(|value| value.1)
}

/// The runs of steps with the same archive.
fn runs(picked: &[Option<usize>]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (step, archive) in picked.iter().enumerate() {
        let Some(archive) = *archive else { continue };
        match runs.last_mut() {
            Some(run) if run.archive == archive && run.steps.end == step => run.steps.end += 1,
            _ => runs.push(Run { archive, steps: step..step + 1 }),
        }
    }
    runs
}

/// Picks the archive of each step.
struct Picker<'a> {
    header: &'a RrdHeader,
    query: &'a RangeQuery,
}

impl Picker<'_> {
    /// The archives that have what a function gives: its own, and those of single readings.
    fn archives(&self, function: ConsolidationFunction) -> impl Iterator<Item = usize> {
        let archives = self.header.archives.iter().enumerate();
        let has = archives.filter(move |(_, archive)| {
            let is_single = archive.steps_per_row == 1 && archive.function.is_plain();
            is_single || archive.function == function
        });
        has.map(|(index, _)| index)
    }

    /// The start and the end of a step, in nanoseconds.
    fn period(&self, step: usize) -> (i64, i64) {
        let RangeQuery { from_ns, thru_ns, step_ns, .. } = *self.query;
        let begin_ns = (step as i64).saturating_mul(step_ns).saturating_add(from_ns);
        (begin_ns, begin_ns.saturating_add(step_ns).min(thru_ns))
    }

    /// The period of an archive, in nanoseconds.
    fn span(&self, archive: usize) -> (i64, i64) {
        let (oldest, newest) = span(self.header, archive);
        (oldest.saturating_mul(SECOND_NS), newest.saturating_mul(SECOND_NS))
    }

    /// Whether each step is made of whole rows.
    fn fits(&self, archive: usize) -> bool {
        let row_ns = self.header.row_seconds(archive).saturating_mul(1_000_000_000);
        let row_ns = i64::try_from(row_ns).unwrap_or(i64::MAX);
        self.query.step_ns % row_ns == 0 && self.query.from_ns.rem_euclid(row_ns) == 0
    }

    fn mean(&self, step: usize, is_asked: bool) -> Option<usize> {
        if !is_asked {
            return None;
        }
        let (begin_ns, end_ns) = self.period(step);
        let all = || self.archives(ConsolidationFunction::Average);
        let has_all = |archive: &usize| {
            let (oldest_ns, newest_ns) = self.span(*archive);
            self.fits(*archive) && oldest_ns <= begin_ns && newest_ns >= end_ns
        };
        let has_begin = |archive: &usize| {
            let (oldest_ns, newest_ns) = self.span(*archive);
            oldest_ns <= begin_ns && newest_ns > begin_ns
        };
        let has_part = |archive: &usize| {
            let (oldest_ns, newest_ns) = self.span(*archive);
            oldest_ns < end_ns && newest_ns > begin_ns
        };
        let row_seconds = |archive: &usize| self.header.row_seconds(*archive);
        all()
            .filter(has_all)
            .max_by_key(row_seconds)
            .or_else(|| all().filter(has_begin).min_by_key(row_seconds))
            .or_else(|| all().filter(has_part).min_by_key(|archive| self.span(*archive).0))
    }

    /// The archive of smallest or largest values of a step whose means are of `mean`.
    fn extreme(&self, function: ConsolidationFunction, step: usize, mean: usize) -> Option<usize> {
        let (begin_ns, end_ns) = self.period(step);
        let (means_from_ns, means_thru_ns) = self.span(mean);
        let of_mean = self.header.row_seconds(mean);
        let is_good = |archive: &usize| {
            let (oldest_ns, newest_ns) = self.span(*archive);
            let has_all = oldest_ns <= begin_ns && newest_ns >= end_ns;
            let has_same = oldest_ns <= begin_ns.max(means_from_ns)
                && newest_ns >= end_ns.min(means_thru_ns)
                && self.header.row_seconds(*archive) == of_mean;
            has_same || has_all && self.fits(*archive)
        };
        let archives = self.archives(function).filter(is_good);
        archives.max_by_key(|archive| self.header.row_seconds(*archive))
    }
}
