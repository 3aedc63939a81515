//! From the records of a job to a running program.

use std::borrow::Cow;
use std::os::unix::ffi::OsStringExt as _;

use super::sending::NAME;
use super::*;
use template::Record;

/// The next job, if there is one.
pub(super) enum WantedJob {
    Job(Job),
    NotYet,
    End,
}

impl<W: OperatingSystem> Engine<'_, W> {
    /// Starts as many jobs as may start; returns when to try again, if only time changes that.
    pub(super) fn start_what_may(&mut self) -> Result<Option<Instant>, EngineError> {
        // The last job that was started may also be the last of all.
        while !(self.has_ended && self.again.is_empty()) {
            let start = self.schedule.may_start(self.os.now(), &mut *self.machine);
            if matches!(start, Start::At(_) | Start::Ask | Start::Asked) && !self.has_more()? {
                // There is nothing to wait for.
                return Ok(None);
            }
            match start {
                Start::Now { slot } => match self.wanted()? {
                    WantedJob::Job(job) => self.start(job, slot)?,
                    WantedJob::NotYet => {
                        let remote = self.options.remote.as_ref();
                        return Ok(remote.and_then(|it| it.delayed_until(self.os.now())));
                    }
                    WantedJob::End => self.has_ended = true,
                },
                Start::At(at) => return Ok(Some(at)),
                Start::OnEnd => {
                    self.report_shortage()?;
                    return Ok(None);
                }
                Start::Asked => return Ok(None),
                Start::Ask => self.ask_limit()?,
                Start::Never => {
                    self.has_ended = true;
                    self.again.clear();
                }
            }
        }
        Ok(None)
    }

    /// Whether another job may have to be started; reads one ahead to know.
    fn has_more(&mut self) -> Result<bool, EngineError> {
        if self.again.is_empty() && !self.has_ended {
            match self.read_job()? {
                WantedJob::Job(job) => self.put_aside(job),
                WantedJob::NotYet => return Ok(true),
                WantedJob::End => self.has_ended = true,
            }
        }
        Ok(!self.again.is_empty())
    }

    /// Tells why fewer jobs run at once than were asked for, once a job waits for that.
    fn report_shortage(&mut self) -> Result<(), EngineError> {
        if self.options.shortage.is_some() && self.has_more()? && !self.again.is_empty() {
            let text = self.options.shortage.take().unwrap_or_default();
            self.observer.warn(text.as_bytes());
        }
        Ok(())
    }

    /// The job to start next.
    fn wanted(&mut self) -> Result<WantedJob, EngineError> {
        for at in 0..self.again.len() {
            if let Some(host) = self.host_for(&self.again[at])
                && let Some(job) = self.again.remove(at)
            {
                return Ok(WantedJob::Job(Job { host, ..job }));
            }
        }
        if self.has_ended {
            // The others wait for room on a host on which they have not failed.
            return Ok(WantedJob::NotYet);
        }
        loop {
            let job = match self.read_job()? {
                WantedJob::Job(job) => job,
                other => return Ok(other),
            };
            if let Some(host) = self.host_for(&job) {
                return Ok(WantedJob::Job(Job { host, ..job }));
            }
            self.put_aside(job);
            if !self.may_look_further() {
                return Ok(WantedJob::NotYet);
            }
        }
    }

    /// Makes the next job of the input.
    fn read_job(&mut self) -> Result<WantedJob, EngineError> {
        if self.all_hosts.is_some() {
            return self.job_of_every_host();
        }
        loop {
            let (mut records, given, block) = match self.take_input()? {
                NextJob::Records(records) => (records, None, None),
                // Values are then empty, or the name of the block.
                NextJob::Block(block) if self.access().is_named() => {
                    (vec![Record::of(NAME)], None, Some(block))
                }
                NextJob::Block(block) => (vec![Record::of("")], None, Some(block)),
                NextJob::Given { seq, command } => {
                    self.seq = seq - 1;
                    (Vec::new(), Some(command), None)
                }
                NextJob::NotYet => return Ok(WantedJob::NotYet),
                NextJob::End => return Ok(WantedJob::End),
            };
            self.seq += 1;
            let seq = self.seq;
            if self.options.is_done.as_ref().is_some_and(|is_done| is_done(seq)) {
                if let Some(block) = block {
                    self.job_source.give_back(block);
                }
                continue;
            }
            let groups = self.take_groups(&mut records)?;
            if self.options.resumes_results {
                let job = Job::new(seq, records, self.os.now());
                if self.has_results(&job)? {
                    if let Some(block) = block {
                        self.job_source.give_back(block);
                    }
                    continue;
                }
                records = job.records;
            }
            let is_block = block.is_some();
            let sending = match block {
                Some(block) => Some(self.sending(block)),
                None => self.job_source.tee().map(Tee::begin),
            };
            let job = Job::new(seq, records, self.os.now());
            return Ok(WantedJob::Job(Job { is_block, sending, given, groups, ..job }));
        }
    }

    /// Makes a job's command line and starts it.
    fn start(&mut self, mut job: Job, slot: u32) -> Result<(), EngineError> {
        let now = self.os.now();
        (job.slot, job.started, job.child) = (slot, now, None);
        if self.render(&mut job)? == Flow::Skip || self.is_filtered(&job)? {
            let ended = self.schedule.skipped(now);
            return self.finish(job, ended, ResourceUsage::default(), false, now);
        }
        if self.options.show == ShowCommand::Error {
            self.observer.show_command(&job.command);
        }
        self.schedule.started(job.seq, slot, now);
        if let Some(remote) = &mut self.options.remote {
            remote.started(job.host, now);
        }
        let streams = self.open_output(&job)?;
        if let StartMethod::Not = self.options.start_method {
            return self.settle(job, Outcome::Exited(0), ResourceUsage::default(), false);
        }
        for fd in streams.watch.into_iter().flatten() {
            self.os.watch(fd, Interest::Read)?;
        }
        self.open_stdin(&mut job)?;
        let launch = self.launch(&mut job, streams.stdout, streams.stderr)?;
        let place = slot as usize;
        if self.slots.len() <= place {
            self.slots.resize_with(place + 1, || None);
        }
        self.slots[place] = Some(job);
        self.running += 1;
        self.started += 1;
        self.os.spawn(slot, launch);
        Ok(())
    }

    /// What templates are rendered from for a job.
    pub(super) fn context<'b>(&self, job: &'b Job) -> Context<'b> {
        let now_s = self.os.epoch_ns(job.started) / 1_000_000_000;
        Context {
            seq: job.number,
            slot: self.slot_on_host(job),
            slots: self.schedule.slots(),
            total: self.total_on_host(),
            records: &job.records,
            packing: self.options.packing,
            local_time_s: now_s.cast_signed() + self.options.zone_offset_s,
        }
    }

    /// Renders the text of the command line, if it is needed.
    fn render(&mut self, job: &mut Job) -> Result<Flow, EngineError> {
        job.command.clear();
        if let Some(given) = &job.given {
            job.command.extend_from_slice(given);
            return Ok(Flow::Run);
        }
        if matches!(self.options.start_method, StartMethod::Direct { .. })
            && !self.options.needs_text
        {
            return Ok(Flow::Run);
        }
        let mut command = std::mem::take(&mut job.command);
        let flow = self.render_text(job, &mut command)?;
        job.command = command;
        let before = match &self.options.start_method {
            StartMethod::Shell { prologue, .. } => prologue.len(),
            StartMethod::Direct { .. } | StartMethod::Not => 0,
        };
        let (bytes, limit) = (before + job.command.len(), ARGUMENT_BYTES_MAX);
        if bytes > limit && !matches!(self.options.start_method, StartMethod::Not) {
            return Err(EngineError::TooLong { seq: job.seq, bytes, limit });
        }
        Ok(flow)
    }

    fn render_text(&self, job: &Job, command: &mut Vec<u8>) -> Result<Flow, RenderError> {
        let is_remote = self.remote_host(job).is_some();
        let values = match self.access().is_named() {
            // The shell must expand the variable.
            true => Values::Bare,
            false => Values::Quoted(if is_remote { Shell::Bourne } else { self.options.shell }),
        };
        self.options.template.render(&self.context(job), values, command)
    }

    /// The command line of a job as text, rendered now if it was not needed before; `None` if that
    /// fails.
    pub(super) fn text<'b>(&self, job: &'b Job) -> Option<Cow<'b, [u8]>> {
        if !job.command.is_empty() {
            return Some(Cow::Borrowed(&job.command));
        }
        let mut command = Vec::new();
        self.render_text(job, &mut command).ok()?;
        (!command.is_empty()).then_some(Cow::Owned(command))
    }

    /// Renders a template for a job, without quoting the values.
    pub(super) fn bare(
        &self,
        template: Option<&Template>,
        job: &Job,
        text: &mut Vec<u8>,
    ) -> Result<(), EngineError> {
        text.clear();
        if let Some(template) = template {
            template.render(&self.context(job), Values::Bare, text)?;
        }
        Ok(())
    }

    /// Whether an earlier run has written the results of a job (`--resume` with `--results`).
    fn has_results(&self, job: &Job) -> Result<bool, EngineError> {
        let mut place = Vec::new();
        self.bare(self.options.place.as_ref(), job, &mut place)?;
        let place = self.options.place.as_ref().map(|_| &*place);
        Ok(self.collector.has_results(&JobText {
            place,
            records: job.own_records(),
            ..JobText::default()
        }))
    }

    /// Opens the output of a job; returns its descriptors.
    fn open_output(&mut self, job: &Job) -> Result<Streams, EngineError> {
        let (mut tag, mut place) = (std::mem::take(&mut self.tag), std::mem::take(&mut self.place));
        self.bare(self.options.tag.as_ref(), job, &mut tag)?;
        self.bare(self.options.place.as_ref(), job, &mut place)?;
        if let Some(name) = self.host_tag(job) {
            tag.clear();
            tag.extend_from_slice(name.as_bytes());
        }
        let text = JobText {
            tag: self.options.tag.as_ref().map(|_| &*tag),
            heading: (self.options.show == ShowCommand::Output).then_some(&*job.command),
            place: self.options.place.as_ref().map(|_| &*place),
            group: job.host,
            records: job.own_records(),
        };
        let streams = self.collector.open(job.slot, job.seq, &text);
        (self.tag, self.place) = (tag, place);
        Ok(streams?)
    }

    /// Fills in what a job is started with.
    fn launch(
        &mut self,
        job: &mut Job,
        stdout: Option<RawFd>,
        stderr: RawFd,
    ) -> Result<Box<Launch>, EngineError> {
        let mut launch = self.idle.pop().unwrap_or_else(|| self.options.new_launch());
        launch.directory = None;
        launch.streams = [None, stdout, Some(stderr)];
        if self.launch_remotely(job, &mut launch)? {
            return Ok(launch);
        }
        if self.options.remote.is_some() {
            // It may have been used for a job on another host.
            launch.program = self.options.program();
        }
        launch.arguments.set(|list| match &self.options.start_method {
            StartMethod::Direct { .. } => {
                let flow = self.options.template.render_words(&self.context(job), list);
                flow.map(drop)
            }
            StartMethod::Shell { words, prologue, .. } => {
                for word in words {
                    spawn::push_word(list, word);
                }
                if memchr::memchr(0, &job.command).is_some() {
                    return Err(RenderError::Nul { seq: job.seq });
                }
                list.extend_from_slice(prologue);
                spawn::push_word(list, &job.command);
                Ok(())
            }
            StartMethod::Not => Ok(()),
        })?;
        let mut seq = Number::default();
        let (mut slot, mut place) = (Number::default(), Number::default());
        let on_host = self.slot_on_host(job);
        let numbers = [
            seq.text(job.number),
            slot.text(on_host.into()),
            place.text(u64::from(on_host.saturating_sub(1))),
        ];
        let count = self.options.own.min(numbers.len());
        let mut own: [&[u8]; 6] = Default::default();
        own[..count].copy_from_slice(&numbers[..count]);
        let groups = self.groups_of(job);
        if let Some([host, value]) = &groups {
            (own[count], own[count + 1]) = (host.as_bytes(), value.as_bytes());
        }
        let count = if groups.is_some() { count + 2 } else { count };
        let sending = job.sending.as_ref();
        let name = sending.and_then(|sending| sending.name()).unwrap_or_default();
        own[count] = name.as_bytes();
        launch.environment.set(&own[..count + usize::from(!name.is_empty())]);
        launch.streams[0] = sending.and_then(|sending| sending.reader());
        launch.input_copy = match sending {
            Some(sending) => {
                sending.input_copy().map_err(|error| EngineError::Stdin { seq: job.seq, error })?
            }
            None => None,
        };
        if let Some(path) = self.make_own_folder(job)? {
            let nul = |_| RenderError::Nul { seq: job.seq };
            launch.directory = Some(CString::new(path.into_os_string().into_vec()).map_err(nul)?);
        } else if self.options.directory.is_some() {
            let mut path = Vec::new();
            self.bare(self.options.directory.as_ref(), job, &mut path)?;
            let nul = |_| RenderError::Nul { seq: job.seq };
            launch.directory = Some(CString::new(path).map_err(nul)?);
        }
        Ok(launch)
    }

    /// Runs the command of `--limit`.
    fn ask_limit(&mut self) -> Result<(), EngineError> {
        let mut launch = self.options.new_launch();
        let Some((program, words)) = &self.options.limit else { return Ok(()) };
        launch.program = Arc::clone(program);
        let fill = |list: &mut Vec<u8>| {
            words.iter().for_each(|word| spawn::push_word(list, word));
            Ok::<_, RenderError>(())
        };
        launch.arguments.set(fill)?;
        self.os.spawn(LIMIT, launch);
        Ok(())
    }
}

impl EngineOptions {
    /// The file of the program for jobs that run here.
    fn program(&self) -> Arc<CString> {
        match &self.start_method {
            StartMethod::Shell { program, .. } | StartMethod::Direct { program } => {
                Arc::clone(program)
            }
            StartMethod::Not => Arc::new(CString::default()),
        }
    }

    fn new_launch(&self) -> Box<Launch> {
        let mut launch = Launch::new(self.program(), self.environment.another());
        (launch.nice, launch.shares_group) = (self.nice, self.shares_group);
        launch.descriptors = self.descriptors;
        Box::new(launch)
    }
}

/// Formats a number without allocation.
#[derive(Default)]
struct Number([u8; 20]);

impl Number {
    fn text(&mut self, mut number: u64) -> &[u8] {
        let mut at = self.0.len();
        loop {
            at -= 1;
            self.0[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return &self.0[at..];
            }
        }
    }
}
