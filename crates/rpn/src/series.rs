//! An expression over series: a CDEF of a graph.
//!
//! Series may have different steps.  The caller evaluates at each step of the result, in order; a
//! series moves to its next value when the time is a multiple of its step, as RRDtool does.

use calendar::CivilZone;

use crate::evaluate::{Inputs, run};
use crate::window::{SeriesPosition, Window};
use crate::{EvaluateError as E, Node, Program, Stack};

/// What a variable of the expression is.
#[derive(Clone, Copy, Debug)]
pub enum SeriesInput<'a> {
    /// One value for all times.
    Constant(f64),
    /// A column of a table.
    Series {
        /// The table, row by row.
        values: &'a [f64],
        /// Columns of the table.
        columns: usize,
        /// Which column, from 0.
        column: usize,
        /// The row of the first value that is wanted.
        first_row: i64,
        /// Seconds between two rows.
        step_s: i64,
    },
}

/// An expression and how far it has come.
pub struct Evaluator<'a> {
    nodes: Vec<Node>,
    windows: Vec<Option<Window<'a>>>,
    step_s: i64,
    now_s: f64,
    zone: &'a CivilZone,
    stack: Stack,
    position: usize,
    previous: f64,
    time_s: i64,
}

impl<'a> Evaluator<'a> {
    /// Starts an evaluation.  `input` gives the variable of an index; `step_s` is the step of the
    /// result; `now_s` is the wall clock, in seconds since 1970.
    pub fn new(
        program: &Program,
        mut input: impl FnMut(usize) -> SeriesInput<'a>,
        step_s: i64,
        now_s: f64,
        zone: &'a CivilZone,
    ) -> Self {
        let mut nodes = program.nodes().to_vec();
        let mut windows = vec![None; nodes.len()];
        for (node, window) in nodes.iter_mut().zip(&mut windows) {
            let (Node::Variable(index) | Node::PreviousOf(index)) = *node else { continue };
            match input(index) {
                SeriesInput::Constant(value) => *node = Node::Number(value),
                SeriesInput::Series { values, columns, column, first_row, step_s } => {
                    *window = Some(Window { values, columns, column, step_s, row: first_row });
                }
            }
        }
        Evaluator {
            nodes,
            windows,
            step_s,
            now_s,
            zone,
            stack: Stack::new(),
            position: 0,
            previous: crate::UNKNOWN,
            time_s: 0,
        }
    }

    /// The value at the next step, which ends at `time_s`, in seconds since 1970.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn next(&mut self, time_s: i64) -> Result<f64, E> {
        self.time_s = time_s;
        let nodes = std::mem::take(&mut self.nodes);
        let mut stack = std::mem::take(&mut self.stack);
        let result = run(&nodes, self, &mut stack);
        self.nodes = nodes;
        self.stack = stack;
        self.position += 1;
        self.previous = result.clone()?;
        result
    }

    /// The value of a node's series, `back` rows before the next; then moves on.
    fn read(&mut self, node: usize, back: i64) -> f64 {
        let Some(window) = &mut self.windows[node] else { return crate::UNKNOWN };
        let value = window.back(back);
        if window.step_s > 0 && self.time_s % window.step_s == 0 {
            window.row += 1;
        }
        value.unwrap_or(crate::UNKNOWN)
    }
}

impl Inputs for Evaluator<'_> {
    fn variable(&mut self, node: usize, _variable: usize) -> Result<f64, E> {
        Ok(self.read(node, 0))
    }

    fn previous_of(&mut self, node: usize, _variable: usize) -> Result<f64, E> {
        let value = self.read(node, 1);
        Ok(if self.position == 0 { crate::UNKNOWN } else { value })
    }

    fn now_s(&self) -> f64 {
        self.now_s
    }

    fn place(&self) -> Option<SeriesPosition<'_>> {
        Some(SeriesPosition {
            position: self.position,
            previous: self.previous,
            time_s: self.time_s,
            step_s: self.step_s,
            zone: self.zone,
        })
    }

    fn window(&self, node: usize) -> Option<Window<'_>> {
        self.windows.get(node).copied().flatten()
    }
}
