//! How collectl shows a source, as data inside the source's own file: headings, columns, widths.
//!
//! Views interpret these tables and know nothing else about a source.  A cell's value is a small
//! function over a [`Row`]; what is left over (a column for each CPU, say) is a [`Show::Custom`]
//! part, a function that writes text.
//!
//! Write a [`Layout`] and a [`Plot`] with `..Layout::EMPTY` and `..Plot::EMPTY`, and cells and
//! columns with their constructors: what is added here later then costs no source a change.
//!
//! Words in titles, headings and plot column names that views replace: `$rate` by `/sec` (`/int`
//! with `-on`), `$hyper` by `[HYPER]` when the feed's meta says so, `$page_kb` by the page size
//! in KiB.

use std::cmp::Ordering;

use sample::Level;

use crate::number::{self, Scale};
use crate::text::escape_into;
use crate::{Account, Balance, Digest, Frame, Options, Row, Top};

/// How a source looks at one level (as a whole, or by instances) in each of collectl's formats.
#[derive(Debug)]
pub struct Layout {
    /// Whether it shows the source as a whole or its instances.
    pub level: Level,
    /// Where its columns and blocks stand among those of other sources.
    pub position: DisplayOrder,
    /// Brief mode: one group of columns among others on a line.  Every block whose `when` holds
    /// is shown, one to the right of the other.  Empty for detail letters.
    pub brief: &'static [Block],
    /// Verbose mode: a block of its own, with headings.  For an upper-case letter the cells are
    /// printed once for each instance that `keep` keeps.  A [`Show::Cells`] block whose title is
    /// empty stands to the right of the one shown before it: its heading lines and cells are
    /// appended to that one's.
    pub verbose: &'static [Block],
    /// Plot columns; `None` when collectl has none for this letter.
    pub plot: Option<Plot>,
    /// Which instances a detail letter prints: filters, and options that leave out idle rows.  For
    /// a summary letter, asked of the source as a whole: whether the interval is worth a line at
    /// all (an option that asks for faulty ones alone).
    pub keep: fn(&Row<'_>) -> bool,
    /// The order of a detail letter's instances on the screen; `None` leaves the table's.
    pub order: Option<fn(&Row<'_>, &Row<'_>) -> Ordering>,
    /// Which instances of a detail letter `-ox` and `-oX` single out; `None` if they have no
    /// meaning for it.
    pub exceptions: Option<Exceptions>,
    /// Verbose mode: the source in whose table of instances this one is shown when both are asked
    /// for, so that the two are one table.
    pub shares_table_with: Option<&'static str>,
    /// Verbose mode: whether these options make several tables of it, with headings of their own.
    pub has_several_tables: fn(&Options) -> bool,
    /// Verbose mode, for instances that come and go: every interval has headings and a record line,
    /// unless the function says that these options filter the instances.
    pub headings_each_time: Option<fn(&Options) -> bool>,
    /// `lexpr`: whether a detail level stands among the summaries, whose names come before the
    /// time.
    pub is_lexpr_summary: bool,
    /// `lexpr --exact`: what collectl writes before all names of this source.
    pub lexpr_exact_lines: Option<fn(&Row<'_>, &mut Vec<u8>)>,
    /// Whether verbose, detail and plot lines begin only with the source's second reading
    /// (slabs), as for a source that says nothing without a change.
    pub from_second_reading: bool,
    /// `lexpr`, `graphite` and `gexpr` names (`cputotals.user`) and values; for a detail letter
    /// `{}` in the name stands for the instance.
    pub metrics: &'static [PlotColumn],
    /// What its instances amount to, if they can be added up.
    pub account: Option<&'static Account>,
    /// What such sums are held against.
    pub balance: Option<&'static Balance>,
    /// The first few instances, sorted (`--top`).
    pub top: Option<&'static Top>,
    /// One line for each instance over a whole recording (`--procanalyze`).
    pub digest: Option<&'static Digest>,
}

impl Layout {
    /// A layout of nothing, to be completed: `Layout { level: Level::Detail, ..Layout::EMPTY }`.
    pub const EMPTY: Layout = Layout {
        level: Level::Summary,
        position: DisplayOrder::LAST,
        brief: &[],
        verbose: &[],
        plot: None,
        keep: |_| true,
        order: None,
        exceptions: None,
        shares_table_with: None,
        has_several_tables: |_| false,
        headings_each_time: None,
        is_lexpr_summary: false,
        lexpr_exact_lines: None,
        from_second_reading: false,
        metrics: &[],
        account: None,
        balance: None,
        top: None,
        digest: None,
    };
}

/// Where a layout stands among others: small numbers first, and equal ones in the feed's order.
/// collectl has an order of its own for each format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DisplayOrder {
    /// Among the groups of columns of a brief line.
    pub brief: u16,
    /// Among the blocks of verbose mode.
    pub verbose: u16,
    /// Among the columns of plot format.
    pub plot: u16,
    /// Among the names of `lexpr`.
    pub lexpr: u16,
    /// Among the names of `graphite` and `gexpr`.
    pub gexpr: u16,
}

impl DisplayOrder {
    /// After all that have a position: that of sources which say nothing, in the feed's order.
    pub const LAST: DisplayOrder = DisplayOrder {
        brief: u16::MAX,
        verbose: u16::MAX,
        plot: u16::MAX,
        lexpr: u16::MAX,
        gexpr: u16::MAX,
    };
}

/// Instances out of the ordinary.  On the screen the layout's `keep` heeds `-ox`; in plot files
/// each exception is a line of its own, with the plot columns of the letter.
#[derive(Debug)]
pub struct Exceptions {
    /// What they are exceptions among (`disks`), for messages.
    pub among: &'static str,
    /// Whether an instance is one.
    pub is: fn(&Row<'_>) -> bool,
    /// The extension of their plot file.
    pub extension: &'static str,
    /// What stands in brackets before the name of each column.
    pub tag: &'static str,
    /// collectl's heading in place of the columns' own names, for `--exact`.
    pub exact_heading: &'static [&'static str],
}

/// A group of columns under common headings.
#[derive(Debug)]
pub struct Block {
    /// Whether these options ask for this block: variants of one block exclude each other.
    pub when: fn(&Options) -> bool,
    /// Brief: the upper heading (`<--------CPU-------->`).  Verbose: the line that begins with
    /// `# ` (`DISK SUMMARY ($rate)`, where `$rate` becomes `/sec` or `/int`).
    pub title: &'static str,
    /// The heading line or lines, without the leading `#` and time column.  Views put the name of
    /// the time column (`Time     `) before the last line and blanks of its width before the
    /// others; a last line that begins with `$blank` gets blanks too.
    pub headings: &'static [&'static str],
    /// What is printed below.
    pub show: Show,
}

/// What stands below a heading.
#[derive(Debug)]
pub enum Show {
    /// Cells one after the other.  In brief mode the view puts a blank behind the last one.
    Cells(&'static [Cell]),
    /// Cells under a title and headings that a function writes ([`Part::Title`],
    /// [`Part::Heading`]; never asked for a body), for what depends on options in more than one
    /// place or on the machine.  It may use the `$` words.  Heading lines end with a newline each.
    Headed(fn(&Frame<'_>, Part, &mut Vec<u8>), &'static [Cell]),
    /// Text written by a function, for what depends on the machine (a column for each CPU).  In
    /// brief mode each part ends with a blank; in verbose mode each body line with a newline.
    Custom(fn(&Frame<'_>, Part, &mut Vec<u8>)),
    /// The same for tables of one line, one below the other: in verbose mode each heading line
    /// stands above its body line.
    Stacked(fn(&Frame<'_>, Part, &mut Vec<u8>)),
    /// The same in brief mode, for numbers that all look like one cell and of which there are as
    /// many as the machine has something.  The last function gives the numbers, for `--stats`.
    Repeated(fn(&Frame<'_>, Part, &mut Vec<u8>), &'static Cell, Numbers),
}

/// Gives the numbers of a block whose columns depend on the machine.
pub type Numbers = fn(&Frame<'_>, &mut Vec<Option<f64>>);

/// Which part of a custom block is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The title line's text.
    Title,
    /// The heading line, or the lines with a newline after each.
    Heading,
    /// The values: brief, the cells; verbose, whole lines without the time column.
    Body,
    /// Brief only: a line above the headings, as when CPUs are offline.  Write nothing if there
    /// is nothing to say.
    Notice,
}

/// Where a printed value comes from.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// A number; `None` when it is missing: `-` on the screen, empty in CSV, absent in JSON.
    Number(fn(&Row<'_>) -> Option<f64>),
    /// Bytes as the kernel gave them; views escape them.
    Text(for<'a> fn(&Row<'a>) -> Option<&'a [u8]>),
    /// The instance's ordinal among those shown in this frame, from 0.
    Position,
    /// Text that a function writes: times, and whole lines whose columns hang on options.  It
    /// escapes what the kernel gave, and says itself what stands for a missing value.
    Written(fn(&Row<'_>, &mut Vec<u8>)),
}

/// How `--stats` sums up the values that a brief cell showed over the intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    /// A rate: what it amounts to over all intervals, divided by the time (`A`) or by the length
    /// of one interval (`T`), as collectl's totals are.
    Rate,
    /// A level: the mean.
    Mean,
    /// A level: the mean, cut to a whole number.
    WholeMean,
    /// A number of events in the interval, not divided by time: their sum, divided as a rate is.
    Events,
    /// A number of events: their plain sum.
    Sum,
    /// The quotient of the totals of two cells of the same block (by index), times `factor`.
    Ratio {
        /// The dividend's index in the block.
        over: usize,
        /// The divisor's index in the block.
        under: usize,
        /// What the quotient is multiplied by.
        factor: f64,
    },
}

/// One printed cell.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// What stands before it: separators are collectl's, so they differ from cell to cell.
    pub lead: &'static str,
    /// The width it is padded to, right-aligned unless the form says otherwise.
    pub width: usize,
    /// The width of a text where it depends on the machine (the longest interface name).
    pub fit: Option<fn(&Row<'_>) -> usize>,
    /// How a number becomes text.
    pub form: Form,
    /// The value.
    pub value: Of,
    /// How `--stats` sums it up.  The constructors choose [`Stat::Rate`] for scaled numbers that
    /// are in no unit yet, [`Stat::Mean`] for all others; see [`Cell::stat`].
    pub stat: Stat,
    /// What `--stats` sums up under `--exact` instead of the value, where collectl does.
    pub summed: Option<fn(&Row<'_>) -> Option<f64>>,
}

impl Cell {
    /// A number cut to a whole one (`%{width}d`).
    pub const fn whole(
        lead: &'static str,
        width: usize,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        Cell {
            lead,
            width,
            fit: None,
            form: Form::Whole,
            value: Of::Number(value),
            stat: Stat::Mean,
            summed: None,
        }
    }

    /// A number with `digits` after the point (`%{width}.{digits}f`).
    pub const fn fixed(
        lead: &'static str,
        width: usize,
        digits: u8,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        Cell {
            lead,
            width,
            fit: None,
            form: Form::Fixed(digits),
            value: Of::Number(value),
            stat: Stat::Mean,
            summed: None,
        }
    }

    /// A number scaled by thousands to fit `width`.
    pub const fn scaled(
        lead: &'static str,
        width: usize,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        let form = Form::Scaled { width: width as u8, unit: 0, binary: false };
        Cell {
            lead,
            width,
            fit: None,
            form,
            value: Of::Number(value),
            stat: Stat::Rate,
            summed: None,
        }
    }

    /// A number scaled by 1,024 to fit `width`; `unit` steps are already applied (1: it is in K).
    pub const fn binary(
        lead: &'static str,
        width: usize,
        unit: u8,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        let form = Form::Scaled { width: width as u8, unit, binary: true };
        let stat = if unit == 0 { Stat::Rate } else { Stat::Mean };
        Cell { lead, width, fit: None, form, value: Of::Number(value), stat, summed: None }
    }

    /// One character for a number's order of magnitude.
    pub const fn magnitude(value: fn(&Row<'_>) -> Option<f64>) -> Self {
        let form = Form::Magnitude;
        Cell {
            lead: "",
            width: 1,
            fit: None,
            form,
            value: Of::Number(value),
            stat: Stat::Mean,
            summed: None,
        }
    }

    /// The instance's ordinal among those shown (`%{width}d`).
    pub const fn position(lead: &'static str, width: usize) -> Self {
        Cell {
            lead,
            width,
            fit: None,
            form: Form::Whole,
            value: Of::Position,
            stat: Stat::Mean,
            summed: None,
        }
    }

    /// Text, right-aligned.
    pub const fn right(
        lead: &'static str,
        width: usize,
        value: for<'a> fn(&Row<'a>) -> Option<&'a [u8]>,
    ) -> Self {
        Cell {
            lead,
            width,
            fit: None,
            form: Form::Plain,
            value: Of::Text(value),
            stat: Stat::Mean,
            summed: None,
        }
    }

    /// Text that a function writes, as it is.
    pub const fn written(lead: &'static str, write: fn(&Row<'_>, &mut Vec<u8>)) -> Self {
        Cell {
            lead,
            width: 0,
            fit: None,
            form: Form::Left,
            value: Of::Written(write),
            stat: Stat::Mean,
            summed: None,
        }
    }

    /// The same cell, padded to `width` though it is scaled to fit another one.
    pub const fn padded_to(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// The same cell, as wide as `fit` says.
    pub const fn fitted(mut self, fit: fn(&Row<'_>) -> usize) -> Self {
        self.fit = Some(fit);
        self
    }

    /// The width to pad to in a row.
    pub fn width_in(&self, row: &Row<'_>) -> usize {
        self.fit.map_or(self.width, |fit| fit(row))
    }

    /// The same cell, summed up in another way.
    pub const fn stat(mut self, stat: Stat) -> Self {
        self.stat = stat;
        self
    }

    /// The same cell, of which collectl sums up something else.
    pub const fn summed(mut self, summed: fn(&Row<'_>) -> Option<f64>) -> Self {
        self.summed = Some(summed);
        self
    }

    /// Text, left-aligned.
    pub const fn left(
        lead: &'static str,
        width: usize,
        value: for<'a> fn(&Row<'a>) -> Option<&'a [u8]>,
    ) -> Self {
        Cell {
            lead,
            width,
            fit: None,
            form: Form::Left,
            value: Of::Text(value),
            stat: Stat::Mean,
            summed: None,
        }
    }
}

/// How a number becomes text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Whole, cut towards zero, as `%d` does.
    Whole,
    /// So many digits after the point, as `%.Nf` does.
    Fixed(u8),
    /// Scaled to fit so many characters with K, M, G, T or P behind it, as collectl's own
    /// conversion does: the first unit already applied (`0`, or `1` when the value is in K), and
    /// whether a step is 1,024 (true) or 1,000.
    Scaled {
        /// Characters to fit.
        width: u8,
        /// Units already applied: 0 none, 1 K, 2 M.
        unit: u8,
        /// Steps of 1,024 instead of 1,000.
        binary: bool,
    },
    /// One character for the order of magnitude, as collectl shows how fragmented memory is:
    /// `0` to `9` as they are, `a` to `i` for tens, `j` to `r` for hundreds, `s` to `z` for
    /// thousands, ten thousands and so on.
    Magnitude,
    /// Text, left-aligned.
    Left,
    /// Text or number as it is, right-aligned.
    Plain,
    /// Seconds as `hours:mm:ss`.
    Clock,
    /// Plot: whole, or with the decimals that `-o1` and `-o2` ask for.
    PlotNumber,
}

/// Plot columns of a letter.
#[derive(Debug)]
pub struct Plot {
    /// The tag in brackets before each column's name (`CPU`, `DSK`); a detail column has
    /// `[TAG:instance]`.
    pub tag: &'static str,
    /// The file's extension: `tab` for summaries, which share a file; `cpu`, `dsk`, … for detail.
    pub extension: &'static str,
    /// How the columns become lines.
    pub shape: Shape,
    /// Writes what stands for the instance in `[TAG:instance]`; `None` for its name as it is.
    /// An instance without a name has no colon either (`[TAG]`).
    pub instance: Option<fn(&Row<'_>, &mut Vec<u8>)>,
    /// Asked of the source as a whole: whether the interval gives no line, as with an option
    /// that wants errors alone.  A line is left out if every letter that has an opinion says so.
    pub left_out: Option<fn(&Row<'_>) -> bool>,
    /// Under `--exact`, where its cells stand among those of others, if collectl has them elsewhere
    /// than its headings.
    pub exact_cells: Option<u16>,
    /// The order of the lines of [`Shape::Lines`]; `None` leaves the table's.
    pub order: Option<fn(&Row<'_>, &Row<'_>) -> Ordering>,
    /// The columns.
    pub columns: &'static [PlotColumn],
}

impl Plot {
    /// A plot of nothing, to be completed: `Plot { tag: "CPU", ..Plot::EMPTY }`.
    pub const EMPTY: Plot = Plot {
        tag: "",
        extension: "tab",
        shape: Shape::Columns,
        instance: None,
        left_out: None,
        exact_cells: None,
        order: None,
        columns: &[],
    };
}

/// How a letter's plot columns become lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One line an interval, with the columns of all instances in it.
    Columns,
    /// One line for each instance in each interval (`.slb`); the column names have no tag.
    Lines,
}

/// A named column with its value.
#[derive(Clone, Copy, Debug)]
pub struct PlotColumn {
    /// The column's name, without tag.
    pub name: &'static str,
    /// How the number becomes text.  Metrics round [`Form::PlotNumber`] to a whole one.
    pub form: Form,
    /// The value.
    pub value: Of,
    /// Metrics: whether the value is a level (collectl's gauge), so that a total over several
    /// intervals is its mean and not its sum.
    pub level: bool,
    /// Whether the instance has this column at all; asked when the header is written.
    pub applies: fn(&Row<'_>) -> bool,
}

impl PlotColumn {
    const fn from_parts(name: &'static str, form: Form, value: Of) -> Self {
        PlotColumn { name, form, value, level: false, applies: |_| true }
    }

    /// A column in the usual form: whole, or with the decimals asked for.
    pub const fn new(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::PlotNumber, Of::Number(value))
    }

    /// A column that is always whole (`%d`).
    pub const fn whole(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::Whole, Of::Number(value))
    }

    /// A column with so many digits after the point.
    pub const fn fixed(name: &'static str, digits: u8, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::Fixed(digits), Of::Number(value))
    }

    /// A column with a number as Perl prints it (up to 15 digits, no more than it has).
    pub const fn plain(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::Plain, Of::Number(value))
    }

    /// A column of text.
    pub const fn text(name: &'static str, value: for<'a> fn(&Row<'a>) -> Option<&'a [u8]>) -> Self {
        PlotColumn::from_parts(name, Form::Left, Of::Text(value))
    }

    /// A column of text that a function writes.
    pub const fn written(name: &'static str, write: fn(&Row<'_>, &mut Vec<u8>)) -> Self {
        PlotColumn::from_parts(name, Form::Left, Of::Written(write))
    }

    /// The same column, as a level.
    pub const fn level(mut self) -> Self {
        self.level = true;
        self
    }

    /// The same column, for those instances only.
    pub const fn applies(mut self, applies: fn(&Row<'_>) -> bool) -> Self {
        self.applies = applies;
        self
    }
}

impl Form {
    /// Writes a number in this form, without padding.
    pub fn push_number(self, out: &mut Vec<u8>, value: f64, options: &Options) {
        match self {
            Form::Whole => number::push_whole(out, value),
            Form::Fixed(digits) => number::push_fixed(out, value, digits),
            Form::PlotNumber => number::push_fixed(out, value, options.precision()),
            Form::Left | Form::Plain => number::push_perl(out, value),
            Form::Clock => number::push_clock(out, value),
            Form::Magnitude => number::push_magnitude(out, value, options.exact),
            Form::Scaled { width, unit, binary } => {
                let scale = Scale { width: width.into(), unit: unit.into(), binary };
                number::push_scaled(out, value, scale, options);
            }
        }
    }
}

impl Cell {
    /// Writes the cell of a row that is the `position`th shown: what stands before it, the value,
    /// padding.  A missing number is `-`, under `--exact` 0.
    pub fn write(&self, row: &Row<'_>, position: usize, out: &mut Vec<u8>) {
        if let Of::Written(write) = self.value {
            self.pad(out, self.width_in(row), |out| write(row, out));
        } else if let Of::Text(text) = self.value {
            self.pad(out, self.width_in(row), |out| match text(row) {
                Some(text) => escape_into(out, text),
                None if row.exact() => {}
                None => out.push(b'-'),
            });
        } else {
            self.write_number(self.number(row, position), row.options(), out);
        }
    }

    /// The cell's number, `None` if it is missing or the cell holds text.
    pub fn number(&self, row: &Row<'_>, position: usize) -> Option<f64> {
        match self.value {
            Of::Number(number) => number(row),
            Of::Position => Some(position as f64),
            Of::Text(_) | Of::Written(_) => None,
        }
    }

    /// Writes a number as this cell would.
    pub fn write_number(&self, value: Option<f64>, options: &Options, out: &mut Vec<u8>) {
        let value = value.or(options.exact.then_some(0.0));
        self.pad(out, self.width, |out| match value {
            Some(value) => self.form.push_number(out, value, options),
            None => out.push(b'-'),
        });
    }

    fn pad(&self, out: &mut Vec<u8>, width: usize, write: impl FnOnce(&mut Vec<u8>)) {
        out.extend_from_slice(self.lead.as_bytes());
        let start = out.len();
        write(out);
        if self.form == Form::Left {
            number::pad_right(out, start, width);
        } else {
            number::pad_left(out, start, width);
        }
    }
}

impl PlotColumn {
    /// Writes the column's value; nothing for a missing one, under `--exact` 0.
    pub fn write(&self, row: &Row<'_>, position: usize, out: &mut Vec<u8>) {
        let value = match self.value {
            Of::Text(text) => return escape_into(out, text(row).unwrap_or_default()),
            Of::Written(write) => return write(row, out),
            Of::Number(number) => number(row),
            Of::Position => Some(position as f64),
        };
        if let Some(value) = value.or(row.exact().then_some(0.0)) {
            self.form.push_number(out, value, row.options());
        }
    }
}
