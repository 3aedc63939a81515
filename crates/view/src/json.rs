//! JSON lines: one object for each tick.
//!
//! ```json
//! {"time":"2026-11-21T04:35:02.001Z","host":"vm","seconds":1,
//!  "sources":{"memory":{"free":11534336},"disk":[{"disk":"vda","reads":12.5}]},
//!  "states":{"nfs":"absent"}}
//! ```
//!
//! `sources` holds what was read at this tick: an object for a source with a single row, an array
//! of objects for one with instances, each with its labels first.  A missing value has no key.
//! `states` says why a source has no numbers: `absent`, `denied`, `failed errno N`, `skipped`,
//! `not recorded`; if all sources have numbers, the key is left out.  A source that was not due at
//! this tick is in neither.  `seconds` is the time since the previous tick.  Numbers follow
//! `fields`: base units, counters as rates per second (the counters themselves are in OpenMetrics).
//!
//! A frame that stands for a step also has, for each source, `readings`, how many there are in it
//! (`null`: a history does not tell), `origin`, where its values come from (`recording`, `history`),
//! and `resolution`, the seconds between two readings or rows there; and with `spread` `min` and `max`,
//! which have the form of `sources`.
//!
//! To the kernel, names and texts are bytes, not necessarily UTF-8.  They are escaped as on the
//! screen (a control character or a byte outside UTF-8 is `\xNN`, a backslash `\\`), then quoted as
//! JSON strings.  So every line is valid JSON, terminals interpret nothing in it, and different
//! names never look the same.

use std::io::{self, Write};
use std::sync::Arc;

use ::text::decimal::push_shortest;
use layout::{Frame, Options, Row, SourceStep, text};
use sample::{Meta, SourceDef, State};

use crate::fields::{
    Plan, Selection, Value, instance_parts, instance_text, keeps, spread, time_text, value,
};
use crate::{TableForm, View, ViewEntry};

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "json",
    about: "One JSON object a line",
    table: Some(TableForm::Json),
    shows_states: true,
    open: |_| Box::<Json>::default(),
    ..ViewEntry::EMPTY
};

/// The view.
#[derive(Default)]
pub struct Json {
    plans: Vec<Plan>,
    host: String,
    line: Vec<u8>,
}

impl View for Json {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.plans = Selection::of(options, defs)?.plans(defs);
        self.host = meta.host().to_owned();
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        // The first tick is only a base for rates.
        if frame.seconds == 0.0 {
            return Ok(());
        }
        let line = &mut self.line;
        line.clear();
        write!(line, "{{\"time\":\"{}\",\"host\":", time_text(frame.realtime_ns))?;
        push_text(line, self.host.as_bytes());
        write!(line, ",\"seconds\":{},\"sources\":", frame.seconds)?;
        push_sources(line, frame, &self.plans, &|row, field| value(row, field));
        if let Some(steps) = frame.steps {
            let sources = frame.tracks.iter().zip(&self.plans).zip(steps);
            let asked = sources.filter(|((_, plan), _)| !plan.fields.is_empty());
            let asked: Vec<_> = asked.map(|((track, _), step)| (&*track.def.name, step)).collect();
            push_steps(line, &asked)?;
        }
        if frame.options.spread {
            for (at, name) in ["min", "max"].into_iter().enumerate() {
                write!(line, ",\"{name}\":")?;
                push_sources(line, frame, &self.plans, &|row, field| {
                    spread(row, field)[at].map(Value::Number)
                });
            }
        }
        push_states(line, frame, &self.plans)?;
        line.extend_from_slice(b"}\n");
        out.write_all(line)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// What is known of the sources of a step: their readings, where their values come from, and in which
/// resolution, in seconds.
fn push_steps(line: &mut Vec<u8>, steps: &[(&str, &SourceStep)]) -> io::Result<()> {
    line.extend_from_slice(b",\"readings\":{");
    let mut comma = false;
    for (name, step) in steps {
        separate(line, &mut comma);
        match step.told_readings() {
            Some(readings) => write!(line, "\"{name}\":{readings}")?,
            None => write!(line, "\"{name}\":null")?,
        }
    }
    for part in ["origin", "resolution"] {
        write!(line, "}},\"{part}\":{{")?;
        comma = false;
        for (name, step) in steps {
            let Some(origin) = step.origin else { continue };
            separate(line, &mut comma);
            match part {
                "origin" => write!(line, "\"{name}\":\"{}\"", origin.name())?,
                _ => write!(line, "\"{name}\":{}", origin.resolution_seconds())?,
            }
        }
    }
    line.push(b'}');
    Ok(())
}

/// What is written of a cell; `None` if it is missing.
type ValueOf<'a> = &'a dyn for<'b> Fn(&Row<'b>, usize) -> Option<Value<'b>>;

/// The sources that were read at this tick, as an object.
fn push_sources(line: &mut Vec<u8>, frame: &Frame<'_>, plans: &[Plan], of: ValueOf<'_>) {
    line.push(b'{');
    let mut comma = false;
    for (track, plan) in frame.tracks.iter().zip(plans) {
        let here = track.fresh && track.current.state == State::Ok;
        if !here || plan.fields.is_empty() {
            continue;
        }
        separate(line, &mut comma);
        push_quoted(line, &track.def.name);
        line.push(b':');
        push_source(line, &frame.whole(track), plan, of);
    }
    line.push(b'}');
}

fn push_source(line: &mut Vec<u8>, whole: &Row<'_>, plan: &Plan, of: ValueOf<'_>) {
    if whole.track.def.instance.is_empty() {
        line.push(b'{');
        push_fields(line, whole, plan.of(""), false, of);
        return line.push(b'}');
    }
    line.push(b'[');
    let mut comma = false;
    for row in whole.rows().filter(keeps) {
        let instance = instance_text(row.name());
        let mut fields = plan.of(&instance).peekable();
        if fields.peek().is_none() {
            continue;
        }
        separate(line, &mut comma);
        line.push(b'{');
        let mut inner_comma = false;
        for (label, part) in whole.track.def.instance.iter().zip(instance_parts(row.name())) {
            separate(line, &mut inner_comma);
            push_quoted(line, label);
            line.push(b':');
            push_quoted(line, &part);
        }
        push_fields(line, &row, fields, inner_comma, of);
        line.push(b'}');
    }
    line.push(b']');
}

fn push_fields(
    line: &mut Vec<u8>,
    row: &Row<'_>,
    fields: impl Iterator<Item = usize>,
    mut comma: bool,
    of: ValueOf<'_>,
) {
    for field in fields {
        let Some(value) = of(row, field) else { continue };
        separate(line, &mut comma);
        push_quoted(line, &row.track.def.fields[field].name);
        line.push(b':');
        match value {
            Value::Text(text) => push_text(line, text),
            Value::Number(number) => push_shortest(line, number),
        }
    }
}

fn push_states(line: &mut Vec<u8>, frame: &Frame<'_>, plans: &[Plan]) -> io::Result<()> {
    let mut any = false;
    for (track, plan) in frame.tracks.iter().zip(plans) {
        let state = track.current.state;
        if state == State::Ok || !track.fresh || plan.fields.is_empty() {
            continue;
        }
        line.extend_from_slice(if any { b"," } else { b",\"states\":{" });
        any = true;
        match state {
            State::Failed(errno) => write!(line, "\"{}\":\"failed errno {errno}\"", track.def.name),
            state => write!(line, "\"{}\":\"{}\"", track.def.name, state.word()),
        }?;
    }
    if any {
        line.push(b'}');
    }
    Ok(())
}

fn separate(line: &mut Vec<u8>, comma: &mut bool) {
    if *comma {
        line.push(b',');
    }
    *comma = true;
}

/// Writes bytes from the kernel as a JSON string, escaped as on the screen.
pub(crate) fn push_text(line: &mut Vec<u8>, bytes: &[u8]) {
    push_quoted(line, &text::escape(bytes));
}

/// Writes text that has no control characters as a JSON string.
fn push_quoted(line: &mut Vec<u8>, text: &str) {
    line.push(b'"');
    for &byte in text.as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            line.push(b'\\');
        }
        line.push(byte);
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::{Feed, HOSTILE};

    #[test]
    fn every_line_is_an_object_and_missing_is_absent() {
        let text = Feed::new(Options::default()).show(&mut Json::default());
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2, "the first tick is only a base");
        assert_eq!(
            text.lines().next().unwrap(),
            "{\"time\":\"1970-01-01T00:00:11.000Z\",\"host\":\"vm\",\"seconds\":1,\
             \"sources\":{\"mem\":{\"free_kb\":1024,\"faults\":50},\
             \"disk\":[{\"disk\":\"a\",\"reads\":10,\"busy\":0.25},\
             {\"disk\":\"gone\",\"reads\":1}]},\"states\":{\"nfs\":\"absent\"}}"
        );
        let last = &lines[1];
        assert!(last["sources"]["mem"].get("faults").is_none(), "a reset has no rate");
        let hostile = &last["sources"]["disk"][1];
        assert_eq!(hostile["disk"], text::escape(HOSTILE));
        assert_eq!(hostile["model"], "q\"");
        assert!(hostile.get("reads").is_none());
    }

    #[test]
    fn fields_choose() {
        let fields = vec!["disk[a].busy".to_owned()];
        let options = Options { fields, ..Options::default() };
        let text = Feed::new(options).show(&mut Json::default());
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(
            first["sources"],
            serde_json::json!({ "disk": [{ "disk": "a", "busy": 0.25 }] })
        );
        assert!(first.get("states").is_none());
    }
}
