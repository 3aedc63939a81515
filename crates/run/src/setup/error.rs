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

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Options have no meaning or exclude each other.
    #[error("{0}")]
    Usage(String),
    /// The value of an option is invalid.
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
    /// The input cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The input cannot be split into blocks.
    #[error(transparent)]
    Pipe(#[from] PipeError),
    /// A replacement string is invalid.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// A number of jobs is invalid.
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
    /// The output cannot be set up.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The joblog cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The hosts cannot be used.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// The engine cannot be set up.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A descriptor, a thread or a pipe cannot be had from the system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A name contains a NUL.
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

/// Makes an error that names the option with the invalid value.
pub(super) fn option<E: Display>(option: impl Into<String>) -> impl FnOnce(E) -> SetupError {
    let option = option.into();
    move |why| SetupError::Option { option, why: why.to_string() }
}

/// Makes an error that names what was tried.
pub(super) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> SetupError {
    let what = what.into();
    move |error| SetupError::System { what, error: error.into() }
}
