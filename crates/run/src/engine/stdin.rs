//! Standard input of jobs with `--pipe`: which job gets which block, and when it is written.

use super::sending::Sending;
use super::*;

impl<W: OperatingSystem> Engine<'_, W> {
    /// The next part of the input; reports its warnings.
    pub(super) fn take_input(&mut self) -> Result<NextJob, EngineError> {
        let next = self.job_source.next_job();
        for warning in self.job_source.take_warnings() {
            self.observer.warn(warning.as_bytes());
        }
        next
    }

    fn goes_on(&self) -> bool {
        matches!(self.options.stdin, JobStdin::Block { goes_on: true, .. })
    }

    /// Sends a block to a job.
    pub(super) fn sending(&self, block: InputBlock) -> Box<Sending> {
        Box::new(Sending::new(block, self.goes_on(), self.access()))
    }

    /// How jobs read their blocks.
    pub(super) fn access(&self) -> &BlockAccess {
        match &self.options.stdin {
            JobStdin::Block { access, .. } => access,
            JobStdin::Inherited => &BlockAccess::Stdin,
        }
    }

    /// Creates the pipe of a job that is about to start, and writes as much as fits.
    pub(super) fn open_stdin(&mut self, job: &mut Job) -> Result<(), EngineError> {
        let Some(sending) = &mut job.sending else { return Ok(()) };
        if let BlockAccess::File(folder) = self.access() {
            return Ok(sending.make_file(folder)?);
        }
        let failed = |error| EngineError::Stdin { seq: job.seq, error };
        sending.open().map_err(failed)?;
        if !sending.write().map_err(failed)? {
            sending.close_unless_idle();
        } else if let Some(fd) = sending.writer() {
            self.os.watch(fd, Interest::Write)?;
            self.writers.insert(fd, job.slot);
        }
        Ok(())
    }

    /// A job's standard input has room, or the job no longer reads it.
    pub(super) fn write_stdin(&mut self, slot: u32) -> Result<(), EngineError> {
        let job = self.slots.get_mut(slot as usize).and_then(Option::as_mut);
        let Some(job) = job else { return Ok(()) };
        let Some(sending) = &mut job.sending else { return Ok(()) };
        let Some(fd) = sending.writer() else { return Ok(()) };
        let is_watched = self.writers.contains_key(&fd);
        let is_left =
            sending.write().map_err(|error| EngineError::Stdin { seq: job.seq, error })?;
        if is_left && !is_watched {
            self.os.watch(fd, Interest::Write)?;
            self.writers.insert(fd, slot);
        }
        if !is_left {
            if is_watched {
                self.os.forget(fd);
                self.writers.remove(&fd);
            }
            sending.close_unless_idle();
        }
        Ok(())
    }

    /// A job has ended, or was not started: closes its standard input.
    pub(super) fn close_stdin(&mut self, job: &mut Job, is_again: bool) {
        let Some(sending) = &mut job.sending else { return };
        if let Some(fd) = sending.writer()
            && self.writers.remove(&fd).is_some()
        {
            self.os.forget(fd);
        }
        match is_again {
            true => sending.rewind(),
            false => sending.close(),
        }
    }

    /// Gives further blocks to jobs that wait for them, in turn; closes their input after the last.
    pub(super) fn hand_out(&mut self) -> Result<(), EngineError> {
        if !self.goes_on() || self.job_source.bins().is_some() {
            return Ok(());
        }
        while let Some(slot) = self.next_idle() {
            let next = if self.has_ended { NextJob::End } else { self.take_input()? };
            let Some(sending) = self.slots[slot].as_mut().and_then(|job| job.sending.as_mut())
            else {
                return Ok(());
            };
            match next {
                NextJob::Block(block) => {
                    let before = sending.continue_with(block);
                    self.job_source.give_back(before);
                    self.turn = slot + 1;
                    self.write_stdin(u32::try_from(slot).unwrap_or(u32::MAX))?;
                }
                NextJob::NotYet => return Ok(()),
                NextJob::End | NextJob::Records(_) | NextJob::Given { .. } => {
                    self.has_ended = true;
                    sending.close_writer();
                }
            }
        }
        Ok(())
    }

    /// The next slot in turn whose job waits for a block.
    fn next_idle(&self) -> Option<usize> {
        let is_idle = |slot: &usize| {
            let job = self.slots[*slot].as_ref();
            job.and_then(|job| job.sending.as_ref()).is_some_and(|sending| sending.is_idle())
        };
        let all = self.slots.len();
        (self.turn..all).chain(0..self.turn.min(all)).find(is_idle)
    }
}
