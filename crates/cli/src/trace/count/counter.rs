//! What counts: the kernel by itself, or an engine whose events we count.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use bpf::CountSettings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use trace::engine::{Engine, Launch, Progress, Ptrace, Scope, Wanted, Way, Weight};
use trace::{CallSet, Criteria, End, EventCounts, KernelCounts, Status, Statuses, Tally};

use crate::trace::interruption::Interruption;
use crate::trace::target::{self, Target};

/// Watched processes that are not our children are looked for so often.
const LOOK: Duration = Duration::from_millis(250);

/// Which calls of whom are counted.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) target: Target,
    pub(crate) calls: CallSet,
    pub(crate) statuses: Statuses,
    /// The rest of what the kernel can select by.
    pub(crate) settings: CountSettings,
}

/// What counts.
pub(crate) enum Counter {
    Kernel { counts: Box<KernelCounts>, launch: Option<Launch>, watched: Vec<i32> },
    Engine { engine: Box<Ptrace>, counts: EventCounts },
}

/// Why a counter came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Counting,
    /// Nothing is left to be counted; how the command ended if there was one.
    Ended(Option<End>),
}

impl Counter {
    /// Begins to count, by the programs in the kernel.
    pub(crate) fn kernel(wish: &Wish) -> anyhow::Result<Self> {
        let mut settings = wish.settings.clone();
        settings.calls = (!wish.calls.is_all()).then(|| wish.calls.bits());
        settings.errors_only = !wish.statuses.has(Status::Successful);
        settings.successes_only = !wish.statuses.has(Status::Failed);
        let mut counts = Box::new(KernelCounts::open(&settings)?);
        let (mut launch, watched) = match &wish.target {
            Target::Command(command) => (Some(Launch::start(command)?), Vec::new()),
            Target::Processes(list) => (None, list.clone()),
            Target::Everybody => (None, Vec::new()),
        };
        let pid = launch.as_ref().map(Launch::pid);
        let found = counts.watch(&pid.map_or_else(|| watched.clone(), |pid| vec![pid]))?;
        for process in &watched {
            ensure!(
                settings.whole_processes && target::is_there(*process) || found.contains(process),
                "-p {process}: no such process; it may have ended"
            );
        }
        // A short command is measured from its first call on.
        counts.measure(true)?;
        if let Some(launch) = &mut launch {
            launch.release()?;
            launch.running()?;
        }
        Ok(Counter::Kernel { counts, launch, watched })
    }

    /// Begins to count, by ptrace; with a filter in the command if `selected`.
    pub(crate) fn ptrace(wish: &Wish, selected: bool) -> anyhow::Result<Self> {
        let Wish { target, calls, statuses, settings } = wish;
        let limited = settings.cgroup.is_some() || settings.command.is_some();
        ensure!(!limited, "--cgroup and --comm need programs in the kernel");
        let scope = if settings.follow { Scope::Tree } else { Scope::Thread };
        let wanted: Wanted = calls.wanted();
        let engine = match target {
            Target::Command(command) if selected => Ptrace::start_selected(command, scope, wanted)?,
            Target::Command(command) => Ptrace::start(command, scope, wanted)?,
            Target::Processes(list) => {
                ensure!(!selected, "--way seccomp: a filter is for a command, not for -p");
                Ptrace::attach(list, scope, wanted)?
            }
            Target::Everybody => anyhow::bail!(
                "the whole machine can only be counted by programs in the kernel: see whit doctor"
            ),
        };
        let criteria = Criteria {
            statuses: *statuses,
            slower_than_ns: settings.slower_than_ns,
            split: settings.split,
        };
        Ok(Counter::Engine { engine: Box::new(engine), counts: EventCounts::new(criteria) })
    }

    pub(crate) fn way(&self) -> Way {
        match self {
            Counter::Kernel { .. } => Way::Kernel,
            Counter::Engine { engine, .. } => engine.way(),
        }
    }

    /// The command's process.
    pub(crate) fn pid(&self) -> Option<i32> {
        match self {
            Counter::Kernel { launch, .. } => launch.as_ref().map(Launch::pid),
            Counter::Engine { engine, .. } => engine.pid(),
        }
    }

    /// Counts until the time is over, a signal comes or nothing is left.
    pub(crate) fn run(
        &mut self,
        interruption: &Interruption,
        limit: Duration,
    ) -> anyhow::Result<State> {
        match self {
            Counter::Kernel { launch: Some(launch), .. } => {
                if let Some(end) = launch.ended()? {
                    return Ok(State::Ended(Some(end)));
                }
                let pidfd = launch.pidfd();
                sleep(&mut [PollFd::new(interruption, PollFlags::IN), pidfd_of(&pidfd)], limit)?;
                Ok(State::Counting)
            }
            Counter::Kernel { watched, .. } => {
                let gone = !watched.is_empty() && !watched.iter().any(|id| target::is_there(*id));
                if gone {
                    return Ok(State::Ended(None));
                }
                let limit = if watched.is_empty() { limit } else { limit.min(LOOK) };
                sleep(&mut [PollFd::new(interruption, PollFlags::IN)], limit)?;
                Ok(State::Counting)
            }
            Counter::Engine { engine, counts } => {
                // The signals are blocked, and looked at between two runs.
                let progress = engine.run(Some(limit.min(LOOK)), &mut |event, _| {
                    counts.add(event);
                    ControlFlow::Continue(())
                })?;
                Ok(match progress {
                    Progress::Ended => State::Ended(engine.end()),
                    _ => State::Counting,
                })
            }
        }
    }

    /// Has the cost measured from now on, or no longer, where measuring itself costs.
    pub(crate) fn measure(&mut self, on: bool) -> anyhow::Result<()> {
        match self {
            Counter::Kernel { counts, .. } => Ok(counts.measure(on)?),
            Counter::Engine { .. } => Ok(()),
        }
    }

    pub(crate) fn weight(&self) -> anyhow::Result<Weight> {
        match self {
            Counter::Kernel { counts, .. } => Ok(counts.weight()?),
            Counter::Engine { engine, .. } => Ok(engine.weight()),
        }
    }

    /// Everything counted so far.
    pub(crate) fn tally(&self) -> anyhow::Result<Tally> {
        match self {
            Counter::Kernel { counts, .. } => counts.tally().context("reading what was counted"),
            Counter::Engine { engine, counts } => {
                let mut tally = counts.tally();
                tally.lost = engine.lost();
                Ok(tally)
            }
        }
    }

    /// Lets go of what is watched.
    pub(crate) fn detach(&mut self) -> anyhow::Result<()> {
        match self {
            Counter::Kernel { .. } => Ok(()),
            Counter::Engine { engine, .. } => Ok(engine.detach()?),
        }
    }
}

fn pidfd_of<'a>(pidfd: &'a rustix::fd::BorrowedFd<'a>) -> PollFd<'a> {
    PollFd::new(pidfd, PollFlags::IN)
}

/// Waits for one of the descriptors, or the time.
fn sleep(descriptors: &mut [PollFd<'_>], limit: Duration) -> anyhow::Result<()> {
    let limit = Timespec::try_from(limit).context("a time too long to wait for")?;
    match poll(descriptors, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error).context("waiting for the command"),
    }
}
