//! Outputs of the proxy on its own machine: text, JSON, ACS XML, syslog, beside the central server or
//! in place of it.
//!
//! A round's records are merged by time and given to all outputs, which then write what they have at
//! once; so a round costs one system call for each output.  What the local level of a logger lets
//! through is wanted, whatever the central server gets.  Beside a central server an output that fails
//! misses records, counts them, and says so once it works again; in place of one the rings wait.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use log_format::{LogRecord, LogSink, RecordOrigin};
use logring::{Batch as RingBatch, Dictionary, LogLevel, RecordIterator, RingNotice, RingRecord};

use super::Proxy;
use super::host::{Ring, Source};
use super::reading::CountedRecords;
use log_protocol::ProcessId;
use log_protocol::clock;
use log_protocol::own_record;
use log_protocol::record::RecordHead;

/// Pauses between tries of an output that has failed: doubled up to the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// See [`PAUSE_FIRST`].
const PAUSE_LONGEST: Duration = Duration::from_secs(5);

/// One output.
struct Output {
    /// For messages.
    name: String,
    sink: Box<dyn LogSink>,
    failure: Option<Failure>,
    /// Records that it missed since it works no more.
    missed: u64,
}

/// An output that does not work.
struct Failure {
    errno: u32,
    text: String,
    retry: Instant,
    pause: Duration,
}

/// Records of a ring in this round.
struct Part {
    /// Index of the ring.
    index: usize,
    range: Range<usize>,
    /// The number that the first record has at least.
    first: u64,
    seen: CountedRecords,
}

/// All outputs.
#[derive(Default)]
pub(super) struct LocalOutputs {
    outputs: Vec<Output>,
    /// Records of this round, with times.
    bytes: Vec<u8>,
    parts: Vec<Part>,
    /// Records that outputs missed, ever.
    pub(super) missed: u64,
    /// When the round began: in ns of `CLOCK_BOOTTIME`, and in ticks.
    begun: [u64; 2],
    /// They are all: what does not work is waited for.
    is_all: bool,
    messages: Vec<String>,
}

impl LocalOutputs {
    pub(super) fn new(is_all: bool) -> Self {
        LocalOutputs { is_all, ..Self::default() }
    }

    pub(super) fn add(&mut self, name: String, sink: Box<dyn LogSink>) {
        self.outputs.push(Output { name, sink, failure: None, missed: 0 });
    }

    /// Whether there are any.
    pub(super) fn wants(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Whether an output does not work.
    pub(super) fn is_stuck(&self) -> bool {
        self.outputs.iter().any(|output| output.failure.is_some())
    }

    /// What the first output that does not work says: `errno`, and words.
    pub(super) fn failure(&self) -> Option<(u32, &str)> {
        let failure = self.outputs.iter().find_map(|output| output.failure.as_ref())?;
        Some((failure.errno, &failure.text))
    }

    pub(super) fn take_messages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.messages)
    }

    /// A round begins: what is made from now on is for the next.
    pub(super) fn begin(&mut self) {
        if self.wants() {
            self.begun = [false, true].map(|has_tsc| logring::clock::pair(has_tsc).stamp);
        }
    }

    /// Takes records of a ring, whose stamps are times; they are given on by [`Self::pass_records`].
    pub(super) fn add_records(
        &mut self,
        index: usize,
        records: &[u8],
        first: u64,
        seen: CountedRecords,
    ) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(records);
        self.parts.push(Part { index, range: start..self.bytes.len(), first, seen });
    }

    /// Gives the records that were taken to all outputs, in the order of time.
    fn pass_records(&mut self, rings: &mut [Ring], sources: &mut HashMap<ProcessId, Source>) {
        let (bytes, parts) = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.parts));
        let mut pending: Vec<PendingRecords<'_>> =
            parts.iter().map(|part| PendingRecords::new(part, &bytes)).collect();
        pending.retain_mut(PendingRecords::advance);
        while !pending.is_empty() {
            let (first, limit) = earliest(&pending);
            let records = &mut pending[first];
            let ring = &mut rings[records.index];
            let has_more = match sources.get_mut(&ring.stream.process) {
                Some(source) => self.give_run(records, limit, ring, source),
                None => false,
            };
            if !has_more {
                pending.swap_remove(first);
            }
        }
        drop(pending);
        (self.bytes, self.parts) = (bytes, parts);
        self.bytes.clear();
        self.parts.clear();
    }

    /// Gives records of a ring up to a time, and at least one; whether it has more.
    fn give_run(
        &mut self,
        records: &mut PendingRecords<'_>,
        limit: u64,
        ring: &mut Ring,
        source: &mut Source,
    ) -> bool {
        let Source { file, levels, .. } = source;
        let header = file.header();
        loop {
            let Some(record) = records.record.take() else { return false };
            if let Some(RingNotice::ThreadBegin { tid, name }) = record.notice() {
                ring.tid = tid;
                ring.thread = String::from_utf8_lossy(name).into_owned();
            }
            if levels.wants(&record, file) {
                let origin = RecordOrigin::of(header, &ring.thread, ring.tid, ring.stream.ring);
                self.write(&LogRecord::new(&record, file.dictionary(), origin, record.stamp));
            }
            if !records.advance() {
                return false;
            }
            if records.time_ns > limit {
                return true;
            }
        }
    }

    fn write(&mut self, record: &LogRecord<'_>) {
        for output in &mut self.outputs {
            if output.failure.is_some() && !self.is_all {
                output.missed += 1;
                self.missed += 1;
            } else if let Err(error) = output.sink.write(record) {
                // The record stays in the sink's memory.
                output.fail(&error, &mut self.messages);
            }
        }
    }

    /// Lets all outputs write what they have.
    fn flush(&mut self) {
        for output in &mut self.outputs {
            let now = match &output.failure {
                Some(failure) => Some(clock::now()).filter(|now| *now >= failure.retry),
                None => None,
            };
            if output.failure.is_some() && now.is_none() {
                continue;
            }
            match output.sink.flush() {
                Ok(()) => output.work(&mut self.messages),
                Err(error) => output.fail(&error, &mut self.messages),
            }
        }
    }

    /// Waits until disks have what was written; whether they have.
    fn sync(&mut self) -> bool {
        for output in &mut self.outputs {
            if let Err(error) = output.sink.sync() {
                output.fail(&error, &mut self.messages);
            }
        }
        !self.is_stuck()
    }
}

impl Output {
    fn fail(&mut self, error: &io::Error, messages: &mut Vec<String>) {
        let text = format!("output {}: {error}", self.name);
        let before = self.failure.take();
        if before.as_ref().is_none_or(|before| before.text != text) {
            messages.push(text.clone());
        }
        let pause = before.map_or(PAUSE_FIRST, |before| (before.pause * 2).min(PAUSE_LONGEST));
        let errno = error.raw_os_error().unwrap_or(0).unsigned_abs();
        self.failure = Some(Failure { errno, text, retry: clock::now() + pause, pause });
    }

    /// It has written what it had: it works, and says what it missed.
    fn work(&mut self, messages: &mut Vec<String>) {
        if self.failure.take().is_none() {
            return;
        }
        let missed = std::mem::take(&mut self.missed);
        let text = format!("output {} works again; {missed} records are missing there", self.name);
        messages.push(text.clone());
        if missed > 0
            && let Err(error) =
                write_note(self.sink.as_mut(), &text).and_then(|()| self.sink.flush())
        {
            self.fail(&error, messages);
        }
    }
}

/// Gives a sink a record of the proxy itself.
fn write_note(sink: &mut dyn LogSink, text: &str) -> io::Result<()> {
    let mut dictionary = Dictionary::default();
    let _ = dictionary.add(&own_record::dictionary("proxy", "output", "whit.proxy"));
    let body = own_record::record(LogLevel::Warning, text, 0, clock::now_ns());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let pid = std::process::id();
    let origin = RecordOrigin { host: &host, process: "whit log proxy", pid, ..Default::default() };
    match RecordIterator::new(&body, 0).next() {
        Some(Ok(record)) => sink.write(&LogRecord::new(&record, &dictionary, origin, record.stamp)),
        _ => Ok(()),
    }
}

/// Records of one ring that wait to be merged.
struct PendingRecords<'a> {
    index: usize,
    bytes: &'a [u8],
    records: RecordIterator<'a>,
    seen: CountedRecords,
    record: Option<RingRecord<'a>>,
    time_ns: u64,
}

impl<'a> PendingRecords<'a> {
    fn new(part: &Part, bytes: &'a [u8]) -> Self {
        let bytes = &bytes[part.range.clone()];
        let records = RecordIterator::new(bytes, part.first);
        PendingRecords {
            index: part.index,
            bytes,
            records,
            seen: part.seen,
            record: None,
            time_ns: 0,
        }
    }

    /// Goes to the next record that is new; whether there is one.
    fn advance(&mut self) -> bool {
        loop {
            let Some(head) = RecordHead::at(self.bytes, self.records.offset()) else {
                return false;
            };
            let Some(Ok(record)) = self.records.next() else { return false };
            if !self.seen.next(&head) {
                self.time_ns = record.stamp;
                self.record = Some(record);
                return true;
            }
        }
    }
}

/// The ring whose next record is the earliest, and the time of the earliest of the others.
fn earliest(pending: &[PendingRecords<'_>]) -> (usize, u64) {
    let (mut first, mut limit) = (0, u64::MAX);
    for (at, records) in pending.iter().enumerate().skip(1) {
        if records.time_ns < pending[first].time_ns {
            limit = pending[first].time_ns;
            first = at;
        } else {
            limit = limit.min(records.time_ns);
        }
    }
    (first, limit)
}

impl Proxy {
    /// Leaves records for the next round that were made after this one began: a ring that was looked at
    /// before may have older ones.
    pub(super) fn leave_later(&self, ring: &mut Ring, batch: &mut RingBatch) {
        let Some(source) = self.host.sources.get(&ring.stream.process) else { return };
        if source.is_dead {
            return;
        }
        let has_tsc = source.file.header().has_tsc;
        let second = if has_tsc { source.file.calibration().stamp_hz() } else { 1_000_000_000 };
        batch.leave_later(self.local.begun[usize::from(has_tsc)], second);
        if batch.fault().is_none() {
            ring.reader.seek(batch.end());
        }
    }

    /// Adds an output on this machine; `name` is for messages.  Records are given to it from now on.
    pub fn add_output(&mut self, name: &str, sink: Box<dyn LogSink>) {
        self.local.add(name.to_owned(), sink);
    }

    /// Gives this round's records to the outputs.
    pub(super) fn give_to_outputs(&mut self, rings: &mut [Ring]) {
        if !self.local.wants() {
            return;
        }
        self.local.pass_records(rings, &mut self.host.sources);
        self.local.flush();
        self.messages.append(&mut self.local.take_messages());
    }

    /// Tries outputs again that did not work; whether rings may be read.
    pub(super) fn outputs_take(&mut self, rings: &mut [Ring]) -> bool {
        if !self.local.is_stuck() {
            return true;
        }
        self.local.flush();
        self.messages.append(&mut self.local.take_messages());
        if !self.is_local() {
            return true;
        }
        if self.local.is_stuck() {
            return false;
        }
        for ring in rings {
            if let Some(mark) = ring.owed.take() {
                ring.delivered(mark);
                self.host.note_moved(ring.stream.process);
            }
        }
        true
    }

    /// Without a central server: lets disks have what the outputs wrote, if a `flush` waits for it.
    pub(super) fn sync_outputs(&mut self) {
        let wanted = logring::Tier::Synced as u32;
        let mut files = self.host.sources.values().map(|source| &source.file);
        if !files.any(|file| file.flush_wanted().is_ok_and(|tier| tier == wanted)) {
            return;
        }
        let is_safe = self.local.sync();
        self.messages.append(&mut self.local.take_messages());
        if is_safe {
            self.unsynced_since = None;
            self.host.rings.iter_mut().for_each(Ring::outputs_synced);
            self.host.sources.values_mut().for_each(|source| source.has_moved = true);
        }
    }
}
