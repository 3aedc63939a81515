//! How collectl shows a source, as data inside the source's own file: headings, columns, widths.
//!
//! Views interpret these tables and know nothing else about a source.  A cell's value is a small
//! function over a [`Row`]; what is left over (a column for each CPU, say) is a [`Show::Custom`]
//! part, a function that writes text.

use crate::{Frame, Options, Row};

/// How one `-s` letter of a source looks in each of collectl's formats.
#[derive(Debug)]
pub struct Layout {
    /// The letter: lower case for a summary, upper case for detail.
    pub letter: char,
    /// Brief mode: one group of columns among others on a line.  Every block whose `when` holds
    /// is shown.  Empty for detail letters.
    pub brief: &'static [Block],
    /// Verbose mode: a block of its own, with headings.  For an upper-case letter the cells are
    /// printed once for each instance that `keep` keeps.
    pub verbose: &'static [Block],
    /// Plot columns; `None` when collectl has none for this letter.
    pub plot: Option<Plot>,
    /// Which instances a detail letter prints: filters, and options that leave out idle rows.
    pub keep: fn(&Row<'_>) -> bool,
    /// `lexpr`, `graphite` and `gexpr` names (`cputotals.user`) and values; for a detail letter
    /// `{}` in the name stands for the instance.
    pub metrics: &'static [PlotColumn],
}

/// A group of columns under common headings.
#[derive(Debug)]
pub struct Block {
    /// Whether these options ask for this block: variants of one block exclude each other.
    pub when: fn(&Options) -> bool,
    /// Brief: the upper heading (`<--------CPU-------->`).  Verbose: the line that begins with
    /// `# ` (`DISK SUMMARY ($rate)`, where `$rate` becomes `/sec` or `/int`).
    pub title: &'static str,
    /// The heading line or lines, without the leading `#` and time column; `$time` in an upper
    /// one is filled to the width of the time.
    pub headings: &'static [&'static str],
    /// What is printed below.
    pub show: Show,
}

/// What stands below a heading.
#[derive(Debug)]
pub enum Show {
    /// Cells one after the other.
    Cells(&'static [Cell]),
    /// Text written by a function, for what depends on the machine (a column for each CPU).
    Custom(fn(&Frame<'_>, Part, &mut Vec<u8>)),
}

/// Which part of a custom block is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The title line's text.
    Title,
    /// The heading.
    Heading,
    /// The values: brief, the cells; verbose, whole lines without the time column.
    Body,
}

/// Where a printed value comes from.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// A number; `None` when it is missing: `-` on the screen, empty in CSV, absent in JSON.
    Number(fn(&Row<'_>) -> Option<f64>),
    /// Bytes as the kernel gave them; views escape them.
    Text(for<'a> fn(&Row<'a>) -> Option<&'a [u8]>),
}

/// One printed cell.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// What stands before it: separators are collectl's, so they differ from cell to cell.
    pub lead: &'static str,
    /// The width it is padded to, right-aligned unless the form says otherwise.
    pub width: usize,
    /// How a number becomes text.
    pub form: Form,
    /// The value.
    pub value: Of,
}

impl Cell {
    /// A number cut to a whole one (`%{width}d`).
    pub const fn whole(
        lead: &'static str,
        width: usize,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        Cell { lead, width, form: Form::Whole, value: Of::Number(value) }
    }

    /// A number with `digits` after the point (`%{width}.{digits}f`).
    pub const fn fixed(
        lead: &'static str,
        width: usize,
        digits: u8,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        Cell { lead, width, form: Form::Fixed(digits), value: Of::Number(value) }
    }

    /// A number scaled by thousands to fit `width`.
    pub const fn scaled(
        lead: &'static str,
        width: usize,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        let form = Form::Scaled { width: width as u8, unit: 0, binary: false };
        Cell { lead, width, form, value: Of::Number(value) }
    }

    /// A number scaled by 1,024 to fit `width`; `unit` steps are already applied (1: it is in K).
    pub const fn binary(
        lead: &'static str,
        width: usize,
        unit: u8,
        value: fn(&Row<'_>) -> Option<f64>,
    ) -> Self {
        let form = Form::Scaled { width: width as u8, unit, binary: true };
        Cell { lead, width, form, value: Of::Number(value) }
    }

    /// Text, left-aligned.
    pub const fn left(
        lead: &'static str,
        width: usize,
        value: for<'a> fn(&Row<'a>) -> Option<&'a [u8]>,
    ) -> Self {
        Cell { lead, width, form: Form::Left, value: Of::Text(value) }
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
    /// Text, left-aligned.
    Left,
    /// Text or number as it is, right-aligned.
    Plain,
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
    /// The columns.
    pub columns: &'static [PlotColumn],
}

/// A named column with its value.
#[derive(Clone, Copy, Debug)]
pub struct PlotColumn {
    /// The column's name, without tag.
    pub name: &'static str,
    /// How the number becomes text.
    pub form: Form,
    /// The value.
    pub value: Of,
}

impl PlotColumn {
    /// A column in the usual form: whole, or with the decimals asked for.
    pub const fn new(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn { name, form: Form::PlotNumber, value: Of::Number(value) }
    }

    /// A column that is always whole (`%d`).
    pub const fn whole(name: &'static str, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn { name, form: Form::Whole, value: Of::Number(value) }
    }

    /// A column with so many digits after the point.
    pub const fn fixed(name: &'static str, digits: u8, value: fn(&Row<'_>) -> Option<f64>) -> Self {
        PlotColumn { name, form: Form::Fixed(digits), value: Of::Number(value) }
    }

    /// A column of text.
    pub const fn text(name: &'static str, value: for<'a> fn(&Row<'a>) -> Option<&'a [u8]>) -> Self {
        PlotColumn { name, form: Form::Left, value: Of::Text(value) }
    }
}
