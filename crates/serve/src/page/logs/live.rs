//! New records as they are committed: server-sent events.
//!
//! One thread follows the store for all readers, and ends with the last one.  A reader that does not
//! take its events, or whose records come faster than anybody reads, is told how many it missed.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use http_server::{AnswerBody, HttpAnswer, answer as answer_of};
use hyper::StatusCode;
use hyper::body::Bytes;
use log_store::archive::{LogLosses, LogSearch, RecordKey};
use log_store::{Chunk, StoreReader};
use promql::QueryError;
use serde_json::{Value, json};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Sender, channel};

use super::{JsonRecords, lost};
use crate::clock::Deadline;
use crate::page::streams::RefusedStreams;

/// Readers at the same time.
const READERS_MAX: usize = 100;

/// Events that wait for a reader.
const EVENTS_MAX: usize = 8;

/// Records, and bytes of records, of an event; those beyond are counted.
const RECORDS_MAX: usize = 200;
const BYTES_MAX: usize = 256 << 10;

/// A comment comes so often, so that what is between notices that the connection is used.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How often it looks for new records.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The readers of a store, and whether a thread serves them.
pub(super) struct LogLive {
    store: PathBuf,
    state: Mutex<LiveState>,
}

#[derive(Default)]
struct LiveState {
    readers: Vec<Watcher>,
    has_thread: bool,
    has_ended: bool,
}

/// Somebody who looks.
struct Watcher {
    search: LogSearch,
    events: Sender<Bytes>,
    /// Whether it was told that it will miss nothing from now on.
    is_greeted: bool,
    /// Records that it was not sent.
    missed: u64,
    coming: Coming,
}

/// The event that is made for a reader.
#[derive(Default)]
struct Coming {
    records: Vec<Vec<u8>>,
    bytes: usize,
    losses: LogLosses,
}

impl LogLive {
    pub(super) fn new(store: &Path) -> Self {
        LogLive { store: store.to_owned(), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reader and answers it.
    pub(super) fn add(
        self: &Arc<Self>,
        search: LogSearch,
        refused: &RefusedStreams,
    ) -> Result<HttpAnswer, QueryError> {
        let mut state = self.lock();
        if state.readers.len() >= READERS_MAX {
            // Those that went away are noticed with the next record, or now.
            state.readers.retain(|reader| !reader.events.is_closed());
        }
        if state.readers.len() >= READERS_MAX {
            return Ok(refused.refuse(READERS_MAX));
        }
        let (events, coming) = channel(EVENTS_MAX);
        if !state.has_thread {
            let own = self.clone();
            let started = Builder::new().name("page-logs".into()).spawn(move || own.follow());
            let why = |error| QueryError::Execution(format!("no thread for live records: {error}"));
            drop(started.map_err(why)?);
            state.has_thread = true;
        }
        let coming_event = Coming::default();
        let reader = Watcher { search, events, is_greeted: false, missed: 0, coming: coming_event };
        state.readers.push(reader);
        drop(state);
        Ok(answer_of(StatusCode::OK, "text/event-stream", AnswerBody::coming(coming)))
    }

    /// Ends the thread and all readers.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.readers.clear();
    }

    /// Whether anybody reads; if not, the thread has to end.
    fn has_readers(&self) -> bool {
        let mut state = self.lock();
        state.readers.retain(|reader| !reader.events.is_closed());
        if state.has_ended {
            state.readers.clear();
        }
        state.has_thread = !state.readers.is_empty();
        state.has_thread
    }

    fn follow(&self) {
        let mut store: Option<StoreReader> = None;
        let mut heartbeat = Deadline::after(HEARTBEAT);
        let mut made = JsonRecords::default();
        let mut trouble = None;
        let mut telling = Deadline::after(LOOK_EVERY);
        while self.has_readers() {
            let mut reader = match store.take().map_or_else(|| at_end(&self.store), Ok) {
                Ok(reader) => reader,
                Err(error) => {
                    self.say(&mut trouble, Some(error.to_string()));
                    std::thread::park_timeout(LOOK_EVERY);
                    continue;
                }
            };
            self.say(&mut trouble, None);
            self.greet();
            match self.next(&mut reader, &mut made) {
                Ok(true) => {
                    store = Some(reader);
                    // Where there is always more, what has come is told, too.
                    if telling.has_passed() {
                        telling = Deadline::after(LOOK_EVERY);
                        self.tell();
                    }
                }
                Ok(false) => {
                    store = Some(reader);
                    self.tell();
                    std::thread::park_timeout(LOOK_EVERY);
                }
                Err(error) => self.say(&mut trouble, Some(error.to_string())),
            }
            if heartbeat.has_passed() {
                heartbeat = Deadline::after(HEARTBEAT);
                self.send(|_| Some(Bytes::from_static(b": still here\n\n")));
            }
        }
    }

    /// Takes the next chunk to the readers that want its records; false if there is none yet.
    fn next(&self, store: &mut StoreReader, made: &mut JsonRecords) -> std::io::Result<bool> {
        let Some((chunk, at)) = store.next_chunk()? else { return Ok(false) };
        let mut state = self.lock();
        let readers = &mut state.readers;
        // Each block is read once for all.
        let filters: Vec<LogSearch> = readers.iter().map(|reader| reader.search.clone()).collect();
        let wants = |chunk: &Chunk, block: &log_store::BlockIndex| {
            filters.iter().any(|search| search.filter.wants_block(chunk, block))
        };
        let mut scratch = Vec::new();
        let _ = store.visit_chunk(&chunk, at, &wants, &mut |item| {
            for reader in readers.iter_mut() {
                let Some(record) = reader.search.wanted(item, &mut scratch) else { continue };
                let coming = &mut reader.coming;
                if coming.records.len() >= RECORDS_MAX || coming.bytes >= BYTES_MAX {
                    reader.missed += 1;
                    continue;
                }
                let text = made.listed(RecordKey::of(item), &record);
                coming.bytes += text.len();
                coming.records.push(text);
            }
            ControlFlow::Continue(())
        })?;
        for reader in readers.iter_mut() {
            reader.coming.losses.add_chunk(&chunk, &reader.search.filter);
        }
        for (path, from, to) in store.damaged.drain(..) {
            let readers = readers.iter_mut();
            readers.for_each(|reader| reader.coming.losses.add_damage(&path, from, to));
        }
        Ok(true)
    }

    /// Sends what has come.
    fn tell(&self) {
        self.lock().readers.iter_mut().for_each(Watcher::tell);
    }

    /// Tells new readers that from now on they are sent what comes.
    fn greet(&self) {
        for reader in &mut self.lock().readers {
            if !reader.is_greeted {
                reader.is_greeted = true;
                reader.offer(event("begin", &json!({})), 0);
            }
        }
    }

    /// Tells all readers why nothing comes, once, and when it goes on.
    fn say(&self, said: &mut Option<String>, why: Option<String>) {
        if *said != why {
            let text = event("trouble", &json!({ "why": why }));
            self.send(|_| Some(text.clone()));
            *said = why;
        }
    }

    fn send(&self, event: impl Fn(&Watcher) -> Option<Bytes>) {
        for reader in &mut self.lock().readers {
            if let Some(event) = event(reader) {
                reader.offer(event, 0);
            }
        }
    }
}

impl Watcher {
    /// Sends what has come, and what was missed as soon as there is room for it.
    fn tell(&mut self) {
        let is_whole = self.coming.losses == LogLosses::default();
        if self.coming.records.is_empty() && is_whole && self.missed == 0 {
            return;
        }
        if self.events.capacity() == 0 {
            self.missed += self.coming.records.len() as u64;
            (self.coming.records, self.coming.bytes) = (Vec::new(), 0);
            return;
        }
        let Coming { records, losses, .. } = std::mem::take(&mut self.coming);
        let rest = json!({ "missed": self.missed, "lost": lost(&losses) }).to_string();
        let texts = String::from_utf8_lossy(&records.join(&b","[..])).into_owned();
        let text = format!("{{\"records\":[{texts}],{}", &rest[1..]);
        let text = layout::text::visible_json(text);
        self.missed = 0;
        self.offer(format!("data: {text}\n\n").into(), records.len() as u64);
    }

    /// Sends an event if there is room; the records of one that is not sent are missed.
    fn offer(&mut self, event: Bytes, records: u64) {
        if let Err(TrySendError::Full(_)) = self.events.try_send(event) {
            self.missed += records;
        }
    }
}

fn event(kind: &str, data: &Value) -> Bytes {
    let data = layout::text::visible_json(data.to_string());
    format!("event: {kind}\ndata: {data}\n\n").into()
}

/// A reader of what comes from now on.
fn at_end(store: &Path) -> std::io::Result<StoreReader> {
    let mut reader = StoreReader::open_newest(store)?;
    while reader.next_chunk()?.is_some() {}
    reader.damaged.clear();
    Ok(reader)
}
