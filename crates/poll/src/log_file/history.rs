//! The lines of a log file in memory, and how they move to the steps of another time.
//!
//! The value of a line holds from its own time back to the time of the next line.  A step of a
//! table gets the mean of what lies in it, weighted by time, and the largest of the maxima.

use text::c_number::to_long;

/// One of the four tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogTable {
    /// Lines of the table.
    pub count: usize,
    /// Seconds that a line covers.
    pub step: i64,
}

/// Steps of 5 minutes.
pub const DAY: LogTable = LogTable { count: 600, step: 300 };
/// Steps of 30 minutes.
pub const WEEK: LogTable = LogTable { count: 600, step: 1_800 };
/// Steps of 2 hours.
pub const MONTH: LogTable = LogTable { count: 600, step: 7_200 };
/// Steps of a day: two leap years.
pub const YEAR: LogTable = LogTable { count: 732, step: 86_400 };

/// Lines of all tables, and one for each remainder between them.  More lines than this are read,
/// for pictures, but an update keeps no more.
pub(super) const LINES_MAX: usize = 600 + 600 + 600 + 732 + 10;

/// A line: rates per second (gauges: values) from `time` back to the time of the next line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LogLine {
    /// End of the line's time, seconds since 1970.
    pub time: i64,
    /// Mean of the first variable.
    pub input: f64,
    /// Mean of the second variable.
    pub output: f64,
    /// Largest rate of the first variable.
    pub input_max: f64,
    /// Largest rate of the second variable.
    pub output_max: f64,
}

/// The lines of a file, newest first.
#[derive(Debug, Clone, Default)]
pub struct LogHistory {
    /// Lines, and after `valid` of them what earlier reads left, as `rateup`'s memory has it.
    pub(super) lines: Vec<LogLine>,
    pub(super) valid: usize,
}

impl LogHistory {
    /// The lines that the file has.
    #[must_use]
    pub fn lines(&self) -> &[LogLine] {
        &self.lines[..self.valid.min(self.lines.len())]
    }

    /// A history of given lines, newest first.
    #[must_use]
    pub fn of(lines: Vec<LogLine>) -> Self {
        let valid = lines.len();
        Self { lines, valid }
    }

    /// The line at `index`; behind the last one lines of time 0 and rate 0.
    #[must_use]
    pub fn at(&self, index: usize) -> LogLine {
        self.lines.get(index).copied().unwrap_or_default()
    }

    pub(super) fn put(&mut self, index: usize, line: LogLine) {
        if index >= self.lines.len() {
            self.lines.resize((index + 1).max(LINES_MAX + 1), LogLine::default());
        }
        self.lines[index] = line;
    }

    /// A history without a reading, as of the time of an update: zero everywhere.
    pub(super) fn make_empty(&mut self, now: i64) {
        let mut time = now - DAY.step;
        let mut index = 0;
        for table in [DAY, WEEK, MONTH, YEAR] {
            time -= time.rem_euclid(table.step);
            for _ in 0..table.count {
                self.put(index, LogLine { time, ..LogLine::default() });
                index += 1;
                time -= table.step;
            }
        }
        self.valid = index - 1;
    }

    /// Writes the lines as they are after an update at `now` with these rates: the new line, the
    /// rest of the step in which the last update was, and the tables.
    pub(super) fn after_update(&self, newest: LogLine, out: &mut Vec<LogLine>) -> Anomalies {
        out.clear();
        out.push(newest);
        let mut steps = Steps::new(self);
        let mut now = self.at(0).time;
        for (table, count) in [(DAY, 599), (WEEK, 600), (MONTH, 600), (YEAR, 732)] {
            let rest = now % table.step;
            if rest > 0 {
                out.push(steps.step(now, rest));
                now -= rest;
            }
            for _ in 0..count {
                out.push(steps.step(now, table.step));
                now -= table.step;
            }
        }
        steps.anomalies
    }
}

/// What a steps met that a file in good order does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Anomalies {
    /// Steps that begin after the newest line that is left.
    pub ahead: u32,
    /// Steps that lines do not cover exactly.
    pub uncovered: u32,
}

/// Reads a history step by step, from the newest backwards.
#[derive(Debug)]
pub struct Steps<'a> {
    history: &'a LogHistory,
    index: usize,
    /// What was out of order so far.
    pub anomalies: Anomalies,
}

impl<'a> Steps<'a> {
    /// Begins at the newest line.
    #[must_use]
    pub fn new(history: &'a LogHistory) -> Self {
        Self { history, index: 0, anomalies: Anomalies::default() }
    }

    /// The time of the line that the next step begins in, seconds since 1970.
    #[must_use]
    pub fn line_time(&self) -> i64 {
        self.history.at(self.index).time
    }

    /// The mean and the maxima of the `step` seconds before `now`.  Maxima are whole numbers; the
    /// time of the result is `now`.  Steps are asked for in falling order, without a hole.
    pub fn step(&mut self, now: i64, step: i64) -> LogLine {
        let (current, older) = (self.history.at(self.index), self.history.at(self.index + 1));
        if now == current.time && self.index < self.history.valid && now - step == older.time {
            self.index += 1;
            let input_max = to_long(current.input_max) as f64;
            let output_max = to_long(current.output_max) as f64;
            return LogLine { input_max, output_max, ..current };
        }
        if now > current.time {
            self.anomalies.ahead += 1;
            return LogLine { time: now, ..LogLine::default() };
        }
        self.gather(now, step)
    }

    /// A step that is not exactly a line.
    fn gather(&mut self, now: i64, step: i64) -> LogLine {
        let (history, end) = (self.history, now - step);
        while now <= history.at(self.index + 1).time && self.index < history.valid {
            self.index += 1;
        }
        let (mut input, mut output) = (0.0, 0.0);
        let (mut input_max, mut output_max) = (0_i64, 0_i64);
        let mut covered = 0_i64;
        loop {
            let current = history.at(self.index);
            let older = history.at(self.index + 1).time;
            let seconds = current.time.min(now) - older.max(end);
            input += current.input * seconds as f64;
            output += current.output * seconds as f64;
            covered = covered.wrapping_add(seconds);
            input_max = to_long((input_max as f64).max(current.input_max));
            output_max = to_long((output_max as f64).max(current.output_max));
            if end > older {
                break;
            }
            self.index += 1;
            if self.index >= history.valid || end >= history.at(self.index).time {
                break;
            }
        }
        self.anomalies.uncovered += u32::from(covered != step);
        let (input_max, output_max) = (input_max as f64, output_max as f64);
        let covered = covered as f64;
        LogLine {
            time: now,
            input: input / covered,
            output: output / covered,
            input_max,
            output_max,
        }
    }
}
