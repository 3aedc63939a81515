//! How collectl shows a source, as data in the source's own file: headings, columns, widths.
//!
//! Views interpret these tables and know nothing else about a source.  A cell's value is a small
//! function over a [`Row`].  What tables cannot express (a column for each CPU, say) is a
//! [`Show::Custom`] block: a function that writes text.
//!
//! Write a [`Layout`] and a [`Plot`] with `..Layout::EMPTY` and `..Plot::EMPTY`, and cells and
//! columns with their constructors, so that a member added here changes no source.
//!
//! Views replace these words in titles, headings and plot column names: `$rate` by `/sec` (`/int`
//! with `-on`), `$hyper` by `[HYPER]` if the recorded machine has hyper-threading, `$page_kb` by
//! the page size in KiB.

use std::cmp::Ordering;

use sample::Level;

use crate::number::{self, Scale};
use crate::text::escape_into;
use crate::{Account, Balance, Digest, Frame, Options, Row, Top};

/// How a source looks at one level in each of collectl's formats.
#[derive(Debug)]
pub struct Layout {
    /// The source as a whole (summary), or its instances (detail).
    pub level: Level,
    /// The position of its columns and blocks among those of other sources.
    pub position: DisplayOrder,
    /// Brief mode: groups of columns.  Every block whose `when` holds is shown, from left to right.
    /// Empty for detail letters.
    pub brief: &'static [Block],
    /// Verbose mode: blocks with headings.  At detail level the cells are printed once for each
    /// instance that `keep` accepts.  The heading lines and cells of a [`Show::Cells`] block with
    /// an empty title are appended to those of the block shown before it.
    pub verbose: &'static [Block],
    /// Plot columns; `None` if collectl has none for this letter.
    pub plot: Option<Plot>,
    /// At detail level, which instances to print: filters, and options that leave out idle rows. At
    /// summary level it is called for the source as a whole and decides whether the interval is
    /// printed at all (an option can ask for intervals with errors only).
    pub keep: fn(&Row<'_>) -> bool,
    /// The fields, apart from texts, that `keep` reads with these options, or `None` for all: who
    /// shows some fields reads these, too.
    pub keep_reads: fn(&Options) -> Option<&'static [usize]>,
    /// The order of a detail letter's instances on the screen; `None` keeps the table's.
    pub order: Option<fn(&Row<'_>, &Row<'_>) -> Ordering>,
    /// The instances of a detail letter that `-ox` and `-oX` select; `None` if these options do not
    /// apply to it.
    pub exceptions: Option<Exceptions>,
    /// Verbose mode: the source whose table of instances this one joins if both are selected.
    pub shares_table_with: Option<&'static str>,
    /// Verbose mode: whether it prints several tables, each with headings, with these options.
    pub has_several_tables: fn(&Options) -> bool,
    /// Verbose mode, for instances that come and go: every interval has headings and a record line,
    /// unless the function returns true because these options filter the instances.
    pub headings_each_time: Option<fn(&Options) -> bool>,
    /// `lexpr`: whether a detail level is printed with the summaries, whose names precede the time.
    pub is_lexpr_summary: bool,
    /// `lexpr --exact`: writes the lines that collectl prints before all names of this source.
    pub lexpr_exact_lines: Option<fn(&Row<'_>, &mut Vec<u8>)>,
    /// Whether verbose, detail and plot lines begin only with the source's second reading, as for
    /// slabs, of which collectl shows only those that changed.
    pub from_second_reading: bool,
    /// Names (`cputotals.user`) and values for `lexpr`, `graphite` and `gexpr`; at detail level
    /// `{}` in a name is replaced by the instance.
    pub metrics: &'static [PlotColumn],
    /// At summary level: whether an instance is included in the sums over all, so that nothing is
    /// counted twice (a partition and its disk).
    pub counts: fn(&Row<'_>) -> bool,
    /// How its instances are added up, if they can be.
    pub account: Option<&'static Account>,
    /// The machine's totals, with which such sums are compared.
    pub balance: Option<&'static Balance>,
    /// The first few instances, sorted (`--top`).
    pub top: Option<&'static Top>,
    /// One line for each instance over a whole recording (`--procanalyze`).
    pub digest: Option<&'static Digest>,
}

impl Layout {
    /// A layout without content: `Layout { level: Level::Detail, ..Layout::EMPTY }` completes it.
    pub const EMPTY: Layout = Layout {
        level: Level::Summary,
        position: DisplayOrder::LAST,
        brief: &[],
        verbose: &[],
        plot: None,
        keep: |_| true,
        keep_reads: |_| Some(&[]),
        order: None,
        exceptions: None,
        shares_table_with: None,
        has_several_tables: |_| false,
        headings_each_time: None,
        is_lexpr_summary: false,
        lexpr_exact_lines: None,
        from_second_reading: false,
        metrics: &[],
        counts: |_| true,
        account: None,
        balance: None,
        top: None,
        digest: None,
    };
}

/// The position of a layout among others: smallest number first, equal numbers in the feed's order.
/// collectl has its own order in each format.
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
    /// After all layouts with a position, in the feed's order: for sources that set none.
    pub const LAST: DisplayOrder = DisplayOrder {
        brief: u16::MAX,
        verbose: u16::MAX,
        plot: u16::MAX,
        lexpr: u16::MAX,
        gexpr: u16::MAX,
    };
}

/// Exceptional instances.  On the screen the layout's `keep` applies `-ox`; in plot files each
/// exception is a line of its own, with the plot columns of the letter.
#[derive(Debug)]
pub struct Exceptions {
    /// What is examined for exceptions (`disks`), for messages.
    pub among: &'static str,
    /// Whether an instance is an exception.
    pub is: fn(&Row<'_>) -> bool,
    /// The extension of their plot file.
    pub extension: &'static str,
    /// The text in brackets before the name of each column.
    pub tag: &'static str,
    /// collectl's heading in place of the names of the columns, for `--exact`.
    pub exact_heading: &'static [&'static str],
}

/// A group of columns under common headings.
#[derive(Debug)]
pub struct Block {
    /// Whether it is shown with these options.  Variants of a block exclude each other.
    pub when: fn(&Options) -> bool,
    /// Brief: the upper heading (`<--------CPU-------->`).  Verbose: the text of the title line,
    /// without its `# ` (`DISK SUMMARY ($rate)`).
    pub title: &'static str,
    /// The heading lines, without the leading `#` and the time column.  Views put the name of the
    /// time column (`Time     `) before the last line and as many blanks before the others; a last
    /// line that begins with `$blank` gets blanks, too.
    pub headings: &'static [&'static str],
    /// The values below the headings.
    pub show: Show,
}

/// The values below a heading.
#[derive(Debug)]
pub enum Show {
    /// Cells from left to right.  In brief mode the view adds a blank after the last one.
    Cells(&'static [Cell]),
    /// Cells under a title and headings that a function writes ([`Part::Title`] and
    /// [`Part::Heading`]; it is never called for a body), because they depend on several options or
    /// on the machine.  The text may contain the `$` words.  Each heading line ends with a newline.
    Headed(fn(&Frame<'_>, Part, &mut Vec<u8>), &'static [Cell]),
    /// Text written by a function, because it depends on the machine (a column for each CPU).  In
    /// brief mode each part ends with a blank; in verbose mode each body line ends with a newline.
    Custom(fn(&Frame<'_>, Part, &mut Vec<u8>)),
    /// [`Show::Custom`] for one-line tables, one below the other: in verbose mode each heading line
    /// is followed by its body line.
    Stacked(fn(&Frame<'_>, Part, &mut Vec<u8>)),
    /// [`Show::Custom`] in brief mode for a number of columns that depends on the machine, all of
    /// which look like the cell.  The last function gives the numbers, for `--stats`.
    Repeated(fn(&Frame<'_>, Part, &mut Vec<u8>), &'static Cell, Numbers),
}

/// Appends the numbers of a block whose columns depend on the machine.
pub type Numbers = fn(&Frame<'_>, &mut Vec<Option<f64>>);

/// The part of a custom block to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The title line's text.
    Title,
    /// The heading line, or the lines with a newline after each.
    Heading,
    /// The values: in brief mode the cells; in verbose mode whole lines without the time column.
    Body,
    /// Brief mode only: a line above the headings, for example if CPUs are offline.  May be empty.
    Notice,
}

/// The origin of a printed value.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// A number; `None` when it is missing: `-` on the screen, empty in CSV, absent in JSON.
    Number(fn(&Row<'_>) -> Option<f64>),
    /// Bytes from the kernel, unchanged; views escape them.
    Text(for<'a> fn(&Row<'a>) -> Option<&'a [u8]>),
    /// The index of the instance among those shown in this frame, from 0.
    Position,
    /// Text that a function writes: times, and whole lines whose columns depend on options.  The
    /// function escapes text from the kernel and chooses the text for a missing value.
    Written(fn(&Row<'_>, &mut Vec<u8>)),
}

/// How `--stats` combines the values that a brief cell showed in the intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stat {
    /// A rate: its integral over all intervals, divided by the total time (`A`) or by the length of
    /// one interval (`T`), as in collectl's totals.
    Rate,
    /// A level: the mean.
    Mean,
    /// A level: the mean, truncated to an integer.
    WholeMean,
    /// A number of events in the interval, not per second: their sum, divided as for a rate.
    Events,
    /// A number of events: their sum, not divided.
    Sum,
    /// The quotient of the totals of two cells of the same block (by index), times `factor`.
    Ratio {
        /// The dividend's index in the block.
        dividend: usize,
        /// The divisor's index in the block.
        divisor: usize,
        /// What the quotient is multiplied by.
        factor: f64,
    },
}

/// One printed cell.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The separator before it.  collectl's separators differ from cell to cell.
    pub lead: &'static str,
    /// The width to which it is padded; right-aligned, except with [`Form::Left`].
    pub width: usize,
    /// Gives the width of a text if it depends on the machine (the longest interface name).
    pub fit: Option<fn(&Row<'_>) -> usize>,
    /// How a number becomes text.
    pub form: Form,
    /// The value.
    pub value: Of,
    /// How `--stats` combines its values.  The constructors choose [`Stat::Rate`] for scaled
    /// numbers without a unit, [`Stat::Mean`] for all others; [`Cell::stat`] changes it.
    pub stat: Stat,
    /// What `--stats` adds up under `--exact` instead of the value, where collectl does so.
    pub summed: Option<fn(&Row<'_>) -> Option<f64>>,
}

impl Cell {
    /// A number truncated to an integer (`%{width}d`).
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

    /// A number divided by powers of 1,000 to fit `width`.
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

    /// A number divided by powers of 1,024 to fit `width`; `unit` 1 means that it is in K already.
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

    /// The index of the instance among those shown, from 0 (`%{width}d`).
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

    /// Text that a function writes, without padding.
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

    /// Pads the cell to `width`; a scaled number still fits its own width.
    pub const fn padded_to(mut self, width: usize) -> Self {
        self.width = width;
        self
    }

    /// Makes the cell as wide as `fit` says.
    pub const fn fitted(mut self, fit: fn(&Row<'_>) -> usize) -> Self {
        self.fit = Some(fit);
        self
    }

    /// The width of the cell in a row.
    pub fn width_in(&self, row: &Row<'_>) -> usize {
        self.fit.map_or(self.width, |fit| fit(row))
    }

    /// Sets how `--stats` combines the values of the cell.
    pub const fn stat(mut self, stat: Stat) -> Self {
        self.stat = stat;
        self
    }

    /// Sets the value that collectl's `--stats` adds up in place of the cell's.
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
    /// An integer, truncated towards zero, as with `%d`.
    Whole,
    /// This number of digits after the point, as with `%.Nf`.
    Fixed(u8),
    /// Scaled as collectl does: divided until it fits `width` characters with K, M, G, T or P
    /// after it.
    Scaled {
        /// The most characters.
        width: u8,
        /// The unit of the value itself: 0 none, 1 K, 2 M.
        unit: u8,
        /// Steps of 1,024 instead of 1,000.
        binary: bool,
    },
    /// One character for the order of magnitude, as collectl shows fragmentation of memory:
    /// `0` to `9` for these numbers, `a` to `i` for tens, `j` to `r` for hundreds, `s` to `z` for
    /// thousands, ten thousands and so on.
    Magnitude,
    /// Text, left-aligned.
    Left,
    /// Text, or a number as Perl prints it, right-aligned.
    Plain,
    /// Seconds as `hours:mm:ss`.
    Clock,
    /// Plot: an integer, or with one or two decimals (`-o1`, `-o2`).
    PlotNumber,
}

/// Plot columns of a letter.
#[derive(Debug)]
pub struct Plot {
    /// The tag in brackets before each column's name (`CPU`, `DSK`); at detail level
    /// `[TAG:instance]`.
    pub tag: &'static str,
    /// The file's extension: `tab` for summaries, which share a file; `cpu`, `dsk`, … for detail.
    pub extension: &'static str,
    /// How the columns become lines.
    pub shape: Shape,
    /// Writes the instance in `[TAG:instance]`; `None` for its name.  Without a name the colon is
    /// left out, too (`[TAG]`).
    pub instance: Option<fn(&Row<'_>, &mut Vec<u8>)>,
    /// Called for the source as a whole: whether to leave out the line of this interval, as with
    /// an option that shows errors only.  A line is left out if all functions return true.
    pub left_out: Option<fn(&Row<'_>) -> bool>,
    /// Under `--exact`, the position of its cells, if collectl's order of cells differs from its
    /// order of headings.
    pub exact_cells: Option<u16>,
    /// The order of the lines of [`Shape::Lines`]; `None` leaves the table's.
    pub order: Option<fn(&Row<'_>, &Row<'_>) -> Ordering>,
    /// The columns.
    pub columns: &'static [PlotColumn],
}

impl Plot {
    /// A plot without columns: `Plot { tag: "CPU", ..Plot::EMPTY }` completes it.
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
    /// One line for each interval, with the columns of all instances.
    Columns,
    /// One line for each instance in each interval (`.slb`); the column names have no tag.
    Lines,
}

/// A named column with its value.
#[derive(Clone, Copy, Debug)]
pub struct PlotColumn {
    /// The column's name, without tag.
    pub name: &'static str,
    /// How the number becomes text.  Metrics round [`Form::PlotNumber`] to an integer.
    pub form: Form,
    /// The value.
    pub value: Of,
    /// Metrics: whether the value is a level (collectl's gauge).  A total over several intervals is
    /// the mean of levels, and the sum of other values.
    pub level: bool,
    /// Whether the instance has this column; called when the header is written.
    pub applies: fn(&Row<'_>) -> bool,
}

impl PlotColumn {
    const fn from_parts(name: &'static str, form: Form, value: Of) -> Self {
        PlotColumn { name, form, value, level: false, applies: |_| true }
    }

    /// A column of numbers with the decimals that `-o1` and `-o2` set, none by default.
    pub const fn new(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::PlotNumber, Of::Number(value))
    }

    /// A column of integers (`%d`).
    pub const fn whole(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::Whole, Of::Number(value))
    }

    /// A column of numbers with a fixed number of digits after the point.
    pub const fn fixed(name: &'static str, digits: u8, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn::from_parts(name, Form::Fixed(digits), Of::Number(value))
    }

    /// A column of numbers as Perl prints them: up to 15 significant digits, no trailing zeros.
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

    /// Makes the column a level.
    pub const fn level(mut self) -> Self {
        self.level = true;
        self
    }

    /// Shows the column only for instances for which `applies` is true.
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
    /// Writes the cell of the row with the index `position` among those shown: separator, value,
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
    /// Writes the column's value; a missing number is empty, under `--exact` 0.
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
