//! Totals (`T`) and averages (`A`) of brief mode's columns, for `--stats`.
//!
//! collectl divides a rate's total by the length of one interval, not of all: at one second it is a
//! total, at ten a tenth of one.  whit does the same.  Unlike collectl's, the mean of a CPU column
//! is that of the column as printed, and the time is that of the intervals shown; `--exact`
//! computes both as collectl does.
//!
//! Columns derived from a source's fields have totals too: a counter as a rate, a level as a mean.
//! A source with a longer interval shows its latest level in between, and the mean is that of the
//! column as printed; its rates count once for each reading.

use layout::{Block, Cell, Frame, Options, Part, Row, Show, Stat};
use sample::{Cadence, Field, Kind};

use crate::parts;
use crate::time::{self, LocalTime};

/// The sums of the shown cells over the intervals.
#[derive(Default)]
pub(super) struct Statistics {
    groups: Vec<Group>,
    intervals: u64,
    elapsed_seconds: f64,
    /// The time column of the latest line, blanks for averages.
    column: Vec<u8>,
    options: Options,
}

/// The cells of one block.
#[derive(Default)]
struct Group {
    cells: &'static [Cell],
    /// The fields of a derived block, which has no cells.
    fields: Vec<(usize, Field)>,
    /// Whether the one cell is repeated for each sum, with a blank after each.
    repeated: bool,
    /// Width of a block that a function writes: its values are not known, so blanks are written.
    blank: usize,
    sums: Vec<Sum>,
}

#[derive(Clone, Copy, Default)]
struct Sum {
    /// The sum of the values as shown.
    values: f64,
    /// The sum of the values times their intervals: the total of a rate.
    amounts: f64,
    count: u64,
}

impl Statistics {
    pub(super) fn intervals(&self) -> u64 {
        self.intervals
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
        self.intervals = 0;
        self.elapsed_seconds = 0.0;
    }

    /// Adds an interval.
    pub(super) fn add(&mut self, frame: &Frame<'_>, parts: &[parts::Part], local: LocalTime) {
        self.intervals += 1;
        self.elapsed_seconds += match frame.lasted_seconds {
            lasted if frame.options.exact && lasted > 0.0 => lasted,
            _ => frame.seconds,
        };
        self.column.clear();
        local.push_column(frame.options, &mut self.column);
        if self.intervals == 1 {
            self.options.letters.clone_from(&frame.options.letters);
            self.options.statopts.clone_from(&frame.options.statopts);
            self.options.wide = frame.options.wide;
            self.options.exact = frame.options.exact;
        }
        let mut index = 0;
        for part in parts {
            let is_slow = part.def.cadence != Cadence::First && !frame.options.exact;
            let track = part.track(frame).filter(|track| track.fresh || is_slow);
            if part.layout.is_none() {
                if self.groups.len() == index {
                    self.groups.push(Group::derived(part));
                }
                if let Some(track) = track {
                    self.groups[index].add_derived(&frame.whole(track), track.fresh);
                }
                index += 1;
            }
            let blocks = part.layout.map_or(&[][..], |layout| layout.brief);
            for block in blocks.iter().filter(|block| (block.when)(frame.options)) {
                if self.groups.len() == index {
                    self.groups.push(Group::new(block, frame));
                }
                let group = &mut self.groups[index];
                index += 1;
                if let Some(track) = track {
                    group.add(block, &frame.whole(track), track.fresh);
                }
            }
        }
    }

    /// Writes the lines.
    pub(super) fn push(&mut self, out: &mut Vec<u8>, averages: bool, interval_seconds: f64) {
        if averages {
            if !self.options.statopts.contains('s') {
                self.column.fill(b' ');
            }
            self.push_line(out, b'A', self.elapsed_seconds);
        }
        self.push_line(out, b'T', interval_seconds);
    }

    fn push_line(&self, out: &mut Vec<u8>, mark: u8, seconds: f64) {
        if time::has_column(&self.options) {
            out.extend_from_slice(&self.column);
        }
        out.push(mark);
        for group in &self.groups {
            for ((_, field), sum) in group.fields.iter().zip(&group.sums) {
                let value = total(derived_stat(field), sum, &group.sums, seconds);
                parts::push_derived_cell(out, value, field, &self.options);
            }
            if !group.fields.is_empty() {
                continue;
            }
            for (index, sum) in group.sums.iter().enumerate() {
                let cell = &group.cells[if group.repeated { 0 } else { index }];
                let value = total(cell.stat, sum, &group.sums, seconds);
                cell.write_number(value, &self.options, out);
                if group.repeated {
                    out.push(b' ');
                }
            }
            if !group.cells.is_empty() && !group.repeated {
                out.push(b' ');
            }
            out.resize(out.len() + group.blank, b' ');
        }
        out.push(b'\n');
    }
}

impl Group {
    fn new(block: &Block, frame: &Frame<'_>) -> Self {
        match block.show {
            Show::Cells(cells) | Show::Headed(_, cells) => {
                let sums = vec![Sum::default(); cells.len()];
                Group { cells, sums, ..Group::default() }
            }
            Show::Repeated(_, cell, _) => {
                let cells = std::slice::from_ref(cell);
                Group { cells, repeated: true, ..Group::default() }
            }
            Show::Custom(write) | Show::Stacked(write) => {
                let mut body = Vec::new();
                write(frame, Part::Body, &mut body);
                Group { blank: body.len(), ..Group::default() }
            }
        }
    }

    /// The columns derived from a source's fields.
    fn derived(part: &parts::Part) -> Self {
        let fields: Vec<_> = parts::derived_brief_fields(&part.def)
            .map(|(index, field)| (index, field.clone()))
            .collect();
        let sums = vec![Sum::default(); fields.len()];
        Group { fields, sums, ..Group::default() }
    }

    /// Adds an interval of derived columns; if it is not `fresh`, only its levels.
    fn add_derived(&mut self, whole: &Row<'_>, fresh: bool) {
        let seconds = whole.seconds().unwrap_or(0.0);
        for ((index, field), sum) in self.fields.iter().zip(&mut self.sums) {
            if fresh || derived_stat(field) == Stat::Mean {
                sum.add(parts::derived_sum(whole, *index, field), seconds);
            }
        }
    }

    /// Adds an interval of the block; if it is not `fresh`, only its levels.
    fn add(&mut self, block: &Block, row: &Row<'_>, fresh: bool) {
        let seconds = row.seconds().unwrap_or(0.0);
        if let Show::Repeated(_, _, numbers) = block.show {
            if !fresh {
                return;
            }
            let mut values = Vec::new();
            numbers(&row.frame, &mut values);
            // A new CPU gets a column at the end.
            self.sums.resize(self.sums.len().max(values.len()), Sum::default());
            for (sum, value) in self.sums.iter_mut().zip(values) {
                sum.add(value, seconds);
            }
            return;
        }
        for (cell, sum) in self.cells.iter().zip(&mut self.sums) {
            if !fresh && !matches!(cell.stat, Stat::Mean | Stat::WholeMean) {
                continue;
            }
            let value = match cell.summed {
                Some(summed) if row.exact() => summed(row),
                _ => cell.number(row, 0),
            };
            sum.add(value, seconds);
        }
    }
}

impl Sum {
    fn add(&mut self, value: Option<f64>, seconds: f64) {
        if let Some(value) = value {
            self.values += value;
            self.amounts += value * seconds;
            self.count += 1;
        }
    }
}

/// How a derived column is summed.
fn derived_stat(field: &Field) -> Stat {
    if field.kind == Kind::Counter { Stat::Rate } else { Stat::Mean }
}

fn total(stat: Stat, sum: &Sum, sums: &[Sum], seconds: f64) -> Option<f64> {
    if let Stat::Ratio { dividend, divisor, factor } = stat {
        let (dividend, divisor) = (sums.get(dividend)?, sums.get(divisor)?);
        let nothing = divisor.amounts == 0.0;
        return Some(if nothing { 0.0 } else { dividend.amounts * factor / divisor.amounts });
    }
    if sum.count == 0 {
        return None;
    }
    Some(match stat {
        Stat::Rate => sum.amounts / seconds,
        Stat::Events => sum.values / seconds,
        Stat::Sum => sum.values,
        Stat::WholeMean => (sum.values / sum.count as f64).trunc(),
        Stat::Mean | Stat::Ratio { .. } => sum.values / sum.count as f64,
    })
}
