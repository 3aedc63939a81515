//! collectl's brief mode: one line for each interval, a group of columns for each subsystem, and
//! with `--stats` totals and averages below.
//!
//! Writes text only; a line of all subsystems costs about 2 µs, and once warm no allocation.

use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Block, Frame, Options, Part as Asked, Row, Show};
use sample::{Cadence, Meta, SourceDef};

use crate::parts::{self, Part};
use crate::time::{self, LocalTime};
use crate::{HeadingLines, Setup, TableForm, View, ViewClass, ViewEntry};

mod statistics;

use statistics::Statistics;

/// Lines between headers without `--hr`: those of a terminal of 24 lines, less the header's own.
pub(crate) const HEADER_REPEAT: i64 = 22;
/// Moves the cursor home and clears all below.
pub(crate) const CLEAR_SCREEN: &[u8] = b"\x1b[H\x1b[J";

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "brief",
    about: "One line for each interval, as collectl shows by default",
    class: ViewClass::Lines,
    headings: HeadingLines::Comments,
    table: Some(TableForm::Text),
    open: |setup: &Setup| Box::new(Brief::new(setup.zone.clone())),
    ..ViewEntry::EMPTY
};

/// The view.
struct Brief {
    zone: TimeZone,
    parts: Vec<Part>,
    /// Whether each part is shown: those are not that a narrow terminal has no room for.
    shown: Vec<bool>,
    settings: Settings,
    /// Lines written since the last restart.
    lines: i64,
    header_written: bool,
    statistics: Statistics,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

/// The options that are needed without a frame.
#[derive(Default)]
struct Settings {
    stats: bool,
    statopts: String,
    header_repeat: i64,
    home: bool,
    interval_seconds: f64,
}

impl Brief {
    fn new(zone: TimeZone) -> Self {
        Brief {
            zone,
            parts: Vec::new(),
            shown: Vec::new(),
            settings: Settings::default(),
            lines: 0,
            header_written: false,
            statistics: Statistics::default(),
            buffer: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Whether this line gets a header before it.
    fn wants_header(&self) -> bool {
        match self.settings.header_repeat {
            _ if self.settings.home => true,
            1 => true,
            0 => !self.header_written,
            repeat => repeat > 0 && self.lines % repeat == 1,
        }
    }

    /// Chooses the parts that fit into a line of the terminal, from left to right.
    fn fit(&mut self, frame: &Frame<'_>) {
        let columns = frame.options.terminal_columns.filter(|_| frame.options.whole_sections);
        let Some(columns) = columns.filter(|_| !frame.options.stats) else { return };
        let mut left = columns.saturating_sub(1 + time::column_name(frame.options).len());
        let room = left;
        let mut text = std::mem::take(&mut self.scratch);
        for at in 0..self.parts.len() {
            let mut widest = 0;
            for line in [Some(Asked::Title), Some(Asked::Heading), None] {
                text.clear();
                match line {
                    Some(asked) => push_part_heading(&mut text, &self.parts[at], frame, asked),
                    None => push_part_body(&mut text, &self.parts[at], frame),
                }
                widest = widest.max(String::from_utf8_lossy(&text).chars().count());
            }
            // The blank behind the last column may be beyond the edge.
            self.shown[at] = widest <= left + 1;
            if self.shown[at] {
                left = left.saturating_sub(widest);
            }
        }
        self.scratch = text;
        // With room for none the first one is cut: better than nothing.
        if let Some(first) = self.shown.first_mut().filter(|_| left == room) {
            *first = true;
        }
    }

    /// `+network: widen, or -s n`: what a narrow terminal leaves out.
    fn push_left_out(&mut self) {
        let hidden = || self.parts.iter().zip(&self.shown).filter(|(_, is_shown)| !**is_shown);
        if hidden().next().is_none() {
            return;
        }
        self.buffer.push(b'#');
        for (part, _) in hidden() {
            self.buffer.extend_from_slice(b" +");
            layout::text::escape_into(&mut self.buffer, part.def.name.as_bytes());
        }
        self.buffer.extend_from_slice(b": widen, or -s ");
        let letters = hidden().filter_map(|(part, _)| part.letter());
        self.buffer.extend(letters.collect::<String>().into_bytes());
        self.buffer.push(b'\n');
    }

    /// The parts that are shown.
    fn shown_parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().zip(&self.shown).filter_map(|(part, is_shown)| is_shown.then_some(part))
    }

    fn push_header(&mut self, frame: &Frame<'_>) {
        let options = frame.options;
        if options.home {
            self.buffer.extend_from_slice(CLEAR_SCREEN);
        }
        self.push_left_out();
        let out = &mut self.buffer;
        for (part, block) in blocks(&self.parts, options) {
            let start = out.len();
            out.push(b'#');
            if let Show::Custom(write)
            | Show::Stacked(write)
            | Show::Headed(write, _)
            | Show::Repeated(write, ..) = block.show
                && part.track(frame).is_some()
            {
                write(frame, Asked::Notice, out);
            }
            if out.len() == start + 1 { out.truncate(start) } else { out.push(b'\n') }
        }
        let name = time::column_name(options);
        out.push(b'#');
        out.resize(out.len() + name.len(), b' ');
        self.push_heading(frame, Asked::Title);
        self.buffer.extend_from_slice(b"\n#");
        self.buffer.extend_from_slice(name.as_bytes());
        self.push_heading(frame, Asked::Heading);
        self.buffer.push(b'\n');
        self.header_written = true;
    }

    /// One of the two heading lines.
    fn push_heading(&mut self, frame: &Frame<'_>, asked: Asked) {
        let mut out = std::mem::take(&mut self.buffer);
        self.shown_parts().for_each(|part| push_part_heading(&mut out, part, frame, asked));
        self.buffer = out;
    }

    fn push_body(&mut self, frame: &Frame<'_>) {
        let mut out = std::mem::take(&mut self.buffer);
        self.shown_parts().for_each(|part| push_part_body(&mut out, part, frame));
        out.push(b'\n');
        self.buffer = out;
    }

    /// Whether an option of a source leaves this interval out.
    fn is_left_out(&self, frame: &Frame<'_>) -> bool {
        self.parts
            .iter()
            .any(|part| part.track(frame).is_some_and(|track| !part.keeps(&frame.whole(track))))
    }

    fn write_statistics(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.settings.stats && self.statistics.intervals() > 0 {
            self.buffer.clear();
            self.statistics.push(
                &mut self.buffer,
                self.settings.statopts.contains('a'),
                self.settings.interval_seconds,
            );
            self.statistics.clear();
            out.write_all(&self.buffer)?;
        }
        Ok(())
    }
}

/// The blocks that these options select, with their parts.
fn blocks<'a>(
    parts: &'a [Part],
    options: &'a Options,
) -> impl Iterator<Item = (&'a Part, &'static Block)> {
    let shown = move |block: &&'static Block| (block.when)(options);
    parts.iter().flat_map(move |part| {
        let blocks = part.layout.map_or(&[][..], |layout| layout.brief);
        blocks.iter().filter(shown).map(move |block| (part, block))
    })
}

/// What a part has in one of the two heading lines.
fn push_part_heading(out: &mut Vec<u8>, part: &Part, frame: &Frame<'_>, asked: Asked) {
    let Some(layout) = part.layout else {
        return match asked {
            Asked::Title => parts::push_derived_brief_title(out, &part.def),
            _ => parts::push_derived_brief_heading(out, &part.def),
        };
    };
    for block in layout.brief.iter().filter(|block| (block.when)(frame.options)) {
        match block.show {
            Show::Custom(write) | Show::Stacked(write) | Show::Repeated(write, ..) => {
                write(frame, asked, out);
            }
            Show::Headed(write, _) => {
                let mut text = Vec::new();
                write(frame, asked, &mut text);
                // Brief mode has one heading line; the functions end each with a newline.
                let text = text.strip_suffix(b"\n").unwrap_or(&text);
                parts::push_words(out, text, frame.meta, frame.options);
            }
            Show::Cells(_) if asked == Asked::Title => {
                parts::push_words(out, block.title.as_bytes(), frame.meta, frame.options);
            }
            Show::Cells(_) => {
                for heading in block.headings {
                    parts::push_words(out, heading.as_bytes(), frame.meta, frame.options);
                }
            }
        }
    }
}

/// What a part has in the line of an interval.
fn push_part_body(out: &mut Vec<u8>, part: &Part, frame: &Frame<'_>) {
    // A source that was not read at this tick has no values for it.  One with a longer interval shows
    // its latest reading until the next one.
    let is_slow = part.def.cadence != Cadence::First;
    let track = part.track(frame).filter(|track| track.fresh || is_slow);
    let row = track.map(|track| frame.whole(track));
    let Some(layout) = part.layout else {
        return parts::push_derived_brief(out, row.as_ref(), part, frame.options);
    };
    for block in layout.brief.iter().filter(|block| (block.when)(frame.options)) {
        push_block(out, block, frame, row.as_ref());
    }
}

fn push_block(out: &mut Vec<u8>, block: &Block, frame: &Frame<'_>, row: Option<&Row<'_>>) {
    match block.show {
        Show::Custom(write) | Show::Stacked(write) | Show::Repeated(write, ..) => {
            write(frame, Asked::Body, out);
        }
        Show::Cells(cells) | Show::Headed(_, cells) => {
            for cell in cells {
                match row {
                    Some(row) => cell.write(row, 0, out),
                    None => cell.write_number(None, frame.options, out),
                }
            }
            if !cells.is_empty() {
                out.push(b' ');
            }
        }
    }
}

impl View for Brief {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.write_statistics(out)?;
        self.parts = parts::select(|position| position.brief, defs, options)
            .into_iter()
            .filter(|part| {
                !part.is_detail() || part.layout.is_some_and(|layout| !layout.brief.is_empty())
            })
            .collect();
        self.shown = vec![true; self.parts.len()];
        let only_totals = options.stats && !options.statopts.to_ascii_lowercase().contains('i');
        self.settings = Settings {
            stats: options.stats,
            statopts: options.statopts.clone(),
            header_repeat: if only_totals {
                0
            } else {
                options.header_repeat.unwrap_or(HEADER_REPEAT)
            },
            home: options.home,
            interval_seconds: meta.interval_ns() as f64 / 1e9,
        };
        self.lines = 0;
        self.header_written = false;
        Ok(())
    }

    fn next_recording(&mut self, out: &mut dyn Write) -> io::Result<()> {
        // `--statopts s`: totals for each recording.
        if self.settings.statopts.contains('s') { self.write_statistics(out) } else { Ok(()) }
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if frame.seconds == 0.0 || parts::is_between_ticks(self.parts.iter(), frame) {
            return Ok(());
        }
        self.lines += 1;
        self.buffer.clear();
        let wants_header = self.wants_header();
        if wants_header || self.lines == 1 {
            self.fit(frame);
        }
        if wants_header {
            self.push_header(frame);
        }
        let options = frame.options;
        let shows_intervals = !options.stats || options.statopts.to_ascii_lowercase().contains('i');
        let local = LocalTime::new(frame.realtime_ns, &self.zone);
        if options.stats {
            self.statistics.add(frame, &self.parts, local);
        }
        if shows_intervals {
            if self.is_left_out(frame) {
                self.lines -= 1;
                return Ok(());
            }
            local.push_column(options, &mut self.buffer);
            self.buffer.push(b' ');
            self.push_body(frame);
        }
        parts::cut_lines(&mut self.buffer, options);
        out.write_all(&self.buffer)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.write_statistics(out)
    }
}
