//! The common part of `lexpr`, `graphite` and `gexpr`: which metrics are selected, how often they
//! are reported, and how several samples become one report.
//!
//! Where collectl differs without a reason, this is correct, and `--exact` follows collectl: levels
//! also have minimum and maximum (collectl's are 0), `co` leaves out a rounded value that did not
//! change (collectl compares it with one that it rounded).

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use layout::{DisplayOrder, Form, Frame, Of, Options, PlotColumn, Row, Selection, text};
use sample::{Kind, Meta, SourceDef, State, Unit};

use super::ExportError;
use super::names::{self, CollectlMetric};
use crate::parts::{self, Part};

/// The answer to `h`: an export's own help and that of the common options.
pub(super) fn help(own: &str) -> ExportError {
    ExportError::Help(format!("{own}{COMMON_HELP}"))
}

/// The common options.
const COMMON_HELP: &str = "\
  align     report on whole minutes of the clock, whatever the first sample's time
  co        report only what changed since it was last reported
  i=SECS    report every so many seconds: a multiple of the sampling interval
  s=LETTERS report only these subsystems, some of those of -s
  ttl=N     with co: report what did not change after N reports all the same (5)
  avg max min tot
            one value for the samples since the last report: average, largest,
            smallest, or total (levels: average)
";

/// How the samples of a report become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reduce {
    Average,
    Maximum,
    Minimum,
    Total,
}

/// The position of a source in a report: small numbers first.
pub(super) type Order = fn(&DisplayOrder) -> u16;

/// A metric with its value in one report.
#[derive(Clone, Debug)]
pub(super) struct ReportedMetric {
    /// Whether `lexpr` writes the metric after the time line, as it does details.
    pub(super) is_detail: bool,
    /// The name in `lexpr`.
    pub(super) name: String,
    /// The instance, for formats that need it separately.
    pub(super) instance: Option<String>,
    /// The value.
    pub(super) value: f64,
    /// Digits after the point; `None` for a whole number.
    pub(super) digits: Option<u8>,
    /// Whether the value is printed as it is (`%s`).
    pub(super) plain: bool,
    /// Whether it is a level: totals of levels are averages.
    pub(super) level: bool,
    /// The entry in `names`, if collectl has this metric.
    pub(super) known: Option<&'static CollectlMetric>,
}

/// State of a metric between reports.
struct MetricState {
    minimum: f64,
    maximum: f64,
    total: f64,
    samples: u32,
    last: f64,
    ttl: u32,
}

/// The state of an export's reporting.
pub(super) struct Report {
    export: &'static str,
    order: Order,
    playing: bool,
    align: bool,
    changes_only: bool,
    ttl: u32,
    interval_seconds: Option<f64>,
    subsystems: Option<String>,
    reduce: Option<Reduce>,
    // The fields below are set by `begin` and `frame`.
    parts: Vec<Part>,
    every: u64,
    every_seconds: f64,
    sampling_seconds: f64,
    counter: u64,
    held: HashMap<String, MetricState>,
}

impl Report {
    pub(super) fn new(export: &'static str, order: Order) -> Self {
        Report {
            export,
            order,
            playing: false,
            align: false,
            changes_only: false,
            ttl: 5,
            interval_seconds: None,
            subsystems: None,
            reduce: None,
            parts: Vec::new(),
            every: 1,
            every_seconds: 1.0,
            sampling_seconds: 1.0,
            counter: 0,
            held: HashMap::new(),
        }
    }

    /// Parses a common option; false if it is none.
    pub(super) fn option(&mut self, name: &str, value: &str) -> Result<bool, ExportError> {
        let reduce = match name {
            "align" => {
                self.align = true;
                return Ok(true);
            }
            "co" => {
                self.changes_only = true;
                return Ok(true);
            }
            "i" => {
                let seconds = value.parse::<f64>().ok();
                let seconds = seconds.filter(|seconds| seconds.is_finite() && *seconds > 0.0);
                let wrong = || self.wrong(format!("i={value}: give a number of seconds"));
                self.interval_seconds = Some(seconds.ok_or_else(wrong)?);
                return Ok(true);
            }
            "s" => {
                self.subsystems = Some(value.to_owned());
                return Ok(true);
            }
            "ttl" => {
                let ttl = value.parse().ok().filter(|ttl| *ttl > 0);
                let wrong = || self.wrong(format!("ttl={value}: give a number of reports"));
                self.ttl = ttl.ok_or_else(wrong)?;
                return Ok(true);
            }
            "avg" => Reduce::Average,
            "max" => Reduce::Maximum,
            "min" => Reduce::Minimum,
            "tot" => Reduce::Total,
            _ => return Ok(false),
        };
        if self.reduce.is_some() {
            return Err(self.wrong("only one of 'min', 'max', 'avg' and 'tot'".into()));
        }
        self.reduce = Some(reduce);
        Ok(true)
    }

    pub(super) fn wrong(&self, text: String) -> ExportError {
        ExportError::Option { export: self.export, text }
    }

    /// Checks the options before the first sample.
    pub(super) fn set(&mut self, playing: bool, aligned: bool) -> Result<(), ExportError> {
        self.playing = playing;
        if self.align && playing {
            return Err(self.wrong("'align' is for live samples, not for recordings".into()));
        }
        if self.align && !aligned {
            return Err(self.wrong("'align' needs --align or -D".into()));
        }
        Ok(())
    }

    /// Seconds between two reports.
    pub(super) fn every_seconds(&self) -> f64 {
        self.every_seconds
    }

    /// For how many reports an unchanged value is left out.
    pub(super) fn ttl(&self) -> u32 {
        self.ttl
    }

    /// Under `--exact`: lines that collectl writes before those of the sources.
    pub(super) fn push_exact_lines(&self, frame: &Frame<'_>, out: &mut Vec<u8>) {
        for part in &self.parts {
            let lines = part.layout.and_then(|layout| layout.lexpr_exact_lines);
            if let (Some(lines), Some(track)) = (lines, part.track(frame)) {
                lines(&frame.whole(track), out);
            }
        }
    }

    /// Whether a report combines all its ticks (`min`, `max`, `avg`, `tot`), not only the last.
    pub(super) fn reduces(&self) -> bool {
        self.reduce.is_some()
    }

    /// Whether a summary is selected; then `lexpr` writes the time first.
    pub(super) fn has_summary(&self) -> bool {
        self.parts.iter().any(|part| !is_behind_time(part))
    }

    /// Selects sources and checks the intervals at the start of a feed.
    pub(super) fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
    ) -> io::Result<()> {
        let wrong = |text: String| {
            let error = ExportError::Option { export: self.export, text };
            io::Error::new(io::ErrorKind::InvalidInput, error)
        };
        let asked = &options.subsystems;
        let subset = self.subsystems.as_deref().map(|text| subset_of(text, defs));
        if let Some(subset) = &subset
            && !asked.is_empty()
        {
            let mut rest = subset.clone();
            rest.remove(asked);
            if !rest.is_empty() {
                return Err(wrong(format!("s={subset}: '{rest}' is not among -s {asked}")));
            }
        }
        let asked = subset.as_ref().unwrap_or(asked);
        self.parts.clear();
        for (source, def) in defs.iter().enumerate() {
            for level in def.levels().filter(|&level| asked.is_empty() || asked.asks(def, level)) {
                let layout = options.layouts.at(def, level);
                self.parts.push(Part { source, def: def.clone(), level, layout });
            }
        }
        let order = self.order;
        self.parts.sort_by_key(|part| part.layout.map_or(u16::MAX, |one| order(&one.position)));

        self.sampling_seconds = meta.interval_ns() as f64 / 1e9;
        self.every_seconds = self.interval_seconds.unwrap_or(self.sampling_seconds);
        let times = if self.sampling_seconds > 0.0 {
            self.every_seconds / self.sampling_seconds
        } else {
            1.0
        };
        if times < 1.0 || (times - times.round()).abs() > 1e-6 {
            return Err(wrong(format!(
                "i={}: not a multiple of the sampling interval of {} s",
                self.every_seconds, self.sampling_seconds
            )));
        }
        self.every = times.round() as u64;
        if self.reduce.is_some() && self.every == 1 {
            return Err(wrong(
                "'min', 'max', 'avg' and 'tot' need an i= longer than the sampling interval".into(),
            ));
        }
        if self.align {
            let fits = (60.0 / self.sampling_seconds).fract() == 0.0
                || (self.sampling_seconds / 60.0).fract() == 0.0;
            if !fits || self.every == 1 {
                return Err(wrong(
                    "'align' needs a sampling interval that divides 60 s or is a multiple of it, \
                     and a longer i="
                        .into(),
                ));
            }
        }
        Ok(())
    }

    /// Takes a tick; returns the metrics to write if a report is due.
    pub(super) fn frame(&mut self, frame: &Frame<'_>) -> Option<Vec<ReportedMetric>> {
        // The first tick is only a base for rates.
        if frame.seconds == 0.0 {
            return None;
        }
        self.counter += 1;
        let due = if self.align {
            frame.realtime_ns.div_euclid(1_000_000_000) % (self.every_seconds as i64).max(1) == 0
        } else {
            self.counter.is_multiple_of(self.every)
        };
        if !due && self.reduce.is_none() {
            return None;
        }
        let mut reported = Vec::new();
        for part in &self.parts {
            gather(frame, part, &mut reported);
        }
        if let Some(reduce) = self.reduce {
            self.hold(&reported, reduce, frame.options.exact);
            if !due {
                return None;
            }
            self.reduce(reduce, frame.options.exact, &mut reported);
        }
        if self.changes_only {
            reported.retain(|metric| self.changed(metric, frame.options.exact));
        }
        Some(reported)
    }

    fn hold(&mut self, reported: &[ReportedMetric], reduce: Reduce, exact: bool) {
        // collectl's graphite and gexpr add up rates without multiplying by the interval.
        let of_interval = reduce == Reduce::Total && !(exact && self.export != "lexpr");
        for ReportedMetric { name, value, level, .. } in reported {
            let factor = if of_interval && !level { self.sampling_seconds } else { 1.0 };
            let held = self.held.entry(name.clone()).or_insert_with(|| MetricState::new(self.ttl));
            held.minimum = held.minimum.min(*value);
            held.maximum = held.maximum.max(*value);
            held.total += value * factor;
            held.samples += 1;
        }
    }

    fn reduce(&mut self, reduce: Reduce, exact: bool, reported: &mut [ReportedMetric]) {
        for metric in reported {
            let Some(held) = self.held.get_mut(&metric.name) else { continue };
            let level = metric.level;
            let mean = held.total / f64::from(held.samples.max(1));
            metric.value = match reduce {
                // collectl's lexpr adds up levels for `avg` and `tot` only, so minimum and maximum
                // stay 0.
                Reduce::Maximum | Reduce::Minimum if exact && level && self.export == "lexpr" => {
                    0.0
                }
                Reduce::Maximum => held.maximum,
                Reduce::Minimum => held.minimum,
                Reduce::Average => mean,
                Reduce::Total if level && !(exact && self.export != "lexpr") => mean,
                Reduce::Total => held.total,
            };
            held.begin();
        }
        // A metric missing from this report starts anew when it returns.
        self.held.values_mut().for_each(MetricState::begin);
    }

    /// Whether `co` (changes only) lets a metric through.
    fn changed(&mut self, metric: &ReportedMetric, exact: bool) -> bool {
        let entry = self.held.entry(metric.name.clone());
        let held = entry.or_insert_with(|| MetricState::new(self.ttl));
        let value = match metric.digits {
            Some(digits) => {
                let power = 10f64.powi(i32::from(digits));
                (metric.value * power).round() / power
            }
            None if exact || metric.plain => metric.value,
            None => (metric.value + 0.5).trunc(),
        };
        if value == held.last && held.ttl > 1 {
            held.ttl -= 1;
            return false;
        }
        let rounds = exact && metric.digits.is_none() && !metric.plain && self.export == "lexpr";
        held.last = if rounds { value + 0.5 } else { value };
        held.ttl = self.ttl;
        true
    }
}

impl MetricState {
    fn new(ttl: u32) -> Self {
        let mut held =
            MetricState { minimum: 0.0, maximum: 0.0, total: 0.0, samples: 0, last: f64::NAN, ttl };
        held.begin();
        held
    }

    fn begin(&mut self) {
        self.minimum = f64::INFINITY;
        self.maximum = f64::NEG_INFINITY;
        self.total = 0.0;
        self.samples = 0;
    }
}

/// The subset that `s=` names: letters, or the name of one of the sources.
fn subset_of(text: &str, defs: &[Arc<SourceDef>]) -> Selection {
    let mut selection = Selection::default();
    if defs.iter().any(|def| text.eq_ignore_ascii_case(&def.name)) {
        selection.push_name(text);
        return selection;
    }
    Selection::from(text)
}

/// Whether `lexpr` writes the part after the time line, as it does details.
fn is_behind_time(part: &Part) -> bool {
    part.is_detail() && !part.layout.is_some_and(|layout| layout.is_lexpr_summary)
}

/// Adds all metrics of a source at this tick.
fn gather(frame: &Frame<'_>, part: &Part, reported: &mut Vec<ReportedMetric>) {
    let Some(track) = part.track(frame) else { return };
    if track.current.state != State::Ok && !frame.options.exact {
        return;
    }
    let whole = frame.whole(track);
    let Some(layout) = part.layout else {
        if frame.options.layouts.of(&part.def).is_empty() {
            gather_derived(&whole, part, reported);
        }
        return;
    };
    if !layout.metrics.iter().any(|metric| metric.name.contains("{}")) {
        push(&whole, part, layout.metrics, reported);
        return;
    }
    let mut rows: Vec<Row<'_>> = whole.rows().filter(layout.keep).collect();
    if let Some(order) = layout.order {
        rows.sort_by(order);
    }
    for row in &rows {
        push(row, part, layout.metrics, reported);
    }
}

/// Adds the metrics of a source without a layout: `source.field`, and `source.field.instance` in
/// detail.
fn gather_derived(whole: &Row<'_>, part: &Part, reported: &mut Vec<ReportedMetric>) {
    let mut add = |row: &Row<'_>, instance: Option<String>| {
        for (index, field) in parts::derived_fields(&part.def) {
            let value = match instance {
                Some(_) => parts::derived_value(row, index, field),
                None => parts::derived_sum(row, index, field),
            };
            let value = value.filter(|value| value.is_finite());
            let Some(value) = value.or(row.exact().then_some(0.0)) else { continue };
            let mut name = format!("{}.{}", part.def.name, field.name);
            if let Some(instance) = &instance {
                name = format!("{name}.{instance}");
            }
            reported.push(ReportedMetric {
                is_detail: is_behind_time(part),
                name,
                instance: instance.clone(),
                value,
                digits: matches!(field.unit, Unit::Hundredths | Unit::PercentHundredths)
                    .then_some(2),
                plain: false,
                level: field.kind == Kind::Gauge,
                known: None,
            });
        }
    };
    if !part.is_detail() {
        return add(whole, None);
    }
    for row in whole.rows() {
        add(&row, Some(instance(row.name())));
    }
}

fn push(row: &Row<'_>, part: &Part, metrics: &[PlotColumn], reported: &mut Vec<ReportedMetric>) {
    for metric in metrics.iter().filter(|metric| (metric.applies)(row)) {
        let Of::Number(value) = metric.value else { continue };
        let value = value(row).filter(|value| value.is_finite());
        let Some(value) = value.or(row.exact().then_some(0.0)) else { continue };
        let instance = metric.name.contains("{}").then(|| instance(row.name()));
        let name = match &instance {
            Some(instance) => metric.name.replace("{}", instance),
            None => metric.name.to_owned(),
        };
        let digits = match metric.form {
            Form::Fixed(digits) => Some(digits),
            _ => None,
        };
        let known = names::find(metric.name);
        let (plain, level) = (metric.form == Form::Plain, metric.level);
        let is_detail = is_behind_time(part);
        reported.push(ReportedMetric {
            is_detail,
            name,
            instance,
            value,
            digits,
            plain,
            level,
            known,
        });
    }
}

/// An instance's name as part of a metric's name: escaped, its parts joined by full stops, blanks
/// replaced because a blank ends the name.
fn instance(name: &[u8]) -> String {
    let parts = name.split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR).map(text::escape);
    let joined = parts.collect::<Vec<_>>().join(".");
    joined.replace(|c: char| c.is_whitespace(), "_")
}
