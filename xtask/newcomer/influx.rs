//! InfluxDB line protocol: a line for each number of a source at each tick.
//!
//! `softnet,host=vm,cpu=0 processed=12.5 1795285320111000000`
//!
//! Numbers are those of the other views for programs: gauges as they are, counters as rates.  What
//! is missing has no line.

use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options};
use sample::{Meta, SourceDef};

use crate::fields::{Plan, Selection, Value, for_each_value, instance_parts};
use crate::{View, ViewEntry};

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "influx",
    about: "InfluxDB line protocol, a line for each number at each tick",
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
        self.plans = Selection::of(options, defs)?.plans(defs);
        self.host = meta.host().to_owned();
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        // The first tick is only a base for rates.
        if frame.seconds == 0.0 {
            return Ok(());
        }
        let (line, host) = (&mut self.line, &self.host);
        for_each_value(frame, &self.plans, |row, _, field, value| {
            let Value::Number(number) = value else { return Ok(()) };
            let def = &row.track.def;
            line.clear();
            write!(line, "{},host=", def.name)?;
            push_escaped(line, host);
            for (label, part) in def.instance.iter().zip(instance_parts(row.name())) {
                write!(line, ",{label}=")?;
                push_escaped(line, &part);
            }
            writeln!(line, " {}={number} {}", def.fields[field].name, frame.realtime_ns)?;
            out.write_all(line)
        })
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a tag's value: a comma, a blank, an equals sign and a backslash get a backslash in front.
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
    fn a_line_for_each_number() {
        let text = Feed::new(Options::default()).show(&mut Influx::default());
        assert!(text.starts_with("mem,host=vm free_kb=1024 11000000000\n"), "{text}");
        assert!(text.contains("disk,host=vm,disk=a busy=0.25 11000000000\n"), "{text}");
    }
}
