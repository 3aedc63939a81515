//! A query as a tree of what is to be done, made from the tree of `promql-parser`.
//!
//! Here, and only here, that crate's tree is known.  Functions are looked up, what is not offered is
//! refused by name, `@` becomes a time, and each selector notes the period that it needs.

use promql_parser::label::Matcher;
use promql_parser::parser::value::ValueType;
use promql_parser::parser::{
    AtModifier, BinModifier, BinaryExpr, Expr, LabelModifier, Offset, VectorMatchCardinality,
    VectorSelector,
};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use crate::error::refused;
use crate::storage::name_matcher;
use crate::windows::{Fold, OverWindow};
use crate::words::{self, Function, Operation, Operator};
use crate::{QueryError, QuerySteps};

/// Bytes of a query.  The longest of public dashboards have 2,000.
const QUERY_BYTES_MAX: usize = 8192;

/// Signs in a query that may nest: the parser and its tree recurse, and copy what aggregations
/// contain.
const SIGNS_MAX: usize = 1000;

/// Parentheses in parentheses; the same reason.
const NESTING_MAX: usize = 64;

/// Levels of the tree: each is a few hundred bytes of stack.
const LEVELS_MAX: usize = 150;

/// How far back the latest sample of a series may be.
pub(crate) const LOOKBACK_MS: i64 = 5 * 60 * 1000;

/// The step of a subquery without one: Prometheus's default interval of evaluation.
const SUBQUERY_STEP_MS: i64 = 60_000;

/// No time is further from 1970, so that sums of times do not overflow: 35,000 years.
pub(crate) const TIME_MS_MAX: i64 = 1 << 50;

/// A part of a query.
pub(crate) enum Node {
    Number(f64),
    Text(String),
    /// The latest sample of each series.
    Latest(SelectorTimes),
    /// The samples of each series in a window of time.
    Window(Window),
    Negate(Box<Node>),
    Binary(Box<Binary>),
    Aggregate(Box<Aggregate>),
    Call(Function, Vec<Node>),
}

/// Which times a selector looks at, and which series it selected.
pub(crate) struct SelectorTimes {
    /// The number of the selector among all selectors; of a subquery, its number among the subqueries.
    pub(crate) index: usize,
    /// A fixed time instead of that of the step.
    pub(crate) at_ms: Option<i64>,
    pub(crate) offset_ms: i64,
}

impl SelectorTimes {
    /// The time to look at, at a step.
    pub(crate) fn time_ms(&self, step_ms: i64) -> i64 {
        self.at_ms.unwrap_or(step_ms) - self.offset_ms
    }
}

/// Samples in a window that ends at the time of its place.
pub(crate) struct Window {
    pub(crate) place: SelectorTimes,
    pub(crate) length_ms: i64,
    /// Where they come from: a selector, or a query evaluated at the steps of a period.
    pub(crate) subquery: Option<(Box<Node>, QuerySteps)>,
}

pub(crate) struct Binary {
    pub(crate) operator: Operator,
    pub(crate) left: Node,
    pub(crate) right: Node,
    /// A comparison gives 0 or 1.
    pub(crate) is_bool: bool,
    pub(crate) on: Grouping,
    pub(crate) many: Many,
}

/// The side with several elements for one of the other.
#[derive(PartialEq, Eq)]
pub(crate) enum Many {
    None,
    Left(Vec<String>),
    Right(Vec<String>),
}

pub(crate) struct Aggregate {
    pub(crate) operation: Operation,
    pub(crate) parameter: Option<Node>,
    pub(crate) inner: Node,
    pub(crate) by: Grouping,
}

/// Which labels count.
pub(crate) enum Grouping {
    Only(Vec<String>),
    AllBut(Vec<String>),
}

/// What a selector asks of the storage.
pub(crate) struct Selection {
    pub(crate) matchers: Vec<Matcher>,
    pub(crate) from_ms: i64,
    pub(crate) to_ms: i64,
    /// Windows have no stale marks.
    pub(crate) is_window: bool,
    /// What is wanted of a window of a single step, if its samples are not.
    pub(crate) fold: Option<PlannedFold>,
}

/// A function over a window, with its numbers, at a step.
#[derive(Clone, Copy)]
pub(crate) struct PlannedFold {
    over: OverWindow,
    numbers: [f64; 2],
    step_ms: i64,
}

impl PlannedFold {
    /// Nothing yet of its samples.
    pub(crate) fn begin(&self) -> Fold {
        Fold::new(self.over, self.numbers, self.step_ms)
    }
}

/// A whole query.
pub(crate) struct Plan {
    pub(crate) root: Node,
    pub(crate) kind: ValueType,
    pub(crate) selections: Vec<Selection>,
    pub(crate) subqueries: usize,
}

impl Plan {
    /// The plan of a query over a period.
    pub(crate) fn new(text: &str, period: QuerySteps) -> Result<Self, QueryError> {
        Plan::of_piece(text, period, period)
    }

    /// The plan of a query over a piece of its whole period.
    pub(crate) fn of_piece(
        text: &str,
        period: QuerySteps,
        whole: QuerySteps,
    ) -> Result<Self, QueryError> {
        let expr = parse(text)?;
        let mut planner = Planner { whole, selections: Vec::new(), subqueries: 0, levels: 0 };
        let kind = expr.value_type();
        let root = planner.node(&expr, period)?;
        let Planner { selections, subqueries, .. } = planner;
        Ok(Plan { root, kind, selections, subqueries })
    }

    /// How much longer than the period of the plan is what a selector needs: its window.
    pub(crate) fn window_ms(&self, period: QuerySteps) -> i64 {
        let length_ms = period.end_ms - period.start_ms;
        let lengths = self.selections.iter().map(|one| one.to_ms - one.from_ms - length_ms);
        lengths.max().unwrap_or(0).max(0)
    }
}

/// The matchers of a text that is one selector.
pub(crate) fn parse_selector(text: &str) -> Result<Vec<Matcher>, QueryError> {
    match parse(text)? {
        Expr::VectorSelector(selector) if selector.at.is_none() && selector.offset.is_none() => {
            matchers(&selector)
        }
        _ => refused(format!("{text:?} is not a series selector")),
    }
}

fn parse(text: &str) -> Result<Expr, QueryError> {
    check_size(text)?;
    promql_parser::parser::parse(&with_new_names(text))
        .map_err(|message| QueryError::BadData(format!("parse error: {message}")))
}

/// A query with the new name of a function that Prometheus 3 renamed; quoted texts stay.
fn with_new_names(text: &str) -> Cow<'_, str> {
    static TOKENS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`|[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?"#)
            .ok()
    });
    match &*TOKENS {
        Some(tokens) if text.contains(words::SMOOTHING_BEFORE) => {
            tokens.replace_all(text, |found: &Captures<'_>| {
                let called = found[0].strip_suffix('(').map(str::trim_end);
                match called {
                    Some(words::SMOOTHING_BEFORE) => format!("{}(", words::SMOOTHING),
                    _ => found[0].to_owned(),
                }
            })
        }
        _ => Cow::Borrowed(text),
    }
}

/// Refuses what would make the parser slow or its stack deep.
fn check_size(text: &str) -> Result<(), QueryError> {
    if text.len() > QUERY_BYTES_MAX {
        return refused(format!("the query has more than {QUERY_BYTES_MAX} bytes"));
    }
    let (mut depth, mut signs, mut quote, mut bytes) = (0_usize, 0, None, text.bytes());
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            // The byte behind it ends no text.
            (Some(b'"' | b'\''), b'\\') => drop(bytes.next()),
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'(' | b'[' | b'{') => (depth, signs) = (depth + 1, signs + 1),
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            (None, b'+' | b'-' | b'*' | b'/' | b'%' | b'^' | b'<' | b'>' | b'=' | b'!') => {
                signs += 1;
            }
            (None, _) => {}
        }
        if depth > NESTING_MAX || signs > SIGNS_MAX {
            return refused("the query is nested too deeply: split it");
        }
    }
    Ok(())
}

struct Planner {
    /// The period of the whole query: `start()` and `end()`.
    whole: QuerySteps,
    selections: Vec<Selection>,
    subqueries: usize,
    levels: usize,
}

impl Planner {
    /// A part that is evaluated at the steps of a period.
    fn node(&mut self, expr: &Expr, period: QuerySteps) -> Result<Node, QueryError> {
        self.levels += 1;
        if self.levels > LEVELS_MAX {
            return refused("the query is nested too deeply: split it");
        }
        let node = match expr {
            Expr::Paren(inner) => self.node(&inner.expr, period),
            Expr::NumberLiteral(number) => Ok(Node::Number(number.val)),
            Expr::StringLiteral(text) => Ok(Node::Text(text.val.clone())),
            Expr::VectorSelector(selector) => {
                self.selector(selector, LOOKBACK_MS, false, period).map(Node::Latest)
            }
            Expr::MatrixSelector(matrix) => {
                let length_ms = milliseconds(matrix.range)?;
                let place = self.selector(&matrix.vs, length_ms, true, period)?;
                Ok(Node::Window(Window { place, length_ms, subquery: None }))
            }
            Expr::Subquery(inner) => self.subquery(inner, period).map(Node::Window),
            Expr::Unary(inner) => Ok(Node::Negate(Box::new(self.node(&inner.expr, period)?))),
            Expr::Binary(binary) => self.binary(binary, period),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, period),
            Expr::Call(call) => {
                let function = words::function(call.func.name)?;
                let arguments = call.args.args.iter().map(|one| self.node(one, period));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                if period.steps() == 1 {
                    self.fold(function, &arguments, period.start_ms);
                }
                Ok(Node::Call(function, arguments))
            }
            Expr::Extension(_) => refused("extensions are not supported"),
        };
        self.levels -= 1;
        node
    }

    /// Notes that of a window at a single step only the number is wanted that a function makes of it.
    fn fold(&mut self, function: Function, arguments: &[Node], step_ms: i64) {
        let (Function::Over(over), Some((window, others))) = (function, window_of(arguments))
        else {
            return;
        };
        let number = |other: Option<&Node>| match other {
            None => Some(0.0),
            Some(Node::Number(number)) => Some(*number),
            Some(_) => None,
        };
        if let ([Some(first), Some(second)], None) = (others.map(number), &window.subquery) {
            let numbers = [first, second];
            self.selections[window.place.index].fold = Some(PlannedFold { over, numbers, step_ms });
        }
    }

    /// Notes what a selector needs: samples as old as `length_ms` at every step of the period.
    fn selector(
        &mut self,
        selector: &VectorSelector,
        length_ms: i64,
        is_window: bool,
        period: QuerySteps,
    ) -> Result<SelectorTimes, QueryError> {
        let place =
            self.place(self.selections.len(), selector.at.as_ref(), selector.offset.as_ref())?;
        let from_ms = place.time_ms(period.start_ms) - length_ms;
        let to_ms = place.time_ms(period.last_ms());
        let matchers = matchers(selector)?;
        self.selections.push(Selection { matchers, from_ms, to_ms, is_window, fold: None });
        Ok(place)
    }

    fn place(
        &self,
        index: usize,
        at: Option<&AtModifier>,
        offset: Option<&Offset>,
    ) -> Result<SelectorTimes, QueryError> {
        let at_ms = match at {
            None => None,
            Some(AtModifier::Start) => Some(self.whole.start_ms),
            Some(AtModifier::End) => Some(self.whole.end_ms),
            Some(AtModifier::At(time)) => Some(match time.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(after) => milliseconds(after)?,
                Err(before) => -milliseconds(before.duration())?,
            }),
        };
        let offset_ms = match offset {
            None => 0,
            Some(Offset::Pos(offset)) => milliseconds(*offset)?,
            Some(Offset::Neg(offset)) => -milliseconds(*offset)?,
        };
        Ok(SelectorTimes { index, at_ms, offset_ms })
    }

    fn subquery(
        &mut self,
        expr: &promql_parser::parser::SubqueryExpr,
        period: QuerySteps,
    ) -> Result<Window, QueryError> {
        let index = self.subqueries;
        self.subqueries += 1;
        let place = self.place(index, expr.at.as_ref(), expr.offset.as_ref())?;
        let length_ms = milliseconds(expr.range)?;
        let step_ms = expr.step.map_or(Ok(SUBQUERY_STEP_MS), milliseconds)?;
        if step_ms == 0 {
            return refused("zero or negative step of a subquery");
        }
        let from_ms = place.time_ms(period.start_ms) - length_ms;
        let end_ms = place.time_ms(period.end_ms);
        // The first multiple of the step in the window, as Prometheus finds it.
        let mut start_ms = from_ms / step_ms * step_ms;
        if start_ms < from_ms {
            start_ms += step_ms;
        }
        let inner = QuerySteps { start_ms, end_ms, step_ms };
        let node = self.node(&expr.expr, inner)?;
        Ok(Window { place, length_ms, subquery: Some((Box::new(node), inner)) })
    }

    fn binary(&mut self, expr: &BinaryExpr, period: QuerySteps) -> Result<Node, QueryError> {
        let operator = Operator::of(&expr.op.to_string())?;
        let plain = BinModifier::default();
        let modifier = expr.modifier.as_ref().unwrap_or(&plain);
        let fill = &modifier.fill_values;
        if fill.lhs.is_some() || fill.rhs.is_some() {
            return refused("the modifiers fill, fill_left and fill_right are not supported");
        }
        let many = match &modifier.card {
            VectorMatchCardinality::ManyToOne(labels) => Many::Left(labels.labels.clone()),
            VectorMatchCardinality::OneToMany(labels) => Many::Right(labels.labels.clone()),
            _ => Many::None,
        };
        let on = grouping(modifier.matching.as_ref(), Grouping::AllBut(Vec::new()));
        let left = self.node(&expr.lhs, period)?;
        let right = self.node(&expr.rhs, period)?;
        let is_bool = modifier.return_bool;
        Ok(Node::Binary(Box::new(Binary { operator, left, right, is_bool, on, many })))
    }

    fn aggregate(
        &mut self,
        expr: &promql_parser::parser::AggregateExpr,
        period: QuerySteps,
    ) -> Result<Node, QueryError> {
        let operation = Operation::of(&expr.op.to_string())?;
        let by = grouping(expr.modifier.as_ref(), Grouping::Only(Vec::new()));
        let parameter = expr.param.as_ref().map(|one| self.node(one, period)).transpose()?;
        let inner = self.node(&expr.expr, period)?;
        Ok(Node::Aggregate(Box::new(Aggregate { operation, parameter, inner, by })))
    }
}

/// The window among the arguments of a function over one, and its other arguments.
pub(crate) fn window_of(arguments: &[Node]) -> Option<(&Window, [Option<&Node>; 2])> {
    Some(match arguments {
        [Node::Window(window)] => (window, [None; 2]),
        [other, Node::Window(window)] | [Node::Window(window), other] => {
            (window, [Some(other), None])
        }
        [Node::Window(window), first, second] => (window, [Some(first), Some(second)]),
        _ => return None,
    })
}

fn grouping(modifier: Option<&LabelModifier>, default: Grouping) -> Grouping {
    match modifier {
        None => default,
        Some(LabelModifier::Include(labels)) => Grouping::Only(labels.labels.clone()),
        Some(LabelModifier::Exclude(labels)) => Grouping::AllBut(labels.labels.clone()),
    }
}

fn matchers(selector: &VectorSelector) -> Result<Vec<Matcher>, QueryError> {
    if !selector.matchers.or_matchers.is_empty() {
        return refused("`or` between matchers is not supported: use =~");
    }
    let mut matchers = selector.matchers.matchers.clone();
    matchers.extend(selector.name.as_deref().map(name_matcher));
    Ok(matchers)
}

fn milliseconds(duration: Duration) -> Result<i64, QueryError> {
    match i64::try_from(duration.as_millis()) {
        Ok(milliseconds) if milliseconds <= TIME_MS_MAX => Ok(milliseconds),
        _ => refused("duration out of range"),
    }
}
