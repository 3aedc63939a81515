//! What all threads of a central server share: what is known, what waits for the next commit, and who
//! waits for what.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use connection::{Peer, Quota, QuotaPlace};
use log_protocol::frame::StreamMark;
use log_protocol::{OwnCost, StreamId, clock};
use log_store::{CommitBatch, OwnLog, Recovery, Store, StoreError};

use super::CentralSettings;
use super::complaints::Complaints;
use super::counters::CentralCounters;
use super::kept::ProcessLevels;
use super::marks::KnownStreams;
use super::recordings::RecordingFolder;
use super::writers::PeerWriters;

/// What waits for the next commit.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) batch: CommitBatch,
    /// Connections that wait for an acknowledgement, and of which stream.
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
    pub(super) known: KnownStreams,
    pub(super) pending: Pending,
    pub(super) complaints: Complaints,
    pub(super) counters: CentralCounters,
    /// Batches that were written; the disk may not have the last of them.
    writes: u64,
    /// How the sync that was under way has ended.
    pub(super) synced: Option<io::Result<()>>,
    /// Buffers of bodies, to be used again.
    pub(super) spare: Vec<Vec<u8>>,
    /// Where acknowledgements and answers go.
    pub(super) writers: PeerWriters,
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
    local_peers: Quota,
    queries: Quota,
    /// A batch was written.
    written: Condvar,
    pub(super) store: [u8; 16],
    /// Folder of the store.
    pub(super) folder: PathBuf,
    pub(super) kept: ProcessLevels,
    /// Where recordings of other hosts go, if they are taken.
    pub(super) recordings: Option<RecordingFolder>,
}

/// Buffers of bodies that are kept.
const SPARE_MAX: usize = 256;

impl Shared {
    pub(super) fn new(
        store: &Store,
        own: OwnLog,
        settings: CentralSettings,
        is_stopping: Arc<AtomicBool>,
        recordings: Option<RecordingFolder>,
    ) -> Self {
        let mut batch = CommitBatch::default();
        // A server takes a new identity at each start, and sends nothing again.
        let own_before = store.processes().filter(|info| info.name == own.info.name);
        batch.ended.extend(own_before.map(|info| info.id));
        let inner = Inner {
            known: KnownStreams::new(store, settings.limits),
            pending: Pending { batch, ..Pending::default() },
            complaints: Complaints::new(own),
            counters: CentralCounters::default(),
            writes: 0,
            synced: None,
            spare: Vec::new(),
            writers: PeerWriters::default(),
        };
        Shared {
            inner: Mutex::new(inner),
            work: Condvar::new(),
            room: Condvar::new(),
            is_stopping,
            peers: Quota::new(settings.limits.connections),
            local_peers: Quota::new(settings.limits.local_connections),
            queries: Quota::new(settings.limits.queries),
            settings,
            written: Condvar::new(),
            folder: store.folder().to_owned(),
            kept: ProcessLevels::open(store.folder()),
            store: store.id(),
            recordings,
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
        let _place = self.queries.acquire()?;
        Some(run())
    }

    pub(super) fn counters(&self) -> CentralCounters {
        let mut counters = self.lock().counters;
        counters.connections = (self.peers.taken() + self.local_peers.taken()) as u64;
        counters.cost = OwnCost::read();
        counters
    }

    /// The place of one more connection: of this machine or of a network.
    pub(super) fn place(&self, from: &Peer) -> Option<QuotaPlace> {
        match from {
            Peer::User(_) => self.local_peers.acquire(),
            Peer::Network(_) => self.peers.acquire(),
        }
    }

    /// Says what is wrong with a peer.
    pub(super) fn complain(&self, text: &str) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        if inner.complaints.complain(&mut inner.pending.batch, text) {
            inner.pending.since.get_or_insert_with(clock::now);
            self.work.notify_one();
        }
    }

    /// Says something to whoever runs the server.
    pub(super) fn say(&self, text: &str) {
        self.lock().complaints.say(text.to_owned());
    }

    /// Has a thread unparked whenever there are messages to take.
    pub(super) fn unpark_for_messages(&self, thread: Thread) {
        self.lock().complaints.takes = Some(thread);
    }

    /// What whoever runs the server should know, since the last call.
    pub(super) fn take_messages(&self) -> Vec<String> {
        self.lock().complaints.take_messages()
    }

    /// What the damage of the store took becomes records of the server.
    pub(super) fn report_recovery(&self, store: &Store, recovery: &Recovery) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.complaints.say_damaged(&mut inner.pending.batch, store, recovery);
        inner.pending.since = Some(clock::now());
    }

    /// Notes that a commit failed; it is tried again.
    pub(super) fn fail(&self, error: &StoreError) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        inner.counters.failures += 1;
        inner.complaints.say_failed(&mut inner.pending.batch, error.to_string());
    }

    /// Notes that a batch is committed.
    pub(super) fn succeed(&self, records: u64, bytes: u64) {
        let mut inner = self.lock();
        let counters = &mut inner.counters;
        counters.commits += 1;
        counters.records += records;
        counters.bytes += bytes;
        inner.complaints.say_committed();
    }

    /// Notes that a batch was written: who waits for records can read it.
    pub(super) fn note_written(&self) {
        self.lock().writes += 1;
        self.written.notify_all();
    }

    /// Acknowledgements that could not be written are written after the next commit, or without one.
    pub(super) fn acknowledge_later(&self, peer: u64, body: &[u8]) {
        let mut inner = self.lock();
        for mark in log_protocol::frame::marks(body) {
            inner.acknowledge(peer, mark.stream);
        }
    }

    /// Waits until there is room for a frame; `None` when the server stops.
    pub(super) fn wait_for_room(&self) -> Option<MutexGuard<'_, Inner>> {
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

    /// After a commit: takes over marks that are safe now; gives those that each connection waits for.
    pub(super) fn commit_marks(
        &self,
        acks: impl IntoIterator<Item = (u64, StreamMark)>,
    ) -> HashMap<u64, Vec<u8>> {
        let mut bodies: HashMap<u64, Vec<u8>> = HashMap::new();
        let mut inner = self.lock();
        for (peer, mark) in acks {
            inner.known.commit(mark.stream, mark.next);
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
    /// Says about once a minute what the server costs.
    pub(super) fn say_cost(&mut self) {
        if self.complaints.say_cost(&mut self.pending.batch, &self.counters) {
            self.pending.since.get_or_insert_with(clock::now);
        }
    }

    /// Notes that a connection waits until what was admitted of a stream is committed.
    pub(super) fn acknowledge(&mut self, peer: u64, stream: StreamId) {
        self.pending.acks.insert((peer, stream));
        self.pending.since.get_or_insert_with(clock::now);
    }
}
