//! The stack of an evaluation.
//!
//! What was popped stays readable above the top: INDEX 0, PERCENT 0 and ROLL of RRDtool 1.7.2 read
//! there.  A slot that was never written is 0.

use crate::EvaluateError;

/// Most values: COPY doubles the stack, so a program of 100 nodes could otherwise fill the memory.
pub(crate) const SLOTS_MAX: usize = 1 << 20;

/// The values of an evaluation.  It may be used again for the next one, of any program.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    slots: Vec<f64>,
    depth: usize,
}

impl Stack {
    /// An empty stack.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn clear(&mut self) {
        self.depth = 0;
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn push(&mut self, value: f64) -> Result<(), EvaluateError> {
        if self.depth >= SLOTS_MAX {
            return Err(EvaluateError::Overflow);
        }
        match self.slots.get_mut(self.depth) {
            Some(slot) => *slot = value,
            None => self.slots.push(value),
        }
        self.depth += 1;
        Ok(())
    }

    pub(crate) fn pop(&mut self) -> Result<f64, EvaluateError> {
        self.need(1)?;
        self.depth -= 1;
        Ok(self.slots[self.depth])
    }

    pub(crate) fn need(&self, count: usize) -> Result<(), EvaluateError> {
        if self.depth < count { Err(EvaluateError::Underflow) } else { Ok(()) }
    }

    /// The topmost `count` values, the last of them the top.
    pub(crate) fn top(&mut self, count: usize) -> Result<&mut [f64], EvaluateError> {
        self.need(count)?;
        Ok(&mut self.slots[self.depth - count..self.depth])
    }

    /// The value at a position from the bottom, also above the top.
    pub(crate) fn at(&self, position: usize) -> f64 {
        self.slots.get(position).copied().unwrap_or(0.0)
    }

    pub(crate) fn drop_top(&mut self, count: usize) -> Result<(), EvaluateError> {
        self.need(count)?;
        self.depth -= count;
        Ok(())
    }
}
