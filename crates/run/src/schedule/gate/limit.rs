//! `--limit`: a command that decides whether a job may start.
//!
//! Exit code 0 lets one job start, 1 (and any other) none, 2 ends the youngest.  It runs before
//! each start, one at a time.  While it blocks jobs it runs again after a second, and when a job
//! has ended.  `load N`, `mem N` and `io N` are not commands but rules that are evaluated here.

use std::time::Instant;

use thiserror::Error;

use super::ASK_AGAIN;
use crate::schedule::slots::{JobsError, Load};
use crate::units;

/// What decides whether a job may start.
#[derive(Clone, Debug, PartialEq)]
pub enum Limit {
    /// A command for a shell, run before each start.
    Command(Vec<u8>),
    /// `load N`: as `--load`.
    Load(Load),
    /// `mem N`: as `--memfree`, bytes.
    Memory(u64),
    /// `io N`: no disk is busier than this, in percent of the time.
    Disk(f64),
}

/// Why a `--limit` cannot be used.
#[derive(Debug, Error)]
pub enum LimitError {
    /// The command is empty.
    #[error("--limit: no command")]
    Empty,
    /// The argument of `load` is not a number.
    #[error("--limit 'load …': {0}")]
    Load(JobsError),
    /// The argument of `mem` is not a size.
    #[error("--limit 'mem {0}': not a size")]
    Memory(String),
    /// The argument of `io` is not from 0 to 100.
    #[error("--limit 'io {0}': not a percentage from 0 to 100")]
    Disk(String),
}

impl Limit {
    /// Parses a command, `load N`, `mem N` or `io N`.
    ///
    /// # Errors
    /// If the command is empty, or the number of a rule is invalid.
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

/// The gate of a command of `--limit`.
#[derive(Clone, Debug, Default)]
pub(in crate::schedule) struct LimitGate {
    state: LimitCommand,
}

/// The state of the command.
#[derive(Clone, Copy, Debug, Default)]
enum LimitCommand {
    /// It was not started.
    #[default]
    NotRun,
    /// It runs.
    Running,
    /// One job may start.
    Go,
    /// No job may start before this time.
    Hold(Instant),
    /// No job may start before this time, even if a job ends: one is being ended.
    HoldFast(Instant),
}

/// The answer of [`LimitGate::ask`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::schedule) enum Question {
    /// Run the command.
    Run,
    /// The command runs.
    Running,
    /// A job may start.
    Go,
    /// No job may start before this time.
    Hold(Instant),
}

impl LimitGate {
    /// Whether a job may start, and whether the command must be run to know.
    pub(in crate::schedule) fn ask(&mut self, now: Instant) -> Question {
        match self.state {
            LimitCommand::Go => Question::Go,
            LimitCommand::Hold(until) | LimitCommand::HoldFast(until) if now < until => {
                Question::Hold(until)
            }
            LimitCommand::Running => Question::Running,
            LimitCommand::NotRun | LimitCommand::Hold(_) | LimitCommand::HoldFast(_) => {
                self.state = LimitCommand::Running;
                Question::Run
            }
        }
    }

    /// A job was started after the last answer.
    pub(in crate::schedule) fn started(&mut self) {
        self.state = LimitCommand::NotRun;
    }

    /// A job has ended.
    pub(in crate::schedule) fn ended(&mut self) {
        if let LimitCommand::Hold(_) = self.state {
            self.state = LimitCommand::NotRun;
        }
    }

    /// The command has ended with this exit code; returns whether the youngest job is to be ended.
    pub(in crate::schedule) fn answered(&mut self, exit_code: u8, now: Instant) -> bool {
        self.state = match exit_code {
            0 => LimitCommand::Go,
            2 => LimitCommand::HoldFast(now + ASK_AGAIN),
            _ => LimitCommand::Hold(now + ASK_AGAIN),
        };
        exit_code == 2
    }
}
