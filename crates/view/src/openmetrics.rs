//! OpenMetrics text (version 1.0.0), for `promtool tsdb create-blocks-from openmetrics` and
//! whatever else reads it.
//!
//! A field becomes the family `whit_SOURCE_FIELD`, with its base unit behind it unless the name
//! ends so already: `whit_disk_read_bytes_total{host="vm",disk="vda"} 4096 1795235702.001`.
//! Counters are the counters themselves, not rates; gauges are levels; all are in base units.
//! Texts become labels of a family `whit_SOURCE_info`.  A missing value has no line.
//!
//! The format wants all points of a family together, so a play is held in memory, 12 bytes a
//! point, and written at the end: a day of 8,640 samples of 1,000 numbers needs 100 MB.

use std::collections::HashMap;
use std::io::{self, Write};

use sample::{Frame, Kind, Meta, Options, Row, SourceDef, State, text};

use crate::View;
use crate::fields::{Selection, epoch_text, instance_parts, instance_text, keeps, to_base};

/// Most points held: 1.5 GiB.  Beyond it the play is refused with advice, since the format cannot
/// be written in pieces.
const POINTS_MAX: usize = 128 * 1024 * 1024;

/// The view.
#[derive(Default)]
pub struct OpenMetrics {
    families: Vec<Family>,
    by_name: HashMap<String, usize>,
    /// Where the fields of the feed's sources go: source, then (field, family).
    places: Vec<Vec<Place>>,
    times: Vec<i64>,
    points: usize,
    host: String,
}

struct Place {
    family: usize,
    field: usize,
    instances: Option<Vec<String>>,
}

struct Family {
    name: String,
    kind: Kind,
    unit: &'static str,
    help: String,
    series: Vec<Series>,
    /// From labels to their place in `series`.
    by_labels: HashMap<String, usize>,
}

/// One set of labels with its points.
struct Series {
    labels: String,
    ticks: Vec<u32>,
    values: Vec<f64>,
}

impl View for OpenMetrics {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[&'static SourceDef],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        let selection = Selection::of(options, defs)?;
        self.host = meta.host().to_owned();
        self.places.clear();
        for def in defs {
            let plan = selection.plan(def);
            let mut places = Vec::with_capacity(plan.fields.len());
            for (&field, only) in plan.fields.iter().zip(&plan.only) {
                let family = self.family(def, field);
                places.push(Place { family, field, instances: only.clone() });
            }
            self.places.push(places);
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, _out: &mut dyn Write) -> io::Result<()> {
        let tick = u32::try_from(self.times.len()).map_err(|_| too_much())?;
        self.times.push(frame.realtime_ns);
        for (source, track) in frame.tracks.iter().enumerate() {
            if !track.fresh || track.current.state != State::Ok || self.places[source].is_empty() {
                continue;
            }
            for row in frame.whole(track).rows().filter(keeps) {
                self.take(source, &row, tick);
            }
        }
        if self.points > POINTS_MAX { Err(too_much()) } else { Ok(()) }
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = Vec::new();
        for family in self.families.iter().filter(|family| !family.series.is_empty()) {
            family.write_head(out)?;
            let suffix = match family.kind {
                Kind::Counter => "_total",
                Kind::Gauge => "",
                Kind::Text => "_info",
            };
            for series in &family.series {
                for (&tick, value) in series.ticks.iter().zip(&series.values) {
                    line.clear();
                    let time = epoch_text(self.times[tick as usize]);
                    writeln!(line, "{}{suffix}{} {value} {time}", family.name, series.labels)?;
                    out.write_all(&line)?;
                }
            }
        }
        out.write_all(b"# EOF\n")
    }
}

impl OpenMetrics {
    /// The family of a field; the texts of a source share one.
    fn family(&mut self, def: &'static SourceDef, field: usize) -> usize {
        let of = &def.fields[field];
        let unit = of.unit.base_name();
        let name = match of.kind {
            Kind::Text => format!("whit_{}", def.name),
            _ => family_name(def.name, of.name, unit),
        };
        let key = match of.kind {
            Kind::Text => format!("{name}_info"),
            _ => name.clone(),
        };
        if let Some(&index) = self.by_name.get(&key) {
            return index;
        }
        let help = if of.kind == Kind::Text { def.about } else { of.help };
        self.families.push(Family {
            name,
            kind: of.kind,
            unit,
            help: help.to_owned(),
            series: Vec::new(),
            by_labels: HashMap::new(),
        });
        self.by_name.insert(key, self.families.len() - 1);
        self.families.len() - 1
    }

    fn take(&mut self, source: usize, row: &Row<'_>, tick: u32) {
        let def = row.track.def;
        let instance = instance_text(row.name());
        let mut labels = String::from("{");
        if !self.host.is_empty() {
            push_label(&mut labels, "host", &text::escape(self.host.as_bytes()));
        }
        for (label, part) in def.instance.iter().zip(instance_parts(row.name())) {
            push_label(&mut labels, label, &part);
        }
        let mut texts = labels.clone();
        let mut text_family = None;
        for place in &self.places[source] {
            if place.instances.as_ref().is_some_and(|names| !names.contains(&instance)) {
                continue;
            }
            let of = &def.fields[place.field];
            if of.kind == Kind::Text {
                if let Some(text) = row.text(place.field) {
                    push_label(&mut texts, of.name, &text::escape(text));
                    text_family = Some(place.family);
                }
                continue;
            }
            let Some(raw) = row.raw(place.field) else { continue };
            let raw = if of.kind == Kind::Gauge { raw.cast_signed() as f64 } else { raw as f64 };
            let value = to_base(of.unit, raw, row.frame.meta);
            self.families[place.family].push(&labels, tick, value);
            self.points += 1;
        }
        if let Some(family) = text_family {
            self.families[family].push(&texts, tick, 1.0);
            self.points += 1;
        }
    }
}

impl Family {
    fn push(&mut self, labels: &str, tick: u32, value: f64) {
        let index = self.by_labels.get(labels).copied().unwrap_or_else(|| {
            let closed = if labels == "{" { String::new() } else { format!("{labels}}}") };
            self.series.push(Series { labels: closed, ticks: Vec::new(), values: Vec::new() });
            self.by_labels.insert(labels.to_owned(), self.series.len() - 1);
            self.series.len() - 1
        });
        self.series[index].ticks.push(tick);
        self.series[index].values.push(value);
    }

    fn write_head(&self, out: &mut dyn Write) -> io::Result<()> {
        let kind = match self.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Text => "info",
        };
        writeln!(out, "# TYPE {} {kind}", self.name)?;
        if !self.unit.is_empty() {
            writeln!(out, "# UNIT {} {}", self.name, self.unit)?;
        }
        writeln!(out, "# HELP {} {}", self.name, escaped(&self.help))
    }
}

/// `whit_SOURCE_FIELD_UNIT`: the unit only once, and no `_total`, which the samples add.
fn family_name(source: &str, field: &str, unit: &str) -> String {
    let field = field.strip_suffix("_total").unwrap_or(field);
    if unit.is_empty() || field == unit || field.ends_with(&format!("_{unit}")) {
        return format!("whit_{source}_{field}");
    }
    format!("whit_{source}_{field}_{unit}")
}

fn push_label(labels: &mut String, name: &str, value: &str) {
    if labels.len() > 1 {
        labels.push(',');
    }
    labels.push_str(name);
    labels.push_str("=\"");
    labels.push_str(&escaped(value));
    labels.push('"');
}

/// The three escapes of the format.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn too_much() -> io::Error {
    let text = format!(
        "OpenMetrics holds a whole play in memory, and this one has more than {POINTS_MAX} \
         points; choose with --fields, -s or --from and --thru"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::demo::Feed;

    /// A small reader of the format, strict where the format is: families are not interleaved,
    /// their head lines come first and once, suffixes fit the type, the unit is in the name, the
    /// points of a series stand together with growing times, and `# EOF` is the end.
    fn parse(text: &str) -> Result<BTreeMap<String, Vec<(f64, f64)>>, String> {
        let body = text.strip_suffix("# EOF\n").ok_or("no # EOF at the end")?;
        let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        let (mut family, mut kind, mut seen) = (String::new(), String::new(), Vec::new());
        let mut latest = String::new();
        for line in body.lines() {
            if let Some(head) = line.strip_prefix("# ") {
                let mut words = head.splitn(3, ' ');
                let (word, name, rest) = (words.next(), words.next(), words.next());
                let (Some(word), Some(name), Some(rest)) = (word, name, rest) else {
                    return Err(format!("short head {line}"));
                };
                if word == "TYPE" {
                    if seen.contains(&name.to_owned()) {
                        return Err(format!("family {name} twice"));
                    }
                    (family, kind) = (name.to_owned(), rest.to_owned());
                    seen.push(family.clone());
                }
                if name != family || word == "UNIT" && !name.ends_with(&format!("_{rest}")) {
                    return Err(format!("misplaced {line}"));
                }
                continue;
            }
            let (labels, rest) = take_series(line).ok_or(format!("cannot read {line}"))?;
            let suffix = match kind.as_str() {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            let name = labels.split('{').next().unwrap();
            if name != format!("{family}{suffix}") {
                return Err(format!("{name} stands in family {family}"));
            }
            let (value, time) = rest.split_once(' ').ok_or("no time")?;
            let point = (time.parse().map_err(|_| time)?, value.parse().map_err(|_| value)?);
            let points = series.entry(labels.clone()).or_default();
            if !points.is_empty() && latest != labels {
                return Err(format!("{labels} is interleaved"));
            }
            if points.last().is_some_and(|last| *last >= point && last.0 >= point.0) {
                return Err(format!("{labels} goes back in time"));
            }
            points.push(point);
            latest = labels;
        }
        Ok(series)
    }

    /// Splits a line behind its labels; checks names, quotes and escapes.
    fn take_series(line: &str) -> Option<(String, &str)> {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = line.find(|c| !good(c))?;
        if line[name..].starts_with(' ') {
            return Some((line[..name].to_owned(), &line[name + 1..]));
        }
        let mut rest = line[name..].strip_prefix('{')?;
        loop {
            let label = rest.find(|c| !good(c)).filter(|&end| end > 0)?;
            rest = rest[label..].strip_prefix("=\"")?;
            let mut chars = rest.char_indices();
            let close = loop {
                match chars.next()? {
                    (_, '\\') => {
                        chars.next().filter(|(_, c)| matches!(c, '\\' | '"' | 'n'))?;
                    }
                    (at, '"') => break at,
                    (_, c) if c.is_control() => return None,
                    _ => {}
                }
            };
            rest = &rest[close + 1..];
            if let Some(after) = rest.strip_prefix("} ") {
                let length = line.len() - after.len() - 1;
                return Some((line[..length].to_owned(), after));
            }
            rest = rest.strip_prefix(',')?;
        }
    }

    #[test]
    fn a_feed_is_valid_and_whole() {
        let text = Feed::new(Options::default()).show(&mut OpenMetrics::default());
        let series = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(
            series["whit_mem_faults_total{host=\"vm\"}"],
            [(10.0, 100.0), (11.0, 150.0), (12.0, 3.0)]
        );
        assert_eq!(
            series["whit_disk_busy_seconds_total{host=\"vm\",disk=\"a\"}"],
            [(10.0, 0.0), (11.0, 0.25), (12.0, 0.5)]
        );
        assert_eq!(series["whit_mem_free_kb_bytes{host=\"vm\"}"][0], (10.0, 1024.0));
        let hostile = "disk=\"x,\\\\x1b\\\\xff\\\"\"";
        let info = format!("whit_disk_info{{host=\"vm\",{hostile},model=\"q\\\"\"}}");
        assert_eq!(series[&info], [(12.0, 1.0)]);
        assert!(!text.contains("nfs"), "an absent source has no family");
    }

    #[test]
    fn the_reader_of_this_test_sees_faults() {
        for broken in [
            "# TYPE a counter\na 1 1\n# EOF\n",
            "# TYPE a gauge\na 1 1\n",
            "# TYPE a gauge\na 1 2\na 1 1\n# EOF\n",
            "# TYPE a gauge\n# TYPE b gauge\na 1 1\n# EOF\n",
            "# TYPE a gauge\n# UNIT a bytes\n# EOF\n",
            "# TYPE a gauge\na{x=\"\\z\"} 1 1\n# EOF\n",
        ] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }
}
