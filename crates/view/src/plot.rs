//! collectl's plot format: one line of plain numbers for each interval, made for programs.
//!
//! On a terminal one line has all columns; `-oi` writes the comment lines of plot files above.  In
//! files, all summaries share the extension `.tab` and each detail subsystem has its own (`.cpu`,
//! `.dsk`); `cli` opens and compresses the files, this module passes it the text.  A cell costs 20
//! to 60 ns and no allocation.
//!
//! A line's columns are those of its heading.  A vanished instance leaves its cells empty; a new
//! one gets columns at the end, below a new heading.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::sync::Arc;

use jiff::tz::TimeZone;
use layout::{Frame, Options, PlotColumn, Row, Shape};
use sample::{Field, Meta, SourceDef, State, Track};

use crate::parts::{self, Part};
use crate::time::{self, LocalTime};
use crate::{HeadingLines, Setup, View, ViewClass, ViewEntry};

mod files;

pub use files::{PlotFiles, WritePlot};

pub(crate) static ENTRY: ViewEntry = ViewEntry {
    name: "plot",
    about: "Plain numbers in columns, one line for each interval",
    class: ViewClass::Columns,
    headings: HeadingLines::Comments,
    takes_utc: true,
    open: |setup: &Setup| {
        let formatter = LineFormatter::new(setup.zone.clone());
        Box::new(Plot { formatter, setup: setup.clone(), out: Vec::new() })
    },
    ..ViewEntry::EMPTY
};

/// The view for a terminal or a pipe.
struct Plot {
    formatter: LineFormatter,
    setup: Setup,
    out: Vec<u8>,
}

impl View for Plot {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.formatter.begin(defs, options);
        if !options.has('i') {
            return Ok(());
        }
        let Setup { zone, command_line, playing } = &self.setup;
        out.write_all(&files::preamble(meta, options, command_line, zone, *playing))
    }

    fn next_recording(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        self.formatter.restart();
        Ok(())
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.out.clear();
        if !self.formatter.add_frame(frame) {
            return Ok(());
        }
        self.formatter.push_rows(frame, &mut self.out);
        if self.formatter.has_only_rows(frame) || self.formatter.has_nothing_read(frame) {
            // An interval without a line does not count towards the next heading.
            self.formatter.intervals -= 1;
            return out.write_all(&self.out);
        }
        if self.formatter.wants_heading {
            self.formatter.push_heading_start(frame.options, &mut self.out);
            for columns in self.formatter.groups.iter().flat_map(|group| &group.columns) {
                self.out.extend_from_slice(&columns.heading);
            }
            self.out.push(b'\n');
        }
        if self.formatter.left_out {
            return out.write_all(&self.out);
        }
        let start = self.out.len();
        self.out.extend_from_slice(&self.formatter.time);
        let empty = self.out.len();
        for at in 0..self.formatter.groups.len() {
            self.formatter.push_group(self.formatter.cell_order[at], frame, &mut self.out);
        }
        if self.out.len() == empty {
            self.out.truncate(start);
        } else {
            self.out.push(b'\n');
        }
        out.write_all(&self.out)
    }

    fn end(&mut self, _out: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Formats the lines, for a terminal and for files.
struct LineFormatter {
    zone: TimeZone,
    separator: Vec<u8>,
    groups: Vec<Group>,
    /// The groups in the order of their cells.
    cell_order: Vec<usize>,
    /// The options without those that leave out idle instances: columns must stay.
    steady: Options,
    header_repeat: i64,
    intervals: i64,
    /// Whether this interval gets a heading.
    wants_heading: bool,
    /// Whether every file gets a heading, not only those with new instances.
    wants_all_headings: bool,
    /// The time columns of this interval.
    time: Vec<u8>,
    /// Whether the line of this interval is left out.
    left_out: bool,
}

/// The subsystems that share a file.
struct Group {
    extension: Cow<'static, str>,
    columns: Vec<Columns>,
    /// Whether an instance got columns at this interval.
    has_new: bool,
}

/// The columns of one letter.
struct Columns {
    part: Part,
    shape: Shape,
    instances: Vec<Instance>,
    /// The names of the instances, for fast look-up: a large machine has 150,000 instances of interrupts.
    known: HashSet<Vec<u8>>,
    /// The names of their columns, each after a separator.
    heading: Vec<u8>,
    /// Rows of the table at the latest check; with the same rows, no instance is new.
    rows_seen: usize,
    /// For [`Shape::Lines`]: whether the heading was written, and the order of instances.
    is_headed: bool,
    order: Vec<usize>,
}

/// The columns of one instance, or of a summary.
struct Instance {
    name: Vec<u8>,
    /// The row of the instance in the table at the latest tick.
    index: usize,
    columns: Vec<Column>,
}

#[derive(Clone)]
enum Column {
    Given(&'static PlotColumn),
    /// Derived from a field of a source without a layout.
    Derived(usize, Field),
}

impl LineFormatter {
    fn new(zone: TimeZone) -> Self {
        LineFormatter {
            zone,
            separator: vec![b' '],
            groups: Vec::new(),
            cell_order: Vec::new(),
            steady: Options::default(),
            header_repeat: 0,
            intervals: 0,
            wants_heading: false,
            wants_all_headings: false,
            time: Vec::new(),
            left_out: false,
        }
    }

    fn begin(&mut self, defs: &[Arc<SourceDef>], options: &Options) {
        self.separator = match options.separator.as_str() {
            "" => vec![b' '],
            separator => separator.as_bytes().to_vec(),
        };
        self.groups.clear();
        let (details, summaries): (Vec<Part>, Vec<Part>) =
            parts::select(|position| position.plot, defs, options)
                .into_iter()
                .partition(Part::is_detail);
        for part in summaries.into_iter().chain(details) {
            self.add(part, options);
        }
        self.cell_order = (0..self.groups.len()).collect();
        if options.exact {
            self.order_cells_as_collectl();
        }
        self.steady = steady(options);
        self.header_repeat = options.header_repeat.unwrap_or(0);
        self.intervals = 0;
    }

    /// collectl writes some cells in another order than their headings.
    fn order_cells_as_collectl(&mut self) {
        let position = |columns: &Columns| {
            let layout = columns.part.layout?;
            layout.plot.as_ref()?.exact_cells.or(Some(layout.position.plot))
        };
        let groups = &self.groups;
        let of = |at: &usize| groups[*at].columns.iter().filter_map(position).min();
        // Summaries share a group, which stays before the details.
        let details = self.cell_order.iter().position(|&at| groups[at].extension != "tab");
        let details = details.unwrap_or(self.cell_order.len());
        self.cell_order[details..].sort_by_key(|at| of(at).unwrap_or(u16::MAX));
    }

    fn add(&mut self, part: Part, options: &Options) {
        if part.layout.is_some_and(|layout| layout.exceptions.is_some()) && options.has('x') {
            return;
        }
        let (extension, shape) = match part.layout.map(|layout| &layout.plot) {
            Some(Some(plot)) => (Cow::Borrowed(plot.extension), plot.shape),
            Some(None) => return,
            None if part.is_detail() => (part.def.name.clone(), Shape::Columns),
            None => (Cow::Borrowed("tab"), Shape::Columns),
        };
        let columns = Columns {
            part,
            shape,
            instances: Vec::new(),
            known: HashSet::new(),
            heading: Vec::new(),
            rows_seen: 0,
            is_headed: false,
            order: Vec::new(),
        };
        match self.groups.iter_mut().find(|group| group.extension == extension) {
            Some(group) => group.columns.push(columns),
            None => self.groups.push(Group { extension, columns: vec![columns], has_new: false }),
        }
    }

    /// Adds a frame; false if no line is due.
    fn add_frame(&mut self, frame: &Frame<'_>) -> bool {
        let columns = self.groups.iter().flat_map(|group| &group.columns);
        let mut parts = columns.map(|columns| &columns.part);
        if frame.seconds == 0.0 || parts::is_between_ticks(&mut parts, frame) {
            return false;
        }
        self.intervals += 1;
        self.left_out = self.is_left_out(frame);
        let first = self.intervals == 1;
        let repeated = self.header_repeat > 0
            && (self.header_repeat == 1 || self.intervals % self.header_repeat == 1);
        let steady = Frame { options: &self.steady, ..*frame };
        let mut has_new = false;
        for group in &mut self.groups {
            group.has_new = false;
            for columns in &mut group.columns {
                group.has_new |= columns.add_new_instances(&steady, &self.separator, first);
            }
            has_new |= group.has_new;
        }
        // A file needs a new heading for its own columns only.
        self.wants_all_headings = (first && self.header_repeat == 0) || repeated;
        let has_new = has_new && !first && !frame.options.exact && self.header_repeat >= 0;
        self.wants_heading = (first && self.header_repeat == 0) || repeated || has_new;
        self.time.clear();
        let local = LocalTime::new(frame.realtime_ns, &self.zone);
        local.push_plot(frame.options, &self.separator, &mut self.time);
        true
    }

    /// Removes all columns; the next interval adds them again, with a heading.
    fn restart(&mut self) {
        self.intervals = 0;
        for columns in self.groups.iter_mut().flat_map(|group| &mut group.columns) {
            columns.instances.clear();
            columns.known.clear();
            columns.heading.clear();
            columns.rows_seen = 0;
        }
    }

    /// Whether each part that may leave out an interval leaves out this one.
    fn is_left_out(&self, frame: &Frame<'_>) -> bool {
        let parts = self.groups.iter().flat_map(|group| &group.columns).map(|c| &c.part);
        let opinion = |part: &Part| {
            let left_out = part.layout?.plot.as_ref()?.left_out?;
            Some(left_out(&frame.whole(part.track(frame)?)))
        };
        let mut opinions = parts.filter_map(opinion).peekable();
        opinions.peek().is_some() && opinions.all(|left_out| left_out)
    }

    /// `#Date Time`.
    fn push_heading_start(&self, options: &Options, out: &mut Vec<u8>) {
        if time::is_utc(options) {
            out.extend_from_slice(b"#UTC");
        } else {
            out.extend_from_slice(b"#Date");
            out.extend_from_slice(&self.separator);
            out.extend_from_slice(b"Time");
        }
    }

    /// The cells of a group, each after a separator.
    fn push_group(&mut self, at: usize, frame: &Frame<'_>, out: &mut Vec<u8>) {
        let steady = Frame { options: &self.steady, ..*frame };
        for columns in &mut self.groups[at].columns {
            columns.push(&steady, &self.separator, out);
        }
    }

    /// The lines of subsystems with one line for each instance, with their headings.
    fn push_rows(&mut self, frame: &Frame<'_>, out: &mut Vec<u8>) {
        for at in 0..self.groups.len() {
            self.push_rows_of(at, frame, out);
        }
    }

    /// Whether every selected subsystem has a line for each instance, and one of them has lines in
    /// this interval.
    fn has_only_rows(&self, frame: &Frame<'_>) -> bool {
        let mut columns = self.groups.iter().flat_map(|group| &group.columns);
        columns.clone().all(|columns| columns.shape == Shape::Lines)
            && columns.any(|columns| {
                let due = columns.part.track(frame).filter(|track| track.fresh);
                due.is_some_and(|track| !columns.part.is_too_early(track))
            })
    }

    /// Whether only details are selected and none of their sources was read at this tick.
    fn has_nothing_read(&self, frame: &Frame<'_>) -> bool {
        let is_read = |columns: &Columns| {
            let part = &columns.part;
            columns.shape == Shape::Lines
                || !part.is_detail()
                || part.track(frame).is_none_or(|track| track.fresh)
        };
        !self.groups.iter().flat_map(|group| &group.columns).any(is_read)
    }

    fn push_rows_of(&mut self, at: usize, frame: &Frame<'_>, out: &mut Vec<u8>) {
        for index in 0..self.groups[at].columns.len() {
            let columns = &self.groups[at].columns[index];
            let due = columns.part.track(frame).filter(|track| track.fresh);
            let Some(track) = due.filter(|track| !columns.part.is_too_early(track)) else {
                continue;
            };
            let plot = columns.part.layout.and_then(|layout| layout.plot.as_ref());
            let Some(plot) = plot.filter(|plot| plot.shape == Shape::Lines) else { continue };
            if !columns.is_headed {
                self.push_heading_start(frame.options, out);
                for column in plot.columns {
                    out.extend_from_slice(&self.separator);
                    out.extend_from_slice(column.name.as_bytes());
                }
                out.push(b'\n');
            }
            let whole = frame.whole(track);
            let row_at = |index| Row { index, ..whole };
            let columns = &mut self.groups[at].columns[index];
            columns.is_headed = true;
            columns.order.clear();
            columns.order.extend(0..track.current.table.rows());
            let part = &columns.part;
            columns.order.retain(|&index| part.keeps(&row_at(index)));
            if let Some(order) = plot.order {
                columns.order.sort_by(|&left, &right| order(&row_at(left), &row_at(right)));
            }
            for (position, &index) in columns.order.iter().enumerate() {
                out.extend_from_slice(&self.time);
                for column in plot.columns {
                    out.extend_from_slice(&self.separator);
                    column.write(&row_at(index), position, out);
                }
                out.push(b'\n');
            }
        }
    }
}

/// The options without those that leave out idle instances.
fn steady(options: &Options) -> Options {
    Options {
        of_sources: options.of_sources.with_idle_instances(),
        letters: options.letters.replace('x', ""),
        ..options.clone()
    }
}

impl Columns {
    /// Adds columns and heading names for new instances; true if there were any.
    fn add_new_instances(&mut self, frame: &Frame<'_>, separator: &[u8], first: bool) -> bool {
        let Some(track) = self.part.track(frame).filter(|_| self.shape == Shape::Columns) else {
            return false;
        };
        let whole = frame.whole(track);
        if !self.part.is_detail() {
            if first {
                self.add(&whole, frame, separator);
            }
            return first;
        }
        let table = &track.current.table;
        let unchanged = table.rows() == self.rows_seen && table.same_rows(&track.previous.table);
        if !first && (!track.fresh || unchanged) {
            return false;
        }
        self.rows_seen = table.rows();
        let mut any = false;
        for row in whole.rows() {
            if !self.known.contains(row.name()) && self.part.keeps(&row) {
                self.known.insert(row.name().to_vec());
                self.add(&row, frame, separator);
                any = true;
            }
        }
        any
    }

    /// Adds the columns of a row.
    fn add(&mut self, row: &Row<'_>, frame: &Frame<'_>, separator: &[u8]) {
        let heading = &mut self.heading;
        let mut columns = Vec::new();
        let plot = self.part.layout.and_then(|layout| layout.plot.as_ref());
        if let Some(plot) = plot {
            let applying = plot.columns.iter().filter(|column| (column.applies)(row));
            columns.extend(applying.map(Column::Given));
        } else {
            let fields = parts::derived_fields(&self.part.def);
            columns.extend(fields.map(|(index, field)| Column::Derived(index, field.clone())));
        }
        let mut tag = vec![b'['];
        match plot {
            Some(plot) => tag.extend_from_slice(plot.tag.as_bytes()),
            None => tag.extend_from_slice(self.part.def.name.to_ascii_uppercase().as_bytes()),
        }
        if self.part.is_detail() {
            let mut name = Vec::new();
            match plot.and_then(|plot| plot.instance) {
                Some(write) => write(row, &mut name),
                None => parts::push_instance(&mut name, row.name()),
            }
            if !name.is_empty() || plot.is_some_and(|plot| plot.instance.is_some()) {
                tag.push(b':');
                tag.append(&mut name);
            }
        }
        tag.push(b']');
        for column in &columns {
            heading.extend_from_slice(separator);
            heading.extend_from_slice(&tag);
            let name = match column {
                Column::Given(column) => column.name,
                Column::Derived(_, field) => &field.name,
            };
            parts::push_words(heading, name.as_bytes(), frame.meta, frame.options);
        }
        let name = if self.part.is_detail() { row.name().to_vec() } else { Vec::new() };
        self.instances.push(Instance { name, index: row.index, columns });
    }

    fn push(&mut self, frame: &Frame<'_>, separator: &[u8], out: &mut Vec<u8>) {
        let track = self.part.track(frame).filter(|track| track.fresh);
        if track.is_none() && self.part.is_detail() && frame.options.exact {
            // collectl omits these cells, so its line is shorter.
            return;
        }
        let track = track.filter(|track| !self.part.is_too_early(track));
        for (position, instance) in self.instances.iter_mut().enumerate() {
            let row = track.and_then(|track| {
                let whole = frame.whole(track);
                if self.part.is_detail() { instance.find(&whole, track) } else { Some(whole) }
            });
            for column in &instance.columns {
                out.extend_from_slice(separator);
                column.push(row.as_ref(), position, &self.part, frame.options, out);
            }
        }
    }
}

impl Instance {
    fn find<'a>(&mut self, whole: &Row<'a>, track: &Track) -> Option<Row<'a>> {
        if track.current.state != State::Ok {
            return None;
        }
        self.index = track.current.table.find(&self.name, self.index)?;
        Some(Row { index: self.index, ..*whole })
    }
}

impl Column {
    fn push(
        &self,
        row: Option<&Row<'_>>,
        position: usize,
        part: &Part,
        options: &Options,
        out: &mut Vec<u8>,
    ) {
        let value = match (row, self) {
            (Some(row), Column::Given(column)) => return column.write(row, position, out),
            (None, Column::Given(column)) if options.exact => {
                return column.form.push_number(out, 0.0, options);
            }
            (Some(row), Column::Derived(index, field)) if part.is_detail() => {
                parts::derived_value(row, *index, field)
            }
            (Some(row), Column::Derived(index, field)) => parts::derived_sum(row, *index, field),
            (None, _) => None,
        };
        if let Some(value) = value.or(options.exact.then_some(0.0)) {
            layout::number::push_perl(out, value);
        }
    }
}
