//! InfluxDB line protocol: a line for each row of a source at each tick.
//!
//! `softnet,host=vm,cpu=0 processed=12.5,dropped=0 1795285320111000000`
//!
//! Numbers are those of the other views for programs: gauges as they are, counters as rates.  What
//! is missing has no key, and a row without any number has no line.

use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options, Row};
use sample::{Kind, Meta, SourceDef, State};

use crate::fields::{Plan, Selection, instance_parts, instance_text, keeps, number};
use crate::{ViewEntry, View};

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "influx",
    about: "InfluxDB line protocol, a line for each row at each tick",
    open: |_| Box::<Influx>::default(),
    ..ViewEntry::EMPTY
};

/// The view.
#[derive(Default)]
struct Influx {
    plans: Vec<Plan>,
    host: String,
    line: Vec<u8>,
}

impl View for Influx {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        let selection = Selection::of(options, defs)?;
        self.plans = defs.iter().map(|def| selection.plan(def)).collect();
        self.host = meta.host().to_owned();
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        // The first tick is only a base for rates.
        if frame.seconds == 0.0 {
            return Ok(());
        }
        for (track, plan) in frame.tracks.iter().zip(&self.plans) {
            if !track.fresh || track.current.state != State::Ok || plan.fields.is_empty() {
                continue;
            }
            let whole = frame.whole(track);
            if track.def.instance.is_empty() {
                push_row(&mut self.line, &self.host, &whole, plan, frame.realtime_ns, out)?;
            }
            for row in whole.rows().filter(|row| !track.def.instance.is_empty() && keeps(row)) {
                push_row(&mut self.line, &self.host, &row, plan, frame.realtime_ns, out)?;
            }
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn push_row(
    line: &mut Vec<u8>,
    host: &str,
    row: &Row<'_>,
    plan: &Plan,
    realtime_ns: impl std::fmt::Display,
    out: &mut dyn Write,
) -> io::Result<()> {
    let def = &row.track.def;
    line.clear();
    write!(line, "{},host=", def.name)?;
    push_escaped(line, host);
    let instance =
        if def.instance.is_empty() { String::new() } else { instance_text(row.name()).to_string() };
    if !def.instance.is_empty() {
        for (label, part) in def.instance.iter().zip(instance_parts(row.name())) {
            write!(line, ",{label}=")?;
            push_escaped(line, &part);
        }
    }
    let mut separator = b' ';
    for field in plan.of(&instance) {
        if def.fields[field].kind == Kind::Text {
            continue;
        }
        if let Some(value) = number(row, field) {
            line.push(separator);
            write!(line, "{}={value}", def.fields[field].name)?;
            separator = b',';
        }
    }
    if separator == b',' {
        writeln!(line, " {realtime_ns}")?;
        out.write_all(line)?;
    }
    Ok(())
}

/// A tag's value: commas, blanks and equals signs stand behind a backslash.
fn push_escaped(line: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        if matches!(byte, b',' | b' ' | b'=' | b'\\') {
            line.push(b'\\');
        }
        line.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Feed;

    #[test]
    fn a_line_for_each_row() {
        let text = Feed::new(Options::default()).show(&mut Influx::default());
        assert!(text.starts_with("mem,host=vm free_kb=1024,faults=50 11000000000\n"), "{text}");
        assert!(text.contains("disk,host=vm,disk=a reads=10,busy=0.25 11000000000\n"), "{text}");
    }
}
