//! A range: fields and instances of a source in steps of equal length.

use std::ops::Range;

use sample::{Kind, SourceDef};

use crate::archive::Recordings;
use crate::archived_file::ArchivedFile;
use crate::history_value::HistorySeries;
use crate::step_sums::StepSums;
use crate::summary::{Gathered, RangeCost, SECOND_NS, Spans, What, source_window_ns};
use crate::{Error, Select};

/// The most values (instances by fields by steps) of an answer: 20 MiB of them.
pub(crate) const VALUES_MAX: usize = 256 << 10;

/// The most steps: a year of minutes.
const STEPS_MAX: i64 = 1 << 20;

/// What a range is asked of.
#[derive(Clone, Debug, Default)]
pub struct RangeQuery {
    /// The machine.
    pub host: String,
    /// The name of the source.
    pub source: String,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The instances; all if there are none.
    pub instances: Vec<Vec<u8>>,
    /// The start of the first step, in nanoseconds since the epoch.
    pub from_ns: i64,
    /// The end of the period: a sample at this time is not in it.
    pub thru_ns: i64,
    /// The length of a step.  The last one may end before its length.
    pub step_ns: i64,
}

/// A range.
#[derive(Clone, Debug)]
pub struct RangeAnswer {
    /// How many steps the period has: step *i* begins at `from_ns + i * step_ns`.
    pub steps: usize,
    /// The definition of the source, for units and kinds.
    pub def: std::sync::Arc<SourceDef>,
    /// The instances that have any value, by name, each field of one after the other.
    pub series: Vec<RangeSeries>,
    /// The steps that no recording answers, from databases; in the same order.
    pub history: Vec<HistorySeries>,
    /// What was read for it.
    pub cost: RangeCost,
}

/// One field of one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeSeries {
    /// The instance; empty for a source with a single row.
    pub instance: Vec<u8>,
    /// The index of the field among those of the query.
    pub field: usize,
    /// The steps that have a value, in rising order.  A step without readings is not there.
    pub values: Vec<StepValue>,
}

/// A step of a field of an instance: levels of a gauge, rates a second of a counter, in the unit of
/// the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepValue {
    /// The number of the step, from 0.
    pub step: u32,
    /// How many readings it stands on: of a counter those that have a rate.
    pub readings: u32,
    /// The recordings of the first and the last of them ([`Recordings::path`]).
    pub files: (u32, u32),
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The latest.
    pub last: f64,
    /// The sum of a gauge's levels, or how much a counter grew.
    sum: i128,
    /// The time in which a counter grew; 0 for a gauge.
    took_ns: u64,
}

impl StepValue {
    fn of(step: u32, file: u32, sums: &StepSums) -> Self {
        let &StepSums { readings, min, max, last, sum, took_ns } = sums;
        StepValue { step, readings, files: (file, file), min, max, last, sum, took_ns }
    }

    /// Adds a later part of the step.
    fn add(&mut self, later: &StepValue) {
        self.readings = self.readings.saturating_add(later.readings);
        self.files.1 = later.files.1;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.sum = self.sum.saturating_add(later.sum);
        self.took_ns = self.took_ns.saturating_add(later.took_ns);
    }

    /// The mean: of a gauge over its readings, of a counter over the time.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.took_ns {
            0 => self.sum as f64 / f64::from(self.readings),
            took_ns => self.sum as f64 / (took_ns as f64 / 1e9),
        }
    }

    /// How much a counter grew in the readings of the step; `None` for a gauge.
    #[must_use]
    pub fn growth(&self) -> Option<f64> {
        (self.took_ns > 0).then_some(self.sum as f64)
    }

    /// The time that the readings of a counter cover, which is shorter than the step if some are
    /// missing; 0 for a gauge.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.took_ns as f64 / 1e9
    }
}

impl RangeQuery {
    /// The number and the time of the step that has a time of the period.
    fn step_at(&self, realtime_ns: i64) -> (u32, Range<i64>) {
        let step = realtime_ns.saturating_sub(self.from_ns) / self.step_ns;
        let begin_ns = self.from_ns.saturating_add(step.saturating_mul(self.step_ns));
        let end_ns = begin_ns.saturating_add(self.step_ns);
        (u32::try_from(step).unwrap_or(u32::MAX), begin_ns..end_ns)
    }

    /// The number of steps.
    fn steps(&self) -> Result<usize, Error> {
        let period_ns = self.thru_ns.checked_sub(self.from_ns).filter(|&period| period > 0);
        let (from_ns, thru_ns, step_ns) = (self.from_ns, self.thru_ns, self.step_ns);
        let Some(period_ns) = period_ns.filter(|_| step_ns > 0) else {
            return Err(Error::NoSteps { from_ns, thru_ns, step_ns });
        };
        let steps = (period_ns - 1) / step_ns + 1;
        let steps = usize::try_from(steps).ok().filter(|_| steps <= STEPS_MAX);
        steps.ok_or(Error::TooMuch { what: "steps", limit: STEPS_MAX as usize })
    }
}

/// Steps that people read easily, in seconds: each is a part of the next full minute, hour or day.
const NICE_STEPS: [i64; 20] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
    86_400, 172_800, 604_800,
];

/// The longest of them.
const WEEK_NS: i64 = NICE_STEPS[NICE_STEPS.len() - 1] * SECOND_NS;

/// Readings of a period up to which they may be read one by one: eleven hours at one a second, a
/// fifth of a second for 128 columns.
const READINGS_ONE_BY_ONE: u64 = 40_000;

impl Recordings {
    /// The shortest step that people read easily (1, 2, 5, 10, 15, 30 seconds or minutes; 1, 2, 3, 6,
    /// 12 hours; 1, 2 days; weeks) with which a period has at most so many steps.
    ///
    /// A range costs least, whatever the length of its period, if each of its steps begins at a
    /// multiple of the step: let it begin at `from_ns - from_ns.rem_euclid(step_ns)`.  The number of
    /// steps is counted from there.
    #[must_use]
    pub fn aligned_step(from_ns: i64, thru_ns: i64, points_max: usize) -> i64 {
        let points_max = i64::try_from(points_max).unwrap_or(i64::MAX).max(1);
        let fits = |step_ns: &i64| {
            let begins_ns = i128::from(from_ns) - i128::from(from_ns.rem_euclid(*step_ns));
            let length_ns = i128::from(thru_ns) - begins_ns;
            length_ns <= i128::from(*step_ns) * i128::from(points_max)
        };
        let mut nice = NICE_STEPS.iter().map(|seconds| seconds * SECOND_NS);
        nice.find(fits).unwrap_or_else(|| {
            let mut weeks = (1..i64::MAX / WEEK_NS).map(|weeks| weeks * WEEK_NS);
            weeks.find(fits).unwrap_or(i64::MAX)
        })
    }

    /// The step of [`aligned_step`](Self::aligned_step), or in a long period up to twice as long: the
    /// shortest one that is made of whole windows of a source in the host's summaries.  The samples of
    /// a period of which no step is made of windows are all read.
    #[must_use]
    pub fn summarized_step(
        &self,
        (host, source): (&str, &str),
        from_ns: i64,
        thru_ns: i64,
        points_max: usize,
    ) -> i64 {
        let step_ns = Self::aligned_step(from_ns, thru_ns, points_max);
        let is_within =
            |file: &ArchivedFile| file.file.started_ns < thru_ns && file.ended_ns >= from_ns;
        let recorded = self.of_host(host).map(|(_, file)| file);
        let recorded = recorded.filter(|file| file.file.meta.host() == host && is_within(file));
        let intervals = |file: &ArchivedFile| {
            let (meta, def) = (&file.file.meta, &file.defs[file.source(source)?]);
            Some((meta.cadence_ns(def.cadence).max(1), source_window_ns(meta, def)))
        };
        let found: Vec<(u64, i64)> = recorded.filter_map(intervals).collect();
        let interval_ns = found.iter().map(|file| file.0).min().unwrap_or(u64::MAX);
        if thru_ns.saturating_sub(from_ns).unsigned_abs() / interval_ns <= READINGS_ONE_BY_ONE {
            return step_ns;
        }
        let is_windows = |step_ns: &i64| found.iter().all(|file| step_ns % file.1 == 0);
        let nice = NICE_STEPS.iter().map(|seconds| seconds * SECOND_NS);
        let mut near = nice.filter(|nice_ns| (step_ns..=2 * step_ns).contains(nice_ns));
        if step_ns > WEEK_NS { step_ns } else { near.find(is_windows).unwrap_or(step_ns) }
    }

    /// A range of fields in steps.
    ///
    /// # Errors
    /// An unknown host, source or field; a field that is a text; a period without steps; an answer
    /// that is too large; a recording that cannot be read.
    pub fn range(&self, query: &RangeQuery) -> Result<RangeAnswer, Error> {
        let steps = query.steps()?;
        if let Some(answer) = self.range_of_targets(query)? {
            return Ok(answer);
        }
        let def = self.source(&query.host, &query.source)?;
        let fields: Vec<&str> = query.fields.iter().map(String::as_str).collect();
        check_fields(&def, &fields)?;
        let select = Select {
            host: &query.host,
            source: &query.source,
            fields: &fields,
            from_ns: query.from_ns,
            thru_ns: query.thru_ns,
        };
        let width = fields.len();
        let begin = || Sums {
            query,
            width,
            wanted: Vec::new(),
            values: Vec::new(),
            count: 0,
            step: (0, 0..0),
        };
        let spans = Spans { step_ns: query.step_ns, steps, instances: &query.instances };
        let (sums, totals) = self.gather(&select, spans, begin, Sums::add)?;
        let name = |instance| totals.names.get(instance).unwrap_or_default().to_vec();
        let mut series = sums.series(name);
        series
            .sort_by(|one, other| (&one.instance, one.field).cmp(&(&other.instance, other.field)));
        let history = self.history(query, &def, steps, &series)?;
        Ok(RangeAnswer { steps, def, series, history, cost: totals.cost })
    }
}

/// Checks that a source has these fields, and that they are numbers.
pub(crate) fn check_fields(def: &SourceDef, fields: &[&str]) -> Result<(), Error> {
    for &field in fields {
        let Some(place) = def.field(field) else {
            let known = def.fields.iter().map(|field| &*field.name);
            return Err(Error::unknown_field(def, field, known));
        };
        if def.fields[place].kind == Kind::Text {
            let source_name = def.name.to_string();
            return Err(Error::Text { source_name, field: field.to_owned() });
        }
    }
    Ok(())
}

/// The steps of a range while its readings come.
struct Sums<'a> {
    query: &'a RangeQuery,
    width: usize,
    /// For each instance whether it is asked for, if that is known.
    wanted: Vec<Option<bool>>,
    /// Instances by fields.
    values: Vec<Vec<StepValue>>,
    count: usize,
    /// The step of the latest value, and its time: mostly that of the next one, too.
    step: (u32, Range<i64>),
}

impl Sums<'_> {
    /// Whether an instance is asked for.
    fn is_wanted(&mut self, instance: usize, name: &[u8]) -> bool {
        let asked = &self.query.instances;
        if self.wanted.len() <= instance {
            self.wanted.resize(instance + 1, None);
        }
        let is_named = || asked.is_empty() || asked.iter().any(|named| named == name);
        *self.wanted[instance].get_or_insert_with(is_named)
    }

    fn add(&mut self, read: &Gathered<'_>) -> Result<(), Error> {
        if !self.is_wanted(read.instance, read.name) {
            return Ok(());
        }
        if !self.step.1.contains(&read.realtime_ns) {
            self.step = self.query.step_at(read.realtime_ns);
        }
        let step = self.step.0;
        let file = u32::try_from(read.file).unwrap_or(u32::MAX);
        let What::Values(sums) = &read.what else { return Ok(()) };
        let part = StepValue::of(step, file, sums);
        let at = read.instance * self.width + read.field;
        if at >= self.values.len() {
            self.values.resize_with(at + 1, Vec::new);
        }
        let steps = &mut self.values[at];
        // The wall clock may have been set back: an earlier step goes on.
        let index = match steps.last() {
            Some(last) if last.step < step => Err(steps.len()),
            Some(last) if last.step == step => Ok(steps.len() - 1),
            _ => steps.binary_search_by_key(&step, |value| value.step),
        };
        match index {
            Ok(index) => steps[index].add(&part),
            Err(index) => {
                self.count += 1;
                if self.count > VALUES_MAX {
                    return Err(Error::TooMuch { what: "values", limit: VALUES_MAX });
                }
                steps.insert(index, part);
            }
        }
        Ok(())
    }

    fn series(self, name: impl Fn(usize) -> Vec<u8>) -> Vec<RangeSeries> {
        let width = self.width;
        let values = self.values.into_iter().enumerate().filter(|(_, values)| !values.is_empty());
        let series = |(at, values): (usize, Vec<StepValue>)| RangeSeries {
            instance: name(at / width),
            field: at % width,
            values,
        };
        values.map(series).collect()
    }
}
