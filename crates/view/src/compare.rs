//! Two periods side by side: mean and maximum of each field, and their change.
//!
//! A [`Period`] adds up frames; [`write_comparison`] prints two of them as a table for people, as
//! CSV, or as JSON lines.  Means are weighted by the duration of each value, so periods with
//! different intervals can be compared.  Numbers are those of CSV and JSON: base units, counters
//! per second; missing ones are left out.
//!
//! Costs a map look-up for each value; a day of samples of everything takes a few seconds.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options, text};
use sample::{SourceDef, Unit};
use serde_json::json;

use crate::TableForm;
use crate::fields::{Plan, Selection, instance_text, keeps, number};

/// The values of one field of one instance in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Course {
    weighted: f64,
    seconds: f64,
    max: f64,
    count: u64,
}

impl Course {
    fn add(&mut self, value: f64, seconds: f64) {
        self.max = if self.count == 0 { value } else { self.max.max(value) };
        self.weighted += value * seconds;
        self.seconds += seconds;
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        if self.seconds > 0.0 { self.weighted / self.seconds } else { 0.0 }
    }
}

/// A source as a period has seen it: recordings that meet in a period may have other sources, in
/// another order and with other fields, so that only names say what is the same.
#[derive(Debug)]
struct SeenSource {
    name: String,
    /// Name and unit of each field.
    fields: Vec<(String, Unit)>,
}

/// Index of the source among those seen, escaped instance, index of its field.
type Key = (usize, String, usize);

/// A source of the feed that is added now.
#[derive(Debug)]
struct FedSource {
    plan: Plan,
    /// The index of the source among those seen.
    seen: usize,
    /// For each field of the feed its index in the source as it was seen.
    fields: Vec<usize>,
}

/// The values of every selected field in a period.
#[derive(Debug, Default)]
pub struct Period {
    seen: Vec<SeenSource>,
    fed: Vec<FedSource>,
    courses: BTreeMap<Key, Course>,
    frame_count: u64,
}

impl Period {
    /// A feed with these sources follows; `--fields`, or `-s`, selects among them.
    ///
    /// # Errors
    /// `InvalidInput` for a name in `--fields` that does not exist.
    pub fn begin(&mut self, options: &Options, defs: &[Arc<SourceDef>]) -> io::Result<()> {
        let selection = Selection::of(options, defs)?;
        self.fed.clear();
        for def in defs {
            let (seen, fields) = see(&mut self.seen, def);
            self.fed.push(FedSource { plan: selection.plan(def), seen, fields });
        }
        Ok(())
    }

    /// Adds one frame of the feed that was begun.
    pub fn add(&mut self, frame: &Frame<'_>) {
        self.frame_count += 1;
        for (track, fed) in frame.tracks.iter().zip(&self.fed) {
            if !track.fresh || fed.plan.fields.is_empty() {
                continue;
            }
            let whole = frame.whole(track);
            for row in whole.rows().filter(keeps) {
                let seconds = row.interval_seconds().unwrap_or(1.0);
                let instance = instance_text(row.name());
                for field in fed.plan.of(&instance) {
                    if let Some(value) = number(&row, field) {
                        let key = (fed.seen, instance.clone(), fed.fields[field]);
                        self.courses.entry(key).or_default().add(value, seconds);
                    }
                }
            }
        }
    }

    /// Frames added.
    pub fn frame_count(&self) -> u64 {
        self.frame_count
    }
}

/// Finds a source and its fields among those seen; what is new is added.
fn see(seen: &mut Vec<SeenSource>, def: &SourceDef) -> (usize, Vec<usize>) {
    let fields = def.fields.iter().map(|field| (field.name.to_string(), field.unit));
    see_fields(seen, &def.name, fields)
}

fn see_fields(
    seen: &mut Vec<SeenSource>,
    name: &str,
    fields: impl Iterator<Item = (String, Unit)>,
) -> (usize, Vec<usize>) {
    let index = seen.iter().position(|source| source.name == name).unwrap_or_else(|| {
        seen.push(SeenSource { name: name.to_owned(), fields: Vec::new() });
        seen.len() - 1
    });
    let known = &mut seen[index].fields;
    let place = |field: (String, Unit)| {
        known.iter().position(|other| *other == field).unwrap_or_else(|| {
            known.push(field);
            known.len() - 1
        })
    };
    (index, fields.map(place).collect())
}

/// One line of a comparison.
struct Line {
    name: String,
    unit: &'static str,
    a: Option<Course>,
    b: Option<Course>,
}

impl Line {
    /// How much more `b` is than `a`, in percent; `None` if one is missing, or `a` is 0.
    fn change_percent(&self) -> Option<f64> {
        let (a, b) = (self.a?.mean(), self.b?.mean());
        (a != 0.0).then(|| 100.0 * (b - a) / a.abs())
    }

    /// How much of a change it is, for the order: what only one period has, or was 0 in the first one,
    /// before all others; what was 0 in both last.
    fn change_size(&self) -> f64 {
        let is_there = |course: Option<Course>| course.is_some_and(|c| c.mean() != 0.0);
        match self.change_percent() {
            Some(percent) => percent.abs(),
            None if is_there(self.a) || is_there(self.b) => f64::INFINITY,
            None => -1.0,
        }
    }

    fn is_quiet(&self) -> bool {
        let quiet = |course: Option<Course>| course.is_none_or(|c| c.max == 0.0 && c.mean() == 0.0);
        quiet(self.a) && quiet(self.b)
    }
}

fn lines(a: &Period, b: &Period) -> Vec<Line> {
    let mut seen = Vec::new();
    let mut courses: BTreeMap<Key, [Option<Course>; 2]> = BTreeMap::new();
    for (side, period) in [a, b].into_iter().enumerate() {
        let places: Vec<_> = period
            .seen
            .iter()
            .map(|source| see_fields(&mut seen, &source.name, source.fields.iter().cloned()))
            .collect();
        for ((source, instance, field), course) in &period.courses {
            let (index, fields) = &places[*source];
            let key = (*index, instance.clone(), fields[*field]);
            courses.entry(key).or_default()[side] = Some(*course);
        }
    }
    let line = |((source, instance, field), [a, b]): (Key, [Option<Course>; 2])| {
        let source = &seen[source];
        let (field, unit) = &source.fields[field];
        Line { name: field_name(&source.name, &instance, field), unit: unit.base_name(), a, b }
    };
    let mut lines: Vec<Line> = courses.into_iter().map(line).collect();
    lines.sort_by(|one, other| other.change_size().total_cmp(&one.change_size()));
    lines
}

/// `disk[vda].reads`, or `cpu.user` for a source with a single row.
pub(crate) fn field_name(source: &str, instance: &str, field: &str) -> String {
    match instance {
        "" => format!("{source}.{field}"),
        instance => format!("{source}[{instance}].{field}"),
    }
}

/// Writes two periods side by side, the largest changes first, at most `limit` of them; what only one of
/// them has stands alone in its line.  The table leaves out fields that were 0 throughout both, and in
/// fewer than its columns of `room` first maxima, then units, then the beginnings of names; CSV and JSON
/// have all fields.
///
/// # Errors
/// If writing to `out` fails.
pub fn write_comparison(
    a: &Period,
    b: &Period,
    form: TableForm,
    limit: Option<usize>,
    room: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines = lines(a, b);
    let limit = limit.unwrap_or(usize::MAX);
    let first = &lines[..lines.len().min(limit)];
    match form {
        TableForm::Text => write_table(a, b, &lines, (limit, room), out),
        TableForm::Csv => write_csv(first, out),
        TableForm::Json => write_json(first, out),
    }
}

fn write_table(
    a: &Period,
    b: &Period,
    lines: &[Line],
    (limit, room): (usize, usize),
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "# A: {} samples, B: {} samples", a.frame_count, b.frame_count)?;
    let moving: Vec<&Line> = lines.iter().filter(|line| !line.is_quiet()).collect();
    let shown = &moving[..moving.len().min(limit)];
    let columns = Columns::within(room, shown);
    columns.write(["field", "mean A", "mean B", "change", "max A", "max B", "unit"], out)?;
    for line in shown {
        let change = match (line.a, line.b, line.change_percent()) {
            (_, _, Some(percent)) => format!("{percent:+.1}%"),
            (Some(_), Some(b), None) if b.mean() != 0.0 => "new".to_owned(),
            _ => "-".to_owned(),
        };
        let mean = |course: Option<Course>| course.map_or("-".to_owned(), |c| short(c.mean()));
        let max = |course: Option<Course>| course.map_or("-".to_owned(), |c| short(c.max));
        let (a, b) = (line.a, line.b);
        let words = [&line.name, &mean(a), &mean(b), &change, &max(a), &max(b), line.unit];
        columns.write(words, out)?;
    }
    if shown.len() < moving.len() {
        writeln!(out, "# {} fields changed less: --limit shows more", moving.len() - shown.len())?;
    }
    if moving.len() < lines.len() {
        writeln!(out, "# {} fields were 0 throughout", lines.len() - moving.len())?;
    }
    Ok(())
}

/// The columns of a table that there is room for.
struct Columns {
    name: usize,
    has_maxima: bool,
    has_unit: bool,
}

impl Columns {
    /// Characters of both means and the change, of both maxima, and the fewest of a name.
    const MEANS: usize = 11 + 11 + 9;
    const MAXIMA: usize = 11 + 11;
    const NAME_MIN: usize = 8;

    fn within(room: usize, lines: &[&Line]) -> Self {
        let longest = |of: fn(&Line) -> usize| lines.iter().map(|line| of(line)).max();
        let name = longest(|line| line.name.chars().count()).unwrap_or(0).max(5);
        let unit = 2 + longest(|line| line.unit.len()).unwrap_or(0).max(4);
        let has_maxima = name + Self::MEANS + Self::MAXIMA + unit <= room;
        let has_unit = has_maxima || name + Self::MEANS + unit <= room;
        let left = room.saturating_sub(Self::MEANS).max(Self::NAME_MIN);
        Columns { name: name.min(left), has_maxima, has_unit }
    }

    /// Writes a line; of a long name the end, which is the field.
    fn write(
        &self,
        [name, mean_a, mean_b, change, max_a, max_b, unit]: [&str; 7],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let width = self.name;
        let length = name.chars().count();
        let name = match length > width {
            true => format!("…{}", name.chars().skip(length - width + 1).collect::<String>()),
            false => name.to_owned(),
        };
        let mut line = format!("{name:<width$} {mean_a:>10} {mean_b:>10} {change:>8}");
        if self.has_maxima {
            line += &format!(" {max_a:>10} {max_b:>10}");
        }
        if self.has_unit {
            line += &format!("  {unit}");
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// Four significant digits, with a metric suffix from ten thousand on.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, suffix) = match size {
        _ if size >= 1e13 => (value / 1e12, "T"),
        _ if size >= 1e10 => (value / 1e9, "G"),
        _ if size >= 1e7 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled.abs() {
        s if s >= 1000.0 || s == 0.0 => 0,
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        s if s >= 0.001 => 3,
        _ => return format!("{value:.1e}"),
    };
    format!("{scaled:.digits$}{suffix}")
}

fn write_csv(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "field,unit,mean_a,mean_b,change_percent,max_a,max_b,samples_a,samples_b")?;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for line in lines {
        let quoted = if line.name.contains([',', '"', '\n']) {
            format!("\"{}\"", line.name.replace('"', "\"\""))
        } else {
            line.name.clone()
        };
        let mean = |course: Option<Course>| number(course.map(|c| c.mean()));
        let max = |course: Option<Course>| number(course.map(|c| c.max));
        writeln!(
            out,
            "{quoted},{},{},{},{},{},{},{},{}",
            line.unit,
            mean(line.a),
            mean(line.b),
            number(line.change_percent()),
            max(line.a),
            max(line.b),
            line.a.map_or(0, |c| c.count),
            line.b.map_or(0, |c| c.count)
        )?;
    }
    Ok(())
}

fn write_json(lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        let side = |course: Option<Course>| {
            course.map(|c| json!({"mean": c.mean(), "max": c.max, "samples": c.count}))
        };
        let mut object = json!({"field": line.name, "unit": line.unit});
        for (name, course) in [("a", line.a), ("b", line.b)] {
            if let Some(value) = side(course) {
                object[name] = value;
            }
        }
        if let Some(percent) = line.change_percent() {
            object["change_percent"] = json!(percent);
        }
        writeln!(out, "{}", text::visible_json(object.to_string()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sample::{Cadence, Field, History, Meta, Snapshot, State};
    use std::sync::LazyLock;

    use super::*;

    static DEF: LazyLock<Arc<SourceDef>> = LazyLock::new(|| {
        Arc::new(SourceDef {
            name: "demo".into(),
            about: "A source for tests".into(),
            letters: "d".into(),
            instance: vec!["disk".into()].into(),
            fields: vec![
                Field::counter("reads", Unit::Count, "Reads finished"),
                Field::gauge("queue", Unit::Count, "Requests waiting"),
            ]
            .into(),
            cadence: Cadence::First,
        })
    });

    /// A period with a reading of (reads, queue) each second.
    fn period(readings: &[(u64, Option<u64>)]) -> Period {
        let (meta, options) = (Meta::new(), Options::default());
        let mut period = Period::default();
        period.begin(&options, std::slice::from_ref(&DEF)).unwrap();
        let mut history = History::new(std::slice::from_ref(&DEF));
        for (second, (reads, queue)) in readings.iter().enumerate() {
            let mut snapshot = Snapshot::new(std::slice::from_ref(&DEF));
            snapshot.monotonic_ns = (second as u64 + 1) * 1_000_000_000;
            snapshot.fresh[0] = true;
            let sample = &mut snapshot.samples[0];
            sample.monotonic_ns = snapshot.monotonic_ns;
            sample.state = State::Ok;
            let mut row = sample.table.row(b"vda");
            row.set(0, *reads);
            row.set_some(1, *queue);
            history.push(&mut snapshot);
            if second > 0 {
                period.add(&layout::Frame::new(&history, &meta, &options));
            }
        }
        period
    }

    fn written(a: &Period, b: &Period, form: TableForm) -> String {
        let mut out = Vec::new();
        write_comparison(a, b, form, None, usize::MAX, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn means_maxima_and_change() {
        let a = period(&[(0, Some(1)), (10, Some(2)), (40, Some(4))]);
        let b = period(&[(0, None), (40, None), (80, None)]);
        let text = written(&a, &b, TableForm::Text);
        let reads: Vec<&str> = text.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(reads, ["demo[vda].reads", "20.00", "40.00", "+100.0%", "30.00", "40.00"]);
        let queue: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(queue, ["demo[vda].queue", "3.000", "-", "-", "4.000", "-"], "missing is not 0");
        let csv = written(&a, &b, TableForm::Csv);
        assert!(csv.contains("demo[vda].reads,,20,40,100,30,40,2,2\n"), "{csv}");
        let json = written(&a, &b, TableForm::Json);
        let line: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        assert_eq!(line["a"]["mean"], 3.0);
        assert!(line.get("b").is_none(), "absent, not null");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_number_is_cut() {
        let a = period(&[(0, Some(8)), (10, Some(8)), (20, Some(8))]);
        let b = period(&[(0, Some(2)), (11, Some(2)), (22, Some(2))]);
        let headings = [79, 74, 60, 52, 48, 40].map(|room| {
            let mut out = Vec::new();
            write_comparison(&a, &b, TableForm::Text, None, room, &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= room, "{room}: {text}");
            assert!(text.contains("queue ") && text.contains(" -75.0%"), "{text}");
            text.lines().nth(1).unwrap().split_whitespace().count()
        });
        assert_eq!(headings, [11, 11, 7, 7, 6, 6]);
    }

    #[test]
    fn the_largest_changes_are_first_and_the_others_may_be_left_out() {
        let a = period(&[(0, Some(8)), (10, Some(8)), (20, Some(8))]);
        let b = period(&[(0, Some(2)), (11, Some(2)), (22, Some(2))]);
        let names = |limit: Option<usize>| {
            let mut out = Vec::new();
            write_comparison(&a, &b, TableForm::Text, limit, usize::MAX, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let lines: Vec<String> = names(None).lines().skip(2).map(str::to_owned).collect();
        assert!(lines[0].contains("queue") && lines[0].contains("-75.0%"), "{lines:?}");
        assert!(lines[1].contains("reads") && lines[1].contains("+10.0%"), "{lines:?}");
        let one = names(Some(1));
        assert!(one.contains("queue") && !one.contains("reads"), "{one}");
        assert!(one.ends_with("# 1 fields changed less: --limit shows more\n"), "{one}");
        assert!(!names(Some(0)).contains("%"));
    }

    #[test]
    fn numbers_fit_their_column() {
        for (value, text) in [
            (0.0, "0"),
            (0.25, "0.250"),
            (12.345, "12.35"),
            (9999.0, "9999"),
            (12_345.0, "12.35k"),
            (-3.2e10, "-32.00G"),
            (1e-7, "1.0e-7"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
