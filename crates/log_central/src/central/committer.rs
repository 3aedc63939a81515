//! The thread that commits: takes all that waits, writes it, and begins again; a second thread waits for
//! the disk meanwhile, and what it has is acknowledged.
//!
//! A sync takes milliseconds, and seconds where others write much.  What is written can be read at once,
//! so a slow disk delays acknowledgements, and not those who look at the records.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crate::central::shared::{Pending, Shared};
use log_protocol::clock;
use log_protocol::cost;
use log_protocol::frame::{self, FrameKind, Head, StreamMark};
use log_store::{Store, StoreError};
use sample::{AgeClock, Moment};

/// Bytes from which on a commit does not wait for more.
const ENOUGH_BYTES: usize = 1 << 20;
/// Between two tries of a commit that fails.
const RETRY: Duration = Duration::from_millis(200);
/// Between two looks at what need not be kept.
const RETENTION: Duration = Duration::from_secs(10);

/// Commits until the server stops and nothing waits.
pub(super) fn run(shared: &Shared, store: Store) {
    let (orders, work) = channel();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("log-sync".to_owned());
        let has_thread = thread.spawn_scoped(scope, move || sync_all(shared, &work)).is_ok();
        let committer = Committer {
            shared,
            segment: store.segment_number(),
            store,
            retained: clock::now(),
            ages: AgeClock::default(),
            orders: has_thread.then_some(orders),
            written: Vec::new(),
            syncing: None,
        };
        committer.run();
    });
    shared.lock().writers.shut_down();
}

/// Waits for the disk, whenever it is told to.
fn sync_all(shared: &Shared, work: &Receiver<Arc<File>>) {
    for file in work {
        let result = file.sync_data();
        shared.lock().synced = Some(result);
        shared.work.notify_all();
    }
}

/// A batch that is written, or acknowledgements alone.
struct WrittenBatch {
    /// Records and bytes, if there was a batch.
    size: Option<(u64, u64)>,
    /// Connections that wait, and for which mark.
    marks: Vec<(u64, StreamMark)>,
}

enum Work {
    Batch(Box<Pending>),
    /// A sync has ended.
    Synced(io::Result<()>),
}

struct Committer<'a> {
    shared: &'a Shared,
    store: Store,
    /// The number of the segment that is begun next.
    segment: u64,
    retained: Instant,
    /// By which records are old.
    ages: AgeClock,
    /// To the thread that syncs; `None`: this thread does it.
    orders: Option<Sender<Arc<File>>>,
    /// What no sync is about yet.
    written: Vec<WrittenBatch>,
    /// What the sync is about that is under way, and how many bytes of the segment.
    syncing: Option<(u64, Vec<WrittenBatch>)>,
}

impl Committer<'_> {
    fn run(mut self) {
        self.begin_ages();
        self.remove_old();
        while let Some(work) = self.next_work() {
            match work {
                Work::Batch(pending) => self.write(*pending),
                Work::Synced(result) => self.end_sync(result),
            }
            self.begin_sync();
            self.retain();
        }
    }

    /// Waits for work, and a little more if there is little; `None` when the server stops and nothing is
    /// under way.
    fn next_work(&self) -> Option<Work> {
        let shared = self.shared;
        let has_room = self.syncing.is_none() || self.store.has_room_beside_sync();
        let mut inner = shared.lock();
        loop {
            inner.say_cost();
            if let Some(result) = inner.synced.take() {
                return Some(Work::Synced(result));
            }
            let mut wait = cost::TOLD_EVERY;
            match inner.pending.since.filter(|_| has_room) {
                Some(since) => {
                    let left = shared.settings.delay.saturating_sub(clock::now() - since);
                    let is_enough = inner.pending.batch.bytes >= ENOUGH_BYTES;
                    if is_enough || left.is_zero() || shared.is_stopping() {
                        let pending = std::mem::take(&mut inner.pending);
                        shared.room.notify_all();
                        return Some(Work::Batch(Box::new(pending)));
                    }
                    wait = left;
                }
                None if shared.is_stopping() && self.syncing.is_none() => return None,
                None => {}
            }
            let waited = shared.work.wait_timeout(inner, wait);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes, again and again until it succeeds: what was admitted is not given up.  Proxies keep what
    /// is not acknowledged, so a server that stops meanwhile loses nothing.
    fn write(&mut self, pending: Pending) {
        let batch = &pending.batch;
        let mut size = None;
        if !batch.is_empty() {
            while let Err(error) = self.store.write(batch, clock::now_ns()) {
                if !self.wait_after(&error) {
                    return;
                }
            }
            self.shared.note_written();
            size = Some((batch.record_count(), batch.bytes as u64));
        }
        let marks = pending.marks(&self.store);
        self.written.push(WrittenBatch { size, marks });
        self.shared.give_back(pending.batch);
    }

    /// Lets the disk have what is written, unless a sync is under way.
    fn begin_sync(&mut self) {
        if self.syncing.is_some() || self.written.is_empty() {
            return;
        }
        let Some((file, bytes)) = self.store.begin_sync() else {
            // The disk has it, or nobody waits for the disk.
            return self.finish_written();
        };
        let is_sent = self.orders.as_ref().is_some_and(|orders| orders.send(file).is_ok());
        match is_sent {
            true => self.syncing = Some((bytes, std::mem::take(&mut self.written))),
            false => self.sync_here(),
        }
    }

    fn end_sync(&mut self, result: io::Result<()>) {
        let Some((bytes, covered)) = self.syncing.take() else { return };
        match self.store.end_sync(bytes, result) {
            Ok(()) => self.finish(covered),
            Err(error) => {
                self.written.splice(..0, covered);
                if self.wait_after(&error) {
                    self.sync_here();
                }
            }
        }
    }

    /// Syncs in this thread, again and again until it succeeds.
    fn sync_here(&mut self) {
        while let Err(error) = self.store.sync() {
            if !self.wait_after(&error) {
                return;
            }
        }
        self.finish_written();
    }

    /// Says what failed, and waits before the next try; `false`: the server stops, so there is none.
    fn wait_after(&mut self, error: &StoreError) -> bool {
        self.shared.fail(error);
        if self.shared.is_stopping() {
            // Nobody is told that it is safe.
            self.written.clear();
            return false;
        }
        // Room may be made by what need not be kept.
        self.remove_old();
        std::thread::sleep(RETRY);
        true
    }

    fn finish_written(&mut self) {
        let written = std::mem::take(&mut self.written);
        self.finish(written);
    }

    /// Acknowledges what is safe.
    fn finish(&self, safe: Vec<WrittenBatch>) {
        for (records, bytes) in safe.iter().filter_map(|one| one.size) {
            self.shared.succeed(records, bytes);
        }
        let bodies = self.shared.commit_marks(safe.into_iter().flat_map(|one| one.marks));
        for (peer, body) in bodies {
            self.acknowledge(peer, &body);
        }
    }

    fn acknowledge(&self, peer: u64, body: &[u8]) {
        let writer = self.shared.lock().writers.get(peer);
        let Some(writer) = writer else { return };
        // While another thread waits for the peer, its acknowledgements wait too.
        let Some(connection) = writer.try_lock() else {
            return self.shared.acknowledge_later(peer, body);
        };
        for marks in body.chunks(frame::BODY_BYTES_MAX / frame::MARK_BYTES * frame::MARK_BYTES) {
            let mut bytes = Vec::with_capacity(frame::HEAD_BYTES + marks.len());
            frame::put(&mut bytes, Head::plain(FrameKind::Ack), marks);
            if connection.write_all_now(&bytes).is_err() {
                // It does not read its acknowledgements, or is gone.
                writer.shut_down();
            }
        }
    }

    /// Removes what need not be kept, every some seconds, and whenever a segment is begun: under load,
    /// what is kept grows by whole segments.
    fn retain(&mut self) {
        let number = self.store.segment_number();
        let is_next = std::mem::replace(&mut self.segment, number) != number;
        if is_next || clock::now() - self.retained >= RETENTION {
            self.retained = clock::now();
            self.remove_old();
        }
    }

    /// Compares the clock with the newest commit, if anything is removed by age.
    fn begin_ages(&mut self) {
        if self.shared.settings.retention.age_ns_max.is_some() {
            let newest_ns = self.store.committed_ns().ok().flatten();
            let newest_ns = newest_ns.and_then(|newest_ns| i64::try_from(newest_ns).ok());
            self.ages = AgeClock::start(newest_ns, moment());
        }
    }

    /// Removes what need not be kept; what cannot be removed now is tried again.
    fn remove_old(&mut self) {
        let now_ns = u64::try_from(self.ages.look(moment())).unwrap_or(0);
        let _ = self.store.retain(&self.shared.settings.retention, now_ns);
    }
}

/// Now, on both clocks.
fn moment() -> Moment {
    let realtime_ns = i64::try_from(clock::now_ns()).unwrap_or(i64::MAX);
    Moment { monotonic_ns: clock::since_boot_ns(), realtime_ns }
}
