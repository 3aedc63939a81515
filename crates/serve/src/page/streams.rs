//! Streams of events that are refused because there are as many as the page serves: the answer, and how
//! many there were.

use std::sync::atomic::{AtomicU64, Ordering};

use http_server::HttpAnswer;
use hyper::StatusCode;
use hyper::header::{HeaderValue, RETRY_AFTER};
use serde_json::json;

use super::json_answer;

/// After how many seconds a client may ask again: a browser that is closed has given its place back.
const RETRY_S: u32 = 10;

/// Streams that were refused since the server was started.
#[derive(Debug, Default)]
pub(crate) struct RefusedStreams(AtomicU64);

impl RefusedStreams {
    /// The answer to a reader for whom there is no place, which is counted.
    pub(crate) fn refuse(&self, readers_max: usize) -> HttpAnswer {
        self.0.fetch_add(1, Ordering::Relaxed);
        let error = format!("there are {readers_max} readers already: close one, or wait");
        let body = json!({ "error": error }).to_string();
        let mut answer = json_answer(StatusCode::SERVICE_UNAVAILABLE, body);
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(RETRY_S));
        answer
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
