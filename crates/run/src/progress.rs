//! How far all jobs are: the lines of `--progress`, `--eta` and `--bar`.

use std::time::Duration;

/// One computer that jobs run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computer {
    /// Its name: `local`, or the login.
    pub name: Vec<u8>,
    /// CPU threads.
    pub threads: u32,
    /// Jobs at the same time at most.
    pub slots: u32,
    /// Jobs running now.
    pub running: u64,
    /// Jobs completed.
    pub completed: u64,
}

/// How far everything is.
#[derive(Clone, Debug, Default)]
pub struct State<'a> {
    /// The computers.
    pub computers: &'a [Computer],
    /// All jobs, if known (`--eta`, `--bar`, `--total-jobs`, or the input has ended).
    pub total: Option<u64>,
    /// Time since the first job was started.
    pub elapsed: Duration,
    /// The argument of the job that was started last, for the bar.
    pub argument: &'a [u8],
    /// Columns of the terminal, for the bar.
    pub columns: u16,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `--progress`.
    Progress,
    /// `--eta`.
    Eta,
    /// `--bar`.
    Bar,
}

/// Writes the lines; keeps what an estimate needs.
#[derive(Debug)]
pub struct Progress {
    style: Style,
}

impl Progress {
    /// One of this style.
    pub fn new(style: Style) -> Self {
        Progress { style }
    }

    /// What comes once, before the first line.
    pub fn header(&self, computers: &[Computer], out: &mut Vec<u8>) {
        let _ = (computers, out, self.style);
    }

    /// A job has ended, so long after the first was started.
    pub fn completed(&mut self, elapsed: Duration) {
        let _ = elapsed;
    }

    /// What is to be written to standard error now: it begins at the line's start and overwrites
    /// what was there.
    pub fn line(&mut self, state: &State<'_>, out: &mut Vec<u8>) {
        let _ = (state, out);
    }

    /// What ends the display.
    pub fn end(&mut self, out: &mut Vec<u8>) {
        let _ = out;
    }
}
