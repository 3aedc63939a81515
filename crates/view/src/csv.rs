//! CSV (RFC 4180, but lines end with a line feed alone).
//!
//! **Long form**, the default: `time,host,source,instance,field,value`, a line for each value.
//! Instances come and go and sources are read at different intervals: a missing value has no line.
//!
//! **Wide form**, with `--fields`: `time,host` and a column for each selected field, headed
//! `source.field` or `source[instance].field`; a line for each tick, empty where missing.  A header
//! cannot change in the middle of a file, so the columns are fixed at the first line: those of
//! instances named in `--fields`, and of others that exist then.  [`View::notes`] names the later
//! ones; the long form has all.
//!
//! A frame that stands for a step has more columns: in the long form `readings`, how many readings the
//! value stands on (empty: a history does not tell), `origin`, where it comes from (`recording`,
//! `history`), and `resolution`, the seconds between two readings or rows there; with `spread` before
//! them `min` and `max`.  In the wide form `.min` and `.max` of each column, and at the end `readings`
//! of the source that has most, the `origin` (`recording+history` if sources differ) and the longest
//! `resolution`.
//!
//! Times are UTC with milliseconds; with `--utc`, seconds since the epoch.  Numbers follow
//! `fields`: base units, counters as rates per second.

use std::borrow::Cow;
use std::io::{self, Write};
use std::sync::Arc;

use ::text::decimal::push_shortest;
use layout::{Frame, Options, Row, SourceStep, text};
use sample::{Meta, SourceDef};

use crate::compare::field_name;
use crate::fields::{
    Plan, Selection, Value, epoch_text, for_each_value, instance_text, origin_of, rows_kept,
    rows_shown, spread, time_text, value,
};
use crate::{HeadingLines, TableForm, View, ViewEntry};

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "csv",
    about: "Comma-separated values with a header line",
    headings: HeadingLines::First,
    table: Some(TableForm::Csv),
    takes_utc: true,
    open: |_| Box::<Csv>::default(),
    ..ViewEntry::EMPTY
};

/// The columns of a step.
const STEP_COLUMNS: &[u8] = b",readings,origin,resolution\n";

/// Instances without a column that are named in a note; further ones are only counted.
const LATE_NAMES_MAX: usize = 8;

/// The view; one for all feeds of a play.
#[derive(Default)]
pub struct Csv {
    selection: Selection,
    plans: Vec<Plan>,
    host: Vec<u8>,
    wide: bool,
    header_written: bool,
    columns: Vec<Column>,
    /// The rows of each source in the latest line of the wide form.
    rows: Vec<Vec<KnownRow>>,
    late: Vec<String>,
    line: Vec<u8>,
}

/// A column of the wide form.
#[derive(PartialEq, Eq)]
struct Column {
    source: Cow<'static, str>,
    /// Empty for a source with a single row.
    instance: String,
    field: Cow<'static, str>,
    /// Its source among those of the feed, and its field there.
    place: Option<(usize, usize)>,
    /// The row of its source that the latest line took it from: mostly that of the next one, too.
    row: usize,
}

/// A row of a source: the name of its instance, and the text that stands for it.
struct KnownRow {
    name: Vec<u8>,
    text: String,
}

impl View for Csv {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.selection = Selection::of(options, defs)?;
        self.plans = self.selection.plans(defs);
        self.wide = !options.fields.is_empty();
        self.place_columns(&defs.iter());
        self.rows.clear();
        self.host.clear();
        text::push_csv_field(&mut self.host, text::escape(meta.host().as_bytes()).as_bytes());
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        // The first tick has no rates.
        if frame.seconds == 0.0 {
            return Ok(());
        }
        if !self.header_written {
            self.header_written = true;
            self.header(frame, out)?;
        }
        let time = match frame.options.utc {
            true => epoch_text(frame.realtime_ns),
            false => time_text(frame.realtime_ns),
        };
        if self.wide { self.wide(frame, &time, out) } else { self.long(frame, &time, out) }
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        if self.late.is_empty() {
            return Vec::new();
        }
        let more = if self.late.len() > LATE_NAMES_MAX { " and others" } else { "" };
        let names = self.late[..self.late.len().min(LATE_NAMES_MAX)].join(", ");
        vec![format!(
            "CSV columns are fixed at the first line, so {names}{more} had none; name them in \
             --fields, or leave --fields out for the long form"
        )]
    }
}

impl Csv {
    fn header(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let (is_step, has_spread) = (frame.steps.is_some(), frame.options.spread);
        if !self.wide {
            out.write_all(b"time,host,source,instance,field,value")?;
            out.write_all(if has_spread { b",min,max" } else { b"" })?;
            return out.write_all(if is_step { STEP_COLUMNS } else { b"\n" });
        }
        // Sources and fields that only later recordings have get their columns now.
        let played = frame.options.sources_played.iter().map(|def| (def, true));
        let sources = frame.tracks.iter().map(|track| (&track.def, false)).chain(played);
        for item in &self.selection.items {
            for (def, is_later) in sources.clone() {
                let mut tracks = frame.tracks.iter().filter(|track| track.def.name == def.name);
                let has = |field: usize| {
                    let name = &*def.fields[field].name;
                    tracks.clone().any(|track| track.def.field(name).is_some())
                };
                let mut fields = item.fields(def);
                fields.retain(|&field| !is_later || !has(field));
                let instances = match &item.instance {
                    _ if fields.is_empty() => continue,
                    Some(instance) => vec![instance.clone()],
                    None if def.instance.is_empty() => vec![String::new()],
                    None => {
                        let rows =
                            tracks.next().into_iter().flat_map(|track| rows_shown(frame, track));
                        rows.map(|(_, instance)| instance).collect()
                    }
                };
                for instance in instances {
                    for &field in &fields {
                        let (source, field) = (def.name.clone(), def.fields[field].name.clone());
                        let (instance, place, row) = (instance.clone(), None, 0);
                        let column = Column { source, instance, field, place, row };
                        // Two later recordings may have it.
                        if !is_later || !self.columns.contains(&column) {
                            self.columns.push(column);
                        }
                    }
                }
            }
        }
        self.place_columns(&frame.tracks.iter().map(|track| &track.def));
        self.line.clear();
        self.line.extend_from_slice(b"time,host");
        for Column { source, instance, field, .. } in &self.columns {
            let name = field_name(source, instance, field);
            for part in if has_spread { &["", ".min", ".max"][..] } else { &[""] } {
                self.line.push(b',');
                text::push_csv_field(&mut self.line, format!("{name}{part}").as_bytes());
            }
        }
        self.line.extend_from_slice(if is_step { STEP_COLUMNS } else { b"\n" });
        out.write_all(&self.line)
    }

    /// Finds the source and the field of each column in a feed.
    fn place_columns<'a>(&mut self, defs: &(impl Iterator<Item = &'a Arc<SourceDef>> + Clone)) {
        for column in &mut self.columns {
            let found = defs.clone().enumerate().find(|(_, def)| def.name == column.source);
            column.place = found.and_then(|(at, def)| Some((at, def.field(&column.field)?)));
        }
    }

    fn long(&mut self, frame: &Frame<'_>, time: &str, out: &mut dyn Write) -> io::Result<()> {
        let (line, host) = (&mut self.line, &self.host);
        for_each_value(frame, &self.plans, |row, instance, at, value| {
            let field = &row.track.def.fields[at];
            line.clear();
            line.extend_from_slice(time.as_bytes());
            line.push(b',');
            line.extend_from_slice(host);
            for part in [&*row.track.def.name, instance, &*field.name] {
                line.push(b',');
                text::push_csv_field(line, part.as_bytes());
            }
            line.push(b',');
            push_value(line, value);
            if frame.options.spread {
                push_spread(line, spread(row, at));
            }
            if let Some(steps) = row.step() {
                let readings = row.step_cell(at).map_or(steps.readings, |cell| cell.readings);
                let readings = steps.told_readings().map(|_| readings);
                push_step(line, readings, origin_of(std::iter::once(steps)))?;
            }
            line.push(b'\n');
            out.write_all(line)
        })
    }

    fn wide(&mut self, frame: &Frame<'_>, time: &str, out: &mut dyn Write) -> io::Result<()> {
        let mut rows: Vec<Vec<Row<'_>>> = Vec::with_capacity(frame.tracks.len());
        for (track, plan) in frame.tracks.iter().zip(&self.plans) {
            let chosen = !plan.fields.is_empty();
            rows.push(if chosen { rows_kept(frame, track).collect() } else { Vec::new() });
        }
        self.rows.resize_with(rows.len(), Vec::new);
        for (place, (track, rows)) in frame.tracks.iter().zip(&rows).enumerate() {
            self.learn_rows(place, &track.def.name, rows);
        }
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(time.as_bytes());
        line.push(b',');
        line.extend_from_slice(&self.host);
        for column in &mut self.columns {
            line.push(b',');
            let cell = column.place.and_then(|(place, field)| {
                let known = self.rows.get(place)?;
                let is_it =
                    |at: &usize| known.get(*at).is_some_and(|row| row.text == column.instance);
                let expected = Some(column.row).filter(is_it);
                column.row = expected.or_else(|| (0..known.len()).find(is_it))?;
                Some((*rows.get(place)?.get(column.row)?, field))
            });
            if let Some(value) = cell.and_then(|(row, field)| value(&row, field)) {
                push_value(line, value);
            }
            if frame.options.spread {
                let known = cell.map(|(row, field)| spread(&row, field));
                push_spread(line, known.unwrap_or_default());
            }
        }
        if let Some(steps) = frame.steps {
            let readings = steps.iter().filter_map(SourceStep::told_readings).max();
            push_step(line, readings, origin_of(steps.iter()))?;
        }
        line.push(b'\n');
        out.write_all(line)
    }

    /// Learns the rows of a source, which mostly are those of the line before, and remembers the selected
    /// instances that came after the header.
    fn learn_rows(&mut self, place: usize, source: &str, rows: &[Row<'_>]) {
        let known = &mut self.rows[place];
        known.truncate(rows.len());
        let mut new = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            if known.get(at).is_some_and(|known| known.name == row.name()) {
                continue;
            }
            new.push(at);
            let row = KnownRow { name: row.name().to_vec(), text: instance_text(row.name()) };
            match known.get_mut(at) {
                Some(known) => *known = row,
                None => known.push(row),
            }
        }
        for instance in new.into_iter().map(|at| &known[at].text) {
            let has_column =
                |column: &Column| column.source == source && column.instance == *instance;
            if self.late.len() > LATE_NAMES_MAX
                || self.plans[place].of(instance).next().is_none()
                || self.columns.iter().any(has_column)
            {
                continue;
            }
            let name = format!("{source}[{instance}]");
            if !self.late.contains(&name) {
                self.late.push(name);
            }
        }
    }
}

/// Appends the smallest and the largest value of a cell, empty where missing.
fn push_spread(line: &mut Vec<u8>, spread: [Option<f64>; 2]) {
    for value in spread {
        line.push(b',');
        if let Some(value) = value {
            push_value(line, Value::Number(value));
        }
    }
}

/// Appends what is known of a step: readings, origin, resolution.
fn push_step(
    line: &mut Vec<u8>,
    readings: Option<u32>,
    origin: Option<(&'static str, f64)>,
) -> io::Result<()> {
    line.push(b',');
    if let Some(readings) = readings {
        write!(line, "{readings}")?;
    }
    match origin {
        Some((name, seconds)) => write!(line, ",{name},{seconds}"),
        None => write!(line, ",,"),
    }
}

/// Appends the value of a cell.
fn push_value(line: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Text(text) => text::push_csv_field(line, text::escape(text).as_bytes()),
        Value::Number(number) => push_shortest(line, number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Feed;

    #[test]
    fn long_form_has_a_line_for_each_value_that_is_there() {
        let mut feed = Feed::new(Options::default());
        let mut view = Csv::default();
        let text = feed.show(&mut view);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "time,host,source,instance,field,value");
        let second: Vec<&&str> =
            lines.iter().filter(|line| line.starts_with("1970-01-01T00:00:12.000Z")).collect();
        let starts = "1970-01-01T00:00:12.000Z,vm,";
        let rest: Vec<&str> = second.iter().map(|line| &line[starts.len()..]).collect();
        assert_eq!(
            rest,
            [
                "mem,,free_kb,1024",
                "disk,a,reads,5",
                "disk,a,busy,0.25",
                // The new instance has no rate yet, and a hostile name is quoted and escaped.
                "disk,\"x,\\x1b\\xff\"\"\",model,\"q\"\"\"",
            ]
        );
    }

    #[test]
    fn wide_form_fixes_its_columns_and_tells_what_has_none() {
        let fields = ["disk.reads", "disk[z].reads", "mem.free_kb"].map(String::from).to_vec();
        let mut feed = Feed::new(Options { fields, utc: true, ..Options::default() });
        let mut view = Csv::default();
        let text = feed.show(&mut view);
        assert_eq!(
            text,
            "time,host,disk[a].reads,disk[gone].reads,disk[z].reads,mem.free_kb\n\
             11.000,vm,10,1,,1024\n\
             12.000,vm,5,,,1024\n"
        );
        assert_eq!(view.notes().len(), 1);
        assert!(view.notes()[0].contains("disk[x,\\x1b\\xff\"]"), "{:?}", view.notes());
    }

    #[test]
    fn a_bare_name_is_the_field_of_any_source() {
        let options = Options { fields: vec!["faults".into()], ..Options::default() };
        let text = Feed::new(options).show(&mut Csv::default());
        assert!(text.starts_with("time,host,mem.faults\n"), "{text}");
        assert!(text.ends_with(",vm,\n"), "a reset leaves the cell empty: {text}");
    }

    #[test]
    fn unknown_fields_and_sources_are_errors() {
        for (name, part) in [("disk.rads", "disk has reads"), ("dsk", "sources: mem, disk")] {
            let options = Options { fields: vec![name.into()], ..Options::default() };
            let error = Feed::new(options).try_show(&mut Csv::default()).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
