//! What a graph is described by: the elements `DEF`, `CDEF`, `VDEF`, `PRINT`, `LINE` … as values.
//!
//! Elements refer to variables by the index of the element that defines them, so a description is
//! one list in the order of the command line.

/// A colour with its opacity; 255 is opaque.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Color {
    /// Red.
    pub red: u8,
    /// Green.
    pub green: u8,
    /// Blue.
    pub blue: u8,
    /// Opacity.
    pub alpha: u8,
}

/// How values of a step become one, as RRDtool's consolidation functions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names of RRDtool")]
pub enum Consolidation {
    Average,
    Minimum,
    Maximum,
    Last,
    HwPredict,
    Seasonal,
    DevPredict,
    DevSeasonal,
    Failures,
    MhwPredict,
}

impl Consolidation {
    /// Names of the functions.
    const NAMES: [(&'static str, Consolidation); 10] = [
        ("AVERAGE", Consolidation::Average),
        ("MIN", Consolidation::Minimum),
        ("MAX", Consolidation::Maximum),
        ("LAST", Consolidation::Last),
        ("HWPREDICT", Consolidation::HwPredict),
        ("MHWPREDICT", Consolidation::MhwPredict),
        ("DEVPREDICT", Consolidation::DevPredict),
        ("SEASONAL", Consolidation::Seasonal),
        ("DEVSEASONAL", Consolidation::DevSeasonal),
        ("FAILURES", Consolidation::Failures),
    ];

    /// The function of a name.
    pub fn by_name(name: &str) -> Option<Self> {
        let known = Self::NAMES.iter().find(|(known, _)| *known == name);
        known.map(|(_, consolidation)| *consolidation)
    }

    /// As archives name it.
    pub fn name(self) -> &'static str {
        let known = Self::NAMES.iter().find(|(_, known)| *known == self);
        known.map_or("", |(name, _)| name)
    }
}

/// A number, or a variable: the index of the element that defines it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    /// A number of the command line.
    Number(f64),
    /// The `DEF`, `CDEF` or `VDEF` at this index.
    Variable(usize),
}

/// A dashed line: lengths of strokes and spaces in turn, in pixels, and where in them it begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dashes {
    /// Lengths, in pixels.
    pub lengths: Vec<f64>,
    /// Offset into the pattern, in pixels.
    pub offset: f64,
}

/// `DEF`: a series of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Def {
    /// Name of the variable.
    pub name: String,
    /// The database.
    pub file: String,
    /// The data source in it.
    pub source: String,
    /// Which archives.
    pub consolidation: Consolidation,
    /// How values are reduced if their step is too small; else as `consolidation`.
    pub reduce: Option<Consolidation>,
    /// The wanted step, in seconds.
    pub step_s: Option<i64>,
    /// Start of the series, in seconds since 1970; the graph's if it has none of its own.
    pub start_s: i64,
    /// End of the series, in seconds since 1970; the graph's if it has none of its own.
    pub end_s: i64,
    /// Address of a caching daemon.
    pub daemon: Option<String>,
}

/// `CDEF`: a series made of others by an expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdef {
    /// Name of the variable.
    pub name: String,
    /// Variables are indexes of elements.
    pub program: rpn::Program,
}

/// `VDEF`: a value of a series, and when it was.
#[derive(Clone, Debug, PartialEq)]
pub struct Vdef {
    /// Name of the variable.
    pub name: String,
    /// The series.
    pub series: usize,
    /// What is made of it.
    pub function: VdefFunction,
    /// The argument of the function, for PERCENT and PERCENTNAN.
    pub parameter: f64,
}

/// What a `VDEF` makes of a series.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the names of RRDtool")]
pub enum VdefFunction {
    Maximum,
    Minimum,
    Average,
    StandardDeviation,
    Percent,
    PercentNan,
    Total,
    First,
    Last,
    LeastSquaresSlope,
    LeastSquaresIntercept,
    LeastSquaresCorrelation,
}

/// How `PRINT` and `GPRINT` write a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PrintStyle {
    /// `%lf`, `%le`, `%lg` with `%s` or `%S`.
    Number,
    /// The value's time, by `strftime`.
    Time,
    /// The value as a time, by `strftime`.
    ValueAsTime,
    /// The value as a duration in milliseconds.
    ValueAsDuration,
}

/// `PRINT` and `GPRINT`: a value as text.
#[derive(Clone, Debug, PartialEq)]
pub struct Print {
    /// The variable.
    pub variable: usize,
    /// The deprecated form: a series and a consolidation function.
    pub consolidation: Option<Consolidation>,
    /// The format, its escapes resolved.
    pub format: String,
    /// What the format is for.
    pub style: PrintStyle,
    /// `GPRINT`: the text belongs into the legend.
    pub is_in_graph: bool,
}

/// `LINE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What is drawn.
    pub value: Operand,
    /// The width in pixels.
    pub width: f64,
    /// Invisible if `None`.
    pub color: Option<Color>,
    /// Legend; empty if none.
    pub legend: String,
    /// On top of the element before.
    pub is_stacked: bool,
    /// Does not count for the scale.
    pub skips_scale: bool,
    /// Solid if `None`.
    pub dashes: Option<Dashes>,
}

/// `AREA`.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// What is drawn.
    pub value: Operand,
    /// Invisible if `None`.
    pub color: Option<Color>,
    /// The other end of a gradient.
    pub color2: Option<Color>,
    /// Height of the gradient, in pixels; RRDtool's default is 50.
    pub gradient_height: f64,
    /// Legend; empty if none.
    pub legend: String,
    /// On top of the element before.
    pub is_stacked: bool,
    /// Does not count for the scale.
    pub skips_scale: bool,
}

/// `TICK`: a mark at each value that is neither 0 nor unknown.
#[derive(Clone, Debug, PartialEq)]
pub struct TickMarks {
    /// The series; of a number or a `VDEF` no mark is drawn.
    pub value: Operand,
    /// Colour of the marks.
    pub color: Option<Color>,
    /// Length of the marks as a share of the axis, from the top if negative; `None` is the
    /// value of the series.
    pub fraction: Option<f64>,
    /// Legend; empty if none.
    pub legend: String,
}

/// `HRULE` (a value) and `VRULE` (a time, in seconds since 1970).
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Where; of a variable, `HRULE` takes the value and `VRULE` the time.
    pub at: Operand,
    /// Colour of the line; invisible if `None`.
    pub color: Option<Color>,
    /// Legend; empty if none.
    pub legend: String,
    /// Solid if `None`.
    pub dashes: Option<Dashes>,
}

/// `TEXTALIGN`: where the lines of the legend that follow begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "said by their names")]
pub enum Alignment {
    Left,
    Right,
    Justified,
    Center,
}

/// One argument of a graph.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "each is described at its type")]
pub enum Element {
    Def(Def),
    Cdef(Cdef),
    Vdef(Vdef),
    Print(Print),
    /// Text in the legend, its escapes `\:` resolved.
    Comment(String),
    Line(Line),
    Area(Area),
    Tick(TickMarks),
    HorizontalRule(Rule),
    VerticalRule(Rule),
    /// Moves a series by seconds.
    Shift {
        variable: usize,
        offset_s: Operand,
    },
    TextAlign(Alignment),
    /// A column of a table, with its legend.
    XPort {
        variable: usize,
        legend: String,
    },
}

impl Element {
    /// The name of the variable that the element defines.
    pub fn name(&self) -> Option<&str> {
        match self {
            Element::Def(Def { name, .. })
            | Element::Cdef(Cdef { name, .. })
            | Element::Vdef(Vdef { name, .. }) => Some(name),
            _ => None,
        }
    }
}
