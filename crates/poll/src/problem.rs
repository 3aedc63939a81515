//! What is wrong with a configuration: where, and what to do.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLine {
    /// The file, as it was named.
    pub file: Arc<PathBuf>,
    /// The number, from 1; 0 for the file as a whole.
    pub line: usize,
}

impl fmt::Display for ConfigLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.file.display()),
            line => write!(f, "{}:{line}", self.file.display()),
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where; `None` if it comes from no file.
    pub at: Option<ConfigLine>,
    /// Whether the configuration is refused for it.
    pub is_error: bool,
    /// What, in one line.
    pub text: String,
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(at) = &self.at {
            write!(f, "{at}: ")?;
        }
        if !self.is_error {
            f.write_str("warning: ")?;
        }
        f.write_str(&self.text)
    }
}

/// Problems in the order in which they are found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Problems {
    /// All of them.
    pub(crate) list: Vec<ConfigProblem>,
}

/// Problems that are kept; a file of garbage has one in every line.
const PROBLEMS_MAX: usize = 1_000;

impl Problems {
    /// Adds one for which the configuration is refused.
    pub(crate) fn error(&mut self, at: Option<&ConfigLine>, text: impl Into<String>) {
        self.add(at, true, text.into());
    }

    /// Adds one that is only said.
    pub(crate) fn warning(&mut self, at: Option<&ConfigLine>, text: impl Into<String>) {
        self.add(at, false, text.into());
    }

    fn add(&mut self, at: Option<&ConfigLine>, is_error: bool, text: String) {
        let is_first_error = is_error && !self.has_errors();
        if self.list.len() < PROBLEMS_MAX || is_first_error {
            self.list.push(ConfigProblem { at: at.cloned(), is_error, text });
        }
    }

    /// Whether the configuration is refused.
    pub(crate) fn has_errors(&self) -> bool {
        self.list.iter().any(|problem| problem.is_error)
    }
}
