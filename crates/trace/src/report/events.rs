//! Traces events: a line or a JSON object for each call, signal and exit, as they happen.
//!
//! An engine hands events over; an [`EventWriter`] writes them.  The engine runs for one [`SLICE`]
//! at a time; between two of them signals are read and buffered output is written.

mod batch;
mod cost;
mod files;
mod json;
mod lines;
mod single;
mod way;
mod writer;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

pub use self::files::TaskFileWriter;
pub use self::json::JsonWriter;
pub use self::lines::{LineWriter, TableWriter};
pub use self::writer::EventWriter;

use self::cost::EventCost;
use self::way::ChosenEngine;
use super::signals::TerminationSignals;
use super::target::{self, TraceTarget};
use super::{Interruption, ReportError};
use crate::engine::{FollowScope, RunResult, TaskChanges, TraceEngine, TraceWay};
use crate::{
    CallStatuses, CallSummary, CountCriteria, EventCounts, EventKind, LineOptions, Memory, Quiet,
    TraceEvent, WaitStatus, clock,
};

/// In one of so many slices the kernel measures how long its programs run, because measuring costs
/// time.
const MEASURED_OF: u64 = 10;
/// The length of that slice.
const MEASURED: Duration = Duration::from_millis(10);

/// How long the engine runs before signals are read.
const SLICE: Duration = Duration::from_millis(50);

/// How events are traced and written.
pub struct EventOptions {
    /// How lines are formatted, and which events have lines.
    pub lines: LineOptions,
    /// Which tasks are traced besides those that were named.
    pub scope: FollowScope,
    /// Trace in this way only; `None` for the cheapest.
    pub way: Option<TraceWay>,
    /// Messages that are left out.
    pub quiet: Quiet,
    /// Write messages that strace does not write.
    pub own_words: bool,
    /// No line may be lost, however long tasks are stopped for it.
    pub is_lossless: bool,
    /// How calls must end to be counted.
    pub statuses: CallStatuses,
    /// Only tasks of this name (`comm`), ended by a zero byte.
    pub command: Option<[u8; 16]>,
    /// Only tasks in or below this control group: its id, and its depth below the root.
    pub cgroup: Option<(u64, u32)>,
    /// Calls that took less time are left out.
    pub slower_than_ns: u64,
    /// Trace for at most this long.
    pub time: Option<Duration>,
    /// Write this table at the end.
    pub summary: Option<CallSummary>,
    /// What is done to tasks besides watching them.
    pub interference: TaskChanges,
    /// What a termination signal does.
    pub interruption: Interruption,
}

/// Traces until the command exits, a signal comes or no task is left; returns the command's wait
/// status if there was a command, and the signal if one ended the trace of processes.  Messages that
/// are not events go to `messages`; the error of a trace that cannot be written is one of them if a
/// command has ended, whose status matters more.
///
/// # Errors
/// When the target cannot be traced, or events cannot be written.
pub fn trace(
    target: &TraceTarget,
    options: &EventOptions,
    writer: Box<dyn EventWriter>,
    messages: &mut dyn Write,
) -> Result<Option<WaitStatus>, ReportError> {
    let (mut chosen, not_kernel) = way::choose(target, options)?;
    let signals = TerminationSignals::take_over(options.interruption)?;
    let mut session = Session {
        options,
        writer,
        messages: &mut *messages,
        counts: EventCounts::new(CountCriteria {
            statuses: options.statuses,
            slower_than_ns: options.slower_than_ns,
            split: bpf::Split::None,
        }),
        failed: None,
        start: clock::now(),
    };
    session.writer.set_exact(chosen.engine().way() != TraceWay::Kernel);
    session.announce(match target {
        TraceTarget::Processes(list) => list,
        _ => &options.interference.beside,
    });
    let done = session.run(&mut chosen, &signals);
    let engine = chosen.engine();
    let detached = match done {
        Ok(Outcome::LeftEarly(_)) => session.detach(engine, target),
        _ => Ok(()),
    };
    let cost = EventCost {
        way: engine.way(),
        measured: engine.cost(),
        lost: engine.lost(),
        calls: session.counts.tally().total().calls,
        not_kernel,
    };
    let end = engine.end();
    // The programs are detached before the output is closed, because closing may wait.
    drop(chosen);
    let written = session.finish(&cost);
    detached?;
    let signal = match done? {
        Outcome::LeftEarly(signal)
            if matches!(target, TraceTarget::Processes(_))
                || options.interruption == Interruption::Ends =>
        {
            signal
        }
        _ => None,
    };
    super::keep_status(written, end, messages)?;
    Ok(end.or(signal.map(|number| WaitStatus::Signaled { number, dumped: false })))
}

/// Why a session ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// No task is left to trace.
    Over,
    /// Tasks are left that run on; the signal that ended the trace.
    LeftEarly(Option<i32>),
}

struct Session<'a> {
    options: &'a EventOptions,
    writer: Box<dyn EventWriter>,
    messages: &'a mut dyn Write,
    counts: EventCounts,
    /// The error after which nothing more is written.
    failed: Option<io::Error>,
    start: Duration,
}

impl Session<'_> {
    /// Writes a message; an error is ignored.
    fn message(&mut self, message: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.messages, "{message}");
    }

    /// Writes which processes are traced from now on.
    fn announce(&mut self, processes: &[i32]) {
        for process in processes {
            let threads = match self.options.scope {
                FollowScope::Thread => vec![*process],
                _ => target::threads(*process),
            };
            for thread in &threads {
                self.writer.attached(*thread);
            }
            if self.options.quiet.attach() {
                continue;
            }
            // Other tools look for these words of strace.
            match threads.len() {
                0 | 1 => self.message(format_args!("strace: Process {process} attached")),
                count => self.message(format_args!(
                    "strace: Process {process} attached with {count} threads"
                )),
            }
        }
    }

    fn run(
        &mut self,
        chosen: &mut ChosenEngine,
        signals: &TerminationSignals,
    ) -> Result<Outcome, ReportError> {
        let command = chosen.pid();
        let is_command = command.is_some();
        for slice in 0_u64.. {
            let is_measured = slice % MEASURED_OF == 0;
            chosen.measure(is_measured)?;
            let left = self
                .options
                .time
                .map(|time| time.saturating_sub(clock::now().saturating_sub(self.start)));
            if left == Some(Duration::ZERO) {
                return Ok(Outcome::LeftEarly(None));
            }
            let slice = if is_measured { MEASURED } else { SLICE };
            let limit = left.map_or(slice, |left| left.min(slice));
            let progress = chosen.engine().run(Some(limit), &mut |event, memory| {
                self.event(event, memory);
                if self.failed.is_some() && !is_command {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            self.try_to(|writer| writer.idle());
            if progress == RunResult::Ended {
                return Ok(Outcome::Over);
            }
            if self.failed.is_some() && !is_command {
                return Ok(Outcome::LeftEarly(None));
            }
            while let Some(signal) = signals.next() {
                let interruption = self.options.interruption;
                // A command that has ended is gone, and processes beside it may run on.
                let running = command.filter(|_| chosen.engine().end().is_none());
                if let Some(process) = running {
                    interruption.tell(process, signal);
                }
                let ends = running.is_none() || interruption == Interruption::Ends;
                if ends && !interruption.is_ignored() {
                    return Ok(Outcome::LeftEarly(Some(signal)));
                }
            }
        }
        Ok(Outcome::LeftEarly(None))
    }

    /// Counts and writes one event.  If lines cannot be written any more, the command still runs
    /// on.
    fn event(&mut self, event: &TraceEvent, memory: &dyn Memory) {
        let is_call = matches!(event.what, EventKind::Enter(_) | EventKind::Exit { .. });
        if let EventKind::Exit { wall_ns, .. } = event.what
            && wall_ns < self.options.slower_than_ns
        {
            self.writer.give_up(event.thread);
        } else {
            self.try_to(|writer| writer.event(event, memory));
            self.options.interference.is_spared.set(is_call && self.writer.hid_call());
            // Calls may be traced only for what they do to descriptors.
            if is_call && self.writer.hid_call() {
                return;
            }
        }
        self.counts.add(event);
    }

    fn try_to(&mut self, work: impl FnOnce(&mut dyn EventWriter) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = work(&mut *self.writer).err();
        }
    }

    /// Detaches from tasks that run on.
    fn detach(
        &mut self,
        engine: &mut dyn TraceEngine,
        target: &TraceTarget,
    ) -> Result<(), ReportError> {
        // Events up to now.
        engine.run(Some(Duration::ZERO), &mut |event, memory| {
            self.event(event, memory);
            ControlFlow::Continue(())
        })?;
        engine.detach()?;
        self.try_to(|writer| writer.detach());
        self.try_to(|writer| writer.idle());
        let beside = &self.options.interference.beside;
        let list = if let TraceTarget::Processes(list) = target { list } else { beside };
        if !self.options.quiet.attach() {
            for process in list.iter().filter(|process| target::exists(**process)) {
                self.message(format_args!("strace: Process {process} detached"));
            }
        }
        Ok(())
    }

    /// Writes the table if one is wanted, and what tracing has cost.
    fn finish(mut self, cost: &EventCost) -> Result<(), ReportError> {
        if let Some(summary) = &self.options.summary
            && let Some(output) = self.writer.output()
            && self.failed.is_none()
        {
            let tally = self.counts.tally();
            self.failed = summary.write(&tally, output).err();
            if self.options.own_words && self.failed.is_none() {
                let meaning = super::table::meaning_of_seconds(summary, &tally);
                self.failed = writeln!(output, "\n{meaning}").err();
            }
        }
        let Session { writer, messages, failed, .. } = self;
        if failed.is_none() {
            writer.close()?;
        }
        let mut said = Ok(());
        if cost.lost > 0 {
            said = writeln!(
                messages,
                "whit: {} events were lost, as they came faster than lines are written: choose \
                 fewer with -e trace=, or --way ptrace, which loses none",
                cost.lost
            );
        }
        if self.options.own_words {
            said = said.and(writeln!(messages, "whit: {}", cost.text()));
        }
        // An error of writing messages is ignored.
        drop(said);
        match failed {
            // The reader of the lines has closed the pipe; the command has run all the same.
            Some(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(error) => Err(ReportError::system("writing the lines of the trace")(error)),
            None => Ok(()),
        }
    }
}
