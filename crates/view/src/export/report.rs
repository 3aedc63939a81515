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
use sample::{Kind, Meta, SourceDef, State};

use super::ExportError;
use super::names::{self, Known};
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

/// A metric with its value.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// Whether `lexpr` writes it after the time, as it does details.
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
    /// The entry of a metric of collectl's.
    pub(super) known: Option<&'static Known>,
}

/// State of a metric between reports.
struct Held {
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
    // From here on: set by `begin` and by frames.
    parts: Vec<Part>,
    every: u64,
    every_seconds: f64,
    sampling_seconds: f64,
    counter: u64,
    held: HashMap<String, Held>,
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

    /// Whether every tick is used, not only those that are reported.
    pub(super) fn reduces(&self) -> bool {
        self.reduce.is_some()
    }

    /// Whether a summary is told, so that `lexpr` writes the time first.
    pub(super) fn has_summary(&self) -> bool {
        self.parts.iter().any(|part| !is_behind_time(part))
    }

    /// Begins a feed.
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

    /// Takes a tick; gives what is to be told, if this is the time.
    pub(super) fn frame(&mut self, frame: &Frame<'_>) -> Option<Vec<Told>> {
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
        let mut told = Vec::new();
        for part in &self.parts {
            gather(frame, part, &mut told);
        }
        if let Some(reduce) = self.reduce {
            self.hold(&told, reduce, frame.options.exact);
            if !due {
                return None;
            }
            self.reduce(reduce, frame.options.exact, &mut told);
        }
        if self.changes_only {
            told.retain(|told| self.changed(told, frame.options.exact));
        }
        Some(told)
    }

    fn hold(&mut self, told: &[Told], reduce: Reduce, exact: bool) {
        // graphite and gexpr add collectl's rates up as they are.
        let of_interval = reduce == Reduce::Total && !(exact && self.export != "lexpr");
        for Told { name, value, level, .. } in told {
            let factor = if of_interval && !level { self.sampling_seconds } else { 1.0 };
            let held = self.held.entry(name.clone()).or_insert_with(|| Held::new(self.ttl));
            held.minimum = held.minimum.min(*value);
            held.maximum = held.maximum.max(*value);
            held.total += value * factor;
            held.samples += 1;
        }
    }

    fn reduce(&mut self, reduce: Reduce, exact: bool, told: &mut [Told]) {
        for told in told {
            let Some(held) = self.held.get_mut(&told.name) else { continue };
            let level = told.level;
            let mean = held.total / f64::from(held.samples.max(1));
            told.value = match reduce {
                // collectl sums levels up for averages and totals alone, and then divides them
                // in every case.
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
        // Metrics that are gone now keep nothing for when they come back.
        self.held.values_mut().for_each(Held::begin);
    }

    /// Whether a metric is to be told under `co`.
    fn changed(&mut self, told: &Told, exact: bool) -> bool {
        let entry = self.held.entry(told.name.clone());
        let held = entry.or_insert_with(|| Held::new(self.ttl));
        let value = match told.digits {
            Some(digits) => {
                let power = 10f64.powi(i32::from(digits));
                (told.value * power).round() / power
            }
            None if exact || told.plain => told.value,
            None => (told.value + 0.5).trunc(),
        };
        if value == held.last && held.ttl > 1 {
            held.ttl -= 1;
            return false;
        }
        let rounds = exact && told.digits.is_none() && !told.plain && self.export == "lexpr";
        held.last = if rounds { value + 0.5 } else { value };
        held.ttl = self.ttl;
        true
    }
}

impl Held {
    fn new(ttl: u32) -> Self {
        let mut held =
            Held { minimum: 0.0, maximum: 0.0, total: 0.0, samples: 0, last: f64::NAN, ttl };
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

/// Whether `lexpr` writes it behind the time, as it does details.
fn is_behind_time(part: &Part) -> bool {
    part.is_detail() && !part.layout.is_some_and(|layout| layout.is_lexpr_summary)
}

/// All metrics of a source at this tick.
fn gather(frame: &Frame<'_>, part: &Part, told: &mut Vec<Told>) {
    let Some(track) = part.track(frame) else { return };
    if track.current.state != State::Ok && !frame.options.exact {
        return;
    }
    let whole = frame.whole(track);
    let Some(layout) = part.layout else {
        if frame.options.layouts.of(&part.def).is_empty() {
            gather_derived(&whole, part, told);
        }
        return;
    };
    if !layout.metrics.iter().any(|metric| metric.name.contains("{}")) {
        push(&whole, part, layout.metrics, told);
        return;
    }
    let mut rows: Vec<Row<'_>> = whole.rows().filter(layout.keep).collect();
    if let Some(order) = layout.order {
        rows.sort_by(order);
    }
    for row in &rows {
        push(row, part, layout.metrics, told);
    }
}

/// The metrics of a source that has no layout: `source.field`, and `source.field.instance` in
/// detail.
fn gather_derived(whole: &Row<'_>, part: &Part, told: &mut Vec<Told>) {
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
            told.push(Told {
                is_detail: is_behind_time(part),
                name,
                instance: instance.clone(),
                value,
                digits: None,
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

fn push(row: &Row<'_>, part: &Part, metrics: &[PlotColumn], told: &mut Vec<Told>) {
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
        told.push(Told { is_detail, name, instance, value, digits, plain, level, known });
    }
}

/// An instance's name inside a metric's: escaped, no blanks (they would end the name), its parts
/// joined by full stops.
fn instance(name: &[u8]) -> String {
    let parts = name.split(|&byte| byte == SourceDef::INSTANCE_SEPARATOR).map(text::escape);
    let joined = parts.collect::<Vec<_>>().join(".");
    joined.replace(|c: char| c.is_whitespace(), "_")
}
