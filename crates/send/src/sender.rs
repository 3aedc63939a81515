//! Sends what is behind the cursor of an engine, batch after batch, and moves the cursor when a batch is
//! acknowledged.
//!
//! A batch that is refused is sent again in halves, so that one bad sample or record keeps no other back;
//! a single one that is refused for good is listed in a file, counted, and left behind.

use std::path::Path;
use std::time::Duration;

use sink::Backoff;

use crate::SendError;
use crate::backlog::Backlog;
use crate::batch::{Batch, points_of};
use crate::cursor::{CursorFile, SendCursor};
use crate::engine::SendOutcome;
use crate::kinds::EngineAddress;
use crate::log_backlog::LogStock;
use crate::pace::until_next_look;
use crate::settings::{SendInput, SendSettings};
use crate::stock::{SampleStock, SendStock};

/// The pauses while an engine does not take anything.
const BACKOFF: Backoff = Backoff { first_ns: 500_000_000, longest_ns: 30_000_000_000 };

/// What a sender tells while it works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendEvent {
    /// A file is left out, samples were deleted, or a sample is refused.
    Note(String),
    /// The engine does not take anything; it is tried again.
    Waits {
        /// Why.
        why: String,
        /// Failures in a row.
        failures: u32,
    },
    /// The engine takes again, after failures.
    GoesOn,
}

/// Sends a folder to an engine.
pub struct Sender {
    file: CursorFile,
    cursor: SendCursor,
    stock: Box<dyn SendStock>,
    settings: SendSettings,
    /// How often it looks for what is new.
    every: Duration,
    /// Why points were rejected when it was told last: later ones are counted.
    rejected_why: String,
    /// Why a sample was refused when it was told last: later ones are listed and counted.
    refused_why: String,
}

impl Sender {
    /// A sender from a folder to an engine, which goes on where the last one of that name ended.
    ///
    /// # Errors
    /// If another process sends under that name, or the cursor cannot be read.
    pub fn new(
        folder: &Path,
        name: &str,
        address: &EngineAddress,
        settings: SendSettings,
    ) -> Result<Self, SendError> {
        if !folder.is_dir() {
            return Err(SendError::NoFolder(folder.to_owned()));
        }
        let (file, mut cursor) = CursorFile::open(folder, name)?;
        cursor.address = address.to_string();
        if settings.input == SendInput::Logs {
            cursor.store.get_or_insert_default();
        }
        let stock: Box<dyn SendStock> = match settings.input {
            SendInput::Samples if address.takes_recordings() => {
                Box::new(address.recording_stock(folder, &settings)?)
            }
            SendInput::Samples => Box::new(SampleStock {
                backlog: Backlog::new(folder, settings.selection.clone()),
                batch: Batch::default(),
                engine: address.open(&settings)?,
            }),
            SendInput::Logs => Box::new(LogStock::new(folder, address.open_for_logs(&settings)?)),
        };
        let every = settings.every.unwrap_or_else(|| address.usual_every(settings.input));
        let (rejected_why, refused_why) = Default::default();
        Ok(Sender { file, cursor, stock, settings, every, rejected_why, refused_why })
    }

    /// What the engine has acknowledged so far.
    #[must_use]
    pub fn cursor(&self) -> &SendCursor {
        &self.cursor
    }

    /// Sends until all is acknowledged, or for as long as `pause` says; a sender that follows goes on
    /// after that.  `pause` waits for a time, of no length between two batches, and returns false if the
    /// sender is to end; `tell` hears what happens.  Returns whether all was acknowledged at the end.
    ///
    /// # Errors
    /// If the folder, a recording or the file of the cursor fails.
    pub fn run(
        &mut self,
        pause: &mut dyn FnMut(Duration) -> bool,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<bool, SendError> {
        let has_all = self.send_all(pause, tell)?;
        self.file.finish(&self.cursor)?;
        Ok(has_all)
    }

    fn send_all(
        &mut self,
        pause: &mut dyn FnMut(Duration) -> bool,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<bool, SendError> {
        let mut has_started = false;
        loop {
            self.look(tell)?;
            let mut is_empty = true;
            loop {
                let has_more = self.stock.fill(&self.cursor, self.settings.points_max)?;
                let count = self.stock.ends().len();
                is_empty &= count == 0 && !has_more;
                let goes_on = match count {
                    // A long step has many samples before there is anything to hand over.
                    0 => !has_more || pause(Duration::ZERO),
                    _ => self.hand_over(0..count, pause, tell)?,
                };
                if !goes_on {
                    self.stock.rewind();
                    return Ok(false);
                }
                let notes = self.stock.settle(&mut self.cursor);
                notes.into_iter().for_each(|text| tell(SendEvent::Note(text)));
                self.file.write(&self.cursor)?;
                if !has_more {
                    break;
                }
                // What waits may take hours to be sent.
                if count > 0 && !pause(Duration::ZERO) {
                    self.stock.rewind();
                    return Ok(false);
                }
            }
            let has_all = is_empty && !self.settings.follows;
            let wait = match self.settings.follows {
                true => until_next_look(self.every, self.stock.age()),
                false => Duration::ZERO,
            };
            if !std::mem::replace(&mut has_started, true) && self.settings.follows {
                // What waited before it may have been much more than what comes now.
                heap::return_unused();
            }
            if has_all || !pause(wait) {
                return Ok(true);
            }
        }
    }

    fn is_of_logs(&self) -> bool {
        self.settings.input == SendInput::Logs
    }

    fn look(&mut self, tell: &mut dyn FnMut(SendEvent)) -> Result<(), SendError> {
        let looked = self.stock.look(&mut self.cursor)?;
        looked.complaints.into_iter().for_each(|text| tell(SendEvent::Note(text)));
        if looked.deleted > 0 {
            self.cursor.samples_deleted += looked.deleted;
            let (count, what) = (looked.deleted, self.stock.what());
            tell(SendEvent::Note(format!("{count} {what} were deleted before they were sent")));
        }
        Ok(())
    }

    /// Sends some samples of the batch until they are acknowledged or refused; false if the sender is
    /// to end before.
    fn hand_over(
        &mut self,
        samples: std::ops::Range<usize>,
        pause: &mut dyn FnMut(Duration) -> bool,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<bool, SendError> {
        if self.stock.is_nothing(samples.clone()) {
            self.advance(samples);
            return Ok(true);
        }
        let mut failures = 0;
        loop {
            let outcome = self.stock.hand_over(samples.clone());
            let is_taken =
                matches!(outcome, SendOutcome::Acknowledged | SendOutcome::Partly { .. });
            if is_taken && failures > 0 {
                tell(SendEvent::GoesOn);
            }
            match outcome {
                SendOutcome::Acknowledged => {
                    self.advance(samples);
                    return Ok(true);
                }
                SendOutcome::Partly { rejected, why } => {
                    self.advance(samples);
                    self.cursor.points_sent = self.cursor.points_sent.saturating_sub(rejected);
                    self.cursor.points_rejected += rejected;
                    if self.rejected_why != why {
                        let what = if self.is_of_logs() { "records" } else { "points" };
                        tell(SendEvent::Note(format!("{rejected} {what} are rejected: {why}")));
                        self.rejected_why = why;
                    }
                    return Ok(true);
                }
                SendOutcome::Retry { why, after } => {
                    failures += 1;
                    tell(SendEvent::Waits { why, failures });
                    let new = self.stock.count(&mut self.cursor)?;
                    new.into_iter().for_each(|text| tell(SendEvent::Note(text)));
                    let usual = Duration::from_nanos(BACKOFF.pause_ns(failures));
                    if !pause(after.unwrap_or(usual)) {
                        return Ok(false);
                    }
                }
                SendOutcome::Refused { is_known, .. } if samples.len() > 1 => {
                    // An acknowledgement was lost: the engine says what it has.
                    let held = if is_known { self.stock.held(samples.clone()) } else { None };
                    let behind = samples.start + held.unwrap_or(0).min(samples.len());
                    if behind > samples.start {
                        let known = samples.start..behind;
                        self.cursor.samples_known += self.count(&known);
                        self.pass(known);
                        let rest = behind..samples.end;
                        return Ok(rest.is_empty() || self.hand_over(rest, pause, tell)?);
                    }
                    let middle = samples.start + samples.len() / 2;
                    return Ok(self.hand_over(samples.start..middle, pause, tell)?
                        && self.hand_over(middle..samples.end, pause, tell)?);
                }
                SendOutcome::Refused { why, is_known } => {
                    // It may have later ones alone, as when a clock was set back.
                    let is_known = is_known && self.stock.held(samples.clone()) != Some(0);
                    self.refuse(samples, &why, is_known, tell)?;
                    return Ok(true);
                }
            }
        }
    }

    /// Moves the cursor behind samples that the engine has.
    fn advance(&mut self, samples: std::ops::Range<usize>) {
        self.cursor.points_sent += points_of(self.stock.ends(), samples.clone()).len() as u64;
        self.cursor.samples_sent += self.count(&samples);
        self.pass(samples);
    }

    /// How many samples some ends stand for.
    fn count(&self, some: &std::ops::Range<usize>) -> u64 {
        self.stock.ends()[some.clone()].iter().map(|end| end.samples).sum()
    }

    /// Moves the cursor.
    fn pass(&mut self, samples: std::ops::Range<usize>) {
        for end in &self.stock.ends()[samples] {
            self.cursor.newest_ns = self.cursor.newest_ns.max(end.realtime_ns);
            if let Some(one) = self.cursor.recordings.get_mut(&end.file_id) {
                one.next = end.next;
                one.samples = one.samples.max(end.next);
            }
        }
    }

    /// Leaves a sample behind that the engine never takes.
    fn refuse(
        &mut self,
        samples: std::ops::Range<usize>,
        why: &str,
        is_known: bool,
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<(), SendError> {
        if is_known {
            self.cursor.samples_known += self.count(&samples);
        } else {
            for end in &self.stock.ends()[samples.clone()] {
                let known = self.cursor.recordings.get(&end.file_id);
                let mut line =
                    self.stock.refusal(end, known.map_or("", |known| known.name.as_str()));
                line["why"] = why.into();
                self.file.refuse(&line)?;
            }
            self.cursor.samples_refused += self.count(&samples);
            if self.refused_why != why {
                let what = if self.is_of_logs() { "record" } else { "sample" };
                tell(SendEvent::Note(format!("a {what} is refused for good: {why}")));
                self.refused_why = why.to_owned();
            }
        }
        self.pass(samples);
        Ok(())
    }
}
