//! From the command line to an engine that is ready to run.
//!
//! [`prepare`] joins what the files beside it make, in the order in which one needs the other; a
//! new option belongs into the one that its group of arguments
//! ([`RunArguments`]) is read by:
//!
//! 1. `schedule`: when jobs start and end;
//! 2. `joblog`: where they are written down, and which of them were run before;
//! 3. `input`: what they are made of: values, blocks, or an earlier run's command lines;
//! 4. `command`: the command line, its replacement strings and the shell that reads it;
//! 5. `feed`: how many values go into a job ([`run::packing`]), and which thread reads them when;
//! 6. `jobs`: their environment;
//! 7. `output`: where their output goes.

use std::time::Instant;

use anyhow::Context as _;
use run::engine::{Engine, EngineError, Live, Observer, Parts, Plan, Summary};
use run::hosts::AfterJobs;
use run::observers::{Observers, ProgressOptions};
use run::progress::Style;
use run::schedule::{Jobs, Kernel, Machine as _, Schedule};
use spawn::ExitDetails;

use super::arguments::RunArguments;
use super::{hosts, observers};
use crate::memory;
use command::Command;
use input::Given;

mod command;
mod feed;
mod input;
mod joblog;
mod jobs;
mod output;
mod schedule;

/// Signals that the engine takes.
const SIGNALS: &[i32] =
    &[libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGTSTP, libc::SIGUSR1, libc::SIGUSR2];

/// An engine that is ready, and its observers.
pub(crate) struct Prepared {
    parts: Parts<Live>,
    observer: Box<dyn Observer>,
    /// What is run after all jobs.
    after: AfterJobs,
}

impl Prepared {
    /// Runs all jobs.
    pub(crate) fn run(mut self) -> Result<Summary, EngineError> {
        let summary = Engine::new(self.parts, &mut *self.observer).run();
        drop(self.after);
        summary
    }

    /// The same, with one more observer.
    pub(crate) fn run_with(self, other: Box<dyn Observer>) -> Result<Summary, EngineError> {
        let Prepared { parts, observer, after } = self;
        let observer = Box::new(Observers(vec![other, observer]));
        Prepared { parts, observer, after }.run()
    }
}

/// Puts everything together.
pub(crate) fn prepare(mut arguments: RunArguments) -> anyhow::Result<Prepared> {
    hosts::check(&arguments)?;
    // Signals are taken before anything could start a thread.
    let mut machine = Kernel::default();
    let threads = machine.threads();
    let spawners = arguments.jobs.spawners.unwrap_or_else(|| (threads as usize / 16).clamp(1, 8));
    let mut world = Live::new(SIGNALS, spawners).context("cannot listen for signals")?;

    let mut options = schedule::options(&arguments.schedule)?;
    let logs = joblog::logs(&arguments)?;
    // It may read the first line of a terminal, or open a pipe that nobody writes to.
    let (words, given) = world.interruptibly(|| Given::open(&mut arguments))?;
    let command = Command::parse(&words, &arguments, &given)?;
    let (style, is_shown) = output::progress_style(&arguments.output);
    let needs_total = feed::needs_total(&command, &arguments, &options, &given)?
        || (matches!(style, Style::Eta | Style::Bar) && arguments.output.total_jobs.is_none());

    if given.tee.is_some() && arguments.schedule.jobs.is_none() {
        options.jobs = Jobs::parse("0")?;
    }
    let limit = schedule::limit(&options, &command.shell)?;
    let waker = world.waker();
    let host_options = hosts::options(&arguments)?;
    let warnings = observers::warnings();
    let prepare_hosts =
        || run::hosts::prepare(&host_options, &command.syntax, &mut machine, waker, &warnings);
    let hosts = world.interruptibly(prepare_hosts)?;
    if let Some(hosts) = &hosts {
        options.jobs = Jobs::number(hosts.slots);
    }
    let (remote, after) = hosts.map(|hosts| (hosts.remote, hosts.after)).unzip();
    let schedule = Schedule::new(options, Instant::now(), &mut machine)?;
    let slots = schedule.slots();

    let wanted = feed::Wanted { slots, needs_total, remote: remote.as_ref() };
    let feed = feed::feed(given, &command, &arguments, &wanted, &world)?;
    let (results, place) = output::results(&arguments.output, &command)?;
    // What ssh writes is another matter.
    let stdout_unused = remote.is_none() && command.redirects_output();
    let grouped = arguments.hosts.is_everywhere();
    let collector =
        output::collector(&arguments.output, results, &command, stdout_unused, grouped)?;
    let plan = Plan { remote, limit, place, ..jobs::plan(&arguments, command)? };

    let progress = ProgressOptions { style, threads, slots, is_shown };
    let observers = observers::of(&arguments.watch, progress)?;
    if arguments.watch.stats.is_some() || arguments.output.joblog_json.is_some() {
        memory::give_back_start();
        world.look_at_ends(ExitDetails::new(plan.way.shell()));
    }
    let machine = Box::new(machine);
    Ok(Prepared {
        parts: Parts { plan, feed, schedule, machine, collector, logs, world },
        observer: Box::new(Observers(observers)),
        after: after.unwrap_or_default(),
    })
}
