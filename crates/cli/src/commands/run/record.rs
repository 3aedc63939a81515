//! `--record`: a recording of the machine and of the jobs while they run, for `whit play`.
//!
//! A thread of this process takes a sample at the start, one every second, and one when all jobs have
//! ended, so that even a short run has an interval.  It is a thread so that jobs do not wait for a slow
//! disk, and samples do not wait for a slow reader of our output.  It inherits the signal mask of the
//! engine's thread and takes no signals.  The engine writes the numbers of jobs to counters
//! ([`JobCounters`]), from which source `job` makes a row.
//!
//! Costs some 0.3 ms of CPU a sample, which `-s w` of the recording shows, and two loads and stores for
//! the start and ten for the end of a job.  A sample that cannot be written is reported once and
//! counted; the jobs continue.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, anyhow};
use jiff::tz::TimeZone;
use procfs::{Host, SystemClock};
use recorder::{
    Control, FileNames, Intervals, MessageLog as _, Outputs, RecorderSettings, RecordingFile,
    RecordingOptions, Requests, RunFacts, Severity, ensure_directory, gather_facts,
};
use run::JobResult;
use run::engine::{Observer, RunStatus, RunningJob};
use sample::Clock as _;
use source::{Entry, JobCounters, RecorderCounters, SharedState, SourceContext};

use crate::commands::record::messages::Messages;

/// Time between two samples.
const INTERVAL_NS: u64 = 1_000_000_000;

/// What is shown of it unless `-s` says otherwise: CPUs, disks, memory, network, jobs, pressure
/// and the run queue, which together show what jobs waited for.
const SHOWN: &str = "cdmnopr";

/// Recorded in addition: each CPU, since one job may keep one of many busy, and the cost of
/// recording.  If these were shown, there would be no brief lines.
const BESIDE: &str = "Cw";

/// The recording thread, and the counters it reads.
pub(crate) struct Recorder {
    counters: Arc<JobCounters>,
    /// Set before `stop` is closed, because a signal alone also interrupts the sleep.
    is_over: Arc<AtomicBool>,
    /// Closed when recording is to end.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Begins a recording at `path`, as in `whit record -f`; the first sample was taken when this
    /// returns.
    ///
    /// # Errors
    ///
    /// When recording is not possible; nothing was run then.
    pub(crate) fn begin(path: &Path) -> anyhow::Result<Self> {
        let name = || format!("--record {}", path.display());
        let counters = Arc::new(JobCounters::default());
        let is_over = Arc::new(AtomicBool::new(false));
        let (stopped, stop) = std::io::pipe().with_context(name)?;
        // The caller of `begin` waits for the first sample.
        let (begun, result) = sync_channel(1);
        let (jobs, over, path) = (Arc::clone(&counters), Arc::clone(&is_over), path.to_owned());
        let record = move || match Recording::begin(&path, jobs) {
            Ok(recording) => {
                recording.run(&mut UntilAllEnded { begun: Some(begun), stopped, is_over: over });
            }
            Err(error) => drop(begun.send(Err(error))),
        };
        let thread = thread::Builder::new().name("record".into()).spawn(record);
        let thread = Some(thread.with_context(name)?);
        let recorder = Recorder { counters, is_over, stop: Some(stop), thread };
        match result.recv() {
            Ok(begun) => begun.with_context(name)?,
            Err(_) => return Err(anyhow!("{}: the thread that records has ended", name())),
        }
        Ok(recorder)
    }

    /// Takes the last sample and ends the recording.
    fn end(&mut self) {
        self.is_over.store(true, Ordering::Release);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            crate::stderr::line("whit run: --record: the thread that records has ended early");
        }
    }

    fn set(&self, status: &RunStatus) {
        self.counters.failed.set(status.failed);
        self.counters.running.set(status.running);
        self.counters.total.set(status.total.unwrap_or(0));
    }
}

impl Observer for Recorder {
    fn job_started(&mut self, job: &RunningJob<'_>) {
        self.counters.started.add(1);
        self.counters.running.set(job.running);
    }

    fn job_ended(&mut self, finished: &JobResult, status: &RunStatus) {
        self.counters.ended.add(1);
        self.counters.wall_ns.add(finished.wall_ns);
        if let Some(usage) = &finished.usage {
            self.counters.user_us.add(usage.user_us);
            self.counters.system_us.add(usage.system_us);
            self.counters.spawn_ns.add(usage.spawn_ns);
        }
        self.set(status);
    }

    fn not_counted(&mut self, status: &RunStatus) {
        self.counters.again.add(1);
        self.set(status);
    }

    fn all_ended(&mut self, status: &RunStatus) {
        self.set(status);
        self.end();
    }
}

impl Drop for Recorder {
    /// Another part could not be set up, so no job runs.
    fn drop(&mut self) {
        self.end();
    }
}

/// The recorder of the thread, and what it writes to.
struct Recording {
    recorder: recorder::Recorder,
    outputs: Outputs,
}

impl Recording {
    fn begin(path: &Path, jobs: Arc<JobCounters>) -> anyhow::Result<Self> {
        let now = SystemClock.now();
        let zone = crate::zone::local();
        let intervals = Intervals { first_ns: INTERVAL_NS, second_every: 1, third_every: 1 };
        let run = RunFacts {
            subsystems: SHOWN,
            intervals,
            command_line: &crate::words::line_after(0),
            comment: None,
            zone: &zone,
            now,
        };
        let mut meta = gather_facts(Path::new("/"), &run);
        meta.set(feed::RECORDED_BESIDE, BESIDE);
        let names = FileNames::new(path, meta.host());
        ensure_directory(&names)?;
        let counters = Arc::new(RecorderCounters::default());
        let own = Some(Arc::clone(&counters));
        let shared = SharedState { recorder: own, jobs: Some(jobs), ..SharedState::default() };
        let context = Arc::new(SourceContext { shared, ..SourceContext::default() });
        let is_wanted =
            |entry: &&Entry| [SHOWN, BESIDE].iter().any(|l| entry.asked_by(&(*l).into()));
        let entries: Vec<&'static Entry> = source::ALL.iter().copied().filter(is_wanted).collect();
        let settings = RecorderSettings {
            intervals,
            align: false,
            budget_percent: None,
            seldom: None,
            at_ends: true,
            samples: None,
            duration_ns: None,
        };
        let recorder = recorder::Recorder::open(Host::new("/"), &entries, &context, &settings, now);
        let options = RecordingOptions { beside_others: true, ..RecordingOptions::default() };
        let defs = recorder.sampler.defs();
        let file =
            RecordingFile::create((names, zone.clone()), meta, defs, options, counters, now)?;
        let mut outputs = Outputs::new(Box::new(messages(zone.clone())), zone);
        outputs.recording = Some(file);
        Ok(Recording { recorder, outputs })
    }

    /// Samples until `control` asks for the end, and closes the file.
    fn run(mut self, control: &mut UntilAllEnded) {
        let clock = &mut SystemClock;
        let recorded = self.recorder.run(clock, control, &mut self.outputs);
        let zone = crate::zone::local();
        if let Err(error) = recorded.and(self.outputs.close(clock.now())) {
            let error = anyhow::Error::from(error).context("--record");
            messages(zone).log(clock.now(), Severity::Error, &format!("{error:#}"));
        }
    }
}

fn messages(zone: TimeZone) -> Messages {
    Messages { logged: false, quiet: false, daemon: false, names: None, zone }
}

/// What the engine's thread asks of the recorder: to end when all jobs have ended.
struct UntilAllEnded {
    /// Tells the engine's thread, once, that the first sample was taken.
    begun: Option<SyncSender<anyhow::Result<()>>>,
    /// Becomes readable at the end.
    stopped: PipeReader,
    is_over: Arc<AtomicBool>,
}

impl Control for UntilAllEnded {
    /// The recorder calls it after its first sample, before it waits.
    fn requests(&mut self) -> Requests {
        if let Some(begun) = self.begun.take() {
            let _ = begun.send(Ok(()));
        }
        Requests { stop: self.is_over.load(Ordering::Acquire), ..Requests::default() }
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.stopped.as_fd())
    }
}
