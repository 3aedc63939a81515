//! Makes an engine that is ready to run from what the user has asked for ([`RunSettings`]).
//!
//! [`prepare`] combines what the other files make, in the order in which they depend on each other.
//! A new option belongs in the file that reads its group of settings:
//!
//! 1. `schedule`: when jobs start and end;
//! 2. `input`: the input of the jobs: values, blocks (`blocks`, `tee`), or an earlier run's command
//!    lines;
//! 3. `joblog`: where it is written, and which jobs an earlier run did;
//! 4. `command`: the command line, its replacement strings and the shell that reads it;
//! 5. `job_source`: how many values go into a job ([`crate::packing`]), and which thread reads them;
//! 6. `jobs`: their environment;
//! 7. `output`: where their output goes.

use spawn::ExitDetails;

use crate::engine::{
    Engine, EngineError, EngineOptions, EngineParts, Linux, Observer, OperatingSystem as _,
    RunOutcome,
};
use crate::hosts::{AfterJobs, Warnings};
use crate::observers::ProgressOptions;
use crate::progress::Style;
use crate::schedule::{Jobs, LocalMachine, Machine as _, Schedule};
use crate::settings::RunSettings;
use command::Command;
use error::system;
use input::GivenInput;

#[macro_use]
mod error;

mod blocks;
mod command;
mod descriptors;
mod hosts;
mod input;
mod job_source;
mod joblog;
mod jobs;
mod output;
mod schedule;
mod semaphore_job;
mod tee;

pub use error::SetupError;
pub use semaphore_job::one_job;

/// Signals that the engine handles.
const SIGNALS: &[i32] =
    &[libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGTSTP, libc::SIGUSR1, libc::SIGUSR2];

/// An engine that is ready.
pub struct Prepared {
    parts: EngineParts<Linux>,
    progress: ProgressOptions,
    /// Commands to run after all jobs.
    after: AfterJobs,
}

impl Prepared {
    /// What the progress line shows.
    pub fn progress(&self) -> ProgressOptions {
        self.progress
    }

    /// Inspects each exited process for what `wait4` does not return.
    pub fn inspect_exits(&mut self) {
        self.parts.os.look_at_ends(ExitDetails::new(self.parts.options.start_method.shell()));
    }

    /// Runs all jobs.
    ///
    /// # Errors
    ///
    /// As [`Engine::run`].
    pub fn run(self, observer: &mut dyn Observer) -> Result<RunOutcome, EngineError> {
        let run_outcome = Engine::new(self.parts, observer).run();
        drop(self.after);
        run_outcome
    }
}

/// Makes the engine.
///
/// # Errors
///
/// Why the settings cannot be used.
pub fn prepare(mut settings: RunSettings, warnings: &Warnings) -> Result<Prepared, SetupError> {
    hosts::check(&settings)?;
    if settings.jobs.tty {
        // A terminal is for one job at a time, which writes to it directly.
        settings.schedule.jobs.get_or_insert_with(|| "1".to_owned());
        settings.output.ungroup |= !settings.output.group;
    }
    // Signals are blocked before any thread can start.
    let mut machine = LocalMachine::counting(settings.schedule.cpu_unit());
    let threads = machine.threads();
    let spawners = settings.jobs.spawners.unwrap_or_else(|| (threads as usize / 16).clamp(1, 8));
    let os = Linux::new(SIGNALS, spawners).map_err(system("cannot set up signals"))?;

    let mut options = schedule::options(&settings.schedule)?;
    // It may read the first line from a terminal, or open a pipe without a writer.
    let (words, given) = os.interruptibly(|| GivenInput::open(&mut settings))?;
    // After the results of an earlier run have been read.
    let logs = joblog::logs(&settings)?;
    let command = Command::parse(&words, &settings, &given)?;
    let (style, is_shown) = output::progress_style(&settings.output);
    let needs_total = job_source::needs_total(&command, &settings, &options, &given)?
        || (matches!(style, Style::Eta | Style::Bar) && settings.output.total_jobs.is_none());

    if given.tee.is_some() && settings.schedule.jobs.is_none() {
        options.jobs = Jobs::parse("0")?;
    }
    let limit = schedule::limit(&options, &command.shell)?;
    let waker = os.waker();
    let prepare_hosts =
        || crate::hosts::prepare(&settings, &command.syntax, &mut machine, waker, warnings);
    let hosts = os.interruptibly(prepare_hosts)?;
    if let Some(hosts) = &hosts {
        options.jobs = Jobs::number(hosts.slots);
    }
    let (remote, after) = hosts.map(|hosts| (hosts.remote, hosts.after)).unzip();
    let jobs = options.jobs.evaluate(&mut machine)?;
    let is_most = options.jobs.is_most();
    let may_be_more = options.jobs.is_file() || given.tee.is_some();
    let descriptors = descriptors::allow(&settings, jobs, may_be_more);
    options.jobs_max = Some(descriptors.jobs);
    let schedule = Schedule::new(options, os.now(), &mut machine)?;
    let slots = schedule.slots();

    let is_short = descriptors.shortage.is_some() || is_most;
    let needs = job_source::JobSourceNeeds {
        slots,
        is_short,
        needs_total,
        remote: remote.as_ref(),
        warnings,
    };
    let job_source = job_source::job_source(given, &command, &settings, &needs, &os)?;
    let (results, place) = output::results(&settings.output, &command)?;
    // ssh's own standard output is that of the job.
    let stdout_unused = remote.is_none() && command.redirects_output(&settings.user);
    let grouped = settings.hosts.on_all_hosts();
    let held = descriptors.held_files;
    let collector = output::collector(&settings, results, &command, stdout_unused, grouped, held)?;
    let engine_options = EngineOptions {
        remote,
        limit,
        place,
        descriptors: descriptors.of_jobs,
        shortage: descriptors.shortage,
        ..jobs::engine_options(&settings, command)?
    };
    Ok(Prepared {
        parts: EngineParts {
            options: engine_options,
            job_source,
            schedule,
            machine: Box::new(machine),
            collector,
            logs,
            os,
        },
        progress: ProgressOptions { style, threads, slots, is_shown },
        after: after.unwrap_or_default(),
    })
}
