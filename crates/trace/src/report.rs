//! Traces a target from its start to its end, and writes what it did.
//!
//! * [`table::count`]: calls are counted, and tables are written ([`table::TableOptions`]);
//! * [`events::trace`]: each event is written as a line or as JSON ([`events::EventOptions`]).
//!
//! Both take a `TraceTarget` and choose the cheapest [`TraceWay`](crate::engine::TraceWay) that is allowed
//! and does what is asked.  They take over the termination signals ([`signals`]) as long as they
//! run, and return how the command ended.  Begin with `events.rs`.

pub mod events;
pub mod marked;
pub mod output;
pub mod signals;
pub mod table;
pub mod target;

use std::io;

use crate::WaitStatus;
use crate::engine;

/// What a termination signal does while a command is traced; the trace of processes ends, unless
/// signals are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interruption {
    /// The command gets it, and is traced to its end.
    #[default]
    PassedOn,
    /// The command gets it, and the trace ends.
    Ends,
    /// Nothing.
    Ignored,
    /// Nothing, nor does the stop signal of the terminal.
    IgnoredWithStops,
}

impl Interruption {
    /// Whether signals do nothing.
    fn is_ignored(self) -> bool {
        matches!(self, Interruption::Ignored | Interruption::IgnoredWithStops)
    }

    /// Sends a signal that came to the command, if it is to have it.
    fn tell(self, command: i32, signal: i32) {
        match self {
            Interruption::Ignored | Interruption::IgnoredWithStops => {}
            // The terminal sends these two to the command too; other senders only to us.
            Interruption::PassedOn if matches!(signal, libc::SIGINT | libc::SIGQUIT) => {}
            Interruption::PassedOn => send(command, signal),
            Interruption::Ends => {
                send(command, libc::SIGCONT);
                send(command, signal);
            }
        }
    }
}

impl std::str::FromStr for Interruption {
    type Err = &'static str;

    /// Parses the word of `-I`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "1" | "anywhere" | "2" | "waiting" => Ok(Interruption::Ends),
            "3" | "never" => Ok(Interruption::Ignored),
            "4" | "never_tstp" => Ok(Interruption::IgnoredWithStops),
            _ => Err("give 1 (anywhere), 2 (waiting), 3 (never) or 4 (never_tstp)"),
        }
    }
}

/// Why a target cannot be traced, or its trace cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// What is asked for is not possible, with the reason.
    #[error("{0}")]
    Refused(String),
    /// A file or a system call failed.
    #[error("{what}")]
    System {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("writing the output of the trace")]
    Write(#[from] io::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] engine::Error),
    /// Neither programs in the kernel nor ptrace can trace the target.
    #[error("cannot trace in the kernel ({kernel}) or by ptrace")]
    NoWay {
        /// Why not in the kernel.
        kernel: String,
        /// Why not by ptrace.
        source: Box<ReportError>,
    },
}

impl From<bpf::Error> for ReportError {
    fn from(error: bpf::Error) -> Self {
        ReportError::Engine(error.into())
    }
}

impl ReportError {
    /// What is asked for is not possible.
    fn refused(why: impl Into<String>) -> Self {
        ReportError::Refused(why.into())
    }

    /// An error unless `holds`: what is asked for is not possible otherwise.
    fn require(holds: bool, why: impl Into<String>) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::refused(why)) }
    }

    /// Makes an error of what was tried and of the cause.
    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| ReportError::System { what, source }
    }
}

/// Turns the error of writing a trace into a message if a command has ended: its status is what the
/// caller waits for.
///
/// # Errors
/// The error, if there was no command.
pub fn keep_status(
    written: Result<(), ReportError>,
    end: Option<WaitStatus>,
    messages: &mut dyn io::Write,
) -> Result<(), ReportError> {
    match (written, end) {
        (Err(error), Some(_)) => {
            let cause = std::error::Error::source(&error);
            let io = cause.and_then(|cause| cause.downcast_ref::<io::Error>());
            if io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe) {
                // The reader of the trace has what it wants.
                return Ok(());
            }
            let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
            // Nowhere is left where this error could be reported.
            let _ = writeln!(messages, "whit: {error}{cause}");
            Ok(())
        }
        (written, _) => written,
    }
}

/// Sends a signal to the command.
fn send(process: i32, signal: i32) {
    // SAFETY: a plain system call; the process is our child and was not waited for.
    unsafe { libc::kill(process, signal) };
}
