//! Events: a line for each call, signal and end, as they happen.
//!
//! An engine hands events over; a [`Sink`] writes them.  The engine's run is broken off every
//! [`SLICE`] to look for signals and to write out what is held.

pub(crate) mod arguments;
mod batch;
mod json;
mod lines;
mod place;
pub(crate) mod way;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use trace::engine::{Engine, Progress, Scope, Way, Weight};
use trace::{
    Criteria, End, Event, EventCounts, LineOptions, Memory, Quiet, Statuses, Summary, What,
};

use super::interruption::Interruption;
use super::output::Output;
use super::target::{self, Target};

pub(crate) use json::JsonSink;
pub(crate) use lines::{FilesSink, LinesSink};

/// Of so many slices one is used to measure what the kernel's programs take, which itself costs.
const MEASURED_OF: u64 = 10;
/// How long that one is.
const MEASURED: Duration = Duration::from_millis(10);

/// How long the engine runs before signals are looked for.
const SLICE: Duration = Duration::from_millis(50);

/// How events are traced and shown.
pub(crate) struct Plan {
    /// How lines look, and which there are.
    pub(crate) lines: LineOptions,
    /// Who besides the task that was named.
    pub(crate) scope: Scope,
    /// The way that is asked for.
    pub(crate) way: Option<arguments::WayWanted>,
    /// What is left unsaid.
    pub(crate) quiet: Quiet,
    /// Whether words are said that strace does not say.
    pub(crate) own_words: bool,
    /// Whether no line may be lost, however long the tasks are held up for it.
    pub(crate) is_lossless: bool,
    /// How calls have to go to be counted.
    pub(crate) statuses: Statuses,
    /// Only tasks of this name, ended by a zero.
    pub(crate) command: Option<[u8; 16]>,
    /// Only tasks in or below this control group: its id, and how far below the root it is.
    pub(crate) cgroup: Option<(u64, u32)>,
    /// Calls that took less are left out.
    pub(crate) slower_than_ns: u64,
    /// How long to trace at most.
    pub(crate) time: Option<Duration>,
    /// The table at the end.
    pub(crate) summary: Option<Summary>,
}

impl Plan {
    /// Whether tasks are chosen by more than who they are.
    fn is_limited(&self) -> bool {
        self.command.is_some() || self.cgroup.is_some()
    }
}

/// What events are written to.
pub(crate) trait Sink {
    /// Writes one.
    fn event(&mut self, event: &Event, memory: &dyn Memory) -> std::io::Result<()>;
    /// Whether tasks stand still at their events, so that what is looked up in `/proc` is exact.
    fn set_exact(&mut self, is_exact: bool);
    /// A task is traced that ran already.
    fn attached(&mut self, thread: i32);
    /// The call that a task is in has no line.
    fn give_up(&mut self, thread: i32);
    /// Nothing may come for a while: what is held is written out.
    fn idle(&mut self) -> std::io::Result<()>;
    /// Tasks are let go: lines of calls under way are ended.
    fn detach(&mut self) -> std::io::Result<()>;
    /// What the table at the end is written to.
    fn output(&mut self) -> Option<&mut Output>;
    /// Writes out everything and closes.
    fn close(self: Box<Self>) -> anyhow::Result<()>;
}

/// Traces until the command ends, a signal comes or nobody is left; gives how the command ended.
pub(crate) fn run(
    target: &Target,
    plan: &Plan,
    sink: Box<dyn Sink>,
) -> anyhow::Result<Option<End>> {
    let (mut watch, instead) = way::choose(target, plan)?;
    let interruption = Interruption::take_over()?;
    let mut session = Session {
        plan,
        sink,
        counts: EventCounts::new(Criteria {
            statuses: plan.statuses,
            slower_than_ns: plan.slower_than_ns,
            split: bpf::Split::None,
        }),
        failed: None,
        start: Instant::now(),
    };
    session.sink.set_exact(watch.engine().way() != Way::Kernel);
    if let Target::Processes(list) = target {
        session.greet(list);
    }
    let done = session.run(&mut watch, &interruption);
    let engine = watch.engine();
    let let_go = session.let_go(engine, target, matches!(done, Ok(Outcome::LeftEarly)));
    let cost = Cost {
        way: engine.way(),
        weight: engine.weight(),
        lost: engine.lost(),
        calls: session.counts.tally().total().calls,
        instead,
    };
    let end = engine.end();
    drop(watch);
    session.finish(&cost)?;
    let_go?;
    done?;
    Ok(end)
}

/// How a session came to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Nobody is left to trace.
    Over,
    /// There are tasks that run on.
    LeftEarly,
}

struct Session<'a> {
    plan: &'a Plan,
    sink: Box<dyn Sink>,
    counts: EventCounts,
    /// Why nothing is written any more.
    failed: Option<std::io::Error>,
    start: Instant,
}

impl Session<'_> {
    /// Says who is traced from now on.
    fn greet(&mut self, processes: &[i32]) {
        for process in processes {
            let threads = match self.plan.scope {
                Scope::Thread => vec![*process],
                _ => target::threads(*process),
            };
            for thread in &threads {
                self.sink.attached(*thread);
            }
            if self.plan.quiet.attach() {
                continue;
            }
            // The words are strace's, as tools look for them.
            match threads.len() {
                0 | 1 => eprintln!("strace: Process {process} attached"),
                count => eprintln!("strace: Process {process} attached with {count} threads"),
            }
        }
    }

    fn run(
        &mut self,
        watch: &mut way::Watch,
        interruption: &Interruption,
    ) -> anyhow::Result<Outcome> {
        let command = watch.pid();
        let is_command = command.is_some();
        for slice in 0_u64.. {
            let is_measured = slice % MEASURED_OF == 0;
            watch.measure(is_measured)?;
            let left = self.plan.time.map(|time| time.saturating_sub(self.start.elapsed()));
            if left == Some(Duration::ZERO) {
                return Ok(Outcome::LeftEarly);
            }
            let slice = if is_measured { MEASURED } else { SLICE };
            let limit = left.map_or(slice, |left| left.min(slice));
            let progress = watch.engine().run(Some(limit), &mut |event, memory| {
                self.event(event, memory);
                if self.failed.is_some() && !is_command {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })?;
            self.try_to(|sink| sink.idle());
            if progress == Progress::Ended {
                return Ok(Outcome::Over);
            }
            if self.failed.is_some() && !is_command {
                return Ok(Outcome::LeftEarly);
            }
            while let Some(signal) = interruption.next() {
                if !is_command {
                    return Ok(Outcome::LeftEarly);
                }
                // A terminal has sent it to the command too; others send it to us alone.
                if signal != libc::SIGINT
                    && signal != libc::SIGQUIT
                    && let Some(process) = command
                {
                    super::count::send(process, signal);
                }
            }
        }
        Ok(Outcome::LeftEarly)
    }

    /// Deals with one event.  A command goes on even where its lines cannot be written any more.
    fn event(&mut self, event: &Event, memory: &dyn Memory) {
        match event.what {
            // Told only for what they do to descriptors.
            What::Enter(call) | What::Exit { call, .. } if !self.plan.lines.calls.has(call.id) => {}
            _ => self.counts.add(event),
        }
        if let What::Exit { wall_ns, .. } = event.what
            && wall_ns < self.plan.slower_than_ns
        {
            self.sink.give_up(event.thread);
            return;
        }
        self.try_to(|sink| sink.event(event, memory));
    }

    fn try_to(&mut self, work: impl FnOnce(&mut dyn Sink) -> std::io::Result<()>) {
        if self.failed.is_none() {
            self.failed = work(&mut *self.sink).err();
        }
    }

    /// Lets go of tasks that run on.
    fn let_go(
        &mut self,
        engine: &mut dyn Engine,
        target: &Target,
        is_early: bool,
    ) -> anyhow::Result<()> {
        if !is_early {
            return Ok(());
        }
        // What has happened up to now.
        engine.run(Some(Duration::ZERO), &mut |event, memory| {
            self.event(event, memory);
            ControlFlow::Continue(())
        })?;
        engine.detach()?;
        self.try_to(|sink| sink.detach());
        self.try_to(|sink| sink.idle());
        if let Target::Processes(list) = target
            && !self.plan.quiet.attach()
        {
            for process in list.iter().filter(|process| target::is_there(**process)) {
                eprintln!("strace: Process {process} detached");
            }
        }
        Ok(())
    }

    /// Writes the table if one is wanted, and what it has cost.
    fn finish(mut self, cost: &Cost) -> anyhow::Result<()> {
        if let Some(summary) = &self.plan.summary
            && let Some(output) = self.sink.output()
            && self.failed.is_none()
        {
            self.failed = summary.write(&self.counts.tally(), output).err();
        }
        if self.failed.is_none() {
            self.sink.close()?;
        }
        if cost.lost > 0 {
            eprintln!(
                "whit: {} events were lost, as they came faster than lines are written: choose \
                 fewer with -e trace=, or --way ptrace, which loses none",
                cost.lost
            );
        }
        if self.plan.own_words {
            eprintln!("whit: {}", cost.text());
        }
        match self.failed {
            // Whoever read the lines has had enough; the command has run all the same.
            Some(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Some(error) => Err(error).context("writing the lines of the trace"),
            None => Ok(()),
        }
    }
}

/// What tracing has cost.
struct Cost {
    way: Way,
    weight: Weight,
    lost: u64,
    /// Calls that were told.
    calls: u64,
    /// Why it was not a better way.
    instead: Option<String>,
}

impl Cost {
    /// One line of a terminal, and one more if there is a reason to be told.
    fn text(&self) -> String {
        let Cost { way, weight, lost, calls, .. } = self;
        let (times, held) = (weight.times, trace::duration(weight.held_ns));
        let filter = if *way == Way::Seccomp { " with a filter" } else { "" };
        let cost = match (way, weight.call_ns()) {
            (Way::Kernel, Some(call_ns)) if *calls > 0 => {
                let each = trace::duration(call_ns as u64);
                format!("in the kernel: {calls} calls took {each} more each")
            }
            (Way::Kernel, _) => format!("in the kernel: {calls} calls"),
            // The switches between a task and us are not seen.
            _ => format!("by ptrace{filter}: {times} stops, {held} or more, which times include"),
        };
        let mut text = format!("{cost}; lost: {lost}");
        if let Some(why) = &self.instead {
            text += &format!("\nwhit: not in the kernel, which costs less: {why}");
        }
        text
    }
}
