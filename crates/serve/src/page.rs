//! The page and its interface: recorded hosts, charts, moments and comparisons as JSON.
//!
//! Everything is below `/api/whit/v1/` and is asked by GET; times are whole milliseconds since 1970; a
//! missing value is `null`.  `asked.rs` checks parameters, `charts.rs` is the table of charts, `files.rs`
//! has the files of the page itself.  A question has the limits of those of Prometheus's interface.

mod asked;
mod chart;
mod charts;
mod compare;
mod files;
mod heaviest;
mod hosts;
mod live;
mod moment;
mod ruler;
mod steps;
mod table;

use std::sync::Arc;

use http_server::{HttpAnswer, answer as answer_of, method_not_allowed};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Method, Request, StatusCode};
use promql::{QueryError, Stop};
use serde_json::json;

use self::asked::Asked;
use self::live::Live;
use crate::evaluation::{self, Evaluation};
use crate::parameters::Parameters;
use crate::recordings::RecordingStorage;

/// Where the interface is.
const PREFIX: &str = "/api/whit/v1/";

/// The newest samples as they come.
const LIVE: &str = "live";

/// How the parts of a service are.
const PARTS: &str = "parts";

/// What the page shows.
pub struct Page {
    recordings: Arc<RecordingStorage>,
    live: Arc<Live>,
    parts: Option<TellParts>,
}

/// Says how the parts of a service are, as JSON.
type TellParts = Box<dyn Fn() -> String + Send + Sync>;

impl Page {
    /// A page of recordings.
    #[must_use]
    pub fn new(recordings: Arc<RecordingStorage>) -> Self {
        Page { recordings, live: Arc::default(), parts: None }
    }

    /// The same with an answer to `parts`: what `tell` says of the parts of a service, an object of
    /// JSON.
    #[must_use]
    pub fn with_parts(self, tell: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Page { parts: Some(Box::new(tell)), ..self }
    }

    /// The recordings as a storage of series.
    pub(crate) fn recordings(&self) -> Arc<RecordingStorage> {
        self.recordings.clone()
    }

    /// Ends what runs for readers.
    pub(crate) fn end(&self) {
        self.live.end();
    }
}

/// A question to the recordings.
type Question = fn(&Asked<'_>) -> Result<String, QueryError>;

/// The questions, by the last part of their path.
const QUESTIONS: &[(&str, Question)] = &[
    ("hosts", hosts::hosts),
    ("charts", chart::charts),
    ("chart", chart::chart),
    ("ruler", ruler::ruler),
    ("moment", moment::moment),
    ("heaviest", heaviest::heaviest),
    ("compare", compare::compare),
    ("explain", compare::explain),
];

/// The answer to a request, if its path is one of the page.
pub(crate) async fn answer(
    evaluation: &Arc<Evaluation>,
    page: &Arc<Page>,
    request: &Request<Bytes>,
) -> Option<HttpAnswer> {
    let path = request.uri().path();
    let Some(name) = path.strip_prefix(PREFIX) else {
        let file = files::find(path)?;
        return Some(match *request.method() {
            Method::GET | Method::HEAD => files::file(file, request.headers()),
            _ => method_not_allowed("GET, HEAD"),
        });
    };
    if *request.method() != Method::GET {
        return Some(method_not_allowed("GET"));
    }
    let question =
        QUESTIONS.iter().find(|(known, _)| *known == name).map(|(_, question)| *question);
    let answered = match (name, question, &page.parts) {
        (_, Some(question), _) => {
            let answered = asked(evaluation, page, request, question).await;
            answered.and_then(|answer| bounded(evaluation, answer)).map(text)
        }
        (LIVE, ..) => {
            let reader = asked(evaluation, page, request, live::reader).await;
            let added = reader.and_then(|reader| page.live.add(&page.recordings, reader));
            added.map(with_headers)
        }
        (PARTS, _, Some(tell)) => Ok(json_answer(StatusCode::OK, tell())),
        _ => return Some(not_found(page, name)),
    };
    Some(answered.unwrap_or_else(|error| failed(&error)))
}

/// What asks the recordings in a thread for queries.
async fn asked<T: Send + 'static>(
    evaluation: &Arc<Evaluation>,
    page: &Arc<Page>,
    request: &Request<Bytes>,
    question: fn(&Asked<'_>) -> Result<T, QueryError>,
) -> Result<T, QueryError> {
    let mut parameters = Parameters::default();
    parameters.add(request.uri().query().unwrap_or_default().as_bytes())?;
    let storage = page.recordings.clone();
    let longest = evaluation.settings.query_time_max;
    evaluation::run(evaluation, longest, move |stop| {
        let recordings = storage.recordings().map_err(asked::refused)?;
        let ends = stop.clone();
        let recordings = recordings.ending(move || ends().is_some());
        let answered = question(&Asked { recordings, parameters: &parameters });
        // An archive that was ended does not say why.
        answered.map_err(|error| match (error, stop()) {
            (QueryError::Cancelled, Some(Stop::TimedOut)) => QueryError::TimedOut,
            (error, _) => error,
        })
    })
    .await
}

fn bounded(evaluation: &Evaluation, answer: String) -> Result<String, QueryError> {
    let most = evaluation.settings.answer_bytes_max;
    if answer.len() > most {
        return Err(QueryError::BadData(format!(
            "the answer has more than {most} bytes: ask for less"
        )));
    }
    Ok(answer)
}

fn not_found(page: &Page, name: &str) -> HttpAnswer {
    let known = QUESTIONS.iter().map(|(known, _)| *known).chain([LIVE]);
    let known: Vec<&str> = known.chain(page.parts.is_some().then_some(PARTS)).collect();
    let why = format!("there is no {PREFIX}{name}: there are {}", known.join(", "));
    json_answer(StatusCode::NOT_FOUND, json!({ "error": why }).to_string())
}

/// A text that a question made: an object of JSON, or a table.
fn text(body: String) -> HttpAnswer {
    match body.starts_with('{') {
        true => json_answer(StatusCode::OK, body),
        false => with_headers(answer_of(StatusCode::OK, "text/csv; charset=utf-8", body)),
    }
}

fn failed(error: &QueryError) -> HttpAnswer {
    json_answer(evaluation::status(error), json!({ "error": error.to_string() }).to_string())
}

fn json_answer(status: StatusCode, body: String) -> HttpAnswer {
    with_headers(answer_of(status, "application/json", layout::text::visible_json(body)))
}

fn with_headers(mut answer: HttpAnswer) -> HttpAnswer {
    files::harden(answer.headers_mut());
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
