//! A chart of a period in steps: mean, smallest and largest value of each, and on what they stand.

use std::collections::HashMap;
use std::fmt::Write as _;

use archive::{HistorySeries, HistoryValue, RangeAnswer, Recordings, StepValue};
use promql::QueryError;
use sample::{Meta, SourceDef};
use serde_json::{Value, json};
use view::to_base;

use super::asked::{PageRequest, ms, refused};
use super::charts::{CPU_IDLE, CPU_PARTS, Chart, ChartSeries, Formula, Instances};
use super::steps::{Period, Steps};
use super::table::Csv;
use crate::parameters::invalid;

/// Instances of a chart that come if none is named; the others can be asked for by name.
const INSTANCES_MAX: usize = 64;

/// Values that are asked of the archive at once, of those that it gives at most.
const VALUES_AT_ONCE: usize = 100_000;

/// Values of a chart, of 40 bytes in memory: with more curves it has fewer steps.
const VALUES_MAX: usize = 100_000;

/// Bytes of an answer: with several charts it may have more values than a single one.
const ANSWER_BYTES_MAX: usize = 8 << 20;

const SECOND_NS: i64 = 1_000_000_000;

/// A value of a step; its spread is not known if it is made of several fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// A curve.
pub(crate) struct Curve {
    pub(crate) series: &'static ChartSeries,
    /// The name of the instance; empty if the source has one row.
    pub(crate) instance: Vec<u8>,
    /// One for each step.
    pub(crate) values: Vec<Option<Spread>>,
}

/// A field in a step: of recordings, or of the history.
#[derive(Clone, Copy)]
struct ChartCell {
    mean: f64,
    min: Option<f64>,
    max: Option<f64>,
    readings: u32,
    /// The recording of the first reading.
    file: usize,
    /// The time that a row of the history stands for; 0 for readings.
    row_ns: u64,
}

/// Takes a value or a bound of a step.
type PicksBound = fn(&ChartCell) -> Option<f64>;

impl ChartCell {
    fn recorded(value: &StepValue) -> Self {
        let (mean, readings, file) = (value.mean(), value.readings, value.files.0 as usize);
        let (min, max) = (Some(value.min), Some(value.max));
        ChartCell { mean, min, max, readings, file, row_ns: 0 }
    }

    /// `file` is the latest recording of the host: the facts of a history are its.
    fn kept(value: &HistoryValue, file: usize) -> Self {
        let HistoryValue { mean, min, max, resolution_ns, .. } = *value;
        ChartCell { mean, min, max, readings: 0, file, row_ns: resolution_ns }
    }
}

/// A chart of a period.
pub(crate) struct ChartData {
    pub(crate) chart: &'static Chart,
    pub(crate) steps: Steps,
    pub(crate) curves: Vec<Curve>,
    /// For each step the readings of the source.
    readings: Vec<u32>,
    /// For each step the time that a row of the history stands for; 0 without one.
    rows_ns: Vec<u64>,
    /// Instances that were not named and do not come.
    left_out: usize,
}

/// The fields of one instance in steps, by which formulas are evaluated.
struct Columns<'a> {
    def: &'a SourceDef,
    fields: &'a [&'static str],
    recordings: &'a Recordings,
    /// Fields by steps.
    values: Vec<Option<ChartCell>>,
    steps: usize,
}

impl Columns<'_> {
    fn value(&self, field: &str, step: usize) -> Option<&ChartCell> {
        let place = self.fields.iter().position(|known| *known == field)?;
        self.values[place * self.steps + step].as_ref()
    }

    /// The readings of a step: those of the field that has most.
    fn readings(&self, step: usize) -> u32 {
        let values = self.values.iter().skip(step).step_by(self.steps.max(1));
        values.flatten().map(|value| value.readings).max().unwrap_or(0)
    }

    /// The time that a row of the history in a step stands for; 0 without one.
    fn row_ns(&self, step: usize) -> u64 {
        let values = self.values.iter().skip(step).step_by(self.steps.max(1));
        values.flatten().map(|value| value.row_ns).max().unwrap_or(0)
    }

    /// Takes the values of an instance from an answer.
    fn add_values(&mut self, answer: &RangeAnswer, name: &[u8], history: (i64, usize)) {
        for one in answer.series.iter().filter(|one| one.instance == name) {
            for value in &one.values {
                let place = one.field * self.steps + value.step as usize;
                self.values[place] = Some(ChartCell::recorded(value));
            }
        }
        for kept in answer.history.iter().filter(|kept| kept.instance == name) {
            self.add_history(kept, history);
        }
    }

    /// Adds the row of the history that began before the first step, where it reaches and nothing else
    /// is known.
    fn add_before(&mut self, (begin_ns, kept): (i64, &HistorySeries), steps: Steps, file: usize) {
        let Some(value) = kept.values.first() else { return };
        let length_ns = i64::try_from(value.resolution_ns).unwrap_or(i64::MAX);
        let end_ns = begin_ns.saturating_add(length_ns);
        for step in 0..self.steps {
            let at_ns = steps.from_ns + steps.step_ns * step as i64;
            let place = &mut self.values[kept.field * self.steps + step];
            if at_ns >= end_ns || place.is_some() {
                break;
            }
            *place = Some(ChartCell::kept(value, file));
        }
    }

    /// Adds the history of a field.  A row that is longer than the steps is shown for its whole time.
    fn add_history(&mut self, kept: &HistorySeries, (step_ns, file): (i64, usize)) {
        let step_ns = step_ns.max(1).unsigned_abs();
        for (at, value) in kept.values.iter().enumerate() {
            let next = kept.values.get(at + 1).map_or(self.steps, |next| next.step as usize);
            let first = value.step as usize;
            let covered = usize::try_from(value.resolution_ns / step_ns).unwrap_or(self.steps);
            for step in first..next.min(first.saturating_add(covered.max(1))).min(self.steps) {
                let place = &mut self.values[kept.field * self.steps + step];
                if place.is_some() {
                    break;
                }
                *place = Some(ChartCell::kept(value, file));
            }
        }
    }

    fn evaluate(&self, formula: Formula, step: usize) -> Option<Spread> {
        let of = |pick: PicksBound| move |field: &str| self.base(field, step, pick);
        let (mean_of, min_of, max_of) =
            (of(|value| Some(value.mean)), of(|value| value.min), of(|value| value.max));
        let mean = formula.value(&mean_of).filter(|mean| mean.is_finite())?;
        if self.readings(step) <= 1 && self.row_ns(step) == 0 {
            return Some(Spread { mean, min: Some(mean), max: Some(mean) });
        }
        let (min, max) = match formula {
            Formula::Field(_) | Formula::Fraction(_) => {
                (formula.value(&min_of), formula.value(&max_of))
            }
            // The time of all CPUs is nearly the same in all readings.
            Formula::Share(field) => {
                let all: f64 = CPU_PARTS.iter().filter_map(|part| mean_of(part)).sum();
                let percent = |value: f64| (all > 0.0).then(|| 100.0 * value / all);
                (min_of(field).and_then(percent), max_of(field).and_then(percent))
            }
            Formula::Busy => self.busy(step),
            Formula::Rest(_) => (None, None),
        };
        let is_percent = matches!(formula, Formula::Share(_) | Formula::Busy);
        let most = if is_percent { 100.0 } else { f64::INFINITY };
        let (min, max) = (min.map(|min| min.min(mean)), max.map(|max| max.max(mean).min(most)));
        Some(Spread { mean, min, max })
    }

    /// A field in base units.
    fn base(&self, field: &str, step: usize, of: PicksBound) -> Option<f64> {
        let value = self.value(field, step)?;
        let unit = self.def.fields[self.def.field(field)?].unit;
        let unknown = Meta::new();
        let meta = self.recordings.meta(value.file).unwrap_or(&unknown);
        Some(to_base(unit, of(value)?, meta))
    }

    /// Smallest and largest part of the time that is not idle.  Two bounds are known of the largest:
    /// all time without the smallest idle time, and the largest parts together.  The smaller one is
    /// taken; so it is with the smallest.
    fn busy(&self, step: usize) -> (Option<f64>, Option<f64>) {
        let sum = |is_idle: bool, of: PicksBound| -> Option<f64> {
            let parts = CPU_PARTS.iter().filter(|part| CPU_IDLE.contains(part) == is_idle);
            parts.filter_map(|part| self.value(part, step)).map(of).sum()
        };
        let mean = |is_idle| sum(is_idle, |value| Some(value.mean)).unwrap_or(0.0);
        let all = mean(false) + mean(true);
        let percent = |value: f64| (all > 0.0).then(|| (100.0 * value / all).max(0.0));
        let (least, most): (PicksBound, PicksBound) = (|value| value.min, |value| value.max);
        let bound = |used: Option<f64>, idle: Option<f64>, nearer: fn(f64, f64) -> f64| {
            Some(nearer(all - idle?, used?))
        };
        let max = bound(sum(false, most), sum(true, least), f64::min);
        let min = bound(sum(false, least), sum(true, most), f64::max);
        (min.and_then(percent), max.and_then(percent))
    }
}

/// The instances of a source in a period, with the sum of some fields, in the order in which people
/// read them.
pub(crate) fn instances(
    recordings: &Recordings,
    host: &str,
    source: &str,
    fields: &[&str],
    period: Period,
) -> Result<Vec<(Vec<u8>, f64)>, QueryError> {
    let Period { from_ns, thru_ns } = period;
    let one = Steps { from_ns, thru_ns, step_ns: thru_ns - from_ns, count: 1 };
    let answer = recordings.range(&one.query(host, source, fields, &[])).map_err(refused)?;
    let mut sums: HashMap<Vec<u8>, f64> = HashMap::new();
    for series in answer.series {
        let sum: f64 = series.values.iter().map(StepValue::mean).sum();
        *sums.entry(series.instance).or_default() += sum;
    }
    for kept in answer.history {
        let sum: f64 = kept.values.iter().map(|value| value.mean).sum();
        *sums.entry(kept.instance).or_default() += sum;
    }
    let mut found: Vec<_> = sums.into_iter().collect();
    found.sort_by(|one, other| reading_order(&one.0).cmp(&reading_order(&other.0)));
    Ok(found)
}

/// Numbers by their value, before other names.
fn reading_order(name: &[u8]) -> (u64, &[u8]) {
    let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
    (number.unwrap_or(u64::MAX), name)
}

/// The latest recording of a host.
fn latest_recording(recordings: &Recordings, host: &str) -> usize {
    let metas = (0..).map_while(|file| recordings.meta(file).map(|meta| (file, meta)));
    metas.filter(|(_, meta)| meta.host() == host).last().map_or(usize::MAX, |(file, _)| file)
}

/// A name as answers have it.
pub(crate) fn shown(name: &[u8]) -> String {
    layout::text::escape(name)
}

impl ChartData {
    /// Asks the archive.  `wanted` names instances; without any those with most come.
    pub(crate) fn of(
        asked: &PageRequest<'_>,
        host: &str,
        chart: &'static Chart,
        wanted: &[&str],
        (period, points): (Period, usize),
    ) -> Result<Self, QueryError> {
        let recordings = &asked.recordings;
        let def = recordings.source(host, chart.source).map_err(refused)?;
        let series = chart.series_of(&def);
        let mut fields: Vec<&'static str> = Vec::new();
        for field in series.iter().flat_map(|series| series.of.fields()) {
            if def.field(field).is_some() && !fields.contains(field) {
                fields.push(field);
            }
        }
        let steps = asked.steps(host, chart.source, period, points);
        let mut data = ChartData {
            chart,
            steps,
            curves: Vec::new(),
            readings: Vec::new(),
            rows_ns: Vec::new(),
            left_out: 0,
        };
        if series.is_empty() {
            return Err(invalid("id", &format!("no recording of {host} has {}", chart.id)));
        }
        let names = match chart.instances {
            Instances::None => vec![Vec::new()],
            Instances::Series => series.iter().map(|series| series.id.into()).collect(),
            Instances::Each => data.chosen(recordings, host, &fields, wanted)?,
        };
        let curves =
            names.len() * if chart.instances == Instances::Series { 1 } else { series.len() };
        if curves * steps.count > VALUES_MAX {
            data.steps = asked.steps(host, chart.source, period, VALUES_MAX / curves);
        }
        let steps = data.steps;
        (data.readings, data.rows_ns) = (vec![0; steps.count], vec![0; steps.count]);
        let at_once = (VALUES_AT_ONCE / (fields.len() * steps.count).max(1)).max(1);
        for names in names.chunks(at_once) {
            let named = if chart.instances == Instances::None { &[][..] } else { names };
            let query = steps.query(host, chart.source, &fields, named);
            let answer = recordings.range(&query).map_err(refused)?;
            let latest = latest_recording(recordings, host);
            let before = recordings.rows_before(&query).map_err(refused)?;
            for name in names {
                let mut columns = Columns {
                    def: &def,
                    fields: &fields,
                    recordings,
                    values: vec![None; fields.len() * steps.count],
                    steps: steps.count,
                };
                columns.add_values(&answer, name, (steps.step_ns, latest));
                for (begin_ns, kept) in before.iter().filter(|(_, kept)| kept.instance == *name) {
                    columns.add_before((*begin_ns, kept), steps, latest);
                }
                data.add(&series, name, &columns);
            }
        }
        Ok(data)
    }

    /// The names of the instances that come.
    fn chosen(
        &mut self,
        recordings: &Recordings,
        host: &str,
        fields: &[&str],
        wanted: &[&str],
    ) -> Result<Vec<Vec<u8>>, QueryError> {
        let Steps { from_ns, thru_ns, .. } = self.steps;
        let is_plain = |name: &&&str| !name.contains('\\');
        if !wanted.is_empty() && wanted.iter().all(|name| is_plain(&name)) {
            return Ok(wanted.iter().map(|name| name.as_bytes().to_vec()).collect());
        }
        let period = Period { from_ns, thru_ns };
        let mut known = instances(recordings, host, self.chart.source, fields, period)?;
        if !wanted.is_empty() {
            known.retain(|(name, _)| wanted.contains(&shown(name).as_str()));
        }
        if known.len() > INSTANCES_MAX {
            self.left_out = known.len() - INSTANCES_MAX;
            known.sort_by(|one, other| other.1.total_cmp(&one.1));
            known.truncate(INSTANCES_MAX);
            known.sort_by(|one, other| reading_order(&one.0).cmp(&reading_order(&other.0)));
        }
        Ok(known.into_iter().map(|(name, _)| name).collect())
    }

    fn add(&mut self, series: &[&'static ChartSeries], name: &[u8], columns: &Columns<'_>) {
        for (step, readings) in self.readings.iter_mut().enumerate() {
            *readings = (*readings).max(columns.readings(step));
            self.rows_ns[step] = self.rows_ns[step].max(columns.row_ns(step));
        }
        for one in series {
            if self.chart.instances == Instances::Series && one.id.as_bytes() != name {
                continue;
            }
            let values = (0..self.steps.count).map(|step| columns.evaluate(one.of, step));
            let instance = match self.chart.instances {
                Instances::Each => name.to_vec(),
                Instances::None | Instances::Series => Vec::new(),
            };
            self.curves.push(Curve { series: one, instance, values: values.collect() });
        }
    }

    /// The chart as an object, written at once: as values, numbers would take four times as much.
    fn json(&self) -> String {
        let row_ns = self.rows_ns.iter().max().filter(|row_ns| **row_ns > 0);
        let head = json!({
            "id": self.chart.id,
            "unit": self.chart.unit,
            "from_ms": ms(self.steps.from_ns),
            "step_ms": ms(self.steps.step_ns),
            "readings": self.readings,
            "history_step_ms": row_ns.map(|row_ns| row_ns / 1_000_000),
            "instances_left_out": self.left_out,
        });
        let mut out = head.to_string();
        out.pop();
        let steps = self.readings.iter().zip(&self.rows_ns);
        let origin = steps.map(|(readings, row_ns)| match (readings, row_ns) {
            (0, 0) => Value::Null,
            (0, _) => json!("history"),
            _ => json!("recording"),
        });
        push_values(&mut out, "origin", origin);
        out.push_str(",\"series\":[");
        for (index, curve) in self.curves.iter().enumerate() {
            let head = json!({
                "id": curve.series.id,
                "label": curve.series.label,
                "instance": shown(&curve.instance),
            });
            out.push_str(if index > 0 { "," } else { "" });
            out.push_str(&head.to_string());
            out.pop();
            let values = curve.values.iter();
            let mean = values.clone().map(|value| number(value.map(|value| value.mean)));
            push_values(&mut out, "mean", mean);
            let min = values.clone().map(|value| number(value.and_then(|value| value.min)));
            push_values(&mut out, "min", min);
            push_values(
                &mut out,
                "max",
                values.map(|value| number(value.and_then(|value| value.max))),
            );
            out.push('}');
        }
        out.push_str("]}");
        out
    }

    /// A line for each step and curve that has a value.
    fn csv(&self, csv: &mut Csv) {
        for step in 0..self.steps.count {
            let begin_ns = self.steps.from_ns + self.steps.step_ns * step as i64;
            for curve in &self.curves {
                let Some(value) = curve.values[step] else { continue };
                csv.line(&[
                    json!(ms(begin_ns)),
                    json!(self.chart.id),
                    json!(curve.series.id),
                    json!(shown(&curve.instance)),
                    number(Some(value.mean)),
                    number(value.min),
                    number(value.max),
                    json!(self.chart.unit),
                ]);
            }
        }
    }
}

/// Appends a list as the next member of an object.
fn push_values(out: &mut String, name: &str, values: impl Iterator<Item = Value>) {
    // A string takes everything.
    let _ = write!(out, ",\"{name}\":[");
    for (index, value) in values.enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        let _ = write!(out, "{value}");
    }
    out.push(']');
}

/// A number of an answer, with nine digits: more than any reading has.
pub(crate) fn number(value: Option<f64>) -> Value {
    let Some(value) = value.filter(|value| value.is_finite()) else { return Value::Null };
    if value == value.trunc() && value.abs() < 1e15 {
        return json!(value as i64);
    }
    let scale = 10_f64.powi(8 - value.abs().log10().floor() as i32);
    let rounded = (value * scale).round() / scale;
    json!(if rounded.is_finite() { rounded } else { value })
}

/// The answer to `charts`.
pub(crate) fn charts(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host"])?;
    let host = asked.host()?;
    let recorded = asked.recorded(&host);
    let day_ns = recorded.thru_ns.saturating_sub(86_400 * SECOND_NS).max(recorded.from_ns);
    let period = Period { from_ns: day_ns, thru_ns: recorded.thru_ns + 1 };
    let mut known = Vec::new();
    let mut names: HashMap<&str, Vec<String>> = HashMap::new();
    for chart in super::charts::CHARTS {
        let Ok(def) = asked.recordings.source(&host, chart.source) else { continue };
        let series = chart.series_of(&def);
        if series.is_empty() {
            continue;
        }
        if chart.instances == Instances::Each && !names.contains_key(chart.source) {
            // The first field tells them all.
            let field = series[0].of.fields()[0];
            let found = instances(&asked.recordings, &host, chart.source, &[field], period)?;
            let shown = found.iter().map(|(name, _)| shown(name)).collect();
            names.insert(chart.source, shown);
        }
        let instances = match chart.instances {
            Instances::Each => names.get(chart.source).cloned().unwrap_or_default(),
            Instances::None | Instances::Series => Vec::new(),
        };
        let series = series.iter().map(|one| json!({"id": one.id, "label": one.label}));
        known.push(json!({
            "id": chart.id,
            "title": chart.title,
            "unit": chart.unit,
            "kind": if chart.is_stack { "stack" } else { "line" },
            "group": chart.group,
            "instances": instances,
            "series": series.collect::<Vec<_>>(),
        }));
    }
    Ok(json!({ "charts": known }).to_string())
}

/// The answer to `chart`.
pub(crate) fn chart(asked: &PageRequest<'_>) -> Result<String, QueryError> {
    asked.only(&["host", "id", "from", "thru", "points", "instance", "format"])?;
    let host = asked.host()?;
    let (period, points, is_csv) = (asked.period(&host)?, asked.points()?, asked.is_csv()?);
    let ids = chosen_charts(asked)?;
    let wanted: Vec<&str> = asked.parameters.all("instance").collect();
    if wanted.len() > INSTANCES_MAX {
        let why = format!("there are more than {INSTANCES_MAX}: ask for them one after the other");
        return Err(invalid("instance", &why));
    }
    let mut csv =
        Csv::new(&["time_ms", "chart", "series", "instance", "mean", "min", "max", "unit"]);
    let mut found = String::new();
    for (index, chart) in ids.iter().enumerate() {
        let data = ChartData::of(asked, &host, chart, &wanted, (period, points))?;
        match is_csv {
            true => data.csv(&mut csv),
            false => {
                found.push_str(if index > 0 { "," } else { "" });
                found.push_str(&data.json());
            }
        }
        if found.len().max(csv.text.len()) > ANSWER_BYTES_MAX {
            return Err(QueryError::BadData(format!(
                "the charts have more than {ANSWER_BYTES_MAX} bytes: ask for fewer of them, or fewer \
                 points"
            )));
        }
    }
    Ok(match (is_csv, ids.len()) {
        (true, _) => csv.text,
        (false, 1) => found,
        (false, _) => format!("{{\"charts\":[{found}]}}"),
    })
}

/// The charts that are named; each at most once.
pub(crate) fn chosen_charts(asked: &PageRequest<'_>) -> Result<Vec<&'static Chart>, QueryError> {
    let mut charts: Vec<&'static Chart> = Vec::new();
    for id in asked.parameters.all("id") {
        let Some(chart) = Chart::find(id) else {
            let known: Vec<&str> = super::charts::CHARTS.iter().map(|chart| chart.id).collect();
            let known = known.join(", ");
            return Err(invalid("id", &format!("{id:?} is no chart: there are {known}")));
        };
        if !charts.iter().any(|known| known.id == chart.id) {
            charts.push(chart);
        }
    }
    if charts.is_empty() {
        return Err(invalid("id", "name a chart: `charts` lists them"));
    }
    Ok(charts)
}
