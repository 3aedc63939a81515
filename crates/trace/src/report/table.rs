//! Counts calls until the command exits, a signal comes or the watched processes are gone; writes
//! tables then and, if wanted, after every interval.
//!
//! The kernel counts by itself.  This process sleeps, except for a moment every second in which the
//! kernel measures the run time of its programs (see `table/schedule.rs`), because measuring costs
//! too.

mod cost;
mod counter;
mod schedule;

use std::io::{self, Write};
use std::time::Duration;

use self::cost::{CountingCost, rounded};
pub use self::counter::CountRequest;
use self::counter::{CountProgress, Counter};
use self::schedule::Schedule;
use super::marked::write_counts;
use super::signals::TerminationSignals;
use super::target::TraceTarget;
use super::{Interruption, ReportError};
use crate::engine::TraceWay;
use crate::summary::details;
use crate::{CallSummary, CallTally, SplitKey, SummaryColumn, WaitStatus, clock, summary};

/// How tables are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountFormat {
    /// Text for people.
    Text,
    /// One JSON object, or one for each interval in a line.
    Json,
    /// CSV.
    Csv,
    /// Lines that are added to those of other hosts (`marked.rs`), once, at the end.
    Counts,
}

/// Which tables are written, and when.
#[derive(Debug)]
pub struct TableOptions {
    /// How they are written.
    pub format: CountFormat,
    /// Columns and order of the table.
    pub summary: CallSummary,
    /// Only strace's table.
    pub brief: bool,
    /// Columns of the terminal that text is for.
    pub room: usize,
    /// Write histograms too.
    pub histograms: bool,
    /// Write a table after each interval.
    pub interval: Option<Duration>,
    /// Count for at most this long.
    pub time: Option<Duration>,
    /// Count in this way only; `None` for the cheapest.
    pub way: Option<TraceWay>,
    /// What a termination signal does.
    pub interruption: Interruption,
    /// Write a message if calls are counted by ptrace because the kernel rejects the programs.
    pub explain: bool,
}

impl TableOptions {
    /// Writes a table, and returns the columns of the spread of times that it shows.
    fn write_table(
        &self,
        tally: &CallTally,
        output: &mut dyn Write,
    ) -> io::Result<&'static [SummaryColumn]> {
        match self.brief {
            true => self.summary.write(tally, output).map(|()| &[][..]),
            false => self.summary.write_within(tally, self.room, output),
        }
    }

    /// Writes the table and what belongs to it; `how` says how calls were counted.
    fn write_text(&self, tally: &CallTally, how: &str, output: &mut dyn Write) -> io::Result<()> {
        let TableOptions { summary, brief, histograms, room, .. } = self;
        let room = *room;
        let spread = self.write_table(tally, output)?;
        if *brief {
            return Ok(());
        }
        writeln!(output)?;
        details::write_errors(tally, output)?;
        if !tally.units.is_empty() {
            writeln!(output)?;
        }
        details::write_units(summary, tally, room, output)?;
        if *histograms {
            details::write_histograms(summary, tally, room, output)?;
        }
        if !tally.errors.is_empty() || !tally.units.is_empty() || *histograms {
            writeln!(output)?;
        }
        details::write_unfinished(tally, room, output)?;
        let spread = match spread {
            [] => String::new(),
            [only] => format!(" Column {}: begin to end.", only.heading()),
            [first, .., last] => {
                format!(" Columns {} to {}: begin to end.", first.heading(), last.heading())
            }
        };
        let meaning = meaning_of_seconds(summary, tally);
        details::write_text(&format!("{meaning}{spread} {how}"), room, output)
    }
}

/// Writes what several hosts have counted, each by its name, as one table; with `by_host` also what each has.
/// `asked` is how many were asked.
///
/// # Errors
/// If the output cannot be written.
pub fn write_hosts(
    options: &TableOptions,
    hosts: &[(String, CallTally)],
    by_host: bool,
    asked: usize,
    output: &mut dyn Write,
) -> io::Result<()> {
    let mut all = CallTally::default();
    for (name, tally) in hosts {
        all.merge(tally);
        if by_host {
            let host = SplitKey::Host(name.as_bytes().to_vec());
            let calls = tally.calls.iter();
            all.units.extend(calls.map(|(id, stats)| ((host.clone(), *id), stats.clone())));
        }
    }
    match options.format {
        CountFormat::Json => {
            let mut object = serde_json::Map::new();
            let names: Vec<&str> = hosts.iter().map(|(name, _)| name.as_str()).collect();
            object.insert("hosts".to_owned(), names.into());
            object.extend(summary::machine::json(&options.summary, &all));
            let line = serde_json::Value::Object(object).to_string();
            writeln!(output, "{}", text::escape::visible_json(line))?;
        }
        CountFormat::Csv => {
            summary::machine::write_csv_heading(output)?;
            summary::machine::write_csv(&options.summary, &all, "", output)?;
        }
        CountFormat::Counts => write_counts(&all, output)?,
        CountFormat::Text => {
            let (calls, lost) = (all.total().calls, all.lost);
            let hosts = hosts.len();
            let how = format!("Counted on {hosts} of {asked} hosts: {calls} calls; lost: {lost}.");
            options.write_text(&all, &how, output)?;
        }
    }
    output.flush()
}

/// Counts calls, writes the tables, and returns the command's wait status if there was a command.
/// Messages that are not tables go to `messages`.  If tables cannot be written any more, a command
/// still runs to its end.
///
/// # Errors
/// When the target cannot be traced, or the tables cannot be written.
pub fn count(
    request: &CountRequest,
    options: &TableOptions,
    output: &mut dyn Write,
    messages: &mut dyn Write,
) -> Result<Option<WaitStatus>, ReportError> {
    let (counter, not_kernel) = Counter::start(request, options.way, !options.explain)?;
    if let Some(why) = not_kernel.filter(|_| options.explain) {
        let also = match options.summary.wall {
            true => "",
            false => " and times them from begin to end, not on a CPU",
        };
        // An error of writing a message is ignored.
        let _ = writeln!(messages, "whit: counting by ptrace, which slows calls down{also}: {why}");
    }
    let signals = TerminationSignals::take_over(options.interruption)?;
    let mut session = Session {
        counter,
        options,
        output,
        failed: None,
        start: clock::now(),
        before: CallTally::default(),
    };
    session.heading();
    let (end, signal) = session.wait(&signals)?;
    let written = match session.failed.take() {
        Some(error) => Err(ReportError::from(error)),
        None => session.finish(end),
    };
    session.counter.detach()?;
    super::keep_status(written, end, messages)?;
    let ends = options.interruption == Interruption::Ends;
    let signal = signal.filter(|_| ends || matches!(request.target, TraceTarget::Processes(_)));
    Ok(end.or(signal.map(|number| WaitStatus::Signaled { number, dumped: false })))
}

struct Session<'a> {
    counter: Counter,
    options: &'a TableOptions,
    output: &'a mut dyn Write,
    /// The error after which nothing more is written.
    failed: Option<io::Error>,
    start: Duration,
    /// The counts at the end of the latest interval.
    before: CallTally,
}

impl Session<'_> {
    fn running_time(&self) -> Duration {
        clock::now().saturating_sub(self.start)
    }

    /// Counts until the end, and shows each interval.  How the command ended, and the signal that
    /// ended the count.
    fn wait(
        &mut self,
        signals: &TerminationSignals,
    ) -> Result<(Option<WaitStatus>, Option<i32>), ReportError> {
        let mut schedule = Schedule::begin(self.start, self.options.interval);
        loop {
            while let Some(signal) = signals.next() {
                let interruption = self.options.interruption;
                let command = self.counter.pid();
                if let Some(command) = command {
                    interruption.tell(command, signal);
                }
                let ends = command.is_none() || interruption == Interruption::Ends;
                if ends && !interruption.is_ignored() {
                    return Ok((self.counter.end(), Some(signal)));
                }
            }
            if let Some(on) = schedule.measure(clock::now()) {
                self.counter.measure(on)?;
            }
            if schedule.interval(clock::now()) {
                self.interval()?;
            }
            let left = self.options.time.map(|time| time.saturating_sub(self.running_time()));
            let is_useless = self.failed.is_some() && self.counter.pid().is_none();
            if left == Some(Duration::ZERO) || is_useless {
                return Ok((self.counter.end(), None));
            }
            let limit = schedule.next().saturating_sub(clock::now());
            let limit = left.map_or(limit, |left| limit.min(left));
            if let CountProgress::Ended(end) = self.counter.run(signals, limit)? {
                return Ok((end, None));
            }
        }
    }

    fn heading(&mut self) {
        if self.options.format == CountFormat::Csv {
            let written = summary::machine::write_csv_heading(self.output);
            // Shows a reader that counting has begun.
            self.failed = written.and_then(|()| self.output.flush()).err();
        }
    }

    /// Shows what was counted in the latest interval.
    fn interval(&mut self) -> Result<(), ReportError> {
        let tally = self.counter.tally()?;
        let since = tally.since(&self.before);
        self.before = tally;
        if self.failed.is_none() {
            self.failed = self.write_interval(&since).err();
        }
        Ok(())
    }

    fn write_interval(&mut self, since: &CallTally) -> io::Result<()> {
        let seconds = self.running_time().as_secs_f64();
        match self.options.format {
            CountFormat::Json => {
                let mut object = serde_json::Map::new();
                object.insert("time_s".to_owned(), rounded(seconds));
                object.extend(summary::machine::json(&self.options.summary, since));
                let line = serde_json::Value::Object(object).to_string();
                writeln!(self.output, "{}", text::escape::visible_json(line))?;
            }
            CountFormat::Csv => {
                let time = format!("{seconds:.3}");
                summary::machine::write_csv(&self.options.summary, since, &time, self.output)?;
            }
            CountFormat::Counts => {}
            CountFormat::Text => {
                writeln!(self.output, "\nafter {seconds:.1} s:")?;
                self.options.write_table(since, self.output)?;
            }
        }
        self.output.flush()
    }

    /// Shows everything that was counted, and what counting cost.
    fn finish(&mut self, end: Option<WaitStatus>) -> Result<(), ReportError> {
        self.counter.measure(false)?;
        let seconds = self.running_time().as_secs_f64();
        let tally = self.counter.tally()?;
        let cost = CountingCost {
            way: self.counter.way(),
            measured: self.counter.cost()?,
            calls: tally.total().calls,
            lost: tally.lost,
            command_s: end.map(|_| children_s()),
        };
        if self.options.interval.is_some() && self.options.format != CountFormat::Json {
            self.interval()?;
            if let Some(error) = self.failed.take() {
                return Err(error.into());
            }
        }
        match self.options.format {
            CountFormat::Json => self.finish_json(&tally, &cost, seconds, end)?,
            CountFormat::Csv if self.options.interval.is_none() => {
                let time = format!("{seconds:.3}");
                summary::machine::write_csv(&self.options.summary, &tally, &time, self.output)?;
            }
            CountFormat::Csv => {}
            CountFormat::Counts => write_counts(&tally, self.output)?,
            CountFormat::Text => self.finish_text(&tally, &cost)?,
        }
        Ok(())
    }

    fn finish_text(&mut self, tally: &CallTally, cost: &CountingCost) -> io::Result<()> {
        let output = &mut *self.output;
        if self.options.interval.is_some() {
            writeln!(output, "\nin all:")?;
        }
        let way = match cost.way {
            TraceWay::Kernel => String::new(),
            way => format!(" This way, {}.", way.distortion()),
        };
        self.options.write_text(tally, &format!("{}{way}", cost.text()), output)
    }

    fn finish_json(
        &mut self,
        tally: &CallTally,
        cost: &CountingCost,
        seconds: f64,
        end: Option<WaitStatus>,
    ) -> io::Result<()> {
        let mut object = serde_json::Map::new();
        object.insert("elapsed_s".to_owned(), rounded(seconds));
        match end {
            Some(WaitStatus::Exited(status)) => object.insert("status".to_owned(), status.into()),
            Some(WaitStatus::Signaled { number, .. }) => {
                object.insert("signal".to_owned(), number.into())
            }
            None => None,
        };
        object.extend(summary::machine::json(&self.options.summary, tally));
        object.insert("cost".to_owned(), cost.json());
        let line = serde_json::Value::Object(object).to_string();
        writeln!(self.output, "{}", text::escape::visible_json(line))?;
        Ok(())
    }
}

/// What the times in a table are.
pub(super) fn meaning_of_seconds(summary: &CallSummary, tally: &CallTally) -> &'static str {
    match tally.total().cpu_ns.is_some() && !summary.wall {
        true => "Seconds are on a CPU within a call.",
        false => "Seconds are from begin to end of a call.",
    }
}

/// CPU time of all children that were waited for, in seconds.
fn children_s() -> f64 {
    let usage = procfs::usage::usage(procfs::usage::Whose::Children);
    (usage.user_us + usage.system_us) as f64 / 1e6
}
