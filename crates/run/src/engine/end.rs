//! Events of running jobs: exits, timers, signals.

#![allow(unsafe_code, reason = "signals, and descriptors that others own")]

use super::*;
use crate::units;

impl<W: OperatingSystem> Engine<'_, W> {
    /// Handles one event.
    pub(super) fn hear(&mut self, event: EngineEvent) -> Result<(), EngineError> {
        match event {
            EngineEvent::Started { slot: LIMIT, result, .. } => self.limit_started(result),
            EngineEvent::Started { slot, result, at } => self.started_one(slot, result, at),
            EngineEvent::Ended(reaped) => self.process_ended(reaped),
            EngineEvent::Ready(fd) => match self.writers.get(&fd) {
                Some(&slot) => self.write_stdin(slot),
                None => Ok(self.collector.readable(fd)?),
            },
            EngineEvent::Signal(signal) => {
                self.signalled(signal);
                Ok(())
            }
            // More input is read before the next wait.
            EngineEvent::Input => Ok(()),
        }
    }

    fn started_one(
        &mut self,
        slot: u32,
        result: Result<Child, (Box<Launch>, SpawnError)>,
        at: Instant,
    ) -> Result<(), EngineError> {
        let job = self.slots.get_mut(slot as usize).and_then(Option::as_mut);
        let Some(job) = job else { return Ok(()) };
        match result {
            Ok(child) => {
                let pid = child.pid;
                let was_filled = job.sending.as_ref().is_some_and(|sending| sending.is_part());
                (job.child, job.started) = (Some(child), at);
                if let Some(sending) = &mut job.sending {
                    sending.started();
                }
                if was_filled && self.schedule.is_ending(slot) {
                    // The job was killed while its file was still being filled: sends the signal
                    // now.
                    self.os.signal(pid, libc::SIGKILL);
                }
                self.pids.insert(pid, slot);
                // The number of a group is free again once the group is empty.
                self.left_behind.retain(|left| left.group() != pid);
                let (command, records) = (&job.command, &job.records);
                let (seq, running) = (job.seq, self.running);
                let running = RunningJob { seq, slot, pid, at, records, command, running };
                self.observer.job_started(&running);
                self.hear_early(pid)
            }
            Err((launch, SpawnError::Busy(error))) => self.no_process(slot, launch, error),
            Err((_, error)) => Err(error.into()),
        }
    }

    /// Keeps the exit of a process that came before the event of its start, which happens when
    /// other threads start programs.
    fn hear_early(&mut self, pid: i32) -> Result<(), EngineError> {
        let reaped = self.early.remove(&pid);
        if !self.early.is_empty() && !self.awaits_start() {
            self.early.clear();
        }
        match reaped {
            Some(reaped) => self.process_ended(reaped),
            None => Ok(()),
        }
    }

    /// Whether a process may exist whose start event has not come yet.
    fn awaits_start(&self) -> bool {
        let starts = |job: &Job| job.child.is_none();
        self.options.limit.is_some() || self.slots.iter().flatten().any(starts)
    }

    /// No process could be created for a job: it is tried again when others have ended, or later.
    fn no_process(
        &mut self,
        slot: u32,
        launch: Box<Launch>,
        error: io::Error,
    ) -> Result<(), EngineError> {
        self.idle.push(launch);
        let Some(mut job) = self.slots[slot as usize].take() else { return Ok(()) };
        self.close_stdin(&mut job, true);
        self.running -= 1;
        self.started -= 1;
        if let Some(remote) = &mut self.options.remote {
            remote.hosts.not_started(job.host);
        }
        self.collector.abandon(slot, false)?;
        self.schedule.refused(slot, self.os.now());
        self.again.push_front(job);
        if self.running == 0 && !self.warned_busy {
            self.warned_busy = true;
            let error = SpawnError::Busy(error);
            self.observer.warn(format!("{error}; trying again until it can be").as_bytes());
        }
        Ok(())
    }

    /// Writes to a job's standard error why it could not be started.
    fn write_start_error(&mut self, launch: &Launch, error: &SpawnError) {
        let text = format!("whit run: {error}\n");
        match launch.streams[2] {
            Some(fd) => {
                // SAFETY: the collector keeps it open until the job is closed, which comes later.
                let fd = unsafe { rustix::fd::BorrowedFd::borrow_raw(fd) };
                // An error here can be reported nowhere else.
                let _ = rustix::io::write(fd, text.as_bytes());
            }
            None => self.observer.warn(text.trim_end().as_bytes()),
        }
    }

    fn process_ended(&mut self, reaped: Reaped) -> Result<(), EngineError> {
        if let Some(limit) = self.limit.take_if(|limit| limit.pid == reaped.pid) {
            self.limit_ended(limit.reclaim(), reaped.exit);
            return Ok(());
        }
        let Some(slot) = self.pids.remove(&reaped.pid) else {
            // Otherwise it is no job but an ssh that queries a host or shares its connection, or the
            // Perl of expressions.
            if self.awaits_start() {
                self.early.insert(reaped.pid, reaped);
            }
            return Ok(());
        };
        let Some(mut job) = self.slots[slot as usize].take() else { return Ok(()) };
        self.running -= 1;
        let mut outcome = match reaped.exit {
            Some(code) => Outcome::Exited(code),
            None => Outcome::Signalled(reaped.signal),
        };
        let mut usage = reaped.usage;
        if let Some(Reclaimed { launch, took, error }) = job.child.take().map(Child::reclaim) {
            job.started += took;
            usage.spawn_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            if let Some(error) = error {
                self.write_start_error(&launch, &error);
                outcome = Outcome::Exited(error.exit_code());
                usage = ResourceUsage::default();
            }
            self.idle.push(launch);
        }
        let leftovers = !self.options.shares_group && !self.os.is_gone(reaped.pid);
        if leftovers && let Some(next) = self.schedule.next_signal(slot) {
            self.left_behind.push(LeftBehind::of(reaped.pid, next));
        }
        self.settle(job, outcome, usage, leftovers)
    }

    /// Ends a job, or queues it to be run again.
    pub(super) fn settle(
        &mut self,
        mut job: Job,
        outcome: Outcome,
        usage: ResourceUsage,
        leftovers: bool,
    ) -> Result<(), EngineError> {
        let now = self.os.now();
        self.set_retries(&job)?;
        self.remove_own_folder(&job)?;
        let ended = self.schedule.ended(job.slot, outcome, now, &mut *self.machine);
        self.close_stdin(&mut job, ended.verdict == AfterEnd::Again);
        if let Some(remote) = &mut self.options.remote {
            remote.hosts.ended(job.host, job.seq, ended.verdict == AfterEnd::Again);
            if let Some(rereading) = &mut remote.rereading {
                rereading.job_ended();
            }
        }
        match ended.verdict {
            AfterEnd::Again => {
                self.collector.abandon(job.slot, leftovers)?;
                self.again.push_back(job);
                self.report_not_counted();
            }
            AfterEnd::Dropped => {
                self.collector.abandon(job.slot, leftovers)?;
                if let Some(all_hosts) = &mut self.all_hosts {
                    all_hosts.ended(job.host, false);
                }
                self.report_not_counted();
            }
            AfterEnd::Done => {
                self.report_halt(ended.halt, &job, ended.outcome);
                self.finish(job, ended, usage, leftovers, now)?;
            }
        }
        Ok(())
    }

    /// Tells the schedule how many attempts a job gets, if that depends on the job.
    fn set_retries(&mut self, job: &Job) -> Result<(), EngineError> {
        if self.options.retries.is_none() {
            return Ok(());
        }
        let mut text = Vec::new();
        self.bare(self.options.retries.as_ref(), job, &mut text)?;
        let attempts = units::small_count(&String::from_utf8_lossy(&text));
        let attempts = attempts.map_err(|error| EngineError::Retries { seq: job.seq, error })?;
        self.schedule.set_retries(attempts);
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        job: Job,
        ended: EndedJob,
        usage: ResourceUsage,
        leftovers: bool,
        now: Instant,
    ) -> Result<(), EngineError> {
        let EndedJob { outcome, attempt, .. } = ended;
        // The resource usage of ssh here says nothing about the job.
        let (here, host) = (self.remote_host(&job).is_none(), self.host_name(&job));
        let records = if job.is_block { Vec::new() } else { job.records };
        let finished = JobResult {
            seq: job.number,
            slot: job.slot,
            host,
            start_ns: self.os.epoch_ns(job.started),
            wall_ns: u64::try_from((now - job.started).as_nanos()).unwrap_or(u64::MAX),
            send_bytes: job.sent_bytes + job.sending.as_ref().map_or(0, |sending| sending.bytes()),
            receive_bytes: job.bring.iter().map(remote_jobs::bytes_of).sum(),
            outcome,
            attempt,
            command: job.command,
            records,
            usage: here.then_some(usage),
        };
        if let Some(sending) = job.sending {
            self.job_source.give_back(sending.into_block());
        }
        self.run_outcome.ended += 1;
        if let Some(all_hosts) = &mut self.all_hosts {
            all_hosts.ended(job.host, outcome.is_success());
        }
        if outcome == Outcome::Skipped {
            self.collector.pass_over(job.seq);
            self.log(&finished)?;
        } else {
            self.collector.close(finished, leftovers)?;
        }
        self.end_hosts()?;
        self.log_written()
    }

    /// Writes the joblog lines of the jobs whose output was written.
    pub(super) fn log_written(&mut self) -> Result<(), EngineError> {
        while let Some(finished) = self.collector.next_written()? {
            self.log(&finished)?;
        }
        Ok(())
    }

    /// Writes the joblog line of a job whose output has been written.
    fn log(&mut self, finished: &JobResult) -> Result<(), EngineError> {
        for log in &mut self.logs {
            log.write(finished)?;
        }
        let status = self.status();
        self.observer.job_ended(finished, &status);
        Ok(())
    }

    fn report_not_counted(&mut self) {
        let status = self.status();
        self.observer.not_counted(&status);
    }

    /// The number of jobs that run, have ended and have failed.
    pub(super) fn status(&self) -> RunStatus {
        RunStatus {
            running: self.running,
            started: self.started,
            ended: self.run_outcome.ended,
            failed: self.schedule.failed(),
            total: self.total,
            slots: self.schedule.slots(),
        }
    }

    fn limit_started(
        &mut self,
        result: Result<Child, (Box<Launch>, SpawnError)>,
    ) -> Result<(), EngineError> {
        match result {
            Ok(child) => {
                let pid = child.pid;
                self.limit = Some(child);
                self.hear_early(pid)
            }
            Err((_, error)) => {
                self.limit_failed(&error);
                Ok(())
            }
        }
    }

    /// Handles the exit code of the command of `--limit`.
    fn limit_ended(&mut self, ended: Reclaimed, exit: Option<u8>) {
        match ended.error {
            Some(error) => self.limit_failed(&error),
            None => self.schedule.limit_answered(exit.unwrap_or(1), self.os.now()),
        }
    }

    /// The command could not run: the same as "wait".
    fn limit_failed(&mut self, error: &SpawnError) {
        self.observer.warn(format!("--limit: {error}").as_bytes());
        self.schedule.limit_answered(1, self.os.now());
    }

    /// Runs the timers that are due.
    pub(super) fn timers(&mut self) {
        let now = self.os.now();
        self.schedule.poll(now, &mut *self.machine);
        self.signal_left_behind(now);
        if self.observer.next_tick().is_some_and(|at| at <= now) {
            let status = self.status();
            self.observer.tick(&status, now);
        }
    }

    /// Carries out the actions of the schedule.
    pub(super) fn obey(&mut self) {
        // Collected first, because messages borrow the schedule too; there are hardly ever any.
        let actions: Vec<Action> = self.schedule.actions().collect();
        for action in actions {
            let (Action::Signal { slot, .. } | Action::Warn { slot, .. }) = action;
            let Some(job) = self.slots.get(slot as usize).and_then(Option::as_ref) else {
                continue;
            };
            match action {
                Action::Signal { signal, .. } => {
                    if let Some(child) = &job.child {
                        self.os.signal(child.pid, signal);
                    }
                }
                Action::Warn { reason, .. } => {
                    let why = match reason {
                        EndReason::TimedOut => "timed out",
                        EndReason::LowMemory => "ended because memory was short, to be run again",
                        EndReason::Limit => "ended because the limit asks for it, to be run again",
                    };
                    let text = self.with_command(format!("job {} {why}", job.number), job);
                    self.observer.warn(&text);
                }
            }
        }
    }

    /// Prints the message of `--halt` when a job has ended.
    fn report_halt(&mut self, halt: Halted, job: &Job, outcome: Outcome) {
        if halt == Halted::No {
            return;
        }
        let what = if outcome.is_success() { "succeeded" } else { "failed" };
        let text = self.with_command(format!("this job {what}"), job);
        self.observer.warn(&text);
        if let Halted::Soon { running } = halt {
            let text = format!("starting no more jobs; waiting for {running} to end");
            self.observer.warn(text.as_bytes());
        }
    }

    /// A message, followed by a job's command line if there is one.
    fn with_command(&self, message: String, job: &Job) -> Vec<u8> {
        let mut text = message.into_bytes();
        if let Some(command) = self.text(job) {
            text.extend_from_slice(b": ");
            text.extend_from_slice(&command);
        }
        text
    }

    /// Handles a signal that this process received.
    fn signalled(&mut self, signal: i32) {
        match signal {
            libc::SIGUSR1 => {
                for job in self.slots.iter().flatten() {
                    if let Some(command) = self.text(job) {
                        self.observer.show_command(&command);
                    }
                }
            }
            libc::SIGUSR2 => {
                let status = self.status();
                self.observer.toggle(&status);
            }
            libc::SIGTSTP => self.stop(),
            libc::SIGHUP => self.schedule.stop_starting(),
            // TERM or INT.
            _ => {
                self.run_outcome.signal = signal;
                self.schedule.end_all(self.os.now());
            }
        }
    }

    /// SIGTSTP: stops the jobs, which have process groups of their own, and then this process.
    fn stop(&mut self) {
        self.observer.before_stop();
        self.signal_running(libc::SIGSTOP);
        self.os.stop();
        self.signal_running(libc::SIGCONT);
    }

    /// Sends a signal to all jobs that are not suspended.
    fn signal_running(&mut self, signal: i32) {
        for job in self.slots.iter().flatten() {
            if let Some(child) =
                job.child.as_ref().filter(|_| !self.schedule.is_suspended(job.slot))
            {
                self.os.signal(child.pid, signal);
            }
        }
    }

    /// Kills the jobs that still run, after an error that ends the run.
    pub(super) fn end_all_now(&mut self) {
        for child in self.slots.iter().flatten().filter_map(|job| job.child.as_ref()) {
            self.os.signal(child.pid, libc::SIGKILL);
        }
        for left in &self.left_behind {
            self.os.signal_rest(left.group(), libc::SIGKILL);
        }
    }
}
