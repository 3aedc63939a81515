//! All combinations of the sources' values (`:::` after `:::`).
//!
//! The sources advance like the digits of a counter, the last one fastest.  A source is read when
//! its next value is first needed, so jobs start while a slow source is still being written.  The
//! values of the first source are never kept.

use super::values::{Cells, Reading, Values};
use super::{InputError, Linked};
use template::Record;

pub(super) struct Product {
    axes: Vec<Axis>,
    /// The axis to continue with when a source had nothing to read yet (see [`Product::next`]).
    resume: Option<usize>,
    state: ProductPhase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ProductPhase {
    /// The first value of each axis was not read yet.
    Starting,
    Turning,
    Ended,
}

/// A source with those linked to it (`:::+`): they advance together, and the shortest ends them.
struct Axis {
    sources: Vec<Values>,
    /// The values of the sources that were read while another had none yet.
    partial: Vec<Cells>,
    /// Keep the values, because they are used again; otherwise only the current one is kept.
    again: bool,
    values: Vec<Cells>,
    /// The index of the current value.
    at: usize,
    complete: bool,
}

impl Product {
    pub(super) fn new(sources: Vec<(Values, Linked)>, reading: &Reading) -> Product {
        let mut axes: Vec<Axis> = Vec::new();
        for (values, linked) in sources {
            match axes.last_mut() {
                Some(axis) if linked == Linked::Previous => axis.sources.push(values),
                _ => axes.push(Axis::new(values)),
            }
        }
        // Values are used again only if an axis before theirs has a second value.
        let mut again = false;
        for axis in &mut axes {
            axis.again = again;
            again |= !axis.sources.iter().any(|source| source.at_most_one(reading));
        }
        Product { axes, resume: None, state: ProductPhase::Starting }
    }

    /// The next combination.
    pub(super) fn next(&mut self, reading: &mut Reading) -> Result<Option<Record>, InputError> {
        match self.state {
            ProductPhase::Starting => {
                if !self.start(reading)? {
                    self.state = ProductPhase::Ended;
                    return Ok(None);
                }
                self.state = ProductPhase::Turning;
            }
            ProductPhase::Turning => {
                if !self.turn(reading)? {
                    self.state = ProductPhase::Ended;
                    return Ok(None);
                }
            }
            ProductPhase::Ended => return Ok(None),
        }
        let cells = self.axes.iter().flat_map(|axis| &axis.values[axis.at]);
        Ok(Some(Record { values: cells.cloned().collect() }))
    }

    /// Reads the first value of each axis; `false` when no source has any.
    fn start(&mut self, reading: &mut Reading) -> Result<bool, InputError> {
        for number in self.resume.take().unwrap_or(0)..self.axes.len() {
            let axis = &mut self.axes[number];
            if let Err(error) = axis.read(reading) {
                self.resume = Some(number);
                return Err(error);
            }
        }
        Ok(self.axes.iter().flat_map(|axis| &axis.sources).any(Values::has_given))
    }

    /// Advances to the next combination; `false` after the last.
    fn turn(&mut self, reading: &mut Reading) -> Result<bool, InputError> {
        let from = self.resume.take().unwrap_or(self.axes.len() - 1);
        for number in (0..=from).rev() {
            match self.axes[number].advance(reading) {
                Err(error) => {
                    self.resume = Some(number);
                    return Err(error);
                }
                Ok(true) => {
                    for later in &mut self.axes[number + 1..] {
                        later.at = 0;
                    }
                    return Ok(true);
                }
                Ok(false) => {}
            }
        }
        Ok(false)
    }
}

impl Axis {
    fn new(values: Values) -> Axis {
        Axis {
            sources: vec![values],
            partial: Vec::new(),
            again: false,
            values: Vec::new(),
            at: 0,
            complete: false,
        }
    }

    /// Advances to the next value; `false` if there is none.
    fn advance(&mut self, reading: &mut Reading) -> Result<bool, InputError> {
        if self.at + 1 < self.values.len() {
            self.at += 1;
            return Ok(true);
        }
        self.read(reading)
    }

    /// Reads the next value and makes it the current one; `false` at the end.
    fn read(&mut self, reading: &mut Reading) -> Result<bool, InputError> {
        if self.complete {
            return Ok(false);
        }
        for source in &mut self.sources[self.partial.len()..] {
            let Some(cells) = source.next_or_empty(reading)? else {
                self.complete = true;
                return Ok(false);
            };
            self.partial.push(cells);
        }
        let cells: Cells = self.partial.drain(..).flatten().collect();
        if self.again {
            reading.keep(&cells)?;
        } else {
            self.values.clear();
        }
        self.values.push(cells);
        self.at = self.values.len() - 1;
        Ok(true)
    }
}
