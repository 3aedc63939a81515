//! The page and its interface: recorded hosts, charts, moments and comparisons as JSON.
//!
//! Everything is below `/api/whit/v1/` and is asked by GET; times are whole milliseconds since 1970; a
//! missing value is `null`.  `asked.rs` checks parameters, `charts.rs` is the table of charts, `files.rs`
//! has the files of the page itself.  A question has the limits of those of Prometheus's interface.

mod asked;
mod chart;
mod charts;
mod files;
mod hosts;
mod table;

use std::sync::Arc;

use http_server::{HttpAnswer, answer as answer_of, method_not_allowed};
use hyper::body::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use hyper::{Method, Request, StatusCode};
use promql::QueryError;
use serde_json::json;

use self::asked::Asked;
use crate::interface::evaluated;
use crate::parameters::Parameters;
use crate::recordings::RecordingStorage;
use crate::settings::Shared;

/// Where the interface is.
const PREFIX: &str = "/api/whit/v1/";

/// What the page shows.
pub struct Page {
    recordings: Arc<RecordingStorage>,
}

impl Page {
    /// A page of recordings.
    #[must_use]
    pub fn new(recordings: Arc<RecordingStorage>) -> Self {
        Page { recordings }
    }

    /// The recordings as a storage of series.
    pub(crate) fn recordings(&self) -> Arc<RecordingStorage> {
        self.recordings.clone()
    }
}

/// A question to the recordings.
type Question = fn(&Asked<'_>) -> Result<String, QueryError>;

/// The questions, by the last part of their path.
const QUESTIONS: &[(&str, Question)] =
    &[("hosts", hosts::hosts), ("charts", chart::charts), ("chart", chart::chart)];

/// The answer to a request, if its path is one of the page.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
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
    let question = QUESTIONS.iter().find(|(known, _)| *known == name).map(|(_, question)| *question);
    let Some(question) = question else {
        let known: Vec<&str> = QUESTIONS.iter().map(|(known, _)| *known).collect();
        let why = format!("there is no {PREFIX}{name}: there are {}", known.join(", "));
        return Some(json_answer(StatusCode::NOT_FOUND, json!({ "error": why }).to_string()));
    };
    if *request.method() != Method::GET {
        return Some(method_not_allowed("GET"));
    }
    Some(match asked(shared, page, question, request).await {
        Ok(body) if body.starts_with('{') => json_answer(StatusCode::OK, body),
        Ok(body) => with_headers(answer_of(StatusCode::OK, "text/csv; charset=utf-8", body)),
        Err(error) => failed(&error),
    })
}

async fn asked(
    shared: &Arc<Shared>,
    page: &Arc<Page>,
    question: Question,
    request: &Request<Bytes>,
) -> Result<String, QueryError> {
    let mut parameters = Parameters::default();
    parameters.add(request.uri().query().unwrap_or_default().as_bytes())?;
    let page = page.clone();
    let most = shared.settings.answer_bytes_max;
    evaluated(shared, shared.settings.query_time_max, move |_, _| {
        let recordings = page.recordings.recordings().map_err(asked::refused)?;
        let answered = question(&Asked { recordings, parameters: &parameters })?;
        if answered.len() > most {
            let why = format!("the answer has more than {most} bytes: ask for less");
            return Err(QueryError::BadData(why));
        }
        Ok(answered)
    })
    .await
}

fn failed(error: &QueryError) -> HttpAnswer {
    json_answer(crate::interface::status(error), json!({ "error": error.to_string() }).to_string())
}

fn json_answer(status: StatusCode, body: String) -> HttpAnswer {
    with_headers(answer_of(status, "application/json", layout::text::visible_json(body)))
}

fn with_headers(mut answer: HttpAnswer) -> HttpAnswer {
    files::harden(answer.headers_mut());
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
