//! The sources combined: products, links and shuffled.

use std::io::Read;

use super::{InputError, Linked, Options, Source};
use crate::Record;

/// Records of all sources, one at a time.
pub struct Input {
    names: Vec<Vec<u8>>,
}

impl Input {
    pub(super) fn new(
        sources: Vec<(Source, Linked)>,
        options: &Options,
        stdin: Box<dyn Read + Send>,
    ) -> Result<Input, InputError> {
        let _ = (sources, options, stdin);
        Ok(Input { names: Vec::new() })
    }

    /// The names of the values, by position (`--header`); empty without a header.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// What is worth a warning since this was last asked for, each text once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        Vec::new()
    }
}

impl Iterator for Input {
    type Item = Result<Record, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}
