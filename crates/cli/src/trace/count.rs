//! Counting calls until a command ends, a signal comes or the watched processes are gone; then, and
//! at every interval if wanted, the tables.
//!
//! The kernel counts by itself.  We sleep, but for a moment now and then in which the kernel measures
//! what its own programs take ([`WINDOW`] in every [`PERIOD`]): measuring costs too.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bpf::CountSettings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use trace::engine::{Launch, Way};
use trace::{End, KernelCounts, Summary, Tally, Weight};

use super::interruption::Interruption;
use super::output::Output;
use super::target::{self, Target};

/// How long the kernel measures its programs at a time.
const WINDOW: Duration = Duration::from_millis(10);
/// And how often.
const PERIOD: Duration = Duration::from_secs(1);
/// Watched processes that are not our children are looked for so often.
const LOOK: Duration = Duration::from_millis(250);

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
    target: &Target,
    settings: &CountSettings,
    show: &Show,
    output: &mut Output,
) -> anyhow::Result<Option<End>> {
    let mut counts = KernelCounts::open(settings)?;
    let mut launch = match target {
        Target::Command(command) => Some(Launch::start(command)?),
        _ => None,
    };
    let interruption = Interruption::take_over()?;
    let watched = match (&launch, target) {
        (Some(launch), _) => vec![launch.pid()],
        (None, Target::Processes(list)) => list.clone(),
        _ => Vec::new(),
    };
    let found = counts.watch(&watched)?;
    for process in &watched {
        anyhow::ensure!(
            settings.seed_threads && target::is_there(*process) || found.contains(process),
            "-p {process}: no such process; it may have ended"
        );
    }
    let start = Instant::now();
    // A short command is measured from its first call on.
    counts.measure(true)?;
    if let Some(launch) = &mut launch {
        launch.release()?;
        launch.running()?;
    }
    let mut session = Session { counts, show, output, start, before: Tally::default() };
    session.heading()?;
    let end = session.wait(launch.as_mut(), &watched, &interruption)?;
    session.finish(end, launch.is_some())?;
    Ok(end)
}

struct Session<'a> {
    counts: KernelCounts,
    show: &'a Show,
    output: &'a mut Output,
    start: Instant,
    /// What was counted at the latest interval.
    before: Tally,
}

impl Session<'_> {
    /// Sleeps until it is time to end, showing what each interval has brought.
    fn wait(
        &mut self,
        mut launch: Option<&mut Launch>,
        watched: &[i32],
        interruption: &Interruption,
    ) -> anyhow::Result<Option<End>> {
        let mut clock = Rhythm::begin(self.start, self.show.interval);
        loop {
            if let Some(launch) = &mut launch
                && let Some(end) = launch.ended()?
            {
                return Ok(Some(end));
            }
            while let Some(signal) = interruption.next() {
                match &launch {
                    // A terminal has sent it to the command too; others send it to us alone.
                    Some(launch) if signal != libc::SIGINT && signal != libc::SIGQUIT => {
                        send(launch.pid(), signal);
                    }
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
            if launch.is_none()
                && !watched.is_empty()
                && !watched.iter().any(|p| target::is_there(*p))
            {
                return Ok(None);
            }
            if let Some(on) = clock.measure(Instant::now()) {
                self.counts.measure(on)?;
            }
            if clock.interval(Instant::now()) {
                self.interval()?;
            }
            let left = self.show.time.map(|time| time.saturating_sub(self.start.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            let look = launch.is_none() && !watched.is_empty();
            let mut timeout = clock.next().saturating_duration_since(Instant::now());
            if look {
                timeout = timeout.min(LOOK);
            }
            let timeout = left.map_or(timeout, |left| timeout.min(left));
            sleep(launch.as_deref(), interruption, timeout)?;
        }
    }

    fn heading(&mut self) -> anyhow::Result<()> {
        if self.show.form == Form::Csv {
            trace::write_csv_heading(self.output)?;
        }
        Ok(())
    }

    /// Shows what was counted since the last time.
    fn interval(&mut self) -> anyhow::Result<()> {
        let tally = self.counts.tally()?;
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
    fn finish(&mut self, end: Option<End>, own: bool) -> anyhow::Result<()> {
        self.counts.measure(false)?;
        let seconds = self.start.elapsed().as_secs_f64();
        let tally = self.counts.tally().context("reading what was counted")?;
        let cost = Cost { weight: self.counts.weight()?, calls: tally.total().calls, seconds, own };
        if self.show.interval.is_some() && self.show.form != Form::Json {
            self.interval()?;
        }
        match self.show.form {
            Form::Json => self.finish_json(&tally, &cost, end)?,
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
        let time =
            if summary.wall { "from begin to end of a call" } else { "on a CPU within a call" };
        writeln!(output, "seconds: {time}. {}", cost.text(tally.lost))?;
        Ok(())
    }

    fn finish_json(&mut self, tally: &Tally, cost: &Cost, end: Option<End>) -> anyhow::Result<()> {
        let mut object = serde_json::Map::new();
        object.insert("way".to_owned(), Way::Kernel.name().into());
        object.insert("elapsed_s".to_owned(), rounded(cost.seconds));
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

/// What tracing has cost.
struct Cost {
    weight: Option<Weight>,
    calls: u64,
    seconds: f64,
    /// Whether all CPU time of our children is the command's.
    own: bool,
}

impl Cost {
    /// All that the programs have taken, by what was measured of a part.
    fn programs_s(&self) -> Option<f64> {
        Some(self.weight?.call_ns() * self.calls as f64 / 1e9)
    }

    /// By how much the command's CPU time has grown at least, in percent.
    fn growth(&self) -> Option<f64> {
        let programs = self.programs_s().filter(|_| self.own)?;
        let usage = procfs::usage::usage(procfs::usage::Whose::Children);
        let seconds = (usage.user_us + usage.system_us) as f64 / 1e6;
        (seconds > programs).then(|| programs / (seconds - programs) * 100.0)
    }

    fn text(&self, lost: u64) -> String {
        let mut text = format!("Counted in the kernel: {} calls", self.calls);
        match (self.weight, self.programs_s()) {
            (Some(weight), Some(seconds)) => {
                text += &format!(
                    ", {:.0} ns each ({} runs measured), {} in all",
                    weight.call_ns(),
                    weight.runs,
                    trace::duration((seconds * 1e9) as u64)
                );
            }
            _ => text += ", too few to measure their cost",
        }
        if let Some(growth) = self.growth() {
            text += &format!(", {growth:.1} % of the command's own CPU time");
        }
        format!("{text}; lost: {lost}")
    }

    fn json(&self) -> serde_json::Value {
        let mut object = serde_json::Map::new();
        object.insert("calls".to_owned(), self.calls.into());
        if let Some(weight) = self.weight {
            object.insert("call_ns".to_owned(), rounded(weight.call_ns()));
            object.insert("runs_measured".to_owned(), weight.runs.into());
        }
        if let Some(growth) = self.growth() {
            object.insert("cpu_growth_percent".to_owned(), rounded(growth));
        }
        object.into()
    }
}

fn rounded(value: f64) -> serde_json::Value {
    json!((value * 1e3).round() / 1e3)
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

/// Waits for the end of the command, a signal or the time.
fn sleep(
    launch: Option<&Launch>,
    interruption: &Interruption,
    timeout: Duration,
) -> anyhow::Result<()> {
    let timeout = Timespec::try_from(timeout).context("a time too long to wait for")?;
    let mut descriptors = vec![PollFd::new(interruption, PollFlags::IN)];
    let pidfd = launch.map(Launch::pidfd);
    descriptors.extend(pidfd.as_ref().map(|pidfd| PollFd::new(pidfd, PollFlags::IN)));
    match poll(&mut descriptors, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error).context("waiting for the command"),
    }
}

fn send(process: i32, signal: i32) {
    // SAFETY: a plain system call; the process is our child and was not waited for.
    unsafe { libc::kill(process, signal) };
}
