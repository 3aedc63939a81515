//! OpenMetrics text (version 1.0.0), in two forms.
//!
//! A **scrape** is one page with the latest values, also in the older text format of Prometheus
//! (0.0.4), and by the names of another program; its memory is bounded by the page.  Live
//! samples are written at once, as one such page for each tick, with timestamps and its own `# EOF`.
//! A **backfill** is a whole recording as one text, the input of `promtool tsdb create-blocks-from
//! openmetrics`: see `backfill.rs` for its memory.
//!
//! A field becomes the family `whit_SOURCE_FIELD`, followed by its base unit unless the name ends
//! with it: `whit_disk_read_bytes_total{host="vm",disk="vda"} 4096 1795235702.001`.
//! Counters are the counters themselves, not rates; gauges are levels; all are in base units.
//! Texts become labels of a family `whit_SOURCE_info`.  A missing value has no line.

use std::borrow::Cow;
use std::io::{self, Write};

use layout::{Row, text};
use sample::{Field, Kind, SourceDef};

use crate::fields::{epoch_text, instance_parts};
use crate::{View, ViewEntry};

mod backfill;
mod page;
#[cfg(test)]
mod reader;

pub use backfill::Backfill;
pub use page::{PageHost, PageStream, ScrapePage};

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "openmetrics",
    about: "OpenMetrics text: of recordings one text, as promtool's backfill wants it; of this \
            machine a page at each tick, with times, ended by # EOF",
    shows_states: true,
    open: |setup| match setup.playing {
        true => Box::<Backfill>::default() as Box<dyn View>,
        false => Box::<PageStream>::default(),
    },
    ..ViewEntry::EMPTY
};

/// A format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageForm {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// Prometheus's text format 0.0.4.
    PrometheusText,
}

impl PageForm {
    /// What stands at the end of a page.
    #[must_use]
    pub fn end(self) -> &'static str {
        match self {
            PageForm::OpenMetrics => "# EOF\n",
            PageForm::PrometheusText => "",
        }
    }

    /// A time as it stands behind a value.
    fn time(self, realtime_ns: i64) -> String {
        match self {
            PageForm::OpenMetrics => epoch_text(realtime_ns),
            PageForm::PrometheusText => realtime_ns.div_euclid(1_000_000).to_string(),
        }
    }
}

/// A metric of another program that is a field of ours.
#[derive(Clone, Copy, Debug)]
pub struct KnownMetric {
    /// The name of the metric, with `_total` if its type is counter: a counter without is of no known type there.
    pub name: &'static str,
    /// The label of the instance.
    pub instance: &'static str,
    /// Texts of the row that are labels: the field and the label.
    pub texts: &'static [(&'static str, &'static str)],
    /// The label and its value that tell this field from others of the metric.
    pub label: Option<(&'static str, &'static str)>,
}

/// The metric of another program that a field of a source is, if it is one.
pub type MetricNames = fn(&str, &str) -> Option<KnownMetric>;

/// The metadata lines above the points of a family.
struct Head {
    name: String,
    kind: Kind,
    /// Whether a counter has a name that only metrics of unknown type may have.
    is_untyped: bool,
    unit: String,
    help: String,
}

impl Head {
    /// The family of a field; all texts of a source share one.
    fn of(def: &SourceDef, field: &Field) -> Self {
        let unit = field.unit.base_name().to_string();
        let (name, help) = match field.kind {
            Kind::Text => (format!("whit_{}", def.name), def.about.to_string()),
            _ => (family_name(&def.name, &field.name, &unit), field.help.to_string()),
        };
        Head { name, kind: field.kind, is_untyped: false, unit, help }
    }

    /// The family of a field that has the name of another program's metric.
    fn of_known(def: &SourceDef, field: &Field, known: &KnownMetric) -> Self {
        let name = known.name.strip_suffix("_total").unwrap_or(known.name).to_owned();
        // The unit of a family stands at the end of its name.
        let unit = Some(field.unit.base_name().to_string());
        let unit = unit.filter(|unit| name.ends_with(&format!("_{unit}"))).unwrap_or_default();
        let help = match known.label {
            Some((label, _)) => format!("{}, by {label}", def.about),
            None => field.help.to_string(),
        };
        let is_untyped = field.kind == Kind::Counter && name == known.name;
        Head { name, kind: field.kind, is_untyped, unit, help }
    }

    /// What follows the family's name in the names of its points.
    fn suffix(&self) -> &'static str {
        match self.kind {
            Kind::Counter if self.is_untyped => "",
            Kind::Counter => "_total",
            Kind::Gauge => "",
            Kind::Text => "_info",
        }
    }

    /// A unique key: one family may have the same name as the texts of another source.
    fn key(&self) -> String {
        match self.kind {
            Kind::Text => format!("{}_info", self.name),
            _ => self.name.clone(),
        }
    }

    fn write(&self, form: PageForm, out: &mut dyn Write) -> io::Result<()> {
        let kind = match (self.kind, form) {
            (_, PageForm::OpenMetrics) if self.is_untyped => "unknown",
            (_, PageForm::PrometheusText) if self.is_untyped => "untyped",
            (Kind::Counter, _) => "counter",
            (Kind::Gauge, _) | (Kind::Text, PageForm::PrometheusText) => "gauge",
            (Kind::Text, PageForm::OpenMetrics) => "info",
        };
        // The older format knows the names of points only, no units, and no quotes to escape here.
        let (name, help) = match form {
            PageForm::OpenMetrics => (self.name.clone(), escaped(&self.help)),
            PageForm::PrometheusText => {
                let help = self.help.replace('\\', "\\\\").replace('\n', "\\n");
                (format!("{}{}", self.name, self.suffix()), help)
            }
        };
        writeln!(out, "# TYPE {name} {kind}")?;
        if !self.unit.is_empty() && form == PageForm::OpenMetrics {
            writeln!(out, "# UNIT {name} {}", self.unit)?;
        }
        writeln!(out, "# HELP {name} {help}")
    }
}

/// A field as a metric: what other servers of the same values call it too.
pub struct FieldMetric {
    /// The name of the sample: that of the family, with `_total` or `_info`.
    pub name: String,
    /// How its value behaves; a text is a label of a metric that is always 1.
    pub kind: Kind,
    /// The unit of the family, or nothing.
    pub unit: String,
    /// What it means.
    pub help: String,
}

impl FieldMetric {
    /// The metric of a field of a source.
    #[must_use]
    pub fn of(def: &SourceDef, field: &Field) -> Self {
        let head = Head::of(def, field);
        let name = format!("{}{}", head.name, head.suffix());
        FieldMetric { name, kind: head.kind, unit: head.unit, help: head.help }
    }

    /// Whether a field of a source may have that name: its beginning is told without making any.
    #[must_use]
    pub fn may_be_of(def: &SourceDef, name: &str) -> bool {
        let field = name.strip_prefix("whit_").and_then(|rest| rest.strip_prefix(&*def.name));
        field.is_some_and(|field| field.starts_with('_'))
    }
}

/// Adds an open brace and the labels that name a row; the caller closes the brace.  `instance` is the
/// label of the row's name if it is not the source's own.
fn push_labels(
    labels: &mut String,
    (host_label, host): (&str, &str),
    instance: Option<&str>,
    row: &Row<'_>,
) {
    let start = labels.len();
    labels.push('{');
    if !host.is_empty() && !host_label.is_empty() {
        push_label(labels, start, host_label, &text::escape(host.as_bytes()));
    }
    for (label, part) in row.track.def.instance.iter().zip(instance_parts(row.name())) {
        let label = instance.map_or_else(|| own_label(label), Cow::Borrowed);
        push_label(labels, start, &label, &part);
    }
}

/// A label of ours that has the name of one that Prometheus sets: renamed as it does.
pub fn own_label(label: &str) -> Cow<'_, str> {
    match label {
        "instance" | "job" => format!("exported_{label}").into(),
        _ => label.into(),
    }
}

/// Adds a label to the labels that begin at `start`.
pub fn push_label(labels: &mut String, start: usize, name: &str, value: &str) {
    if labels.len() > start + 1 {
        labels.push(',');
    }
    labels.push_str(name);
    labels.push_str("=\"");
    labels.push_str(&escaped(value));
    labels.push('"');
}

/// `whit_SOURCE_FIELD_UNIT`: the unit only once, and without `_total`, which is in the suffix.
fn family_name(source: &str, field: &str, unit: &str) -> String {
    let field = field.strip_suffix("_total").unwrap_or(field);
    if unit.is_empty() || field == unit || field.ends_with(&format!("_{unit}")) {
        return format!("whit_{source}_{field}");
    }
    format!("whit_{source}_{field}_{unit}")
}

/// The three escapes of the format.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
