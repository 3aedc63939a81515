//! Steps as tables for people: mean, smallest and largest value of each field.
//!
//! The columns of other views are made of several fields, whose smallest values need not be of the
//! same reading; here each field stands for itself, with the numbers of CSV and JSON.

use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Frame, Options, SourceStep};
use sample::{Meta, SourceDef};

use crate::View;
use crate::compare::{field_name, short};
use crate::fields::{Plan, Selection, number, origin_of, rows_shown, spread};
use crate::time::LocalTime;

/// The view of steps with their spread.
pub struct SpreadTable {
    zone: TimeZone,
    plans: Vec<Plan>,
}

impl SpreadTable {
    /// Tables with times in `zone`.
    #[must_use]
    pub fn new(zone: TimeZone) -> Self {
        SpreadTable { zone, plans: Vec::new() }
    }
}

/// A line of a table.
struct Line {
    name: String,
    mean: f64,
    spread: [Option<f64>; 2],
    readings: Option<u32>,
    unit: &'static str,
}

impl View for SpreadTable {
    fn begin(
        &mut self,
        _meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.plans = Selection::of(options, defs)?.plans(defs);
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        let lines = lines(frame, &self.plans);
        let mut time = Vec::new();
        let local = LocalTime::new(frame.realtime_ns, &self.zone);
        local.push_day_and_clock(frame.options, b" ", &mut time);
        out.write_all(b"# ")?;
        out.write_all(&time)?;
        writeln!(out, ", {} s: {}", frame.seconds, what_it_stands_on(frame.steps))?;
        let is_quiet = |line: &&Line| line.mean == 0.0 && line.spread == [Some(0.0); 2];
        let shown: Vec<&Line> = lines.iter().filter(|line| !is_quiet(line)).collect();
        if shown.is_empty() {
            return Ok(());
        }
        let width = shown.iter().map(|line| line.name.chars().count()).max().unwrap_or(5).max(5);
        writeln!(
            out,
            "{:<width$} {:>10} {:>10} {:>10} {:>8}  unit",
            "field", "mean", "min", "max", "readings"
        )?;
        for line in &shown {
            let [min, max] = line.spread.map(|value| value.map_or_else(missing, short));
            let Line { name, mean, readings, unit, .. } = line;
            let readings = readings.map_or_else(missing, |readings| readings.to_string());
            let mean = short(*mean);
            let text =
                format!("{name:<width$} {mean:>10} {min:>10} {max:>10} {readings:>8}  {unit}");
            writeln!(out, "{}", text.trim_end())?;
        }
        if shown.len() < lines.len() {
            writeln!(out, "# {} fields were 0 throughout", lines.len() - shown.len())?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn missing() -> String {
    "-".to_owned()
}

/// The number of readings of a step, or where it comes from if that is not told.
fn what_it_stands_on(steps: Option<&[SourceStep]>) -> String {
    let steps = steps.unwrap_or_default();
    let readings = steps.iter().filter_map(SourceStep::told_readings).max().unwrap_or(0);
    match origin_of(steps.iter()) {
        Some((name, seconds)) if name != "recording" => {
            format!("{readings} readings, {name} of {seconds} s")
        }
        _ => format!("{readings} readings"),
    }
}

/// The values of a step.
fn lines(frame: &Frame<'_>, plans: &[Plan]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (track, plan) in frame.tracks.iter().zip(plans) {
        for (row, instance) in rows_shown(frame, track) {
            for at in plan.of(&instance) {
                let Some(mean) = number(&row, at) else { continue };
                let readings = row.step_cell(at).map_or(0, |cell| cell.readings);
                let field = &track.def.fields[at];
                lines.push(Line {
                    name: field_name(&track.def.name, &instance, &field.name),
                    mean,
                    spread: spread(&row, at),
                    readings: row.step().and_then(SourceStep::told_readings).map(|_| readings),
                    unit: field.unit.base_name(),
                });
            }
        }
    }
    lines
}
