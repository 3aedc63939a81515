//! Questions for other hosts: passed on, and their answers checked.
//!
//! A thread of its own asks, so that nothing of this host waits for another one.  Each host has a bound on
//! its questions; an answer has a largest size and a longest time, is checked to be JSON or CSV, and gets
//! our headers.  A redirect is an error.  A question that was passed on is not passed on again.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use http_client::ClientAnswer;
use http_client::header::{
    AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use http_server::{AnswerBody, HttpAnswer, answer as answer_of};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::{Method, StatusCode};
use promql::QueryError;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use text::encoding::push_percent_encoded;
use text::error_text::with_causes;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::device_pages::{self, DeviceFile};
use super::logs::BEHIND;
use super::streams::RefusedStreams;
use super::{HOSTS, PREFIX, json_answer, with_headers};
use crate::clock::{Deadline, now_ms};
use crate::other_host::OtherHost;

/// Says that a question comes from another whit.
pub(super) const PASSED_ON: &str = "whit-passed-on";

/// Most other hosts.
const HOSTS_MAX: usize = 100;
/// Most recorded hosts that one of them may have, and most spans or gaps of one.
const RECORDED_MAX: usize = 100;
const SPANS_MAX: usize = 10_000;
/// Questions to one host at the same time, and readers of its live samples.
const QUESTIONS_MAX: usize = 8;
const READERS_MAX: usize = 100;
/// How long an answer of `hosts` is good.
const GOOD: Duration = Duration::from_secs(2);
/// How long the list of hosts waits for those that have not answered yet.
const WAIT: Duration = Duration::from_secs(1);
/// A live host says something more often than this.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// The types of pictures that are passed on, and how each begins.
const PICTURES: [(&str, &[u8]); 2] = [("image/svg+xml", b"<"), ("image/png", b"\x89PNG\r\n\x1a\n")];
/// The events of a log that have a name, and are passed on with it.
const NAMED_EVENTS: [&str; 2] = ["begin", "trouble"];
/// Most bytes of a live event, and events that wait for a reader.
const EVENT_BYTES_MAX: usize = 1 << 20;
const EVENTS_MAX: usize = 8;

/// The other hosts, and the thread that asks them.
pub(crate) struct Others {
    all: Vec<Arc<Other>>,
    asks: Handle,
    /// The thread ends when this is dropped.
    _ends: oneshot::Sender<()>,
}

pub(crate) struct Other {
    host: OtherHost,
    questions: Arc<Semaphore>,
    readers: Arc<Semaphore>,
    known: Mutex<KnownHost>,
}

/// What is known of a host.
#[derive(Default)]
struct KnownHost {
    is_asked: bool,
    good: Option<Deadline>,
    /// The hosts that it records, checked, as it answered last.
    hosts: Vec<Value>,
    /// Since when it cannot be asked, and why.
    failed: Option<(i64, String)>,
}

/// A host, and which of its recorded hosts; empty for its only one.
pub(crate) type FoundHost = (Arc<Other>, String);

impl Others {
    /// Starts the thread.
    pub(crate) fn start(hosts: Vec<OtherHost>) -> io::Result<Self> {
        if hosts.len() > HOSTS_MAX {
            let why = format!("there are more than {HOSTS_MAX} other hosts: leave some out");
            return Err(io::Error::other(why));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (ends, ended) = oneshot::channel::<()>();
        let asks = runtime.handle().clone();
        Builder::new().name("page-hosts".into()).spawn(move || {
            // An error is the end, too.
            let _ = runtime.block_on(ended);
            // The system's resolver may wait for long.
            runtime.shutdown_background();
        })?;
        let other = |host| {
            Arc::new(Other {
                host,
                questions: Arc::new(Semaphore::new(QUESTIONS_MAX)),
                readers: Arc::new(Semaphore::new(READERS_MAX)),
                known: Mutex::default(),
            })
        };
        Ok(Others { all: hosts.into_iter().map(other).collect(), asks, _ends: ends })
    }

    /// What a host is called: with its address if another one, or one of `own`, has its name.
    fn label(&self, other: &Other, own: &[String]) -> String {
        let name = &other.host.name;
        let same = self.all.iter().filter(|other| other.host.name == *name).count();
        match same > 1 || own.contains(name) {
            true => format!("{name}@{}", other.host.authority()),
            false => name.clone(),
        }
    }

    /// The host of a name that `hosts` gave, or `NAME/RECORDED`.
    pub(super) fn find(&self, name: &str, own: &[String]) -> Option<FoundHost> {
        let recorded = |label: &str| {
            let rest = name.strip_prefix(label)?;
            if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
        };
        self.all.iter().find_map(|other| {
            let full = format!("{}@{}", other.host.name, other.host.authority());
            let found = recorded(&full).or_else(|| recorded(&self.label(other, own)))?;
            Some((other.clone(), found.to_owned()))
        })
    }

    /// The answer to `hosts`: the `own` one with the other hosts, and with those that cannot be asked.
    pub(super) async fn hosts(&self, own: &str) -> Result<String, QueryError> {
        self.look().await;
        let failed = |error| QueryError::Execution(format!("the hosts cannot be told: {error}"));
        let mut answer: Value = serde_json::from_str(own).map_err(failed)?;
        let listed = answer["hosts"].as_array().into_iter().flatten();
        let own: Vec<String> =
            listed.filter_map(|host| host["host"].as_str()).map(str::to_owned).collect();
        let mut unreachable = Vec::new();
        for other in &self.all {
            let (label, known) = (self.label(other, &own), other.lock());
            let is_only = known.hosts.len() == 1;
            for host in &known.hosts {
                let mut host = host.clone();
                if !is_only {
                    let recorded = host["host"].as_str().unwrap_or_default();
                    host["host"] = format!("{label}/{recorded}").into();
                } else {
                    host["host"] = label.clone().into();
                }
                host["server"] = label.clone().into();
                host["is_live"] =
                    (known.failed.is_none() && host["is_live"] == Value::Bool(true)).into();
                answer["hosts"].as_array_mut().into_iter().for_each(|all| all.push(host.clone()));
            }
            if let Some((since_ms, why)) = &known.failed {
                let url = other.host.url.to_string();
                unreachable
                    .push(json!({ "host": label, "url": url, "since_ms": since_ms, "why": why }));
            }
        }
        answer["unreachable"] = unreachable.into();
        Ok(answer.to_string())
    }

    /// Asks each host what it has recorded, if that is not known; waits only for those that have not
    /// failed, and not long.
    async fn look(&self) {
        let mut waits = Vec::new();
        for other in &self.all {
            let mut known = other.lock();
            if known.is_asked || known.good.is_some_and(|good| !good.has_passed()) {
                continue;
            }
            known.is_asked = true;
            let (is_waited_for, own) = (known.failed.is_none(), other.clone());
            let task = self.asks.spawn(async move {
                let answer = own.send(&own.target(HOSTS, "")).await;
                own.note(answer.and_then(|answer| recorded(&answer)));
            });
            if is_waited_for {
                waits.push(task);
            }
        }
        let all = async {
            for task in waits {
                // One that panicked is not known.
                let _ = task.await;
            }
        };
        let _ = tokio::time::timeout(WAIT, all).await;
    }

    /// The answer of a host to a question.
    pub(super) async fn ask(
        &self,
        (other, _): &FoundHost,
        name: &str,
        query: &str,
    ) -> Result<HttpAnswer, QueryError> {
        let answer = self.fetch(other, other.target(name, query)).await?;
        Ok(answer.and_then(checked).unwrap_or_else(|why| other.refuse(&why)))
    }

    /// A page or picture of a host's devices.
    pub(super) async fn device_page(
        &self,
        (other, _): &FoundHost,
        file: &DeviceFile,
    ) -> Result<HttpAnswer, QueryError> {
        let Some(path) = file.at_other() else { return Ok(device_pages::missing()) };
        let answer = self.fetch(other, other.host.url.below(&path)).await?;
        Ok(match answer.map(|answer| (answer.status, answer.body)) {
            Ok((StatusCode::OK, body)) => file.answer(body),
            Ok((StatusCode::NOT_FOUND, _)) => device_pages::missing(),
            Ok((status, _)) => other.refuse(&format!("it answered {status}")),
            Err(why) => other.refuse(&why),
        })
    }

    /// What a host answers, if not too many questions wait for it.
    async fn fetch(
        &self,
        other: &Arc<Other>,
        target: String,
    ) -> Result<Result<ClientAnswer, String>, QueryError> {
        let Ok(turn) = other.questions.clone().try_acquire_owned() else {
            return Ok(Err(format!("{QUESTIONS_MAX} questions wait for it already")));
        };
        let own = other.clone();
        let work = async move {
            let answer = own.send(&target).await;
            drop(turn);
            answer
        };
        self.within(work).await
    }

    /// The live samples of a host, or its log as it grows.
    pub(super) async fn live(
        &self,
        (other, _): &FoundHost,
        name: &str,
        query: String,
        refused: &RefusedStreams,
    ) -> Result<HttpAnswer, QueryError> {
        let Ok(turn) = other.readers.clone().try_acquire_owned() else {
            return Ok(refused.refuse(READERS_MAX));
        };
        let (own, name) = (other.clone(), name.to_owned());
        let opened = self.within(async move { own.open(&name, &query).await }).await?;
        Ok(match opened {
            Err(why) => other.refuse(&why),
            Ok(body) => {
                let (parts, coming) = channel(EVENTS_MAX);
                self.asks.spawn(pass_events(body, parts, turn));
                let body = AnswerBody::coming(coming);
                with_headers(answer_of(StatusCode::OK, "text/event-stream", body))
            }
        })
    }

    /// What the thread makes.
    async fn within<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, QueryError> {
        let done = self.asks.spawn(work).await;
        done.map_err(|_| QueryError::Execution("the question failed".to_owned()))
    }
}

impl Other {
    fn lock(&self) -> MutexGuard<'_, KnownHost> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let token = self.host.token.clone().map(|token| (AUTHORIZATION, token));
        let passed = (HeaderName::from_static(PASSED_ON), HeaderValue::from_static("1"));
        std::iter::once(passed).chain(token).collect()
    }

    fn target(&self, name: &str, query: &str) -> String {
        let mark = if query.is_empty() { "" } else { "?" };
        self.host.url.below(&format!("{PREFIX}{name}{mark}{query}"))
    }

    async fn send(&self, target: &str) -> Result<ClientAnswer, String> {
        let OtherHost { url, settings, .. } = &self.host;
        http_client::ask(url, settings, target, &self.headers())
            .await
            .map_err(|error| with_causes(&error))
    }

    async fn open(&self, name: &str, query: &str) -> Result<Incoming, String> {
        let OtherHost { url, settings, .. } = &self.host;
        let target = self.target(name, query);
        let headers = self.headers();
        let answer = http_client::open(url, settings, Method::GET, &target, &headers).await;
        let answer = answer.map_err(|error| with_causes(&error))?;
        match (answer.status(), kind(answer.headers())) {
            (StatusCode::OK, "text/event-stream") => Ok(answer.into_body()),
            (status, kind) => Err(format!("it answered {status} of the type {kind:?}")),
        }
    }

    /// Notes what it has recorded, or why that is not known.
    fn note(&self, answer: Result<Vec<Value>, String>) {
        let mut known = self.lock();
        (known.is_asked, known.good) = (false, Some(Deadline::after(GOOD)));
        match answer {
            Ok(hosts) => (known.hosts, known.failed) = (hosts, None),
            Err(why) => {
                let since_ms = known.failed.as_ref().map_or_else(now_ms, |(since_ms, _)| *since_ms);
                known.failed = Some((since_ms, why));
            }
        }
    }

    fn refuse(&self, why: &str) -> HttpAnswer {
        let error = format!("{} cannot be asked: {why}", self.host.name);
        json_answer(StatusCode::BAD_GATEWAY, json!({ "error": error }).to_string())
    }
}

/// Adds to the query which of its recorded hosts the other one is asked for.
pub(super) fn push_recorded(query: &mut String, (_, recorded): &FoundHost) {
    if !recorded.is_empty() {
        query.push_str(if query.is_empty() { "host=" } else { "&host=" });
        push_percent_encoded(query, recorded);
    }
}

fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim()
}

/// A picture that another host has drawn: whatever is in it, it runs nothing and loads nothing.
fn picture(kind: &'static str, body: Bytes) -> HttpAnswer {
    let mut answer = with_headers(answer_of(StatusCode::OK, kind, body));
    let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    answer
}

/// An answer with our headers, if it is one of ours.
fn checked(answer: ClientAnswer) -> Result<HttpAnswer, String> {
    let ClientAnswer { status, headers, body } = answer;
    if let (StatusCode::OK, kind) = (status, kind(&headers))
        && let Some(&(kind, begins)) = PICTURES.iter().find(|(known, _)| *known == kind)
    {
        return match body.starts_with(begins) {
            true => Ok(picture(kind, body)),
            false => Err(format!("its answer is no picture of the type {kind}")),
        };
    }
    let text = String::from_utf8(body.into()).map_err(|_| "its answer is not UTF-8".to_owned())?;
    let is_object = || text.starts_with('{') && serde_json::from_str::<IgnoredAny>(&text).is_ok();
    match (status, kind(&headers)) {
        (StatusCode::OK, "application/json") if is_object() => Ok(json_answer(status, text)),
        (StatusCode::OK, "text/csv") => {
            let mut answer = with_headers(answer_of(status, "text/csv; charset=utf-8", text));
            let behind = headers.get(BEHIND).filter(|behind| is_key(behind.as_bytes()));
            behind.map(|behind| answer.headers_mut().insert(BEHIND, behind.clone()));
            Ok(answer)
        }
        (
            StatusCode::BAD_REQUEST
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::SERVICE_UNAVAILABLE,
            "application/json",
        ) if is_object() => Ok(json_answer(status, text)),
        (StatusCode::OK, _) => Err("its answer is neither JSON nor CSV".to_owned()),
        (status, _) => Err(format!("it answered {status}")),
    }
}

/// Whether a header of another host may be the key of a record.
fn is_key(text: &[u8]) -> bool {
    text.len() <= 100
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.:".contains(byte))
}

/// The recorded hosts of an answer, with what the page knows and nothing else.
fn recorded(answer: &ClientAnswer) -> Result<Vec<Value>, String> {
    if answer.status != StatusCode::OK {
        return Err(format!("it answered {}", answer.status));
    }
    let wrong = || "its answer has no list of hosts".to_owned();
    let value: Value = serde_json::from_slice(&answer.body).map_err(|_| wrong())?;
    let hosts = value["hosts"].as_array().filter(|hosts| hosts.len() <= RECORDED_MAX);
    let hosts: Option<Vec<Value>> = hosts.ok_or_else(wrong)?.iter().map(known_host).collect();
    match hosts {
        None => Err(wrong()),
        Some(hosts) if hosts.is_empty() => Err("it has no recordings".to_owned()),
        Some(hosts) => Ok(hosts),
    }
}

fn known_host(host: &Value) -> Option<Value> {
    let spans = |name: &str| -> Option<Vec<Value>> {
        let spans = host[name].as_array().filter(|spans| spans.len() <= SPANS_MAX)?;
        let span = |span: &Value| {
            let (from_ms, thru_ms) = (span["from_ms"].as_i64()?, span["thru_ms"].as_i64()?);
            Some(json!({ "from_ms": from_ms, "thru_ms": thru_ms }))
        };
        spans.iter().map(span).collect()
    };
    let sources = host["sources"].as_array()?.iter().map(Value::as_str);
    let sources: Vec<&str> = sources.collect::<Option<_>>()?;
    Some(json!({
        "host": host["host"].as_str()?,
        "from_ms": host["from_ms"].as_i64()?,
        "thru_ms": host["thru_ms"].as_i64()?,
        "interval_ms": host["interval_ms"].as_u64(),
        "is_live": host["is_live"].as_bool()?,
        "cpus": host["cpus"].as_u64(),
        "kernel": host["kernel"].as_str(),
        "timezone": host["timezone"].as_str(),
        "boot_ms": host["boot_ms"].as_i64(),
        "spans": spans("spans")?,
        "gaps": spans("gaps")?,
        "sources": sources,
    }))
}

/// Passes events on while somebody reads them.
async fn pass_events(mut body: Incoming, parts: Sender<Bytes>, _turn: OwnedSemaphorePermit) {
    let mut line = Vec::new();
    let mut name = None;
    loop {
        let next = poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let next = tokio::select! {
            () = parts.closed() => return,
            next = tokio::time::timeout(SILENCE_MAX, next) => next,
        };
        let Ok(Some(Ok(frame))) = next else { return };
        let Ok(bytes) = frame.into_data() else { continue };
        for byte in bytes {
            if byte != b'\n' {
                if line.len() >= EVENT_BYTES_MAX {
                    return;
                }
                line.push(byte);
                continue;
            }
            if let Some(named) = line.strip_prefix(b"event: ") {
                name = NAMED_EVENTS.into_iter().find(|known| known.as_bytes() == named);
            } else if let Some(event) = event(&line, &mut name)
                && parts.send(event).await.is_err()
            {
                return;
            }
            line.clear();
        }
    }
}

/// A line of a stream as an event of ours: data that are JSON, or a comment.
fn event(line: &[u8], name: &mut Option<&str>) -> Option<Bytes> {
    if line.starts_with(b":") {
        return Some(Bytes::from_static(b": still here\n\n"));
    }
    let text = std::str::from_utf8(line.strip_prefix(b"data: ")?).ok()?;
    let is_object = text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    let text = is_object.then(|| layout::text::visible_json(text.to_owned()))?;
    let name = name.take().map(|name| format!("event: {name}\n")).unwrap_or_default();
    Some(format!("{name}data: {text}\n\n").into())
}
