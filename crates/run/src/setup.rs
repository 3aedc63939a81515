//! From what a user has asked for ([`RunSettings`]) to an engine that is ready to run.
//!
//! [`prepare`] joins what the files beside it make, in the order in which one needs the other; a
//! new option belongs into the one that its group of settings is read by:
//!
//! 1. `schedule`: when jobs start and end;
//! 2. `joblog`: where they are written down, and which of them were run before;
//! 3. `input`: what they are made of: values, blocks (`blocks`, `tee`), or an earlier run's command
//!    lines;
//! 4. `command`: the command line, its replacement strings and the shell that reads it;
//! 5. `feed`: how many values go into a job ([`crate::packing`]), and which thread reads them when;
//! 6. `jobs`: their environment;
//! 7. `output`: where their output goes.

use spawn::ExitDetails;

use crate::engine::{Engine, EngineError, Live, Observer, Parts, Plan, Summary, World as _};
use crate::hosts::{AfterJobs, Warnings};
use crate::observers::ProgressOptions;
use crate::progress::Style;
use crate::schedule::{Jobs, Kernel, Machine as _, Schedule};
use crate::settings::RunSettings;
use command::Command;
use error::system;
use input::Given;

#[macro_use]
mod error;

mod blocks;
mod command;
mod feed;
mod hosts;
mod input;
mod joblog;
mod jobs;
mod output;
mod schedule;
mod semaphore_job;
mod tee;

pub use error::SetupError;
pub use semaphore_job::one_job;

/// Signals that the engine takes.
const SIGNALS: &[i32] =
    &[libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGTSTP, libc::SIGUSR1, libc::SIGUSR2];

/// An engine that is ready.
pub struct Prepared {
    parts: Parts<Live>,
    progress: ProgressOptions,
    /// What is run after all jobs.
    after: AfterJobs,
}

impl Prepared {
    /// What a line of progress is to show.
    pub fn progress(&self) -> ProgressOptions {
        self.progress
    }

    /// Looks at each process that has ended, for what `wait4` does not say.
    pub fn inspect_exits(&mut self) {
        self.parts.world.look_at_ends(ExitDetails::new(self.parts.plan.way.shell()));
    }

    /// Runs all jobs.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn run(self, observer: &mut dyn Observer) -> Result<Summary, EngineError> {
        let summary = Engine::new(self.parts, observer).run();
        drop(self.after);
        summary
    }
}

/// Puts everything together.
///
/// # Errors
///
/// What cannot be had.
pub fn prepare(mut settings: RunSettings, warnings: &Warnings) -> Result<Prepared, SetupError> {
    hosts::check(&settings)?;
    // Signals are taken before anything could start a thread.
    let mut machine = Kernel::default();
    let threads = machine.threads();
    let spawners = settings.jobs.spawners.unwrap_or_else(|| (threads as usize / 16).clamp(1, 8));
    let world = Live::new(SIGNALS, spawners).map_err(system("cannot listen for signals"))?;

    let mut options = schedule::options(&settings.schedule)?;
    let logs = joblog::logs(&settings)?;
    // It may read the first line of a terminal, or open a pipe that nobody writes to.
    let (words, given) = world.interruptibly(|| Given::open(&mut settings))?;
    let command = Command::parse(&words, &settings, &given)?;
    let (style, is_shown) = output::progress_style(&settings.output);
    let needs_total = feed::needs_total(&command, &settings, &options, &given)?
        || (matches!(style, Style::Eta | Style::Bar) && settings.output.total_jobs.is_none());

    if given.tee.is_some() && settings.schedule.jobs.is_none() {
        options.jobs = Jobs::parse("0")?;
    }
    let limit = schedule::limit(&options, &command.shell)?;
    let waker = world.waker();
    let prepare_hosts =
        || crate::hosts::prepare(&settings.hosts, &command.syntax, &mut machine, waker, warnings);
    let hosts = world.interruptibly(prepare_hosts)?;
    if let Some(hosts) = &hosts {
        options.jobs = Jobs::number(hosts.slots);
    }
    let (remote, after) = hosts.map(|hosts| (hosts.remote, hosts.after)).unzip();
    let schedule = Schedule::new(options, world.now(), &mut machine)?;
    let slots = schedule.slots();

    let needs = feed::FeedNeeds { slots, needs_total, remote: remote.as_ref(), warnings };
    let feed = feed::feed(given, &command, &settings, &needs, &world)?;
    let (results, place) = output::results(&settings.output, &command)?;
    // What ssh writes on standard output is the job's.
    let stdout_unused = remote.is_none() && command.redirects_output(&settings.user);
    let grouped = settings.hosts.is_everywhere;
    let collector = output::collector(&settings, results, &command, stdout_unused, grouped)?;
    let plan = Plan { remote, limit, place, ..jobs::plan(&settings, command)? };
    Ok(Prepared {
        parts: Parts { plan, feed, schedule, machine: Box::new(machine), collector, logs, world },
        progress: ProgressOptions { style, threads, slots, is_shown },
        after: after.unwrap_or_default(),
    })
}
