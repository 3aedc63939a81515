//! `--limit`: a command that decides whether a job may start.
//!
//! Exit code 0 lets one job start, 1 (and any other) none, 2 ends the youngest.  It runs before each
//! start, one at a time.  While it holds jobs back it runs again after a second, and when a job has
//! ended.  `load N`, `mem N` and `io N` are no commands but rules that are evaluated here.

use std::time::Instant;

use thiserror::Error;

use super::ASK_AGAIN;
use crate::schedule::slots::{JobsError, Load};
use crate::units;

/// What says whether a job may start.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// A command for a shell, run before each start.
    Command(Vec<u8>),
    /// `load N`: as `--load`.
    Load(Load),
    /// `mem N`: as `--memfree`, bytes.
    Memory(u64),
    /// `io N`: no disk is busier than so many percent of the time.
    Disk(f64),
}

/// What is wrong with a `--limit`.
#[derive(Debug, Error)]
pub enum LimitError {
    /// Nothing to run.
    #[error("--limit: no command")]
    Empty,
    /// `load` with something else than a number.
    #[error("--limit 'load …': {0}")]
    Load(JobsError),
    /// `mem` with something else than a size.
    #[error("--limit 'mem {0}': not a size")]
    Memory(String),
    /// `io` with something else than 0 to 100.
    #[error("--limit 'io {0}': not a percentage from 0 to 100")]
    Disk(String),
}

impl Limit {
    /// Reads a command, `load N`, `mem N` or `io N`.
    ///
    /// # Errors
    /// An empty command, or a rule with a number that it cannot have.
    pub fn parse(text: &[u8]) -> Result<Self, LimitError> {
        let words: Vec<_> = text
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .map(String::from_utf8_lossy)
            .collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        match words.as_slice() {
            [] => Err(LimitError::Empty),
            ["load", load] => Load::parse(load).map(Limit::Load).map_err(LimitError::Load),
            ["mem", size] => {
                let error = |_| LimitError::Memory((*size).to_owned());
                units::size(size).map(Limit::Memory).map_err(error)
            }
            ["io", percent] => {
                let value = percent.parse().ok().filter(|value| (0.0..=100.0).contains(value));
                value.map(Limit::Disk).ok_or_else(|| LimitError::Disk((*percent).to_owned()))
            }
            _ => Ok(Limit::Command(text.to_vec())),
        }
    }
}

/// `--limit` of a command.
#[derive(Clone, Debug, Default)]
pub(in crate::schedule) struct LimitGate {
    state: State,
}

/// Where the question stands.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    /// Nobody has asked.
    #[default]
    Unasked,
    /// The command runs.
    Asked,
    /// One job may start.
    Go,
    /// None may before this moment.
    Hold(Instant),
    /// None may before this moment, whatever ends: a job is being ended.
    HoldFast(Instant),
}

/// What [`LimitGate::ask`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::schedule) enum Question {
    /// The command is to be run.
    Run,
    /// It runs.
    Running,
    /// A job may start.
    Go,
    /// None may before this moment.
    Hold(Instant),
}

impl LimitGate {
    /// Whether a job may start, and whether the command must be run to know.
    pub(in crate::schedule) fn ask(&mut self, now: Instant) -> Question {
        match self.state {
            State::Go => Question::Go,
            State::Hold(until) | State::HoldFast(until) if now < until => Question::Hold(until),
            State::Asked => Question::Running,
            State::Unasked | State::Hold(_) | State::HoldFast(_) => {
                self.state = State::Asked;
                Question::Run
            }
        }
    }

    /// A job has been started on the strength of the last answer.
    pub(in crate::schedule) fn started(&mut self) {
        self.state = State::Unasked;
    }

    /// A job has ended.
    pub(in crate::schedule) fn ended(&mut self) {
        if let State::Hold(_) = self.state {
            self.state = State::Unasked;
        }
    }

    /// The command has ended with this exit code; whether the youngest job is to be ended.
    pub(in crate::schedule) fn answered(&mut self, exit_code: u8, now: Instant) -> bool {
        self.state = match exit_code {
            0 => State::Go,
            2 => State::HoldFast(now + ASK_AGAIN),
            _ => State::Hold(now + ASK_AGAIN),
        };
        exit_code == 2
    }
}
