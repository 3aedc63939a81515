//! `--progress`, `--eta` and `--bar`: a line on standard error that is overwritten when a job ends.

use std::io::Write;
use std::time::{Duration, Instant};

use super::{Clock, TerminalSize};
use crate::engine::{Observer, RunStatus, RunningJob};
use crate::job::JobResult;
use crate::progress::{Computer, ProgressState, ProgressText, Style};

/// Least time between two lines: neither terminals nor scripts need more.
const PERIOD: Duration = Duration::from_millis(100);

/// What the line shows.
#[derive(Clone, Copy, Debug)]
pub struct ProgressOptions {
    /// The form of the line.
    pub style: Style,
    /// CPU threads of this machine.
    pub threads: u32,
    /// Jobs that run at once.
    pub slots: u32,
    /// Show it from the beginning; otherwise when SIGUSR2 asks for it.
    pub is_shown: bool,
}

/// Shows the progress of all jobs.
pub struct ProgressLine {
    out: Box<dyn Write>,
    size: TerminalSize,
    clock: Clock,
    progress: ProgressText,
    computer: Computer,
    total: Option<u64>,
    first: Option<Instant>,
    argument: Vec<u8>,
    /// When the line was written last.
    written: Option<Instant>,
    is_stale: bool,
    is_shown: bool,
    text: Vec<u8>,
}

impl ProgressLine {
    /// A line on `out`, which may be a terminal of this size.
    pub fn new(
        options: ProgressOptions,
        out: Box<dyn Write>,
        size: TerminalSize,
        clock: Clock,
    ) -> Self {
        let ProgressOptions { style, threads, slots, is_shown } = options;
        let name = b"local".to_vec();
        let mut line = ProgressLine {
            out,
            size,
            clock,
            progress: ProgressText::new(style),
            computer: Computer { name, threads, slots, running: 0, completed: 0 },
            total: None,
            first: None,
            argument: Vec::new(),
            written: None,
            is_stale: false,
            is_shown,
            text: Vec::new(),
        };
        if is_shown {
            line.progress.header(std::slice::from_ref(&line.computer), &mut line.text);
            line.write();
        }
        line
    }

    fn set_status(&mut self, status: &RunStatus) {
        self.computer.running = status.running;
        self.computer.completed = status.ended;
        self.computer.slots = status.slots;
        self.total = status.total;
        self.is_stale = true;
        let now = (self.clock)();
        if self.written.is_none_or(|at| now - at >= PERIOD) {
            self.draw(now);
        }
    }

    fn draw(&mut self, now: Instant) {
        if !self.is_shown {
            return;
        }
        (self.written, self.is_stale) = (Some(now), false);
        let state = ProgressState {
            computers: std::slice::from_ref(&self.computer),
            total: self.total,
            elapsed: self.first.map_or(Duration::ZERO, |first| now - first),
            argument: &self.argument,
            columns: (self.size)().map_or(0, |(columns, _)| columns),
        };
        self.progress.line(&state, &mut self.text);
        self.write();
    }

    fn write(&mut self) {
        // An error of standard error can be reported nowhere.
        let _ = self.out.write_all(&self.text);
        self.text.clear();
    }
}

impl Observer for ProgressLine {
    fn job_started(&mut self, job: &RunningJob<'_>) {
        self.first.get_or_insert(job.at);
        if !self.is_shown {
            return;
        }
        let values = job.records.iter().flat_map(|record| &record.values);
        self.argument = values.map(Vec::as_slice).collect::<Vec<_>>().join(&b' ');
        self.computer.running += 1;
    }

    fn job_ended(&mut self, _finished: &JobResult, status: &RunStatus) {
        self.set_status(status);
    }

    fn next_tick(&self) -> Option<Instant> {
        let at = self.written.filter(|_| self.is_stale && self.is_shown)?;
        Some(at + PERIOD)
    }

    fn tick(&mut self, status: &RunStatus, now: Instant) {
        if self.next_tick().is_some_and(|at| at <= now) {
            self.set_status(status);
        }
    }

    fn toggle(&mut self, status: &RunStatus) {
        self.is_shown = !self.is_shown;
        self.set_status(status);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            let now = (self.clock)();
            self.draw(now);
            self.progress.end(&mut self.text);
            self.write();
        }
    }
}
