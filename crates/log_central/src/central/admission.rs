//! Which records are new: a mark for each stream, moved when a frame is admitted, before the commit.
//!
//! Two connections may send the same (an old one that is half dead, and its successor), so marks
//! are compared under one lock.  What was admitted stays until it is committed: a commit that fails
//! is tried again.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::central::CentralSettings;
use connection::{Connection, Place, Quota};
use log_protocol::clock;
use log_protocol::cost::{self, OwnCost};
use log_protocol::frame::{Head, StreamMark};
use log_protocol::record;
use log_protocol::{DICTIONARY, GapReason, ProcessId, ProcessInfo, StreamId, StreamInfo};
use log_store::OwnLog;
use log_store::{
    CommitBatch, DICTIONARY_BYTES_MAX, LostPart, RecordsPart, Recovery, Store, StoreError,
};
use logring::LogLevel;

/// What peers may use.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once that have not shown yet who they are.
    pub newcomers: usize,
    /// Bytes of records that wait for a commit.
    pub pending_bytes: usize,
    /// Streams that are known at once.
    pub streams: usize,
    /// Processes that are known at once.
    pub processes: usize,
    /// Clients at once whose questions for records are answered.
    pub queries: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        AdmissionLimits {
            connections: 1024,
            newcomers: 128,
            pending_bytes: 64 << 20,
            streams: 1 << 20,
            processes: 1 << 16,
            queries: 16,
        }
    }
}

/// What a central server has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CentralCounters {
    /// Records that are committed.
    pub records: u64,
    /// Their bytes, as they came.
    pub bytes: u64,
    /// Commits.
    pub commits: u64,
    /// Records that came again and were recognised.
    pub duplicates: u64,
    /// Records that are proved to be missing.
    pub lost: u64,
    /// Commits that failed and were tried again.
    pub failures: u64,
    /// Connections now.
    pub connections: u64,
    /// What the server's process costs.
    pub cost: OwnCost,
}

impl CentralCounters {
    /// As a JSON object.
    #[must_use]
    pub fn to_json(&self) -> String {
        let CentralCounters { records, bytes, commits, duplicates, lost, failures, .. } = self;
        let (connections, OwnCost { cpu_ns, memory_bytes }) = (self.connections, self.cost);
        format!(
            "{{\"records\":{records},\"bytes\":{bytes},\"commits\":{commits},\
             \"duplicates\":{duplicates},\"lost\":{lost},\"failures\":{failures},\
             \"connections\":{connections},\"cpu_ns\":{cpu_ns},\"memory_bytes\":{memory_bytes}}}"
        )
    }
}

/// The marks of a stream.
#[derive(Debug, Clone, Copy, Default)]
struct Marks {
    admitted: u64,
    committed: u64,
}

/// What waits for the next commit.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) batch: CommitBatch,
    /// Who waits for an acknowledgement of which stream.
    pub(super) acks: HashSet<(u64, StreamId)>,
    /// When the first of it came.
    pub(super) since: Option<Instant>,
}

impl Pending {
    /// The marks of a store that it waits for, once its batch is written: they are safe when that is.
    pub(super) fn marks(&self, store: &Store) -> Vec<(u64, StreamMark)> {
        let mark = |stream: StreamId| StreamMark { stream, next: store.mark(stream) };
        self.acks.iter().map(|(peer, stream)| (*peer, mark(*stream))).collect()
    }
}

pub(super) struct Inner {
    marks: HashMap<StreamId, Marks>,
    processes: HashSet<ProcessId>,
    pub(super) pending: Pending,
    own: OwnLog,
    pub(super) counters: CentralCounters,
    /// Batches that were written; the disk may not have the last of them.
    writes: u64,
    /// How the sync that was under way has ended.
    pub(super) synced: Option<io::Result<()>>,
    /// Buffers of bodies, to be used again.
    pub(super) spare: Vec<Vec<u8>>,
    /// Where acknowledgements go.
    pub(super) writers: HashMap<u64, Arc<PeerWriter>>,
    /// Connections of proxies, which set levels.
    pub(super) proxies: HashSet<u64>,
    next_peer: u64,
    /// Why the last commit that failed did.
    failure: Option<String>,
    /// When the server last said what it costs, and what that was.
    cost_told: (Instant, OwnCost),
    /// For whoever runs the server.
    messages: Vec<String>,
    /// When the last complaint about a peer was made, and how many were left out since.
    complained: Option<(Instant, u64)>,
}

/// What is written to a connection, by one thread at a time.
pub(super) struct PeerWriter {
    connection: Mutex<Connection>,
    ending: Connection,
}

impl PeerWriter {
    pub(super) fn lock(&self) -> MutexGuard<'_, Connection> {
        // A thread that panicked has written a part of a frame, which the peer recognises.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another thread writes.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, Connection>> {
        match self.connection.try_lock() {
            Ok(connection) => Some(connection),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Ends the connection, also while another thread writes to it.
    pub(super) fn shut_down(&self) {
        self.ending.shut_down();
    }
}

/// What all threads of a server share.
pub(crate) struct Shared {
    inner: Mutex<Inner>,
    /// There is something to commit.
    pub(super) work: Condvar,
    /// There is room again.
    pub(super) room: Condvar,
    pub(super) settings: CentralSettings,
    is_stopping: Arc<AtomicBool>,
    peers: Quota,
    newcomers: Quota,
    queries: Quota,
    /// A batch was written.
    written: Condvar,
    pub(super) store: [u8; 16],
    /// Folder of the store.
    pub(super) folder: PathBuf,
}

/// Why a peer is sent away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Streams,
    Processes,
    Dictionary,
}

impl Refusal {
    pub(super) fn text(self) -> &'static str {
        match self {
            Refusal::Streams => "this server knows as many streams as it may",
            Refusal::Processes => "this server knows as many processes as it may",
            Refusal::Dictionary => "bytes of a dictionary are missing, or there are too many",
        }
    }
}

/// Between two complaints about peers.
const COMPLAINTS: Duration = Duration::from_secs(10);
/// Messages that wait for whoever runs the server.
const MESSAGES_MAX: usize = 100;
/// Buffers of bodies that are kept.
const SPARE_MAX: usize = 256;

impl Shared {
    pub(super) fn new(
        store: &Store,
        own: OwnLog,
        settings: CentralSettings,
        is_stopping: Arc<AtomicBool>,
    ) -> Self {
        let marks =
            store.marks().map(|(stream, next)| (stream, Marks { admitted: next, committed: next }));
        let mut batch = CommitBatch::default();
        // A server takes a new identity at each start, and sends nothing again.
        let own_before = store.processes().filter(|info| info.name == own.info.name);
        batch.ended.extend(own_before.map(|info| info.id));
        let inner = Inner {
            marks: marks.collect(),
            processes: store.processes().map(|info| info.id).collect(),
            pending: Pending { batch, ..Pending::default() },
            own,
            counters: CentralCounters::default(),
            writes: 0,
            synced: None,
            spare: Vec::new(),
            writers: HashMap::new(),
            proxies: HashSet::new(),
            next_peer: 0,
            failure: None,
            cost_told: (clock::now(), OwnCost::read()),
            messages: Vec::new(),
            complained: None,
        };
        Shared {
            inner: Mutex::new(inner),
            work: Condvar::new(),
            room: Condvar::new(),
            is_stopping,
            peers: Quota::new(settings.limits.connections),
            newcomers: Quota::new(settings.limits.newcomers),
            queries: Quota::new(settings.limits.queries),
            settings,
            written: Condvar::new(),
            folder: store.folder().to_owned(),
            store: store.id(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A thread that panicked held it between whole changes.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Wakes all threads, to see that they are to stop.
    pub(super) fn stop(&self) {
        self.work.notify_all();
        self.room.notify_all();
        self.written.notify_all();
    }

    /// Batches that were written until now.
    pub(super) fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// Waits until more batches are written, so long at most; gives how many there are.
    pub(super) fn wait_for_write(&self, seen: u64, most: Duration) -> u64 {
        let inner = self.lock();
        let waited = self
            .written
            .wait_timeout_while(inner, most, |inner| inner.writes == seen && !self.is_stopping());
        waited.unwrap_or_else(PoisonError::into_inner).0.writes
    }

    /// Runs a question's answer, unless there are too many already.
    pub(super) fn within_queries<T>(&self, run: impl FnOnce() -> T) -> Option<T> {
        let _place = self.queries.take()?;
        Some(run())
    }

    pub(super) fn counters(&self) -> CentralCounters {
        let mut counters = self.lock().counters;
        counters.connections = self.peers.taken() as u64;
        counters.cost = OwnCost::read();
        counters
    }

    /// The places of one more connection, and of one that has not shown who it is: who says nothing takes
    /// no place from those that have.
    pub(super) fn places(&self) -> Option<(Place, Place)> {
        self.peers.take().zip(self.newcomers.take())
    }

    /// Says what is wrong with a peer: a record of the server, and a message.  A peer that tries
    /// again and again fills neither.
    pub(super) fn complain(&self, text: &str) {
        let now = clock::now();
        let mut inner = self.lock();
        let inner = &mut *inner;
        let mut text = text.to_owned();
        if let Some((last, left_out)) = &mut inner.complained {
            if now - *last < COMPLAINTS {
                *left_out += 1;
                return;
            }
            if *left_out > 0 {
                text.push_str(&format!(" ({left_out} more since the last such message)"));
            }
        }
        inner.complained = Some((now, 0));
        inner.own.add(&mut inner.pending.batch, LogLevel::Warning, &text, clock::now_ns());
        inner.pending.since.get_or_insert(now);
        inner.say(text);
        self.work.notify_one();
    }

    /// What whoever runs the server should know, since the last call.
    pub(super) fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().messages)
    }

    /// What the damage of the store took becomes records of the server.
    pub(super) fn report_recovery(&self, store: &Store, recovery: &Recovery) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let now = clock::now_ns();
        for (path, from, to) in &recovery.damaged {
            let path = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let folder = store.folder().display();
            let text = format!("{folder}/{path}: bytes {from} to {to} are damaged");
            inner.own.add(&mut inner.pending.batch, LogLevel::Alert, &text, now);
        }
        inner.pending.since = Some(clock::now());
    }

    /// A commit failed; it is tried again.
    pub(super) fn fail(&self, error: &StoreError) {
        let mut inner = self.lock();
        inner.counters.failures += 1;
        let text = error.to_string();
        if inner.failure.as_ref() != Some(&text) {
            inner.failure = Some(text.clone());
            let inner = &mut *inner;
            let now = clock::now_ns();
            inner.own.add(&mut inner.pending.batch, LogLevel::Alert, &text, now);
            inner.say(format!("{text}: nothing is lost: proxies keep what is not committed"));
        }
    }

    /// A batch was written: who waits for records can read it.
    pub(super) fn note_written(&self) {
        self.lock().writes += 1;
        self.written.notify_all();
    }

    /// A batch is committed.
    pub(super) fn succeed(&self, records: u64, bytes: u64) {
        let mut inner = self.lock();
        let counters = &mut inner.counters;
        counters.commits += 1;
        counters.records += records;
        counters.bytes += bytes;
        if inner.failure.take().is_some() {
            inner.say("records are committed again".to_owned());
        }
    }

    /// Acknowledgements that could not be written are written after the next commit, or without one.
    pub(super) fn acknowledge_later(&self, peer: u64, body: &[u8]) {
        let mut inner = self.lock();
        for mark in log_protocol::frame::marks(body) {
            inner.acknowledge(peer, mark.stream);
        }
    }

    /// Registers a connection for acknowledgements; gives its number.
    pub(super) fn register(&self, writer: Connection, is_proxy: bool) -> u64 {
        let mut inner = self.lock();
        let number = inner.next_peer;
        inner.next_peer += 1;
        let ending = writer.clone();
        let connection = Mutex::new(writer);
        inner.writers.insert(number, Arc::new(PeerWriter { connection, ending }));
        if is_proxy {
            inner.proxies.insert(number);
        }
        number
    }

    pub(super) fn unregister(&self, number: u64) {
        let mut inner = self.lock();
        inner.writers.remove(&number);
        inner.proxies.remove(&number);
    }

    /// The committed mark of a stream or dictionary.
    pub(super) fn committed(&self, stream: StreamId) -> u64 {
        self.lock().marks.get(&stream).map_or(0, |marks| marks.committed)
    }

    /// Waits until there is room for a frame; `None` when the server stops.
    fn wait_for_room(&self) -> Option<MutexGuard<'_, Inner>> {
        let mut inner = self.lock();
        while inner.pending.batch.bytes >= self.settings.limits.pending_bytes {
            if self.is_stopping() {
                return None;
            }
            inner = self.room.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        Some(inner)
    }

    /// A buffer for the next body.
    pub(super) fn spare(&self) -> Vec<u8> {
        self.lock().spare.pop().unwrap_or_default()
    }

    pub(super) fn add_process(&self, info: ProcessInfo) -> Result<(), Refusal> {
        let mut inner = self.lock();
        inner.know(info.id, self.settings.limits.processes)?;
        inner.pending.batch.bytes += 256;
        inner.pending.batch.processes.push(info);
        Ok(())
    }

    pub(super) fn add_stream(&self, info: StreamInfo) -> Result<(), Refusal> {
        let mut inner = self.lock();
        inner.stream(info.id, &self.settings.limits)?;
        inner.pending.batch.bytes += 256;
        inner.pending.batch.streams.push(info);
        Ok(())
    }

    /// Admits bytes of a dictionary.
    pub(super) fn add_dictionary(
        &self,
        peer: u64,
        head: &Head,
        body: &[u8],
    ) -> Result<(), Refusal> {
        let Some(mut inner) = self.wait_for_room() else { return Ok(()) };
        let stream = StreamId { process: head.stream.process, ring: DICTIONARY };
        inner.know(stream.process, self.settings.limits.processes)?;
        let marks = inner.stream(stream, &self.settings.limits)?;
        let end = head.first.saturating_add(body.len() as u64);
        if head.first > marks.admitted || end > DICTIONARY_BYTES_MAX {
            return Err(Refusal::Dictionary);
        }
        if end > marks.admitted {
            let skip = (marks.admitted - head.first) as usize;
            let offset = marks.admitted;
            marks.admitted = end;
            let bytes = body[skip..].to_vec();
            inner.pending.batch.bytes += bytes.len();
            inner.pending.batch.dictionaries.push((stream.process, offset, bytes));
        }
        inner.acknowledge(peer, stream);
        self.work.notify_one();
        Ok(())
    }

    /// Admits records; gives the body back if it is not kept.
    pub(super) fn add_records(
        &self,
        peer: u64,
        head: &Head,
        body: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, Refusal> {
        // Outside of the lock: a whole walk over the body.
        let mark = self.admitted(head.stream);
        let sound = record::check(&body, head.count, head.first, head.next, mark);
        let Some(mut inner) = self.wait_for_room() else { return Ok(Some(body)) };
        let inner = &mut *inner;
        let marks = inner.stream(head.stream, &self.settings.limits)?;
        let before = *marks;
        inner.acknowledge(peer, head.stream);
        self.work.notify_one();
        if head.next <= before.admitted {
            inner.counters.duplicates += u64::from(head.count);
            return Ok(Some(body));
        }
        // Another connection moved the mark meanwhile.
        let sound = match sound {
            Some(_) if before.admitted != mark => {
                record::check(&body, head.count, head.first, head.next, before.admitted)
            }
            sound => sound,
        };
        if head.first > before.admitted {
            inner.add_lost(head.stream, before.admitted, head.first, GapReason::Missing);
        }
        let first = head.first.max(before.admitted);
        let Some(sound) = sound else {
            inner.add_lost(head.stream, first, head.next, GapReason::Malformed);
            return Ok(Some(body));
        };
        inner.counters.duplicates += u64::from(sound.skip_count);
        let count = head.count - sound.skip_count;
        let absent = (head.next - first).saturating_sub(count.into());
        inner.pending.batch.bytes += body.len();
        inner.pending.batch.records.push(RecordsPart {
            stream: head.stream,
            body,
            skip_bytes: sound.skip_bytes,
            count,
            first,
            next: head.next,
            // A proxy that has read the ring again may have left out less; what is not here is one or
            // the other.
            left_out: head.left_out.min(absent.try_into().unwrap_or(u32::MAX)),
        });
        if let Some(marks) = inner.marks.get_mut(&head.stream) {
            marks.admitted = head.next;
        }
        Ok(None)
    }

    /// The mark of what was admitted of a stream.
    pub(super) fn admitted(&self, stream: StreamId) -> u64 {
        self.lock().marks.get(&stream).map_or(0, |marks| marks.admitted)
    }

    /// Notes what a proxy cannot deliver.
    pub(super) fn add_lost(
        &self,
        peer: u64,
        head: &Head,
        reason: GapReason,
    ) -> Result<(), Refusal> {
        let Some(mut inner) = self.wait_for_room() else { return Ok(()) };
        let admitted = inner.stream(head.stream, &self.settings.limits)?.admitted;
        if head.first > admitted {
            inner.add_lost(head.stream, admitted, head.first, GapReason::Missing);
        }
        if head.next > admitted {
            inner.add_lost(head.stream, head.first.max(admitted), head.next, reason);
        }
        inner.acknowledge(peer, head.stream);
        self.work.notify_one();
        Ok(())
    }

    /// Forgets the processes of which a proxy says that nothing will come any more.
    pub(super) fn end(&self, processes: &[ProcessId]) {
        let mut inner = self.lock();
        let ended: HashSet<&ProcessId> = processes.iter().collect();
        inner.marks.retain(|stream, _| !ended.contains(&stream.process));
        for process in processes {
            inner.processes.remove(process);
        }
        inner.pending.batch.ended.extend_from_slice(processes);
    }

    /// After a commit: takes over marks that are safe now; gives those that each connection waits for.
    pub(super) fn commit_marks(
        &self,
        acks: impl IntoIterator<Item = (u64, StreamMark)>,
    ) -> HashMap<u64, Vec<u8>> {
        let mut bodies: HashMap<u64, Vec<u8>> = HashMap::new();
        let mut inner = self.lock();
        for (peer, mark) in acks {
            if let Some(marks) = inner.marks.get_mut(&mark.stream) {
                marks.committed = marks.committed.max(mark.next);
            }
            log_protocol::frame::put_mark(bodies.entry(peer).or_default(), mark);
        }
        bodies
    }

    /// Gives buffers back.
    pub(super) fn give_back(&self, batch: CommitBatch) {
        let mut inner = self.lock();
        for part in batch.records {
            if inner.spare.len() < SPARE_MAX {
                inner.spare.push(part.body);
            }
        }
    }
}

impl Inner {
    /// About once a minute: a record of what the server itself costs.
    pub(super) fn tell_cost(&mut self) {
        let ((last, before), now) = (self.cost_told, clock::now());
        if now - last < cost::TOLD_EVERY {
            return;
        }
        let cost = OwnCost::read();
        self.cost_told = (now, cost);
        let CentralCounters { records, commits, .. } = self.counters;
        let cost = cost.since(&before, now - last);
        let text = format!("{cost}; since its start {records} records in {commits} commits");
        self.own.add(&mut self.pending.batch, LogLevel::Info, &text, clock::now_ns());
        self.pending.since.get_or_insert(now);
    }

    fn say(&mut self, text: String) {
        if self.messages.len() < MESSAGES_MAX {
            self.messages.push(text);
        }
    }

    fn know(&mut self, process: ProcessId, most: usize) -> Result<(), Refusal> {
        if !self.processes.contains(&process) {
            if self.processes.len() >= most {
                return Err(Refusal::Processes);
            }
            self.processes.insert(process);
        }
        Ok(())
    }

    fn stream(
        &mut self,
        stream: StreamId,
        limits: &AdmissionLimits,
    ) -> Result<&mut Marks, Refusal> {
        self.know(stream.process, limits.processes)?;
        if !self.marks.contains_key(&stream) && self.marks.len() >= limits.streams {
            return Err(Refusal::Streams);
        }
        Ok(self.marks.entry(stream).or_default())
    }

    fn acknowledge(&mut self, peer: u64, stream: StreamId) {
        self.pending.acks.insert((peer, stream));
        self.pending.since.get_or_insert_with(clock::now);
    }

    fn add_lost(&mut self, stream: StreamId, first: u64, next: u64, reason: GapReason) {
        // Numbers that run backwards name nothing.
        if next <= first {
            return;
        }
        let lost = LostPart { stream, first, next, reason };
        self.counters.lost = self.counters.lost.saturating_add(next - first);
        self.pending.batch.lost.push(lost);
        self.own.add_lost(&mut self.pending.batch, &lost, clock::now_ns());
        if let Some(marks) = self.marks.get_mut(&stream) {
            marks.admitted = marks.admitted.max(next);
        }
    }
}
