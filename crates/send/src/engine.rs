//! What an engine is asked, and what its answers mean.

use std::time::Duration;

use http_client::ClientAnswer;
use http_client::header::{HeaderName, HeaderValue};

use crate::batch::{BatchPoint, BatchSeries};

/// A request to an engine.
#[derive(Debug)]
pub struct SendRequest {
    /// The path and the query.
    pub target: String,
    /// Headers but those of the connection and the length.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The body.
    pub body: Vec<u8>,
}

/// What an answer means for the points that were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// The engine has them.
    Acknowledged,
    /// It does not take them now: again after this time, or after the usual pause.
    Retry {
        /// Why.
        why: String,
        /// When, if the engine says it.
        after: Option<Duration>,
    },
    /// It will never take all of them as they are.
    Refused {
        /// Why.
        why: String,
        /// Whether that is since it has these samples or later ones already.
        is_known: bool,
    },
}

/// Makes requests of points, and says what answers mean.
pub trait MetricEngine: Send {
    /// The request that hands over these points.
    fn request(&mut self, series: &BatchSeries, points: &[BatchPoint]) -> SendRequest;

    /// What the answer to such a request means.
    fn outcome(&mut self, answer: &ClientAnswer) -> SendOutcome;
}

/// What Retry-After says in seconds, at most an hour.
pub(crate) fn retry_after(answer: &ClientAnswer) -> Option<Duration> {
    let text = answer.headers.get("retry-after")?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse::<u64>().ok()?.min(3600)))
}

/// What an answer says, in a line without control characters.
pub(crate) fn said(answer: &ClientAnswer) -> String {
    let body = &answer.body[..answer.body.len().min(300)];
    let line = String::from_utf8_lossy(body);
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = layout::text::escape(line.as_bytes());
    format!("{}: {line}", answer.status)
}
