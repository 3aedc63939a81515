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

use layout::{Frame, Options};
use sample::SourceDef;
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

/// Source index in the feed, escaped instance, field index.
type Key = (usize, String, usize);

/// The values of every selected field in a period.
#[derive(Debug)]
pub struct Period {
    defs: Vec<Arc<SourceDef>>,
    plans: Vec<Plan>,
    courses: BTreeMap<Key, Course>,
    frame_count: u64,
}

impl Period {
    /// An empty period of these sources; `--fields`, or `-s`, selects among them.
    ///
    /// # Errors
    /// `InvalidInput` for a name in `--fields` that does not exist.
    pub fn new(options: &Options, defs: &[Arc<SourceDef>]) -> io::Result<Self> {
        let selection = Selection::of(options, defs)?;
        let plans = defs.iter().map(|def| selection.plan(def)).collect();
        Ok(Period { defs: defs.to_vec(), plans, courses: BTreeMap::new(), frame_count: 0 })
    }

    /// Adds one frame of a feed with the same sources in the same order.
    pub fn add(&mut self, frame: &Frame<'_>) {
        self.frame_count += 1;
        for (index, track) in frame.tracks.iter().enumerate() {
            if !track.fresh || self.plans[index].fields.is_empty() {
                continue;
            }
            let whole = frame.whole(track);
            for row in whole.rows().filter(keeps) {
                let seconds = row.interval_seconds().unwrap_or(1.0);
                let instance = instance_text(row.name());
                for field in self.plans[index].of(&instance) {
                    if let Some(value) = number(&row, field) {
                        let key = (index, instance.clone(), field);
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

    fn is_quiet(&self) -> bool {
        let quiet = |course: Option<Course>| course.is_none_or(|c| c.max == 0.0 && c.mean() == 0.0);
        quiet(self.a) && quiet(self.b)
    }
}

fn lines(a: &Period, b: &Period) -> Vec<Line> {
    let mut keys: Vec<&Key> = a.courses.keys().chain(b.courses.keys()).collect();
    keys.sort();
    keys.dedup();
    let line = |key: &Key| {
        let (source, instance, field) = key;
        let def = &a.defs[*source];
        let field = &def.fields[*field];
        let place = if instance.is_empty() { String::new() } else { format!("[{instance}]") };
        Line {
            name: format!("{}{place}.{}", def.name, field.name),
            unit: field.unit.base_name(),
            a: a.courses.get(key).copied(),
            b: b.courses.get(key).copied(),
        }
    };
    keys.into_iter().map(line).collect()
}

/// Writes two periods of the same sources side by side.  The table leaves out fields that were 0
/// throughout both; CSV and JSON have all fields.
///
/// # Errors
/// Those of `out`; `InvalidInput` if the periods have different sources.
pub fn write_comparison(
    a: &Period,
    b: &Period,
    form: TableForm,
    out: &mut dyn Write,
) -> io::Result<()> {
    let names =
        |period: &Period| period.defs.iter().map(|def| def.name.clone()).collect::<Vec<_>>();
    if names(a) != names(b) {
        let text = "the two periods are of different sources: choose some with -s";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    let lines = lines(a, b);
    match form {
        TableForm::Text => write_table(a, b, &lines, out),
        TableForm::Csv => write_csv(&lines, out),
        TableForm::Json => write_json(&lines, out),
    }
}

fn write_table(a: &Period, b: &Period, lines: &[Line], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# A: {} samples, B: {} samples", a.frame_count, b.frame_count)?;
    let shown: Vec<&Line> = lines.iter().filter(|line| !line.is_quiet()).collect();
    let width = shown.iter().map(|line| line.name.chars().count()).max().unwrap_or(5).max(5);
    writeln!(
        out,
        "{:<width$} {:>10} {:>10} {:>8} {:>10} {:>10}  unit",
        "field", "mean A", "mean B", "change", "max A", "max B"
    )?;
    for line in &shown {
        let change = match (line.a, line.b, line.change_percent()) {
            (_, _, Some(percent)) => format!("{percent:+.1}%"),
            (Some(_), Some(b), None) if b.mean() != 0.0 => "new".to_owned(),
            _ => "-".to_owned(),
        };
        let mean = |course: Option<Course>| course.map_or("-".to_owned(), |c| short(c.mean()));
        let max = |course: Option<Course>| course.map_or("-".to_owned(), |c| short(c.max));
        let text = format!(
            "{:<width$} {:>10} {:>10} {change:>8} {:>10} {:>10}  {}",
            line.name,
            mean(line.a),
            mean(line.b),
            max(line.a),
            max(line.b),
            line.unit
        );
        writeln!(out, "{}", text.trim_end())?;
    }
    if shown.len() < lines.len() {
        writeln!(out, "# {} fields were 0 throughout", lines.len() - shown.len())?;
    }
    Ok(())
}

/// Four significant digits, with a metric suffix from ten thousand on.
fn short(value: f64) -> String {
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
        writeln!(out, "{object}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sample::{Cadence, Field, History, Meta, Snapshot, State, Unit};
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
        let mut period = Period::new(&options, std::slice::from_ref(&DEF)).unwrap();
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
        write_comparison(a, b, form, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn means_maxima_and_change() {
        let a = period(&[(0, Some(1)), (10, Some(2)), (40, Some(4))]);
        let b = period(&[(0, None), (40, None), (80, None)]);
        let text = written(&a, &b, TableForm::Text);
        let reads: Vec<&str> = text.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(reads, ["demo[vda].reads", "20.00", "40.00", "+100.0%", "30.00", "40.00"]);
        let queue: Vec<&str> = text.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(queue, ["demo[vda].queue", "3.000", "-", "-", "4.000", "-"], "missing is not 0");
        let csv = written(&a, &b, TableForm::Csv);
        assert!(csv.contains("demo[vda].reads,,20,40,100,30,40,2,2\n"), "{csv}");
        let json = written(&a, &b, TableForm::Json);
        let line: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
        assert_eq!(line["a"]["mean"], 3.0);
        assert!(line.get("b").is_none(), "absent, not null");
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
