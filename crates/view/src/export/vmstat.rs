//! `vmstat`: a line for each tick, as vmstat(8) and collectl's `--vmstat` show it.
//!
//! Most values are metrics of `c` and `m`, found by their names in `lexpr`; running and blocked
//! tasks come from plot columns.  Active memory has neither name and comes from the field `active`.

use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::number::{Scale, pad_left, push_perl, push_scaled, push_whole};
use layout::{Frame, Layout, Of, Options, PlotColumn, Row};
use sample::{Meta, SourceDef, Track};

use super::{Destination, Echo, Export, ExportError, Setting, check_files};
use crate::brief::HEADER_REPEAT;
use crate::time::{LocalTime, column_name, has_column};
use crate::{Setup, View};

/// Clears the screen, for `--home`.
const CLEAR_SCREEN: &[u8] = b"\x1b[H\x1b[J";

struct Vmstat {
    zone: TimeZone,
    /// collectl repeats the header only while it samples.
    repeats: bool,
    ticks: i64,
    line: Vec<u8>,
}

pub(super) fn open(
    options: &[&str],
    setup: &Setup,
    setting: &Setting,
) -> Result<Export, ExportError> {
    if let Some(option) = options.first() {
        let text = format!("unknown option '{option}'; there are none");
        return Err(ExportError::Option { export: "vmstat", text });
    }
    check_files("vmstat", setting)?;
    let (zone, repeats) = (setup.zone.clone(), !setting.playing);
    let view = Box::new(Vmstat { zone, repeats, ticks: 0, line: Vec::new() });
    Ok(Export { view, destination: Destination::Output, echo: Echo::Nothing, delay_max_seconds: 0 })
}

impl View for Vmstat {
    fn begin(
        &mut self,
        _meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.ticks = 0;
        let has = |name: &str| {
            let layouts = defs.iter().flat_map(|def| options.layouts.of(def));
            layouts.flat_map(|layout| layout.metrics).any(|metric| metric.name == name)
        };
        if has("cputotals.idle") && has("meminfo.free") {
            return Ok(());
        }
        let text = "vmstat shows CPU and memory: it needs -scm, and a recording that has both";
        let text = ExportError::Option { export: "vmstat", text: text.into() };
        Err(io::Error::new(io::ErrorKind::InvalidInput, text))
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if frame.seconds == 0.0 {
            return Ok(());
        }
        self.ticks += 1;
        let options = frame.options;
        let line = &mut self.line;
        line.clear();
        let repeat = options.header_repeat.unwrap_or(HEADER_REPEAT);
        let again = self.repeats && repeat > 0 && self.ticks % repeat == 1;
        let due = options.home || self.ticks == 1 || again;
        if repeat == 1 || (repeat >= 0 && due) {
            push_header(line, options);
        }
        if has_column(options) {
            LocalTime::new(frame.realtime_ns, &self.zone).push_column(options, line);
        }
        push_values(line, frame);
        line.push(b'\n');
        out.write_all(line)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

fn push_header(line: &mut Vec<u8>, options: &Options) {
    if options.home {
        line.extend_from_slice(CLEAR_SCREEN);
    }
    let time = column_name(options);
    line.push(b'#');
    line.resize(line.len() + time.len(), b' ');
    line.extend_from_slice(
        b"procs ---------------memory (KB)--------------- --swaps-- -----io---- --system-- \
          ----cpu-----\n#",
    );
    line.extend_from_slice(time.as_bytes());
    line.extend_from_slice(
        b" r  b   swpd   free   buff  cache  inact active   si   so    bi    bo   in    cs us sy  \
          id wa\n",
    );
}

/// Each column's width, whether it is memory to scale, and its value; a blank precedes each.
type Column = (usize, bool, fn(&Frame<'_>) -> Option<f64>);

const COLUMNS: [Column; 18] = [
    (2, false, |frame| plotted(frame, "RunTot")),
    (2, false, |frame| plotted(frame, "BlkTot")),
    (6, true, |frame| metric(frame, "swapinfo.used")),
    (6, true, |frame| metric(frame, "meminfo.free")),
    (6, true, |frame| metric(frame, "meminfo.buf")),
    (6, true, |frame| metric(frame, "meminfo.cached")),
    (6, true, |frame| metric(frame, "meminfo.inactive")),
    (6, true, active),
    (4, false, |frame| metric(frame, "swapinfo.in")),
    (4, false, |frame| metric(frame, "swapinfo.out")),
    (5, false, |frame| metric(frame, "pageinfo.in")),
    (5, false, |frame| metric(frame, "pageinfo.out")),
    (4, false, |frame| metric(frame, "ctxint.int")),
    (5, false, |frame| metric(frame, "ctxint.ctx")),
    (2, false, |frame| metric(frame, "cputotals.usertot")),
    (2, false, |frame| metric(frame, "cputotals.systot")),
    (3, false, |frame| metric(frame, "cputotals.idle")),
    (2, false, |frame| metric(frame, "cputotals.wait")),
];

fn push_values(line: &mut Vec<u8>, frame: &Frame<'_>) {
    for (width, memory, value) in COLUMNS {
        line.push(b' ');
        let start = line.len();
        match value(frame) {
            Some(value) if memory => {
                let scale = Scale { width: 6, unit: 1, binary: true };
                push_scaled(line, value, scale, frame.options);
            }
            Some(value) => push_whole(line, value),
            None if frame.options.exact => push_perl(line, 0.0),
            None => line.push(b'-'),
        }
        pad_left(line, start, width);
    }
}

/// Each layout of each source, with the source's readings.
fn layouts<'a>(frame: &'a Frame<'_>) -> impl Iterator<Item = (&'a Track, &'static Layout)> {
    let of =
        |track: &'a Track| frame.options.layouts.of(&track.def).iter().map(move |l| (track, l));
    frame.tracks.iter().flat_map(of)
}

/// The value of a metric, by its name in `lexpr`.
fn metric(frame: &Frame<'_>, name: &str) -> Option<f64> {
    let mut columns =
        layouts(frame).flat_map(|(t, layout)| layout.metrics.iter().map(move |c| (t, c)));
    let (track, column) = columns.find(|(_, column)| column.name == name)?;
    value(&frame.whole(track), column)
}

/// The value of a plot column, by its heading.
fn plotted(frame: &Frame<'_>, name: &str) -> Option<f64> {
    let plots = layouts(frame).filter_map(|(track, layout)| Some((track, layout.plot.as_ref()?)));
    let mut columns = plots.flat_map(|(track, plot)| plot.columns.iter().map(move |c| (track, c)));
    let (track, column) = columns.find(|(_, column)| column.name == name)?;
    value(&frame.whole(track), column)
}

fn value(row: &Row<'_>, column: &PlotColumn) -> Option<f64> {
    match column.value {
        Of::Number(value) => value(row),
        Of::Text(_) | Of::Position | Of::Written(_) => None,
    }
}

/// Active memory.  collectl uses the last line of `/proc/meminfo` that begins with `Active`: file
/// pages, else anonymous pages.
fn active(frame: &Frame<'_>) -> Option<f64> {
    let has = |def: &SourceDef| def.field("active").is_some();
    let track = frame.tracks.iter().find(|track| has(&track.def))?;
    let row = frame.whole(track);
    let last = ["active_file", "active_anon"].map(|name| track.def.field(name)).into_iter();
    let last = last.flatten().find(|&field| row.raw(field).is_some());
    row.gauge(last.filter(|_| row.collectl_digits()).or_else(|| track.def.field("active"))?)
}
