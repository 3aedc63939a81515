//! How a description becomes data: series are fetched, reduced to the graph's step, and computed.
//!
//! Series come through a trait.  A series whose step is too small for the graph is consolidated;
//! an expression over series of different steps is evaluated at their greatest common divisor.
//! Numbers are those of RRDtool 1.7.2, to the last bit.

use calendar::CivilZone;
use rpn::UNKNOWN;
use rpn::series::{Evaluator, SeriesInput};

pub use crate::data::{Point, RegularSeries, SeriesRequest, SeriesSource, SeriesTable};
use crate::description::Description;
use crate::elements::{Cdef, Def, Element, Operand};
pub use crate::reduce::{ReduceError, reduce};
use crate::vdef;

/// Most values of a series: 512 MiB.
pub const VALUES_MAX: usize = 1 << 26;

/// What a series lacks.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each says what it is")]
pub enum DataError {
    #[error("{0}")]
    Fetch(String),
    #[error("No DS called '{source_name}' in '{file}'")]
    NoSource { source_name: String, file: String },
    #[error("{0}")]
    Reduce(#[from] ReduceError),
    #[error("{0}")]
    Rpn(#[from] rpn::EvaluateError),
    #[error("rpn expressions without DEF or CDEF variables are not supported")]
    NoVariables,
    /// The series of an expression have no time in common.
    #[error("malloc im->gdes[gdi].data")]
    NoTime,
    #[error("{file} gives rows of {step_s} seconds from {start_s} to {end_s}")]
    BadTable { file: String, start_s: i64, end_s: i64, step_s: i64 },
    #[error("CDEF {name} has {count} values, at most {VALUES_MAX}")]
    TooLong { name: String, count: i64 },
}

/// The time of a graph.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// The start, in seconds since 1970.
    pub start_s: i64,
    /// The end, in seconds since 1970.
    pub end_s: i64,
    /// The smallest step that is wanted, in seconds.
    pub step_s: i64,
}

impl Span {
    /// The time of a graph of some pixels: `step_s` is that of `--step`, 0 if there is none.
    pub fn of_width(start_s: i64, end_s: i64, step_s: i64, width: i64) -> Self {
        let pixel_s = end_s.saturating_sub(start_s) / width.max(1);
        Span { start_s, end_s, step_s: step_s.max(pixel_s) }
    }
}

/// What an element has become.
#[derive(Clone, Debug, PartialEq)]
pub enum Datum {
    /// The series of a `DEF` or `CDEF`.
    Series(RegularSeries),
    /// The value of a `VDEF`, and its time.
    Point(Point),
    /// All other elements have no data.
    None,
}

/// The data of a description.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// One for each element.
    pub data: Vec<Datum>,
}

impl Data {
    /// The series of an element.
    pub fn series(&self, index: usize) -> Option<&RegularSeries> {
        match self.data.get(index) {
            Some(Datum::Series(series)) => Some(series),
            _ => None,
        }
    }

    /// The point of an element.
    pub fn point(&self, index: usize) -> Option<&Point> {
        match self.data.get(index) {
            Some(Datum::Point(point)) => Some(point),
            _ => None,
        }
    }

    /// The number of a value, if it has one.
    pub fn number(&self, value: Operand) -> Option<f64> {
        match value {
            Operand::Number(number) => Some(number),
            Operand::Variable(index) => self.point(index).map(|point| point.value),
        }
    }
}

/// The wall clock and the time zone.
#[derive(Clone, Copy, Debug)]
pub struct WallClock<'a> {
    /// The time now, in seconds since 1970.
    pub now_s: i64,
    /// The zone of local times.
    pub zone: &'a CivilZone,
}

/// Fetches and computes all series and values of a description.
///
/// # Errors
/// If a database or an expression fails; the text is RRDtool's.
pub fn evaluate(
    description: &Description,
    source: &mut dyn SeriesSource,
    span: Span,
    environment: &WallClock<'_>,
) -> Result<Data, DataError> {
    let elements = &description.elements;
    let mut data = Data { data: vec![Datum::None; elements.len()] };
    let mut tables = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        if let Element::Def(def) = element {
            data.data[index] = Datum::Series(fetch(def, span, source, &mut tables)?);
        }
    }
    drop(tables);
    for (index, element) in elements.iter().enumerate() {
        match element {
            Element::Cdef(cdef) => {
                data.data[index] = Datum::Series(compute(cdef, &data, environment)?);
            }
            Element::Vdef(vdef) => {
                let series = data.series(vdef.series);
                let point = series.map(|series| vdef::calculate(vdef, series));
                data.data[index] = Datum::Point(point.unwrap_or_default());
            }
            Element::Shift { variable, offset_s } => {
                let offset_s = data.number(*offset_s).map_or(0, text::c_number::to_long);
                if let Some(Datum::Series(series)) = data.data.get_mut(*variable) {
                    shift(series, offset_s);
                }
            }
            _ => {}
        }
    }
    Ok(data)
}

fn shift(series: &mut RegularSeries, offset_s: i64) {
    series.shift_s = offset_s;
    series.start_s = series.start_s.saturating_add(offset_s);
    series.end_s = series.end_s.saturating_add(offset_s);
}

/// A table that several `DEF`s use, and what was asked for it.
struct Fetched<'a> {
    def: &'a Def,
    step_s: i64,
    table: SeriesTable,
}

fn fetch<'a>(
    def: &'a Def,
    span: Span,
    source: &mut dyn SeriesSource,
    tables: &mut Vec<Fetched<'a>>,
) -> Result<RegularSeries, DataError> {
    // A `step=` chooses the archive, but the result is never finer than the graph.
    let step_s = def.step_s.unwrap_or(span.step_s);
    let same = |fetched: &&Fetched<'_>| {
        let other = fetched.def;
        other.file == def.file
            && other.consolidation == def.consolidation
            && other.reduce == def.reduce
            && (other.start_s, other.end_s) == (def.start_s, def.end_s)
            && other.daemon == def.daemon
            && fetched.step_s == step_s
    };
    let known = tables.iter().position(|fetched| same(&fetched));
    let index = match known {
        Some(index) => index,
        None => {
            let table = fetch_table(def, step_s, step_s.max(span.step_s), source)?;
            tables.push(Fetched { def, step_s, table });
            tables.len() - 1
        }
    };
    let table = &tables[index].table;
    let column = table.columns.iter().position(|name| *name == def.source);
    let column = column.ok_or_else(|| DataError::NoSource {
        source_name: def.source.clone(),
        file: def.file.clone(),
    })?;
    let count = table.columns.len();
    Ok(RegularSeries {
        start_s: table.start_s,
        end_s: table.end_s,
        step_s: table.step_s,
        values: table.values.iter().skip(column).step_by(count).copied().collect(),
        shift_s: 0,
    })
}

fn fetch_table(
    def: &Def,
    step_s: i64,
    least_step_s: i64,
    source: &mut dyn SeriesSource,
) -> Result<SeriesTable, DataError> {
    let request = SeriesRequest {
        file: &def.file,
        consolidation: def.consolidation,
        start_s: def.start_s,
        end_s: def.end_s,
        step_s,
        daemon: def.daemon.as_deref(),
    };
    let table = source.fetch(&request).map_err(DataError::Fetch)?;
    let rows = table.end_s.checked_sub(table.start_s).map(|span_s| span_s / table.step_s.max(1));
    let rows = rows.and_then(|rows| usize::try_from(rows).ok());
    let fits = rows.and_then(|rows| rows.checked_mul(table.columns.len()));
    if table.step_s <= 0 || fits.is_none_or(|count| count > table.values.len()) {
        let SeriesTable { start_s, end_s, step_s, .. } = table;
        return Err(DataError::BadTable { file: def.file.clone(), start_s, end_s, step_s });
    }
    if table.step_s < least_step_s {
        return Ok(reduce(&table, def.reduce.unwrap_or(def.consolidation), least_step_s)?);
    }
    Ok(table)
}

/// Evaluates an expression from the latest start to the earliest end of its series.
fn compute(
    cdef: &Cdef,
    data: &Data,
    environment: &WallClock<'_>,
) -> Result<RegularSeries, DataError> {
    let used = || cdef.program.variables().filter_map(|index| data.series(index));
    let step_s = used().map(|series| series.step_s).fold(0, greatest_common_divisor);
    let start_s = used().map(|series| series.start_s).fold(0, i64::max);
    let end_s = used().map(|series| series.end_s).reduce(i64::min);
    let Some(end_s) = end_s.filter(|_| step_s > 0) else { return Err(DataError::NoVariables) };
    let count = (end_s - start_s) / step_s;
    if count < 0 {
        return Err(DataError::NoTime);
    }
    if count > VALUES_MAX as i64 {
        return Err(DataError::TooLong { name: cdef.name.clone(), count });
    }
    let input = |index: usize| match data.data.get(index) {
        Some(Datum::Series(series)) => SeriesInput::Series {
            values: &series.values,
            columns: 1,
            column: 0,
            first_row: (start_s - series.start_s) / series.step_s,
            step_s: series.step_s,
        },
        Some(Datum::Point(point)) => SeriesInput::Constant(point.value),
        _ => SeriesInput::Constant(UNKNOWN),
    };
    let mut evaluator =
        Evaluator::new(&cdef.program, input, step_s, environment.now_s as f64, environment.zone);
    let mut values = Vec::with_capacity(usize::try_from(count).unwrap_or_default());
    let mut time_s = start_s + step_s;
    while time_s <= end_s {
        values.push(evaluator.next(time_s)?);
        time_s += step_s;
    }
    Ok(RegularSeries { start_s, end_s, step_s, values, shift_s: 0 })
}

/// The greatest common divisor of two steps; 0 is no step.
pub(crate) fn greatest_common_divisor(left: i64, right: i64) -> i64 {
    if right == 0 { left } else { greatest_common_divisor(right, left % right) }
}
