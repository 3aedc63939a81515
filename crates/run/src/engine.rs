//! The loop that joins the parts: input, schedule, spawner, output, joblog.
//!
//! One thread does everything except reading pipes and, on large machines, starting programs.  It
//! sleeps in `sigtimedwait`, or in `epoll_wait` where descriptors are watched, until a process
//! ends, a timer expires or there is more input.  It never polls.
//!
//! A job of a plain program takes half a dozen system calls: `clone`, the `sigtimedwait` that
//! returns when it ends (one for all jobs that end together), `wait4`, one check that its process
//! group is gone, and those that keep its output apart ([`crate::collect`]).

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::process::Rlimit;

pub mod bins;
mod blocks;
mod end;
mod filter;
mod hostgroups;
mod job;
pub mod job_source;
mod left_behind;
pub mod observe;
mod on_all_hosts;
pub mod os;
mod own_folder;
mod queue;
mod remote_jobs;
mod rereading;
mod sending;
mod start;
mod stdin;
mod tee;

pub use bins::Bins;
pub use blocks::{Blocks, InputBlock, Ranges};
pub use filter::FilterError;
pub use hostgroups::AddedHosts;
use job::Job;
pub use job_source::{JobSource, NextJob};
use left_behind::LeftBehind;
pub use observe::{Observer, RunStatus, RunningJob};
use on_all_hosts::AllHosts;
pub use os::{EngineEvent, Interest, Linux, OperatingSystem};
pub use remote_jobs::{JobHost, Remote, SshDelay};
pub use rereading::{Logins, Rereading};
pub use sending::BlockAccess;
pub use tee::Tee;

use crate::collect::{CollectError, Collector, JobText, Streams};
use crate::input::InputError;
use crate::job::{JobResult, Outcome};
use crate::joblog::{Log, LogError};
use crate::pipe::PipeError;
use crate::remote::files::PathError;
use crate::schedule::{Action, AfterEnd, EndReason, EndedJob, Halted, Machine, Schedule, Start};
use crate::units::UnitError;
use spawn::{
    ARGUMENT_BYTES_MAX, Child, Environment, Launch, Reaped, Reclaimed, ResourceUsage, SpawnError,
};
use template::quote::Shell;
use template::{Context, Flow, Packing, RenderError, Template, Values};

/// The slot number for the command of `--limit`; jobs have slots from 1.
const LIMIT: u32 = 0;

/// An error that ends the run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The input could not be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The input could not be split into blocks.
    #[error(transparent)]
    Pipe(#[from] PipeError),
    /// The standard input of a job could not be written.
    #[error("cannot write the standard input of job {seq}: {error}")]
    Stdin {
        /// The job's number.
        seq: u64,
        /// What the kernel said.
        error: io::Error,
    },
    /// A command line could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A `--filter` expression could not be parsed.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// Output could not be collected or written.
    #[error(transparent)]
    Collect(#[from] CollectError),
    /// The joblog could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// No process can be started at all.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A host that a value names cannot be used.
    #[error("{0}")]
    Host(String),
    /// A file cannot be sent to another host, or returned from it.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Waiting for events failed.
    #[error("cannot wait for jobs: {0}")]
    Wait(#[from] io::Error),
    /// The folder of a job (`--workdir ...`) cannot be made or removed.
    #[error("--workdir ...: cannot make or remove {path}: {error}")]
    OwnFolder {
        /// The folder.
        path: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// `--retries` is no number for a job.
    #[error("--retries of job {seq}: {error}")]
    Retries {
        /// The job's number.
        seq: u64,
        /// What is wrong with it.
        error: UnitError,
    },
    /// A command line is longer than the kernel allows.
    #[error("command line of job {seq} too long ({bytes} > {limit} bytes)")]
    TooLong {
        /// The job's number.
        seq: u64,
        /// The length of the command line in bytes.
        bytes: usize,
        /// The longest one.
        limit: usize,
    },
}

/// How a command line is started.
#[derive(Clone, Debug)]
pub enum StartMethod {
    /// By a shell.
    Shell {
        /// The shell's file.
        program: Arc<CString>,
        /// The words before the command line: the shell's name and `-c`.
        words: Vec<Vec<u8>>,
        /// Text before each command line, in the same word.
        prologue: Vec<u8>,
    },
    /// Without a shell: the program gets the words that a shell would have made.
    Direct {
        /// The program's file.
        program: Arc<CString>,
    },
    /// It is not started at all (`--dry-run`).
    Not,
}

impl StartMethod {
    /// The shell's file, where there is one.
    pub fn shell(&self) -> Option<&CStr> {
        match self {
            StartMethod::Shell { program, .. } => Some(program),
            StartMethod::Direct { .. } | StartMethod::Not => None,
        }
    }
}

/// The standard input of jobs.
#[derive(Debug)]
pub enum JobStdin {
    /// Ours: the terminal (`--tty`), or `/dev/null`, which the caller has put in its place.
    /// Inheriting needs no system call.
    Inherited,
    /// The block of the job; ours for commands without a block.
    Block {
        /// Jobs get further blocks while they run (`--round-robin`).
        goes_on: bool,
        /// How they read it.
        access: BlockAccess,
    },
}

/// Where the command line is shown before a job starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShowCommand {
    /// Nowhere.
    #[default]
    Nowhere,
    /// On standard output, before the job's own (`-v`, `--dry-run`).
    Output,
    /// On standard error, at once (`-t`).
    Error,
}

/// Whether a job is left out because an earlier run did it.
pub type IsDone = Box<dyn Fn(u64) -> bool>;

/// What the engine runs, and how.
pub struct EngineOptions {
    /// The template of the command line.
    pub template: Template,
    /// How the command line is started.
    pub start_method: StartMethod,
    /// The language in which values are quoted.
    pub shell: Shell,
    /// How records are packed into a command line.
    pub packing: Packing,
    /// Conditions (`--filter`): a job for which one of them does not hold is not run.
    pub filters: Vec<Template>,
    /// What comes before each line of output.
    pub tag: Option<Template>,
    /// Where output is saved, for [`crate::collect::Results::Template`].
    pub place: Option<Template>,
    /// The working directory of jobs.
    pub directory: Option<Template>,
    /// Where command lines are shown.
    pub show: ShowCommand,
    /// The environment; its variables that differ by job are counted by [`EngineOptions::own`].
    pub environment: Environment,
    /// How many variables differ by job: of `PARALLEL_SEQ`, `PARALLEL_JOBSLOT` and the slot from 0
    /// (`--process-slot-var`), in this order; after them comes that of a block's name (see
    /// [`BlockAccess`]), if there is one.
    pub own: usize,
    /// The standard input of jobs.
    pub stdin: JobStdin,
    /// The nice value of jobs; 0 inherits ours.
    pub nice: i32,
    /// The limit of open files of a job; `None` inherits ours.
    pub descriptors: Option<Rlimit>,
    /// Why fewer jobs run at once than were asked for: told once, when that makes a job wait.
    pub shortage: Option<String>,
    /// Whether jobs stay in our process group.
    pub shares_group: bool,
    /// Which jobs are left out.
    pub is_done: Option<IsDone>,
    /// The beginning of the path of a folder for each job here (`--workdir ...`), which a `-` and the
    /// job's number end.
    pub own_folders: Option<Vec<u8>>,
    /// The text of `--retries` if it depends on the job.
    pub retries: Option<Template>,
    /// Jobs that have results already are left out.
    pub resumes_results: bool,
    /// The command line is needed as text even where no shell reads it.
    pub needs_text: bool,
    /// The command of `--limit`: its file and its words.
    pub limit: Option<(Arc<CString>, Vec<Vec<u8>>)>,
    /// How many jobs there are, if that is known in advance.
    pub total: Option<u64>,
    /// The hosts, unless all jobs run here.
    pub remote: Option<Remote>,
    /// Offset of local time from UTC in seconds.
    pub zone_offset_s: i64,
}

/// How many jobs ended and failed, and the exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunOutcome {
    /// Jobs that have ended, including failed ones.
    pub ended: u64,
    /// Ended jobs that failed.
    pub failed: u64,
    /// The exit code for all of them.
    pub exit_code: u8,
    /// The signal that ended the run, or 0.
    pub signal: i32,
}

/// The parts of an engine.
pub struct EngineParts<W> {
    /// What the engine runs, and how.
    pub options: EngineOptions,
    /// Where the records come from.
    pub job_source: JobSource,
    /// Decides when jobs start.
    pub schedule: Schedule,
    /// What the schedule reads the state of the machine from.
    pub machine: Box<dyn Machine>,
    /// Collects their output.
    pub collector: Collector,
    /// The joblogs.
    pub logs: Vec<Log>,
    /// Starts processes and waits for them.
    pub os: W,
}

/// Runs jobs.
pub struct Engine<'a, W> {
    options: EngineOptions,
    job_source: JobSource,
    /// Which records each host has had, if all jobs run on every host.
    all_hosts: Option<AllHosts>,
    schedule: Schedule,
    machine: Box<dyn Machine>,
    collector: Collector,
    logs: Vec<Log>,
    os: W,
    observer: &'a mut dyn Observer,
    /// The number of the latest job.
    seq: u64,
    total: Option<u64>,
    has_ended: bool,
    /// Jobs that are to be run again, or that were not started yet.
    again: VecDeque<Job>,
    /// Running jobs, by slot (from 1).
    slots: Vec<Option<Job>>,
    /// The slots of running jobs, by process.
    pids: HashMap<i32, u32>,
    /// The slots of running jobs, by our end of their standard input while it is watched.
    writers: HashMap<RawFd, u32>,
    /// The slot that gets the next block, if its job waits for one (`--round-robin`).
    turn: usize,
    /// Exits of processes whose start event has not come yet.
    early: HashMap<i32, Reaped>,
    /// Launches that are used again.
    #[allow(clippy::vec_box, reason = "they move between queues as boxes")]
    idle: Vec<Box<Launch>>,
    warned_busy: bool,
    /// What jobs that were ended have left behind.
    left_behind: Vec<LeftBehind>,
    /// The process of `--limit`, while it runs.
    limit: Option<Child>,
    running: u64,
    started: u64,
    run_outcome: RunOutcome,
    /// Buffers for the texts of one job.
    tag: Vec<u8>,
    place: Vec<u8>,
}

impl<'a, W: OperatingSystem> Engine<'a, W> {
    /// An engine made of these parts.
    pub fn new(parts: EngineParts<W>, observer: &'a mut dyn Observer) -> Self {
        let EngineParts { options, job_source, mut schedule, machine, collector, logs, os } = parts;
        let hosts = options.remote.as_ref().filter(|remote| remote.on_all_hosts);
        let hosts = hosts.map(|remote| remote.job_hosts.len());
        let left = job_source.left().map(|left| left * hosts.unwrap_or(1) as u64);
        let total = options.total.or(left);
        if let Some(total) = total {
            schedule.set_total(total);
        }
        Engine {
            options,
            job_source,
            all_hosts: hosts.map(AllHosts::new),
            schedule,
            machine,
            collector,
            logs,
            os,
            observer,
            seq: 0,
            total,
            has_ended: false,
            again: VecDeque::new(),
            slots: Vec::new(),
            pids: HashMap::new(),
            writers: HashMap::new(),
            turn: 0,
            early: HashMap::new(),
            idle: Vec::new(),
            warned_busy: false,
            left_behind: Vec::new(),
            limit: None,
            running: 0,
            started: 0,
            run_outcome: RunOutcome::default(),
            tag: Vec::new(),
            place: Vec::new(),
        }
    }

    /// Runs all jobs.
    ///
    /// # Errors
    ///
    /// An error that ends the run.  Running jobs are killed before it is returned.
    pub fn run(mut self) -> Result<RunOutcome, EngineError> {
        let done = self.run_all();
        self.report_losses();
        if done.is_err() {
            self.end_all_now();
        }
        let status = self.status();
        self.observer.all_ended(&status);
        done?;
        self.run_outcome.exit_code = match &self.all_hosts {
            Some(all_hosts) if !self.schedule.is_stopped() => all_hosts.exit_code(),
            _ => self.schedule.exit_code(),
        };
        self.run_outcome.failed = self.schedule.failed();
        Ok(self.run_outcome)
    }

    fn run_all(&mut self) -> Result<(), EngineError> {
        let mut events = Vec::new();
        loop {
            let look = self.reread_hosts();
            let mut until = self.start_what_may()?;
            self.hand_out()?;
            self.hand_out_bins()?;
            self.pass_on()?;
            if self.is_finished() {
                self.collector.end_all_groups();
                return self.log_written();
            }
            let left = self.next_left_behind();
            for timer in [self.schedule.next_timer(), self.observer.next_tick(), look, left] {
                until = match (until, timer) {
                    (Some(one), Some(other)) => Some(one.min(other)),
                    (one, other) => one.or(other),
                };
            }
            self.os.wait(until, &mut events)?;
            for event in events.drain(..) {
                self.hear(event)?;
            }
            self.timers();
            self.obey();
            self.report_losses();
        }
    }

    /// Tells which outputs could not be written, each once.
    fn report_losses(&mut self) {
        for loss in self.collector.take_losses() {
            self.observer.warn(format!("{loss}: output of jobs is lost").as_bytes());
        }
        for loss in self.logs.iter_mut().filter_map(Log::take_loss) {
            self.observer.warn(format!("{loss}: lines of it are lost").as_bytes());
        }
    }

    /// Whether no job runs and none will start.
    fn is_finished(&self) -> bool {
        self.running == 0 && self.again.is_empty() && self.has_ended && self.left_behind.is_empty()
    }
}
