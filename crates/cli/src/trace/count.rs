//! Counting calls until a command ends, a signal comes or the watched processes are gone; then, and
//! at every interval if wanted, the tables.
//!
//! The kernel counts by itself.  We sleep, but for a moment now and then in which the kernel measures
//! what its own programs take ([`WINDOW`] in every [`PERIOD`]): measuring costs too.

use std::io::Write;
use std::time::{Duration, Instant};

use trace::engine::Way;
use trace::{End, Summary, Tally};

use self::cost::{Cost, rounded};
use self::counter::{Counter, State};
use super::interruption::Interruption;
use super::output::Output;

pub(crate) mod cost;
pub(crate) mod counter;

/// How long the kernel measures its programs at a time.
const WINDOW: Duration = Duration::from_millis(10);
/// And how often.
const PERIOD: Duration = Duration::from_secs(1);

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Tables.
    Text,
    /// One JSON object, or one a line with intervals.
    Json,
    /// CSV.
    Csv,
}

/// How it is shown.
#[derive(Debug)]
pub(crate) struct Show {
    pub(crate) form: Form,
    pub(crate) summary: Summary,
    /// Strace's table and nothing else.
    pub(crate) brief: bool,
    pub(crate) histograms: bool,
    pub(crate) interval: Option<Duration>,
    /// How long to count at most.
    pub(crate) time: Option<Duration>,
}

/// Counts, shows, and gives how the command ended if there was one.
pub(crate) fn run(
    counter: Counter,
    show: &Show,
    output: &mut Output,
) -> anyhow::Result<Option<End>> {
    let interruption = Interruption::take_over()?;
    let mut session =
        Session { counter, show, output, start: Instant::now(), before: Tally::default() };
    session.heading()?;
    let end = session.wait(&interruption)?;
    session.finish(end)?;
    session.counter.detach()?;
    Ok(end)
}

struct Session<'a> {
    counter: Counter,
    show: &'a Show,
    output: &'a mut Output,
    start: Instant,
    /// What was counted at the latest interval.
    before: Tally,
}

impl Session<'_> {
    /// Counts until it is time to end, showing what each interval has brought.
    fn wait(&mut self, interruption: &Interruption) -> anyhow::Result<Option<End>> {
        let mut rhythm = Rhythm::begin(self.start, self.show.interval);
        loop {
            while let Some(signal) = interruption.next() {
                match self.counter.pid() {
                    // A terminal has sent it to the command too; others send it to us alone.
                    Some(pid) if signal != libc::SIGINT && signal != libc::SIGQUIT => {
                        send(pid, signal);
                    }
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
            if let Some(on) = rhythm.measure(Instant::now()) {
                self.counter.measure(on)?;
            }
            if rhythm.interval(Instant::now()) {
                self.interval()?;
            }
            let left = self.show.time.map(|time| time.saturating_sub(self.start.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            let limit = rhythm.next().saturating_duration_since(Instant::now());
            let limit = left.map_or(limit, |left| limit.min(left));
            if let State::Ended(end) = self.counter.run(interruption, limit)? {
                return Ok(end);
            }
        }
    }

    fn heading(&mut self) -> anyhow::Result<()> {
        if self.show.form == Form::Csv {
            trace::write_csv_heading(self.output)?;
            // Says to who reads along that counting has begun.
            self.output.flush()?;
        }
        Ok(())
    }

    /// Shows what was counted since the last time.
    fn interval(&mut self) -> anyhow::Result<()> {
        let tally = self.counter.tally()?;
        let since = tally.since(&self.before);
        self.before = tally;
        let seconds = self.start.elapsed().as_secs_f64();
        match self.show.form {
            Form::Json => {
                let mut object = serde_json::Map::new();
                object.insert("time_s".to_owned(), rounded(seconds));
                object.extend(trace::json(&self.show.summary, &since));
                writeln!(self.output, "{}", serde_json::Value::Object(object))?;
            }
            Form::Csv => {
                let time = format!("{seconds:.3}");
                trace::write_csv(&self.show.summary, &since, &time, self.output)?;
            }
            Form::Text => {
                writeln!(self.output, "\nafter {seconds:.1} s:")?;
                self.show.summary.write(&since, self.output)?;
            }
        }
        self.output.flush()?;
        Ok(())
    }

    /// Shows everything that was counted, and what it cost.
    fn finish(&mut self, end: Option<End>) -> anyhow::Result<()> {
        self.counter.measure(false)?;
        let seconds = self.start.elapsed().as_secs_f64();
        let tally = self.counter.tally()?;
        let cost = Cost {
            way: self.counter.way(),
            weight: self.counter.weight()?,
            calls: tally.total().calls,
            lost: tally.lost,
            command_s: end.map(|_| children_s()),
        };
        if self.show.interval.is_some() && self.show.form != Form::Json {
            self.interval()?;
        }
        match self.show.form {
            Form::Json => self.finish_json(&tally, &cost, seconds, end)?,
            Form::Csv if self.show.interval.is_none() => {
                let time = format!("{seconds:.3}");
                trace::write_csv(&self.show.summary, &tally, &time, self.output)?;
            }
            Form::Csv => {}
            Form::Text => self.finish_text(&tally, &cost)?,
        }
        Ok(())
    }

    fn finish_text(&mut self, tally: &Tally, cost: &Cost) -> anyhow::Result<()> {
        let Show { summary, brief, histograms, interval, .. } = self.show;
        let output = &mut *self.output;
        if interval.is_some() {
            writeln!(output, "\nin all:")?;
        }
        summary.write(tally, output)?;
        if *brief {
            return Ok(());
        }
        writeln!(output)?;
        trace::write_spread(summary, tally, output)?;
        if !tally.errors.is_empty() {
            writeln!(output)?;
        }
        trace::write_errors(tally, output)?;
        if !tally.units.is_empty() {
            writeln!(output)?;
        }
        trace::write_units(summary, tally, output)?;
        if *histograms {
            trace::write_histograms(summary, tally, output)?;
        }
        writeln!(output)?;
        trace::write_unfinished(tally, output)?;
        let known = tally.total().cpu_ns.is_some() && !summary.wall;
        let time = if known { "on a CPU within a call" } else { "from begin to end of a call" };
        writeln!(output, "Seconds are {time}. {}", cost.text())?;
        if cost.way != Way::Kernel {
            writeln!(output, "This way, {}.", cost.way.distortion())?;
        }
        Ok(())
    }

    fn finish_json(
        &mut self,
        tally: &Tally,
        cost: &Cost,
        seconds: f64,
        end: Option<End>,
    ) -> anyhow::Result<()> {
        let mut object = serde_json::Map::new();
        object.insert("elapsed_s".to_owned(), rounded(seconds));
        match end {
            Some(End::Status(status)) => object.insert("status".to_owned(), status.into()),
            Some(End::Signal { number, .. }) => object.insert("signal".to_owned(), number.into()),
            None => None,
        };
        object.extend(trace::json(&self.show.summary, tally));
        object.insert("cost".to_owned(), cost.json());
        writeln!(self.output, "{}", serde_json::Value::Object(object))?;
        Ok(())
    }
}

/// When to measure and when to show.
struct Rhythm {
    measuring: bool,
    toggle: Instant,
    interval: Option<Duration>,
    show: Instant,
}

impl Rhythm {
    fn begin(start: Instant, interval: Option<Duration>) -> Self {
        let show = start + interval.unwrap_or(Duration::from_secs(3_600));
        Rhythm { measuring: true, toggle: start + WINDOW, interval, show }
    }

    /// Whether measuring is to be switched on or off now.
    fn measure(&mut self, now: Instant) -> Option<bool> {
        if now < self.toggle {
            return None;
        }
        self.measuring = !self.measuring;
        self.toggle = now + if self.measuring { WINDOW } else { PERIOD - WINDOW };
        Some(self.measuring)
    }

    /// Whether an interval has ended.  One that was slept through is not made up for.
    fn interval(&mut self, now: Instant) -> bool {
        let Some(interval) = self.interval.filter(|_| now >= self.show) else { return false };
        while self.show <= now {
            self.show += interval;
        }
        true
    }

    fn next(&self) -> Instant {
        match self.interval {
            Some(_) => self.toggle.min(self.show),
            None => self.toggle,
        }
    }
}

/// CPU time of all our children that have ended.
fn children_s() -> f64 {
    let usage = procfs::usage::usage(procfs::usage::Whose::Children);
    (usage.user_us + usage.system_us) as f64 / 1e6
}

/// Sends a signal to the command's process.
pub(crate) fn send(process: i32, signal: i32) {
    // SAFETY: a plain system call; the process is our child and was not waited for.
    unsafe { libc::kill(process, signal) };
}
