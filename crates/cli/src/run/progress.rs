//! `--progress`, `--eta` and `--bar`: a line on standard error, written over again at each end.

use std::io::Write as _;
use std::time::{Duration, Instant};

use run::Finished;
use run::engine::{Observer, Running, Status};
use run::progress::{Computer, Progress, State, Style};

/// At most so often a line is written: a terminal shows no more, and scripts need no more.
const PERIOD: Duration = Duration::from_millis(100);

/// Shows how far all jobs are.
pub(crate) struct ProgressLine {
    progress: Progress,
    computer: Computer,
    total: Option<u64>,
    first: Option<Instant>,
    argument: Vec<u8>,
    /// When the line was written last, and whether there is something new since.
    written: Option<Instant>,
    is_stale: bool,
    is_shown: bool,
    text: Vec<u8>,
}

impl ProgressLine {
    /// A line of this style, for `threads` CPU threads and `slots` jobs at once; hidden until
    /// SIGUSR2 asks for it unless `is_shown`.
    pub(crate) fn new(style: Style, threads: u32, slots: u32, is_shown: bool) -> Self {
        let name = b"local".to_vec();
        let mut line = ProgressLine {
            progress: Progress::new(style),
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

    fn take(&mut self, status: &Status) {
        self.computer.running = status.running;
        self.computer.completed = status.ended;
        self.computer.slots = status.slots;
        self.total = status.total;
        self.is_stale = true;
        let now = Instant::now();
        if self.written.is_none_or(|at| now - at >= PERIOD) {
            self.show(now);
        }
    }

    fn show(&mut self, now: Instant) {
        if !self.is_shown {
            return;
        }
        (self.written, self.is_stale) = (Some(now), false);
        let state = State {
            computers: std::slice::from_ref(&self.computer),
            total: self.total,
            elapsed: self.first.map_or(Duration::ZERO, |first| now - first),
            argument: &self.argument,
            columns: terminal_size::terminal_size_of(std::io::stderr())
                .map_or(0, |(terminal_size::Width(columns), _)| columns),
        };
        self.progress.line(&state, &mut self.text);
        self.write();
    }

    fn write(&mut self) {
        // Nobody is left to be told that this could not be told.
        let _ = std::io::stderr().lock().write_all(&self.text);
        self.text.clear();
    }
}

impl Observer for ProgressLine {
    fn started(&mut self, job: &Running<'_>) {
        self.first.get_or_insert(job.at);
        if !self.is_shown {
            return;
        }
        let values = job.records.iter().flat_map(|record| &record.values);
        self.argument = values.map(Vec::as_slice).collect::<Vec<_>>().join(&b' ');
        self.computer.running += 1;
    }

    fn ended(&mut self, _finished: &Finished, status: &Status) {
        self.take(status);
    }

    fn next_tick(&self) -> Option<Instant> {
        let at = self.written.filter(|_| self.is_stale && self.is_shown)?;
        Some(at + PERIOD)
    }

    fn tick(&mut self, status: &Status, now: Instant) {
        if self.next_tick().is_some_and(|at| at <= now) {
            self.take(status);
        }
    }

    fn tell(&mut self, _text: &[u8]) {}

    fn show(&mut self, _command: &[u8]) {}

    fn toggle(&mut self, status: &Status) {
        self.is_shown = !self.is_shown;
        self.take(status);
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            ProgressLine::show(self, Instant::now());
            self.progress.end(&mut self.text);
            self.write();
        }
    }
}
