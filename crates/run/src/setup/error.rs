//! Errors of [`prepare`](super::prepare).

use std::ffi::NulError;
use std::fmt::Display;
use std::io;

use template::TemplateError;

use crate::collect::CollectError;
use crate::engine::EngineError;
use crate::hosts::HostsError;
use crate::input::InputError;
use crate::joblog::LogError;
use crate::pipe::PipeError;
use crate::schedule::{HaltError, JobsError, LimitError, TermSequenceError};

/// What was asked for and cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Options that mean nothing or exclude each other.
    #[error("{0}")]
    Usage(String),
    /// The value of an option cannot be read.
    #[error("{option}: {why}")]
    Option {
        /// The option with its value, as it was written.
        option: String,
        /// What is wrong with it.
        why: String,
    },
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The input as blocks.
    #[error(transparent)]
    Pipe(#[from] PipeError),
    /// A replacement string.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A number of jobs.
    #[error(transparent)]
    Jobs(#[from] JobsError),
    /// `--halt`.
    #[error(transparent)]
    Halt(#[from] HaltError),
    /// `--limit`.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// `--term-seq`.
    #[error(transparent)]
    TermSequence(#[from] TermSequenceError),
    /// The output.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The joblog.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The hosts.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The engine's own part of it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A descriptor, a thread or a pipe.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A name with a NUL within.
    #[error(transparent)]
    Nul(#[from] NulError),
}

impl From<rustix::io::Errno> for SetupError {
    fn from(error: rustix::io::Errno) -> Self {
        SetupError::Io(error.into())
    }
}

/// Returns a [`SetupError::Usage`] with a formatted text.
macro_rules! usage {
    ($($text:tt)*) => {
        return Err($crate::setup::SetupError::Usage(format!($($text)*)))
    };
}

/// Names the option whose value is wrong.
pub(super) fn option<E: Display>(option: impl Into<String>) -> impl FnOnce(E) -> SetupError {
    let option = option.into();
    move |why| SetupError::Option { option, why: why.to_string() }
}

/// Says what was tried when the system refused it.
pub(super) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> SetupError {
    let what = what.into();
    move |error| SetupError::System { what, error: error.into() }
}
