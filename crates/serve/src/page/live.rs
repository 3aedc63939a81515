//! New samples as they are recorded: server-sent events.
//!
//! One thread follows the recordings of all hosts that anybody looks at, and ends with the last reader.
//! Each reader has a queue of a few events; one that does not take them is ended, and its browser
//! connects again.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use archive::Recordings;
use feed::{Cursor, CursorSettings, FeedError, Motion};
use http_server::{AnswerBody, HttpAnswer, answer as answer_of};
use hyper::StatusCode;
use hyper::body::Bytes;
use jiff::tz::TimeZone;
use layout::{Frame, Options, Row};
use promql::QueryError;
use sample::{History, Meta};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use view::base_number;

use super::asked::{PageRequest, ms};
use super::chart::{chosen_charts, number, shown};
use super::charts::{Chart, Instances};
use super::moment::heaviest;
use super::streams::RefusedStreams;
use crate::clock::Deadline;
use crate::recordings::RecordingStorage;

/// Readers at the same time.
const READERS_MAX: usize = 400;

/// Events that wait for a reader.
const EVENTS_MAX: usize = 8;

/// Processes of an event.
const HEAVIEST: usize = 10;

/// A comment comes so often, so that what is between notices that the connection is used.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How often it looks whether another recording was begun.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often it looks for a sample: a part of the interval, within these.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(200)];
const PAUSE_PARTS: u32 = 8;

/// The source that is read least often of those that an event has.
const SLOWEST: &str = "process";

/// The readers, and whether a thread serves them.
#[derive(Default)]
pub(crate) struct Live {
    state: Mutex<LiveState>,
}

#[derive(Default)]
struct LiveState {
    readers: Vec<Watcher>,
    has_thread: bool,
    has_ended: bool,
}

/// Somebody who looks.
pub(crate) struct Watcher {
    host: String,
    charts: Vec<&'static Chart>,
    events: Sender<Bytes>,
}

/// What a request asks for, and where its events will come.
pub(crate) fn reader(asked: &PageRequest<'_>) -> Result<(Watcher, Receiver<Bytes>), QueryError> {
    asked.only(&["host", "id"])?;
    let (host, charts) = (asked.host()?, chosen_charts(asked)?);
    let (events, coming) = channel(EVENTS_MAX);
    Ok((Watcher { host, charts, events }, coming))
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, LiveState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reader and answers it.
    pub(crate) fn add(
        self: &Arc<Self>,
        recordings: &Arc<RecordingStorage>,
        (reader, coming): (Watcher, Receiver<Bytes>),
        refused: &RefusedStreams,
    ) -> Result<HttpAnswer, QueryError> {
        let mut state = self.lock();
        if state.readers.len() >= READERS_MAX {
            // Those that went away are noticed with the next sample, or now.
            state.readers.retain(|reader| !reader.events.is_closed());
        }
        if state.readers.len() >= READERS_MAX {
            return Ok(refused.refuse(READERS_MAX));
        }
        // The browser knows at once that it is connected.
        let _ = reader.events.try_send(Bytes::from_static(b": whit\n\n"));
        if !state.has_thread {
            let (own, recordings) = (self.clone(), recordings.clone());
            let thread = Builder::new().name("page-live".into());
            let started = thread.spawn(move || own.follow_all(&recordings));
            let why = |error| QueryError::Execution(format!("no thread for live samples: {error}"));
            drop(started.map_err(why)?);
            state.has_thread = true;
        }
        state.readers.push(reader);
        drop(state);
        Ok(answer_of(StatusCode::OK, "text/event-stream", AnswerBody::coming(coming)))
    }

    /// Ends the thread and all readers.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.readers.clear();
    }

    /// The hosts that anybody looks at; none if the thread has to end.
    fn hosts(&self) -> BTreeSet<String> {
        let mut state = self.lock();
        state.readers.retain(|reader| !reader.events.is_closed());
        if state.has_ended {
            state.readers.clear();
        }
        state.has_thread = !state.readers.is_empty();
        state.readers.iter().map(|reader| reader.host.clone()).collect()
    }

    fn follow_all(&self, recordings: &RecordingStorage) {
        let mut followed: HashMap<String, Followed> = HashMap::new();
        let mut heartbeat = Deadline::after(HEARTBEAT);
        loop {
            let hosts = self.hosts();
            if hosts.is_empty() {
                return;
            }
            followed.retain(|host, _| hosts.contains(host));
            let mut pause = PAUSES[1];
            for host in hosts {
                let one = followed.entry(host.clone()).or_default();
                if one.next(recordings, &host) {
                    self.tell(&host, one);
                    pause = PAUSES[0];
                } else {
                    pause = pause.min(one.pause());
                }
            }
            if heartbeat.has_passed() {
                heartbeat = Deadline::after(HEARTBEAT);
                self.send(|_| Some(Bytes::from_static(b": still here\n\n")));
            }
            std::thread::park_timeout(pause);
        }
    }

    /// Sends each reader what `event` makes for it.  One whose queue is full is ended.
    fn send(&self, event: impl Fn(&Watcher) -> Option<Bytes>) {
        let mut state = self.lock();
        state.readers.retain(|reader| {
            event(reader).is_none_or(|event| reader.events.try_send(event).is_ok())
        });
    }

    /// Sends the newest sample of a host to its readers.
    fn tell(&self, host: &str, followed: &Followed) {
        let Some(open) = &followed.open else { return };
        let options = Options::default();
        let frame = Frame::new(&open.history, &open.meta, &options);
        self.send(|reader| {
            if reader.host != host {
                return None;
            }
            let mut charts = Map::new();
            reader.charts.iter().for_each(|chart| add_chart(&frame, chart, &mut charts));
            let event = json!({
                "at_ms": ms(frame.realtime_ns),
                "charts": charts,
                "heaviest": followed.heaviest,
            });
            let text = layout::text::visible_json(event.to_string());
            Some(format!("data: {text}\n\n").into())
        });
    }
}

/// Adds the values of a chart: of each instance apart, as `disk/sda`.
fn add_chart(frame: &Frame<'_>, chart: &Chart, charts: &mut Map<String, Value>) {
    let Some(whole) = frame.source(chart.source).filter(|whole| whole.track.fresh) else { return };
    let def = &whole.track.def;
    let mut of_series = Map::new();
    for row in whole.rows() {
        let base = |field: &str| base_number(&row, def.field(field)?);
        let mut values = Map::new();
        for series in chart.series_of(def) {
            if chart.instances != Instances::Series || series.id.as_bytes() == row.name() {
                values.insert(series.id.to_owned(), number(series.of.value(&base)));
            }
        }
        match chart.instances {
            Instances::Each => drop(charts.insert(name(chart, &row), Value::Object(values))),
            Instances::None | Instances::Series => of_series.append(&mut values),
        }
    }
    if chart.instances != Instances::Each {
        charts.insert(chart.id.to_owned(), Value::Object(of_series));
    }
}

fn name(chart: &Chart, row: &Row<'_>) -> String {
    format!("{}/{}", chart.id, shown(row.name()))
}

/// A host that is followed.
#[derive(Default)]
struct Followed {
    open: Option<GrowingRecording>,
    /// When to look for another recording.
    look: Option<Deadline>,
    /// The heaviest processes of their latest reading.
    heaviest: Vec<Value>,
}

/// The recording that grows, at its latest sample.
struct GrowingRecording {
    path: PathBuf,
    cursor: Cursor,
    meta: Meta,
    history: History,
}

impl Followed {
    /// Goes on to the next sample; false if there is none yet.  What cannot be read is tried again.
    fn next(&mut self, recordings: &RecordingStorage, host: &str) -> bool {
        if let Some(open) = &mut self.open {
            let gone = open.cursor.go(Motion::Forward, &mut open.history, &mut |_, _| {});
            match gone {
                Ok(true) => return self.note(),
                Ok(false) => {}
                Err(_) => self.open = None,
            }
        }
        if self.look.is_some_and(|look| !look.has_passed()) {
            return false;
        }
        self.look = Some(Deadline::after(LOOK_EVERY));
        let Ok(recordings) = recordings.recordings() else { return false };
        let Some(path) = growing(&recordings, host) else { return false };
        if self.open.as_ref().is_some_and(|open| open.path == path) {
            return false;
        }
        match GrowingRecording::at_end(path) {
            Ok(open) => {
                self.open = Some(open);
                self.note()
            }
            Err(_) => false,
        }
    }

    /// Keeps what comes less often than samples.
    fn note(&mut self) -> bool {
        let Some(open) = &self.open else { return false };
        let options = Options::default();
        let frame = Frame::new(&open.history, &open.meta, &options);
        if let Some(found) = heaviest(&frame, HEAVIEST) {
            self.heaviest = found;
        }
        open.history.ticks() > 0
    }

    fn pause(&self) -> Duration {
        let interval = self.open.as_ref().map(|open| open.meta.interval_ns());
        let interval = Duration::from_nanos(interval.unwrap_or(u64::MAX));
        (interval / PAUSE_PARTS).clamp(PAUSES[0], PAUSES[1])
    }
}

impl GrowingRecording {
    fn at_end(path: PathBuf) -> Result<Self, FeedError> {
        let settings = CursorSettings {
            entries: Vec::new(),
            slowest: SLOWEST,
            local: TimeZone::UTC,
            history_samples: 0,
        };
        let (mut cursor, meta) = Cursor::open(&path, settings)?;
        let mut history = History::new(cursor.defs());
        cursor.go(Motion::Last, &mut history, &mut |_, _| {})?;
        Ok(GrowingRecording { path, cursor, meta, history })
    }
}

/// The latest recording of a host that a recorder writes.
fn growing(recordings: &Recordings, host: &str) -> Option<PathBuf> {
    let spans = recordings.spans(host).into_iter().rev();
    let mut growing = spans.filter(|span| {
        span.thru_ns.is_none()
            && recording::is_being_written(&span.path).is_ok_and(|is_written| is_written)
    });
    growing.next().map(|span| span.path)
}
