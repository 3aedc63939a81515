//! collectl's verbose mode: for each interval a block with headings for each subsystem, summaries
//! and details in one fixed order.
//!
//! With a single subsystem the columns stay the same, so lines follow each other under one heading
//! and can have a time column; otherwise each interval begins with a record line that has the time.

use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::number::{pad_left, push_u64};
use layout::{Block, Cell, Frame, Layout, Options, Part as Asked, Row, Show};
use sample::{Cadence, Level, Meta, SourceDef, State, Track};

use crate::brief::{CLEAR_SCREEN, HEADER_REPEAT};
use crate::parts::{self, Part};
use crate::screen::{CLEAR_BELOW, CURSOR_HOME};
use crate::time::{self, LocalTime};
use crate::{HeadingLines, Setup, View, ViewClass, ViewEntry};

mod top;

pub use top::TopList;

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "verbose",
    about: "A block with headings for each subsystem in each interval",
    class: ViewClass::Blocks,
    headings: HeadingLines::Comments,
    open: |setup: &Setup| Box::new(Verbose::new(setup.zone.clone(), !setup.playing)),
    ..ViewEntry::EMPTY
};

/// The view.
struct Verbose {
    zone: TimeZone,
    parts: Vec<Part>,
    headers: Headers,
    /// The blocks of a layout that the options select; kept to reuse its memory.
    shown: Vec<&'static Block>,
    body: Body,
    /// Escape sequence before an interval under `--home`: the first clears the screen, later ones
    /// move the cursor home to overwrite it.
    clear: &'static [u8],
    /// Whether the caller writes the record lines.
    is_part: bool,
    /// Whether the samples are taken now, and not those of a recording.
    is_live: bool,
}

/// The text of an interval, and reused buffers to make it.
#[derive(Default)]
struct Body {
    buffer: Vec<u8>,
    column: Vec<u8>,
    scratch: Vec<u8>,
    heading_lines: Vec<Vec<u8>>,
    order: Vec<usize>,
    record_written: bool,
}

/// Decides when headings and record lines are due.
#[derive(Default)]
struct Headers {
    /// Whether all lines have the same columns, so that they need no record lines between them.
    same_columns: bool,
    /// Whether instances come and go, as processes do: without a filter they get headings at every
    /// interval.
    comes_and_goes: bool,
    is_filtered: bool,
    /// Whether every interval has headings, whatever is shown.
    always: bool,
    is_live: bool,
    home: bool,
    repeat: i64,
    /// Intervals shown since the last restart.
    intervals: i64,
    /// For each cadence, the intervals in which its sources were read.
    of_cadence: [i64; 3],
    /// For each cadence, whether its sources were read in this interval.
    due: [bool; 3],
    /// Record lines written since the last restart.
    records: u64,
}

impl Headers {
    fn new(options: &Options, parts: &[Part]) -> Self {
        let layouts = || parts.iter().filter_map(|part| part.layout);
        let filters = layouts().filter_map(|layout| layout.headings_each_time);
        let is_filtered = filters.clone().any(|is_filtered| is_filtered(options));
        let several = layouts().any(|layout| (layout.has_several_tables)(options));
        Headers {
            same_columns: is_one_table(options, parts) && !several,
            comes_and_goes: filters.clone().next().is_some(),
            is_filtered,
            home: options.home,
            repeat: options.header_repeat.unwrap_or(HEADER_REPEAT),
            ..Headers::default()
        }
    }

    fn begin_interval(&mut self, frame: &Frame<'_>, parts: &[Part]) {
        self.intervals += 1;
        self.due = [false; 3];
        for part in parts {
            if part.track(frame).is_some_and(|track| track.fresh) {
                self.due[cadence_index(part.def.cadence)] = true;
            }
        }
        for (count, due) in self.of_cadence.iter_mut().zip(self.due) {
            *count += i64::from(due);
        }
    }

    /// Whether blocks of this interval get headings.
    fn wants_headings(&self) -> bool {
        let repeats = |count: i64| self.repeat > 0 && count % self.repeat == 1;
        let repeats_any = self.of_cadence.iter().zip(self.due).any(|(&n, due)| due && repeats(n));
        self.always
            || (self.comes_and_goes && !self.is_filtered)
            || self.repeat == 1
            || (self.repeat > -1 && (!self.same_columns || self.intervals == 1 || self.home))
            || repeats_any
    }

    /// Whether the interval gets a record line.
    fn wants_record(&self, options: &Options) -> bool {
        let filtered = self.is_filtered && options.subsystems.len() == 1;
        options.full || ((!self.same_columns || self.comes_and_goes || self.home) && !filtered)
    }

    /// Whether lines have a time column: of a recording, as in collectl, only if they all have the
    /// same columns.
    fn shows_time(&self) -> bool {
        self.same_columns || self.is_live
    }

    /// The heading of the time column, if lines have one.
    fn column_name(&self, options: &Options) -> &'static str {
        if self.shows_time() { time::column_name(options) } else { "" }
    }
}

/// Whether the selection is one table: one letter or name, or several sources of which one shows
/// the others in its own table.
fn is_one_table(options: &Options, parts: &[Part]) -> bool {
    let asked = &options.subsystems;
    if options.asked_beside {
        return false;
    }
    if asked.len() == 1 {
        return true;
    }
    let is_shown = |letter| parts.iter().any(|part| part.letter() == Some(letter));
    let table = |part: &Part| match part.layout.and_then(|layout| layout.shares_table_with) {
        Some(source) => (source.into(), Level::Detail),
        None => (part.def.name.clone(), part.level),
    };
    let mut tables = parts.iter().map(table);
    let first = tables.next();
    first.is_some()
        && asked.names().next().is_none()
        && asked.letters().chars().all(is_shown)
        && tables.all(|table| Some(table) == first)
}

fn cadence_index(cadence: Cadence) -> usize {
    match cadence {
        Cadence::First => 0,
        Cadence::Second => 1,
        Cadence::Third => 2,
    }
}

impl Verbose {
    fn new(zone: TimeZone, is_live: bool) -> Self {
        Verbose {
            zone,
            parts: Vec::new(),
            headers: Headers::default(),
            shown: Vec::new(),
            body: Body::default(),
            clear: CLEAR_SCREEN,
            is_part: false,
            is_live,
        }
    }

    /// The blocks of one layout; blocks side by side are written together.
    fn push_layout(
        &mut self,
        part: &Part,
        layout: &'static Layout,
        track: &Track,
        frame: &Frame<'_>,
        local: LocalTime,
    ) {
        let mut shown = std::mem::take(&mut self.shown);
        shown.clear();
        shown.extend(layout.verbose.iter().filter(|block| (block.when)(frame.options)));
        let mut rest = shown.as_slice();
        while !rest.is_empty() {
            let width = 1 + rest[1..].iter().take_while(|block| continues(block)).count();
            let (group, after) = rest.split_at(width);
            rest = after;
            let headed = self.push_headings(frame, local, |body, name| {
                body.push_title(group[0], frame);
                body.push_group_headings(group, frame, name);
            });
            if let Show::Stacked(write) = group[0].show {
                let name = self.headers.column_name(frame.options);
                self.body.push_stacked(write, frame, headed.then_some(name));
            } else {
                self.body.push_group(part, group, track, frame);
            }
        }
        self.shown = shown;
    }

    fn push_derived(&mut self, part: &Part, track: &Track, frame: &Frame<'_>, local: LocalTime) {
        self.push_headings(frame, local, |body, name| {
            body.heading_lines.clear();
            let mut title = format!(
                "{} {}",
                part.def.name,
                if part.is_detail() { "detail" } else { "summary" }
            );
            title.make_ascii_uppercase();
            body.buffer.extend_from_slice(b"# ");
            body.buffer.extend_from_slice(title.as_bytes());
            body.buffer.extend_from_slice(b"\n#");
            body.buffer.extend_from_slice(name.as_bytes());
            body.buffer.push(b' ');
            parts::push_derived_verbose_heading(&mut body.buffer, part);
            body.buffer.push(b'\n');
        });
        let whole = frame.whole(track);
        if part.is_detail() {
            for row in whole.rows() {
                self.body.begin_line();
                parts::push_derived_verbose(&mut self.body.buffer, &row, part);
                self.body.buffer.push(b'\n');
            }
        } else {
            self.body.begin_line();
            parts::push_derived_verbose(&mut self.body.buffer, &whole, part);
            self.body.buffer.push(b'\n');
        }
    }

    /// Writes the record line and the block's headings, if they are due; true if headings were due.
    fn push_headings(
        &mut self,
        frame: &Frame<'_>,
        local: LocalTime,
        write: impl FnOnce(&mut Body, &str),
    ) -> bool {
        self.push_record(frame, local);
        let due = self.headers.wants_headings();
        if due {
            if !frame.options.home {
                self.body.buffer.push(b'\n');
            }
            write(&mut self.body, self.headers.column_name(frame.options));
        }
        due
    }

    /// `### RECORD    1 >>> host <<< (seconds) (date) ###`, once an interval.
    fn push_record(&mut self, frame: &Frame<'_>, local: LocalTime) {
        if self.is_part || self.body.record_written || !self.headers.wants_record(frame.options) {
            return;
        }
        self.body.record_written = true;
        self.headers.records += 1;
        let begins = if frame.options.home { self.clear } else { b"\n" };
        self.body.buffer.extend_from_slice(begins);
        let due = if frame.options.full { Some(&self.parts[..]) } else { None };
        push_record_line(&mut self.body.buffer, self.headers.records, frame, local, due);
    }
}

/// Writes the record line; `due` are the parts whose letters it names.
fn push_record_line(
    out: &mut Vec<u8>,
    number: u64,
    frame: &Frame<'_>,
    local: LocalTime,
    due: Option<&[Part]>,
) {
    out.extend_from_slice(b"### RECORD ");
    let start = out.len();
    push_u64(out, number);
    pad_left(out, start, 4);
    out.extend_from_slice(b" >>> ");
    let host = frame.meta.host().to_ascii_lowercase();
    layout::text::escape_into(out, host.as_bytes());
    out.extend_from_slice(b" <<< (");
    local.push_seconds(out);
    if let Some(parts) = due {
        out.push(b':');
        push_due_letters(out, frame, parts);
    }
    out.extend_from_slice(b") (");
    local.push_long(frame.options, out);
    out.extend_from_slice(b") ###\n");
}

/// The selected letters, without those whose sources were not read in this interval.
fn push_due_letters(out: &mut Vec<u8>, frame: &Frame<'_>, parts: &[Part]) {
    let asked = &frame.options.subsystems;
    let is_due = |part: &Part| part.track(frame).is_some_and(|track| track.fresh);
    for letter in asked.letters().chars() {
        let mut served = parts.iter().filter(|part| part.letter() == Some(letter)).peekable();
        if served.peek().is_none() || served.any(is_due) {
            out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    for name in asked.names() {
        let served = |part: &&Part| name.eq_ignore_ascii_case(&part.def.name);
        if parts.iter().filter(served).any(is_due) {
            out.push(b',');
            out.extend_from_slice(name.as_bytes());
        }
    }
}

/// Whether a block is to the right of the one before it.
fn continues(block: &Block) -> bool {
    block.title.is_empty() && matches!(block.show, Show::Cells(_))
}

impl Body {
    fn begin_line(&mut self) {
        self.buffer.extend_from_slice(&self.column);
    }

    /// The heading lines of blocks side by side, after `name`, the time column's heading.
    fn push_group_headings(&mut self, group: &[&'static Block], frame: &Frame<'_>, name: &str) {
        self.heading_lines.iter_mut().for_each(Vec::clear);
        let mut lines_used = 0;
        for block in group {
            self.scratch.clear();
            match block.show {
                Show::Custom(write) | Show::Headed(write, _) | Show::Repeated(write, ..) => {
                    write(frame, Asked::Heading, &mut self.scratch);
                }
                Show::Stacked(_) => return,
                Show::Cells(_) => {
                    for heading in block.headings {
                        self.scratch.extend_from_slice(heading.as_bytes());
                        self.scratch.push(b'\n');
                    }
                }
            }
            let text = self.scratch.strip_suffix(b"\n").unwrap_or(&self.scratch);
            for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
                if self.heading_lines.len() == at {
                    self.heading_lines.push(Vec::new());
                }
                lines_used = lines_used.max(at + 1);
                parts::push_words(&mut self.heading_lines[at], line, frame.meta, frame.options);
            }
        }
        for (at, line) in self.heading_lines[..lines_used].iter().enumerate() {
            let line = line.strip_prefix(b"$time").unwrap_or(line);
            let (line, blank) = match line.strip_prefix(b"$blank") {
                Some(line) => (line, true),
                None => (line, at + 1 < lines_used),
            };
            self.buffer.push(b'#');
            if blank {
                self.buffer.resize(self.buffer.len() + name.len(), b' ');
            } else {
                self.buffer.extend_from_slice(name.as_bytes());
            }
            self.buffer.extend_from_slice(line);
            self.buffer.push(b'\n');
        }
    }

    fn push_title(&mut self, block: &Block, frame: &Frame<'_>) {
        self.buffer.extend_from_slice(b"# ");
        if let Show::Custom(write)
        | Show::Stacked(write)
        | Show::Headed(write, _)
        | Show::Repeated(write, ..) = block.show
        {
            self.scratch.clear();
            write(frame, Asked::Title, &mut self.scratch);
            parts::push_words(&mut self.buffer, &self.scratch, frame.meta, frame.options);
        } else {
            let title = block.title.as_bytes();
            parts::push_words(&mut self.buffer, title, frame.meta, frame.options);
        }
        self.buffer.push(b'\n');
    }

    /// Tables of one line, one below the other; headings only with a `name` for the time column.
    fn push_stacked(
        &mut self,
        write: fn(&Frame<'_>, Asked, &mut Vec<u8>),
        frame: &Frame<'_>,
        name: Option<&str>,
    ) {
        self.scratch.clear();
        write(frame, Asked::Heading, &mut self.scratch);
        let lines_start = self.scratch.len();
        write(frame, Asked::Body, &mut self.scratch);
        let (headings, lines) = self.scratch.split_at(lines_start);
        let headings = headings.split_inclusive(|&byte| byte == b'\n');
        for (heading, line) in headings.zip(lines.split_inclusive(|&byte| byte == b'\n')) {
            if let Some(name) = name {
                self.buffer.push(b'#');
                self.buffer.extend_from_slice(name.as_bytes());
                parts::push_words(&mut self.buffer, heading, frame.meta, frame.options);
            }
            self.buffer.extend_from_slice(&self.column);
            self.buffer.extend_from_slice(line);
        }
    }

    /// The lines of blocks side by side: one for a summary, one for each instance of a detail.
    fn push_group(
        &mut self,
        part: &Part,
        group: &[&'static Block],
        track: &Track,
        frame: &Frame<'_>,
    ) {
        if let Show::Custom(write) | Show::Repeated(write, ..) = group[0].show {
            self.scratch.clear();
            write(frame, Asked::Body, &mut self.scratch);
            for line in self.scratch.split_inclusive(|&byte| byte == b'\n') {
                self.buffer.extend_from_slice(&self.column);
                self.buffer.extend_from_slice(line);
            }
            return;
        }
        let whole = frame.whole(track);
        if !part.is_detail() {
            self.push_row(group, &whole, 0);
            return;
        }
        self.order.clear();
        self.order.extend(0..track.current.table.rows());
        let row_at = |index| Row { index, ..whole };
        if let Some(order) = part.layout.and_then(|layout| layout.order) {
            self.order.sort_by(|&left, &right| order(&row_at(left), &row_at(right)));
        }
        let mut position = 0;
        for at in 0..self.order.len() {
            let row = row_at(self.order[at]);
            if part.keeps(&row) {
                self.push_row(group, &row, position);
                position += 1;
            }
        }
    }

    fn push_row(&mut self, group: &[&'static Block], row: &Row<'_>, position: usize) {
        self.begin_line();
        for block in group {
            if let Show::Cells(cells) | Show::Headed(_, cells) = block.show {
                push_cells(&mut self.buffer, cells, row, position);
            }
        }
        self.buffer.push(b'\n');
    }
}

fn push_cells(out: &mut Vec<u8>, cells: &[Cell], row: &Row<'_>, position: usize) {
    for cell in cells {
        cell.write(row, position, out);
    }
}

impl View for Verbose {
    fn begin(
        &mut self,
        _meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        _out: &mut dyn Write,
    ) -> io::Result<()> {
        self.parts = parts::select(|position| position.verbose, defs, options);
        self.headers = Headers::new(options, &self.parts);
        self.headers.always |= self.is_part;
        self.headers.is_live = self.is_live;
        Ok(())
    }

    fn next_recording(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        self.headers.of_cadence = [0; 3];
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if frame.seconds == 0.0 {
            return Ok(());
        }
        self.headers.begin_interval(frame, &self.parts);
        let local = LocalTime::new(frame.realtime_ns, &self.zone);
        let body = &mut self.body;
        body.record_written = false;
        body.buffer.clear();
        body.column.clear();
        if self.headers.shows_time() {
            local.push_column(frame.options, &mut body.column);
        }
        if frame.options.home {
            body.buffer.extend_from_slice(self.clear);
        }
        for at in 0..self.parts.len() {
            let part = &self.parts[at].clone();
            let is_shown = |track: &&Track| track.fresh || part.is_zero_in_collectl(track, frame);
            let Some(track) = part.track(frame).filter(is_shown) else { continue };
            // Headings without lines would suggest that the source exists.
            let table = &track.current.table;
            let is_absent = track.current.state == State::Absent && table.rows() == 0;
            if part.is_too_early(track) || part.is_detail() && is_absent && !frame.options.exact {
                continue;
            }
            if !part.is_detail() && !part.keeps(&frame.whole(track)) {
                // A left-out interval does not count towards the next headings.
                if self.parts.len() == 1 {
                    self.headers.of_cadence[cadence_index(part.def.cadence)] -= 1;
                }
                continue;
            }
            match part.layout {
                Some(layout) => self.push_layout(part, layout, track, frame, local),
                None => self.push_derived(part, track, frame, local),
            }
        }
        if frame.options.home {
            self.body.buffer.extend_from_slice(CLEAR_BELOW);
            self.clear = CURSOR_HOME;
        }
        parts::cut_lines(&mut self.body.buffer, frame.options);
        out.write_all(&self.body.buffer)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
