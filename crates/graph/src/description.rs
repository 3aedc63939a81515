//! From arguments to elements: `DEF:a=file.rrd:speed:AVERAGE`, `LINE2:a#ff0000:legend`.
//!
//! Every field may be given by its place or by its name (`LINE:vname=a:color=ff0000`).  Grammar and
//! error texts are those of RRDtool 1.7.2.  A colour that is none is an error; RRDtool leaves out
//! the elements after it without a word.

use calendar::CivilZone;
use text::rrdtool_number;
use time_words::TimeSpec;

use crate::arguments::{Arguments, cut};
pub use crate::description_error::DescriptionError;
use crate::description_error::{DescriptionError as E, ELEMENTS_MAX};
use crate::elements::{
    Alignment, Area, Cdef, Color, Consolidation, Dashes, Def, Element, Line, Operand, Print,
    PrintStyle, Rule, TickMarks, Vdef, VdefFunction,
};

/// Longest legend and format, in bytes; the rest is cut off.
const TEXT_BYTES_MAX: usize = 200;

/// First time that a series may start at, in seconds since 1970.
const START_S_MIN: i64 = 10 * 365 * 24 * 3600;

/// The time that a description is parsed for.
#[derive(Clone, Copy, Debug)]
pub struct GraphTimes<'a> {
    /// Start of the graph, in seconds since 1970.
    pub start_s: i64,
    /// End of the graph, in seconds since 1970.
    pub end_s: i64,
    /// The wall clock, in seconds since 1970.
    pub now_s: i64,
    /// The zone of local times.
    pub zone: &'a CivilZone,
}

/// A parsed description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The elements, in the order of the arguments.
    pub elements: Vec<Element>,
}

impl Description {
    /// Parses the arguments of a graph that are no options.
    ///
    /// # Errors
    /// The first element that is wrong, with RRDtool's text.
    pub fn parse<'t>(
        arguments: impl IntoIterator<Item = &'t str>,
        context: &GraphTimes<'_>,
    ) -> Result<Self, DescriptionError> {
        let mut description = Description::default();
        for argument in arguments {
            let mut arguments = Arguments::split(argument)?;
            let element = description.element(&mut arguments, context)?;
            description.elements.push(element);
            arguments.finish()?;
            if description.elements.len() > ELEMENTS_MAX {
                return Err(E::TooLong);
            }
        }
        Ok(description)
    }

    /// The index of the element that defines a variable.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.elements.iter().position(|element| element.name() == Some(name))
    }

    fn element(
        &mut self,
        arguments: &mut Arguments<'_>,
        context: &GraphTimes<'_>,
    ) -> Result<Element, E> {
        let command = arguments.take("cmd").or_else(|| arguments.take("pos0"));
        let command = command.ok_or_else(|| E::NoCommand(arguments.original.to_owned()))?;
        match command.as_str() {
            "DEF" => def(arguments, context),
            "CDEF" => self.cdef(arguments),
            "VDEF" => self.vdef(arguments),
            "PRINT" => self.print(arguments, false),
            "GPRINT" => self.print(arguments, true),
            "COMMENT" => comment(arguments),
            "AREA" => self.area(arguments),
            "STACK" => self.stack(arguments),
            "TICK" => self.tick(arguments),
            "HRULE" => self.rule(arguments).map(Element::HorizontalRule),
            "VRULE" => self.rule(arguments).map(Element::VerticalRule),
            "SHIFT" => self.shift(arguments),
            "TEXTALIGN" => text_align(arguments),
            "XPORT" => self.xport(arguments),
            _ => match command.strip_prefix("LINE") {
                Some(width) => self.line(arguments, width),
                None => {
                    let element = arguments.original.to_owned();
                    Err(E::UnknownCommand { command, element })
                }
            },
        }
    }

    fn cdef(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let (name, text) = self.definition(arguments)?;
        let program = rpn::Program::parse(&text, |name| self.find(name))?;
        Ok(Element::Cdef(Cdef { name, program }))
    }

    /// Name and expression of a `CDEF` or `VDEF`.
    fn definition(&self, arguments: &mut Arguments<'_>) -> Result<(String, String), E> {
        let (mut name, mut text) = (arguments.take("vname"), arguments.take("rpn"));
        if name.is_none() || text.is_none() {
            let pair = arguments.next_pair().ok_or_else(|| E::NoDefinition {
                what: "vdef/rrd",
                element: arguments.original.to_owned(),
            })?;
            name = name.or(Some(pair.0));
            text = text.or(Some(pair.1));
        }
        let name = name.unwrap_or_default();
        let name = name.split('#').next().unwrap_or_default().to_owned();
        if self.find(&name).is_some() {
            return Err(E::Reused(name));
        }
        Ok((name, text.unwrap_or_default()))
    }

    fn vdef(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let (name, text) = self.definition(arguments)?;
        let Some((series, function)) = text.split_once(',') else { return Err(E::NoComma(text)) };
        let bad = || E::BadName { name: series.to_owned(), line: text.clone() };
        let index = self.find(series).ok_or_else(bad)?;
        if !self.is_series(index) {
            return Err(E::NoSeries { name: series.to_owned(), line: text });
        }
        let (function, parameter) = vdef_function(function, &name)?;
        Ok(Element::Vdef(Vdef { name, series: index, function, parameter }))
    }

    fn is_series(&self, index: usize) -> bool {
        matches!(self.elements.get(index), Some(Element::Def(_) | Element::Cdef(_)))
    }

    fn print(&self, arguments: &mut Arguments<'_>, is_in_graph: bool) -> Result<Element, E> {
        let name = arguments.take("vname");
        let mut consolidation = match arguments.take("cf") {
            Some(name) => {
                Some(Consolidation::by_name(&name).ok_or_else(|| E::Consolidation(name.clone()))?)
            }
            None => None,
        };
        let format = arguments.take("format");
        let style = style(arguments)?;
        let variable = match name {
            Some(name) => self.find(&name).ok_or(E::NotFound(name))?,
            None => {
                let name = arguments.next().ok_or(E::Missing("No positional VNAME"))?;
                self.find(&name).ok_or(E::Undefined(name))?
            }
        };
        if self.is_series(variable) && consolidation.is_none() {
            let name = arguments.next().ok_or(E::Missing("No positional CDEF"))?;
            let known = Consolidation::by_name(&name);
            consolidation = Some(known.ok_or(E::PrintConsolidation(name))?);
        }
        let format = format.filter(|format| !format.is_empty()).or_else(|| arguments.next());
        let format = format.ok_or(E::Missing("No positional CF/FORMAT"))?;
        let format = cut(&format, TEXT_BYTES_MAX).to_owned();
        Ok(Element::Print(Print { variable, consolidation, format, style, is_in_graph }))
    }

    fn line(&self, arguments: &mut Arguments<'_>, width: &str) -> Result<Element, E> {
        let mut painted = Painted::from_arguments(arguments);
        let is_stacked = arguments.take("stack").is_some();
        let skips_scale = arguments.take("skipscale").is_some();
        check_axes(arguments)?;
        let width = arguments.take("linewidth").unwrap_or_else(|| width.to_owned());
        let width = if width.is_empty() { 1.0 } else { line_width(&width)? };
        let dashes = dashes(arguments)?;
        painted.positional(arguments)?;
        let value = self.value(&painted.name)?;
        let color = painted.color()?;
        let legend = painted.legend;
        let line = Line { value, width, color, legend, is_stacked, skips_scale, dashes };
        Ok(Element::Line(line))
    }

    fn area(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let mut painted = Painted::from_arguments(arguments);
        let is_stacked = arguments.take("stack").is_some();
        let skips_scale = arguments.take("skipscale").is_some();
        check_axes(arguments)?;
        let gradient_height = match arguments.take("gradheight").filter(|text| !text.is_empty()) {
            Some(text) => number(&text).ok_or(E::Bad { what: "gradheight", value: text })?,
            None => 50.0,
        };
        painted.positional(arguments)?;
        let value = self.value(&painted.name)?;
        let (color, color2) = (painted.color()?, painted.color2()?);
        let legend = painted.legend;
        Ok(Element::Area(Area {
            value,
            color,
            color2,
            gradient_height,
            legend,
            is_stacked,
            skips_scale,
        }))
    }

    /// `STACK`: a line or an area like the one before, on top of it.
    fn stack(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let mut painted = Painted::from_arguments(arguments);
        check_axes(arguments)?;
        painted.positional(arguments)?;
        let value = self.value(&painted.name)?;
        let (color, color2) = (painted.color()?, painted.color2()?);
        let legend = painted.legend;
        let is_shape = |element: &&Element| matches!(element, Element::Line(_) | Element::Area(_));
        match self.elements.iter().rev().find(is_shape) {
            Some(Element::Line(line)) => Ok(Element::Line(Line {
                value,
                width: line.width,
                color,
                legend,
                is_stacked: true,
                skips_scale: false,
                dashes: None,
            })),
            Some(_) => Ok(Element::Area(Area {
                value,
                color,
                color2,
                gradient_height: 50.0,
                legend,
                is_stacked: true,
                skips_scale: false,
            })),
            None => Err(E::NothingToStackOn(arguments.original.to_owned())),
        }
    }

    fn tick(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let mut painted = Painted::from_arguments(arguments);
        let fraction = arguments.take("fraction");
        painted.name_or_next(arguments)?;
        let fraction = fraction.or_else(|| arguments.next());
        let fraction = fraction.ok_or(E::Missing("No positional FRACTION"))?;
        painted.legend_or_next(arguments);
        let value = self.value(&painted.name)?;
        let color = painted.color()?;
        let fraction = if fraction == "vname" {
            let is_series = matches!(value, Operand::Variable(index) if self.is_series(index));
            if !is_series {
                return Err(E::Fraction(painted.name));
            }
            None
        } else {
            Some(number(&fraction).ok_or_else(|| E::Number(painted.name.clone()))?)
        };
        Ok(Element::Tick(TickMarks { value, color, fraction, legend: painted.legend }))
    }

    fn rule(&self, arguments: &mut Arguments<'_>) -> Result<Rule, E> {
        let mut painted = Painted::from_arguments(arguments);
        check_axes(arguments)?;
        let dashes = dashes(arguments)?;
        painted.positional(arguments)?;
        let at = self.value(&painted.name)?;
        let color = painted.color()?;
        if let Operand::Variable(index) = at
            && self.is_series(index)
        {
            let line = arguments.original.to_owned();
            return Err(E::WrongType { name: painted.name, line });
        }
        Ok(Rule { at, color, legend: painted.legend, dashes })
    }

    fn shift(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let name = arguments.take("vname");
        let name = name.or_else(|| arguments.next()).ok_or_else(|| E::NoDefinition {
            what: "vdef/rrd",
            element: arguments.original.to_owned(),
        })?;
        let variable = self.find(&name).ok_or_else(|| E::NotFound(name.clone()))?;
        let line = || arguments.original.to_owned();
        if !self.is_series(variable) {
            return Err(E::ShiftOfVdef { name, line: line() });
        }
        let line = line();
        let shift = arguments.take("shift").or_else(|| arguments.next());
        let shift = shift.ok_or(E::Missing("No shift given"))?;
        let offset_s = match self.find(&shift) {
            Some(index) if self.is_series(index) => {
                return Err(E::ShiftBySeries { name: shift, line });
            }
            Some(index) => Operand::Variable(index),
            None => {
                let seconds = integer(&shift).ok_or(E::Number(shift))?;
                Operand::Number(seconds as f64)
            }
        };
        Ok(Element::Shift { variable, offset_s })
    }

    fn xport(&self, arguments: &mut Arguments<'_>) -> Result<Element, E> {
        let mut painted = Painted::from_arguments(arguments);
        painted.positional(arguments)?;
        match self.value(&painted.name)? {
            Operand::Variable(variable) if self.is_series(variable) => {
                painted.color()?;
                Ok(Element::XPort { variable, legend: painted.legend })
            }
            Operand::Variable(_) => {
                Err(E::ShiftOfVdef { name: painted.name, line: arguments.original.to_owned() })
            }
            Operand::Number(_) => Err(E::NotASeries(arguments.original.to_owned())),
        }
    }

    fn value(&self, name: &str) -> Result<Operand, E> {
        let value = self.find(name).map(Operand::Variable);
        let value = value.or_else(|| number(name).map(Operand::Number));
        value.ok_or_else(|| E::NoValue(name.to_owned()))
    }
}

/// Variable, colours and legend of an element.
#[derive(Default)]
struct Painted {
    has_name: bool,
    has_legend: bool,
    name: String,
    color: Option<String>,
    color2: Option<String>,
    legend: String,
    /// The whole element, for errors.
    element: String,
}

impl Painted {
    fn from_arguments(arguments: &mut Arguments<'_>) -> Self {
        let name = arguments.take("vname");
        let color = arguments.take("color");
        let color2 = arguments.take("color2");
        let legend = arguments.take("legend");
        let mut painted = Painted {
            has_name: name.is_some(),
            has_legend: legend.is_some(),
            color,
            color2,
            legend: cut(&legend.unwrap_or_default(), TEXT_BYTES_MAX).to_owned(),
            element: arguments.original.to_owned(),
            ..Painted::default()
        };
        painted.set_name(&name.unwrap_or_default());
        painted
    }

    fn positional(&mut self, arguments: &mut Arguments<'_>) -> Result<(), E> {
        self.name_or_next(arguments)?;
        self.legend_or_next(arguments);
        Ok(())
    }

    fn name_or_next(&mut self, arguments: &mut Arguments<'_>) -> Result<(), E> {
        if !self.has_name {
            let name = arguments.next().ok_or(E::Missing("No positional VNAME"))?;
            self.set_name(&name);
        }
        Ok(())
    }

    fn legend_or_next(&mut self, arguments: &mut Arguments<'_>) {
        if !self.has_legend {
            let legend = arguments.next().unwrap_or_default();
            cut(&legend, TEXT_BYTES_MAX).clone_into(&mut self.legend);
        }
    }

    /// Splits `name#color#color2`.
    fn set_name(&mut self, text: &str) {
        let mut parts = text.splitn(3, '#').map(str::to_owned);
        self.name = parts.next().unwrap_or_default();
        let (color, color2) = (parts.next(), parts.next());
        self.color = self.color.take().or(color);
        self.color2 = self.color2.take().or(color2);
    }

    fn color(&self) -> Result<Option<Color>, E> {
        self.parsed(self.color.as_deref())
    }

    fn color2(&self) -> Result<Option<Color>, E> {
        self.parsed(self.color2.as_deref())
    }

    fn parsed(&self, text: Option<&str>) -> Result<Option<Color>, E> {
        let Some(text) = text else { return Ok(None) };
        let bad = || E::Color { text: text.to_owned(), element: self.element.clone() };
        color(text).map(Some).ok_or_else(bad)
    }
}

/// A colour of 3, 4, 6 or 8 hexadecimal digits.
pub fn color(text: &str) -> Option<Color> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits?;
    let parts: Vec<u8> = match digits.len() {
        3 | 4 => digits.iter().map(|digit| digit * 0x11).collect(),
        6 | 8 => digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect(),
        _ => return None,
    };
    let alpha = parts.get(3).copied().unwrap_or(255);
    Some(Color { red: parts[0], green: parts[1], blue: parts[2], alpha })
}

fn def(arguments: &mut Arguments<'_>, context: &GraphTimes<'_>) -> Result<Element, E> {
    let (mut name, mut file) = (arguments.take("vname"), arguments.take("rrd"));
    let (source, function) = (arguments.take("ds"), arguments.take("cf"));
    let reduce = match arguments.take("reduce") {
        Some(name) => Some(Consolidation::by_name(&name).ok_or(E::Reduce(name))?),
        None => None,
    };
    let step_s = match arguments.take("step") {
        Some(text) => {
            let step = integer(&text).filter(|step| *step >= 1);
            Some(step.ok_or(E::Bad { what: "step value", value: text })?)
        }
        None => None,
    };
    let (start_s, end_s) = span(arguments, context)?;
    let daemon = arguments.take("daemon");
    let missing = |what| E::NoDefinition { what, element: arguments.original.to_owned() };
    let no_name = missing("vdef/rrd");
    let (no_source, no_function) = (missing("DS"), missing("CF"));
    if name.is_none() || file.is_none() {
        let pair = arguments.next_pair().ok_or(no_name)?;
        name = name.or(Some(pair.0));
        file = file.or(Some(pair.1));
    }
    let source = source.or_else(|| arguments.next()).ok_or(no_source)?;
    let function = function.or_else(|| arguments.next()).ok_or(no_function)?;
    let consolidation = Consolidation::by_name(&function).ok_or(E::Consolidation(function))?;
    Ok(Element::Def(Def {
        name: name.unwrap_or_default(),
        file: file.unwrap_or_default(),
        source,
        consolidation,
        reduce,
        step_s,
        start_s,
        end_s,
        daemon,
    }))
}

/// Start and end of a `DEF`, which may be relative to each other and to those of the graph.
fn span(arguments: &mut Arguments<'_>, context: &GraphTimes<'_>) -> Result<(i64, i64), E> {
    let mut time = |which: &'static str, default_s: i64| -> Result<TimeSpec, E> {
        match arguments.take(which) {
            Some(text) => time_words::parse(&text, context.now_s, context.zone)
                .map_err(|error| E::Time { which, error }),
            None => Ok(TimeSpec::at(default_s, context.zone)),
        }
    };
    let (start, end) = (time("start", context.start_s)?, time("end", context.end_s)?);
    let (start_s, end_s) = time_words::resolve(&start, &end, context.zone)?;
    if start_s < START_S_MIN {
        return Err(E::TooEarly(start_s));
    }
    if end_s < start_s {
        return Err(E::EndBeforeStart { start_s, end_s });
    }
    Ok((start_s, end_s))
}

fn comment(arguments: &mut Arguments<'_>) -> Result<Element, E> {
    let legend = arguments.take("legend").filter(|legend| !legend.is_empty());
    let legend = legend.or_else(|| arguments.next());
    let legend = legend.ok_or(E::Missing("No positional CF/FORMAT"))?;
    Ok(Element::Comment(cut(&legend, TEXT_BYTES_MAX).to_owned()))
}

fn text_align(arguments: &mut Arguments<'_>) -> Result<Element, E> {
    let text = arguments.take("align").or_else(|| arguments.next());
    let text = text.ok_or(E::Missing("No alignment given"))?;
    Ok(Element::TextAlign(match text.as_str() {
        "left" => Alignment::Left,
        "right" => Alignment::Right,
        "justified" => Alignment::Justified,
        "center" => Alignment::Center,
        _ => return Err(E::Alignment(text)),
    }))
}

fn style(arguments: &mut Arguments<'_>) -> Result<PrintStyle, E> {
    // `valstrftime` and `valstrfduration` are short for a `vformatter`.
    let formatter = match arguments.take("vformatter") {
        Some(text) => Some(match text.as_str() {
            "timestamp" => PrintStyle::ValueAsTime,
            "duration" => PrintStyle::ValueAsDuration,
            _ => return Err(E::Formatter(text)),
        }),
        None => None,
    };
    let is_time = arguments.take("strftime").is_some();
    Ok(match formatter {
        _ if is_time => PrintStyle::Time,
        Some(style) => style,
        None => PrintStyle::Number,
    })
}

/// There is one axis of each kind; RRDtool reads the number of another and does not use it.
fn check_axes(arguments: &mut Arguments<'_>) -> Result<(), E> {
    for (key, what) in [("xaxis", "xaxis value"), ("yaxis", "yaxis value")] {
        if let Some(value) = arguments.take(key)
            && !integer(&value).is_some_and(|axis| (1..=4).contains(&axis))
        {
            return Err(E::Bad { what, value });
        }
    }
    Ok(())
}

fn line_width(text: &str) -> Result<f64, E> {
    let width = number(text).filter(|width| *width >= 0.0);
    width.ok_or_else(|| E::Bad { what: "line width", value: text.to_owned() })
}

fn dashes(arguments: &mut Arguments<'_>) -> Result<Option<Dashes>, E> {
    let text = arguments.take("dashes");
    let offset = match arguments.take("dash-offset") {
        Some(text) => number(&text).ok_or(E::DashOffset(text))?,
        None => 0.0,
    };
    let Some(text) = text else { return Ok(None) };
    let mut lengths = Vec::new();
    let mut rest = text.as_str();
    loop {
        let (length, digits) = rrdtool_number::parse_prefix(rest.as_bytes());
        if digits == 0 {
            return Err(E::Dash(rest.to_owned()));
        }
        lengths.push(length);
        rest = match &rest[digits..] {
            "" => return Ok(Some(Dashes { lengths, offset })),
            after => after.strip_prefix(',').ok_or_else(|| E::DashComma(after.to_owned()))?,
        };
    }
}

fn is_of_number(character: char) -> bool {
    character.is_ascii_digit() || matches!(character, '.' | '-' | '+' | 'e' | 'E')
}

/// A number as C reads it, with nothing after it.
fn number(text: &str) -> Option<f64> {
    rrdtool_number::parse(text.as_bytes()).or_else(|| {
        let word = text.trim_start_matches(['+', '-']);
        let is_word = ["inf", "infinity", "nan"].iter().any(|is| word.eq_ignore_ascii_case(is));
        if is_word { text.parse().ok() } else { None }
    })
}

fn integer(text: &str) -> Option<i64> {
    text.trim_start().parse().ok()
}

fn vdef_function(text: &str, name: &str) -> Result<(VdefFunction, f64), E> {
    let name = || name.to_owned();
    let digits = text.len() - text.trim_start_matches(is_of_number).len();
    let parameter = rrdtool_number::parse(&text.as_bytes()[..digits]);
    let function = match parameter {
        Some(_) => text[digits..].strip_prefix(',').unwrap_or_default(),
        None => text,
    };
    if !function.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(E::UnknownFunctionString { text: text.to_owned(), name: name() });
    }
    let known = match function {
        "PERCENT" => VdefFunction::Percent,
        "PERCENTNAN" => VdefFunction::PercentNan,
        "MAXIMUM" => VdefFunction::Maximum,
        "AVERAGE" => VdefFunction::Average,
        "STDEV" => VdefFunction::StandardDeviation,
        "MINIMUM" => VdefFunction::Minimum,
        "TOTAL" => VdefFunction::Total,
        "FIRST" => VdefFunction::First,
        "LAST" => VdefFunction::Last,
        "LSLSLOPE" => VdefFunction::LeastSquaresSlope,
        "LSLINT" => VdefFunction::LeastSquaresIntercept,
        "LSLCORREL" => VdefFunction::LeastSquaresCorrelation,
        _ => return Err(E::UnknownFunction { text: function.to_owned(), name: name() }),
    };
    let takes_parameter = matches!(known, VdefFunction::Percent | VdefFunction::PercentNan);
    let text = function.to_owned();
    match parameter {
        None if takes_parameter => Err(E::NoParameter { text, name: name() }),
        Some(_) if !takes_parameter => Err(E::Parameter { text, name: name() }),
        Some(parameter) if !(0.0..=100.0).contains(&parameter) => {
            Err(E::OutOfRange { parameter, name: name() })
        }
        _ => Ok((known, parameter.unwrap_or(f64::NAN))),
    }
}
