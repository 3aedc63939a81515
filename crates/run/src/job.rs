//! The input of a job, and how it ended.

use spawn::ResourceUsage;
use template::Record;

/// The input of one job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// The number of the job, from 1: `{#}`, and `Seq` in the joblog.
    pub seq: u64,
    /// One record; several when arguments are packed (`-N`, `-n`, `-L`, `-X`, `-m`); none when the
    /// command takes no argument (`--pipe`, `-N0`).
    pub records: Vec<Record>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It exited with this code.
    Exited(u8),
    /// A signal that we did not send killed it.
    Signalled(u8),
    /// We ended it, after a timeout, because memory was short, or because the run ends.  The signal
    /// that killed it; 0 if it exited instead.
    Killed(u8),
    /// It was never started: its template called `skip()`.
    Skipped,
}

impl Outcome {
    /// Whether it counts as a success.
    pub fn is_success(self) -> bool {
        matches!(self, Outcome::Exited(0) | Outcome::Skipped)
    }

    /// `Exitval` of the joblog: the exit code; -1 if we ended it, -2 if it was never started.
    pub fn exit_value(self) -> i32 {
        match self {
            Outcome::Exited(code) => i32::from(code),
            Outcome::Signalled(_) => 0,
            Outcome::Killed(_) => -1,
            Outcome::Skipped => -2,
        }
    }

    /// The exit code that a shell has in `$?`; 255 if we ended it.
    pub fn shell_exit_code(self) -> u8 {
        match self {
            Outcome::Exited(code) => code,
            Outcome::Signalled(signal) => 128_u8.saturating_add(signal),
            Outcome::Killed(_) => 255,
            Outcome::Skipped => 0,
        }
    }

    /// `Signal` of the joblog: the signal that killed it, or 0.
    pub fn signal(self) -> i32 {
        match self {
            Outcome::Signalled(signal) | Outcome::Killed(signal) => i32::from(signal),
            Outcome::Exited(_) | Outcome::Skipped => 0,
        }
    }
}

/// A job that has ended: a line of the joblog.
#[derive(Clone, Debug, PartialEq)]
pub struct JobResult {
    /// The number of the job, from 1.
    pub seq: u64,
    /// The slot it ran in, from 1.
    pub slot: u32,
    /// The host it ran on; `:` is this machine.
    pub host: String,
    /// When it was started: nanoseconds since 1970, UTC.
    pub start_ns: u64,
    /// Run time in nanoseconds.
    pub wall_ns: u64,
    /// Bytes sent to it: files transferred, or its standard input with `--pipe`.
    pub send_bytes: u64,
    /// Bytes received from it: its output, and files returned.
    pub receive_bytes: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Which attempt this was, from 1 (`--retries`).
    pub attempt: u32,
    /// The command line as a shell would read it.
    pub command: Vec<u8>,
    /// The argument records: `V1` … of `--results` as a table.
    pub records: Vec<Record>,
    /// The resource usage; `None` if the job ran on another host.
    pub usage: Option<ResourceUsage>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(Outcome::Exited(3).shell_exit_code(), 3);
        assert_eq!(Outcome::Signalled(9).shell_exit_code(), 137);
        assert_eq!(Outcome::Killed(15).shell_exit_code(), 255);
    }
}
